// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 3, the reaper: a thread that advances one shard of a wheel, and the
 * hrtimer that wakes it when the earliest bucket expires.
 *
 * With nothing pending, or only what is far away, nothing runs: there is no
 * periodic tick.  Who adds an earlier bucket than the alarm is set for moves
 * the alarm, unless the reaper is awake: then it will look for itself.
 *
 *	adding CPU                        reaper
 *	----------                        ------
 *	                                  lock
 *	                                  nothing is due any more
 *	                                  state = TASK_IDLE
 *	                                  arm the alarm, armed = its tick
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
 * While the reaper sleeps, the alarm itself may do what is little: call the
 * functions of some inline timers.  Whatever else there is to do is the
 * reaper's.  There is one caller of functions at a time: the alarm leaves
 * everything to a reaper that is awake, and a reaper that wakes up meanwhile
 * waits for the alarm, which is short.
 *
 * The lock of a shard is never held while a timer's function runs, and for
 * TWHEEL_CHUNK nodes at a time at the most.
 *
 * A reaper is a thread of normal priority, unless the module's parameter says
 * otherwise: it takes turns with what else runs on its CPU, also while a million
 * timers fire.  The price is that it may have to wait for its turn.
 */
#include <linux/bug.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/moduleparam.h>
#include <linux/prefetch.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "compat.h"
#include "reaper.h"
#include "timer_debug.h"

static unsigned long slow_ns = NSEC_PER_MSEC;
module_param(slow_ns, ulong, 0644);
MODULE_PARM_DESC(slow_ns, "a timer's function that takes that long is counted and traced (default 1000000)");

static bool reaper_fifo;
module_param(reaper_fifo, bool, 0444);
MODULE_PARM_DESC(reaper_fifo, "reapers run ahead of all threads of normal priority (default N)");

/*
 * Take the next timer that is due, and make it the running one: it is not
 * pending any more, and its place is free, before its function is called.
 */
static struct twheel_timer *shard_begin(struct twheel_shard *shard)
{
	struct twheel_node *node = twheel_queue_pop(&shard->queue);
	struct twheel_timer *timer;

	lockdep_assert_held(&shard->lock);
	WARN_ON_ONCE(shard->running);
	if (!node)
		return NULL;
	timer = container_of(node, struct twheel_timer, node);
	twheel_debug_deactivate(timer);
	twheel_shard_vacate(shard);
	trace_twheel_timer_fire(timer, shard->number);
	shard->fired++;
	shard->running = timer;
	shard->cut = false;
	/* The next one is on its way since this left the list; this is the one after it. */
	prefetchw(shard->queue.due.next->next);
	shard->was_set = twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_SET;
	return timer;
}

/*
 * The function has returned. Its timer may be gone; who waits for this looks
 * at @running, and is woken here.
 */
static void shard_end(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	shard->running = NULL;
	if (shard->waiters)
		wake_up_all(&shard->idle);
}

static void count_late(struct twheel_shard *shard, const struct twheel_timer *timer, u64 now)
{
	u64 expires = timer->node.expires;

	/* What was added meanwhile may be due later than we think it is. */
	if (now > expires && expires > shard->stepped && !shard->was_set &&
	    !(twheel_timer_flags(timer) & TWHEEL_TIMER_WAS_PAST))
		shard->latest_ticks = max(shard->latest_ticks, now - expires);
}

/*
 * The functions of the first timers of a waking spell are timed one by one.  To read the
 * clock takes as long as most functions: so when there are very many, it is read
 * after so many of them.
 */
#define TIMED_SINGLY	8

/* So many are timed together, a power of two; tests of the count have it that none are. */
unsigned int twheel_timed_together = TWHEEL_TIMED_TOGETHER;
EXPORT_SYMBOL_IF_KUNIT(twheel_timed_together);

/* A function, or some, have returned: whether that took long. When the next ones begin. */
static u64 reap_timed(struct twheel_shard *shard, const struct twheel_timer *timer,
		      void (*fn)(struct twheel_timer *timer), u64 begin)
{
	u64 end = ktime_get_mono_fast_ns();

	if (unlikely((s64)(end - begin) >= (s64)READ_ONCE(slow_ns))) {
		shard->slow++;
		trace_twheel_timer_slow(timer, fn, end - begin);
	}
	return end;
}

/*
 * Call the functions of some timers that are due. No more than a chunk at a
 * time, so that timers which are armed for the past again and again don't keep
 * others from becoming due. Who calls us lets others run in between.
 */
static void reap_due(struct twheel_shard *shard, u64 now)
	__must_hold(&shard->lock)
{
	u64 begin = ktime_get_mono_fast_ns();
	void (*fn)(struct twheel_timer *timer);
	unsigned int budget = TWHEEL_CHUNK;
	struct twheel_timer *timer;
	bool last;

	while (budget-- && (timer = shard_begin(shard))) {
		count_late(shard, timer, now);
		fn = timer->fn;
		twheel_shard_unlock_irq(shard);

		fn(timer);

		twheel_shard_lock_irq(shard);
		shard_end(shard);
		last = list_empty(&shard->queue.due) || need_resched();
		if (shard->singly || last || !(budget & (twheel_timed_together - 1))) {
			shard->singly -= !!shard->singly;
			begin = reap_timed(shard, timer, fn, begin);
		}
		if (last)
			break;
	}
}

/*
 * Make some of the timers due that are cancelled since the clock was set, after those that
 * were due before.
 */
static void reap_set(struct twheel_shard *shard, unsigned int budget)
{
	struct twheel_timer *timer;
	struct twheel_node *node;

	lockdep_assert_held(&shard->lock);
	while ((node = twheel_queue_pop_set(&shard->queue, &budget))) {
		timer = container_of(node, struct twheel_timer, node);
		WRITE_ONCE(timer->place, timer->place | TWHEEL_TIMER_WAS_SET);
		twheel_queue_expire(&shard->queue, node);
	}
}

/*
 * Look for the memory that an add did not find, but never wait for it: what is
 * due must not depend on reclaim. One level at a time, at each waking spell;
 * what is too far even then will say so again.
 */
static void reaper_feed(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct twheel_wheel *wheel = &shard->queue.wheel;
	struct twheel_level *level;

	if (!wheel->starved)
		return;
	twheel_shard_unlock_irq(shard);
	level = twheel_level_alloc(wheel, GFP_NOWAIT | __GFP_NOWARN);
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
	u64 now = twheel_shard_look(shard);

	/* Together they are a chunk. */
	reap_set(shard, TWHEEL_CHUNK / 2);
	if (!twheel_queue_advance(&shard->queue, now, TWHEEL_CHUNK / 2))
		return false;
	reap_due(shard, now);
	return true;
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

/* Let the alarm finish, should it be calling functions on another CPU. */
static void reaper_wait_for_alarm(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	while (shard->alarmed) {
		twheel_shard_unlock_irq(shard);
		cpu_relax();
		twheel_shard_lock_irq(shard);
	}
}

/**
 * twheel_reaper - the thread of a shard
 * @data: the shard
 *
 * Return: 0, when it is told to stop.
 */
int twheel_reaper(void *data)
{
	struct twheel_shard *shard = data;

	if (reaper_fifo)
		sched_set_fifo_low(current);
	twheel_shard_lock_irq(shard);
	while (!kthread_should_stop()) {
		shard->armed = 0;
		shard->singly = TIMED_SINGLY;
		reaper_wait_for_alarm(shard);
		trace_twheel_reaper_wake(shard->number, shard->queue.wheel.now,
					 shard->queue.nr_nodes);
		/* Lets go of the lock, so it comes before the last look. */
		reaper_feed(shard);
		reap(shard);
		set_current_state(TASK_IDLE);
		twheel_shard_arm(shard, twheel_queue_next(&shard->queue));
		twheel_shard_unlock_irq(shard);

		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);

		twheel_shard_lock_irq(shard);
		shard->wakeups++;
	}
	twheel_shard_unlock_irq(shard);
	/* It would wake a task that is gone. Nobody arms it any more. */
	hrtimer_cancel(&shard->alarm);
	return 0;
}

static bool inline_next(struct twheel_shard *shard)
{
	struct twheel_node *node;

	node = list_first_entry_or_null(&shard->queue.due, struct twheel_node, entry);
	return node && twheel_timer_flags(container_of(node, struct twheel_timer, node)) &
		       TWHEEL_TIMER_INLINE;
}

/*
 * Call the functions of a few inline timers, in hard interrupt context. What it
 * takes to get at them is bounded like they are. If that was all there is to
 * do, set the alarm again.
 */
static bool alarm_due(struct twheel_shard *shard, u64 now, unsigned long *flags)
	__must_hold(&shard->lock)
{
	unsigned int budget = TWHEEL_ALARM_CHUNK;
	void (*fn)(struct twheel_timer *timer);
	struct twheel_timer *timer;
	u64 next;

	shard->alarmed = true;
	twheel_queue_advance(&shard->queue, now, TWHEEL_ALARM_CHUNK);
	while (budget-- && inline_next(shard)) {
		timer = shard_begin(shard);
		count_late(shard, timer, now);
		fn = timer->fn;
		twheel_shard_unlock(shard, *flags);

		fn(timer);

		*flags = twheel_shard_lock(shard);
		shard_end(shard);
	}
	shard->alarmed = false;

	next = twheel_queue_next(&shard->queue);
	if (!shard->armed || next <= now || shard->queue.wheel.starved)
		return false;
	twheel_shard_arm(shard, next);
	return true;
}

/**
 * twheel_reaper_alarm - the earliest bucket expires
 * @alarm: of the shard
 *
 * Return: that the alarm is not set again, but for what is done here.
 */
enum hrtimer_restart twheel_reaper_alarm(struct hrtimer *alarm)
{
	struct twheel_shard *shard = container_of(alarm, struct twheel_shard, alarm);
	unsigned long flags;
	u64 now;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !READ_ONCE(shard->has_inline)) {
		wake_up_process(shard->task);
		return HRTIMER_NORESTART;
	}

	flags = twheel_shard_lock(shard);
	now = twheel_shard_look(shard);
	if (!shard->armed || !alarm_due(shard, now, &flags))
		twheel_shard_wake(shard);
	twheel_shard_unlock(shard, flags);
	return HRTIMER_NORESTART;
}
