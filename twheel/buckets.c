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
 * A bucket has no counter, which each add and cancel would have to update: its nodes are counted
 * one by one, with the lock of the shard held for a chunk at a time. Counted nodes move to a second
 * list. While timers come and go, the counts are of different moments. Of the due timers only a
 * chunk is counted.
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

/*
 * Count the nodes of a list by moving them to another one, and move them back if no node was added
 * meanwhile: otherwise they are as good there. At most @max: timers may come as fast.
 */
static u64 list_count(struct twheel_shard *shard, struct hlist_head *list,
		      struct hlist_head *counted, u64 max)
	__must_hold(&shard->lock)
{
	struct hlist_node *entry;
	u64 nr = 0;

	hlist_for_each(entry, counted)
		if (++nr == TWHEEL_CHUNK / 2)
			break;
	while (nr < max && !hlist_empty(list)) {
		entry = list->first;
		/* A timer stays pending: nothing looks at it without the lock but for that. */
		__hlist_del(entry);
		hlist_add_head(entry, counted);
		if (++nr % (TWHEEL_CHUNK / 2))
			continue;
		spin_unlock_irq(&shard->lock);
		cond_resched();
		spin_lock_irq(&shard->lock);
	}
	if (hlist_empty(list))
		twheel_nodes_move(counted, list);
	return nr;
}

static void bucket_show(struct seq_file *file, struct twheel_shard *shard, u64 pending,
			struct twheel_bucket *bucket, unsigned int slot)
{
	u64 expires, nr = 0;
	unsigned int i;
	bool queued;

	spin_lock_irq(&shard->lock);
	queued = !RB_EMPTY_NODE(&bucket->queued);
	expires = bucket->expires;
	for (i = 0; queued && i < ARRAY_SIZE(bucket->nodes); i++)
		nr += list_count(shard, &bucket->nodes[i], &bucket->counted, pending);
	spin_unlock_irq(&shard->lock);
	if (queued)
		seq_printf(file, " level=%u slot=%u expires=%llu timers=%llu\n",
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
	u64 now, next, armed, due = 0, never, cascaded, pending;
	unsigned int level, slot, nr_levels;
	struct hlist_node *entry;
	bool asleep;

	spin_lock_irq(&shard->lock);
	pending = twheel_shard_pending(shard);
	now = wheel->now;
	next = twheel_queue_first(queue);
	armed = shard->armed;
	asleep = shard->asleep;
	cascaded = queue->nr_cascaded;
	nr_levels = wheel->nr_levels;
	hlist_for_each(entry, &queue->due.nodes)
		if (++due == TWHEEL_CHUNK)
			break;
	spin_unlock_irq(&shard->lock);

	spin_lock_irq(&shard->lock);
	never = list_count(shard, &queue->never, &queue->never_counted, pending);
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
	seq_printf(file, " asleep=%u pending=%llu due=%llu never=%llu cascaded=%llu name=%s\n",
		   asleep, pending, due, never, cascaded, shard->wheel->name);
	/* Levels of a wheel in use are never freed. */
	for (level = 0; level < nr_levels; level++)
		for (slot = 0; slot < wheel->slots; slot++)
			bucket_show(file, shard, pending, &wheel->level[level][slot],
				    slot);
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
