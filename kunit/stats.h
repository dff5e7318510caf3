/* SPDX-License-Identifier: GPL-2.0 */
/* Return the counters of a wheel by value, for use in expressions. */
#ifndef _KUNIT_STATS_H
#define _KUNIT_STATS_H

#include <linux/twheel.h>

static inline struct twheel_stats stats_of(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats;
}

#endif /* _KUNIT_STATS_H */
