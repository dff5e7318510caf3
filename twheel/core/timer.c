// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers: what waits on the shards of a wheel.  How it gets there is in
 * timer.c, and how it leaves in timer.c.
 *
 * This is what other modules use, and so do the operations above.  A timer is
 * pending from add until it is cancelled or its function is about to run; it
 * is running while the @running of its base names it.  A function that arms its
 * own timer again makes it pending and running at once.
 *
 * A timer is on one shard of its wheel at a time, which its place names, and all
 * that changes in it is protected by the lock of that shard.  Its place changes
 * only with the locks of both shards held, the old and the new; timer.c
 * tells when.  So whoever locks the shard that the place names, and finds that it
 * names it still, has the timer.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "shard.h"
#include "timer.h"
#include "twheel.h"

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
	timer->shard_flags = (unsigned long)twheel_local_shard(wheel) |
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
	twheel_shard_uncharge(shard);
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
	WRITE_ONCE(timer->shard_flags, (unsigned long)local | twheel_timer_flags(timer));
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
	bool grown = true;

	for (;;) {
		shard = twheel_timer_lock(timer, flags);
		if (!twheel_timer_pending(timer))
			shard = timer_come(timer, shard);
		*tick = likely(!slack_ns) ? twheel_shard_tick(shard, deadline) :
					    tick_coarse(shard, deadline, slack_ns);
		if (timer_reaches(shard, timer, *tick) || !grown)
			return shard;
		twheel_shard_unlock(shard, *flags);
		grown = wheel_grow(shard, &twheel_timer_base(shard, timer)->queue.wheel, *tick);
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
		WRITE_ONCE(timer->shard_flags, timer->shard_flags &
			   ~(TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST));
	if (unlikely(tick < twheel_timer_base(shard, timer)->queue.wheel.now))
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_PAST);
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
	if (!twheel_shard_charge(shard)) {
		shard->rejected++;
		return -ENOSPC;
	}
	timer_link(shard, timer, tick);
	shard->added++;
	return 0;
}

/**
 * twheel_timer_add_slack - add a timer with a tolerance
 * @timer: the timer, initialised
 * @deadline: in ns by the clock of the wheel, see twheel_deadline(). A deadline that has
 *	passed fires at once; one after 2^63 - 1 never fires.
 * @slack_ns: tolerance in ns, in addition to a tick; TWHEEL_SLACK_COARSE for an eighth of the
 *	remaining time. The timer is never early.
 *
 * With slack, timers share wake-ups, and most of them stay in their first bucket until they
 * fire.
 *
 * Context: any except NMI; on PREEMPT_RT neither hard interrupt context nor under a raw
 * spinlock.
 * Return:
 * * 0          - the timer is pending
 * * -EBUSY     - it was pending: use twheel_timer_rearm()
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 * * -ENOSPC    - the wheel has reached its limit on pending timers
 * * -ENOMEM    - no memory for the first inline timer of a shard; other timers need none
 * * -EINVAL    - it was not initialised; with a warning
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

static bool rearm_applies(const struct twheel_timer *timer, u64 tick, enum twheel_rearm mode)
{
	bool pending = twheel_timer_pending(timer);

	switch (mode) {
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
 * twheel_timer_rearm_slack - change the deadline of a timer
 * @timer: the timer, initialised
 * @deadline: as for twheel_timer_add_slack()
 * @slack_ns: likewise
 * @mode: condition for the change, and whether a timer that is not pending is armed
 *
 * Like twheel_op_rearm(), this returns a positive value if the new deadline is in effect.  A
 * caller that holds a reference for a pending timer takes one if the result is 2.
 *
 * Context: as twheel_timer_add_slack().
 * Return:
 * * 1          - it was pending and has been moved
 * * 2          - it was not pending and has been armed
 * * 0          - @mode excluded the change
 * * -ESHUTDOWN - it was shut down, or the wheel has been stopped
 * * -ENOSPC    - it was not pending, and the wheel has reached its limit on pending timers
 * * -ENOMEM    - as for twheel_timer_add_slack(); a pending timer stays as it was
 * * -EINVAL    - it was not initialised; with a warning
 */
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode)
{
	struct twheel_shard *shard;
	unsigned long flags;
	u64 tick;
	int ret = 0;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = timer_lock_reaching(timer, deadline, slack_ns, &tick, &flags);
	if (rearm_applies(timer, tick, mode))
		ret = timer_rearm(shard, timer, tick);
	twheel_shard_unlock(shard, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm_slack);

/* Put a timer in again; for at once if it is cancelled since the clock was set. */
static void timer_relink(struct twheel_shard *shard, struct twheel_timer *timer, u64 tick,
			 u32 generation)
{
	bool was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET &&
		       shard->clock == TWHEEL_CLOCK_REALTIME &&
		       twheel_clock_generation() != generation;

	timer_link(shard, timer, was_set ? 0 : tick);
	if (was_set)
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_SET);
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
	bool grown = true;

	for (;;) {
		flags = twheel_shard_lock(shard);
		WARN_ON_ONCE(base->running != timer);
		if (base->running_cancelled || timer_refused(shard, timer) ||
		    twheel_timer_pending(timer))
			break;
		if (timer_reaches(shard, timer, tick) || !grown) {
			if (shard->limit)
				atomic64_inc(&shard->limit->pending);
			timer_relink(shard, timer, tick, generation);
			shard->added++;
			break;
		}
		twheel_shard_unlock(shard, flags);
		grown = wheel_grow(shard, &base->queue.wheel, tick);
	}
	twheel_shard_unlock(shard, flags);
}

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

/* Cancel a timer with its shard locked; whether it is running is yet to be seen. */
static bool timer_stop(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_base *base = twheel_timer_base(shard, timer);

	if (base->running == timer)
		base->running_cancelled = true;
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
