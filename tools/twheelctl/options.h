/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of a command, as a table of names and parsers.
 *
 * Every command also has --purgatory (-p), --json and --help (-h).
 */
#ifndef TWHEELCTL_OPTIONS_H
#define TWHEELCTL_OPTIONS_H

#include <stdbool.h>

#include <linux/types.h>

#include "twheelctl.h"

/* Maximum number of options of a command, without the common ones. */
#define MAX_OPTIONS	28

/* An optional number. */
struct number {
	bool given;
	__u64 value;
};

/**
 * struct option_spec - one option of a command
 * @name: without the dashes; NULL ends a table
 * @take: parses its argument; false if that is wrong. NULL for an option without
 *	an argument.
 * @to: passed to @take; without one, a bool that is set to true
 * @expected: description of the argument, for messages
 */
struct option_spec {
	const char *name;
	bool (*take)(const char *text, void *to);
	void *to;
	const char *expected;
};

/* For option_spec.take: @to is a const char *, a struct number, a struct number. */
bool take_text(const char *text, void *to);
bool take_number(const char *text, void *to);
bool take_time(const char *text, void *to);

/* As take_number(), up to 32 bits. */
bool take_number32(const char *text, void *to);

#define NUMBER_EXPECTED		"a whole number"
#define NUMBER32_EXPECTED	"a whole number up to 4294967295"

/**
 * take_options() - parse the arguments of a command
 * @line: the arguments; its other fields are set from them
 * @specs: the options of the command
 *
 * Return: false if the command must return line->outcome: help was printed, or an
 * argument is wrong and was reported.
 */
bool take_options(struct command_line *line, const struct option_spec *specs);

/* As take_options(), with @min to @max arguments that are not options. */
bool take_arguments(struct command_line *line, const struct option_spec *specs,
		    int min, int max);

/* Takes the name of a purgatory; reports a wrong one. */
bool take_purgatory(struct command_line *line, const char *name);

/*
 * Reports wrong arguments of the command, with the parameters of printf(), and
 * returns OUTCOME_USAGE.
 */
enum outcome wrong_usage(const struct command_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TWHEELCTL_OPTIONS_H */
