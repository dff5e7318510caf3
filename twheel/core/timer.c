// SPDX-License-Identifier: GPL-2.0
/*
 * core: timers.
 *
 *
 * Overview
 * --------
 *
 * A timer is on one shard of its wheel. The reaper of the shard runs its callback, or the
 * alarm if the timer is inline (reaper.c). Operations use the same API as other modules.
 * Work (work.c) is built on it.
 *
 *
 * States
 * ------
 *
 * A timer is pending from the add until it is cancelled or its callback is about to run. It
 * is running while ->running of its base points to it. A callback that adds its own timer
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
 * again and again would keep it waiting.
 *
 * A callback that would wait for itself gets a warning and -EDEADLK.
 *
 *
 * Locking
 * -------
 *
 * A timer is protected by the lock of its shard. timer->shard_flags has the address of this
 * shard, and is written with the lock held. If the timer moves to another shard, both locks
 * are held. So twheel_timer_lock() reads the shard, locks it, and checks that the timer has
 * not moved in between. An add or re-arm may move it, see arm.c.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/export.h>
#include <linux/list.h>
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

/* The shard of the last timer that was locked on this CPU. Only compared with other shards. */
DEFINE_PER_CPU(struct twheel_shard *, twheel_last_shard);

static u64 deadline_after(u64 now, u64 delay_ns)
{
	u64 deadline;

	if (check_add_overflow(now, delay_ns, &deadline) || deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return deadline;
}

/**
 * twheel_deadline - deadline after a delay, by CLOCK_MONOTONIC
 * @delay_ns: delay from now in ns
 *
 * For wheels of CLOCK_MONOTONIC, such as twheel_system().
 *
 * Context: any except NMI.
 * Return: the deadline in ns; TWHEEL_NEVER if it exceeds 2^63 - 1.
 */
u64 twheel_deadline(u64 delay_ns)
{
	return deadline_after(ktime_get_ns(), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline);

/**
 * twheel_deadline_on - deadline after a delay, by the clock of a wheel
 * @wheel: the wheel
 * @delay_ns: delay from now in ns
 *
 * On a wheel of CLOCK_REALTIME the deadline is a time of day, and setting the clock changes
 * the delay. Use a wheel of another clock for plain delays.
 *
 * Context: any except NMI.
 * Return: the deadline in ns; TWHEEL_NEVER if it exceeds 2^63 - 1.
 */
u64 twheel_deadline_on(const struct twheel *wheel, u64 delay_ns)
{
	return deadline_after(twheel_now(wheel), delay_ns);
}
EXPORT_SYMBOL_GPL(twheel_deadline_on);

/**
 * twheel_timer_init_flags - initialise a timer
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel, such as twheel_system()
 * @fn: callback, called without locks each time the timer fires. The reaper calls it in
 *	process context; with TWHEEL_TIMER_INLINE the hard interrupt of the deadline does. It
 *	may add, re-arm and cancel any timer, and may free its own. It must be short, since
 *	it delays the other timers of the shard; see twheel_work_init() for long callbacks.
 * @flags: TWHEEL_TIMER_INLINE or 0
 *
 * A running timer is known by its address only. If a callback frees its timer, and the memory
 * is reused for a timer before the callback has returned, the new timer counts as running.
 * A module with callbacks that free their timers must call twheel_flush() before it is
 * unloaded.
 *
 * Context: any.
 */
void twheel_timer_init_flags(struct twheel_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_INLINE);
	__twheel_timer_init(timer, wheel, fn, flags & TWHEEL_TIMER_INLINE);
}
EXPORT_SYMBOL_GPL(twheel_timer_init_flags);

/**
 * twheel_clock_timer_init - initialise a timer that a change of the clock cancels
 * @timer: the timer, neither pending nor running
 * @wheel: its wheel, of TWHEEL_CLOCK_REALTIME; on another wheel it is an ordinary timer
 * @fn: callback, see twheel_timer_init_flags()
 * @flags: TWHEEL_TIMER_INLINE or 0
 *
 * The other functions take &timer->timer. Each change of the clock, even one that is undone at
 * once, cancels the pending timer: its callback is called at once, also if it has no deadline,
 * and twheel_timer_error() returns -ECANCELED. If its deadline had passed by the old time,
 * twheel_timer_error() returns 0. A resume from suspend counts as a change, as with timerfd.
 * Until its callback has been called, a re-arm fails with -ECANCELED.
 *
 * Context: any.
 */
void twheel_clock_timer_init(struct twheel_clock_timer *timer, struct twheel *wheel,
			     void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_INLINE);
	__twheel_timer_init(&timer->timer, wheel, fn,
			    (flags & TWHEEL_TIMER_INLINE) | TWHEEL_TIMER_CANCEL_ON_SET);
}
EXPORT_SYMBOL_GPL(twheel_clock_timer_init);

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
 * Return: time in ns until the tick at which it expires, 0 if this has passed; TWHEEL_NEVER
 * if it is not pending or never expires.
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
		when = twheel_shard_time(shard, twheel_shard_tick(shard, timer->node.expires));
		now = twheel_clock_ns(shard->clock);
		remaining = when > now ? when - now : 0;
	}
	spin_unlock_irqrestore(&shard->lock, flags);
	return remaining;
}
EXPORT_SYMBOL_GPL(twheel_timer_remaining);

/* Cancel a timer of a base. Returns true if it was pending. It may be running in either case. */
static inline bool timer_stop(struct twheel_shard *shard, struct twheel_base *base,
			      struct twheel_timer *timer)
{
	lockdep_assert_held(&shard->lock);
	if (!twheel_timer_pending(timer))
		return false;
	twheel_queue_del(&base->queue, &timer->node);
	twheel_debug_deactivate(timer);
	twheel_shard_uncharge(shard);
	trace_twheel_timer_cancel(timer, shard->number);
	shard->cancelled++;
	return true;
}

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
	struct twheel_base *base;
	unsigned long flags;
	bool won, running;

	if (!twheel_timer_usable(timer))
		return -EINVAL;
	shard = twheel_timer_lock(timer, &flags);
	base = twheel_timer_base(shard, timer);
	won = timer_stop(shard, base, timer);
	running = base->running == timer;
	spin_unlock_irqrestore(&shard->lock, flags);
	if (won)
		return running;
	return running ? -EINPROGRESS : -EALREADY;
}
EXPORT_SYMBOL_GPL(twheel_timer_cancel);

/* Whether the caller may be the running callback of a base. */
static bool waits_for_itself(const struct twheel_shard *shard, const struct twheel_base *base)
{
	return in_interrupt() ||
	       (shard->reaper->task == current && !twheel_base_is_inline(shard, base));
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
	if (timer->fn && !waits_for_itself(shard, twheel_timer_base(shard, timer)))
		class = twheel_timer_class(timer);
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
		won |= timer_stop(shard, base, timer);
		if (base->running != timer) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return won ? 0 : -EALREADY;
		}
		if (WARN_ON_ONCE(waits_for_itself(shard, base))) {
			spin_unlock_irqrestore(&shard->lock, flags);
			return -EDEADLK;
		}
		twheel_shard_wait(shard, base, TWHEEL_WAITED | TWHEEL_WAITED_CANCEL);
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

/* Whether a reaper runs a callback of a shard. The caller is the reaper of the shard. */
static bool shard_runs_function(const struct twheel_shard *shard)
{
	const struct twheel_base *base;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++)
		if (!twheel_base_is_inline(shard, base) && base->running)
			return true;
	return false;
}

/* Whether the caller may be a callback of a wheel: in an interrupt, or on one of its reapers. */
bool twheel_runs_functions(const struct twheel *wheel)
{
	unsigned int i;

	if (in_interrupt())
		return true;
	for (i = 0; i < wheel->nr_shards; i++)
		if (wheel->shard[i].reaper->task == current &&
		    shard_runs_function(&wheel->shard[i]))
			return true;
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
	unsigned int i, b;

	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = &wheel->shard[i];
		spin_lock_irq(&shard->lock);
		for (b = 0; b < TWHEEL_BASES; b++)
			twheel_shard_wait(shard, &shard->base[b], TWHEEL_WAITED);
		spin_unlock_irq(&shard->lock);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_flush);
