// SPDX-License-Identifier: GPL-2.0
/*
 * Suite lateness: an inline timer for the beginning of each tick. Its function runs in the hard
 * interrupt of the deadline, on PREEMPT_RT in the reaper.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/twheel.h>

#include "bench.h"
#include "late_op.h"

/* While the timer is pending, only its function writes here. */
static struct late_inline {
	struct twheel_timer	timer;
	struct late		*late;
	u64			tick_ns;
	u64			deadline;
	bool			early;
} run;

static u64 next_tick(u64 now)
{
	return (div64_u64(now, run.tick_ns) + 1) * run.tick_ns;
}

static void late_inline_fn(struct twheel_timer *timer)
{
	u64 now = ktime_get_ns();

	run.early |= now < run.deadline;
	late_record(run.late, now - min(run.deadline, now));
	run.deadline = next_tick(now);
	/* Fails when the timer has been shut down. */
	twheel_timer_add(timer, run.deadline);
}

int late_inline_start(struct twheel *wheel, struct late *late)
{
	run.late = late;
	run.early = false;
	run.tick_ns = twheel_tick_ns(wheel);
	run.deadline = next_tick(ktime_get_ns());
	twheel_timer_init_flags(&run.timer, wheel, late_inline_fn, TWHEEL_TIMER_INLINE);
	return twheel_timer_add(&run.timer, run.deadline);
}

int late_inline_stop(void)
{
	twheel_timer_shutdown_sync(&run.timer);
	return run.early ? -EINVAL : 0;
}
