// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 3, shards: two bases of timers with a lock, a clock, and an alarm.
 *
 * This is where ticks meet the clock.  A deadline is rounded up to a tick and
 * the clock is rounded down, so that nothing is ever early, and late by less
 * than one tick plus the time that it takes to wake a thread.
 *
 * A shard that goes by the wall clock has its alarm on that clock, too: the
 * kernel moves it when the clock is set.  What the kernel can't do is to set
 * the wheel back.  Until that is done, a deadline between the clock and the
 * wheel would seem to have passed; so each call that relies on the wheel's time
 * first compares the clock's offset from the monotonic one with the offset that the
 * shard knows.  See twheel_shard_look().
 *
 * Timers with TWHEEL_TIMER_CANCEL_ON_SET do not go by the offset, since a step that is
 * undone at once leaves no trace in it.  The kernel's notification counts the steps:
 *
 *	setting CPU                          adding CPU
 *	-----------                          ----------
 *	begin the write section
 *	of the clock's seqcount
 *	offset = new                         lock the shard
 *	notification: generation++           read the offset, then the generation;
 *	end the write section                if the latter is new, cancel what is pending
 *	interrupt, work: look at each        add the timer
 *	shard                                unlock
 *
 * An add that has seen the new offset also sees the new generation, so that the step does
 * not cancel its timer.  A timer that was added before the notification is on the queue
 * under the old generation, and the next look cancels it.  The work sees to it that
 * there is one.
 *
 * The reaper of a shard is made when the first timer comes, by a work item, as
 * threads can't be made in the contexts from which timers are added.  Nothing
 * in a shard is bound to a CPU: the reaper may run anywhere, and the kernel
 * moves the alarm of a CPU that goes away.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"

static bool measure;
module_param(measure, bool, 0444);
MODULE_PARM_DESC(measure, "measure for how long interrupts are off (default no)");

DEFINE_STATIC_KEY_FALSE(twheel_measuring);

/* How long after a thread could not be made the next attempt follows. */
#define START_AGAIN	(HZ / 10)

/* How long interrupts were off, in us: the last one stands for all that are longer. */
static DEFINE_PER_CPU(u64 [TWHEEL_STRETCHES], stretches);

/**
 * twheel_shard_measured - count a stretch for which a lock was held
 * @shard: whose lock, still held
 * @ns: how long it was; the clock that is read for this may seem to go back
 *	between CPUs
 */
void twheel_shard_measured(struct twheel_shard *shard, s64 ns)
{
	u64 held = max_t(s64, ns, 0);

	shard->irqs_off_ns = max(shard->irqs_off_ns, held);
	__this_cpu_inc(stretches[min_t(u64, div_u64(held, NSEC_PER_USEC), TWHEEL_STRETCHES - 1)]);
}

/**
 * twheel_shard_stretches - how many stretches of a length there were, of all shards
 * @us: the length
 */
u64 twheel_shard_stretches(unsigned int us)
{
	u64 nr = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nr += READ_ONCE(per_cpu(stretches[us], cpu));
	return nr;
}

void __init twheel_shard_measure(void)
{
	if (measure)
		static_branch_enable(&twheel_measuring);
}

/**
 * twheel_shard_time - the clock at the beginning of a tick
 * @shard: the shard
 * @tick: the tick
 *
 * Return: a time in ns, KTIME_MAX for a tick past its end.
 */
u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick)
{
	u64 ns;

	if (check_mul_overflow(tick, shard->tick_ns, &ns) || ns > KTIME_MAX)
		return KTIME_MAX;
	return ns;
}

/**
 * twheel_shard_arm - arm the alarm
 * @shard: the shard, whose lock is held
 * @tick: when it is to go off; 0 for at once, TWHEEL_TICK_NEVER for never
 */
void twheel_shard_arm(struct twheel_shard *shard, u64 tick)
{
	shard->armed = tick;
	if (tick != TWHEEL_TICK_NEVER)
		hrtimer_start(&shard->alarm, ns_to_ktime(twheel_shard_time(shard, tick)),
			      TWHEEL_ALARM_MODE);
}

/* Whether the alarm has to go off when a base has something to do. */
static bool base_needs_alarm(const struct twheel_shard *shard, const struct twheel_base *base)
{
	return shard->asleep || twheel_base_is_inline(shard, base);
}

/**
 * twheel_shard_next - when the alarm has to go off next
 * @shard: the shard, whose lock is held
 *
 * Return: the tick; 0 for at once, TWHEEL_TICK_NEVER for never.
 */
u64 twheel_shard_next(const struct twheel_shard *shard)
{
	const struct twheel_base *base;
	u64 next = TWHEEL_TICK_NEVER;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		if (!base_needs_alarm(shard, base))
			continue;
		/* Not by the tick: the clock may be set back before the alarm goes off. */
		if (twheel_queue_ready(&base->queue))
			return 0;
		next = min(next, twheel_queue_next(&base->queue));
	}
	return next;
}

/**
 * twheel_shard_arm_next - arm the alarm, unless it goes off early enough
 * @shard: the shard, whose lock is held
 */
void twheel_shard_arm_next(struct twheel_shard *shard)
{
	u64 next = twheel_shard_next(shard);

	if (next < shard->armed || !next)
		twheel_shard_arm(shard, next);
}

/*
 * The wall clock was set. If that was back behind the wheels, they follow; the timers
 * stay where they are, see wheel.c.
 */
static void shard_step(struct twheel_shard *shard, s64 offset, u64 now)
{
	unsigned int i;

	trace_twheel_clock_set(shard->number, offset - shard->offset);
	shard->offset = offset;
	/* What a step has passed is not late. */
	shard->stepped = now;
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_rewind(&shard->base[i].queue, now);
}

/* The wall clock was set, maybe twice: cancel the timers that asked for it. */
static void shard_cancel_on_set(struct twheel_shard *shard, u32 generation)
{
	unsigned int i;

	shard->generation = generation;
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_set(&shard->base[i].queue);
	twheel_shard_arm_next(shard);
}

/*
 * The tick at a time of the monotonic clock, for a wheel that goes by the wall
 * clock, after having looked whether that was set.
 *
 * That time was read before the offset is: so the sum is never ahead of the
 * wall clock, whenever that is set, and it agrees with the offset that is known.
 * The generation is read last: see above.
 */
static u64 shard_tick_at(struct twheel_shard *shard, u64 monotonic_ns)
{
	s64 offset = twheel_clock_offset();
	u64 now = twheel_tick_floor(shard, monotonic_ns + offset);
	u32 generation = twheel_clock_generation();

	if (unlikely(offset != shard->offset))
		shard_step(shard, offset, now);
	if (unlikely(generation != shard->generation))
		shard_cancel_on_set(shard, generation);
	return now;
}

/**
 * twheel_shard_look - look at the clock, and whether it was set
 * @shard: the shard, whose lock is held
 *
 * Return: the tick it is.
 */
u64 twheel_shard_look(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	if (shard->clock == TWHEEL_CLOCK_REALTIME)
		return shard_tick_at(shard, ktime_get_ns());
	return twheel_tick_floor(shard, twheel_clock_ns(shard->clock));
}

/**
 * twheel_shard_set - the wall clock was set: look at it now
 * @shard: the shard, which goes by that clock
 *
 * The kernel has moved the alarm. Where it was to go off at once it may be hours ahead
 * now, so it is armed anew.
 */
void twheel_shard_set(struct twheel_shard *shard)
{
	twheel_shard_lock_irq(shard);
	twheel_shard_look(shard);
	twheel_shard_arm_next(shard);
	twheel_shard_unlock_irq(shard);
}

/**
 * twheel_shard_forward - forward idle wheels before a timer is added
 * @shard: the shard, whose lock is held
 *
 * By a clock that is coarse, but cheap and never ahead.
 */
void twheel_shard_forward(struct twheel_shard *shard)
{
	unsigned int i;
	u64 now;

	lockdep_assert_held(&shard->lock);
	shard->forwarded = jiffies;
	if (shard->clock == TWHEEL_CLOCK_REALTIME)
		now = shard_tick_at(shard, ktime_get_coarse_ns());
	else
		now = twheel_tick_floor(shard, twheel_clock_coarse_ns(shard->clock));
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_forward(&shard->base[i].queue, now);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_forward);

/**
 * twheel_shard_add - add a timer, and arm the alarm if it has to go off earlier
 * @shard: the shard, whose lock is held
 * @timer: in no list, with its tick set
 */
void twheel_shard_add(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_base *base = twheel_timer_base(shard, timer);
	bool on_set = base->queue.wheel.on_set &&
		      twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET;
	u64 next;

	lockdep_assert_held(&shard->lock);

	next = twheel_queue_add(&base->queue, &timer->node, on_set);
	if (next < shard->armed && base_needs_alarm(shard, base))
		twheel_shard_arm(shard, next);
	if (unlikely(!shard->task) && !shard->starting) {
		shard->starting = true;
		queue_delayed_work(system_highpri_wq, &shard->start, 0);
	}
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_add);

/* Whether the function has returned that ran when so many had been called. */
static bool base_idle(struct twheel_shard *shard, const struct twheel_base *base, u64 fired)
{
	/* Here is where wait_event_lock_irq() has taken the lock again. */
	twheel_shard_locked(shard);
	return !base->running || base->fired != fired;
}

/**
 * twheel_shard_wait - wait until the function that is running, if any, has returned
 * @shard: the shard, whose lock is held, and is let go of meanwhile
 * @base: whose function
 *
 * Context: process; may sleep. Not on the thread that runs the function.
 */
void twheel_shard_wait(struct twheel_shard *shard, const struct twheel_base *base)
{
	u64 fired = base->fired;

	lockdep_assert_held(&shard->lock);
	shard->waiters++;
	wait_event_lock_irq(shard->idle, base_idle(shard, base, fired), shard->lock);
	shard->waiters--;
}

/**
 * twheel_shard_charge - take a place for a timer that begins to wait
 * @shard: the shard
 *
 * Return: false if the wheel is full.
 */
bool twheel_shard_charge(struct twheel_shard *shard)
{
	struct twheel_limit *limit = shard->limit;
	s64 pending;

	if (!limit)
		return true;
	/* Timers that repeat may have brought it above the limit. */
	pending = atomic64_read(&limit->pending);
	do {
		if (pending >= limit->max)
			return false;
	} while (!atomic64_try_cmpxchg(&limit->pending, &pending, pending + 1));
	return true;
}

/**
 * twheel_shard_uncharge - give back the place of a timer that waits no more
 * @shard: the shard
 */
void twheel_shard_uncharge(struct twheel_shard *shard)
{
	if (shard->limit)
		atomic64_dec(&shard->limit->pending);
}

/* Make the reaper. If there is no memory for a thread now, there will be. */
static void shard_start(struct work_struct *work)
{
	struct twheel_shard *shard = container_of(to_delayed_work(work),
						  struct twheel_shard, start);
	struct task_struct *task;

	task = kthread_create(twheel_reaper, shard, "%s/%u", shard->name, shard->number);
	if (IS_ERR(task)) {
		queue_delayed_work(system_highpri_wq, &shard->start, START_AGAIN);
		return;
	}
	twheel_shard_lock_irq(shard);
	/* runs_functions() and, on PREEMPT_RT, the alarm read it without the lock. */
	WRITE_ONCE(shard->task, task);
	twheel_shard_unlock_irq(shard);
	wake_up_process(task);
}

/**
 * twheel_shard_init - set up a shard
 * @shard: the shard, zeroed but for @wheel, @limit, @account and @memcg
 * @config: tick, slots, clock and name, all set
 * @number: which of its wheel's shards this is
 *
 * Context: process; may sleep.
 * Return: 0 or -ENOMEM.
 */
int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number)
{
	bool on_set = config->clock == TWHEEL_CLOCK_REALTIME;
	unsigned int i;
	u64 now;

	spin_lock_init(&shard->lock);
	init_waitqueue_head(&shard->idle);
	INIT_DELAYED_WORK(&shard->start, shard_start);
	shard->number = number;
	strscpy(shard->name, config->name, sizeof(shard->name));
	shard->clock = config->clock;
	shard->armed = TWHEEL_TICK_NEVER;
	shard->generation = twheel_clock_generation();
	shard->offset = twheel_clock_offset();
	twheel_hrtimer_setup(&shard->alarm, twheel_reaper_alarm, twheel_clock_id(config->clock),
			     TWHEEL_ALARM_MODE);
	shard->tick_ns = config->tick_ns;
	/* is_power_of_2() is for longs, which may be shorter. */
	if (!(config->tick_ns & (config->tick_ns - 1)))
		shard->tick_shift = ilog2(config->tick_ns);

	now = twheel_tick_floor(shard, twheel_clock_ns(config->clock));
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_init(&shard->base[i].queue, config->slots, on_set, now);
	/* That of inline timers gets its first level with the first of them. */
	return twheel_wheel_add_level(&shard->base[TWHEEL_BASE_REAPER].queue.wheel,
				 GFP_KERNEL | shard->account);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_init);

/**
 * twheel_shard_stop - stop the reaper and free what the shard has
 * @shard: the shard, on which no timer is pending and none is added any more
 *
 * Context: process; may sleep. Not from a timer's function.
 */
void twheel_shard_stop(struct twheel_shard *shard)
{
	unsigned int i;

	cancel_delayed_work_sync(&shard->start);
	if (shard->task)
		kthread_stop(shard->task);
	/* The reaper may never have run. */
	hrtimer_cancel(&shard->alarm);
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_destroy(&shard->base[i].queue);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_stop);
