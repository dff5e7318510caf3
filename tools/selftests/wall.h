/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests that set CLOCK_REALTIME. */
#ifndef _TWHEEL_WALL_H
#define _TWHEEL_WALL_H

#include <sys/timex.h>
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

/*
 * Set the clock to just before the end of a day, at which a leap second is inserted.
 * Return: the end of the day; 0 if the clock cannot be set so.
 */
static inline __u64 insert_leap_second(void)
{
	struct timex leap = { .modes = ADJ_STATUS, .status = STA_PLL | STA_INS };
	__u64 end = (time_by(CLOCK_REALTIME) / (24 * HOUR) + 1) * 24 * HOUR;

	/* Setting the clock clears the status, and a later second examines it. */
	return set_wall_clock(end - 1200 * MSEC) && adjtimex(&leap) >= 0 ? end : 0;
}

#endif /* _TWHEEL_WALL_H */
