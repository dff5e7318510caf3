// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: how they begin to wait, or wait for something else.
 *
 * So that CPUs don't serialise on one lock, add brings a timer to the shard of
 * the CPU that it runs on.  Only one that is neither pending nor running moves:
 *
 *	mover                                     others
 *	-----                                     ------
 *	lock the shard that its place names       read its place
 *	trylock the local one                     lock the shard that this names
 *	place = local                             read its place again: if it
 *	unlock the first                          names another, unlock, retry
 *
 * Nobody waits for a second lock: if the local one is taken at this very moment,
 * the timer stays where it is.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <trace/events/twheel.h>

#include "clock.h"
#include "shards.h"
#include "timer.h"
#include "timer_debug.h"

/*
 * Bring a timer that is about to be added to the local shard. Returns the shard
 * that it is on then, locked instead of the one that was.
 */
static struct twheel_shard *timer_come(struct twheel_timer *timer, struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_shard *local;

	lockdep_assert_held(&shard->lock);
	if (likely(shard->number == raw_smp_processor_id()))
		return shard;
	local = twheel_local_shard(shard->wheel);
	if (local == shard || twheel_timer_base(shard, timer)->running == timer ||
	    !spin_trylock(&local->lock))
		return shard;
	twheel_shard_locked(local);
	WRITE_ONCE(timer->place, (unsigned long)local | twheel_timer_flags(timer));
	twheel_shard_unlocking(shard);
	spin_unlock(&shard->lock);
	return local;
}

/* Whether there are levels enough for the tick of a timer. */
static bool timer_reaches(struct twheel_shard *shard, const struct twheel_timer *timer, u64 tick)
{
	struct twheel_wheel *wheel = &twheel_timer_base(shard, timer)->queue.wheel;
	unsigned long kernel_tick = jiffies;

	lockdep_assert_held(&shard->lock);
	/* It goes by what stands still between two ticks of the kernel, unless it is set. */
	if (shard->forwarded != kernel_tick || shard->clock == TWHEEL_CLOCK_REALTIME)
		twheel_shard_forward(shard);
	return likely(tick - wheel->now < wheel->reach) ||
	       tick == TWHEEL_TICK_NEVER || twheel_wheel_reaches(wheel, tick);
}

/* Add a level, unless others did meanwhile. False if there is no memory. */
static bool wheel_grow(struct twheel_shard *shard, struct twheel_wheel *wheel, u64 tick)
{
	struct twheel_level *level;
	unsigned long flags;
	bool grow;

	level = twheel_level_alloc(wheel, GFP_ATOMIC | __GFP_NOWARN | shard->account);
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
	u64 slack, last, span = 1, slots = shard->base[TWHEEL_BASE_REAPER].queue.wheel.slots;
	u64 tick = twheel_shard_tick(shard, deadline);

	if (tick == TWHEEL_TICK_NEVER)
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
 * for a level is allocated without the lock, and then we look anew; if there is
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
		*tick = likely(!slack_ns) ? twheel_shard_tick(shard, deadline) :
					    tick_coarse(shard, deadline, slack_ns);
		if (timer_reaches(shard, timer, *tick) || !fed)
			return shard;
		twheel_shard_unlock(shard, *flags);
		fed = wheel_grow(shard, &twheel_timer_base(shard, timer)->queue.wheel, *tick);
	}
}

/*
 * Whether a timer cannot be added at all: there is no memory for the first level of the
 * base for inline timers.
 */
static bool timer_lacks_level(struct twheel_shard *shard, const struct twheel_timer *timer,
			      u64 tick)
{
	const struct twheel_wheel *wheel = &twheel_timer_base(shard, timer)->queue.wheel;

	return unlikely(!wheel->nr_levels) && tick > wheel->now && tick != TWHEEL_TICK_NEVER;
}

/* Take a timer that is pending out of the wheel. Its place stays taken. */
static void timer_unlink(struct twheel_shard *shard, struct twheel_timer *timer)
{
	twheel_queue_del(&twheel_timer_base(shard, timer)->queue, &timer->node);
	twheel_debug_deactivate(timer);
}

/* Whether a timer has been shut down, or its wheel stopped. */
static bool timer_refused(const struct twheel_shard *shard, const struct twheel_timer *timer)
{
	return shard->stopped || !timer->fn;
}

/* Put a timer in. If its tick has passed, it is due at once, but not late. */
static void timer_link(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	if (unlikely(twheel_timer_flags(timer)))
		WRITE_ONCE(timer->place, timer->place &
			   ~(TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST));
	if (unlikely(tick < twheel_timer_base(shard, timer)->queue.wheel.now))
		WRITE_ONCE(timer->place, timer->place | TWHEEL_TIMER_WAS_PAST);
	twheel_debug_activate(timer);
	timer->node.expires = tick;
	trace_twheel_timer_add(timer, shard->number);
	twheel_shard_add(shard, timer);
}

/* Let a timer that does not wait begin to, if it may. */
static int timer_attach(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	if (timer_refused(shard, timer))
		return -ESHUTDOWN;
	if (timer_lacks_level(shard, timer, tick))
		return -ENOMEM;
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
 * * -ENOMEM    - it is inline, and there is no memory for the first such timer of a
 *	shard; other timers need none
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

/* Move a timer to another tick, or arm it if it is not pending. */
static int timer_rearm(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick)
{
	if (!twheel_timer_pending(timer))
		return timer_attach(shard, timer, tick) ?: 2;
	/* twheel_stop() is about to hand it back. */
	if (timer_refused(shard, timer))
		return -ESHUTDOWN;
	if (timer_lacks_level(shard, timer, tick))
		return -ENOMEM;
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
	int ret = 0;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = timer_lock_reaching(timer, deadline, slack_ns, &tick, &flags);
	if (rearm_applies(timer, tick, which))
		ret = timer_rearm(shard, timer, tick);
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
 * timeouts live on it.  As with twheel_op_rearm(), a return value above 0 means that
 * the new deadline holds.  A caller that holds a reference for a pending timer takes
 * one if it is 2.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * 1          - it was pending, and was moved
 * * 2          - it was not pending, and was armed
 * * 0          - @which left it as it was
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 * * -ENOSPC    - it was not pending, and as many timers as may are
 * * -ENOMEM    - as for twheel_timer_add(); if it was pending, it waits as before
 * * -EINVAL    - it was never initialised; with a warning
 */
int twheel_timer_rearm(struct twheel_timer *timer, u64 deadline, enum twheel_rearm which)
{
	return twheel_timer_rearm_slack(timer, deadline, 0, which);
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm);

/* Put a timer in again; for at once if it is cancelled since the clock was set. */
static void timer_relink(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick,
			 u32 generation)
{
	bool was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET &&
		       shard->clock == TWHEEL_CLOCK_REALTIME &&
		       twheel_clock_generation() != generation;

	timer_link(shard, timer, was_set ? 0 : tick);
	if (was_set)
		WRITE_ONCE(timer->place, timer->place | TWHEEL_TIMER_WAS_SET);
}

/**
 * twheel_timer_repeat - let a timer wait once more after its function has returned
 * @shard: where its function runs
 * @timer: the timer; it may be gone if it was cancelled meanwhile
 * @deadline: as in twheel_timer_add()
 * @generation: what twheel_clock_generation() was when it was started
 *
 * For the function that the reaper calls, just before it returns. Nothing is
 * done if the timer was cancelled while the function ran, or has been armed
 * again. It needs no place of its own: it just left one, and one more for each shard
 * does no harm.
 *
 * A timer that is cancelled when the clock is set was not on the wheel while its function
 * ran, so that a step during this time did not cancel it.
 */
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline,
			 u32 generation)
{
	/* It is not inline. */
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];
	u64 tick = twheel_shard_tick(shard, deadline);
	unsigned long flags;
	bool fed = true;

	for (;;) {
		flags = twheel_shard_lock(shard);
		WARN_ON_ONCE(base->running != timer);
		if (base->cut || timer_refused(shard, timer) || twheel_timer_pending(timer))
			break;
		if (timer_reaches(shard, timer, tick) || !fed) {
			if (shard->places)
				atomic64_inc(&shard->places->pending);
			timer_relink(shard, timer, tick, generation);
			shard->added++;
			break;
		}
		twheel_shard_unlock(shard, flags);
		fed = wheel_grow(shard, &base->queue.wheel, tick);
	}
	twheel_shard_unlock(shard, flags);
}
