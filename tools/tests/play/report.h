/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The output of the player, as text or as JSON.
 */
#ifndef TWHEEL_PLAY_REPORT_H
#define TWHEEL_PLAY_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

#include "ops.h"

/**
 * struct tally - counts of ended and pending operations of a script
 * @ended: number of ended operations, by enum twheel_reason
 * @pending: number of pending operations
 */
struct tally {
	size_t ended[TWHEEL_REASON_CANCELLED + 1];
	size_t pending;
};

/**
 * report_event() - print the most recent event of an operation
 * @op: the operation
 * @start: start time of the script; times are printed relative to it
 * @json: print a JSON object instead of text
 */
void report_event(const struct op *op, __u64 start, bool json);

/**
 * report_tally() - print the last line of a successful run
 * @tally: the counts
 * @json: print a JSON object instead of text
 */
void report_tally(const struct tally *tally, bool json);

#endif /* TWHEEL_PLAY_REPORT_H */
