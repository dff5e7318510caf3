/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plays the commands of a script against one purgatory.
 *
 * Events are read only while the player waits: in sleep, in expect, for the
 * next line of standard input, and at the end. So a script that completes an
 * operation and cancels it on the next line meets EALREADY each time.
 *
 * Whatever the script says, the player holds the module to its promises: an
 * event for an operation that was told already, or that nobody added, or that
 * expired before its deadline, fails the run.
 */
#ifndef TWHEELCTL_PLAYER_H
#define TWHEELCTL_PLAYER_H

#include "ops.h"
#include "parse.h"
#include "report.h"
#include "twheelctl.h"

/**
 * struct player - a script that is being played
 * @fd: its purgatory
 * @file: the name of the script, for messages
 * @json: print JSON lines
 * @start: when it started, in ns
 * @ops: its operations
 * @tally: how they ended so far
 * @nr_told: events so far
 */
struct player {
	int fd;
	const char *file;
	bool json;
	__u64 start;
	struct op_table ops;
	struct tally tally;
	size_t nr_told;
};

/* Plays one command. What does not go as it says has been printed. */
enum outcome play_command(struct player *p, const struct command *command);

/* Prints the events that are there. */
enum outcome take_events(struct player *p);

/* Takes the events that are left, looks for lost ones, prints the tally. */
enum outcome end_play(struct player *p);

#endif /* TWHEELCTL_PLAYER_H */
