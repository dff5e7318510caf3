/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timed loops of a contender, included behind its functions item_now(), item_add(),
 * item_cancel() and item_rearm(), so that these are called directly, as in real code. The clock is
 * read once per loop.
 */
#include "timer.h"

static u32 add(const struct timer_run *run)
{
	u64 now = item_now();
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += item_add(run->item[i], now + run->delay[i]);
	return done;
}

static u32 cancel(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += item_cancel(run->item[i]);
	return done;
}

static u32 rearm(const struct timer_run *run)
{
	u64 now = item_now();
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += item_rearm(run->item[i], now + run->delay[i]);
	return done;
}

static u32 pairs(const struct timer_run *run)
{
	u64 now = item_now();
	u32 i, done = 0, lost = 0;

	for (i = 0; i < run->nr; i++) {
		done += item_cancel(run->item[i]);
		lost += !item_add(run->item[(s64)i - 1], now + run->delay[i]);
	}
	return done - lost;
}
