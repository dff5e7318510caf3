// SPDX-License-Identifier: GPL-2.0
/*
 * Timers of one contender, and the code around the timed loops.
 *
 * The timers are allocated one by one from a slab cache of their size, so their layout in
 * memory is that of ordinary objects. They are visited in random order through an array
 * of pointers.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "timer.h"

/* Timers to process before rescheduling. */
#define CHUNK	65536U

const struct timer_contender *const timer_contenders[TIMER_CONTENDERS] = {
	&bench_twheel, &bench_timer_list, &bench_hrtimer,
};

struct timer_fired timer_fired = {
	.all	= COMPLETION_INITIALIZER(timer_fired.all),
};

void timer_fired_last(void)
{
	timer_fired.end_ns = ktime_get_ns();
	complete(&timer_fired.all);
}

static int items_alloc(struct timer_set *set)
{
	u32 i, total = set->nr + set->block;

	for (i = 0; i < total; i++) {
		set->item[i] = kmem_cache_alloc(set->cache, GFP_KERNEL);
		if (!set->item[i])
			return -ENOMEM;
		if (i % CHUNK == 0)
			cond_resched();
	}
	return 0;
}

static void items_free(struct timer_set *set)
{
	u32 i, total = set->nr + set->block;

	for (i = 0; set->item && i < total && set->item[i]; i++) {
		kmem_cache_free(set->cache, set->item[i]);
		if (i % CHUNK == 0)
			cond_resched();
	}
}

/* Also called after a partial allocation. */
static void set_free(struct timer_set *set)
{
	items_free(set);
	kmem_cache_destroy(set->cache);
	vfree(set->item);
	vfree(set->delay);
}

static int set_alloc(struct timer_set *set)
{
	u32 total = set->nr + set->block;

	set->item = vcalloc(total, sizeof(*set->item));
	set->delay = vcalloc(total, sizeof(*set->delay));
	set->cache = kmem_cache_create("twheel_bench", set->contender->size, 0, 0, NULL);
	if (!set->item || !set->delay || !set->cache)
		return -ENOMEM;
	return items_alloc(set);
}

/**
 * timer_set_shuffle - bring timers into a random order
 * @set: the timers
 * @first: index of the first of them
 * @end: index after the last one
 *
 * Swaps each of them, last one first, with a random one at or before it.
 */
void timer_set_shuffle(struct timer_set *set, u32 first, u32 end)
{
	u32 i, other;

	for (i = end; i > first; i--) {
		other = bench_between(&set->random, 0, i);
		swap(set->item[i - 1], set->item[other]);
		if (i % CHUNK == 0)
			cond_resched();
	}
}

/**
 * timer_set_make - allocate timers and start the contender
 * @set: the result
 * @contender: the contender
 * @nr: number of timers to keep pending
 * @block: number of other timers
 * @seed: seed of all random numbers
 *
 * Return: 0 or a negative error number.
 */
int timer_set_make(struct timer_set *set, const struct timer_contender *contender, u32 nr,
		   u32 block, u64 seed)
{
	int err;

	*set = (struct timer_set) {
		.contender	= contender,
		.nr		= nr,
		.block		= block,
	};
	prandom_seed_state(&set->random, seed);
	err = set_alloc(set);
	if (!err && contender->start)
		err = contender->start();
	if (err) {
		set_free(set);
		return err;
	}
	timer_set_shuffle(set, 0, nr + block);
	return 0;
}

/**
 * timer_set_init - initialise all timers
 * @set: the timers, none of them pending
 * @held: whether the contender will be held
 */
void timer_set_init(struct timer_set *set, bool held)
{
	u32 i, total = set->nr + set->block;

	for (i = 0; i < total; i++)
		set->contender->init(set->item[i], held);
	set->added = 0;
	set->cancelled = 0;
	timer_fired.nr = 0;
	timer_fired.sum = 0;
	timer_fired.awaited = U64_MAX;
	reinit_completion(&timer_fired.all);
}

/**
 * timer_set_free - stop the contender and free the timers
 * @set: the timers, none of them pending; the last function may still be running
 */
void timer_set_free(struct timer_set *set)
{
	if (set->contender->stop)
		set->contender->stop();
	set_free(set);
}

/**
 * timer_set_delays - generate random delays
 * @set: the timers
 * @nr: number of timers
 * @from_ns: lower limit
 * @to_ns: upper limit, exclusive
 *
 * Delays in jiffies are increased by one, as in any code that must not be early.
 */
void timer_set_delays(struct timer_set *set, u32 nr, u64 from_ns, u64 to_ns)
{
	u64 delay;
	u32 i;

	for (i = 0; i < nr; i++) {
		delay = bench_between(&set->random, from_ns, to_ns);
		set->delay[i] = set->contender->jiffies ? nsecs_to_jiffies64(delay) + 1 : delay;
		if (i % CHUNK == 0)
			cond_resched();
	}
}

/**
 * timer_set_add - add timers with the generated delays
 * @set: the timers
 * @from: index of the first one
 * @nr: number of timers
 *
 * Return: the duration in ns.
 */
u64 timer_set_add(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->added += set->contender->add(&run);
	return ktime_get_ns() - begin;
}

/**
 * timer_set_cancel - cancel timers
 * @set: the timers
 * @from: index of the first one
 * @nr: number of timers
 *
 * Return: the duration in ns.
 */
u64 timer_set_cancel(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->cancelled += set->contender->cancel(&run);
	return ktime_get_ns() - begin;
}

/**
 * timer_set_check - check that each add led to one call or one cancel
 * @set: the timers, after all of them have been cancelled
 *
 * Return: 0, or -EIO after a message.
 */
int timer_set_check(struct timer_set *set)
{
	const struct timer_run run = { set->item, set->delay, set->nr + set->block };
	u32 left = set->contender->cancel(&run);

	if (!left && set->added == set->cancelled + timer_fired.nr)
		return 0;
	return bench_failure("%s: %llu added, %llu cancelled, %llu called, %u left",
			     set->contender->name, set->added, set->cancelled, timer_fired.nr,
			     left);
}
