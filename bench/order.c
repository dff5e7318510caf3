// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers of the suites, the same for all contenders. Random orders and times are
 * generated before a measurement, so that timed loops only iterate over an array. And sleeping.
 */
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "bench.h"

/* Items to process before rescheduling. */
#define CHUNK	65536

/* A random number from @from to @to - 1; the resolution is 2^-32 of the range. */
u64 bench_between(struct rnd_state *random, u64 from, u64 to)
{
	return from + mul_u64_u32_shr(to - from, prandom_u32_state(random), 32);
}

/* A random permutation of 0 to @nr - 1, allocated by vmalloc(), or NULL. */
u32 *bench_order(u32 nr, struct rnd_state *random)
{
	u32 *order = vmalloc(array_size(nr, sizeof(*order)));
	u32 i, other;

	if (!order)
		return NULL;
	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		other = bench_between(random, 0, i);
		swap(order[i - 1], order[other]);
		if (i % CHUNK == 0)
			cond_resched();
	}
	return order;
}

/* msleep() may be late by an eighth. */
void bench_sleep_until(u64 ns)
{
	u64 us, now = ktime_get_ns();

	if (now < ns) {
		us = div_u64(ns - now, NSEC_PER_USEC);
		usleep_range(us, us + 100);
	}
}
