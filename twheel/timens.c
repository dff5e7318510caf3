// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, time namespaces: the caller's clocks and those of the host.
 *
 * In a time namespace CLOCK_MONOTONIC and CLOCK_BOOTTIME are shifted by offsets that
 * do not change once a task is in it.  Operations keep the time of the host.
 */
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>

#include "clock.h"
#include "device.h"

/* How far the caller's clock is ahead of the host's. */
static s64 timens_offset(enum twheel_clock clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;

	if (clock == TWHEEL_CLOCK_MONOTONIC)
		return timespec64_to_ns(&offsets->monotonic);
	if (clock == TWHEEL_CLOCK_BOOTTIME)
		return timespec64_to_ns(&offsets->boottime);
#endif
	return 0;
}

/* Move a time that is at most KTIME_MAX; times before 0 become 0. */
static u64 time_move(u64 ns, s64 offset)
{
	s64 sum;

	if (check_add_overflow((s64)ns, offset, &sum))
		return offset > 0 ? TWHEEL_NEVER : 0;
	return max(sum, 0LL);
}

/**
 * twheel_time_to_host - from the clock of the caller to that of the host
 * @clock: the clock
 * @ns: time in ns
 *
 * Return: the time; TWHEEL_NEVER for one that the clock cannot show.
 */
u64 twheel_time_to_host(enum twheel_clock clock, u64 ns)
{
	return ns > KTIME_MAX ? TWHEEL_NEVER : time_move(ns, -timens_offset(clock));
}

/**
 * twheel_time_from_host - from the clock of the host to that of the caller
 * @clock: the clock
 * @ns: time in ns, or TWHEEL_NEVER
 *
 * Return: the time; TWHEEL_NEVER for one that the clock cannot show.
 */
u64 twheel_time_from_host(enum twheel_clock clock, u64 ns)
{
	return ns > KTIME_MAX ? TWHEEL_NEVER : time_move(ns, timens_offset(clock));
}

/**
 * twheel_time_after - a time in the future, by the clock of the host
 * @clock: the clock
 * @delay_ns: interval from now in ns
 *
 * Return: the time; TWHEEL_NEVER for one that the clock cannot show.
 */
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns)
{
	u64 ns;

	if (check_add_overflow(twheel_clock_ns(clock), delay_ns, &ns) || ns > KTIME_MAX)
		return TWHEEL_NEVER;
	return ns;
}
