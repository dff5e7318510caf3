/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parser of scripts. Each line is a command: help[] in main.c describes the language.
 */
#ifndef TWHEEL_PLAY_PARSE_H
#define TWHEEL_PLAY_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <twheel.h>

#include "keys.h"
#include "ops.h"

enum verb {
	VERB_NONE,		/* a blank line or a comment */
	VERB_ADD,
	VERB_WATCH,
	VERB_UNWATCH,
	VERB_SIGNAL,
	VERB_COMPLETE,
	VERB_CANCEL,
	VERB_CANCEL_KEY,
	VERB_REARM,
	VERB_SLEEP,
	VERB_EXPECT_END,	/* expect NAME ... */
	VERB_EXPECT_ROUND,
	VERB_EXPECT_NOTHING,
	VERB_EXPECT_PENDING,
};

enum when {
	WHEN_IN,		/* from now */
	WHEN_AT,		/* from the start of the script */
	WHEN_NEVER,
};

/* command.op of an add that must fail: it has no entry in the table. */
#define NO_OP	SIZE_MAX

/**
 * struct command - a parsed line of a script
 * @verb: the command
 * @line: line number, from 1
 * @text: text of the line
 * @error: errno that the command must fail with, or 0
 * @op: index of the operation in the table
 * @when: type of the deadline in @time
 * @time: deadline, or time to sleep or to wait
 * @period: period, or 0
 * @runs: number of periods; 0 for no limit
 * @condition: condition of an add
 * @quorum: quorum of TWHEEL_COND_QUORUM
 * @threshold: threshold of TWHEEL_COND_SUM
 * @watch: keys to watch
 * @key: key to signal, to cancel by or to stop watching
 * @amount: amount of a signal; 0 for 1
 * @has_value: @value was given
 * @value: value to signal or to complete with, or the expected value
 * @has_count: @count was given
 * @count: expected number of operations
 * @reason: expected reason of the last event
 * @mode: mode of a rearm
 */
struct command {
	enum verb verb;
	unsigned int line;
	char *text;
	int error;
	size_t op;
	enum when when;
	__u64 time;
	__u64 period;
	__u64 runs;
	enum twheel_condition condition;
	__u32 quorum;
	__u64 threshold;
	struct watch_list watch;
	struct twheel_key key;
	__u64 amount;
	bool has_value;
	__u64 value;
	bool has_count;
	__u64 count;
	enum twheel_reason reason;
	enum twheel_rearm mode;
};

/**
 * parse_line() - parse a line
 * @file: name of the script, for messages
 * @line: line number
 * @text: the line
 * @ops: table to look up and to enter names of operations
 * @command: set to the command; free with free_command(), also after a failure
 *
 * Return: false if the line is invalid, which has been reported.
 */
bool parse_line(const char *file, unsigned int line, const char *text,
		struct op_table *ops, struct command *command);

void free_command(struct command *command);

#endif /* TWHEEL_PLAY_PARSE_H */
