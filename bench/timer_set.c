// SPDX-License-Identifier: GPL-2.0
/*
 * Timers of one contender, as many as are wanted, and what is done to them
 * beside what is timed.
 *
 * They come one by one from a slab cache, so that they lie as anybody's objects do,
 * each with its own size only, and are visited in random order by an array of
 * pointers.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "timer.h"

/* How many are dealt with before others may run. */
#define CHUNK	65536U

const struct timer_contender *const timer_contenders[TIMER_CONTENDERS] = {
	&bench_twheel, &bench_timer_list, &bench_hrtimer, &bench_delayed_work,
};

struct timer_fired timer_fired = {
	.all	= COMPLETION_INITIALIZER(timer_fired.all),
};

void timer_fired_last(void)
{
	timer_fired.end_ns = ktime_get_ns();
	complete(&timer_fired.all);
}

/**
 * timer_set_fits - whether there is memory for as many timers
 * @contender: what they are
 * @nr: how many
 *
 * Better not to find out by allocating.
 */
bool timer_set_fits(const struct timer_contender *contender, u64 nr)
{
	u64 each = contender->size + sizeof(void *) + sizeof(u64);

	return (nr * each >> PAGE_SHIFT) < si_mem_available() / 4 * 3;
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

/* Give back whatever there is. */
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

/* Put a random one of all before it into each place from the last one down to the first. */
static void shuffle_down_to(struct timer_set *set, u32 first)
{
	u32 i, other;

	for (i = set->nr + set->block; i > first + 1; i--) {
		other = bench_between(&set->random, 0, i);
		swap(set->item[i - 1], set->item[other]);
		if (i % CHUNK == 0)
			cond_resched();
	}
}

/**
 * timer_set_make - make timers
 * @set: filled in
 * @contender: what they are
 * @nr: how many are to be pending
 * @block: how many others there are
 * @seed: of their order, and of all that is random later
 *
 * Return: 0 or an error.
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
	if (!err)
		err = contender->start();
	if (err) {
		set_free(set);
		return err;
	}
	shuffle_down_to(set, 0);
	return 0;
}

/**
 * timer_set_init - initialise all timers, none of which is pending
 * @set: the timers
 * @held: whether the contender is to be held
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
 * timer_set_free - give timers back
 * @set: none of them pending, but the function of the last may still be running
 */
void timer_set_free(struct timer_set *set)
{
	set->contender->stop();
	set_free(set);
}

/**
 * timer_set_delays - make up random delays
 * @set: whose
 * @nr: for how many timers
 * @from_ns: the shortest
 * @to_ns: above the longest
 *
 * A jiffy more where it is these that count, as anybody adds who must not be early.
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
 * timer_set_pick - make any timers the block
 * @set: all of them
 */
void timer_set_pick(struct timer_set *set)
{
	shuffle_down_to(set, set->nr);
}

/**
 * timer_set_add - let timers wait, for the delays that were made up
 * @set: whose
 * @from: the first of them
 * @nr: how many
 *
 * Return: what it took, in ns.
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
 * @set: whose
 * @from: the first of them
 * @nr: how many
 *
 * Return: what it took, in ns.
 */
u64 timer_set_cancel(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->cancelled += set->contender->cancel(&run);
	return ktime_get_ns() - begin;
}

/**
 * timer_set_check - see whether each add led to one call or one cancel
 * @set: all were cancelled that could be, and so none is pending
 *
 * Return: 0, or -EIO with a message.
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
