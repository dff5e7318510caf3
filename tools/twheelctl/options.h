/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of a command, as a table: which there are, and what takes each.
 *
 * Every command also has --purgatory (-p), --json and --help (-h).
 */
#ifndef TWHEELCTL_OPTIONS_H
#define TWHEELCTL_OPTIONS_H

#include <stdbool.h>

#include <linux/types.h>

#include "twheelctl.h"

/* The most options of a command, beside those that all have. */
#define MAX_OPTIONS	28

/* A number that may be missing. */
struct number {
	bool given;
	__u64 value;
};

/**
 * struct option_spec - one option of a command
 * @name: without the dashes; NULL ends a table
 * @take: takes its argument; false if that is wrong. NULL for an option that
 *	has none.
 * @to: handed to @take; without one, a bool that becomes true
 * @expected: what @take takes, for messages
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

/* As take_number(), for what fits 32 bits. */
bool take_number32(const char *text, void *to);

#define NUMBER_EXPECTED		"a whole number"
#define NUMBER32_EXPECTED	"a whole number up to 4294967295"

/**
 * take_options() - go through the arguments of a command
 * @line: the arguments; its other fields are set from them
 * @specs: the options of the command
 *
 * Return: false if the command has nothing more to do than to return
 * line->outcome: help was asked for, or something is wrong and was told.
 */
bool take_options(struct command_line *line, const struct option_spec *specs);

/* As take_options(), and demands @min to @max arguments that are no options. */
bool take_arguments(struct command_line *line, const struct option_spec *specs,
		    int min, int max);

/* Takes the name of a purgatory; says what is wrong with one that can be none. */
bool take_purgatory(struct command_line *line, const char *name);

/*
 * Prints what is wrong with the arguments of the command, as printf() would, and
 * is OUTCOME_USAGE.
 */
enum outcome wrong_usage(const struct command_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TWHEELCTL_OPTIONS_H */
