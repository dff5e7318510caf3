/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The language of 'twheelctl run': one line of a script becomes one command.
 *
 *	add NAME in TIME|at TIME|never [any of|all of|K of KEY[*NEED]...]
 *	watch NAME KEY[*NEED]...
 *	signal KEY [value V] [completes N]
 *	complete NAME [value V]
 *	cancel NAME
 *	sleep TIME
 *	expect NAME completed|expired|cancelled [value V] [within TIME]
 *	expect nothing [for TIME]
 *	expect pending N
 *	expect-error ERROR COMMAND
 *
 * run_help[] in run.c explains them to users.
 */
#ifndef TWHEELCTL_PARSE_H
#define TWHEELCTL_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <twheel.h>

#include "ops.h"

enum verb {
	VERB_NONE,		/* a blank line or a comment */
	VERB_ADD,
	VERB_WATCH,
	VERB_SIGNAL,
	VERB_COMPLETE,
	VERB_CANCEL,
	VERB_SLEEP,
	VERB_EXPECT_END,	/* expect NAME ... */
	VERB_EXPECT_NOTHING,
	VERB_EXPECT_PENDING,
};

enum when {
	WHEN_IN,		/* from now */
	WHEN_AT,		/* from the start of the script */
	WHEN_NEVER,
};

/* command.op of an add that must fail: it enters no operation. */
#define NO_OP	SIZE_MAX

/**
 * struct command - one line of a script
 * @verb: what to do
 * @line: the number of the line, from 1
 * @text: the line as it was written
 * @error: the errno that the command must fail with, or 0
 * @op: position of the operation in the table
 * @when: how to take @time as a deadline
 * @time: the deadline, or how long to sleep or to wait
 * @condition: one of enum twheel_condition
 * @quorum: how many keys of @specs
 * @specs: the keys to watch
 * @nr_specs: how many
 * @key: the key to signal
 * @has_value: @value was given
 * @value: to signal or complete with, or expected
 * @has_count: @count was given
 * @count: how many operations the signal should complete, or are pending
 * @reason: how the operation should end, one of enum twheel_reason
 */
struct command {
	enum verb verb;
	unsigned int line;
	char *text;
	int error;
	size_t op;
	enum when when;
	__u64 time;
	enum twheel_condition condition;
	__u32 quorum;
	struct twheel_watch_spec *specs;
	unsigned int nr_specs;
	struct twheel_key key;
	bool has_value;
	__u64 value;
	bool has_count;
	__u64 count;
	enum twheel_reason reason;
};

/**
 * parse_line() - turn a line into a command
 * @file: the name of the script, for messages
 * @line: the number of the line
 * @text: the line
 * @ops: where the names of operations are looked up and entered
 * @command: set to the command; free_command() it, also after a failure
 *
 * Return: false if the line is wrong; what was expected has been printed.
 */
bool parse_line(const char *file, unsigned int line, const char *text,
		struct op_table *ops, struct command *command);

void free_command(struct command *command);

#endif /* TWHEELCTL_PARSE_H */
