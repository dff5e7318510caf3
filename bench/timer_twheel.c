// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: timers of twheel. The wheel is like that of twheel_system(), but has a
 * single shard and counters of its own.
 *
 * To hold its functions, the reaper is blocked in the function of a timer.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/twheel.h>

#include "timer.h"

static struct twheel *wheel;

/* The timer that blocks the reaper. */
static struct twheel_timer gate;
static DECLARE_COMPLETION(held);
static DECLARE_COMPLETION(released);

static void gate_fire(struct twheel_timer *timer)
{
	complete(&held);
	wait_for_completion(&released);
}

static void fire(struct twheel_timer *timer)
{
	timer_fire(timer);
}

static void hold(void)
{
	reinit_completion(&held);
	reinit_completion(&released);
	twheel_timer_add(&gate, 0);
	wait_for_completion(&held);
}

static void release(void)
{
	complete(&released);
}

/* Hold and release once to start the reaper, which is created with the first timer. */
static int start(void)
{
	static const struct twheel_config config = { .name = "tw_bench" };

	wheel = twheel_create(&config);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	twheel_timer_init(&gate, wheel, gate_fire);
	hold();
	release();
	twheel_timer_cancel_sync(&gate);
	return 0;
}

static void stop(void)
{
	twheel_timer_cancel_sync(&gate);
	twheel_flush(wheel);
	twheel_stop(wheel, NULL, NULL);
	twheel_destroy(wheel);
}

static void init(void *item, bool held)
{
	twheel_timer_init(item, wheel, fire);
}

static u64 item_now(void)
{
	return twheel_now(wheel);
}

static bool item_add(struct twheel_timer *timer, u64 deadline)
{
	return !twheel_timer_add(timer, deadline);
}

static bool item_cancel(struct twheel_timer *timer)
{
	return !twheel_timer_cancel(timer);
}

static bool item_rearm(struct twheel_timer *timer, u64 deadline)
{
	return twheel_timer_rearm(timer, deadline, TWHEEL_REARM_ALWAYS) == 1;
}

#include "timer_loops.h"

static u64 moves(void)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.cascaded;
}

const struct timer_contender bench_twheel = {
	.name		= "twheel",
	.size		= sizeof(struct twheel_timer),
	.sleeps		= true,
	.start		= start,
	.stop		= stop,
	.init		= init,
	.add		= add,
	.cancel		= cancel,
	.rearm		= rearm,
	.pairs		= pairs,
	.hold		= hold,
	.release	= release,
	.moves		= moves,
};
