/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the commands of a script on one purgatory.
 *
 * Events are read only while the player waits: in sleep, in expect, for the next line
 * of standard input, and at the end. This makes errors deterministic: if a script
 * completes an operation and cancels it on the next line, it always gets EALREADY.
 *
 * The player also checks the guarantees of the module. The run fails on an event of an
 * operation that has ended or that the script did not add, and on an expiration before
 * the deadline.
 */
#ifndef TWHEEL_PLAY_PLAYER_H
#define TWHEEL_PLAY_PLAYER_H

#include "ops.h"
#include "outcome.h"
#include "parse.h"
#include "report.h"

/**
 * struct player - a running script
 * @fd: descriptor of the purgatory
 * @file: name of the script, for messages
 * @json: print JSON, one object per line
 * @start: start time, in ns
 * @ops: operations of the script
 * @tally: counts of ended and pending operations
 * @nr_events: number of events read
 */
struct player {
	int fd;
	const char *file;
	bool json;
	__u64 start;
	struct op_table ops;
	struct tally tally;
	size_t nr_events;
};

/* Runs a command and reports its failure. */
enum outcome play_command(struct player *p, const struct command *command);

/* Reads and prints the queued events. */
enum outcome take_events(struct player *p);

/* Reads the remaining events, checks for lost events, and prints the tally. */
enum outcome end_play(struct player *p);

#endif /* TWHEEL_PLAY_PLAYER_H */
