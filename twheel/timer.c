// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: what waits on the shards of a wheel, and how it gets there.
 * timer_cancel.c is about how it leaves.
 *
 * This is what other modules use, and so do the operations above.  A timer is
 * pending from add until it is cancelled or its function is about to run; it
 * is running while the shard's @running names it.  A function that arms its
 * own timer again makes it pending and running at once.
 *
 * A timer is on one shard of its wheel at a time, and all that changes in it
 * is protected by the lock of that shard.  So that CPUs don't serialise on one
 * lock, add brings a timer to the shard of the CPU that it runs on.  Only one
 * that is neither pending nor running moves, and only with both locks held:
 *
 *	mover                                     others
 *	-----                                     ------
 *	lock the shard that its place names       read its place
 *	trylock the local one                     lock the shard that this names
 *	place = local                             read its place again: if it
 *	unlock the first                          names another, unlock, retry
 *
 * So whoever holds the lock of the shard that a timer's place names has it for
 * sure, also while it is about to move, and nobody waits for a second lock: if
 * the local one is taken at this very moment, the timer stays where it is.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/smp.h>
#include <trace/events/twheel.h>

#include "clock.h"
#include "compat.h"
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

/* The shard of the CPU that we are on, or were just now: any of them will do. */
static struct twheel_shard *local_shard(struct twheel *wheel)
{
	unsigned int cpu = raw_smp_processor_id();

	return &wheel->shard[cpu < wheel->nr_shards ? cpu : cpu % wheel->nr_shards];
}

/* Initialise a timer; debugobjects knows already. */
void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
			void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~(TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET));
	INIT_LIST_HEAD(&timer->node.entry);
	timer->node.expires = TWHEEL_TICK_NEVER;
	timer->fn = fn;
	timer->place = (unsigned long)local_shard(wheel) |
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
 * twheel_timer_usable - whether a timer has been initialised
 * @timer: the timer
 *
 * Return: false for one that is all zeroes, with a warning; what debugobjects
 * knows better, it reports.
 */
bool twheel_timer_usable(struct twheel_timer *timer)
{
	twheel_debug_assert_init(timer);
	return !WARN_ON_ONCE(!twheel_timer_shard(timer));
}

/**
 * twheel_timer_lock - lock the shard that a timer is on
 * @timer: the timer, usable
 * @flags: for twheel_shard_unlock()
 *
 * Return: the shard.
 */
struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer, unsigned long *flags)
	__acquires(timer)
{
	struct twheel_shard *shard;

	for (;;) {
		shard = twheel_timer_shard(timer);
		*flags = twheel_shard_lock(shard);
		if (likely(shard == twheel_timer_shard(timer)))
			return shard;
		twheel_shard_unlock(shard, *flags);
	}
}

/*
 * Bring a timer that is about to be added to the local shard. Returns the shard
 * that it is on then, locked instead of the one that was.
 */
static struct twheel_shard *timer_come(struct twheel_timer *timer, struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_shard *local = local_shard(shard->wheel);

	lockdep_assert_held(&shard->lock);
	if (likely(local == shard) || shard->running == timer || !spin_trylock(&local->lock))
		return shard;
	twheel_shard_locked(local);
	WRITE_ONCE(timer->place, (unsigned long)local | twheel_timer_flags(timer));
	twheel_shard_unlocking(shard);
	spin_unlock(&shard->lock);
	return local;
}

/* Whether there are levels enough for a tick. */
static bool shard_reaches(struct twheel_shard *shard, u64 tick)
{
	lockdep_assert_held(&shard->lock);
	twheel_shard_forward(shard);
	return tick == TWHEEL_TICK_NEVER || twheel_wheel_reaches(&shard->queue.wheel, tick);
}

/* Add a level, unless others did meanwhile. False if there is no memory. */
static bool shard_grow(struct twheel_shard *shard, u64 tick)
{
	struct twheel_wheel *wheel = &shard->queue.wheel;
	struct twheel_level *level;
	unsigned long flags;
	bool grow;

	level = twheel_level_alloc(wheel->slots, GFP_ATOMIC | __GFP_NOWARN);
	if (!level)
		return false;
	flags = twheel_shard_lock(shard);
	grow = !twheel_wheel_reaches(wheel, tick);
	if (grow)
		twheel_wheel_grow(wheel, level);
	twheel_shard_unlock(shard, flags);
	if (!grow)
		twheel_level_free(level);
	return true;
}

/*
 * The tick for a deadline with slack: the last beginning of a slot on as high a
 * level as possible. All that is rounded to it waits in one bucket, and is due
 * when that expires.
 */
static u64 tick_coarse(const struct twheel_shard *shard, u64 deadline, u64 slack_ns)
{
	u64 slack, last, span = 1, slots = shard->queue.wheel.slots;
	u64 tick = twheel_shard_tick(shard, deadline);

	if (!slack_ns || tick == TWHEEL_TICK_NEVER)
		return tick;
	if (slack_ns == TWHEEL_SLACK_COARSE)
		slack_ns = max_t(s64, 0, deadline - twheel_clock_ns(shard->clock)) / 8;
	slack = div64_u64(slack_ns, shard->tick_ns);
	if (check_add_overflow(tick, slack, &last))
		return tick;
	while (slack >= slots) {
		slack = div64_u64(slack, slots);
		span *= slots;
	}
	return div64_u64(last, span) * span;
}

/*
 * Lock the shard on which a timer is to wait, and let it reach a tick. Memory
 * for a level is had without the lock, and then we look anew; if there is
 * none, the wheel does without: see wheel.c.
 */
static struct twheel_shard *timer_lock_reaching(struct twheel_timer *timer, u64 deadline,
						u64 slack_ns, u64 *tick, unsigned long *flags)
	__acquires(timer)
{
	struct twheel_shard *shard;
	bool fed = true;

	for (;;) {
		shard = twheel_timer_lock(timer, flags);
		if (!twheel_timer_pending(timer))
			shard = timer_come(timer, shard);
		*tick = tick_coarse(shard, deadline, slack_ns);
		if (shard_reaches(shard, *tick) || !fed)
			return shard;
		twheel_shard_unlock(shard, *flags);
		fed = shard_grow(shard, *tick);
	}
}

/* Take a timer out of the wheel, if it is in there. Its place stays taken. */
static bool timer_unlink(struct twheel_shard *shard, struct twheel_timer *timer)
{
	lockdep_assert_held(&shard->lock);
	if (!twheel_timer_pending(timer))
		return false;
	twheel_queue_del(&shard->queue, &timer->node);
	twheel_debug_deactivate(timer);
	return true;
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
	if (!timer_unlink(shard, timer))
		return false;
	twheel_shard_vacate(shard);
	trace_twheel_timer_cancel(timer, shard->number);
	shard->cancelled++;
	return true;
}

/* Whether a timer has been shut down, or its wheel stopped. */
static bool timer_refused(const struct twheel_shard *shard, const struct twheel_timer *timer)
{
	return shard->stopped || !timer->fn;
}

/* Put a timer in. A tick that has passed counts as the one that the wheel stands at. */
static void timer_link(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	unsigned int flags = twheel_timer_flags(timer);

	if (unlikely(flags)) {
		shard->has_inline |= flags & TWHEEL_TIMER_INLINE;
		shard->has_on_set |= flags & TWHEEL_TIMER_CANCEL_ON_SET;
		WRITE_ONCE(timer->place, timer->place & ~TWHEEL_TIMER_WAS_SET);
	}
	twheel_debug_activate(timer);
	timer->node.expires = max(tick, shard->queue.wheel.now);
	trace_twheel_timer_add(timer, shard->number);
	twheel_shard_add(shard, &timer->node);
}

/* Let a timer that does not wait begin to, if it may. */
static int timer_attach(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	if (timer_refused(shard, timer))
		return -ESHUTDOWN;
	if (!twheel_shard_place(shard)) {
		shard->rejected++;
		return -ENOSPC;
	}
	timer_link(shard, timer, tick);
	shard->added++;
	return 0;
}

/**
 * twheel_timer_add_slack - let a timer wait for a deadline, or a little longer
 * @timer: the timer, initialised
 * @deadline: as in twheel_timer_add()
 * @slack_ns: by how much it may be late, besides the tick that any timer may
 *	be late; TWHEEL_SLACK_COARSE for an eighth of the time that is left
 *
 * With slack, timers share wake-ups, and mostly stay in the bucket that they are put
 * into until they fire. None is early.
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_add().
 */
int twheel_timer_add_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns)
{
	struct twheel_shard *shard;
	unsigned long flags;
	u64 tick;
	int err;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = timer_lock_reaching(timer, deadline, slack_ns, &tick, &flags);
	if (twheel_timer_pending(timer))
		err = -EBUSY;
	else
		err = timer_attach(shard, timer, tick);
	twheel_shard_unlock(shard, flags);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_timer_add_slack);

/**
 * twheel_timer_add - let a timer wait for a deadline
 * @timer: the timer, initialised
 * @deadline: in ns by the clock of the wheel, see twheel_deadline(). One that
 *	has passed fires at once; one past 2^63 - 1 never does.
 *
 * Context: any but NMI; on PREEMPT_RT not from hard interrupts, nor with a
 * raw spinlock held.
 * Return:
 * * 0          - it waits
 * * -EBUSY     - it did already: twheel_timer_rearm() moves it
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 * * -ENOSPC    - as many timers as may are pending on the wheel
 * * -EINVAL    - it was never initialised; with a warning
 */
int twheel_timer_add(struct twheel_timer *timer, u64 deadline)
{
	return twheel_timer_add_slack(timer, deadline, 0);
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

/* Give a timer another tick; it may be pending or not. */
static int timer_rearm(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	if (!twheel_timer_pending(timer))
		return timer_attach(shard, timer, tick);
	/* twheel_stop() is about to hand it back. */
	if (timer_refused(shard, timer))
		return -ESHUTDOWN;
	timer_unlink(shard, timer);
	timer_link(shard, timer, tick);
	shard->rearmed++;
	return 1;
}

/**
 * twheel_timer_rearm_slack - give a timer another deadline, and some slack
 * @timer: the timer, initialised
 * @deadline: as in twheel_timer_add()
 * @slack_ns: as in twheel_timer_add_slack()
 * @which: as in twheel_timer_rearm()
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_rearm().
 */
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm which)
{
	struct twheel_shard *shard;
	unsigned long flags;
	u64 tick;
	int ret;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = timer_lock_reaching(timer, deadline, slack_ns, &tick, &flags);
	if (rearm_applies(timer, tick, which))
		ret = timer_rearm(shard, timer, tick);
	else
		ret = twheel_timer_pending(timer);
	twheel_shard_unlock(shard, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm_slack);

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
 * * -ENOSPC    - it was not pending, and as many timers as may are
 * * -EINVAL    - it was never initialised; with a warning
 */
int twheel_timer_rearm(struct twheel_timer *timer, u64 deadline, enum twheel_rearm which)
{
	return twheel_timer_rearm_slack(timer, deadline, 0, which);
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm);

/**
 * twheel_timer_repeat - let a timer wait once more after its function has returned
 * @shard: where its function runs
 * @timer: the timer; it may be gone if it was cancelled meanwhile
 * @deadline: as in twheel_timer_add()
 *
 * For the function that the reaper calls, just before it returns. Nothing is
 * done if the timer was cancelled while the function ran, or has been armed
 * again. It needs no place of its own: it just left one, and one more for each shard
 * does no harm.
 */
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline)
{
	u64 tick = twheel_shard_tick(shard, deadline);
	unsigned long flags;
	bool fed = true;

	for (;;) {
		flags = twheel_shard_lock(shard);
		WARN_ON_ONCE(shard->running != timer);
		if (shard->cut || timer_refused(shard, timer) || twheel_timer_pending(timer))
			break;
		if (shard_reaches(shard, tick) || !fed) {
			if (shard->places)
				atomic64_inc(&shard->places->pending);
			timer_link(shard, timer, tick);
			shard->added++;
			break;
		}
		twheel_shard_unlock(shard, flags);
		fed = shard_grow(shard, tick);
	}
	twheel_shard_unlock(shard, flags);
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
	return twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_SET ? -ECANCELED : 0;
}
EXPORT_SYMBOL_GPL(twheel_timer_error);
