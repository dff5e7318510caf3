/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 1: levels of buckets. See wheel.c. */
#ifndef _TWHEEL_WHEEL_H
#define _TWHEEL_WHEEL_H

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
int twheel_wheel_feed(struct twheel_wheel *wheel, gfp_t gfp);

struct twheel_bucket *twheel_wheel_place(struct twheel_wheel *wheel, u64 tick, bool on_set,
					 u64 *expires);

#endif /* _TWHEEL_WHEEL_H */
