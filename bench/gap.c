// SPDX-License-Identifier: GPL-2.0
/*
 * Interruptions by the machine while interrupts are off.
 *
 * A hypervisor may stop a virtual CPU at any time, and a host may preempt User Mode
 * Linux, regardless of the interrupt state of the guest. Such gaps inflate the measured
 * stretches with interrupts off. A loop that only reads the clock shows how often they
 * occur and how long they last.
 */
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"

/* Some microseconds per loop, like a step of the reaper. */
#define READINGS	100

/* Longer than any reading of the clock. */
#define GAP_NS		(5 * NSEC_PER_USEC)

/**
 * machine_gaps - measure the gaps between readings of the clock
 * @ns: duration of the measurement, mostly with interrupts off
 * @gaps: result
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
