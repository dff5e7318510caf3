// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: struct hrtimer, in hard mode.
 *
 * If its functions have to be held, it is used in soft mode. Soft mode runs them by the
 * same code, but in a softirq; hard mode would require disabling interrupts for too long.
 */
#include <linux/bottom_half.h>
#include <linux/hrtimer.h>

#include "../twheel/compat.h"
#include "timer.h"

static enum hrtimer_restart fire(struct hrtimer *timer)
{
	timer_fire(timer);
	return HRTIMER_NORESTART;
}

static void init(void *item, bool held)
{
	twheel_hrtimer_setup(item, fire, CLOCK_MONOTONIC,
			     held ? HRTIMER_MODE_ABS_SOFT : HRTIMER_MODE_ABS);
}

/* The mode must not change after the setup. */
static enum hrtimer_mode mode_of(const struct timer_run *run)
{
	const struct hrtimer *timer = run->item[0];

	return timer->is_soft ? HRTIMER_MODE_ABS_SOFT : HRTIMER_MODE_ABS;
}

static u32 add(const struct timer_run *run)
{
	enum hrtimer_mode mode = mode_of(run);
	u64 now = ktime_get_ns();
	u32 i;

	for (i = 0; i < run->nr; i++)
		hrtimer_start(run->item[i], ns_to_ktime(now + run->delay[i]), mode);
	return run->nr;
}

static u32 cancel(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += hrtimer_try_to_cancel(run->item[i]) == 1;
	return done;
}

/* hrtimer_start() does not return the previous state. The check costs next to nothing. */
static u32 rearm(const struct timer_run *run)
{
	u64 now = ktime_get_ns();
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++) {
		done += hrtimer_is_queued(run->item[i]);
		hrtimer_start(run->item[i], ns_to_ktime(now + run->delay[i]), HRTIMER_MODE_ABS);
	}
	return done;
}

static u32 pairs(const struct timer_run *run)
{
	u64 now = ktime_get_ns();
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++) {
		done += hrtimer_try_to_cancel(run->item[i]) == 1;
		hrtimer_start(run->item[(s64)i - 1], ns_to_ktime(now + run->delay[i]),
			      HRTIMER_MODE_ABS);
	}
	return done;
}

const struct timer_contender bench_hrtimer = {
	.name		= "hrtimer",
	.size		= sizeof(struct hrtimer),
	.init		= init,
	.add		= add,
	.cancel		= cancel,
	.rearm		= rearm,
	.pairs		= pairs,
	.hold		= local_bh_disable,
	.release	= local_bh_enable,
};
