/* SPDX-License-Identifier: GPL-2.0 */
/* Steps of the wall clock, for the suites that test them. */
#ifndef _KUNIT_WALL_CLOCK_H
#define _KUNIT_WALL_CLOCK_H

#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "vtime.h"

/*
 * Maximum delay until a step of the wall clock is noticed: UML has no interrupt for it,
 * and the CPU that sets the clock checks its own hrtimers at the next jiffy.
 */
#define NOTICE_NS	(TICK_NSEC + VTIME_SLOP_NS)

/* Step the wall clock by @ns, which may be negative. The caller must undo the step. */
static inline void wall_clock_step(struct kunit *test, s64 ns)
{
	struct timespec64 time = ns_to_timespec64(ktime_get_real_ns() + ns);

	KUNIT_EXPECT_EQ(test, do_settimeofday64(&time), 0);
}

/*
 * Step the wall clock by @ns and undo that at once, exact to the nanosecond, so that only
 * the kernel's notification shows the step. In virtual time each call to set the clock
 * takes the same time, which the loop measures and compensates.
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
