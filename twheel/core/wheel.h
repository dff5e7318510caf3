/* SPDX-License-Identifier: GPL-2.0 */
/* The wheel and its expiry queue. See wheel.c. */
#ifndef _TWHEEL_CORE_WHEEL_H
#define _TWHEEL_CORE_WHEEL_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/rbtree.h>
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
 * @nodes: nodes that expire at @expires or later, without an order. They are on two lists, from
 *	which a cascade takes in turn, so that two fetches overlap; on level 0 on the first one
 * @queued: in the tree of the expiry queue; empty while the bucket is not in it
 * @expires: tick at which the bucket expires; the beginning of a slot
 * @level: number of its level, from 0
 * @mixed: on level 0, some nodes are not due at @expires
 * @added: its upper bit is the list for added nodes
 *
 * A cache line: with a million timers each access to a bucket misses the cache.
 */
struct twheel_bucket {
	struct hlist_head	nodes[2];
	struct rb_node		queued;
	u64			expires;
	u8			level;
	bool			mixed;
	u8			added;
} __aligned(64);

static_assert(sizeof(struct twheel_bucket) == 64);

static inline bool twheel_bucket_is_empty(const struct twheel_bucket *bucket)
{
	return hlist_empty(&bucket->nodes[0]) && hlist_empty(&bucket->nodes[1]);
}

/**
 * struct twheel_wheel - levels of buckets
 * @now: current tick of the wheel; every node in a bucket expires later, except in a bucket
 *	that is being emptied. Also read without the lock, like @reach
 * @reach: nodes less than this number of ticks away fit into the present levels
 * @slots: slots of a level; immutable
 * @shift: log2 of @slots, 0 if @slots is not a power of two; immutable
 * @tick_shift: log2 of @tick_ns, 0 if it is not a power of two; immutable
 * @nr_levels: number of levels
 * @lacks_level: a node went into the last bucket for lack of a level
 * @cells: its nodes are those of timers, some of which have cells
 * @tick_ns: length of a tick; immutable
 * @level: the buckets of each level, whose slots are @slots times as long as those of the previous
 *	one
 * @level_of: lowest level to try for a distance, by the number of its bits; immutable
 * @span: ticks of a slot, by level
 */
struct twheel_wheel {
	u64			now;
	u64			reach;
	u16			slots;
	u8			shift;
	u8			tick_shift;
	u8			nr_levels;
	bool			lacks_level;
	bool			cells;
	u64			tick_ns;
	struct twheel_bucket	*level[TWHEEL_LEVELS_MAX];
	u8			level_of[65];
	u64			span[TWHEEL_LEVELS_MAX];
};

/* First tick that does not begin before a time. */
static inline u64 twheel_wheel_tick(const struct twheel_wheel *wheel, u64 ns)
{
	ns += wheel->tick_ns - 1;
	if (likely(wheel->tick_shift))
		return ns >> wheel->tick_shift;
	return div64_u64(ns, wheel->tick_ns);
}

/* Whether the levels surely suffice for a tick. Without the lock, a hint: the wheel may advance. */
static __always_inline bool twheel_wheel_is_near(const struct twheel_wheel *wheel, u64 tick)
{
	return tick - wheel->now < wheel->reach;
}

bool twheel_wheel_reaches(const struct twheel_wheel *wheel, u64 expires);
struct twheel_bucket *twheel_level_alloc(const struct twheel_wheel *wheel, gfp_t gfp);
bool twheel_wheel_grow(struct twheel_wheel *wheel, struct twheel_bucket *level);

/**
 * struct twheel_slot - a slot in which a tick is
 * @bucket: its bucket; NULL for a tick that has passed
 * @begin: its first tick, at which the bucket must expire
 */
struct twheel_slot {
	struct twheel_bucket	*bucket;
	u64			begin;
};

struct twheel_slot twheel_wheel_find(struct twheel_wheel *wheel, u64 tick);

/**
 * struct twheel_due - nodes that are due
 * @nodes: a batch: nodes of one tick, or nodes of @past
 * @past: nodes that were due when they were added; a batch for later
 *
 * A batch has no order. The next one is taken when it is empty, so ticks are in order. All nodes of
 * @past become a batch together. Buckets that had expired when @past was last empty come first, so
 * a timer that its callback arms for the past does not starve others.
 */
struct twheel_due {
	struct hlist_head	nodes;
	struct hlist_head	past;
};

/**
 * struct twheel_queue - a wheel with its non-empty buckets in the order of their expiry
 * @due: expired nodes
 * @buckets: tree of non-empty buckets, and of buckets emptied by cancellation
 * @wheel: the wheel
 * @tick: the tick of the batch of @due; TWHEEL_TICK_NEVER if its lateness is not counted
 * @seen: tick at which @due.past was last empty; what expired by then comes before it
 * @nr_cascaded: number of moves of nodes to another bucket when theirs expired
 * @nr_looks: number of looks at cells
 * @never: nodes that never expire
 */
struct twheel_queue {
	struct twheel_due	due;
	struct rb_root_cached	buckets;
	struct twheel_wheel	wheel;
	u64			tick;
	u64			seen;
	u64			nr_cascaded;
	u64			nr_looks;
	struct hlist_head	never;
};

void twheel_queue_init(struct twheel_queue *queue, unsigned int slots, u64 tick_ns, u64 now);
void twheel_queue_destroy(struct twheel_queue *queue);

void twheel_queue_forward(struct twheel_queue *queue, u64 now);
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node, u64 tick);
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int *budget);
u64 twheel_queue_first(const struct twheel_queue *queue);
bool twheel_queue_is_emptied(const struct twheel_queue *queue);
bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node);

/* Whether there are due nodes. */
static inline bool twheel_due_ready(const struct twheel_due *due)
{
	return !hlist_empty(&due->nodes) || !hlist_empty(&due->past);
}

/*
 * The lists of nodes. Whether a timer is pending is also read without the lock, see
 * twheel_timer_pending(): so @pprev of a node is written once, and a node that moves keeps one.
 */

/* Remove a node from its list. */
static inline void twheel_node_del(struct twheel_node *node)
{
	__hlist_del(&node->entry);
	WRITE_ONCE(node->entry.pprev, NULL);
}

/* Move the nodes of a list to an empty one. */
static inline void twheel_nodes_move(struct hlist_head *from, struct hlist_head *to)
{
	to->first = from->first;
	if (to->first)
		WRITE_ONCE(to->first->pprev, &to->first);
	from->first = NULL;
}

/*
 * Take the first node off a list that is not empty. The caller adds it to another one, or clears
 * its @pprev. Here the next node is written; the one after it is fetched meanwhile.
 */
static __always_inline struct twheel_node *twheel_nodes_shift(struct hlist_head *list)
{
	struct hlist_node *first = list->first, *next = first->next;

	list->first = next;
	if (next) {
		WRITE_ONCE(next->pprev, &list->first);
		prefetchw(next->next);
	}
	return hlist_entry(first, struct twheel_node, entry);
}

/* Remove a node of the batch, or return NULL. */
static __always_inline struct twheel_node *twheel_due_pop(struct twheel_due *due)
{
	struct twheel_node *node;

	if (!due->nodes.first)
		return NULL;
	node = twheel_nodes_shift(&due->nodes);
	WRITE_ONCE(node->entry.pprev, NULL);
	return node;
}

#endif /* _TWHEEL_CORE_WHEEL_H */
