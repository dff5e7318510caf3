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

static u64 item_now(void)
{
	return jiffies;
}

static bool item_add(struct timer_list *timer, u64 expires)
{
	timer->expires = expires;
	add_timer(timer);
	return true;
}

static bool item_cancel(struct timer_list *timer)
{
	return timer_delete(timer);
}

static bool item_rearm(struct timer_list *timer, u64 expires)
{
	return mod_timer(timer, expires);
}

#include "timer_loops.h"

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
