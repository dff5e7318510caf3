// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: what waits on the shards of a wheel.
 *
 * This is what other modules use, and so do the operations above.  A timer
 * belongs to one shard from its init on, that of the CPU on which it was
 * initialised, so that CPUs don't serialise on one lock.  All that changes in
 * a timer is protected by the lock of its shard.
 *
 * A timer is pending from add until it is cancelled or its function is about
 * to run; it is running while the shard's @running names it.  A function that
 * arms its own timer again makes it pending and running at once.
 *
 *	                 cancel             cancel_sync, shutdown_sync
 *	pending          0, it won          0, it won
 *	running          -EINPROGRESS       waits, then -EALREADY
 *	neither          -EALREADY          -EALREADY
 *	pending+running  0, it won          waits, then 0
 *
 * From the timer's own function, these two can't wait for themselves: where
 * they would, they warn and return -EDEADLK.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "shards.h"

/* Whoever has a million timers pays for each byte of them. */
static_assert(sizeof(struct twheel_timer) <= 5 * sizeof(u64));

/**
 * twheel_deadline - the deadline that lies a delay ahead
 * @delay_ns: how far ahead of now
 *
 * Context: any but NMI.
 * Return: a time in ns by the clock; TWHEEL_NEVER for one past its end.
 */
u64 twheel_deadline(u64 delay_ns)
{
	u64 deadline;

	if (check_add_overflow(ktime_get_ns(), delay_ns, &deadline) || deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return deadline;
}
EXPORT_SYMBOL_GPL(twheel_deadline);

/**
 * twheel_timer_init - make a timer ready for use
 * @timer: the timer, neither pending nor running
 * @wheel: where it will wait; twheel_system() if no other
 * @fn: called once for each time the timer reaches its deadline, by the
 *	reaper, in process context with no lock held. It may add, re-arm and
 *	cancel any timer, and may free its own. While it runs, other timers of
 *	the shard wait.
 *
 * A running timer is known by its address alone: memory that its function
 * frees, and that is a timer again before the function has returned, is taken
 * for running too. A module whose functions free their timers on a shared
 * wheel can't tell when the last of them has returned; let it have a wheel of
 * its own, and destroy that, before it is unloaded.
 *
 * Context: any.
 */
void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
		       void (*fn)(struct twheel_timer *timer))
{
	INIT_LIST_HEAD(&timer->node.entry);
	timer->node.expires = TWHEEL_TICK_NEVER;
	timer->fn = fn;
	timer->shard = &wheel->shard[raw_smp_processor_id() % wheel->nr_shards];
}
EXPORT_SYMBOL_GPL(twheel_timer_init);

/*
 * Let a shard reach a tick. The memory for a level is had without its lock;
 * if there is none, the wheel does without: see wheel.c.
 */
static void shard_reach(struct twheel_shard *shard, u64 tick, unsigned long *flags)
	__must_hold(&shard->lock)
{
	struct twheel_wheel *wheel = &shard->queue.wheel;
	struct twheel_level *level;

	twheel_shard_forward(shard);
	while (tick != TWHEEL_TICK_NEVER && !twheel_wheel_reaches(wheel, tick)) {
		spin_unlock_irqrestore(&shard->lock, *flags);
		level = twheel_level_alloc(wheel->slots, GFP_ATOMIC | __GFP_NOWARN);
		spin_lock_irqsave(&shard->lock, *flags);
		if (!level)
			return;
		if (twheel_wheel_reaches(wheel, tick))
			twheel_level_free(level);
		else
			twheel_wheel_grow(wheel, level);
	}
}

/* Take a timer out of the wheel, if it is in there. */
static bool timer_detach(struct twheel_timer *timer)
{
	lockdep_assert_held(&timer->shard->lock);
	if (!twheel_timer_pending(timer))
		return false;
	twheel_queue_del(&timer->shard->queue, &timer->node);
	return true;
}

/* Whether a timer may wait, or has been shut down, or its wheel stopped. */
static bool timer_refused(const struct twheel_timer *timer)
{
	return timer->shard->stopped || !timer->fn;
}

/* A tick that has passed counts as the one that the wheel stands at. */
static void timer_attach(struct twheel_timer *timer, u64 tick)
{
	timer->node.expires = max(tick, timer->shard->queue.wheel.now);
	twheel_shard_add(timer->shard, &timer->node);
}

/**
 * twheel_timer_add - let a timer wait for a deadline
 * @timer: the timer, initialised
 * @deadline: in ns by the clock, see twheel_deadline(). One that has passed
 *	fires at once; one past 2^63 - 1 never does.
 *
 * Context: any but NMI; on PREEMPT_RT not from hard interrupts, nor with a
 * raw spinlock held.
 * Return:
 * * 0          - it waits
 * * -EBUSY     - it did already: twheel_timer_rearm() moves it
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 */
int twheel_timer_add(struct twheel_timer *timer, u64 deadline)
{
	struct twheel_shard *shard = timer->shard;
	u64 tick = twheel_shard_tick(shard, deadline);
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&shard->lock, flags);
	shard_reach(shard, tick, &flags);
	if (twheel_timer_pending(timer)) {
		err = -EBUSY;
	} else if (timer_refused(timer)) {
		err = -ESHUTDOWN;
	} else {
		timer_attach(timer, tick);
		shard->added++;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_timer_add);

static bool rearm_applies(const struct twheel_timer *timer, u64 tick, enum twheel_rearm which)
{
	bool pending = twheel_timer_pending(timer);

	switch (which) {
	case TWHEEL_REARM_ALWAYS:
		return true;
	case TWHEEL_REARM_IF_PENDING:
		return pending;
	case TWHEEL_REARM_IF_EARLIER:
		return !pending || tick < timer->node.expires;
	case TWHEEL_REARM_IF_LATER:
		return !pending || tick > timer->node.expires;
	}
	WARN_ON_ONCE(1);
	return false;
}

/**
 * twheel_timer_rearm - give a timer another deadline
 * @timer: the timer, initialised
 * @deadline: as in twheel_timer_add()
 * @which: which timers are moved, and whether one that is not pending is armed
 *
 * In place, and in O(1) but for the way down the levels: heartbeats and idle
 * timeouts live on it.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * 1          - it was pending, whether it has been moved or not
 * * 0          - it was not
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 */
int twheel_timer_rearm(struct twheel_timer *timer, u64 deadline, enum twheel_rearm which)
{
	struct twheel_shard *shard = timer->shard;
	u64 tick = twheel_shard_tick(shard, deadline);
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&shard->lock, flags);
	shard_reach(shard, tick, &flags);
	ret = twheel_timer_pending(timer);
	if (!rearm_applies(timer, tick, which)) {
		/* left where it is */
	} else if (timer_refused(timer)) {
		/* If it is pending, twheel_stop() is about to hand it back. */
		ret = -ESHUTDOWN;
	} else {
		if (timer_detach(timer))
			shard->rearmed++;
		else
			shard->added++;
		timer_attach(timer, tick);
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm);

/**
 * twheel_timer_cancel - stop a timer from firing
 * @timer: the timer, initialised
 *
 * Context: as twheel_timer_add().
 * Return:
 * * 0            - it was pending; its function will not be called
 * * -EINPROGRESS - its function is running
 * * -EALREADY    - neither: it has fired, or was never added
 */
int twheel_timer_cancel(struct twheel_timer *timer)
{
	struct twheel_shard *shard = timer->shard;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&shard->lock, flags);
	if (timer_detach(timer))
		shard->cancelled++;
	else
		err = shard->running == timer ? -EINPROGRESS : -EALREADY;
	spin_unlock_irqrestore(&shard->lock, flags);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel);

/*
 * Whether a timer's function has returned. The timer is detached at each
 * look, since the function may have armed it again meanwhile.
 */
static bool timer_quiet(struct twheel_timer *timer, bool *won)
{
	if (timer_detach(timer)) {
		timer->shard->cancelled++;
		*won = true;
	}
	return timer->shard->running != timer;
}

/* Cancel a timer, for good if it is to be shut down, and wait for its function. */
static int cancel_and_wait(struct twheel_timer *timer, bool shutdown)
{
	struct twheel_shard *shard = timer->shard;
	bool won = false;
	int err;

	spin_lock_irq(&shard->lock);
	if (shutdown)
		timer->fn = NULL;
	if (timer_quiet(timer, &won)) {
		err = won ? 0 : -EALREADY;
	} else if (WARN_ON_ONCE(shard->task == current)) {
		err = -EDEADLK;
	} else {
		shard->waiters++;
		wait_event_lock_irq(shard->idle, timer_quiet(timer, &won), shard->lock);
		shard->waiters--;
		err = won ? 0 : -EALREADY;
	}
	spin_unlock_irq(&shard->lock);
	return err;
}

/**
 * twheel_timer_cancel_sync - stop a timer and wait for its function
 * @timer: the timer, initialised
 *
 * When this returns, the function is not running, and will not run unless
 * somebody adds the timer again: nothing stands against freeing it. A function
 * that arms its own timer again is cut short too.
 *
 * Context: process; may sleep.
 * Return:
 * * 0         - it was pending
 * * -EALREADY - it was not; if its function was running it has returned
 * * -EDEADLK  - called by the timer's own function, with a warning; the timer
 *	is not pending any more, but does run
 */
int twheel_timer_cancel_sync(struct twheel_timer *timer)
{
	might_sleep();
	return cancel_and_wait(timer, false);
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel_sync);

/**
 * twheel_timer_shutdown_sync - stop a timer for good, and wait for its function
 * @timer: the timer, initialised
 *
 * As twheel_timer_cancel_sync(), and whoever adds or re-arms the timer from now
 * on is told -ESHUTDOWN, until it is initialised anew. It is for what is torn
 * down while others still hold on to it.
 *
 * Context: process; may sleep.
 * Return: as twheel_timer_cancel_sync().
 */
int twheel_timer_shutdown_sync(struct twheel_timer *timer)
{
	might_sleep();
	return cancel_and_wait(timer, true);
}
EXPORT_SYMBOL_GPL(twheel_timer_shutdown_sync);
