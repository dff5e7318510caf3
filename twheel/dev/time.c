// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the clocks of callers.
 *
 * In a time namespace, CLOCK_MONOTONIC and CLOCK_BOOTTIME are shifted by offsets that do not change
 * once a task is in it. Operations store host time.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>

#include "../core/shard.h"
#include "time.h"

/* Offset of the caller's clock from the host's. */
static s64 timens_offset(u32 clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;

	if (clock == CLOCK_MONOTONIC)
		return timespec64_to_ns(&offsets->monotonic);
	if (clock == CLOCK_BOOTTIME)
		return timespec64_to_ns(&offsets->boottime);
#endif
	return 0;
}

/* TWHEEL_NEVER if out of range. A negative sum becomes 0. */
u64 twheel_time_shift(u64 ns, s64 offset)
{
	s64 sum;

	if (ns > KTIME_MAX)
		return TWHEEL_NEVER;
	if (check_add_overflow((s64)ns, offset, &sum))
		return offset > 0 ? TWHEEL_NEVER : 0;
	return max(sum, 0LL);
}

/*
 * Offset of a clock of the caller from that of the wheel, for an operation with @flags. That of a
 * relative deadline on CLOCK_REALTIME changes when this clock is set.
 */
s64 twheel_time_offset(u32 clock, u32 flags)
{
	if (clock != CLOCK_REALTIME)
		return timens_offset(clock);
	return flags & TWHEEL_ADD_ABSTIME ? 0 : ktime_mono_to_any(0, TK_OFFS_REAL);
}

/* Host time @delay_ns from now; TWHEEL_NEVER if out of range. */
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns)
{
	return twheel_deadline_after(twheel_clock_ns(clock), delay_ns);
}

/*
 * A deadline of the caller on the clock of the wheel, for an operation with @flags; TWHEEL_NEVER if
 * out of range.
 */
u64 twheel_time_deadline(u32 clock, u32 flags, u64 ns, bool absolute)
{
	return absolute ? twheel_time_shift(ns, -timens_offset(clock)) :
			  twheel_time_after(twheel_wheel_clock(clock, flags), ns);
}
