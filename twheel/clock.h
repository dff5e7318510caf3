/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 3: the clocks that a wheel may go by. */
#ifndef _TWHEEL_CLOCK_H
#define _TWHEEL_CLOCK_H

#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>

static inline clockid_t twheel_clock_id(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return CLOCK_BOOTTIME;
	case TWHEEL_CLOCK_REALTIME:
		return CLOCK_REALTIME;
	default:
		return CLOCK_MONOTONIC;
	}
}

static inline u64 twheel_clock_ns(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

/* As of the last tick of the kernel: cheap, and never ahead. */
static inline u64 twheel_clock_coarse_ns(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_to_ns(ktime_get_coarse_boottime());
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_coarse_real_ns();
	default:
		return ktime_get_coarse_ns();
	}
}

/*
 * How far the wall clock is ahead of CLOCK_MONOTONIC. It changes whenever that
 * is set, by a leap second, and in suspend, in which the other stands still;
 * not by NTP, which slews both alike.
 */
static inline s64 twheel_clock_offset(void)
{
	return ktime_to_ns(ktime_mono_to_any(0, TK_OFFS_REAL));
}

extern atomic_t twheel_clock_steps;

/*
 * How often that offset has changed while there was a wheel that goes by the wall clock.
 * A step that is undone at once is two changes; see shard.c.
 */
static inline u32 twheel_clock_generation(void)
{
	return atomic_read(&twheel_clock_steps);
}

#endif /* _TWHEEL_CLOCK_H */
