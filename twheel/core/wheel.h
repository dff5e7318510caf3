/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 1: levels of buckets. See wheel.c. */
#ifndef _TWHEEL_CORE_WHEEL_H
#define _TWHEEL_CORE_WHEEL_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/stddef.h>
#include <linux/twheel.h>
#include <linux/types.h>

#define TWHEEL_SLOTS_MIN	2
#define TWHEEL_SLOTS_MAX	1024
#define TWHEEL_SLOTS_DEFAULT	64

/* Two slots a level need 64 levels for 64 bits; no wheel needs more. */
#define TWHEEL_LEVELS_MAX	64

/* Not a tick that comes. */
#define TWHEEL_TICK_NEVER	U64_MAX

/**
 * struct twheel_bucket - the nodes of one slot
 * @nodes: they are due at @expires at the earliest
 * @queued: in the expiry queue; empty while the bucket is not
 * @expires: the tick at which the bucket is emptied; the beginning of a slot
 * @generation: of its nodes, if @on_set; see struct twheel_queue
 * @level: the number of its level, from 0
 * @on_set: it is for nodes that are cancelled when the clock is set; immutable
 * @mixed: not all nodes belong to the slot that begins at @expires
 *
 * A cache line of its own: with very many timers it is in no cache, and two lines are
 * twice as long to wait for.
 */
struct twheel_bucket {
	struct list_head	nodes;
	struct rb_node		queued;
	u64			expires;
	u32			generation;
	u8			level;
	bool			on_set;
	bool			mixed;
} __aligned(64);

/**
 * struct twheel_level - one turn of the wheel
 * @bucket: one for each slot; on a wheel with @on_set, followed by one more for each
 */
struct twheel_level {
	DECLARE_FLEX_ARRAY(struct twheel_bucket, bucket);
};

/**
 * struct twheel_wheel - levels of buckets, and the tick up to which they are done
 * @now: no node in a bucket is due at this tick or before
 * @slots: in each level; immutable after init
 * @shift: log2 of @slots, 0 if that is no power of two; immutable after init
 * @on_set: there are buckets for nodes that are cancelled when the clock is set;
 *	immutable after init
 * @starved: a node was placed that a further level would have spared moves
 * @nr_levels: how many there are so far
 * @reach: what is fewer ticks away has a place on one of the levels that there are
 * @level_of: the lowest level on which a node may lie, by the bits of its distance in
 *	ticks; immutable after init
 * @span: ticks in each slot of a level; a power of two by @shift, where that is not 0
 * @level: each @slots times as wide as the one before
 */
struct twheel_wheel {
	u64			now;
	unsigned int		slots;
	unsigned int		shift;
	bool			on_set;
	bool			starved;
	unsigned int		nr_levels;
	u64			reach;
	u8			level_of[65];
	u64			span[TWHEEL_LEVELS_MAX];
	struct twheel_level	*level[TWHEEL_LEVELS_MAX];
};

void twheel_wheel_init(struct twheel_wheel *wheel, unsigned int slots, bool on_set, u64 now);
void twheel_wheel_destroy(struct twheel_wheel *wheel);

bool twheel_wheel_reaches(const struct twheel_wheel *wheel, u64 expires);
struct twheel_level *twheel_level_alloc(const struct twheel_wheel *wheel, gfp_t gfp);
void twheel_level_free(struct twheel_level *level);
void twheel_wheel_grow(struct twheel_wheel *wheel, struct twheel_level *level);
int twheel_wheel_add_level(struct twheel_wheel *wheel, gfp_t gfp);

struct twheel_bucket *twheel_wheel_find(struct twheel_wheel *wheel, u64 tick, bool on_set,
					u64 *expires);

/* Layer 2: the buckets that hold something, by expiry. See wheel.c. */

/**
 * struct twheel_queue - a wheel, and its buckets ordered by when they expire
 * @wheel: the wheel
 * @buckets: those that hold something, or did until it was taken out
 * @due: nodes that are due, the earliest tick first
 * @never: nodes that will never be due
 * @never_on_set: likewise, of those that are cancelled when the clock is set
 * @set: nodes that are cancelled, since the clock was set
 * @generation: how often the clock was set; a bucket of an older one holds nodes that
 *	are cancelled
 * @swept: how many of the buckets for such nodes the sweep has visited
 * @sweeping: there may be buckets of an older generation
 * @sweep_generation: @generation when the sweep began
 * @nr_on_set: how many buckets for such nodes are in the tree
 * @nr_nodes: how many nodes there are in all
 * @nr_cascaded: how many moves down a level there have been
 */
struct twheel_queue {
	struct twheel_wheel	wheel;
	struct rb_root_cached	buckets;
	struct list_head	due;
	struct list_head	never;
	struct list_head	never_on_set;
	struct list_head	set;
	u32			generation;
	u32			sweep_generation;
	unsigned int		swept;
	bool			sweeping;
	unsigned int		nr_on_set;
	u64			nr_nodes;
	u64			nr_cascaded;
};

void twheel_queue_init(struct twheel_queue *queue, unsigned int slots, bool on_set, u64 now);
void twheel_queue_destroy(struct twheel_queue *queue);

void twheel_queue_forward(struct twheel_queue *queue, u64 now);
void twheel_queue_rewind(struct twheel_queue *queue, u64 now);
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node, bool on_set);
u64 twheel_queue_next(const struct twheel_queue *queue);
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget);
struct twheel_node *twheel_queue_pop(struct twheel_queue *queue);

void twheel_queue_set(struct twheel_queue *queue);
struct twheel_node *twheel_queue_pop_set(struct twheel_queue *queue, unsigned int *budget);
void twheel_queue_expire(struct twheel_queue *queue, struct twheel_node *node);

bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node);

/**
 * twheel_queue_ready - whether a queue has something to do whatever the clock reads
 * @queue: the queue
 *
 * Return: true if nodes are due, or are cancelled since the clock was set.
 */
static inline bool twheel_queue_ready(const struct twheel_queue *queue)
{
	return !list_empty(&queue->due) || !list_empty(&queue->set) || queue->sweeping;
}

/**
 * twheel_queue_del - take a node out, wherever it is
 * @queue: the queue
 * @node: in the queue
 */
static inline void twheel_queue_del(struct twheel_queue *queue, struct twheel_node *node)
{
	list_del_init(&node->entry);
	queue->nr_nodes--;
}

#endif /* _TWHEEL_CORE_WHEEL_H */
