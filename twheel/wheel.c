// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 1, the wheel: levels of buckets.
 *
 * A pure data structure.  The caller passes the time in ticks.  The wheel takes no lock,
 * reads no clock, and allocates only in twheel_wheel_feed().  The expiry
 * queue above it knows which buckets hold something and when they expire.
 *
 * Level 0 has one slot a tick; each further level has slots as wide as one
 * whole turn of the level before (4 slots a level here, at tick 6):
 *
 *	level 0   |6|7|8|9|              the next 4 ticks, one each
 *	level 1   |4..7|8..11|12..15|16..19|
 *	level 2   |0..15|16..31|32..47|48..63|
 *
 * A node goes to the lowest level on which its slot is fewer than a turn away
 * from the slot of now: this is the rule of Kafka's TimingWheel.  It is never
 * now's own slot but on level 0, where that would be due.  So in a turn each
 * bucket stands for one stretch of time only, and the tick at which its
 * stretch begins is its expiry.  When that comes, the expiry queue sets now to
 * it and places each node of the bucket again: it is due, or it goes to a
 * lower level.  That is the cascade, and why a node that is placed ten years
 * ahead is exact to the tick.
 *
 * Levels come on demand.  A node beyond the last level there is (the memory
 * for the next one could not be had) is put into the last slot of that level
 * and is placed again when the slot expires: it costs a move more each turn,
 * and loses nothing.  Whoever drives the wheel sees that it is starved, and
 * grows it when there is memory.
 *
 * Moving now forward without a bucket expiring on the way is always right:
 * what lay fewer than a turn ahead still does.  Now may also be set back.  A bucket
 * that was filled before then is further than a turn away, and its slot of the
 * present turn begins earlier: the expiry queue lets it expire then.
 *
 * A wheel that goes by the wall clock has two buckets for each slot, one of them for
 * the nodes that are cancelled when the clock is set.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "compat.h"
#include "wheel.h"

/* The how-many-th slot of its level since tick 0 a tick falls into. */
static u64 slot_number(const struct twheel_wheel *wheel, unsigned int level, u64 tick)
{
	if (likely(wheel->shift))
		return tick >> (level * wheel->shift);
	return div64_u64(tick, wheel->span[level]);
}

static unsigned int slot_index(const struct twheel_wheel *wheel, u64 number)
{
	u32 index;

	if (likely(wheel->shift))
		return number & (wheel->slots - 1);
	div_u64_rem(number, wheel->slots, &index);
	return index;
}

/* How many slots of a level lie between now and a tick to come. */
static u64 slot_distance(const struct twheel_wheel *wheel, unsigned int level, u64 tick)
{
	return slot_number(wheel, level, tick) -
	       slot_number(wheel, level, wheel->now);
}

static unsigned int nr_buckets(const struct twheel_wheel *wheel)
{
	return wheel->slots << wheel->on_set;
}

/**
 * twheel_level_alloc - memory for one more level
 * @wheel: the wheel that it is for; no lock is needed
 * @gfp: how to allocate
 *
 * Return: the level, to be handed to twheel_wheel_grow(), or NULL.
 */
struct twheel_level *twheel_level_alloc(const struct twheel_wheel *wheel, gfp_t gfp)
{
	struct twheel_level *level;
	unsigned int i;

	level = kmalloc(struct_size(level, bucket, nr_buckets(wheel)), gfp);
	if (!level)
		return NULL;
	for (i = 0; i < nr_buckets(wheel); i++) {
		INIT_LIST_HEAD(&level->bucket[i].nodes);
		RB_CLEAR_NODE(&level->bucket[i].queued);
		level->bucket[i].expires = TWHEEL_TICK_NEVER;
		level->bucket[i].generation = 0;
		level->bucket[i].on_set = i >= wheel->slots;
		level->bucket[i].mixed = false;
	}
	return level;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_level_alloc);

/**
 * twheel_level_free - give back a level that no wheel has taken
 * @level: from twheel_level_alloc(), or NULL
 */
void twheel_level_free(struct twheel_level *level)
{
	kfree(level);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_level_free);

/**
 * twheel_wheel_grow - put one more level on top
 * @wheel: the wheel, which must not reach all ticks yet
 * @level: from twheel_level_alloc() for this wheel, which owns it now
 */
void twheel_wheel_grow(struct twheel_wheel *wheel, struct twheel_level *level)
{
	unsigned int nr = wheel->nr_levels;
	unsigned int i;

	wheel->span[nr] = nr ? wheel->span[nr - 1] * wheel->slots : 1;
	for (i = 0; i < nr_buckets(wheel); i++)
		level->bucket[i].level = nr;
	wheel->level[nr] = level;
	wheel->nr_levels = nr + 1;
	/* Now may be anywhere in its slot. */
	wheel->reach = wheel->span[nr] * (wheel->slots - 1);
	wheel->starved = false;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_grow);

/**
 * twheel_wheel_feed - allocate one more level and put it on top
 * @wheel: the wheel, which no one else uses at the same time
 * @gfp: how to allocate
 *
 * Return: 0, or -ENOMEM.
 */
int twheel_wheel_feed(struct twheel_wheel *wheel, gfp_t gfp)
{
	struct twheel_level *level = twheel_level_alloc(wheel, gfp);

	if (!level)
		return -ENOMEM;
	twheel_wheel_grow(wheel, level);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_feed);

/*
 * What is as far away as a whole turn of a level has no place on it. So most levels
 * need not be tried: the search begins at the first on which what has so many bits
 * may be less than a turn away, and ends there or on one of the next two.
 */
static void wheel_init_level_of(struct twheel_wheel *wheel)
{
	unsigned int bits, level = 0;
	u64 turn = wheel->slots;

	wheel->level_of[0] = 0;
	for (bits = 1; bits <= 64; bits++) {
		while (turn <= 1ULL << (bits - 1)) {
			level++;
			if (check_mul_overflow(turn, (u64)wheel->slots, &turn))
				turn = U64_MAX;
		}
		wheel->level_of[bits] = level;
	}
}

/**
 * twheel_wheel_init - an empty wheel without any level
 * @wheel: the wheel
 * @slots: in each level
 * @on_set: whether nodes can be cancelled when the clock is set
 * @now: the tick it is
 *
 * No node can be placed until there is one level at least.
 */
void twheel_wheel_init(struct twheel_wheel *wheel, unsigned int slots, bool on_set, u64 now)
{
	wheel->now = now;
	wheel->slots = slots;
	wheel->shift = is_power_of_2(slots) ? ilog2(slots) : 0;
	wheel->on_set = on_set;
	wheel->starved = false;
	wheel->nr_levels = 0;
	wheel->reach = 0;
	wheel_init_level_of(wheel);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_init);

/**
 * twheel_wheel_destroy - free all levels
 * @wheel: the wheel, which holds nothing any more
 */
void twheel_wheel_destroy(struct twheel_wheel *wheel)
{
	while (wheel->nr_levels)
		twheel_level_free(wheel->level[--wheel->nr_levels]);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_destroy);

/**
 * twheel_wheel_reaches - whether there are levels enough for a tick
 * @wheel: the wheel
 * @expires: the tick
 *
 * The top level that a wheel can have reaches every tick, so this says no
 * only where twheel_wheel_grow() may be called.
 *
 * Return: false if one more level would spare a node of that tick a move.
 */
bool twheel_wheel_reaches(const struct twheel_wheel *wheel, u64 expires)
{
	return expires <= wheel->now ||
	       (wheel->nr_levels &&
		slot_distance(wheel, wheel->nr_levels - 1, expires) < wheel->slots);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_reaches);

static struct twheel_bucket *wheel_bucket(const struct twheel_wheel *wheel, unsigned int level,
					  u64 number, bool on_set, u64 *expires)
{
	*expires = number * wheel->span[level];
	return &wheel->level[level]->bucket[slot_index(wheel, number) +
					    (on_set ? wheel->slots : 0)];
}

/**
 * twheel_wheel_place - find the bucket for a tick
 * @wheel: the wheel, which has one level at least
 * @tick: at which a node is due
 * @on_set: whether the node is cancelled when the clock is set
 * @expires: set to the tick at which the slot of the bucket begins
 *
 * The caller puts the node into the bucket, and sees to it that the bucket expires at
 * @expires.
 *
 * Return: the bucket, or NULL if the tick has come.
 */
struct twheel_bucket *twheel_wheel_place(struct twheel_wheel *wheel, u64 tick, bool on_set,
					 u64 *expires)
{
	struct twheel_bucket *bucket;
	u64 number, now;
	unsigned int i;

	if (tick <= wheel->now)
		return NULL;
	/* Where most go that move down. */
	if (tick - wheel->now < wheel->slots)
		return wheel_bucket(wheel, 0, tick, on_set, expires);

	i = wheel->level_of[fls64(tick - wheel->now)];
	for (i = min(i, wheel->nr_levels - 1); ; i++) {
		now = slot_number(wheel, i, wheel->now);
		number = slot_number(wheel, i, tick);
		if (likely(number - now < wheel->slots) || i + 1 == wheel->nr_levels)
			break;
	}
	if (likely(number - now < wheel->slots))
		return wheel_bucket(wheel, i, number, on_set, expires);

	bucket = wheel_bucket(wheel, i, now + wheel->slots - 1, on_set, expires);
	bucket->mixed = true;
	wheel->starved = true;
	return bucket;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_place);
