/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The language of 'twheelctl run': one line of a script becomes one command.
 *
 *	add NAME in TIME|at TIME|never [every TIME [runs N]]
 *		[any of|all of|K of|sum N of KEY[*NEED]...]
 *	watch NAME KEY[*NEED]...
 *	unwatch NAME KEY
 *	signal KEY [value V] [amount A] [completes N]
 *	complete NAME [value V]
 *	cancel NAME
 *	cancel-key KEY [cancels N]
 *	rearm NAME in TIME|at TIME|never [if-earlier|if-later]
 *	sleep TIME
 *	expect NAME completed|expired|cancelled [value V] [within TIME]
 *	expect NAME round [within TIME]
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

/* command.op of an add that must fail: it enters no operation. */
#define NO_OP	SIZE_MAX

/**
 * struct command - one line of a script
 * @verb: what to do
 * @line: the number of the line, from 1
 * @text: the line as it was written
 * @error: the errno that the command must fail with, or 0
 * @op: position of the operation in the table
 * @when: kind of the deadline in @time
 * @time: the deadline, or the time to sleep or to wait
 * @period: period, or 0
 * @runs: number of periods; 0 for no limit
 * @condition: one of enum twheel_condition
 * @quorum: number of keys of @watch
 * @threshold: of TWHEEL_COND_SUM
 * @watch: the keys to watch
 * @key: the key to signal, to cancel by or to stop watching
 * @amount: of a signal; 0 for 1
 * @has_value: @value was given
 * @value: to signal or complete with, or expected
 * @has_count: @count was given
 * @count: expected number of operations
 * @reason: expected end of the operation, one of enum twheel_reason
 * @mode: for VERB_REARM, one of enum twheel_rearm
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
 * parse_line() - turn a line into a command
 * @file: the name of the script, for messages
 * @line: the number of the line
 * @text: the line
 * @ops: where the names of operations are looked up and entered
 * @command: set to the command; free_command() it, also after a failure
 *
 * Return: false if the line is wrong, which has been reported.
 */
bool parse_line(const char *file, unsigned int line, const char *text,
		struct op_table *ops, struct command *command);

void free_command(struct command *command);

#endif /* TWHEELCTL_PARSE_H */
