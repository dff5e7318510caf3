/* SPDX-License-Identifier: GPL-2.0 */
/* Set the wall clock, for the suites that promise something about it. */
#ifndef _KUNIT_WALL_CLOCK_H
#define _KUNIT_WALL_CLOCK_H

#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

/* By so much, forwards or backwards. Whoever does it puts it right again. */
static inline void wall_clock_step(struct kunit *test, s64 ns)
{
	struct timespec64 time = ns_to_timespec64(ktime_get_real_ns() + ns);

	KUNIT_EXPECT_EQ(test, do_settimeofday64(&time), 0);
}

/*
 * By so much and back at once, to the nanosecond, so that only the kernel's notification
 * tells of it. In virtual time the clock goes on by as much whenever it is set.
 */
static inline void wall_clock_step_and_undo(struct kunit *test, s64 ns)
{
	s64 before = ktime_mono_to_any(0, TK_OFFS_REAL), wrong = 0, off;
	unsigned int tries = 10;
	struct timespec64 time;

	local_irq_disable();
	wall_clock_step(test, ns);
	do {
		time = ns_to_timespec64(ktime_get_ns() + before - wrong);
		do_settimeofday64(&time);
		off = ktime_mono_to_any(0, TK_OFFS_REAL) - before;
		wrong += off;
	} while (off && --tries);
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, off, 0);
}

#endif /* _KUNIT_WALL_CLOCK_H */
