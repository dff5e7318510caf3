/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs the commands of a script on one purgatory.
 *
 * Events are read only while the player waits: in sleep, in expect, for the
 * next line of standard input, and at the end. So a script that completes an
 * operation and cancels it on the next line always gets EALREADY.
 *
 * The player also checks the promises of the module: an event of an operation that
 * has ended or that the script did not add, or an expiration before the deadline,
 * fails the run.
 */
#ifndef TWHEELCTL_PLAYER_H
#define TWHEELCTL_PLAYER_H

#include "ops.h"
#include "parse.h"
#include "report.h"
#include "twheelctl.h"

/**
 * struct player - a running script
 * @fd: its purgatory
 * @file: the name of the script, for messages
 * @json: print JSON lines
 * @start: when it started, in ns
 * @ops: its operations
 * @tally: how they ended so far
 * @nr_events: events so far
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

/* Runs one command. Failures have been printed. */
enum outcome play_command(struct player *p, const struct command *command);

/* Reads and prints the queued events. */
enum outcome take_events(struct player *p);

/* Reads the remaining events, checks for lost ones, and prints the tally. */
enum outcome end_play(struct player *p);

#endif /* TWHEELCTL_PLAYER_H */
