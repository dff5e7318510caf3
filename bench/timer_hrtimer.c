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

/* The mode must not change after the setup. */
static enum hrtimer_mode mode;

static void init(void *item, bool held)
{
	mode = held ? HRTIMER_MODE_ABS_SOFT : HRTIMER_MODE_ABS;
	twheel_hrtimer_setup(item, fire, CLOCK_MONOTONIC, mode);
}

static u64 item_now(void)
{
	return ktime_get_ns();
}

static bool item_add(struct hrtimer *timer, u64 expires)
{
	hrtimer_start(timer, ns_to_ktime(expires), mode);
	return true;
}

static bool item_cancel(struct hrtimer *timer)
{
	return hrtimer_try_to_cancel(timer) == 1;
}

/* hrtimer_start() does not return the previous state. The check costs next to nothing. */
static bool item_rearm(struct hrtimer *timer, u64 expires)
{
	bool queued = hrtimer_is_queued(timer);

	hrtimer_start(timer, ns_to_ktime(expires), mode);
	return queued;
}

#include "timer_loops.h"

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
