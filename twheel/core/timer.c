// SPDX-License-Identifier: GPL-2.0
/*
 * Timers. A timer is on one shard of its wheel (shard.c). The reaper of the shard runs its callback
 * (reaper.c). Operations use the same functions as other modules. Work (work.c) is built on them.
 *
 * States
 * ------
 *
 * A timer is pending from the add until it is cancelled or its callback is about to run. It
 * is running while ->running of its shard points to it. A callback that adds its own timer
 * again makes it pending and running at the same time.
 *
 *	state of the timer	cancel		cancel_sync, shutdown_sync
 *	------------------	------		--------------------------
 *	neither			-EALREADY	-EALREADY
 *	pending			0		0
 *	running			-EINPROGRESS	waits, -EALREADY
 *	pending and running	1		waits, 0
 *
 * While cancel_sync waits, adds of the timer fail: a callback that arms its own timer for the past
 * again and again would keep it waiting. A callback that would wait for itself gets a warning and
 * -EDEADLK.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/container_of.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "callback.h"
#include "shard.h"
#include "timer.h"
#include "twheel.h"

/* Keep timers small: there may be millions. */
static_assert(sizeof(struct twheel_timer) <= 5 * sizeof(u64));

/**
 * twheel_timer_init - initialise a timer
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel, such as twheel_system(); not of TWHEEL_CLOCK_REALTIME, whose timers are
 *	&struct twheel_wall_timer
 * @fn: callback, called without locks by the reaper, in process context, each time the timer fires.
 *	It may add, re-arm and cancel any timer, and may free its own. It must be short, since
 *	it delays the other timers of the shard; see twheel_work_init() for long callbacks.
 *
 * A running timer is known by its address only. If a callback frees its timer, and the memory
 * is reused for a timer before the callback has returned, the new timer counts as running.
 * A module with callbacks that free their timers must call twheel_flush() before it is
 * unloaded.
 *
 * Context: any.
 */
void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
		       void (*fn)(struct twheel_timer *timer))
{
	__twheel_timer_init(timer, wheel, fn, 0);
	/* Calls fail with -EINVAL. */
	if (WARN_ON_ONCE(wheel->clock == TWHEEL_CLOCK_REALTIME))
		timer->shard_flags = 0;
}
EXPORT_SYMBOL_GPL(twheel_timer_init);

/**
 * twheel_wall_timer_init - initialise a timer of CLOCK_REALTIME
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel; on one of another clock it is an ordinary timer
 * @fn: callback, see twheel_timer_init()
 * @flags: TWHEEL_TIMER_CANCEL_ON_SET or 0
 *
 * The other functions take &timer->timer. The timer follows the clock when this is set, in both
 * directions, as timerfd does: it fires when the clock reads its deadline. Only what the kernel has
 * found due already fires in any case.
 *
 * With TWHEEL_TIMER_CANCEL_ON_SET each change of the clock, even one that is undone at once,
 * cancels the pending timer: its callback is called at once, also if it has no deadline, and
 * twheel_timer_error() returns -ECANCELED. A resume from suspend counts as a change, as with
 * timerfd, and so does another source of the clock or another offset of TAI. Until its callback has
 * been called, a re-arm fails with -ECANCELED.
 *
 * Context: any.
 */
void twheel_wall_timer_init(struct twheel_wall_timer *timer, struct twheel *wheel,
			    void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_CANCEL_ON_SET);
	__twheel_timer_init(&timer->timer, wheel, fn, flags & TWHEEL_TIMER_CANCEL_ON_SET);
}
EXPORT_SYMBOL_GPL(twheel_wall_timer_init);

/* Returns true for a zeroed timer, with a warning. Debugobjects detects other cases. */
bool twheel_timer_is_zeroed(const struct twheel_timer *timer)
{
	return WARN_ON_ONCE(!twheel_timer_shard(timer));
}

/**
 * twheel_timer_remaining - time until a timer expires
 * @timer: the timer, initialised
 *
 * Context: as twheel_timer_add().
 * Return: time in ns until the tick at which it expires, for CLOCK_REALTIME until its deadline; 0
 * if this has passed; TWHEEL_NEVER if it is not pending or never expires.
 */
u64 twheel_timer_remaining(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	u64 when, now, remaining = TWHEEL_NEVER;
	unsigned long flags;

	if (!twheel_timer_usable(timer))
		return TWHEEL_NEVER;
	shard = twheel_timer_lock(timer, &flags);
	if (twheel_timer_pending(timer) && timer->node.expires <= KTIME_MAX) {
		when = timer->node.expires;
		if (!twheel_shard_is_wall(shard))
			when = twheel_shard_time(shard, twheel_shard_tick(shard, when));
		now = twheel_clock_ns(shard->clock);
		remaining = when > now ? when - now : 0;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return remaining;
}
EXPORT_SYMBOL_GPL(twheel_timer_remaining);

/*
 * Whether a pending node stays in its bucket when its timer is re-armed to a later deadline, as
 * those of heartbeats and idle timeouts usually do: the bucket expires before that, and then the
 * node is placed by its new tick. This does not hold
 *
 * - on level 0, where a bucket expires as a whole, unless it is mixed. A node there has a tick
 *   less than a turn ahead: it had when it was placed there, and it does not stay with a later
 *   one.
 * - beyond the reach of the levels, which the caller has checked; with memory they are extended
 *
 * The wheel may not have been forwarded: the node was placed by an earlier tick of the wheel, and
 * the reach is longer from a later one.
 */
static __always_inline bool node_stays(const struct twheel_shard *shard,
				       const struct twheel_node *node, u64 deadline)
{
	const struct twheel_wheel *wheel = &shard->queue.wheel;

	return deadline >= node->expires &&
	       node->expires > (wheel->now + wheel->slots - 1) * shard->tick_ns;
}

/*
 * The tick for a deadline with slack: the last start of a slot within the slack, on the
 * highest level possible. Timers with this tick share a bucket and fire when it expires.
 */
static u64 tick_with_slack(const struct twheel_shard *shard, u64 tick, u64 slack_ns)
{
	u64 slack, last, span = 1, slots = shard->wheel->slots;

	slack = div64_u64(slack_ns, shard->tick_ns);
	if (check_add_overflow(tick, slack, &last))
		return tick;
	while (slack >= slots) {
		slack = div64_u64(slack, slots);
		span *= slots;
	}
	return div64_u64(last, span) * span;
}

/* The time at which a timer with slack expires, and its tick. */
static u64 shard_slack(const struct twheel_shard *shard, u64 deadline, u64 slack_ns, u64 *tick)
{
	u64 expires;

	if (*tick == TWHEEL_TICK_NEVER)
		return deadline;
	if (slack_ns == TWHEEL_SLACK_COARSE)
		slack_ns = max_t(s64, 0, deadline - twheel_clock_ns(shard->clock)) / 8;
	*tick = tick_with_slack(shard, *tick, slack_ns);
	expires = twheel_shard_time(shard, *tick);
	/* CLOCK_REALTIME has no ticks: the next one may be too late. */
	return twheel_shard_is_wall(shard) && expires - deadline > slack_ns ? deadline : expires;
}

/* Why a timer cannot be armed, or 0. */
static noinline int shard_refuses(struct twheel_shard *shard, const struct twheel_timer *timer)
{
	if (!timer->fn || shard->checks & TWHEEL_CHECK_STOPPED ||
	    (shard->running == timer && shard->checks & TWHEEL_CHECK_CANCEL))
		return -ESHUTDOWN;
	if (!(shard->checks & TWHEEL_CHECK_LIMIT) || twheel_timer_pending(timer) ||
	    twheel_shard_pending(shard) < shard->max_pending)
		return 0;
	shard->rejected++;
	return -ENOSPC;
}

/* Internal mode: add a timer that is not pending. */
#define ARM_ADD		UINT_MAX

/* Whether a mode does not exclude a change from one exact deadline to another. */
static bool mode_applies(const struct twheel_timer *timer, u64 from, u64 to, unsigned int mode)
{
	if (mode == TWHEEL_REARM_ALWAYS)
		return true;
	if (!twheel_timer_pending(timer))
		return !(mode & TWHEEL_REARM_IF_PENDING);
	switch (mode & ~TWHEEL_REARM_IF_PENDING) {
	case TWHEEL_REARM_ALWAYS:
		return true;
	case TWHEEL_REARM_IF_EARLIER:
		return to < from;
	case TWHEEL_REARM_IF_LATER:
		return to > from;
	case TWHEEL_REARM_IF_UNARMED:
		return to == from && timer->node.expires > KTIME_MAX;
	}
	WARN_ON_ONCE(1);
	return false;
}

/*
 * Arm a timer, with its shard locked and perhaps also the local one, to which it moves. @near: the
 * levels suffice, and the shard is not of CLOCK_REALTIME. Return: as twheel_timer_rearm(); 0 for an
 * add.
 */
static __always_inline int timer_arm_locked(struct twheel_timer *timer, struct twheel_shard *shard,
					    struct twheel_shard *local, u64 from, u64 to,
					    u64 expires, u64 tick, bool near, unsigned int mode,
					    bool simple, bool op)
{
	bool pending = twheel_timer_pending(timer), wall = !near && twheel_shard_is_wall(shard);
	int err;

	if (mode == ARM_ADD ? pending : !mode_applies(timer, from, to, mode))
		return mode == ARM_ADD ? -EBUSY : 0;
	/* Not for operations: none is waited for, and the memory of a running one may be reused. */
	if (!simple && unlikely(local->checks || !timer->fn) && !op) {
		err = shard_refuses(local, timer);
		if (err)
			return err;
	}
	if (pending) {
		if (near && local == shard && node_stays(shard, &timer->node, expires)) {
			timer->node.expires = expires;
			trace_twheel_timer_stay(timer, shard);
			shard->rearmed++;
			return 1;
		}
		if (wall && twheel_wall_was_set(timer))
			return -ECANCELED;
		twheel_timer_detach(shard, timer, wall);
		/* It counts as added on the shard where it will end. */
		shard->added--;
		local->rearmed++;
	}
	local->added++;
	if (unlikely(local != shard))
		WRITE_ONCE(timer->shard_flags, (unsigned long)local | twheel_timer_flags(timer));
	twheel_timer_enqueue(local, timer, expires, tick, wall, pending);
	if (mode == ARM_ADD)
		return 0;
	return pending ? 1 : 2;
}

static int timer_arm_any(struct twheel_timer *timer, u64 deadline, u64 slack_ns, unsigned int mode,
			 u64 *exact);

/*
 * Add or re-arm a timer.
 *
 * This is inlined three times. The copies for a @simple add and re-arm, without slack, leave timers
 * of other shards, beyond the levels, and those that need a closer look to the third one: 25
 * instructions less for a re-arm.
 */
static __always_inline int timer_arm(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
				     unsigned int mode, bool simple, u64 *exact)
{
	struct twheel_shard *shard = this_cpu_read(twheel_last_shard), *local;
	unsigned long flags, kernel_tick;
	u64 tick, expires = deadline;
	bool near;
	int ret;

	debug_object_assert_init(timer, &twheel_timer_descr);
	if (unlikely(READ_ONCE(timer->shard_flags) != (unsigned long)shard)) {
		shard = twheel_timer_predict_shard(timer);
		if (unlikely(!shard)) {
			twheel_timer_is_zeroed(timer);
			return -EINVAL;
		}
	}
	/* Any shard of the wheel will do for the tick. */
	tick = twheel_shard_tick(shard, expires);
	if (!simple && slack_ns)
		expires = shard_slack(shard, expires, slack_ns, &tick);
	if (simple && unlikely(shard->number != raw_smp_processor_id()))
		return timer_arm_any(timer, deadline, 0, mode, exact);
	if (!simple && !twheel_shard_is_wall(shard) && tick != TWHEEL_TICK_NEVER)
		twheel_shard_add_levels(twheel_local_shard(shard->wheel), tick);
	shard = twheel_timer_lock_from(shard, timer, &flags);
	local = simple ? shard : twheel_shard_lock_local(shard, timer);
	kernel_tick = jiffies;
	if (unlikely(local->forwarded != kernel_tick))
		twheel_shard_forward(local);
	near = !(local->checks & (simple ? ~0 : TWHEEL_CHECK_WALL)) &&
	       twheel_wheel_is_near(&local->queue.wheel, tick);
	if (simple && unlikely(!near || !timer->fn)) {
		spin_unlock_irqrestore(&shard->lock, flags);
		return timer_arm_any(timer, deadline, 0, mode, exact);
	}
	if (exact && !twheel_timer_pending(timer))
		ret = -ENOENT;
	else
		ret = timer_arm_locked(timer, shard, local, exact ? *exact : timer->node.expires,
				       exact ? deadline : expires, expires, tick, near, mode,
				       simple, exact);
	if (exact && ret > 0)
		*exact = deadline;
	if (!simple && local != shard) {
		__acquire(&shard->lock);
		spin_unlock(&shard->lock);
	}
	spin_unlock_irqrestore(&local->lock, flags);
	return ret;
}

static noinline int timer_arm_any(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
				  unsigned int mode, u64 *exact)
{
	return timer_arm(timer, deadline, slack_ns, mode, false, exact);
}

/*
 * Re-arm a pending timer, with its shard locked, unless it is of another CPU, or needs a closer
 * look. Return: whether it was re-armed.
 */
bool twheel_timer_rearm_near(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline)
{
	u64 tick = twheel_shard_tick(shard, deadline);
	unsigned long kernel_tick = jiffies;

	if (unlikely(shard->number != raw_smp_processor_id()))
		return false;
	if (unlikely(shard->forwarded != kernel_tick))
		twheel_shard_forward(shard);
	if (unlikely(shard->checks || !twheel_wheel_is_near(&shard->queue.wheel, tick)))
		return false;
	timer_arm_locked(timer, shard, shard, 0, deadline, deadline, tick, true,
			 TWHEEL_REARM_ALWAYS, true, true);
	return true;
}

/*
 * Re-arm a timer if it is pending. @exact is its deadline without slack, protected by the lock of
 * its shard, and updated. Return: 1, 0 or -ECANCELED as twheel_timer_rearm(), -ENOENT if the timer
 * is not pending.
 */
int twheel_timer_rearm_exact(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode, u64 *exact)
{
	return timer_arm_any(timer, deadline, slack_ns, mode | TWHEEL_REARM_IF_PENDING, exact);
}

/* The slow part of twheel_timer_start(): add the levels that a timer needs, and apply its slack. */
noinline struct twheel_expiry twheel_timer_prepare(struct twheel_shard *shard, u64 deadline,
						   u64 slack_ns)
{
	u64 expires = deadline, tick = twheel_shard_tick(shard, deadline);

	if (slack_ns)
		expires = shard_slack(shard, deadline, slack_ns, &tick);
	if (!twheel_shard_is_wall(shard) && tick != TWHEEL_TICK_NEVER)
		twheel_shard_add_levels(shard, tick);
	return (struct twheel_expiry){ .expires = expires, .tick = tick };
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
 * Context: any except NMI, without locks that a wake-up takes; on PREEMPT_RT neither hard
 * interrupt context nor under a raw spinlock.
 * Return:
 * * %0          - the timer is pending
 * * %-EBUSY     - it was pending: use twheel_timer_rearm()
 * * %-ESHUTDOWN - it was shut down, the wheel has been stopped, or twheel_timer_cancel_sync() is
 *   waiting for its callback
 * * %-ENOSPC    - the wheel has reached its limit on pending timers
 * * %-EINVAL    - it was not initialised; with a warning
 */
int twheel_timer_add_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns)
{
	if (unlikely(slack_ns))
		return timer_arm_any(timer, deadline, slack_ns, ARM_ADD, NULL);
	return timer_arm(timer, deadline, 0, ARM_ADD, true, NULL);
}
EXPORT_SYMBOL_GPL(twheel_timer_add_slack);

/**
 * twheel_timer_rearm_slack - change the deadline of a timer
 * @timer: the timer, initialised
 * @deadline: as for twheel_timer_add_slack()
 * @slack_ns: likewise
 * @mode: condition for the change, and whether a timer that is not pending is armed
 *
 * Like twheel_op_rearm(), this returns a positive value if the new deadline is in effect. A
 * caller that holds a reference for a pending timer takes one if the result is 2.
 *
 * Context: as twheel_timer_add_slack().
 * Return:
 * * %1          - it was pending and has been moved
 * * %2          - it was not pending and has been armed
 * * %0          - @mode excluded the change
 * * %-ECANCELED - the clock was set, see twheel_wall_timer_init(): its callback has not been called
 *   yet, and will be, without an error if the deadline had come before
 * * %-ESHUTDOWN - as for twheel_timer_add_slack()
 * * %-ENOSPC    - it was not pending, and the wheel has reached its limit on pending timers
 * * %-EINVAL    - it was not initialised; with a warning
 */
int twheel_timer_rearm_slack(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode)
{
	if (unlikely(slack_ns | mode))
		return timer_arm_any(timer, deadline, slack_ns, mode, NULL);
	BUILD_BUG_ON(TWHEEL_REARM_ALWAYS);
	return timer_arm(timer, deadline, 0, TWHEEL_REARM_ALWAYS, true, NULL);
}
EXPORT_SYMBOL_GPL(twheel_timer_rearm_slack);

/**
 * twheel_timer_cancel - cancel a timer
 * @timer: the timer, initialised
 *
 * This does not wait for a running callback. After 0 and -EALREADY the timer may be freed if
 * no other thread adds it, and not during twheel_stop(), which passes it to a callback. After 1
 * and -EINPROGRESS the callback may still use the timer and add it again: call
 * twheel_timer_cancel_sync() before freeing the timer.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * %0            - it was pending, and its callback is not running
 * * %1            - it was pending, and its callback is running: the timer was added again
 *   during the callback
 * * %-EINPROGRESS - it was not pending, and its callback is running
 * * %-EALREADY    - it was neither pending nor running
 * * %-EINVAL      - it was not initialised; with a warning
 */
int twheel_timer_cancel(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	unsigned long flags;
	bool won, running;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = twheel_timer_lock(timer, &flags);
	won = twheel_timer_remove(shard, timer);
	running = shard->running == timer;
	spin_unlock_irqrestore(&shard->lock, flags);
	if (won)
		return running;
	return running ? -EINPROGRESS : -EALREADY;
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel);

/* Whether the caller may be the running callback of a shard. */
static bool waits_for_itself(const struct twheel_shard *shard)
{
	return in_interrupt() || twheel_reaper_is_current(shard->share->reaper);
}

/* Let lockdep know that the caller may wait for the callback of a timer. */
static void timer_may_wait(struct twheel_timer *timer)
{
	struct twheel_shard *shard;
	unsigned long flags, class = 0;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	shard = twheel_timer_lock(timer, &flags);
	/* The callback itself gets -EDEADLK. */
	if (!waits_for_itself(shard))
		class = (unsigned long)timer->fn;
	spin_unlock_irqrestore(&shard->lock, flags);
	if (class)
		twheel_callback_wait(class);
}

/*
 * Cancel a timer and wait for its callback. With @shutdown it cannot be added again. Otherwise
 * another thread may add it when the callback has returned, even to another shard.
 */
static int cancel_and_wait(struct twheel_timer *timer, bool shutdown)
{
	struct twheel_shard *shard;
	unsigned long flags;
	bool won = false;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	timer_may_wait(timer);
	for (;;) {
		shard = twheel_timer_lock(timer, &flags);
		if (shutdown)
			timer->fn = NULL;
		won |= twheel_timer_remove(shard, timer);
		if (shard->running != timer) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return won ? 0 : -EALREADY;
		}
		if (WARN_ON_ONCE(waits_for_itself(shard))) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return -EDEADLK;
		}
		twheel_shard_wait(shard, TWHEEL_CHECK_WAITED | TWHEEL_CHECK_CANCEL);
		spin_unlock_irqrestore(&shard->lock, flags);
	}
}

/**
 * twheel_timer_cancel_sync - cancel a timer and wait for its callback
 * @timer: the timer, initialised
 *
 * When this returns, the callback is not running, and the timer may be freed if no other
 * thread adds it. This holds for callbacks that add their own timer again, too: during the wait
 * adds fail with -ESHUTDOWN. A concurrent twheel_stop() may still pass the timer to its @cancelled
 * function; see there.
 *
 * Context: process; may sleep.
 * Return:
 * * %0         - it was pending
 * * %-EALREADY - it was not pending; if it was running, the callback has returned
 * * %-EDEADLK  - called by the callback of the timer, with a warning; the timer is not pending
 *   any more, but still running
 * * %-EINVAL   - it was not initialised; with a warning
 */
int twheel_timer_cancel_sync(struct twheel_timer *timer)
{
	might_sleep();
	return cancel_and_wait(timer, false);
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel_sync);

/**
 * twheel_timer_shutdown_sync - cancel a timer permanently and wait for its callback
 * @timer: the timer, initialised
 *
 * As twheel_timer_cancel_sync(), and from now on add and re-arm return -ESHUTDOWN, until the
 * timer is initialised again. For the teardown of an object that other threads may still use.
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

/*
 * As twheel_timer_shutdown_sync(), until twheel_timer_unblock(). @blocked is the number of
 * concurrent blocks, protected by the lock of the shard.
 */
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked)
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	++*blocked;
	spin_unlock_irqrestore(&shard->lock, flags);
	return cancel_and_wait(timer, true);
}

/* Undo twheel_timer_block(). The last of several concurrent callers restores the callback. */
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer))
{
	struct twheel_shard *shard;
	unsigned long flags;

	shard = twheel_timer_lock(timer, &flags);
	if (!--*blocked)
		timer->fn = fn;
	spin_unlock_irqrestore(&shard->lock, flags);
}

/* Whether the caller may be a callback of a wheel: in an interrupt, or on one of its reapers. */
bool twheel_runs_functions(struct twheel *wheel)
{
	struct twheel_shard *shard;
	unsigned int i;

	if (in_interrupt())
		return true;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = twheel_shard(wheel, i);
		if (twheel_reaper_is_current(shard->share->reaper) && shard->running)
			return true;
	}
	return false;
}

/**
 * twheel_flush - wait for the running callbacks of a wheel
 * @wheel: the wheel
 *
 * Callbacks that begin during the call are not waited for. A module with callbacks that free
 * their timers must call this before it is unloaded, when none of these timers is pending.
 *
 * Context: process; may sleep.
 * Return: 0; -EDEADLK if called by a callback of the wheel, with a warning.
 */
int twheel_flush(struct twheel *wheel)
{
	struct twheel_shard *shard;
	unsigned int i;

	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = twheel_shard(wheel, i);
		spin_lock_irq(&shard->lock);
		twheel_shard_wait(shard, TWHEEL_CHECK_WAITED);
		spin_unlock_irq(&shard->lock);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_flush);
