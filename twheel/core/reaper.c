// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 3, the reaper: a thread that calls the functions of a shard's timers, and the
 * hrtimer, called alarm, that goes off when the earliest bucket expires.
 *
 * With nothing pending, or only what is far away, nothing runs: there is no
 * periodic tick.  The shard has two bases:
 *
 *	base		functions run in		the alarm is armed for it
 *	----		----------------		-------------------------
 *	reaper		the reaper			while the reaper sleeps
 *	inline		the alarm's interrupt		always
 *
 * So an inline timer waits neither for ordinary timers that are due before it nor for the
 * reaper to get a CPU.  On PREEMPT_RT an interrupt may not take our lock: there the alarm
 * only wakes the reaper, which serves both bases.
 *
 * An add that creates an earlier bucket reprograms the alarm, unless it is for the base of
 * a reaper that is awake:
 *
 *	adding CPU                        reaper
 *	----------                        ------
 *	                                  lock
 *	                                  nothing is due any more
 *	                                  state = TASK_IDLE
 *	                                  asleep = true; arm the alarm
 *	                                  unlock
 *	lock                              schedule()
 *	add; next < armed
 *	arm the alarm for next
 *	unlock
 *
 * The state is set before the alarm is armed: an alarm that goes off between
 * unlock and schedule() finds the reaper as good as asleep, and its wake-up is
 * not lost.
 *
 * For the base of a reaper that sleeps, the alarm does a bounded part of the work: it
 * expires some buckets, and wakes the reaper only if timers are due, or more buckets.
 * What it finds due stays due, even if the clock is set back before the reaper runs.
 *
 * The hrtimer never runs on two CPUs at once, and the reaper is one thread: a base has
 * one running function at most.  The lock of a shard is never held while a timer's
 * function runs, and for TWHEEL_CHUNK nodes at a time at the most.
 *
 * A reaper is a thread of normal priority, unless the module's parameter says
 * otherwise: it takes turns with what else runs on its CPU, also while a million
 * timers fire.  The price is that it may have to wait for its turn.
 */
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
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
MODULE_PARM_DESC(slow_ns, "a timer's function that takes that long is counted and traced (default 1000000)");

static bool reaper_fifo;
module_param(reaper_fifo, bool, 0444);
MODULE_PARM_DESC(reaper_fifo, "reapers run ahead of all threads of normal priority (default N)");

/* Out of line, since lockdep compares the address of the name. */
void twheel_callback_init_map(struct lockdep_map *map, unsigned long class)
{
	lockdep_init_map(map, "twheel_callback", (struct lock_class_key *)class, 0);
}

/*
 * Take the next timer that is due, and make it the running one: it is not
 * pending any more, and its place is free, before its function is called.
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
	/* The next one is on its way since this left the list; this is the one after it. */
	prefetchw(base->queue.due.next->next);
	base->was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_SET;
	return timer;
}

/* Call the function of a timer, which may be gone after that. */
static void call_function(struct twheel_timer *timer, void (*fn)(struct twheel_timer *timer),
			  unsigned long class)
{
	struct twheel_callback callback;

	twheel_callback_begin(&callback, class);
	fn(timer);
	twheel_callback_end(&callback, (unsigned long)fn);
}

/* The function has returned, and its timer may be gone. Wake those that wait for that. */
static void base_end(struct twheel_shard *shard, struct twheel_base *base)
{
	lockdep_assert_held(&shard->lock);
	base->running = NULL;
	if (shard->waiters)
		wake_up_all(&shard->idle);
}

static void count_late(struct twheel_shard *shard, const struct twheel_base *base,
		       const struct twheel_timer *timer, u64 now)
{
	u64 expires = timer->node.expires;

	/* What was added meanwhile may be due later than we think it is. */
	if (now > expires && expires > shard->stepped && !base->was_set &&
	    !(twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_PAST))
		shard->latest_ticks = max(shard->latest_ticks, now - expires);
}

/*
 * Make some of the timers due that are cancelled since the clock was set, after those that
 * were due before.
 */
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

/* Make timers due, half of the budget for either reason; whether there is more to do. */
static bool base_advance(struct twheel_base *base, u64 now, unsigned int budget)
{
	if (likely(list_empty(&base->queue.set) && !base->queue.sweeping))
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
 * Call the functions of some timers that are due. No more than a chunk at a
 * time, so that timers which are armed for the past again and again don't keep
 * others from becoming due. The caller lets others run in between.
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
		twheel_shard_unlock_irq(shard);

		call_function(timer, fn, class);

		twheel_shard_lock_irq(shard);
		base_end(shard, base);
		reap_time(shard, timer, fn, &begin, &tick);
		if (need_resched())
			break;
	}
}

/*
 * Look for the memory that an add did not find, but never wait for it: what is
 * due must not depend on reclaim. One level at a time, at each waking spell;
 * what is too far even then will say so again.
 */
static void reaper_add_level(struct twheel_shard *shard, struct twheel_wheel *wheel)
	__must_hold(&shard->lock)
{
	struct twheel_level *level;

	if (!wheel->starved)
		return;
	twheel_shard_unlock_irq(shard);
	level = twheel_level_alloc(wheel, GFP_NOWAIT | __GFP_NOWARN | shard->account);
	twheel_shard_lock_irq(shard);
	if (level && wheel->starved)
		twheel_wheel_grow(wheel, level);
	else
		twheel_level_free(level);
}

/* Take a step of the work that there is; false if there is none. */
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

/* One waking spell: until nothing is due any more. */
static void reap(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	while (reap_step(shard)) {
		twheel_shard_unlock_irq(shard);
		cond_resched();
		twheel_shard_lock_irq(shard);
	}
}

/**
 * twheel_reaper - the thread of a shard
 * @data: the shard
 *
 * Return: 0, when it has to stop.
 */
int twheel_reaper(void *data)
{
	struct twheel_shard *shard = data;
	unsigned int i;

	if (reaper_fifo)
		sched_set_fifo_low(current);
	set_active_memcg(shard->memcg);
	twheel_shard_lock_irq(shard);
	while (!kthread_should_stop()) {
		/* There the alarm did not take the lock to do so. */
		if (IS_ENABLED(CONFIG_PREEMPT_RT))
			shard->armed = TWHEEL_TICK_NEVER;
		trace_twheel_reaper_wake(shard->number,
					 shard->base[TWHEEL_BASE_REAPER].queue.wheel.now,
					 shard->base[TWHEEL_BASE_REAPER].queue.nr_nodes);
		/* Lets go of the lock, so it comes before the last look. */
		for (i = 0; i < TWHEEL_BASES; i++)
			reaper_add_level(shard, &shard->base[i].queue.wheel);
		reap(shard);
		set_current_state(TASK_IDLE);
		shard->asleep = true;
		twheel_shard_arm_next(shard);
		twheel_shard_unlock_irq(shard);

		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);

		twheel_shard_lock_irq(shard);
		shard->asleep = false;
		/* twheel_wakeups() reads it without the lock. */
		WRITE_ONCE(shard->wakeups, shard->wakeups + 1);
	}
	twheel_shard_unlock_irq(shard);
	/* It would wake a task that is gone. Nobody arms it any more. */
	hrtimer_cancel(&shard->alarm);
	return 0;
}

/* Call the functions of some inline timers. */
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
		twheel_shard_unlock(shard, *flags);

		call_function(timer, fn, class);

		*flags = twheel_shard_lock(shard);
		base_end(shard, base);
	}
}

static void alarm_wake(struct twheel_shard *shard)
{
	if (!shard->asleep)
		return;
	shard->asleep = false;
	wake_up_process(shard->task);
}

/* Whether there is something to do for a reaper that sleeps. */
static bool alarm_needs_reaper(struct twheel_shard *shard, u64 now)
{
	return shard->asleep &&
	       (base_advance(&shard->base[TWHEEL_BASE_REAPER], now, TWHEEL_ALARM_CHUNK) ||
		shard->base[TWHEEL_BASE_REAPER].queue.wheel.starved ||
		shard->base[TWHEEL_BASE_INLINE].queue.wheel.starved);
}

/*
 * Whether the wall clock was set back since the alarm expired.  The hrtimer core reads the
 * clock once for all timers of an interrupt: it would take an alarm that is armed by the new
 * time for expired, and call it again and again for as long as the step was.
 */
static bool alarm_was_set_back(const struct twheel_shard *shard)
{
	return shard->clock == TWHEEL_CLOCK_REALTIME &&
	       twheel_clock_ns(shard->clock) < hrtimer_get_expires_ns(&shard->alarm);
}

/* Arm the alarm at its end; @now is the tick it is. */
static void alarm_rearm(struct twheel_shard *shard, u64 now)
{
	u64 next = twheel_shard_next(shard);

	if (unlikely(alarm_was_set_back(shard))) {
		/* The reaper arms it, or twheel_shard_set(), which follows each step. */
		shard->armed = TWHEEL_TICK_NEVER;
		alarm_wake(shard);
	} else if (next > now) {
		twheel_shard_arm(shard, next);
	} else {
		hrtimer_start(&shard->alarm, ns_to_ktime(twheel_clock_ns(shard->clock) +
							 TWHEEL_ALARM_GAP_NS), TWHEEL_ALARM_MODE);
	}
}

/**
 * twheel_reaper_alarm - the earliest bucket expires
 * @alarm: of the shard
 *
 * If there is more to do for inline timers than may be done in one interrupt, it goes
 * off again after a gap.
 *
 * Return: HRTIMER_NORESTART; alarm_rearm() arms it.
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

	flags = twheel_shard_lock(shard);
	/* While functions run, adds leave it to the end of this to arm the alarm. */
	shard->armed = 0;
	alarm_run(shard, &flags);
	/* Once more, since the lock was let go of. */
	now = twheel_shard_look(shard);
	if (alarm_needs_reaper(shard, now))
		alarm_wake(shard);
	alarm_rearm(shard, now);
	twheel_shard_unlock(shard, flags);
	return HRTIMER_NORESTART;
}
