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

static u32 add(const struct timer_run *run)
{
	u64 now = twheel_now(wheel);
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += !twheel_timer_add(run->item[i], now + run->delay[i]);
	return done;
}

static u32 cancel(const struct timer_run *run)
{
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += !twheel_timer_cancel(run->item[i]);
	return done;
}

static u32 rearm(const struct timer_run *run)
{
	u64 now = twheel_now(wheel);
	u32 i, done = 0;

	for (i = 0; i < run->nr; i++)
		done += twheel_timer_rearm(run->item[i], now + run->delay[i],
					   TWHEEL_REARM_ALWAYS) == 1;
	return done;
}

static u32 pairs(const struct timer_run *run)
{
	u64 now = twheel_now(wheel);
	u32 i, done = 0, lost = 0;

	for (i = 0; i < run->nr; i++) {
		done += !twheel_timer_cancel(run->item[i]);
		lost += !!twheel_timer_add(run->item[(s64)i - 1], now + run->delay[i]);
	}
	return done - lost;
}

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
