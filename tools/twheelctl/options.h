/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Option parsing for the commands, driven by a table of names and parsers.
 *
 * Every command also accepts --purgatory (-p), --json and --help (-h).
 */
#ifndef TWHEELCTL_OPTIONS_H
#define TWHEELCTL_OPTIONS_H

#include <stdbool.h>

#include <linux/types.h>

#include "twheelctl.h"

/* Maximum number of options of a command, not counting the common options. */
#define MAX_OPTIONS	28

/* A numeric argument; @given is false if the option is absent. */
struct number {
	bool given;
	__u64 value;
};

/**
 * struct option_spec - an option of a command
 * @name: name without the dashes; NULL terminates the table
 * @take: parses the argument and returns false if it is invalid; NULL for an option
 *	without an argument
 * @to: passed to @take; without @take, a bool that is set to true
 * @expected: description of the argument, for error messages
 */
struct option_spec {
	const char *name;
	bool (*take)(const char *text, void *to);
	void *to;
	const char *expected;
};

/* For option_spec.take: @to is a struct number. */
bool take_number(const char *text, void *to);
bool take_number32(const char *text, void *to);
bool take_time(const char *text, void *to);

#define NUMBER_EXPECTED		"a whole number"
#define NUMBER32_EXPECTED	"a whole number up to 4294967295"

/*
 * Parses the options of a command.
 * Return: false if the command must return line->outcome, because the help or an error was printed.
 */
bool take_options(struct command_line *line, const struct option_spec *specs);

/* take_options() for commands with @min to @max non-option arguments. */
bool take_arguments(struct command_line *line, const struct option_spec *specs,
		    int min, int max);

/*
 * Sets line->purgatory.
 * Return: false if the name is invalid or another one was given, which has been reported.
 */
bool take_purgatory(struct command_line *line, const char *name);

/*
 * Names the command that prints the help of @command, or of twheelctl for NULL.
 * Return: OUTCOME_USAGE.
 */
enum outcome try_help(const char *command);

/*
 * Reports invalid arguments; the format is that of printf().
 * Return: OUTCOME_USAGE.
 */
enum outcome wrong_usage(const struct command_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TWHEELCTL_OPTIONS_H */
