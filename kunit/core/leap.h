/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Long ways through time, for suites that look further ahead than sleep gets
 * them: in a second of ours UML sleeps for two days.
 *
 * In a leap the machine stands still, with interrupts off, while the clock
 * goes on, as a virtual machine does that is paused. Who leaps no further than to
 * where somebody wants to wake up has not held up anybody.
 */
#ifndef _KUNIT_LEAP_H
#define _KUNIT_LEAP_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../vtime.h"

/*
 * For how long it may go unnoticed that the wall clock was set: UML has no
 * interrupt to tell of it, and the CPU that sets it looks at its own alarms at
 * the next tick of the kernel.
 */
#define NOTICE_NS	(TICK_NSEC + VTIME_SLOP_NS)

/* Nobody can set the wall clock to later than that. */
#define WALL_END_NS	((u64)TIME_SETTOD_SEC_MAX * NSEC_PER_SEC - 1)

/* RCU takes a machine that stood still for one that is stuck: exported, in no header. */
extern int rcu_cpu_stall_suppress;

/* A suite that leaps begins with this, and ends with leaps_end(). */
static inline void leaps_begin(void)
{
#ifdef CONFIG_TASKS_RCU
	/* It has a self-test at boot that may take half a minute, and no longer. */
	rcu_barrier_tasks();
#endif
	rcu_cpu_stall_suppress = 1;
}

static inline void leaps_end(void)
{
	/* The grace period that was under way in a leap is over. */
	synchronize_rcu();
	rcu_cpu_stall_suppress = 0;
}

static inline void vtime_leap_until(u64 when)
{
	u64 now = ktime_get_ns();

	if (when > now)
		ndelay(when - now);
}

static inline void wall_set(u64 ns)
{
	struct timespec64 ts = ns_to_timespec64(ns);

	WARN_ON_ONCE(do_settimeofday64(&ts));
}

/* By how much the wall clock is ahead of CLOCK_MONOTONIC. */
static inline s64 wall_offset(void)
{
	return ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_REAL));
}

static inline void wall_restore(s64 offset)
{
	wall_set(ktime_get_ns() + offset);
}

#endif /* _KUNIT_LEAP_H */
