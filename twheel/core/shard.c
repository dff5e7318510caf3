// SPDX-License-Identifier: GPL-2.0
/*
 * Shards: two bases of timers with a lock, a clock and an alarm.
 *
 * Here ticks meet the clock.  A deadline is rounded up to a tick, and the clock is rounded
 * down, so that no timer fires early.  A timer is late by less than one tick plus the time to
 * wake a thread.
 *
 * The alarm of a shard of CLOCK_REALTIME uses this clock as well, so the kernel reprograms it
 * when the clock is set.  The wheel does not follow by itself: after a step back, a deadline
 * between the clock and the wheel would seem to have passed.  So each function that relies on
 * the tick of the wheel first compares the offset of CLOCK_REALTIME from CLOCK_MONOTONIC with
 * the last one seen by the shard, see twheel_shard_look().
 *
 * The offset does not show a step that is undone at once.  For TWHEEL_TIMER_CANCEL_ON_SET the
 * clock notifier counts the steps:
 *
 *	CPU that sets the clock                adding CPU
 *	-----------------------                ----------
 *	begin the write section of the
 *	timekeeper's seqcount
 *	offset = new                           lock the shard
 *	notifier: generation++                 read the offset, then the generation; if
 *	end the write section                  the latter is new, cancel pending timers
 *	interrupt, work: twheel_shard_set()    add the timer
 *	on each shard                          unlock
 *
 * An add that reads the new offset also reads the new generation, so that the step does not
 * cancel its timer.  A timer added before the notifier ran is in a bucket of the old
 * generation, and the next twheel_shard_look() cancels it, at the latest that of the work.
 *
 * The first timer of a shard queues a work item that creates the reaper, because timers are
 * added in contexts that cannot create threads.  Nothing in a shard is bound to a CPU: the
 * reaper runs anywhere, and the kernel moves the alarm away from a CPU that goes offline.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"

/* Delay after a failure to create the reaper. */
#define START_RETRY	(HZ / 10)

/* The time at the beginning of a tick; KTIME_MAX if it is beyond. */
u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick)
{
	u64 ns;

	if (check_mul_overflow(tick, shard->tick_ns, &ns) || ns > KTIME_MAX)
		return KTIME_MAX;
	return ns;
}

/* Arm the alarm: for tick 0 at once, for TWHEEL_TICK_NEVER not at all. */
void twheel_shard_arm(struct twheel_shard *shard, u64 tick)
{
	shard->armed = tick;
	if (tick != TWHEEL_TICK_NEVER)
		hrtimer_start(&shard->alarm, ns_to_ktime(twheel_shard_time(shard, tick)),
			      TWHEEL_ALARM_MODE);
}

/* Whether the alarm is needed for the timers of a base. */
static bool base_needs_alarm(const struct twheel_shard *shard, const struct twheel_base *base)
{
	return shard->asleep || twheel_base_is_inline(shard, base);
}

/* The tick for which the alarm is needed: 0 for at once, or TWHEEL_TICK_NEVER. */
u64 twheel_shard_next(const struct twheel_shard *shard)
{
	const struct twheel_base *base;
	u64 next = TWHEEL_TICK_NEVER;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		if (!base_needs_alarm(shard, base))
			continue;
		/* The current tick would be late if the clock were set back. */
		if (twheel_queue_ready(&base->queue))
			return 0;
		next = min(next, twheel_queue_next(&base->queue));
	}
	return next;
}

/* Arm the alarm unless it expires early enough. */
void twheel_shard_arm_next(struct twheel_shard *shard)
{
	u64 next = twheel_shard_next(shard);

	if (next < shard->armed || !next)
		twheel_shard_arm(shard, next);
}

/* Wake the reaper if it sleeps. */
void twheel_shard_wake(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	if (!shard->asleep)
		return;
	shard->asleep = false;
	wake_up_process(shard->task);
}

/* The clock was set.  The wheels follow it back; their timers do not move, see wheel.c. */
static void shard_step(struct twheel_shard *shard, s64 offset, u64 now)
{
	unsigned int i;

	trace_twheel_clock_set(shard->number, offset - shard->offset);
	shard->offset = offset;
	/* A deadline passed by the step is not late. */
	shard->stepped = now;
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_rewind(&shard->base[i].queue, now);
	/*
	 * An alarm that was armed for now, or for now and a gap, may be hours ahead after a step
	 * back. While it is expiring it is not queued, and alarm_rearm() arms it.
	 */
	if (!shard->armed && hrtimer_is_queued(&shard->alarm))
		twheel_shard_arm(shard, twheel_shard_next(shard));
}

/* The clock was set, perhaps twice: cancel the timers with TWHEEL_TIMER_CANCEL_ON_SET. */
static void shard_cancel_on_set(struct twheel_shard *shard, u32 generation)
{
	unsigned int i;

	shard->generation = generation;
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_set(&shard->base[i].queue);
	twheel_shard_arm_next(shard);
}

/*
 * The tick at a time of CLOCK_MONOTONIC on a shard of CLOCK_REALTIME, with a check whether this was
 * set.  The caller has read the time before the offset is read here, so the sum is never ahead of
 * CLOCK_REALTIME and agrees with @offset.  The generation is read last, see above.
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

/* The current tick.  If the clock was set, the wheels follow first. */
u64 twheel_shard_look(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	if (shard->clock == TWHEEL_CLOCK_REALTIME)
		return shard_tick_at(shard, ktime_get_ns());
	return twheel_tick_floor(shard, twheel_clock_ns(shard->clock));
}

/*
 * CLOCK_REALTIME was set: check a shard of it now.  After a step back alarm_rearm() leaves it to
 * this function to arm the alarm.
 */
void twheel_shard_set(struct twheel_shard *shard)
{
	spin_lock_irq(&shard->lock);
	twheel_shard_look(shard);
	twheel_shard_arm_next(shard);
	spin_unlock_irq(&shard->lock);
}

/*
 * Forward idle wheels before a timer is added.  The coarse clock is cheap, and never ahead of
 * the clock.
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

/*
 * Add a timer that is on no list, with its tick set.  Wake the reaper if the timer is due, and
 * reprogram the alarm if the timer needs it earlier.
 */
void twheel_shard_add(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_base *base = twheel_timer_base(shard, timer);
	bool on_set = base->queue.wheel.on_set &&
		      twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET;
	u64 next;

	lockdep_assert_held(&shard->lock);

	next = twheel_queue_add(&base->queue, &timer->node, on_set);
	if (unlikely(next == base->queue.wheel.now) && !twheel_base_is_inline(shard, base))
		twheel_shard_wake(shard);
	else if (next < shard->armed && base_needs_alarm(shard, base))
		twheel_shard_arm(shard, next);
	if (unlikely(!shard->task) && !shard->starting) {
		shard->starting = true;
		queue_delayed_work(system_highpri_wq, &shard->start, 0);
	}
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_add);

/*
 * Wait for the running callback of a base, if any.  The lock of the shard is dropped meanwhile.
 * Must not be called by a callback of the base.
 */
void twheel_shard_wait(struct twheel_shard *shard, const struct twheel_base *base)
{
	u64 fired = base->fired;

	lockdep_assert_held(&shard->lock);
	shard->waiters++;
	wait_event_lock_irq(shard->idle, !base->running || base->fired != fired,
			    shard->lock);
	shard->waiters--;
}

/* Charge a timer to the limit of the wheel.  Returns false if the limit is reached. */
bool twheel_shard_charge(struct twheel_shard *shard)
{
	struct twheel_limit *limit = shard->limit;
	s64 pending;

	if (!limit)
		return true;
	/* Further runs of periodic timers are charged regardless of the limit. */
	pending = atomic64_read(&limit->pending);
	do {
		if (pending >= limit->max)
			return false;
	} while (!atomic64_try_cmpxchg(&limit->pending, &pending, pending + 1));
	return true;
}

void twheel_shard_uncharge(struct twheel_shard *shard)
{
	if (shard->limit)
		atomic64_dec(&shard->limit->pending);
}

/* Create the reaper; without memory for a thread, retry later. */
static void shard_start(struct work_struct *work)
{
	struct twheel_shard *shard = container_of(to_delayed_work(work),
						  struct twheel_shard, start);
	struct task_struct *task;

	task = kthread_create(twheel_reaper, shard, "%s/%u", shard->name, shard->number);
	if (IS_ERR(task)) {
		queue_delayed_work(system_highpri_wq, &shard->start, START_RETRY);
		return;
	}
	spin_lock_irq(&shard->lock);
	/* Checks for calls from callbacks, and on PREEMPT_RT the alarm, take no lock. */
	WRITE_ONCE(shard->task, task);
	spin_unlock_irq(&shard->lock);
	wake_up_process(task);
}

/*
 * Initialise a shard that is zero except for @wheel, @limit, @account and @memcg, with a complete
 * configuration: 0 or -ENOMEM.
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
	/* is_power_of_2() takes a long, which may be shorter. */
	if (!(config->tick_ns & (config->tick_ns - 1)))
		shard->tick_shift = ilog2(config->tick_ns);

	now = twheel_tick_floor(shard, twheel_clock_ns(config->clock));
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_queue_init(&shard->base[i].queue, config->slots, on_set, now);
	/* The base of inline timers gets its first level with its first timer. */
	return twheel_wheel_add_level(&shard->base[TWHEEL_BASE_REAPER].queue.wheel,
				      GFP_KERNEL | shard->account);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_init);

/*
 * Stop the reaper and free the levels.  No timer is pending, and none is added any more.  Must not
 * be called by a callback.
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
