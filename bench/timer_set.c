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

/* Also called after a partial allocation. */
static void set_free(struct timer_set *set)
{
	u32 i, total = set->nr + set->block;

	for (i = 0; set->item && i < total && set->item[i]; i++) {
		kmem_cache_free(set->cache, set->item[i]);
		if (i % CHUNK == 0)
			cond_resched();
	}
	kmem_cache_destroy(set->cache);
	vfree(set->item);
	vfree(set->delay);
}

static int set_alloc(struct timer_set *set)
{
	u32 i, total = set->nr + set->block;

	set->item = vcalloc(total, sizeof(*set->item));
	set->delay = vcalloc(total, sizeof(*set->delay));
	set->cache = kmem_cache_create("twheel_bench", set->contender->size, 0, 0, NULL);
	if (!set->item || !set->delay || !set->cache)
		return -ENOMEM;
	for (i = 0; i < total; i++) {
		set->item[i] = kmem_cache_alloc(set->cache, GFP_KERNEL);
		if (!set->item[i])
			return -ENOMEM;
		if (i % CHUNK == 0)
			cond_resched();
	}
	return 0;
}

/* Swap each timer from @first to @end - 1, last one first, with a random one at or before it. */
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

/* Allocate timers, of which @nr are to stay pending, and start the contender. */
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

/* Initialise all timers, none of which is pending. @held: the contender will be held */
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

/* No timer is pending; the last function may still be running. */
void timer_set_free(struct timer_set *set)
{
	if (set->contender->stop)
		set->contender->stop();
	set_free(set);
}

/* Delays in jiffies are increased by one, as in any code that must not be early. */
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

/* Add timers with the generated delays. Return: the duration in ns. */
u64 timer_set_add(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->added += set->contender->add(&run);
	return ktime_get_ns() - begin;
}

/* Return: the duration in ns. */
u64 timer_set_cancel(struct timer_set *set, u32 from, u32 nr)
{
	const struct timer_run run = { set->item + from, set->delay, nr };
	u64 begin = ktime_get_ns();

	set->cancelled += set->contender->cancel(&run);
	return ktime_get_ns() - begin;
}

/* Check that each add led to one call or one cancel. All timers have been cancelled. */
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
