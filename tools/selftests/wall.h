/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests that set CLOCK_REALTIME. */
#ifndef _TWHEEL_WALL_H
#define _TWHEEL_WALL_H

#include "selftest.h"

static inline bool set_wall_clock(__u64 ns)
{
	struct timespec ts = { .tv_sec = ns / SEC, .tv_nsec = ns % SEC };

	return !clock_settime(CLOCK_REALTIME, &ts);
}

/* Move CLOCK_REALTIME by @ns. */
static inline bool turn_wall_clock(__s64 ns)
{
	return set_wall_clock(time_by(CLOCK_REALTIME) + ns);
}

#endif /* _TWHEEL_WALL_H */
