// SPDX-License-Identifier: GPL-2.0
/*
 * core: the buckets of wheels, for debugfs.
 *
 * A line for each queue with timers or buckets, then a line for each of its buckets, also for
 * those that cancels have emptied:
 *
 *	base=reaper on_set=0 clock=monotonic shard=0 ... name=twheel
 *	 level=1 slot=17 expires=350 timers=2
 *
 * A bucket has no counter, which each add and cancel would have to update: its nodes are counted
 * one by one, with the lock of the shard held for a chunk at a time. Counted nodes go to the tail
 * of their list, where new ones go, too. While timers come and go, the counts are of different
 * moments. @due must stay in order, so only a chunk of it is counted.
 */
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "shard.h"
#include "step.h"
#include "twheel.h"

/* Count the nodes of a list, in any order. At most @max: the first one may have left the list. */
static u64 list_count(struct twheel_shard *shard, struct list_head *list, u64 max)
	__must_hold(&shard->lock)
{
	const struct list_head *first = NULL;
	struct list_head *entry;
	u64 nr = 0;

	while (nr < max && !list_empty(list) && list->next != first) {
		entry = list->next;
		list_move_tail(entry, list);
		first = first ?: entry;
		if (++nr % TWHEEL_CHUNK)
			continue;
		spin_unlock_irq(&shard->lock);
		cond_resched();
		spin_lock_irq(&shard->lock);
	}
	return nr;
}

static void bucket_show(struct seq_file *file, struct twheel_shard *shard, u64 pending,
			struct twheel_bucket *bucket, unsigned int slot)
{
	u64 expires, nr;
	bool queued;

	spin_lock_irq(&shard->lock);
	queued = !RB_EMPTY_NODE(&bucket->queued);
	expires = bucket->expires;
	nr = queued ? list_count(shard, &bucket->nodes, pending) : 0;
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

/* @pending is the number of timers of the base. */
static void queue_show(struct seq_file *file, struct twheel_shard *shard,
		       struct twheel_queue *queue, u64 pending, bool is_inline, bool on_set)
{
	u64 now, next, armed, due = 0, never, cascaded;
	struct twheel_wheel *wheel = &queue->wheel;
	unsigned int level, slot, nr_levels;
	struct list_head *entry;
	bool asleep;

	spin_lock_irq(&shard->lock);
	now = wheel->now;
	next = twheel_queue_first(queue);
	armed = shard->armed;
	asleep = shard->asleep;
	cascaded = queue->nr_cascaded;
	nr_levels = wheel->nr_levels;
	list_for_each(entry, &queue->due)
		if (++due == TWHEEL_CHUNK)
			break;
	spin_unlock_irq(&shard->lock);

	spin_lock_irq(&shard->lock);
	never = list_count(shard, &queue->never, pending);
	spin_unlock_irq(&shard->lock);

	if (next == TWHEEL_TICK_NEVER && !due && !never)
		return;
	seq_printf(file, "base=%s on_set=%u clock=%s shard=%u tick_ns=%llu slots=%u levels=%u",
		   is_inline ? "inline" : "reaper", on_set, twheel_clock_name(shard->clock),
		   shard->number, shard->tick_ns, wheel->slots, nr_levels);
	seq_printf(file, " time=%llu now=%llu",
		   twheel_tick_floor(shard, twheel_clock_ns(shard->clock)), now);
	tick_show(file, "next", next);
	tick_show(file, "alarm", armed);
	seq_printf(file, " asleep=%u pending=%llu due=%llu never=%llu cascaded=%llu name=%s\n",
		   asleep, pending, due, never, cascaded, shard->wheel->name);
	/* Levels of a wheel in use are never freed. */
	for (level = 0; level < nr_levels; level++)
		for (slot = 0; slot < wheel->slots; slot++)
			bucket_show(file, shard, pending, &wheel->level[level]->bucket[slot],
				    slot);
}

static void shard_show(struct seq_file *file, struct twheel_shard *shard)
{
	struct twheel_base *base;
	unsigned int i;
	u64 pending;

	for (i = 0; i < TWHEEL_BASES; i++) {
		base = &shard->base[i];
		/* Without the lock of the shard: of some moment. */
		pending = READ_ONCE(base->queue.nr_nodes);
		queue_show(file, shard, &base->queue, pending, i == TWHEEL_BASE_INLINE, false);
		if (base->steps)
			queue_show(file, shard, &base->steps->on_set, pending,
				   i == TWHEEL_BASE_INLINE, true);
	}
}

/* Print the buckets of all wheels. */
void twheel_buckets_show(struct seq_file *file)
{
	struct twheel *wheel;
	unsigned int i;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		for (i = 0; i < wheel->nr_shards && !seq_has_overflowed(file); i++) {
			shard_show(file, &wheel->shard[i]);
			cond_resched();
		}
	}
	mutex_unlock(&twheel_wheels_lock);
}
