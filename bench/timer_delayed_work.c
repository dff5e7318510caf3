// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: struct delayed_work, on an otherwise unused ordinary workqueue. It contains
 * a struct timer_list.
 */
#include <linux/bottom_half.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "timer.h"

static struct workqueue_struct *queue;

static void fire(struct work_struct *work)
{
	timer_fire(to_delayed_work(work));
}

static int start(void)
{
	queue = alloc_workqueue("twheel_bench", 0, 0);
	return queue ? 0 : -ENOMEM;
}

static void stop(void)
{
	destroy_workqueue(queue);
}

static void init(void *item, bool held)
{
	INIT_DELAYED_WORK((struct delayed_work *)item, fire);
}

/* Also used as add_delay(), since queue_delayed_work() takes a delay. */
static u32 add(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += queue_delayed_work(queue, run->item[i], run->delay[i]);
	return done;
}

static u32 cancel(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += cancel_delayed_work(run->item[i]);
	return done;
}

static u32 rearm(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += mod_delayed_work(queue, run->item[i], run->delay[i]);
	return done;
}

static u32 pairs(const struct timer_run *run)
{
	u32 i, done = 0, lost = 0;

	for (i = 0; i < run->nr; i++) {
		done += cancel_delayed_work(run->item[i]);
		lost += !queue_delayed_work(queue, run->item[(s64)i - 1], run->delay[i]);
	}
	return done - lost;
}

const struct timer_contender bench_delayed_work = {
	.name		= "delayed_work",
	.size		= sizeof(struct delayed_work),
	.jiffies	= true,
	.start		= start,
	.stop		= stop,
	.init		= init,
	.add		= add,
	.add_delay	= add,
	.cancel		= cancel,
	.rearm		= rearm,
	.pairs		= pairs,
	.hold		= local_bh_disable,
	.release	= local_bh_enable,
};
