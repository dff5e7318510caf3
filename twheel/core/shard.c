// SPDX-License-Identifier: GPL-2.0
/*
 * Shards: timers with a lock, a clock, an alarm and a reaper.
 *
 * Here ticks meet the clock. A deadline is rounded up to a tick, and the clock is rounded
 * down, so that no timer fires early. A timer is late by less than one tick plus the time to
 * wake a thread. Timers of CLOCK_REALTIME have no ticks, see wall.c.
 *
 * The alarm is an hrtimer that expires with the earliest bucket, or with the first timer of
 * CLOCK_REALTIME. It is armed while the shard is asleep: an add that creates an earlier bucket
 * reprograms it, and an add of a due timer asks for a turn of the reaper. A shard falls asleep, and
 * its alarm is armed, with the lock held under which nothing was left to do at the time of its
 * turn.
 *
 * The alarm does a bounded part of the work: it expires buckets up to the first one with due
 * timers, and wakes the reaper for these, or for nodes that are left to move. So timers that were
 * cancelled wake no thread. On PREEMPT_RT it runs in the thread of softirqs, as other hrtimers.
 *
 * Nothing in a shard is bound to a CPU: the reaper runs anywhere, and the kernel moves the alarm
 * away from a CPU that goes offline.
 *
 * The shard of a timer
 * --------------------
 *
 * A timer is protected by the lock of its shard. timer->shard_flags has the address of this
 * shard, and is written with the lock held. To keep CPUs from contending for one lock, an add or
 * re-arm moves the timer to the shard of the current CPU, unless the timer is running:
 *
 *	arming CPU			another CPU
 *	----------			-----------
 *	lock the old shard		read shard_flags: the old shard
 *	trylock the local shard		lock the old shard
 *	shard_flags = local shard	  (spins)
 *	arm the timer
 *	unlock both			read shard_flags: the local shard
 *					unlock the old shard, retry
 *
 * The second lock is only tried, so shards need no lock order. If the local shard is locked,
 * the timer stays where it is.
 */
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"
#include "twheel.h"

/* The shard of the last timer that was locked on this CPU. Only compared with other shards. */
DEFINE_PER_CPU(struct twheel_shard *, twheel_last_shard) = (struct twheel_shard *)-1L;

/* The time at the beginning of a tick; KTIME_MAX if it is beyond. */
u64 twheel_shard_time(const struct twheel_shard *shard, u64 tick)
{
	u64 ns;

	if (check_mul_overflow(tick, shard->tick_ns, &ns) || ns > KTIME_MAX)
		return KTIME_MAX;
	return ns;
}

/* The current tick; for CLOCK_REALTIME the time. */
u64 twheel_shard_now(const struct twheel_shard *shard)
{
	u64 ns = twheel_clock_ns(shard->clock);

	return twheel_shard_is_wall(shard) ? ns : twheel_tick_floor(shard, ns);
}

/* Arm the alarm for a tick, for CLOCK_REALTIME a time. */
static void shard_arm(struct twheel_shard *shard, u64 next)
{
	shard->armed = next;
	if (!twheel_shard_is_wall(shard))
		next = twheel_shard_time(shard, next);
	hrtimer_start(&shard->alarm, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

/* The alarm has more to do than it may do at a time. @now is that of twheel_shard_now(). */
static void shard_arm_gap(struct twheel_shard *shard, u64 now)
{
	u64 next = twheel_clock_ns(shard->clock) + TWHEEL_ALARM_GAP_NS;

	shard->armed = twheel_shard_is_wall(shard) ? next : now;
	hrtimer_start(&shard->alarm, ns_to_ktime(next), HRTIMER_MODE_ABS);
}

/* Arm the alarm unless it expires early enough. */
void twheel_shard_arm_next(struct twheel_shard *shard)
{
	u64 next = twheel_shard_is_wall(shard) ? twheel_wall_first(&shard->wall) :
						 twheel_queue_first(&shard->queue);

	if (next <= KTIME_MAX && next < shard->armed)
		shard_arm(shard, next);
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

/* A timer was added that needs attention at @next, 0 for at once. */
void twheel_shard_added(struct twheel_shard *shard, u64 next)
{
	lockdep_assert_held(&shard->lock);
	if (!next)
		twheel_shard_wake(shard);
	else if (shard->asleep || twheel_shard_is_wall(shard))
		shard_arm(shard, next);
}

/*
 * The hrtimer core reads the clock once for all timers of an interrupt. If CLOCK_REALTIME was set
 * back since, it would take an alarm that is armed by the new time for expired, and call it again
 * and again: the reaper arms it at the end of its turn. If more than a chunk is due, the alarm
 * expires again after a gap.
 */
static void wall_alarm(struct twheel_shard *shard)
{
	u64 next, now = twheel_wall_expire(shard, TWHEEL_CHUNK);

	if (!hlist_empty(&shard->wall.taken.list) ||
	    now < ktime_to_ns(hrtimer_get_expires(&shard->alarm)))
		twheel_shard_wake(shard);
	if (now < ktime_to_ns(hrtimer_get_expires(&shard->alarm)))
		return;
	next = twheel_wall_first(&shard->wall);
	if (next <= now)
		shard_arm_gap(shard, now);
	else if (next <= KTIME_MAX)
		shard_arm(shard, next);
}

static void queue_alarm(struct twheel_shard *shard, u64 now)
{
	unsigned int budget = TWHEEL_CHUNK;
	bool more;

	/* The reaper arms it when the shard falls asleep. */
	if (!shard->asleep)
		return;
	more = twheel_queue_advance(&shard->queue, now, &budget);
	if (shard->queue.wheel.lacks_level || (more && !twheel_queue_is_emptied(&shard->queue)))
		twheel_shard_wake(shard);
	else if (more)
		/* Further buckets that cancels have emptied: no reason to wake a thread. */
		shard_arm_gap(shard, now);
	else
		twheel_shard_arm_next(shard);
}

enum hrtimer_restart twheel_shard_alarm(struct hrtimer *alarm)
{
	struct twheel_shard *shard = container_of(alarm, struct twheel_shard, alarm);
	unsigned long flags;

	spin_lock_irqsave(&shard->lock, flags);
	shard->armed = TWHEEL_TICK_NEVER;
	if (twheel_shard_is_wall(shard))
		wall_alarm(shard);
	else
		queue_alarm(shard, twheel_shard_now(shard));
	spin_unlock_irqrestore(&shard->lock, flags);
	return HRTIMER_NORESTART;
}

/*
 * Forward an idle wheel before a timer is added. The coarse clock is cheap, and never ahead of the
 * clock.
 */
void twheel_shard_forward(struct twheel_shard *shard)
{
	u64 now;

	lockdep_assert_held(&shard->lock);
	shard->forwarded = jiffies;
	if (twheel_shard_is_wall(shard))
		return;
	if (shard->clock == TWHEEL_CLOCK_BOOTTIME)
		now = ktime_to_ns(ktime_get_coarse_boottime());
	else
		now = ktime_get_coarse_ns();
	twheel_queue_forward(&shard->queue, twheel_tick_floor(shard, now));
}

/*
 * Allocate the levels that a tick needs, without the lock. Without memory, or if the timer ends up
 * on another shard, it goes to the last slot of the top level, see wheel.c. No caller waits: a due
 * timer must not depend on reclaim. The reserves are not used for a level of several pages, nor for
 * one that a cgroup pays for, which might exceed its limit.
 */
noinline void twheel_shard_add_levels(struct twheel_shard *shard, u64 tick)
{
	struct twheel_wheel *wheel = &shard->queue.wheel;
	struct twheel_bucket *level = NULL;
	unsigned long flags;
	bool reaches;
	gfp_t gfp;

	/* A hint. */
	if (tick <= READ_ONCE(wheel->now) || data_race(twheel_wheel_is_near(wheel, tick)))
		return;
	gfp = shard->account || wheel->slots * sizeof(struct twheel_bucket) > PAGE_SIZE ?
	      GFP_NOWAIT : GFP_ATOMIC;
	gfp |= __GFP_NOWARN | shard->account;
	do {
		spin_lock_irqsave(&shard->lock, flags);
		/* A late re-arm must not add one to a wheel whose levels have been freed. */
		reaches = shard->checks & TWHEEL_CHECK_STOPPED ||
			  twheel_wheel_reaches(wheel, tick);
		if (level && !reaches && twheel_wheel_grow(wheel, level)) {
			reaches = twheel_wheel_reaches(wheel, tick);
			level = NULL;
		}
		spin_unlock_irqrestore(&shard->lock, flags);
		/* Another CPU may have added one. */
		kfree(level);
		level = reaches ? NULL : twheel_level_alloc(wheel, gfp);
	} while (level);
}

/*
 * Lock the shard of this CPU as well, to move a timer there from its own, which is locked. Return:
 * this shard, or that of the timer.
 */
struct twheel_shard *twheel_shard_lock_local(struct twheel_shard *shard,
					     const struct twheel_timer *timer)
{
	struct twheel_shard *local = twheel_local_shard(shard->wheel);

	lockdep_assert_held(&shard->lock);
	if (local == shard || shard->running == timer || !spin_trylock(&local->lock))
		return shard;
	/* Sparse does not count a lock that is only held in some cases. */
	__release(&local->lock);
	return local;
}

/*
 * Wait for the running callback of a shard, if any. The lock of the shard is dropped meanwhile.
 * @checks: TWHEEL_CHECK_WAITED, and TWHEEL_CHECK_CANCEL to refuse adds of the timer.
 * Must not be called by a callback of the shard.
 */
void twheel_shard_wait(struct twheel_shard *shard, u8 checks)
{
	u64 fired = shard->fired;

	lockdep_assert_held(&shard->lock);
	if (!shard->running)
		return;
	shard->checks |= checks;
	wait_event_lock_irq(shard->idle, !shard->running || shard->fired != fired, shard->lock);
}

/* Count the lateness of @nr callbacks, in ns and in ticks. */
void twheel_shard_count_late(struct twheel_shard *shard, u64 nr, u64 late_ns, u64 late)
{
	lockdep_assert_held(&shard->lock);
	shard->late_ns += nr * late_ns;
	shard->late[min(fls64(late_ns >> 10), TWHEEL_LATE_BUCKETS - 1)] += nr;
	shard->latest_ticks = max(shard->latest_ticks, late);
}

/* Memory of a shard; that of CLOCK_REALTIME has no wheel. */
size_t twheel_shard_size(enum twheel_clock clock)
{
	if (clock == TWHEEL_CLOCK_REALTIME)
		return roundup(offsetofend(struct twheel_shard, wall), SMP_CACHE_BYTES);
	return sizeof(struct twheel_shard);
}

/*
 * Initialise a shard that is zero except for @wheel, @account, @memcg and @share, with a complete
 * configuration: 0 or -ENOMEM.
 */
int twheel_shard_init(struct twheel_shard *shard, const struct twheel_config *config,
		      unsigned int number)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	struct twheel_bucket *level;

	spin_lock_init(&shard->lock);
	init_waitqueue_head(&shard->idle);
	INIT_LIST_HEAD(&shard->turn);
	INIT_LIST_HEAD(&shard->watch);
	shard->asleep = true;
	shard->number = number;
	shard->clock = config->clock;
	shard->armed = TWHEEL_TICK_NEVER;
	shard->max_pending = config->max_pending;
	if (config->max_pending)
		shard->checks |= TWHEEL_CHECK_LIMIT;
	twheel_hrtimer_setup(&shard->alarm, twheel_shard_alarm, clocks[config->clock],
			     HRTIMER_MODE_ABS);
	shard->tick_ns = config->tick_ns;
	/* is_power_of_2() takes a long, which may be shorter. */
	if (!(config->tick_ns & (config->tick_ns - 1)))
		shard->tick_shift = ilog2(config->tick_ns);
	if (twheel_shard_is_wall(shard)) {
		shard->checks |= TWHEEL_CHECK_WALL;
	} else {
		twheel_queue_init(&shard->queue, config->slots, config->tick_ns,
				  twheel_shard_now(shard));
		level = twheel_level_alloc(&shard->queue.wheel, GFP_KERNEL | shard->account);
		if (!level)
			return -ENOMEM;
		twheel_wheel_grow(&shard->queue.wheel, level);
	}
	twheel_turn_begin(shard);
	return 0;
}

/*
 * End the turns and free the levels. No timer is pending, and none is added any more. Must not
 * be called by a callback.
 */
void twheel_shard_stop(struct twheel_shard *shard)
{
	twheel_turn_end(shard);
	/* It asks in vain, and nobody arms it again. */
	hrtimer_cancel(&shard->alarm);
	if (!twheel_shard_is_wall(shard))
		twheel_queue_destroy(&shard->queue);
}
