// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: the buckets of wheels, for debugfs.
 *
 * A line for each queue with timers or buckets, then a line for each of its buckets, also for
 * those that cancels have emptied:
 *
 *	clock=monotonic shard=0 ... name=twheel
 *	 level=1 slot=17 expires=350 timers=2
 *
 * A list has no counter, which each add and cancel would have to update: its timers are counted
 * with the lock of the shard held, at most a chunk of them. While timers come and go, the counts
 * are of different moments.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "core/shard.h"
#include "core/twheel.h"
#include "debugfs.h"

/* Count the nodes of a list, up to a chunk together with the @nr of another one. */
static unsigned int list_count(const struct hlist_head *list, unsigned int nr)
{
	struct hlist_node *entry;

	hlist_for_each(entry, list) {
		if (nr == TWHEEL_CHUNK)
			break;
		nr++;
	}
	return nr;
}

static void bucket_show(struct seq_file *file, struct twheel_shard *shard,
			struct twheel_bucket *bucket, unsigned int slot)
{
	unsigned int nr;
	u64 expires;
	bool queued;

	spin_lock_irq(&shard->lock);
	queued = !RB_EMPTY_NODE(&bucket->queued);
	expires = bucket->expires;
	nr = list_count(&bucket->nodes[1], list_count(&bucket->nodes[0], 0));
	spin_unlock_irq(&shard->lock);
	if (queued)
		seq_printf(file, " level=%u slot=%u expires=%llu timers=%u\n",
			   bucket->level, slot, expires, nr);
}

static void tick_show(struct seq_file *file, const char *field, u64 tick)
{
	if (tick == TWHEEL_TICK_NEVER)
		seq_printf(file, " %s=never", field);
	else
		seq_printf(file, " %s=%llu", field, tick);
}

static void shard_show(struct seq_file *file, struct twheel_shard *shard)
{
	struct twheel_queue *queue = &shard->queue;
	struct twheel_wheel *wheel = &queue->wheel;
	unsigned int level, slot, nr_levels, due, never;
	u64 now, next, armed, cascaded, pending;
	bool asleep;

	spin_lock_irq(&shard->lock);
	pending = twheel_shard_pending(shard);
	now = wheel->now;
	next = twheel_queue_first(queue);
	armed = shard->armed;
	asleep = shard->asleep;
	cascaded = queue->nr_cascaded;
	nr_levels = wheel->nr_levels;
	due = list_count(&queue->due.nodes, 0);
	spin_unlock_irq(&shard->lock);

	spin_lock_irq(&shard->lock);
	never = list_count(&queue->never, 0);
	spin_unlock_irq(&shard->lock);

	if (next == TWHEEL_TICK_NEVER && !due && !never)
		return;
	seq_printf(file, "clock=%s shard=%u tick_ns=%llu slots=%u levels=%u",
		   twheel_clock_name(shard->clock), shard->number, shard->tick_ns, wheel->slots,
		   nr_levels);
	seq_printf(file, " time=%llu now=%llu",
		   twheel_tick_floor(shard, twheel_clock_ns(shard->clock)), now);
	tick_show(file, "next", next);
	tick_show(file, "alarm", armed);
	seq_printf(file, " asleep=%u pending=%llu due=%u never=%u cascaded=%llu name=%s\n",
		   asleep, pending, due, never, cascaded, shard->wheel->name);
	/* Levels of a wheel in use are never freed. */
	for (level = 0; level < nr_levels; level++)
		for (slot = 0; slot < wheel->slots; slot++)
			bucket_show(file, shard, &wheel->level[level][slot], slot);
}

/* Print the buckets of all wheels. The timers of CLOCK_REALTIME have none. */
void twheel_buckets_show(struct seq_file *file)
{
	struct twheel *wheel;
	unsigned int i;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->clock == TWHEEL_CLOCK_REALTIME)
			continue;
		for (i = 0; i < wheel->nr_shards && !seq_has_overflowed(file); i++) {
			shard_show(file, twheel_shard(wheel, i));
			cond_resched();
		}
	}
	mutex_unlock(&twheel_wheels_lock);
}
