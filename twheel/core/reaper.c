// SPDX-License-Identifier: GPL-2.0
/*
 * Expiry: a turn of a shard, in which its reaper runs the callbacks of timers, and the alarm, an
 * hrtimer that expires with the earliest bucket.
 *
 * There is no periodic tick: without due timers nothing runs. A shard has two bases:
 *
 *	base		callbacks run in	the alarm is armed for it
 *	----		----------------	-------------------------
 *	reaper		the reaper		while the shard is asleep
 *	inline		the alarm		always
 *
 * So an inline timer waits neither for ordinary timers nor for the reaper to get a CPU. A bucket
 * of inline timers that are not due is another matter: the alarm moves a few of them, and wakes
 * the reaper for the rest. Both work on it: if the reaper has to wait for a CPU, the alarm goes
 * on, a few timers at a time.
 *
 * On PREEMPT_RT a hard interrupt must not take our lock: the alarm only asks for a turn of the
 * reaper, which serves both bases. A turn ends after each callback then if an inline timer is due
 * or another shard has asked, so an inline timer waits for one callback of each such shard.
 *
 * An add of a due timer asks for turns. An add that creates an earlier bucket reprograms the alarm,
 * unless it is for the base of the reaper and the shard is not asleep. A shard falls asleep, and
 * its alarm is armed, with the lock held under which nothing was left to do.
 *
 * For the base of the reaper the alarm does a bounded part of the work: it expires some
 * buckets, and asks for turns only if timers are due, or nodes are left to move. If only
 * buckets that cancels have emptied are left, it continues after a gap. A timer found due
 * stays due, even if the clock is set back before the reaper runs.
 *
 * An hrtimer never runs on two CPUs at once, and the reaper is one thread, so a base runs one
 * callback at a time. The lock is never held during a callback, and for at most TWHEEL_CHUNK
 * items at a time: nodes, and buckets, emptied ones included. An alarm has as many for its
 * whole interrupt, with its callbacks.
 *
 * A reaper has normal priority unless the module parameter reaper_fifo is set, as it is by default
 * on PREEMPT_RT. It shares its CPU fairly while a million timers fire, and may have to wait for
 * it.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "callback.h"
#include "shard.h"
#include "step.h"
#include "timer.h"

static unsigned long slow_ns = NSEC_PER_MSEC;
module_param(slow_ns, ulong, 0644);
MODULE_PARM_DESC(slow_ns, "count and trace callbacks that take at least this long in ns (default 1000000)");

/*
 * The lockdep class of a callback, for twheel_callback_begin() and twheel_callback_wait(). One
 * function may be the callback of inline timers and of others, so it has two classes. The
 * shard is locked, and the timer is not shut down.
 */
unsigned long twheel_timer_class(const struct twheel_timer *timer)
{
	bool is_inline = twheel_timer_flags(timer) & TWHEEL_TIMER_INLINE;

	return (unsigned long)timer->fn + is_inline;
}

/**
 * twheel_timer_error - check whether a change of the clock cancelled a timer
 * @timer: the timer
 *
 * Context: the callback of the timer.
 * Return: 0 if the deadline has passed; -ECANCELED if a change of the clock has cancelled the
 * timer, see TWHEEL_TIMER_CANCEL_ON_SET.
 */
int twheel_timer_error(const struct twheel_timer *timer)
{
	/* An add by the callback may have cleared TWHEEL_TIMER_WAS_SET. */
	return twheel_timer_base(twheel_timer_shard(timer), timer)->was_set ? -ECANCELED : 0;
}
EXPORT_SYMBOL_GPL(twheel_timer_error);

/*
 * Make the next due timer the running one. It is neither pending nor charged when its callback is
 * called.
 */
static inline struct twheel_timer *base_begin(struct twheel_shard *shard, struct twheel_base *base)
{
	struct twheel_node *node = twheel_queue_pop(&base->queue);
	struct twheel_timer *timer;

	lockdep_assert_held(&shard->lock);
	WARN_ON_ONCE(base->running);
	if (!node)
		return NULL;
	timer = container_of(node, struct twheel_timer, node);
	twheel_debug_deactivate(timer);
	twheel_shard_uncharge(shard);
	trace_twheel_timer_fire(timer, shard->number);
	base->fired++;
	base->running = timer;
	/* The removal has touched the next node; prefetch the one after it. */
	prefetchw(base->queue.due.next->next);
	base->was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_SET;
	return timer;
}

/* Run the callback of a timer, which may free the timer. */
static __always_inline void call_function(struct twheel_timer *timer,
					  void (*fn)(struct twheel_timer *timer),
					  unsigned long class)
{
	struct twheel_callback callback;

	twheel_callback_begin(&callback, class);
	fn(timer);
	twheel_callback_end(&callback, class);
}

/*
 * The callback has returned and may have freed the timer. Returns true if the caller must wake the
 * waiters of the base, without the lock.
 */
static inline bool base_end(struct twheel_shard *shard, struct twheel_base *base)
{
	u8 others = 0;
	unsigned int i;

	lockdep_assert_held(&shard->lock);
	base->running = NULL;
	if (likely(!base->waited))
		return false;
	base->waited = 0;
	for (i = 0; i < TWHEEL_BASES; i++)
		others |= shard->base[i].waited;
	if (!(others & TWHEEL_WAITED_CANCEL))
		shard->refuse &= ~TWHEEL_REFUSE_CANCEL;
	return true;
}

/**
 * struct lateness - lateness of the timers of a tick
 * @tick: the tick, or TWHEEL_TICK_NEVER
 * @ns: how late their callbacks are called
 * @slot: in the histogram
 * @counts: 0 if the tick had passed when the clock was set, or 1
 *
 * Most timers of a chunk have the same tick.
 */
struct lateness {
	u64		tick;
	u64		ns;
	unsigned int	slot;
	unsigned int	counts;
};

/* The clock has not been set since @now was read: a chunk ends when it is. */
static noinline void lateness_of(struct twheel_shard *shard, struct lateness *late, u64 tick,
				 u64 now)
{
	/* The clock may have been set back since the timer became due. */
	u64 ticks = now > tick ? now - tick : 0;

	late->tick = tick;
	late->counts = tick > shard->stepped;
	if (!late->counts)
		ticks = 0;
	late->ns = ticks * shard->tick_ns;
	late->slot = min(fls64(late->ns >> 10), TWHEEL_LATE_BUCKETS - 1);
	shard->latest_ticks = max(shard->latest_ticks, ticks);
}

/* A timer that was due when it was added, or by a change of the clock, is not late. */
static inline void count_late(struct twheel_shard *shard, const struct twheel_base *base,
			      const struct twheel_timer *timer, struct lateness *late, u64 now)
{
	u64 tick = twheel_wheel_tick(&base->queue.wheel, timer->node.expires);

	if (unlikely(twheel_timer_flags(timer) & (TWHEEL_TIMER_WAS_SET | TWHEEL_TIMER_WAS_PAST)))
		return;
	if (unlikely(tick != late->tick))
		lateness_of(shard, late, tick, now);
	shard->late_ns += late->ns;
	shard->late[late->slot] += late->counts;
}

/* Expire buckets. Returns true if work is left. */
static bool base_advance(struct twheel_base *base, u64 now, unsigned int *budget)
{
	if (likely(!base->queue.wheel.rewinds))
		return twheel_queue_advance(&base->queue, now, budget);
	return twheel_steps_advance(base, now, budget);
}

/* Whether nodes of a base have to move. */
static bool base_expired(const struct twheel_base *base, u64 now)
{
	return twheel_queue_expired(&base->queue, now) ||
	       (base->steps && (twheel_queue_expired(&base->steps->on_set, now) ||
				twheel_steps_busy(base->steps)));
}

/*
 * Long callbacks are found by the tick, as workqueues find CPU-intensive work: to read a
 * clock takes as long as most callbacks. With slow_ns=0 every callback is reported.
 */
static inline void reap_time(struct twheel_shard *shard, const struct twheel_timer *timer,
			     void (*fn)(struct twheel_timer *timer), u64 *begin,
			     unsigned long *tick)
{
	unsigned long now = jiffies, limit = READ_ONCE(slow_ns);
	u64 end;

	if (likely(*tick == now && limit))
		return;
	*tick = now;
	end = ktime_get_mono_fast_ns();
	if ((s64)(end - *begin) >= (s64)limit) {
		shard->slow++;
		trace_twheel_timer_slow(timer, fn, end - *begin);
	}
	*begin = end;
}

/*
 * Run the callbacks of at most a chunk of due timers, so that timers that are armed for the past
 * again and again do not starve others. The caller reschedules in between.
 */
static void reap_due(struct twheel_shard *shard, struct twheel_base *base, u64 now)
	__must_hold(&shard->lock)
{
	u64 begin = ktime_get_mono_fast_ns();
	void (*fn)(struct twheel_timer *timer);
	struct lateness late = { .tick = TWHEEL_TICK_NEVER };
	unsigned int budget = TWHEEL_CHUNK;
	u32 generation = shard->generation;
	struct twheel_timer *timer;
	unsigned long tick = jiffies, class;
	bool wake = false;

	while (budget-- && (timer = base_begin(shard, base))) {
		count_late(shard, base, timer, &late, now);
		fn = timer->fn;
		class = twheel_timer_class(timer);
		spin_unlock_irq(&shard->lock);
		if (unlikely(wake))
			wake_up_all(&base->idle);

		call_function(timer, fn, class);

		spin_lock_irq(&shard->lock);
		wake = base_end(shard, base);
		reap_time(shard, timer, fn, &begin, &tick);
		if (need_resched() || shard->generation != generation ||
		    (IS_ENABLED(CONFIG_PREEMPT_RT) &&
		     (READ_ONCE(shard->alarmed) || twheel_turn_awaited(shard))))
			break;
	}
	if (unlikely(wake)) {
		spin_unlock_irq(&shard->lock);
		wake_up_all(&base->idle);
		spin_lock_irq(&shard->lock);
	}
}

/*
 * Allocate a level that an add could not, without waiting: due timers must not depend on reclaim.
 * One level in each turn; a node that is still too far marks the wheel again.
 */
static void reap_add_level(struct twheel_shard *shard, struct twheel_wheel *wheel)
	__must_hold(&shard->lock)
{
	struct twheel_level *level;

	if (!wheel->lacks_level)
		return;
	spin_unlock_irq(&shard->lock);
	level = twheel_level_alloc(wheel, GFP_NOWAIT | __GFP_NOWARN | shard->account);
	spin_lock_irq(&shard->lock);
	if (level && !(wheel->lacks_level && twheel_wheel_grow(wheel, level)))
		twheel_level_free(level);
}

/* On PREEMPT_RT the alarm has expired without the lock: it is not armed any more. */
static void reap_alarmed(struct twheel_shard *shard)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT) || !READ_ONCE(shard->alarmed))
		return;
	WRITE_ONCE(shard->alarmed, false);
	shard->armed = TWHEEL_TICK_NEVER;
}

/* Move inline timers. Returns true if there are more to move. Due ones are left to the alarm. */
static bool reap_inline(struct twheel_shard *shard, u64 now, unsigned int *budget)
	__must_hold(&shard->lock)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_INLINE];
	bool more;

	if (likely(twheel_base_next(base) > now))
		return false;
	more = base_advance(base, now, budget) && base_expired(base, now);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		twheel_shard_arm_next(shard);
	return more;
}

/*
 * On PREEMPT_RT, call due inline timers, and arm the alarm for the next ones. If some are left,
 * they wait for one ordinary callback. Returns true if there were some.
 */
static bool reap_inline_due(struct twheel_shard *shard, u64 now)
	__must_hold(&shard->lock)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_INLINE];
	bool called = twheel_queue_ready(&base->queue);

	if (called)
		reap_due(shard, base, now);
	if (twheel_queue_ready(&base->queue))
		WRITE_ONCE(shard->alarmed, true);
	else
		twheel_shard_arm_next(shard);
	return called;
}

/*
 * A step of work, with the lock held for at most a chunk of items. Inline timers come first; on
 * PREEMPT_RT the reaper calls them. Returns false if there is nothing to do.
 */
static bool reap_step(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];
	/* The chunk includes the timer that is called next. */
	unsigned int budget = TWHEEL_CHUNK - 1;
	u64 now = twheel_shard_look(shard);
	bool called = false;

	reap_alarmed(shard);
	if (reap_inline(shard, now, &budget))
		return true;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && reap_inline_due(shard, now)) {
		budget = TWHEEL_CHUNK - 1;
		now = twheel_shard_look(shard);
		called = true;
	}
	if (!base_advance(base, now, &budget))
		return called;
	reap_due(shard, base, now);
	return true;
}

/* The first step of a turn, before the last check for due timers: it drops the lock. */
static void reap_begin(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_base *base;

	/* On PREEMPT_RT the alarm asks without the lock. */
	if (shard->woken || shard->asleep) {
		trace_twheel_reaper_wake(shard->number,
					 shard->base[TWHEEL_BASE_REAPER].queue.wheel.now,
					 shard->base[TWHEEL_BASE_REAPER].queue.nr_nodes);
		/* twheel_wakeups() reads it without the lock. */
		WRITE_ONCE(shard->wakeups, shard->wakeups + 1);
	}
	shard->woken = false;
	shard->asleep = false;
	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		reap_add_level(shard, &base->queue.wheel);
		if (base->steps)
			reap_add_level(shard, &base->steps->on_set.wheel);
	}
}

/* A turn of a shard. Returns true if work is left; otherwise the shard is asleep. */
bool twheel_shard_serve(struct twheel_shard *shard)
{
	bool more;

	set_active_memcg(shard->memcg);
	spin_lock_irq(&shard->lock);
	reap_begin(shard);
	more = reap_step(shard);
	if (!more) {
		shard->asleep = true;
		reap_alarmed(shard);
		twheel_shard_arm_next(shard);
	}
	spin_unlock_irq(&shard->lock);
	/* The thread serves others, and its exit may allocate after the cgroup was put. */
	set_active_memcg(NULL);
	return more;
}

/* Expire buckets of a base with a part of the budget. */
static void alarm_advance(struct twheel_base *base, u64 now, unsigned int *budget)
{
	unsigned int part = min(*budget, TWHEEL_ALARM_CHUNK), left = part;

	base_advance(base, now, &left);
	*budget -= part - left;
}

/* Run the callbacks of some inline timers. Decrements the budget of the interrupt. */
static void alarm_run(struct twheel_shard *shard, unsigned int *budget, unsigned long *flags)
	__must_hold(&shard->lock)
{
	u64 now = twheel_shard_look(shard);
	struct twheel_base *base = &shard->base[TWHEEL_BASE_INLINE];
	struct lateness late = { .tick = TWHEEL_TICK_NEVER };
	unsigned int callbacks = TWHEEL_ALARM_CHUNK;
	u32 generation = shard->generation;
	void (*fn)(struct twheel_timer *timer);
	struct twheel_timer *timer;
	unsigned long class;
	bool wake = false;

	alarm_advance(base, now, budget);
	while (callbacks-- && shard->generation == generation &&
	       (timer = base_begin(shard, base))) {
		--*budget;
		count_late(shard, base, timer, &late, now);
		fn = timer->fn;
		class = twheel_timer_class(timer);
		spin_unlock_irqrestore(&shard->lock, *flags);
		if (unlikely(wake))
			wake_up_all(&base->idle);

		call_function(timer, fn, class);

		spin_lock_irqsave(&shard->lock, *flags);
		wake = base_end(shard, base);
	}
	if (unlikely(wake)) {
		spin_unlock_irqrestore(&shard->lock, *flags);
		wake_up_all(&base->idle);
		spin_lock_irqsave(&shard->lock, *flags);
	}
}

static bool base_lacks_level(const struct twheel_base *base)
{
	return base->queue.wheel.lacks_level ||
	       (base->steps && base->steps->on_set.wheel.lacks_level);
}

/* Whether there is work for the reaper, but the shard is asleep. The base advances first. */
static bool alarm_needs_reaper(struct twheel_shard *shard, u64 now, unsigned int budget)
{
	struct twheel_base *base = &shard->base[TWHEEL_BASE_REAPER];
	struct twheel_base *inline_base = &shard->base[TWHEEL_BASE_INLINE];

	if (!shard->asleep)
		return false;
	alarm_advance(base, now, &budget);
	return twheel_queue_ready(&base->queue) || base_expired(base, now) ||
	       base_expired(inline_base, now) || base_lacks_level(base) ||
	       base_lacks_level(inline_base);
}

/*
 * Whether CLOCK_REALTIME was set back after the alarm expired. The hrtimer core reads the clock
 * once for all timers of an interrupt. It would take an alarm that is armed by the new time
 * for expired, and call it again and again for the length of the step.
 */
static bool alarm_was_set_back(const struct twheel_shard *shard)
{
	return shard->clock == TWHEEL_CLOCK_REALTIME &&
	       twheel_clock_ns(shard->clock) < ktime_to_ns(hrtimer_get_expires(&shard->alarm));
}

/* Arm the alarm again; @now is the current tick. */
static void alarm_rearm(struct twheel_shard *shard, u64 now)
{
	u64 next = twheel_shard_next(shard);

	if (unlikely(alarm_was_set_back(shard))) {
		/* The work item of the step may have run while an inline timer did. */
		shard->armed = TWHEEL_TICK_NEVER;
		twheel_wall_check_later();
	} else if (next > now) {
		twheel_shard_arm(shard, next);
	} else {
		hrtimer_start(&shard->alarm, ns_to_ktime(twheel_clock_ns(shard->clock) +
							 TWHEEL_ALARM_GAP_NS), TWHEEL_ALARM_MODE);
	}
}

/*
 * The earliest bucket expires. If more inline timers are due than one interrupt may run, the alarm
 * expires again after a gap.
 */
enum hrtimer_restart twheel_reaper_alarm(struct hrtimer *alarm)
{
	struct twheel_shard *shard = container_of(alarm, struct twheel_shard, alarm);
	unsigned int budget = TWHEEL_CHUNK;
	unsigned long flags;
	u64 now;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		/* A turn under way looks at this after each callback. */
		WRITE_ONCE(shard->alarmed, true);
		twheel_turn_ask(shard);
		return HRTIMER_NORESTART;
	}

	spin_lock_irqsave(&shard->lock, flags);
	/* During callbacks, adds leave it to alarm_rearm() to arm the alarm. */
	shard->armed = 0;
	alarm_run(shard, &budget, &flags);
	/* Again, because the lock was dropped. */
	now = twheel_shard_look(shard);
	if (alarm_needs_reaper(shard, now, budget))
		twheel_shard_wake(shard);
	alarm_rearm(shard, now);
	spin_unlock_irqrestore(&shard->lock, flags);
	return HRTIMER_NORESTART;
}
