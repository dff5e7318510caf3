// SPDX-License-Identifier: GPL-2.0
/*
 * Chance for the suites, the same for each contender: random orders and random
 * times, made before anything is timed, so that the loops which are timed only
 * walk along an array.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include "bench.h"

/* How much is done before others may run. */
#define CHUNK	65536

/**
 * bench_between - a random number of a range
 * @random: where the numbers come from
 * @from: the least
 * @to: above all, more than @from
 *
 * In steps of 2^-32 of the range.
 */
u64 bench_between(struct rnd_state *random, u64 from, u64 to)
{
	return from + mul_u64_u32_shr(to - from, prandom_u32_state(random), 32);
}

/**
 * bench_shuffle - bring indices into a random order
 * @order: the indices
 * @nr: how many
 * @random: where the order comes from
 */
void bench_shuffle(u32 *order, u32 nr, struct rnd_state *random)
{
	u32 i, other;

	for (i = nr; i > 1; i--) {
		other = bench_between(random, 0, i);
		swap(order[i - 1], order[other]);
		if (i % CHUNK == 0)
			cond_resched();
	}
}

/**
 * bench_order - the indices 0 to nr - 1 in a random order
 * @nr: how many
 * @random: where the order comes from
 *
 * Return: an array for vfree(), or NULL.
 */
u32 *bench_order(u32 nr, struct rnd_state *random)
{
	u32 *order = vmalloc(array_size(nr, sizeof(*order)));
	u32 i;

	if (!order)
		return NULL;
	for (i = 0; i < nr; i++)
		order[i] = i;
	bench_shuffle(order, nr, random);
	return order;
}
