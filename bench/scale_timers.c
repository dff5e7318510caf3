// SPDX-License-Identifier: GPL-2.0
/*
 * Suite scale, timers: beside a number of pending timers, each thread adds a batch of its
 * own timers, cancels them, and repeats this.
 *
 * The loops are those of the suite timer. Here, twheel uses the system wheel with one
 * shard per CPU, as its peers use one base per CPU.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "bench.h"
#include "scale.h"
#include "timer.h"

/* Delays that exceed the length of a run. */
#define DELAY_MIN_NS	(10 * 60 * (u64)NSEC_PER_SEC)
#define DELAY_MAX_NS	(100 * 60 * (u64)NSEC_PER_SEC)

/* Delays of successive batches, so that these differ; a power of two. */
#define DELAYS		4096

/*
 * The timers of a thread: pending ones, followed by one batch. @at is the position of the
 * next batch in @delay.
 */
struct thread_timers {
	const struct timer_contender	*contender;
	u32				at;
	u64				delay[DELAYS];
	void				*item[];
};

static struct kmem_cache *cache;
static const struct timer_contender *started;

static void never_fire(struct twheel_timer *timer)
{
	bench_failure("a timer fired long before its deadline");
}

static int start(const struct timer_contender *contender)
{
	int err = contender->start();

	if (err)
		return err;
	cache = kmem_cache_create("twheel_bench", contender->size, 0, 0, NULL);
	if (!cache) {
		contender->stop();
		return -ENOMEM;
	}
	started = contender;
	timer_fired.nr = 0;
	return 0;
}

static int start_twheel(const struct bench_config *config)
{
	return start(&bench_twheel);
}

static int start_timer_list(const struct bench_config *config)
{
	return start(&bench_timer_list);
}

static int start_hrtimer(const struct bench_config *config)
{
	return start(&bench_hrtimer);
}

static int stop(int err)
{
	kmem_cache_destroy(cache);
	started->stop();
	if (!err && timer_fired.nr)
		err = -EIO;
	return err;
}

static void item_init(const struct timer_contender *contender, void *item)
{
	if (contender == &bench_twheel)
		twheel_timer_init(item, twheel_system(), never_fire);
	else
		contender->init(item, false);
}

static u64 delay_of(struct scale_thread *thread, const struct timer_contender *contender)
{
	u64 delay = bench_between(&thread->random, DELAY_MIN_NS, DELAY_MAX_NS);

	return contender->jiffies ? nsecs_to_jiffies64(delay) : delay;
}

static int items_alloc(struct scale_thread *thread, struct thread_timers *timers)
{
	u32 i;

	for (i = 0; i < DELAYS; i++)
		timers->delay[i] = delay_of(thread, timers->contender);
	for (i = 0; i < thread->nr + SCALE_BATCH; i++) {
		timers->item[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (!timers->item[i])
			return -ENOMEM;
		item_init(timers->contender, timers->item[i]);
	}
	return 0;
}

static struct timer_run run_next(struct thread_timers *timers, void **item)
{
	u32 at = timers->at;

	timers->at = (at + SCALE_BATCH) % DELAYS;
	return (struct timer_run){ item, timers->delay + at, SCALE_BATCH };
}

static int prepare(struct scale_thread *thread)
{
	struct thread_timers *timers;
	u32 i;
	int err;

	timers = kvzalloc(struct_size(timers, item, thread->nr + SCALE_BATCH), GFP_KERNEL);
	if (!timers)
		return -ENOMEM;
	thread->private = timers;
	timers->contender = started;
	err = items_alloc(thread, timers);
	for (i = 0; i < thread->nr && !err; i++) {
		struct timer_run run = run_next(timers, timers->item + i);

		run.nr = 1;
		if (started->add(&run) != 1)
			err = -EIO;
	}
	return err;
}

static unsigned int turn(struct scale_thread *thread)
{
	struct thread_timers *timers = thread->private;
	const struct timer_run run = run_next(timers, timers->item + thread->nr);
	u32 added = timers->contender->add(&run);

	return min(added, timers->contender->cancel(&run));
}

static void clear(struct scale_thread *thread)
{
	struct thread_timers *timers = thread->private;
	u32 i;

	for (i = 0; timers && i < thread->nr + SCALE_BATCH && timers->item[i]; i++) {
		const struct timer_run run = { timers->item + i, timers->delay, 1 };

		timers->contender->cancel(&run);
		kmem_cache_free(cache, timers->item[i]);
	}
	kvfree(timers);
}

#define TIMERS(_of) {				\
	.of		= #_of,			\
	.figure		= "add_cancel",		\
	.suffix		= "",			\
	.start		= start_##_of,		\
	.stop		= stop,			\
	.prepare	= prepare,		\
	.turn		= turn,			\
	.clear		= clear,		\
}

const struct scale_contender scale_timers[SCALE_TIMERS] = {
	TIMERS(twheel), TIMERS(timer_list), TIMERS(hrtimer),
};
