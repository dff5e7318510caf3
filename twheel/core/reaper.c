// SPDX-License-Identifier: GPL-2.0
/*
 * The reaper of a shard, a kthread that runs the callbacks of its timers, and the alarm, an
 * hrtimer that expires with the earliest bucket.
 *
 * There is no periodic tick: without due timers nothing runs.  A shard has two bases:
 *
 *	base		callbacks run in	the alarm is armed for it
 *	----		----------------	-------------------------
 *	reaper		the reaper		while the reaper sleeps
 *	inline		the alarm		always
 *
 * So an inline timer waits neither for ordinary timers nor for the reaper to get a CPU.  On
 * PREEMPT_RT a hard interrupt must not take our lock: the alarm only wakes the reaper, which
 * serves both bases.
 *
 * An add of a due timer wakes the reaper. An add that creates an earlier bucket reprograms the
 * alarm, unless it is for the base of a reaper that is awake:
 *
 *	adding CPU                        reaper
 *	----------                        ------
 *	                                  lock
 *	                                  no timer is due
 *	                                  state = TASK_IDLE
 *	                                  asleep = true; arm the alarm
 *	                                  unlock
 *	lock                              schedule()
 *	add; next < armed
 *	arm the alarm for next
 *	unlock
 *
 * The state is set before the alarm is armed, so that a wake-up between unlock and schedule() is
 * not lost.
 *
 * For the base of a sleeping reaper the alarm does a bounded part of the work: it expires some
 * buckets, and wakes the reaper only if timers are due or buckets are left.  A timer found
 * due stays due, even if the clock is set back before the reaper runs.
 *
 * An hrtimer never runs on two CPUs at once, and the reaper is one thread, so a base runs one
 * callback at a time.  The lock is never held during a callback, and for at most TWHEEL_CHUNK
 * nodes at a time.
 *
 * A reaper has normal priority unless the module parameter reaper_fifo is set.  It shares its
 * CPU fairly while a million timers fire, and may have to wait for it.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"
#include "timer.h"

static unsigned long slow_ns = NSEC_PER_MSEC;
module_param(slow_ns, ulong, 0644);
MODULE_PARM_DESC(slow_ns, "count and trace callbacks that take at least this long in ns (default 1000000)");

static bool reaper_fifo;
module_param(reaper_fifo, bool, 0444);
MODULE_PARM_DESC(reaper_fifo, "run reapers with SCHED_FIFO, ahead of threads of normal priority (default N)");

/* Out of line: lockdep compares the address of the name. */
void twheel_callback_init_map(struct lockdep_map *map, unsigned long class)
{
	lockdep_init_map(map, "twheel_callback", (struct lock_class_key *)class, 0);
}

/*
 * The lockdep class of a callback, for twheel_callback_begin() and twheel_callback_wait(). One
 * function may be the callback of inline timers and of others, so it has two classes. The
 * shard is locked, and the timer is not shut down.
 */
unsigned long twheel_timer_class(const struct twheel_timer *timer)
{
	bool is_inline = twheel_timer_flags(timer) & TWHEEL_TIMER_INLINE;

	if (timer->fn == twheel_periodic_fire)
		return (unsigned long)container_of(timer, struct twheel_periodic, timer)->fn;
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
 * Make the next due timer the running one.  It is neither pending nor charged when its callback is
 * called.
 */
static struct twheel_timer *base_begin(struct twheel_shard *shard, struct twheel_base *base)
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
	base->running_cancelled = false;
	/* The removal has touched the next node; prefetch the one after it. */
	prefetchw(base->queue.due.next->next);
	base->was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_SET;
	return timer;
}

/* Run the callback of a timer, which may free the timer. */
static void call_function(struct twheel_timer *timer, void (*fn)(struct twheel_timer *timer),
			  unsigned long class)
{
	struct twheel_callback callback;

	twheel_callback_begin(&callback, class);
	fn(timer);
	twheel_callback_end(&callback, class);
}

/* The callback has returned and may have freed the timer: wake the waiters. */
static void base_end(struct twheel_shard *shard, struct twheel_base *base)
{
	lockdep_assert_held(&shard->lock);
	base->running = NULL;
	if (shard->waiters)
		wake_up_all(&shard->idle);
}

/* A timer that was due when it was added, or by a change of the clock, is not late. */
static void count_late(struct twheel_shard *shard, const struct twheel_base *base,
		       const struct twheel_timer *timer, u64 now)
{
	u64 expires = timer->node.expires, ticks, ns;

	if (unlikely(expires <= shard->stepped || base->was_set ||
		     twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_PAST))
		return;
	/* The clock may have been set back since the timer became due. */
	ticks = now > expires ? now - expires : 0;
	ns = ticks * shard->tick_ns;
	shard->latest_ticks = max(shard->latest_ticks, ticks);
	shard->late_ns += ns;
	shard->late[min(fls64(ns >> 10), TWHEEL_LATE_BUCKETS - 1)]++;
}

/* Make timers that a change of the clock cancelled due, behind the due ones. */
static void base_cancel_on_set(struct twheel_base *base, unsigned int budget)
{
	struct twheel_timer *timer;
	struct twheel_node *node;

	while ((node = twheel_queue_pop_set(&base->queue, &budget))) {
		timer = container_of(node, struct twheel_timer, node);
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_SET);
		twheel_queue_expire(&base->queue, node);
	}
}

/* Make timers due, with half of the budget for either reason. Returns whether work is left. */
static bool base_advance(struct twheel_base *base, u64 now, unsigned int budget)
{
	if (likely(list_empty(&base->queue.set) && !base->queue.sweep))
		return twheel_queue_advance(&base->queue, now, budget);
	base_cancel_on_set(base, budget / 2);
	return twheel_queue_advance(&base->queue, now, budget / 2);
}

/*
 * Long callbacks are found by the tick, as workqueues find CPU-intensive work: to read a
 * clock takes as long as most callbacks.  With slow_ns=0 every callback is reported.
 */
static void reap_time(struct twheel_shard *shard, const struct twheel_timer *timer,
		      void (*fn)(struct twheel_timer *timer), u64 *begin, unsigned long *tick)
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
 * again and again do not starve others.  The caller reschedules in between.
 */
static void reap_due(struct twheel_shard *shard, struct twheel_base *base, u64 now)
	__must_hold(&shard->lock)
{
	u64 begin = ktime_get_mono_fast_ns();
	void (*fn)(struct twheel_timer *timer);
	unsigned int budget = TWHEEL_CHUNK;
	struct twheel_timer *timer;
	unsigned long tick = jiffies, class;

	while (budget-- && (timer = base_begin(shard, base))) {
		count_late(shard, base, timer, now);
		fn = timer->fn;
		class = twheel_timer_class(timer);
		spin_unlock_irq(&shard->lock);

		call_function(timer, fn, class);

		spin_lock_irq(&shard->lock);
		base_end(shard, base);
		reap_time(shard, timer, fn, &begin, &tick);
		if (need_resched())
			break;
	}
}

/*
 * Allocate a level that an add could not, without waiting: due timers must not depend on reclaim.
 * One level at each wake-up; a node that is still too far marks the wheel as starved again.
 */
static void reaper_add_level(struct twheel_shard *shard, struct twheel_wheel *wheel)
	__must_hold(&shard->lock)
{
	struct twheel_level *level;

	if (!wheel->starved)
		return;
	spin_unlock_irq(&shard->lock);
	level = twheel_level_alloc(wheel, GFP_NOWAIT | __GFP_NOWARN | shard->account);
	spin_lock_irq(&shard->lock);
	if (level && wheel->starved)
		twheel_wheel_grow(wheel, level);
	else
		twheel_level_free(level);
}

/* One step of work for each base. Returns false if there is none. */
static bool reap_step(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_base *base;
	bool more = false;
	u64 now;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		if (twheel_base_is_inline(shard, base))
			continue;
		now = twheel_shard_look(shard);
		if (!base_advance(base, now, TWHEEL_CHUNK))
			continue;
		reap_due(shard, base, now);
		more = true;
	}
	return more;
}

/* Run until no timer is due. */
static void reap(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	while (reap_step(shard)) {
		spin_unlock_irq(&shard->lock);
		cond_resched();
		spin_lock_irq(&shard->lock);
	}
}

/* The thread of a shard. */
int twheel_reaper(void *data)
{
	struct twheel_shard *shard = data;
	unsigned int i;

	if (reaper_fifo)
		sched_set_fifo_low(current);
	set_active_memcg(shard->memcg);
	spin_lock_irq(&shard->lock);
	while (!kthread_should_stop()) {
		/* On PREEMPT_RT the alarm did not take the lock for this. */
		if (IS_ENABLED(CONFIG_PREEMPT_RT))
			shard->armed = TWHEEL_TICK_NEVER;
		trace_twheel_reaper_wake(shard->number,
					 shard->base[TWHEEL_BASE_REAPER].queue.wheel.now,
					 shard->base[TWHEEL_BASE_REAPER].queue.nr_nodes);
		/* This drops the lock, so it comes before the last check for due timers. */
		for (i = 0; i < TWHEEL_BASES; i++)
			reaper_add_level(shard, &shard->base[i].queue.wheel);
		reap(shard);
		set_current_state(TASK_IDLE);
		shard->asleep = true;
		twheel_shard_arm_next(shard);
		spin_unlock_irq(&shard->lock);

		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);

		spin_lock_irq(&shard->lock);
		shard->asleep = false;
		/* twheel_wakeups() reads it without the lock. */
		WRITE_ONCE(shard->wakeups, shard->wakeups + 1);
	}
	spin_unlock_irq(&shard->lock);
	/* The alarm must not wake a task that is gone; it is not armed again. */
	hrtimer_cancel(&shard->alarm);
	/* The exit of the thread may allocate after the wheel has put its cgroup. */
	set_active_memcg(NULL);
	return 0;
}

/* Run the callbacks of some inline timers. */
static void alarm_run(struct twheel_shard *shard, unsigned long *flags)
	__must_hold(&shard->lock)
{
	u64 now = twheel_shard_look(shard);
	struct twheel_base *base = &shard->base[TWHEEL_BASE_INLINE];
	unsigned int budget = TWHEEL_ALARM_CHUNK;
	void (*fn)(struct twheel_timer *timer);
	struct twheel_timer *timer;
	unsigned long class;

	base_advance(base, now, TWHEEL_ALARM_CHUNK);
	while (budget-- && (timer = base_begin(shard, base))) {
		count_late(shard, base, timer, now);
		fn = timer->fn;
		class = twheel_timer_class(timer);
		spin_unlock_irqrestore(&shard->lock, *flags);

		call_function(timer, fn, class);

		spin_lock_irqsave(&shard->lock, *flags);
		base_end(shard, base);
	}
}

/* Whether there is work for a sleeping reaper. */
static bool alarm_needs_reaper(struct twheel_shard *shard, u64 now)
{
	return shard->asleep &&
	       (base_advance(&shard->base[TWHEEL_BASE_REAPER], now, TWHEEL_ALARM_CHUNK) ||
		shard->base[TWHEEL_BASE_REAPER].queue.wheel.starved ||
		shard->base[TWHEEL_BASE_INLINE].queue.wheel.starved);
}

/*
 * Whether CLOCK_REALTIME was set back after the alarm expired.  The hrtimer core reads the clock
 * once for all timers of an interrupt.  It would take an alarm that is armed by the new time
 * for expired, and call it again and again for the length of the step.
 */
static bool alarm_was_set_back(const struct twheel_shard *shard)
{
	return shard->clock == TWHEEL_CLOCK_REALTIME &&
	       twheel_clock_ns(shard->clock) < hrtimer_get_expires_ns(&shard->alarm);
}

/* Arm the alarm again; @now is the current tick. */
static void alarm_rearm(struct twheel_shard *shard, u64 now)
{
	u64 next = twheel_shard_next(shard);

	if (unlikely(alarm_was_set_back(shard))) {
		/* The work item of the step may have run while an inline timer did. */
		shard->armed = TWHEEL_TICK_NEVER;
		twheel_clock_check_later();
	} else if (next > now) {
		twheel_shard_arm(shard, next);
	} else {
		hrtimer_start(&shard->alarm, ns_to_ktime(twheel_clock_ns(shard->clock) +
							 TWHEEL_ALARM_GAP_NS), TWHEEL_ALARM_MODE);
	}
}

/*
 * The earliest bucket expires.  If more inline timers are due than one interrupt may run, the alarm
 * expires again after a gap.
 */
enum hrtimer_restart twheel_reaper_alarm(struct hrtimer *alarm)
{
	struct twheel_shard *shard = container_of(alarm, struct twheel_shard, alarm);
	struct task_struct *task;
	unsigned long flags;
	u64 now;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		task = READ_ONCE(shard->task);
		if (task)
			wake_up_process(task);
		return HRTIMER_NORESTART;
	}

	spin_lock_irqsave(&shard->lock, flags);
	/* During callbacks, adds leave it to alarm_rearm() to arm the alarm. */
	shard->armed = 0;
	alarm_run(shard, &flags);
	/* Again, because the lock was dropped. */
	now = twheel_shard_look(shard);
	if (alarm_needs_reaper(shard, now))
		twheel_shard_wake(shard);
	alarm_rearm(shard, now);
	spin_unlock_irqrestore(&shard->lock, flags);
	return HRTIMER_NORESTART;
}
