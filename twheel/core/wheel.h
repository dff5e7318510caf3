/* SPDX-License-Identifier: GPL-2.0 */
/* The wheel and its expiry queue. See wheel.c. */
#ifndef _TWHEEL_CORE_WHEEL_H
#define _TWHEEL_CORE_WHEEL_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/rbtree.h>
#include <linux/stddef.h>
#include <linux/twheel.h>
#include <linux/types.h>

#define TWHEEL_SLOTS_MIN	2
#define TWHEEL_SLOTS_MAX	1024
#define TWHEEL_SLOTS_DEFAULT	64

/* Two slots a level need 64 levels for 64 bits. */
#define TWHEEL_LEVELS_MAX	64

/* The tick of a node that never expires. */
#define TWHEEL_TICK_NEVER	U64_MAX

/**
 * struct twheel_bucket - the nodes of a slot
 * @nodes: nodes that expire at @expires or later
 * @queued: in the tree of the expiry queue; empty while the bucket is not in it
 * @expires: tick at which the bucket expires; the beginning of a slot
 * @level: number of its level, from 0
 * @mixed: on level 0, some nodes are not due at @expires
 *
 * A cache line: with a million timers each access to a bucket misses the cache.
 */
struct twheel_bucket {
	struct list_head	nodes;
	struct rb_node		queued;
	u64			expires;
	u8			level;
	bool			mixed;
} __aligned(64);

/**
 * struct twheel_level - a level of the wheel
 * @bucket: one per slot
 */
struct twheel_level {
	DECLARE_FLEX_ARRAY(struct twheel_bucket, bucket);
};

/**
 * struct twheel_wheel - levels of buckets
 * @now: current tick of the wheel; every node in a bucket expires later, except in a bucket
 *	that is being emptied
 * @reach: nodes less than this number of ticks away fit into the present levels
 * @tick_ns: length of a tick; immutable
 * @slots: slots of a level; immutable
 * @tick_shift: log2 of @tick_ns, 0 if it is not a power of two; immutable
 * @shift: log2 of @slots, 0 if @slots is not a power of two; immutable
 * @nr_levels: number of levels
 * @lacks_level: a node went into the last bucket for lack of a level
 * @rewinds: @now may be set back, and the base has steps; immutable
 * @level: each level has slots @slots times as long as the previous one
 * @level_of: lowest level to try for a distance, by the number of its bits; immutable
 * @span: ticks of a slot, by level
 */
struct twheel_wheel {
	u64			now;
	u64			reach;
	u64			tick_ns;
	u16			slots;
	u8			tick_shift;
	u8			shift;
	u8			nr_levels;
	bool			lacks_level;
	bool			rewinds;
	struct twheel_level	*level[TWHEEL_LEVELS_MAX];
	u8			level_of[65];
	u64			span[TWHEEL_LEVELS_MAX];
};

/* First tick that does not begin before a time. */
static inline u64 twheel_wheel_tick(const struct twheel_wheel *wheel, u64 ns)
{
	ns += wheel->tick_ns - 1;
	if (likely(wheel->tick_shift))
		return ns >> wheel->tick_shift;
	return wheel->tick_ns == 1 ? ns : div64_u64(ns, wheel->tick_ns);
}

void twheel_wheel_init(struct twheel_wheel *wheel, unsigned int slots, u64 tick_ns, u64 now);
void twheel_wheel_destroy(struct twheel_wheel *wheel);

bool twheel_wheel_reaches(const struct twheel_wheel *wheel, u64 expires);
struct twheel_level *twheel_level_alloc(const struct twheel_wheel *wheel, gfp_t gfp);
void twheel_level_free(struct twheel_level *level);
bool twheel_wheel_grow(struct twheel_wheel *wheel, struct twheel_level *level);
int twheel_wheel_add_level(struct twheel_wheel *wheel, gfp_t gfp);

struct twheel_bucket *twheel_wheel_find(struct twheel_wheel *wheel, u64 tick, u64 *expires);

/**
 * struct twheel_queue - a wheel with its non-empty buckets in the order of their expiry
 * @nr_nodes: number of nodes
 * @buckets: tree of non-empty buckets, and of buckets emptied by cancellation
 * @wheel: the wheel
 * @due: expired nodes in the order of their ticks; nodes that were due when they were added come
 *	last
 * @nr_cascaded: number of moves of nodes to another bucket when theirs expired
 * @never: nodes that never expire
 */
struct twheel_queue {
	u64			nr_nodes;
	struct rb_root_cached	buckets;
	struct twheel_wheel	wheel;
	struct list_head	due;
	u64			nr_cascaded;
	struct list_head	never;
};

void twheel_queue_init(struct twheel_queue *queue, unsigned int slots, u64 tick_ns, u64 now);
void twheel_queue_destroy(struct twheel_queue *queue);

void twheel_queue_forward(struct twheel_queue *queue, u64 now);
void twheel_queue_rewind(struct twheel_queue *queue, u64 now);
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node, u64 tick);
u64 twheel_queue_place(struct twheel_queue *queue, struct twheel_node *node, u64 tick);
u64 twheel_queue_next(const struct twheel_queue *queue);
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int *budget);
u64 twheel_queue_first(const struct twheel_queue *queue);
bool twheel_queue_expired(const struct twheel_queue *queue, u64 now);

bool twheel_queue_empty_first(struct twheel_queue *queue, u64 until, struct twheel_node **node);
bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node);

/* Whether there are due nodes. */
static inline bool twheel_queue_ready(const struct twheel_queue *queue)
{
	return !list_empty(&queue->due);
}

/* Remove a node from any list of the queue. */
static inline void twheel_queue_del(struct twheel_queue *queue, struct twheel_node *node)
{
	list_del_init(&node->entry);
	queue->nr_nodes--;
}

/* Remove the next due node, or return NULL. */
static inline struct twheel_node *twheel_queue_pop(struct twheel_queue *queue)
{
	struct twheel_node *node;

	node = list_first_entry_or_null(&queue->due, struct twheel_node, entry);
	if (node)
		twheel_queue_del(queue, node);
	return node;
}

#endif /* _TWHEEL_CORE_WHEEL_H */
