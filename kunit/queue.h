/* SPDX-License-Identifier: GPL-2.0 */
/* The expiry queue, for suites that drive it directly. */
#ifndef _KUNIT_QUEUE_H
#define _KUNIT_QUEUE_H

#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "../twheel/core/twheel.h"

/* Add a level to a wheel: 0 or -ENOMEM. */
static inline int wheel_add_level(struct twheel_wheel *wheel, gfp_t gfp)
{
	struct twheel_bucket *level = twheel_level_alloc(wheel, gfp);

	if (!level)
		return -ENOMEM;
	twheel_wheel_grow(wheel, level);
	return 0;
}

/* The next tick with work: the current one if nodes are due, or TWHEEL_TICK_NEVER. */
static inline u64 queue_next(const struct twheel_queue *queue)
{
	return twheel_due_ready(&queue->due) ? queue->wheel.now : twheel_queue_first(queue);
}

/* The next time with work of a shard, or TWHEEL_NEVER. */
static inline u64 shard_next(struct twheel_shard *shard)
{
	struct rb_node *first;
	u64 tick;

	if (!twheel_shard_is_wall(shard)) {
		tick = queue_next(&shard->queue);
		if (tick == TWHEEL_TICK_NEVER)
			return TWHEEL_NEVER;
		return tick > div64_u64(KTIME_MAX, shard->tick_ns) ? KTIME_MAX :
								   tick * shard->tick_ns;
	}
	first = rb_first_cached(&shard->wall.tree);
	if (!hlist_empty(&shard->wall.taken.list))
		return 0;
	return first ? rb_entry(first, struct twheel_wall_timer, part.queued)->timer.node.expires :
	       TWHEEL_NEVER;
}

/* The next time at which a timer may fire, or a bucket expires, or TWHEEL_NEVER. */
static inline u64 wheel_next(struct twheel *wheel)
{
	u64 next = TWHEEL_NEVER;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < wheel->nr_shards; i++) {
		spin_lock_irqsave(&twheel_shard(wheel, i)->lock, flags);
		next = min(next, shard_next(twheel_shard(wheel, i)));
		spin_unlock_irqrestore(&twheel_shard(wheel, i)->lock, flags);
	}
	return next;
}

/* twheel_queue_advance() with a budget that nobody looks at afterwards. */
static inline bool queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget)
{
	return twheel_queue_advance(queue, now, &budget);
}

/* Return the highest possible level of a node that is @ticks ahead. The lowest level is 0. */
static inline unsigned int level_of(u64 ticks, unsigned int slots)
{
	unsigned int level = 0;

	while (ticks >= slots - 1) {
		ticks = div64_u64(ticks, slots);
		level++;
	}
	return level;
}

/* level_of() for a timer of a wheel, which may place it by a time that is a jiffy old. */
static inline unsigned int level_of_delay(const struct twheel *wheel, unsigned int slots,
					  u64 delay)
{
	return level_of(div64_u64(delay + 2 * TICK_NSEC, twheel_tick_ns(wheel)) + 2, slots);
}

/* The number of nodes in a queue. */
static inline size_t queue_nodes(const struct twheel_queue *queue)
{
	const struct twheel_wheel *wheel = &queue->wheel;
	unsigned int level, slot, list;
	struct hlist_node *pos;
	size_t nr = 0;

	hlist_for_each(pos, &queue->due.nodes)
		nr++;
	hlist_for_each(pos, &queue->due.past)
		nr++;
	hlist_for_each(pos, &queue->never)
		nr++;
	for (level = 0; level < wheel->nr_levels; level++)
		for (slot = 0; slot < wheel->slots; slot++)
			for (list = 0; list < 2; list++)
				hlist_for_each(pos, &wheel->level[level][slot].nodes[list])
					nr++;
	return nr;
}

#endif /* _KUNIT_QUEUE_H */
