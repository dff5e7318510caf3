/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exact sleeps for suites that need the clock to advance.
 *
 * They are meant for UML in virtual time, where a sleep takes no real time and
 * computation takes almost no virtual time. A timer that is late by a tick is then a
 * failure, not noise.
 */
#ifndef _KUNIT_VTIME_H
#define _KUNIT_VTIME_H

#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/time64.h>

/*
 * Allowance for computation between two clock reads. Each read costs 256 ns of virtual
 * time, and a wakeup takes a few reads.
 */
#define VTIME_SLOP_NS	100000

static inline void vtime_sleep_until(u64 when)
{
	ktime_t expires = ns_to_ktime(when);

	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
	} while (schedule_hrtimeout_range(&expires, 0, HRTIMER_MODE_ABS));
	__set_current_state(TASK_RUNNING);
}

static inline void vtime_sleep(u64 ns)
{
	vtime_sleep_until(ktime_get_ns() + ns);
}

/*
 * Sleep in a callback of an operation, so that it overlaps with other threads. Callbacks must not
 * sleep, and the kernel reports those that do; these are run by threads of the suite only.
 */
static inline void vtime_sleep_in_callback(u64 ns)
{
	non_block_end();
	vtime_sleep(ns);
	non_block_start();
}

#endif /* _KUNIT_VTIME_H */
