// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: what waits on the shards of a wheel.  How it gets there is in
 * timer_add.c, and how it leaves in timer_cancel.c.
 *
 * This is what other modules use, and so do the operations above.  A timer is
 * pending from add until it is cancelled or its function is about to run; it
 * is running while the @running of its base names it.  A function that arms its
 * own timer again makes it pending and running at once.
 *
 * A timer is on one shard of its wheel at a time, which its place names, and all
 * that changes in it is protected by the lock of that shard.  Its place changes
 * only with the locks of both shards held, the old and the new; timer_add.c
 * tells when.  So whoever locks the shard that the place names, and finds that it
 * names it still, has the timer.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/overflow.h>
#include <trace/events/twheel.h>

#include "clock.h"
#include "shards.h"
#include "timer.h"
#include "timer_debug.h"

/* Whoever has a million timers pays for each byte of them. */
static_assert(sizeof(struct twheel_timer) <= 5 * sizeof(u64));

static u64 deadline_after(u64 now, u64 delay_ns)
{
	u64 deadline;

	if (check_add_overflow(now, delay_ns, &deadline) || deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return deadline;
}

/**
 * twheel_deadline - the deadline that lies a delay ahead
 * @delay_ns: how far ahead of now
 *
 * For wheels that go by CLOCK_MONOTONIC, as that of twheel_system() does.
 *
 * Context: any but NMI.
 * Return: a time in ns by the clock; TWHEEL_NEVER for one past its end.
 */
u64 twheel_deadline(u64 delay_ns)
{
	return deadline_after(ktime_get_ns(), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline);

/**
 * twheel_deadline_on - the deadline that lies a delay ahead, by a wheel's clock
 * @wheel: the wheel
 * @delay_ns: how far ahead of now
 *
 * On a wheel that goes by CLOCK_REALTIME the deadline is a time of day from
 * here on, and moves when the clock is set: for a mere delay take another wheel.
 *
 * Context: any but NMI.
 * Return: a time in ns by the clock; TWHEEL_NEVER for one past its end.
 */
u64 twheel_deadline_on(const struct twheel *wheel, u64 delay_ns)
{
	return deadline_after(twheel_now(wheel), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline_on);

/* Initialise a timer; debugobjects knows already. */
void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
			void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~(TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET));
	INIT_LIST_HEAD(&timer->node.entry);
	timer->node.expires = TWHEEL_TICK_NEVER;
	timer->fn = fn;
	timer->place = (unsigned long)twheel_local_shard(wheel) |
		       (flags & (TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET));
}

/**
 * twheel_timer_init_flags - make a timer ready for use
 * @timer: the timer, neither pending nor running
 * @wheel: where it will wait; twheel_system() if no other
 * @fn: called once for each time the timer reaches its deadline, with no lock
 *	held; by the reaper, in process context, unless @flags has
 *	TWHEEL_TIMER_INLINE. It may add, re-arm and cancel any timer, and may
 *	free its own. It must not wait long: while it runs, other timers of the
 *	shard do. See twheel_work_init() for one that may.
 * @flags: TWHEEL_TIMER_INLINE, TWHEEL_TIMER_CANCEL_ON_SET
 *
 * A running timer is known by its address alone: memory that its function
 * frees, and that is a timer again before the function has returned, is taken
 * for running too. A module whose functions free their timers calls
 * twheel_flush() before it is unloaded.
 *
 * Context: any.
 */
void twheel_timer_init_flags(struct twheel_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	twheel_debug_init(timer);
	twheel_timer_setup(timer, wheel, fn, flags);
}
EXPORT_SYMBOL_GPL(twheel_timer_init_flags);

/**
 * __twheel_timer_usable - whether a timer has been initialised
 * @timer: the timer
 *
 * Return: false for one that is all zeroes, with a warning; what debugobjects
 * knows better, it reports.
 */
bool __twheel_timer_usable(struct twheel_timer *timer)
{
	twheel_debug_assert_init(timer);
	return !WARN_ON_ONCE(!twheel_timer_shard(timer));
}

/**
 * twheel_timer_detach - make a timer cease to wait
 * @shard: where it is; locked
 * @timer: the timer
 *
 * Return: whether it did wait.
 */
bool twheel_timer_detach(struct twheel_shard *shard, struct twheel_timer *timer)
{
	lockdep_assert_held(&shard->lock);
	if (!twheel_timer_pending(timer))
		return false;
	twheel_queue_del(&twheel_timer_base(shard, timer)->queue, &timer->node);
	twheel_debug_deactivate(timer);
	twheel_shard_vacate(shard);
	trace_twheel_timer_cancel(timer, shard->number);
	shard->cancelled++;
	return true;
}

/**
 * twheel_timer_remaining - how long a timer has yet to wait
 * @timer: the timer, initialised
 *
 * Context: as twheel_timer_add().
 * Return: the time in ns by the clock until the tick at which it fires; 0 if
 * that has come; TWHEEL_NEVER if it is not pending, or will wait forever.
 */
u64 twheel_timer_remaining(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	u64 when, now, remaining = TWHEEL_NEVER;
	unsigned long flags;

	if (!twheel_timer_usable(timer))
		return TWHEEL_NEVER;
	shard = twheel_timer_lock(timer, &flags);
	if (twheel_timer_pending(timer) && timer->node.expires != TWHEEL_TICK_NEVER) {
		when = twheel_shard_time(shard, timer->node.expires);
		now = twheel_clock_ns(shard->clock);
		remaining = when > now ? when - now : 0;
	}
	twheel_shard_unlock(shard, flags);
	return remaining;
}
EXPORT_SYMBOL_GPL(twheel_timer_remaining);

/**
 * twheel_timer_error - whether a timer's function was called before the deadline
 * @timer: the timer, whose function asks
 *
 * Context: the function of the timer.
 * Return: 0 if the deadline has come; -ECANCELED if the clock was set, and the
 * timer has TWHEEL_TIMER_CANCEL_ON_SET.
 */
int twheel_timer_error(const struct twheel_timer *timer)
{
	/* Not by the flag: the timer may have been armed again meanwhile. */
	return twheel_timer_base(twheel_timer_shard(timer), timer)->was_set ? -ECANCELED : 0;
}
EXPORT_SYMBOL_GPL(twheel_timer_error);
