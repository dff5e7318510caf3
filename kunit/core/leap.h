/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Leaps in time, for suites that look further ahead than sleeps allow: in a second of
 * real time, UML sleeps for two days of virtual time.
 *
 * During a leap the machine stands still with interrupts off while the clock advances,
 * like a virtual machine that is paused. A leap that ends before the next wakeup delays
 * nothing.
 */
#ifndef _KUNIT_LEAP_H
#define _KUNIT_LEAP_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>

#include "../vtime.h"
#include "../wall_clock.h"

/* RCU reports a leap as a stall. The variable is exported, but no header declares it. */
extern int rcu_cpu_stall_suppress;

/* Called before the first leap of a suite. leaps_end() is called after the last one. */
static inline void leaps_begin(void)
{
#ifdef CONFIG_TASKS_RCU
	/* Wait for the RCU Tasks self-test at boot, which fails if it takes half a minute. */
	rcu_barrier_tasks();
#endif
	rcu_cpu_stall_suppress = 1;
}

static inline void leaps_end(void)
{
	/* Wait for a grace period that was in progress during a leap. */
	synchronize_rcu();
	rcu_cpu_stall_suppress = 0;
}

static inline void vtime_leap_until(u64 when)
{
	u64 now = ktime_get_ns();

	if (when > now)
		ndelay(when - now);
}

#endif /* _KUNIT_LEAP_H */
