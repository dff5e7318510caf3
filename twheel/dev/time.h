/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the clocks of callers, see time.c. */
#ifndef _TWHEEL_DEV_TIME_H
#define _TWHEEL_DEV_TIME_H

#include <linux/errno.h>
#include <linux/time.h>
#include <linux/twheel.h>
#include <linux/types.h>

/*
 * The clock of the wheel of an operation, or -EINVAL. As for POSIX timers, setting CLOCK_REALTIME
 * does not move a relative deadline on it, so this counts on CLOCK_MONOTONIC.
 */
static inline int twheel_wheel_clock(u32 clock, u32 flags)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		return TWHEEL_CLOCK_MONOTONIC;
	case CLOCK_BOOTTIME:
		return TWHEEL_CLOCK_BOOTTIME;
	case CLOCK_REALTIME:
		return flags & TWHEEL_ADD_ABSTIME ? TWHEEL_CLOCK_REALTIME : TWHEEL_CLOCK_MONOTONIC;
	default:
		return -EINVAL;
	}
}

u64 twheel_time_shift(u64 ns, s64 offset);
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns);
s64 twheel_time_offset(u32 clock, u32 flags);
u64 twheel_time_deadline(u32 clock, u32 flags, u64 ns, bool absolute);

#endif /* _TWHEEL_DEV_TIME_H */
