// SPDX-License-Identifier: GPL-2.0
/*
 * Suite scale, timers: each thread adds a batch of its own beside many that are
 * pending, and cancels them, and so on.
 *
 * The loops are those of suite timer.  Here twheel's timers are on the system's
 * wheel, which has a shard for each CPU, as those of its peers are on what
 * each CPU has of theirs.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "bench.h"
#include "scale.h"
#include "timer.h"

/* None is to fire. */
#define DELAY_MIN_NS	(10 * 60 * (u64)NSEC_PER_SEC)
#define DELAY_MAX_NS	(100 * 60 * (u64)NSEC_PER_SEC)

/* Delays for batch after batch, so that these differ; a power of two. */
#define DELAYS		4096

/*
 * The timers of a thread: those that stay pending, and a batch of others behind.
 * @at is where in @delay the next batch takes its delays.
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
	bench_failure("a timer fired that was due much later");
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
	thread->own = timers;
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
	struct thread_timers *timers = thread->own;
	const struct timer_run run = run_next(timers, timers->item + thread->nr);
	u32 added = timers->contender->add(&run);

	return min(added, timers->contender->cancel(&run));
}

static void clear(struct scale_thread *thread)
{
	struct thread_timers *timers = thread->own;
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
	.what		= "add_cancel",		\
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
