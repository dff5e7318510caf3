// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine itself adds to a stretch with interrupts off.
 *
 * A virtual machine's processor, and a User Mode Linux's process all the more,
 * is taken away now and then, interrupts off or not, and then every stretch
 * looks long that is timed just then.  A loop that does nothing but read the
 * clock shows how often, and for how long.
 */
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"

/* Some microseconds each time, like a step of the reaper. */
#define READINGS	100

/* What is longer than any reading of the clock. */
#define GAP_NS		(5 * NSEC_PER_USEC)

/**
 * machine_gaps - see how long the time between two readings of the clock can be
 * @ns: for how long to read it, with interrupts off for most of that
 * @gaps: filled in
 */
void machine_gaps(u64 ns, struct machine_gaps *gaps)
{
	u64 end = ktime_get_ns() + ns, before, now;
	unsigned long flags;
	unsigned int i;

	*gaps = (struct machine_gaps){};
	do {
		local_irq_save(flags);
		now = ktime_get_ns();
		for (i = 0; i < READINGS; i++) {
			before = now;
			now = ktime_get_ns();
			gaps->nr += now - before > GAP_NS;
			gaps->longest_ns = max(gaps->longest_ns, now - before);
		}
		local_irq_restore(flags);
		cond_resched();
	} while (now < end);
}
