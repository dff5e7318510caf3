// SPDX-License-Identifier: GPL-2.0
/*
 * Shards: two bases of timers with a lock, a clock and an alarm.
 *
 * Here ticks meet the clock. A deadline is rounded up to a tick, and the clock is rounded
 * down, so that no timer fires early. A timer is late by less than one tick plus the time to
 * wake a thread.
 *
 * The alarm of a shard of CLOCK_REALTIME uses this clock as well, so the kernel reprograms it
 * when the clock is set. The wheel does not follow by itself: after a step back, a deadline
 * between the clock and the wheel would seem to have passed. So each function that relies on
 * the tick of the wheel first calls twheel_shard_look(), see step.c.
 *
 * Nothing in a shard is bound to a CPU: the reaper runs anywhere, and the kernel moves the alarm
 * away from a CPU that goes offline.
 */
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"
#include "step.h"

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
	return shard->asleep || base == &shard->base[TWHEEL_BASE_INLINE];
}

/* The next tick with work of a base; 0 if a step has left some. */
u64 twheel_base_next(const struct twheel_base *base)
{
	u64 next = twheel_queue_next(&base->queue);

	if (!base->queue.wheel.rewinds)
		return next;
	if (twheel_steps_busy(base->steps))
		return 0;
	return min(next, twheel_queue_next(&base->steps->on_set));
}
EXPORT_SYMBOL_IF_KUNIT(twheel_base_next);

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
		next = min(next, twheel_base_next(base));
	}
	return next;
}

/* Arm the alarm unless it expires early enough. */
void twheel_shard_arm_next(struct twheel_shard *shard)
{
	u64 next = twheel_shard_next(shard);

	if (next < shard->armed)
		twheel_shard_arm(shard, next);
}

/* Wake the reaper, unless the shard has turns already. */
void twheel_shard_wake(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	if (!shard->asleep)
		return;
	shard->asleep = false;
	shard->woken = true;
	twheel_turn_ask(shard);
}

/* The clock was set, perhaps more than once. */
static void shard_step(struct twheel_shard *shard, u32 generation, s64 offset, u64 now_ns)
{
	struct twheel_passed passed;
	unsigned int i;

	twheel_wall_passed(shard->generation, generation, &passed);
	trace_twheel_clock_set(shard->number, offset - shard->offset);
	shard->generation = generation;
	shard->offset = offset;
	/* A deadline passed by the step is not late. */
	shard->stepped = twheel_tick_floor(shard, now_ns);
	for (i = 0; i < TWHEEL_BASES; i++)
		twheel_steps_begin(&shard->base[i], &passed, shard->stepped);
	/*
	 * An alarm that was armed for now, or for now and a gap, may be hours ahead after a step
	 * back. While it is expiring it is not queued, and alarm_rearm() arms it.
	 */
	if (!shard->armed && hrtimer_is_queued(&shard->alarm))
		twheel_shard_arm(shard, twheel_shard_next(shard));
	else
		twheel_shard_arm_next(shard);
}

/*
 * The tick at a time of CLOCK_MONOTONIC on a shard of CLOCK_REALTIME, with a check whether this was
 * set. The caller has read the time before the offset is read here, so the sum is never ahead of
 * CLOCK_REALTIME.
 */
static u64 shard_tick_at(struct twheel_shard *shard, u64 monotonic_ns)
{
	s64 offset;
	u32 generation = twheel_wall_read(&offset);
	u64 now_ns = monotonic_ns + offset;

	if (unlikely(generation != shard->generation) && shard->watching)
		shard_step(shard, generation, offset, now_ns);
	return twheel_tick_floor(shard, now_ns);
}

/* The current tick. If the clock was set, the wheels follow first. */
u64 twheel_shard_look(struct twheel_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	if (shard->clock == TWHEEL_CLOCK_REALTIME)
		return shard_tick_at(shard, ktime_get_ns());
	return twheel_tick_floor(shard, twheel_clock_ns(shard->clock));
}

/*
 * CLOCK_REALTIME was set: check a shard of it now. After a step back alarm_rearm() leaves it to
 * this function to arm the alarm. This does a chunk of the work that the step has left, and the
 * reaper does the rest in its turns. Returns true if there is more.
 */
bool twheel_shard_set(struct twheel_shard *shard)
{
	unsigned int i, budget = TWHEEL_CHUNK;
	bool more = false;

	spin_lock_irq(&shard->lock);
	twheel_shard_look(shard);
	for (i = 0; i < TWHEEL_BASES; i++)
		more |= twheel_steps_run(&shard->base[i], &budget);
	twheel_shard_arm_next(shard);
	spin_unlock_irq(&shard->lock);
	return more;
}

/* The first add to an idle shard of CLOCK_REALTIME: from now on the shard notices steps. */
static noinline void shard_watch(struct twheel_shard *shard)
{
	struct twheel_base *base;
	u64 now;

	twheel_wall_get();
	shard->watching = true;
	/* As in shard_tick_at(). */
	now = ktime_get_coarse_ns();
	shard->generation = twheel_wall_read(&shard->offset);
	now = twheel_tick_floor(shard, now + shard->offset);
	/* The clock may have been set back meanwhile. */
	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		twheel_queue_rewind(&base->queue, now);
		twheel_queue_rewind(&base->steps->on_set, now);
	}
}

/* Remove buckets that cancels have emptied. Returns true if none is left. */
static bool queue_clear(struct twheel_queue *queue, unsigned int *budget)
{
	struct twheel_node *node;

	while (*budget && twheel_queue_empty_first(queue, TWHEEL_TICK_NEVER - 1, &node))
		--*budget;
	return twheel_queue_first(queue) == TWHEEL_TICK_NEVER;
}

/*
 * Whether a shard has no timer, no running callback and no bucket. The alarm of a bucket would not
 * know the time any more.
 */
static bool shard_is_idle(struct twheel_shard *shard)
{
	unsigned int budget = TWHEEL_CHUNK;
	struct twheel_base *base;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++)
		if (base->queue.nr_nodes || base->running || twheel_steps_busy(base->steps))
			return false;
	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++)
		if (!queue_clear(&base->queue, &budget) ||
		    !queue_clear(&base->steps->on_set, &budget))
			return false;
	/* It may be waiting for the lock. */
	if (hrtimer_try_to_cancel(&shard->alarm) < 0)
		return false;
	shard->armed = TWHEEL_TICK_NEVER;
	return true;
}

/* If a shard of CLOCK_REALTIME is idle, it need not notice steps. */
void twheel_shard_unwatch(struct twheel_shard *shard)
{
	bool idle;

	spin_lock_irq(&shard->lock);
	idle = shard->watching && shard_is_idle(shard);
	if (idle)
		shard->watching = false;
	spin_unlock_irq(&shard->lock);
	if (idle)
		twheel_wall_put();
}

/*
 * Forward idle wheels before a timer is added. The coarse clock is cheap, and never ahead of
 * the clock.
 */
void twheel_shard_forward(struct twheel_shard *shard)
{
	unsigned int i;
	u64 now;

	lockdep_assert_held(&shard->lock);
	shard->forwarded = jiffies;
	if (shard->clock == TWHEEL_CLOCK_REALTIME) {
		if (unlikely(!shard->watching))
			shard_watch(shard);
		now = shard_tick_at(shard, ktime_get_coarse_ns());
	} else {
		now = twheel_tick_floor(shard, twheel_clock_coarse_ns(shard->clock));
	}
	for (i = 0; i < TWHEEL_BASES; i++) {
		if (shard->base[i].steps)
			twheel_steps_forward(&shard->base[i], now);
		else
			twheel_queue_forward(&shard->base[i].queue, now);
	}
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_forward);

struct twheel_wheel *__twheel_shard_wheel(struct twheel_shard *shard, unsigned int flags)
{
	struct twheel_base *base = twheel_shard_base(shard, flags);

	if (base->steps && flags & TWHEEL_TIMER_CANCEL_ON_SET)
		return &base->steps->on_set.wheel;
	return &base->queue.wheel;
}

/*
 * A timer was added to a base that needs attention at tick @next. Wake the reaper if the timer is
 * due, and reprogram the alarm if the timer needs it earlier.
 */
void __twheel_shard_added(struct twheel_shard *shard, struct twheel_base *base, u64 next)
{
	lockdep_assert_held(&shard->lock);
	if (next == base->queue.wheel.now && !twheel_base_is_inline(shard, base)) {
		twheel_shard_wake(shard);
		/* On PREEMPT_RT a turn under way ends after the running callback. */
		if (base == &shard->base[TWHEEL_BASE_INLINE])
			WRITE_ONCE(shard->alarmed, true);
	} else if (next < shard->armed && base_needs_alarm(shard, base)) {
		twheel_shard_arm(shard, next);
	}
}
EXPORT_SYMBOL_IF_KUNIT(__twheel_shard_added);

/*
 * Wait for the running callback of a base, if any. The lock of the shard is dropped meanwhile.
 * With TWHEEL_WAITED_CANCEL in @waited, the timer cannot be armed until the callback returns.
 * Must not be called by a callback of the base.
 */
void twheel_shard_wait(struct twheel_shard *shard, struct twheel_base *base, u8 waited)
{
	u64 fired = base->fired;

	lockdep_assert_held(&shard->lock);
	if (!base->running)
		return;
	base->waited |= waited;
	if (waited & TWHEEL_WAITED_CANCEL)
		shard->refuse |= TWHEEL_REFUSE_CANCEL;
	wait_event_lock_irq(base->idle, !base->running || base->fired != fired, shard->lock);
}

/* Slow path of twheel_shard_charge(). */
bool __twheel_shard_charge(struct twheel_shard *shard)
{
	struct twheel_limit *limit = shard->limit;
	s64 pending = atomic64_read(&limit->pending);

	do {
		if (pending >= limit->max)
			return false;
	} while (!atomic64_try_cmpxchg(&limit->pending, &pending, pending + 1));
	return true;
}

static void shard_destroy_bases(struct twheel_shard *shard)
{
	struct twheel_base *base;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		twheel_steps_destroy(base);
		twheel_queue_destroy(&base->queue);
	}
}

/* A base of inline timers gets its first levels with its first timers. */
static int shard_init_levels(struct twheel_shard *shard)
{
	struct twheel_base *base;
	gfp_t gfp = GFP_KERNEL | shard->account;
	int err;

	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		if (shard->clock != TWHEEL_CLOCK_REALTIME)
			break;
		err = twheel_steps_init(base, gfp);
		if (err)
			return err;
	}
	base = &shard->base[TWHEEL_BASE_REAPER];
	err = twheel_wheel_add_level(&base->queue.wheel, gfp);
	if (!err && base->steps)
		err = twheel_wheel_add_level(&base->steps->on_set.wheel, gfp);
	return err;
}

/*
 * Initialise a shard that is zero except for @wheel, @limit, @account, @memcg, @reaper and @share,
 * with a complete configuration: 0 or -ENOMEM.
 */
int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number)
{
	unsigned int i;
	u64 now;
	int err;

	spin_lock_init(&shard->lock);
	INIT_LIST_HEAD(&shard->turn);
	shard->asleep = true;
	shard->number = number;
	shard->clock = config->clock;
	shard->armed = TWHEEL_TICK_NEVER;
	shard->generation = twheel_wall_read(&shard->offset);
	twheel_hrtimer_setup(&shard->alarm, twheel_reaper_alarm, twheel_clock_id(config->clock),
			     TWHEEL_ALARM_MODE);
	shard->tick_ns = config->tick_ns;
	/* is_power_of_2() takes a long, which may be shorter. */
	if (!(config->tick_ns & (config->tick_ns - 1)))
		shard->tick_shift = ilog2(config->tick_ns);
	shard->plain = shard->tick_shift && !shard->limit && config->clock != TWHEEL_CLOCK_REALTIME;

	now = twheel_tick_floor(shard, twheel_clock_ns(config->clock));
	for (i = 0; i < TWHEEL_BASES; i++) {
		twheel_queue_init(&shard->base[i].queue, config->slots, config->tick_ns, now);
		init_waitqueue_head(&shard->base[i].idle);
	}
	err = shard_init_levels(shard);
	if (err)
		shard_destroy_bases(shard);
	return err;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_init);

/*
 * End the turns and free the levels. No timer is pending, and none is added any more. Must not
 * be called by a callback.
 */
void twheel_shard_stop(struct twheel_shard *shard)
{
	twheel_turn_end(shard);
	/* It asks in vain, and nobody arms it again. */
	hrtimer_cancel(&shard->alarm);
	if (shard->watching)
		twheel_wall_put();
	shard_destroy_bases(shard);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_shard_stop);
