// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: wheels, users, purgatories and pending operations.
 *
 *	twheel/counts		counters, a line per clock for all wheels of users, per other wheel,
 *				and per user
 *	twheel/wheels		a line per wheel, and per shard that has been used
 *	twheel/buckets		a line per bucket of a wheel, see buckets.c
 *	twheel/purgatories	a line per purgatory
 *	twheel/operations	a line per pending operation
 *
 * Listing the operations may take long. It holds a reference to one purgatory at a time and no
 * lock.
 */
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <trace/events/twheel.h>

#include "core/twheel.h"
#include "debugfs.h"
#include "dev/instance.h"
#include "dev/user.h"
#include "op/op.h"

static struct dentry *dir;

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
static void stats_show(struct seq_file *file, const struct twheel_stats *stats)
{
	unsigned int i;

	seq_printf(file, " pending=%llu added=%llu rearmed=%llu cancelled=%llu fired=%llu",
		   stats->pending, stats->added, stats->rearmed, stats->cancelled, stats->fired);
	seq_printf(file, " rejected=%llu cascaded=%llu looks=%llu wakeups=%llu slow=%llu",
		   stats->rejected, stats->cascaded, stats->looks, stats->wakeups, stats->slow);
	seq_printf(file, " latest_ticks=%llu late_ns=%llu late=%llu",
		   stats->latest_ticks, stats->late_ns, stats->late[0]);
	for (i = 1; i < TWHEEL_LATE_BUCKETS; i++)
		seq_printf(file, ",%llu", stats->late[i]);
}

static void line_show(struct seq_file *file, enum twheel_clock clock,
		      const struct twheel_stats *stats, const char *name)
{
	seq_printf(file, "twheel-wheel:\tclock=%s", twheel_clock_name(clock));
	stats_show(file, stats);
	seq_printf(file, " name=%s\n", name);
}

static int counts_show(struct seq_file *file, void *unused)
{
	struct twheel_stats stats;
	struct twheel *wheel;
	unsigned int clock;

	mutex_lock(&twheel_wheels_lock);
	for (clock = 0; clock <= TWHEEL_CLOCK_REALTIME; clock++) {
		twheel_users_stats(clock, &stats);
		line_show(file, clock, &stats, "users");
	}
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->users)
			continue;
		twheel_get_stats(wheel, &stats);
		line_show(file, wheel->clock, &stats, wheel->name);
	}
	mutex_unlock(&twheel_wheels_lock);
	twheel_users_show(file, twheel_instances_count);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counts);

static void wheel_show(struct seq_file *file, struct twheel *wheel)
{
	struct twheel_stats stats;
	unsigned int i;

	seq_printf(file, "%s clock=%s tick_ns=%llu slots=%u shards=%u",
		   wheel->name, twheel_clock_name(wheel->clock), twheel_tick_ns(wheel),
		   wheel->slots, wheel->nr_shards);
	twheel_get_stats(wheel, &stats);
	stats_show(file, &stats);
	seq_putc(file, '\n');
	for (i = 0; i < wheel->nr_shards; i++) {
		memset(&stats, 0, sizeof(stats));
		twheel_shard_stats(twheel_shard(wheel, i), &stats);
		/* A timer may have come from another shard. */
		if (!(stats.added | stats.pending | stats.fired | stats.cancelled))
			continue;
		seq_printf(file, "%s/%u", wheel->name, i);
		stats_show(file, &stats);
		seq_putc(file, '\n');
	}
}

static int wheels_show(struct seq_file *file, void *unused)
{
	struct twheel *wheel;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		wheel_show(file, wheel);
		/* The buffer is enlarged, and all of this repeated. */
		if (seq_has_overflowed(file))
			break;
		cond_resched();
	}
	mutex_unlock(&twheel_wheels_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(wheels);

static int buckets_show(struct seq_file *file, void *unused)
{
	twheel_buckets_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buckets);

static void purgatory_show(struct seq_file *file, struct twheel_purgatory *purgatory)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_count(purgatory, &stats);
	seq_printf(file, "%s max_pending=%u max_watches=%u pending=%llu keys=%llu watches=%llu",
		   purgatory->name, purgatory->max_pending, purgatory->max_watches,
		   stats.pending, twheel_keys_count(&purgatory->keys, true), stats.watches);
	seq_printf(file, " added=%llu completed=%llu expired=%llu cancelled=%llu rejected=%llu\n",
		   stats.added, stats.ended[TWHEEL_REASON_COMPLETED],
		   stats.ended[TWHEEL_REASON_EXPIRED], stats.ended[TWHEEL_REASON_CANCELLED],
		   stats.rejected);
}

static int purgatories_show(struct seq_file *file, void *unused)
{
	struct twheel_purgatory *purgatory;

	mutex_lock(&twheel_purgatories_lock);
	list_for_each_entry(purgatory, &twheel_purgatories, listed) {
		purgatory_show(file, purgatory);
		if (seq_has_overflowed(file))
			break;
	}
	mutex_unlock(&twheel_purgatories_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(purgatories);

static const char *condition_name(enum twheel_condition condition)
{
	static const char * const names[] = {
		[TWHEEL_COND_NONE]	= "none",
		[TWHEEL_COND_ANY]	= "any",
		[TWHEEL_COND_ALL]	= "all",
		[TWHEEL_COND_QUORUM]	= "quorum",
		[TWHEEL_COND_SUM]	= "sum",
	};

	return condition < ARRAY_SIZE(names) ? names[condition] : "predicate";
}

/* Print a line like "log quorum missing=1 remaining_ns=5000000 key=r1/1". */
static void operation_show(struct seq_file *file, const struct twheel_purgatory *purgatory,
			   struct twheel_op *op, struct twheel_watch_spec *keys)
{
	struct twheel_op_progress progress;
	char name[TWHEEL_KEY_NAME];
	u32 i;

	if (twheel_op_get_progress(op, &progress, keys, TWHEEL_MAX_KEYS))
		return;
	seq_printf(file, "%s %s missing=%llu", purgatory->name,
		   condition_name(progress.condition), progress.missing);
	if (progress.remaining == TWHEEL_NEVER)
		seq_puts(file, " remaining_ns=never");
	else
		seq_printf(file, " remaining_ns=%llu", progress.remaining);
	for (i = 0; i < progress.nr_keys; i++) {
		twheel_key_name(name, &keys[i].key);
		seq_printf(file, " key=%s/%u", name, keys[i].need);
	}
	seq_putc(file, '\n');
}

static void purgatory_show_operations(struct seq_file *file, struct twheel_purgatory *purgatory,
				      struct twheel_watch_spec *keys)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;

	twheel_op_iter_start(&iter, purgatory);
	iter.may_sleep = true;
	/* seq_file retries with a larger buffer after an overflow. */
	while (!seq_has_overflowed(file) && (op = twheel_op_iter_next(&iter)))
		operation_show(file, purgatory, op, keys);
	twheel_op_iter_end(&iter);
}

static int operations_show(struct seq_file *file, void *unused)
{
	struct twheel_purgatory *purgatory;
	struct twheel_watch_spec *keys;
	u64 serial = 0;

	keys = kcalloc(TWHEEL_MAX_KEYS, sizeof(*keys), GFP_KERNEL);
	if (!keys)
		return -ENOMEM;
	while ((purgatory = twheel_purgatory_after(serial))) {
		serial = purgatory->serial;
		purgatory_show_operations(file, purgatory, keys);
		twheel_purgatory_release(purgatory);
	}
	kfree(keys);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(operations);

void __init twheel_debugfs_init(void)
{
	dir = debugfs_create_dir("twheel", NULL);
	debugfs_create_file("counts", 0400, dir, NULL, &counts_fops);
	debugfs_create_file("wheels", 0400, dir, NULL, &wheels_fops);
	debugfs_create_file("buckets", 0400, dir, NULL, &buckets_fops);
	debugfs_create_file("purgatories", 0400, dir, NULL, &purgatories_fops);
	debugfs_create_file("operations", 0400, dir, NULL, &operations_fops);
}

void twheel_debugfs_exit(void)
{
	debugfs_remove(dir);
}
