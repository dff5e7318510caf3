/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the clocks of callers. Inlined: 40 instructions less for an event. */
#ifndef _TWHEEL_DEV_TIME_H
#define _TWHEEL_DEV_TIME_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "../core/shard.h"

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

/*
 * A deadline or slack in the range of times, or TWHEEL_NEVER or TWHEEL_SLACK_COARSE. The rest is an
 * overflow in the caller, or a negative number.
 */
static inline bool twheel_time_valid(u64 ns)
{
	BUILD_BUG_ON(TWHEEL_SLACK_COARSE != TWHEEL_NEVER);
	return ns <= KTIME_MAX || ns == TWHEEL_NEVER;
}

/* TWHEEL_NEVER if out of range. A negative sum becomes 0. */
static inline u64 twheel_time_shift(u64 ns, s64 offset)
{
	s64 sum;

	if (ns > KTIME_MAX)
		return TWHEEL_NEVER;
	if (check_add_overflow((s64)ns, offset, &sum))
		return offset > 0 ? TWHEEL_NEVER : 0;
	return max(sum, 0LL);
}

/*
 * Offset of a clock of the caller from that of the wheel, for an operation with @flags. In a time
 * namespace, CLOCK_MONOTONIC and CLOCK_BOOTTIME are shifted by offsets that do not change once a
 * task is in it, and with which neither of them overflows. Operations store host time. The offset
 * of a relative deadline on CLOCK_REALTIME changes when this clock is set.
 */
static inline s64 twheel_time_offset(u32 clock, u32 flags)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;
	const struct timespec64 *offset =
		clock == CLOCK_BOOTTIME ? &offsets->boottime : &offsets->monotonic;

	if (clock != CLOCK_REALTIME)
		return offset->tv_sec * NSEC_PER_SEC + offset->tv_nsec;
#endif
	return clock == CLOCK_REALTIME && !(flags & TWHEEL_ADD_ABSTIME) ?
	       ktime_mono_to_any(0, TK_OFFS_REAL) : 0;
}

/*
 * A deadline of the caller on the clock of the wheel, for an operation with @flags; TWHEEL_NEVER if
 * out of range.
 */
static inline u64 twheel_time_deadline(u32 clock, u32 flags, u64 ns, bool absolute)
{
	if (absolute)
		return twheel_time_shift(ns, -twheel_time_offset(clock, TWHEEL_ADD_ABSTIME));
	return twheel_deadline_after(twheel_clock_ns(twheel_wheel_clock(clock, flags)), ns);
}

#endif /* _TWHEEL_DEV_TIME_H */
