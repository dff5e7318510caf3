/* SPDX-License-Identifier: GPL-2.0 */
/* Set the wall clock, for the suites that promise something about it. */
#ifndef _KUNIT_WALL_CLOCK_H
#define _KUNIT_WALL_CLOCK_H

#include <kunit/test.h>
#include <linux/timekeeping.h>

/* By so much, forwards or backwards. Whoever does it puts it right again. */
static inline void wall_clock_step(struct kunit *test, s64 ns)
{
	struct timespec64 time = ns_to_timespec64(ktime_get_real_ns() + ns);

	KUNIT_EXPECT_EQ(test, do_settimeofday64(&time), 0);
}

#endif /* _KUNIT_WALL_CLOCK_H */
