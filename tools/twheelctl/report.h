/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What 'twheelctl run' prints, for people or as JSON lines.
 */
#ifndef TWHEELCTL_REPORT_H
#define TWHEELCTL_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

#include "ops.h"

/**
 * struct tally - how the operations of a script ended
 * @ended: number by enum twheel_reason
 * @pending: number of those that have not ended
 */
struct tally {
	size_t ended[TWHEEL_CANCELLED + 1];
	size_t pending;
};

/**
 * report_event() - print how an operation ended, or that it came round
 * @op: the operation, with its event
 * @start: when the script started; times are printed from there
 * @json: print a JSON object instead of a sentence
 */
void report_event(const struct op *op, __u64 start, bool json);

/**
 * report_tally() - print the last line of a run that went well
 * @tally: the numbers
 * @json: print a JSON object instead of a sentence
 */
void report_tally(const struct tally *tally, bool json);

#endif /* TWHEELCTL_REPORT_H */
