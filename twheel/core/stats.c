// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of wheels. Each shard counts under its lock. A reader adds up the shards, one after
 * another.
 *
 * The wheels of users come and go with their operations. Their counters are those of one wheel per
 * clock, and those of a destroyed one are kept: a count never goes back.
 */
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "shard.h"
#include "twheel.h"

/* Counters of users' wheels that were destroyed, by clock. Protected by twheel_wheels_lock. */
static struct twheel_stats retired[TWHEEL_CLOCK_REALTIME + 1];

/* Add the counters of a shard to @stats. */
void twheel_shard_stats(struct twheel_shard *shard, struct twheel_stats *stats)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&shard->lock, flags);
	stats->pending += twheel_shard_pending(shard);
	stats->fired += shard->fired;
	if (!twheel_shard_is_wall(shard)) {
		stats->cascaded += shard->queue.nr_cascaded;
		stats->looks += shard->queue.nr_looks;
	}
	stats->added += shard->added;
	stats->rearmed += shard->rearmed;
	stats->cancelled += shard->cancelled;
	stats->wakeups += shard->wakeups;
	stats->slow += shard->slow;
	stats->rejected += shard->rejected;
	stats->latest_ticks = max(stats->latest_ticks, shard->latest_ticks);
	stats->late_ns += shard->late_ns;
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		stats->late[i] += shard->late[i];
	spin_unlock_irqrestore(&shard->lock, flags);
}

static void wheel_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	unsigned int i;

	for (i = 0; i < wheel->nr_shards; i++)
		twheel_shard_stats(twheel_shard(wheel, i), stats);
}

/**
 * twheel_get_stats - counters of a wheel
 * @wheel: the wheel
 * @stats: set to the counters; exact while no call is under way
 *
 * Context: as twheel_timer_add().
 */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	wheel_stats(wheel, stats);
}
EXPORT_SYMBOL_GPL(twheel_get_stats);

/* Keep the counters of a wheel that is about to be destroyed; no timer is pending. */
void twheel_stats_retire(struct twheel *wheel)
{
	lockdep_assert_held(&twheel_wheels_lock);
	if (wheel->users)
		wheel_stats(wheel, &retired[wheel->clock]);
}

/* The counters of the users' wheels of a clock, including the destroyed ones. */
void twheel_users_stats(enum twheel_clock clock, struct twheel_stats *stats)
{
	struct twheel *wheel;

	lockdep_assert_held(&twheel_wheels_lock);
	*stats = retired[clock];
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->users && wheel->clock == clock)
			wheel_stats(wheel, stats);
		cond_resched();
	}
}
