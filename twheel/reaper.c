// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 3, the reaper: a thread that advances one shard of a wheel, and the
 * hrtimer that wakes it when the earliest bucket expires.
 *
 * This is where ticks meet the clock.  A deadline is rounded up to a tick and
 * the clock is rounded down, so that nothing is ever early, and late by less
 * than one tick plus the time that it takes to wake a thread.
 *
 * With nothing pending, or only what is far away, nothing runs: there is no
 * periodic tick.  Who adds an earlier bucket than the alarm is set for moves
 * the alarm, unless the reaper is awake: then it will look for itself.
 *
 *	adding CPU                        reaper
 *	----------                        ------
 *	                                  lock
 *	                                  nothing is due any more
 *	                                  state = TASK_IDLE
 *	                                  arm the alarm, armed = its tick
 *	                                  unlock
 *	lock                              schedule()
 *	add; next < armed
 *	arm the alarm for next
 *	unlock
 *
 * The state is set before the alarm is armed: an alarm that goes off between
 * unlock and schedule() finds the reaper as good as asleep, and its wake-up is
 * not lost.
 *
 * The lock of a shard is never held while a timer's function runs, and for
 * TWHEEL_CHUNK nodes at a time at the most.
 */
#include <linux/bug.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "reaper.h"

static u64 tick_floor(const struct twheel_shard *shard, u64 ns)
{
	if (shard->tick_shift)
		return ns >> shard->tick_shift;
	return div64_u64(ns, shard->tick_ns);
}

/**
 * twheel_shard_tick - the tick at which a deadline has passed
 * @shard: the shard
 * @deadline: in ns by the clock
 *
 * Return: the first tick that does not begin before @deadline, or
 * TWHEEL_TICK_NEVER for a deadline past what the clock can show.
 */
u64 twheel_shard_tick(const struct twheel_shard *shard, u64 deadline)
{
	if (deadline > KTIME_MAX)
		return TWHEEL_TICK_NEVER;
	return tick_floor(shard, deadline + shard->tick_ns - 1);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_tick);

/* The clock at the beginning of a tick; KTIME_MAX for one past its end. */
static ktime_t tick_time(const struct twheel_shard *shard, u64 tick)
{
	u64 ns;

	if (check_mul_overflow(tick, shard->tick_ns, &ns) || ns > KTIME_MAX)
		return KTIME_MAX;
	return ns_to_ktime(ns);
}

static enum hrtimer_restart shard_alarm(struct hrtimer *alarm)
{
	struct twheel_shard *shard = container_of(alarm, struct twheel_shard, alarm);

	wake_up_process(shard->task);
	return HRTIMER_NORESTART;
}

static void shard_arm(struct twheel_shard *shard, u64 tick)
{
	shard->armed = tick;
	if (tick != TWHEEL_TICK_NEVER)
		hrtimer_start(&shard->alarm, tick_time(shard, tick), HRTIMER_MODE_ABS_HARD);
}

/**
 * twheel_shard_forward - tell an idle wheel the time before a node is added
 * @shard: the shard, whose lock is held
 *
 * By a clock that is coarse, but cheap and never ahead.
 */
void twheel_shard_forward(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	twheel_queue_forward(&shard->queue, tick_floor(shard, ktime_get_coarse_ns()));
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_forward);

/**
 * twheel_shard_add - add a node, and see to it that the reaper knows
 * @shard: the shard, whose lock is held
 * @node: in no list
 */
void twheel_shard_add(struct twheel_shard *shard, struct twheel_node *node)
{
	u64 next;

	lockdep_assert_held(&shard->lock);

	twheel_queue_add(&shard->queue, node);
	next = twheel_queue_next(&shard->queue);
	if (next < shard->armed)
		shard_arm(shard, next);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_add);

/*
 * Call the functions of some timers that are due. A timer may be freed by its
 * function; who waits for that to end looks at @running, and is woken here.
 * No more than a chunk at a time, so that timers which are armed for the past
 * again and again don't keep others from becoming due. Who calls us lets
 * others run in between.
 */
static void reap_due(struct twheel_shard *shard, u64 now)
	__must_hold(&shard->lock)
{
	void (*fn)(struct twheel_timer *timer);
	unsigned int budget = TWHEEL_CHUNK;
	struct twheel_timer *timer;
	struct twheel_node *node;

	while (budget-- && (node = twheel_queue_pop(&shard->queue))) {
		timer = container_of(node, struct twheel_timer, node);
		shard->fired++;
		/* What was added meanwhile may be due later than we think it is. */
		if (now > node->expires)
			shard->latest_ticks = max(shard->latest_ticks, now - node->expires);
		shard->running = timer;
		fn = timer->fn;
		spin_unlock_irq(&shard->lock);

		fn(timer);

		spin_lock_irq(&shard->lock);
		shard->running = NULL;
		if (shard->waiters)
			wake_up_all(&shard->idle);
		if (need_resched())
			break;
	}
}

static u64 tick_now(const struct twheel_shard *shard)
{
	return tick_floor(shard, ktime_get_ns());
}

/*
 * Look for the memory that an add did not find, but never wait for it: what is
 * due must not depend on reclaim. One level at a time, at each waking spell;
 * what is too far even then will say so again.
 */
static void reaper_feed(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_wheel *wheel = &shard->queue.wheel;
	struct twheel_level *level;

	if (!wheel->starved)
		return;
	spin_unlock_irq(&shard->lock);
	level = twheel_level_alloc(wheel->slots, GFP_NOWAIT | __GFP_NOWARN);
	spin_lock_irq(&shard->lock);
	if (level && wheel->starved)
		twheel_wheel_grow(wheel, level);
	else
		twheel_level_free(level);
}

/* One waking spell: advance, and fire, until nothing is due any more. */
static void reap(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	u64 now = tick_now(shard);

	while (twheel_queue_advance(&shard->queue, now, TWHEEL_CHUNK)) {
		reap_due(shard, now);
		spin_unlock_irq(&shard->lock);
		cond_resched();
		spin_lock_irq(&shard->lock);
		now = tick_now(shard);
	}
}

static int reaper(void *data)
{
	struct twheel_shard *shard = data;

	spin_lock_irq(&shard->lock);
	while (!kthread_should_stop()) {
		shard->armed = 0;
		reap(shard);
		reaper_feed(shard);
		set_current_state(TASK_IDLE);
		shard_arm(shard, twheel_queue_next(&shard->queue));
		spin_unlock_irq(&shard->lock);

		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);

		spin_lock_irq(&shard->lock);
		shard->wakeups++;
	}
	spin_unlock_irq(&shard->lock);
	/* It would wake a task that is gone. Nobody arms it any more. */
	hrtimer_cancel(&shard->alarm);
	return 0;
}

/**
 * twheel_shard_start - set up a shard and start its reaper
 * @shard: the shard, zeroed
 * @config: tick, slots and name, all set
 * @number: which of its wheel's shards this is
 *
 * Context: process; may sleep.
 * Return: 0, -ENOMEM, or -EINTR if a fatal signal came meanwhile.
 */
int twheel_shard_start(struct twheel_shard *shard, const struct twheel_config *config,
		       unsigned int number)
{
	struct task_struct *task;
	int err;

	spin_lock_init(&shard->lock);
	init_waitqueue_head(&shard->idle);
	twheel_hrtimer_setup(&shard->alarm, shard_alarm, CLOCK_MONOTONIC,
			     HRTIMER_MODE_ABS_HARD);
	shard->tick_ns = config->tick_ns;
	/* is_power_of_2() is for longs, which may be shorter. */
	if (!(config->tick_ns & (config->tick_ns - 1)))
		shard->tick_shift = ilog2(config->tick_ns);

	err = twheel_queue_init(&shard->queue, config->slots,
				tick_floor(shard, ktime_get_ns()));
	if (err)
		return err;

	task = kthread_create(reaper, shard, "%s/%u", config->name, number);
	if (IS_ERR(task)) {
		twheel_queue_destroy(&shard->queue);
		return PTR_ERR(task);
	}
	shard->task = task;
	wake_up_process(task);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_start);

/**
 * twheel_shard_stop - stop the reaper and free what the shard has
 * @shard: the shard, on which no timer is pending and none is added any more
 *
 * Context: process; may sleep. Not from a timer's function.
 */
void twheel_shard_stop(struct twheel_shard *shard)
{
	kthread_stop(shard->task);
	twheel_queue_destroy(&shard->queue);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_stop);
