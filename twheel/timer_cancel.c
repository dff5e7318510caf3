// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: how they cease to wait, and the calls that wait for their functions.
 *
 *	                 cancel             cancel_sync, shutdown_sync
 *	pending          0, it won          0, it won
 *	running          -EINPROGRESS       waits, then -EALREADY
 *	neither          -EALREADY          -EALREADY
 *	pending+running  1, it won          waits, then 0
 *
 * A timer that repeats is cut short by each of them while it is running.
 *
 * A call that would wait for the function that it is called from is refused with a
 * warning and -EDEADLK.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "callback.h"
#include "shards.h"
#include "timer.h"

/* Cancel a timer with its shard locked; whether it is running is yet to be seen. */
static bool timer_stop(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_base *base = twheel_timer_base(shard, timer);

	if (base->running == timer)
		base->cut = true;
	return twheel_timer_detach(shard, timer);
}

/**
 * twheel_timer_cancel - stop a timer from firing
 * @timer: the timer, initialised
 *
 * Context: as twheel_timer_add().
 * After 0 and -EALREADY the function is not running, and will not run unless the timer
 * is added again. The caller may free the timer if nobody else adds it. After 1 and
 * -EINPROGRESS only twheel_timer_cancel_sync() makes sure of that: the function still
 * uses the timer, and may add it again.
 *
 * Return:
 * * 0            - it was pending, and its function is not running
 * * 1            - it was pending, and its function is running: from before, when it
 *	added the timer again
 * * -EINPROGRESS - it was not pending, and its function is running
 * * -EALREADY    - neither: it has fired, or was never added
 * * -EINVAL      - it was never initialised; with a warning
 */
int twheel_timer_cancel(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	unsigned long flags;
	bool won, running;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = twheel_timer_lock(timer, &flags);
	won = timer_stop(shard, timer);
	running = twheel_timer_base(shard, timer)->running == timer;
	twheel_shard_unlock(shard, flags);
	if (won)
		return running;
	return running ? -EINPROGRESS : -EALREADY;
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel);

/* Whether the caller may be a function of a shard, called by its reaper or its alarm. */
static bool runs_functions(const struct twheel_shard *shard)
{
	return READ_ONCE(shard->task) == current || in_interrupt();
}

/* Whether a wait for the running function of a base would be for the caller itself. */
static bool waits_for_itself(const struct twheel_shard *shard, const struct twheel_base *base)
{
	return in_interrupt() ||
	       (READ_ONCE(shard->task) == current && !twheel_base_is_inline(shard, base));
}

/**
 * twheel_timer_class - the class of a timer's function for lockdep
 * @timer: the timer, with its shard locked, and not shut down
 *
 * A function may be called in interrupts for one timer, and by the reaper for another.
 *
 * Return: for twheel_callback_begin() and twheel_callback_wait().
 */
unsigned long twheel_timer_class(const struct twheel_timer *timer)
{
	bool is_inline = twheel_timer_flags(timer) & TWHEEL_TIMER_INLINE;

	if (timer->fn == twheel_periodic_fire)
		return (unsigned long)container_of(timer, struct twheel_periodic, timer)->fn;
	return (unsigned long)timer->fn + is_inline;
}

/* Let lockdep know that the caller may have to wait for a timer's function. */
static void timer_may_wait(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	unsigned long flags, class = 0;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	shard = twheel_timer_lock(timer, &flags);
	/* The function itself is refused. */
	if (timer->fn && !waits_for_itself(shard, twheel_timer_base(shard, timer)))
		class = twheel_timer_class(timer);
	twheel_shard_unlock(shard, flags);
	if (class)
		twheel_callback_wait(class);
}

/*
 * Cancel a timer, for good if it is to be shut down, and wait for its function.
 * That may arm the timer again: it is cancelled at each look, and may even be on
 * another shard by then.
 */
static int cancel_and_wait(struct twheel_timer *timer, bool shutdown)
{
	struct twheel_shard *shard;
	struct twheel_base *base;
	unsigned long flags;
	bool won = false;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	timer_may_wait(timer);
	for (;;) {
		shard = twheel_timer_lock(timer, &flags);
		base = twheel_timer_base(shard, timer);
		if (shutdown)
			timer->fn = NULL;
		won |= timer_stop(shard, timer);
		if (base->running != timer) {
			twheel_shard_unlock(shard, flags);
			return won ? 0 : -EALREADY;
		}
		if (WARN_ON_ONCE(waits_for_itself(shard, base))) {
			twheel_shard_unlock(shard, flags);
			return -EDEADLK;
		}
		twheel_shard_wait(shard, base);
		twheel_shard_unlock(shard, flags);
	}
}

/**
 * twheel_timer_cancel_sync - stop a timer and wait for its function
 * @timer: the timer, initialised
 *
 * When this returns, the function is not running, and will not run unless
 * somebody adds the timer again: nothing stands against freeing it. A function
 * that arms its own timer again is cut short too. A timer that twheel_stop() is
 * handing back at this moment is not waited for: see there.
 *
 * Context: process; may sleep.
 * Return:
 * * 0         - it was pending
 * * -EALREADY - it was not; if its function was running it has returned
 * * -EDEADLK  - called by the timer's own function, with a warning; the timer
 *	is not pending any more, but does run
 * * -EINVAL   - it was never initialised; with a warning
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
 * As twheel_timer_cancel_sync(), and from now on add and re-arm return -ESHUTDOWN, until
 * the timer is initialised anew. It is for an object that is torn down while others
 * still hold on to it.
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

/**
 * twheel_timer_block - twheel_timer_shutdown_sync(), until it is lifted
 * @timer: the timer, usable
 * @blocked: how many block it
 *
 * Context: process; may sleep.
 * Return: as twheel_timer_shutdown_sync().
 */
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked)
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	++*blocked;
	twheel_shard_unlock(shard, flags);
	return cancel_and_wait(timer, true);
}

/**
 * twheel_timer_unblock - let a timer be added again, unless others block it
 * @timer: the timer, blocked
 * @blocked: how many block it
 * @fn: its function
 */
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer))
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	if (!--*blocked)
		timer->fn = fn;
	twheel_shard_unlock(shard, flags);
}

/* Whether it may be a function of a wheel's timers that asks. */
bool twheel_runs_functions(const struct twheel *wheel)
{
	unsigned int i;

	for (i = 0; i < wheel->nr_shards; i++)
		if (runs_functions(&wheel->shard[i]))
			return true;
	return false;
}

/**
 * twheel_flush - wait until all functions that are running have returned
 * @wheel: the wheel
 *
 * Not for those that begin to run meanwhile. It is for the end of a module
 * whose functions free their timers: once none of these is pending, and this has
 * returned, no function of the module is on its way.
 *
 * Context: process; may sleep.
 * Return: 0; -EDEADLK if called by a timer's function, with a warning.
 */
int twheel_flush(struct twheel *wheel)
{
	struct twheel_shard *shard;
	unsigned int i, b;

	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = &wheel->shard[i];
		twheel_shard_lock_irq(shard);
		for (b = 0; b < TWHEEL_BASES; b++)
			twheel_shard_wait(shard, &shard->base[b]);
		twheel_shard_unlock_irq(shard);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_flush);
