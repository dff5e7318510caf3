// SPDX-License-Identifier: GPL-2.0
/*
 * core: the counters of wheels.
 *
 * Each shard counts under its lock. A reader adds up the shards, one after another.
 *
 * The wheels of users come and go with their operations. Their counters are shown as one
 * wheel per clock, and those of a destroyed one are kept: a count never goes back.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
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
	if (!twheel_shard_is_wall(shard))
		stats->cascaded += shard->queue.nr_cascaded;
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

/* Number of wake-ups of the reapers. Takes no lock. */
u64 twheel_wakeups(struct twheel *wheel)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < wheel->nr_shards; i++)
		nr += READ_ONCE(twheel_shard(wheel, i)->wakeups);
	return nr;
}

/* Keep the counters of a wheel that is about to be destroyed; no timer is pending. */
void twheel_stats_retire(struct twheel *wheel)
{
	lockdep_assert_held(&twheel_wheels_lock);
	if (wheel->users)
		wheel_stats(wheel, &retired[wheel->clock]);
}

const char *twheel_clock_name(enum twheel_clock clock)
{
	static const char * const names[] = {
		[TWHEEL_CLOCK_MONOTONIC]	= "monotonic",
		[TWHEEL_CLOCK_BOOTTIME]		= "boottime",
		[TWHEEL_CLOCK_REALTIME]		= "realtime",
	};

	return names[clock];
}

/* Print counters, each after a space. */
void twheel_stats_show(struct seq_file *file, const struct twheel_stats *stats)
{
	unsigned int i;

	seq_printf(file, " pending=%llu added=%llu rearmed=%llu cancelled=%llu fired=%llu",
		   stats->pending, stats->added, stats->rearmed, stats->cancelled, stats->fired);
	seq_printf(file, " rejected=%llu cascaded=%llu wakeups=%llu slow=%llu",
		   stats->rejected, stats->cascaded, stats->wakeups, stats->slow);
	seq_printf(file, " latest_ticks=%llu late_ns=%llu late=%llu",
		   stats->latest_ticks, stats->late_ns, stats->late[0]);
	for (i = 1; i < TWHEEL_LATE_BUCKETS; i++)
		seq_printf(file, ",%llu", stats->late[i]);
}

static void line_show(struct seq_file *file, enum twheel_clock clock,
		      const struct twheel_stats *stats, const char *name)
{
	seq_printf(file, "twheel-wheel:\tclock=%s", twheel_clock_name(clock));
	twheel_stats_show(file, stats);
	seq_printf(file, " name=%s\n", name);
}

/* Print the counters of the users' wheels of a clock, including the destroyed ones. */
static void users_show(struct seq_file *file, enum twheel_clock clock)
{
	struct twheel_stats stats = retired[clock];
	struct twheel *wheel;

	lockdep_assert_held(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->users && wheel->clock == clock)
			wheel_stats(wheel, &stats);
		cond_resched();
	}
	line_show(file, clock, &stats, "users");
}

/* Print a line for the users' wheels of each clock, and for each other wheel. */
void twheel_wheels_show(struct seq_file *file)
{
	struct twheel_stats stats;
	struct twheel *wheel;
	unsigned int clock;

	mutex_lock(&twheel_wheels_lock);
	for (clock = 0; clock < ARRAY_SIZE(retired); clock++)
		users_show(file, clock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->users)
			continue;
		twheel_get_stats(wheel, &stats);
		line_show(file, wheel->clock, &stats, wheel->name);
	}
	mutex_unlock(&twheel_wheels_lock);
}
