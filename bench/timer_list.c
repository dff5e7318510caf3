// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: struct timer_list. It never moves timers, and may therefore be late by an
 * eighth of the delay.
 *
 * Its functions are held by disabling softirqs.
 */
#include <linux/bottom_half.h>
#include <linux/jiffies.h>
#include <linux/timer.h>

#include "timer.h"

static void fire(struct timer_list *timer)
{
	timer_fire(timer);
}

static void init(void *item, bool held)
{
	timer_setup((struct timer_list *)item, fire, 0);
}

static u32 add(const struct timer_run *run)
{
	unsigned long now = jiffies;
	struct timer_list *timer;
	u32 i;

	for (i = 0; i < run->nr; i++) {
		timer = run->item[i];
		timer->expires = now + run->delay[i];
		add_timer(timer);
	}
	return run->nr;
}

static u32 cancel(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += timer_delete(run->item[i]);
	return done;
}

static u32 rearm(const struct timer_run *run)
{
	unsigned long now = jiffies;
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += mod_timer(run->item[i], now + run->delay[i]);
	return done;
}

static u32 pairs(const struct timer_run *run)
{
	unsigned long now = jiffies;
	struct timer_list *timer;
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++) {
		done += timer_delete(run->item[i]);
		timer = run->item[(s64)i - 1];
		timer->expires = now + run->delay[i];
		add_timer(timer);
	}
	return done;
}

const struct timer_contender bench_timer_list = {
	.name		= "timer_list",
	.size		= sizeof(struct timer_list),
	.jiffies	= true,
	.init		= init,
	.add		= add,
	.cancel		= cancel,
	.rearm		= rearm,
	.pairs		= pairs,
	.hold		= local_bh_disable,
	.release	= local_bh_enable,
};
