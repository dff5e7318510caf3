// SPDX-License-Identifier: GPL-2.0
/*
 * The hierarchical timing wheel and its expiry queue.
 *
 * A pure data structure: the caller passes the current tick and holds the lock of the shard.
 * No clock is read, and only twheel_level_alloc() allocates.
 *
 * The wheel has levels of buckets. Level 0 has a slot per tick; the slots of each further
 * level are as long as all slots of the previous level together. With 4 slots a level, at
 * tick 6:
 *
 *	level 0   |6|7|8|9|
 *	level 1   |4..7|8..11|12..15|16..19|
 *	level 2   |0..15|16..31|32..47|48..63|
 *
 * A node goes to the lowest level on which its slot is less than one turn away from the
 * current slot. Except on level 0, this is never the current slot itself. So during one
 * turn a bucket stands for one slot, and expires at its beginning. Then the wheel advances to
 * this tick, and each node of the bucket is due or moves to a lower level (cascade). A deadline
 * ten years away is exact to the tick. A node whose tick was set later meanwhile goes to the
 * bucket of this tick, on any level.
 *
 * Levels are added on demand. Without memory for another level, a far node goes to the last
 * slot of the top level and is placed again when that expires. This costs a move per turn.
 * The wheel is marked, and the reaper retries the allocation.
 *
 * The expiry queue is an rbtree of non-empty buckets, ordered by expiry; the leftmost one
 * is the next expiry. A node is on one list: a bucket, a list of @due (its tick has passed), or
 * @never (no deadline). Deletion is hlist_del(): an emptied bucket stays in the tree until it
 * expires, so that a cancel does not touch the tree. The tree has at most one bucket per slot.
 * Buckets of several levels may expire at the same tick, in any order: no node is added to a bucket
 * that expires at the current tick of the wheel. Each list is as good as a stack, since a tick has
 * no order; the ticks are in order since a bucket of a later tick waits until no node is due.
 *
 * A node has its exact deadline in ns. Its tick, the first one that does not begin before the
 * deadline, is computed when it is placed.
 *
 * The invariant is that no bucket expires later than one of its nodes.
 */
#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "cell.h"
#include "wheel.h"

/*
 * 32 nodes go to the same list of a bucket before the other one has its turn. So the first node of
 * a list, which an add writes, is usually in the caches.
 */
#define LIST_STEP	4

/* Slot number of @tick on @level, counted from tick 0. */
static u64 slot_number(const struct twheel_wheel *wheel, unsigned int level, u64 tick)
{
	if (wheel->shift)
		return tick >> (level * wheel->shift);
	return level ? div64_u64(tick, wheel->span[level]) : tick;
}

/*
 * Allocate the next level for twheel_wheel_grow(). No lock is needed. A level has up to 1,024 cache
 * lines, so all of them are written here.
 */
struct twheel_bucket *twheel_level_alloc(const struct twheel_wheel *wheel, gfp_t gfp)
{
	unsigned int i, nr = READ_ONCE(wheel->nr_levels);
	struct twheel_bucket *level;

	level = kmalloc_array(wheel->slots, sizeof(*level), gfp);
	if (!level)
		return NULL;
	for (i = 0; i < wheel->slots; i++) {
		INIT_HLIST_HEAD(&level[i].nodes[0]);
		INIT_HLIST_HEAD(&level[i].nodes[1]);
		RB_CLEAR_NODE(&level[i].queued);
		level[i].expires = TWHEEL_TICK_NEVER;
		level[i].level = nr;
		level[i].mixed = false;
		level[i].added = 0;
	}
	return level;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_level_alloc);

/*
 * Add a level from twheel_level_alloc() to a wheel that does not reach all ticks yet. Return: false
 * if another level was added since it was allocated.
 */
bool twheel_wheel_grow(struct twheel_wheel *wheel, struct twheel_bucket *level)
{
	unsigned int nr = wheel->nr_levels;

	if (level[0].level != nr)
		return false;
	wheel->span[nr] = nr ? wheel->span[nr - 1] * wheel->slots : 1;
	wheel->level[nr] = level;
	/* twheel_level_alloc() reads it without the lock. */
	WRITE_ONCE(wheel->nr_levels, nr + 1);
	/* The current tick may be anywhere in its slot. An overflow makes it too small at most. */
	WRITE_ONCE(wheel->reach, wheel->span[nr] * (wheel->slots - 1));
	wheel->lacks_level = false;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_grow);

/*
 * A node at a distance of a turn or more does not fit into a level. So the search begins at
 * the first level for the number of bits of the distance, and ends there or on one of the
 * next two.
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

/*
 * Whether the levels suffice for a tick. The top level of the largest wheel reaches all ticks,
 * so twheel_wheel_grow() may be called if this returns false.
 */
bool twheel_wheel_reaches(const struct twheel_wheel *wheel, u64 expires)
{
	unsigned int top = wheel->nr_levels - 1;

	return expires <= wheel->now ||
	       (wheel->nr_levels && slot_number(wheel, top, expires) -
				    slot_number(wheel, top, wheel->now) < wheel->slots);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_reaches);

/*
 * Find the slot of a tick that has not passed. If the number of slots is a power of two, its
 * position is a matter of shifts, and needs no further cache line. Return: false otherwise, or if
 * there is no bucket for it.
 */
static __always_inline bool find_by_shifts(struct twheel_wheel *wheel, u64 tick,
					   struct twheel_slot *slot)
{
	unsigned int bits = fls64(tick - wheel->now), level = wheel->level_of[bits];
	unsigned int shift = level * wheel->shift;
	u64 number, slots = wheel->slots;

	if (unlikely(!wheel->shift))
		return false;
	/* The highest level reaches all ticks. */
	for (;; level++, shift += wheel->shift) {
		number = tick >> shift;
		if (likely(number - (wheel->now >> shift) < slots))
			break;
	}
	if (unlikely(!wheel->level[level]))
		return false;
	slot->bucket = &wheel->level[level][number & (slots - 1)];
	slot->begin = number << shift;
	return true;
}

/* The same for any number of slots. A tick that is out of reach has the last one. */
static noinline struct twheel_slot find_by_divisions(struct twheel_wheel *wheel, u64 tick)
{
	unsigned int level = wheel->level_of[fls64(tick - wheel->now)];
	struct twheel_slot slot;
	u64 number, now;
	bool far;
	u32 index;

	for (level = min(level, wheel->nr_levels - 1U); ; level++) {
		now = slot_number(wheel, level, wheel->now);
		number = slot_number(wheel, level, tick);
		far = number - now >= wheel->slots;
		if (!far || level + 1 == wheel->nr_levels)
			break;
	}
	if (far)
		number = now + wheel->slots - 1;
	slot.begin = number * wheel->span[level];
	div_u64_rem(number, wheel->slots, &index);
	slot.bucket = &wheel->level[level][index];
	/* On level 0 the next node goes to the first list, see queue_place(). */
	if (!level)
		slot.bucket->added = 0;
	slot.bucket->mixed |= far;
	wheel->lacks_level |= far;
	return slot;
}

/* Whether a tick that has not passed is on level 0, of a power of two of slots. */
static __always_inline bool wheel_is_next(const struct twheel_wheel *wheel, u64 tick)
{
	return tick - wheel->now < wheel->slots && likely(wheel->shift);
}

/* Find the slot of a tick. The wheel has at least one level. */
struct twheel_slot twheel_wheel_find(struct twheel_wheel *wheel, u64 tick)
{
	struct twheel_slot slot = {};

	if (tick > wheel->now && !find_by_shifts(wheel, tick, &slot))
		slot = find_by_divisions(wheel, tick);
	return slot;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_find);

/* The expiry queue */

static struct twheel_bucket *bucket_of(const struct rb_node *queued)
{
	return rb_entry(queued, struct twheel_bucket, queued);
}

static bool bucket_before(struct rb_node *a, const struct rb_node *b)
{
	return bucket_of(a)->expires < bucket_of(b)->expires;
}

static struct twheel_bucket *queue_first(const struct twheel_queue *queue)
{
	struct rb_node *first = rb_first_cached(&queue->buckets);

	return first ? bucket_of(first) : NULL;
}

static void queue_remove(struct twheel_queue *queue, struct twheel_bucket *bucket)
{
	rb_erase_cached(&bucket->queued, &queue->buckets);
	RB_CLEAR_NODE(&bucket->queued);
	bucket->mixed = false;
}

/* The rare cases of the following functions are tail calls, so an add saves no registers. */

static noinline u64 bucket_enqueue(struct twheel_queue *queue, struct twheel_bucket *bucket,
				   u64 begin)
{
	bucket->expires = begin;
	rb_add_cached(&bucket->queued, &queue->buckets, bucket_before);
	return begin;
}

static __always_inline u64 bucket_add(struct twheel_queue *queue, struct twheel_bucket *bucket,
				      u64 begin, struct hlist_head *list, struct twheel_node *node)
{
	hlist_add_head(&node->entry, list);
	return unlikely(RB_EMPTY_NODE(&bucket->queued)) ? bucket_enqueue(queue, bucket, begin) :
							   begin;
}

static __always_inline u64 slot_add(struct twheel_queue *queue, struct twheel_slot slot,
				    struct twheel_node *node)
{
	slot.bucket->added += LIST_STEP;
	return bucket_add(queue, slot.bucket, slot.begin,
			  &slot.bucket->nodes[slot.bucket->added >> 7], node);
}

static noinline u64 queue_place_by_divisions(struct twheel_queue *queue, struct twheel_node *node,
					     u64 tick)
{
	return slot_add(queue, find_by_divisions(&queue->wheel, tick), node);
}

/* Put a node that is on no list on the list for its tick; as twheel_queue_add(). */
static __always_inline u64 queue_place(struct twheel_queue *queue, struct twheel_node *node,
				       struct hlist_head *due, u64 tick)
{
	struct twheel_wheel *wheel = &queue->wheel;
	struct twheel_bucket *bucket;
	struct twheel_slot slot;

	if (tick <= wheel->now) {
		hlist_add_head(&node->entry, due);
		return 0;
	}
	/* Most nodes that move go to level 0: 15 instructions less for them. */
	if (wheel_is_next(wheel, tick)) {
		bucket = &wheel->level[0][tick & (wheel->slots - 1)];
		return bucket_add(queue, bucket, tick, &bucket->nodes[0], node);
	}
	if (likely(find_by_shifts(wheel, tick, &slot)))
		return slot_add(queue, slot, node);
	return queue_place_by_divisions(queue, node, tick);
}

/* Initialise an empty queue over a wheel without levels; it needs one before the first node. */
void twheel_queue_init(struct twheel_queue *queue, unsigned int slots, u64 tick_ns, u64 now)
{
	struct twheel_wheel *wheel = &queue->wheel;

	memset(queue, 0, sizeof(*queue));
	queue->buckets = RB_ROOT_CACHED;
	wheel->now = now;
	wheel->tick_ns = tick_ns;
	/* is_power_of_2() takes a long, which may be shorter. */
	wheel->tick_shift = tick_ns & (tick_ns - 1) ? 0 : ilog2(tick_ns);
	wheel->slots = slots;
	wheel->shift = is_power_of_2(slots) ? ilog2(slots) : 0;
	wheel_init_level_of(wheel);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_init);

/* Free all levels of an empty queue. */
void twheel_queue_destroy(struct twheel_queue *queue)
{
	struct twheel_wheel *wheel = &queue->wheel;

	WARN_ON_ONCE(twheel_due_ready(&queue->due) || !hlist_empty(&queue->never));
	while (wheel->nr_levels)
		kfree(wheel->level[--wheel->nr_levels]);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_destroy);

/*
 * Advance an idle wheel to @now, but not past the next expiry. Otherwise the wheel would lag
 * behind and place a new node a level too high.
 */
void twheel_queue_forward(struct twheel_queue *queue, u64 now)
{
	const struct twheel_bucket *first = queue_first(queue);

	if (first && first->expires <= now)
		now = first->expires - 1;
	if (now > queue->wheel.now)
		WRITE_ONCE(queue->wheel.now, now);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_forward);

/**
 * twheel_queue_add - add a node
 * @queue: the queue; its wheel has a level unless the node is due or never expires
 * @node: on no list, with @expires set
 * @tick: its tick; one that has passed makes it due at once
 *
 * Return: the tick at which the queue needs attention for the node: the expiry of its bucket, 0 if
 * it is due, or TWHEEL_TICK_NEVER.
 */
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node, u64 tick)
{
	if (likely(tick != TWHEEL_TICK_NEVER))
		return queue_place(queue, node, &queue->due.past, tick);
	hlist_add_head(&node->entry, &queue->never);
	return TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_add);

/* The expiry of the first bucket, or TWHEEL_TICK_NEVER. */
u64 twheel_queue_first(const struct twheel_queue *queue)
{
	const struct twheel_bucket *first = queue_first(queue);

	return first ? first->expires : TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_first);

/*
 * Move up to @budget nodes of an expired bucket one by one; returns the rest of the budget. Inlined
 * twice: nothing is added for a node of a wheel without @cells.
 */
static __always_inline unsigned int bucket_move(struct twheel_queue *queue,
						struct twheel_bucket *bucket, unsigned int budget,
						bool cells)
{
	struct hlist_head *list = &bucket->nodes[0], *other = &bucket->nodes[1];
	unsigned int before = budget;
	struct twheel_node *node;
	u64 tick;

	for (; budget; budget--) {
		swap(list, other);
		if (unlikely(!list->first)) {
			swap(list, other);
			if (!list->first)
				break;
		}
		node = twheel_nodes_shift(list);
		if (cells && !twheel_cell_cascade(queue, node)) {
			queue->nr_cascaded--;
			continue;
		}
		tick = twheel_wheel_tick(&queue->wheel, node->expires);
		/* With slack a node may become due on a high level. */
		if (!queue_place(queue, node, &queue->due.nodes, tick))
			queue->nr_cascaded--;
		trace_twheel_timer_cascade(&queue->wheel, bucket, node);
	}
	queue->nr_cascaded += before - budget;
	return budget;
}

static unsigned int bucket_cascade(struct twheel_queue *queue, struct twheel_bucket *bucket,
				   unsigned int budget)
{
	/* See twheel_cells_begin(). */
	return unlikely(READ_ONCE(queue->wheel.cells)) ? bucket_move(queue, bucket, budget, true) :
							 bucket_move(queue, bucket, budget, false);
}

/*
 * Move the nodes of an expired bucket, as far as the budget suffices; no node is due. On level 0
 * all nodes are due at the same tick and move as one list, unless the bucket is mixed. Return: true
 * if the bucket is empty.
 */
static bool bucket_expire(struct twheel_queue *queue, struct twheel_bucket *bucket,
			  unsigned int *budget)
{
	if (bucket->level == 0 && !bucket->mixed)
		twheel_nodes_move(&bucket->nodes[0], &queue->due.nodes);
	if (twheel_bucket_is_empty(bucket))
		return true;
	*budget = bucket_cascade(queue, bucket, *budget);
	return twheel_bucket_is_empty(bucket);
}

/*
 * Make the nodes on @past the batch, which is empty, unless a bucket that expires at @first comes
 * before them.
 */
static bool queue_take_past(struct twheel_queue *queue, u64 first, u64 now)
{
	if (hlist_empty(&queue->due.past)) {
		queue->seen = now;
		return false;
	}
	if (first <= now && first <= queue->seen)
		return false;
	twheel_nodes_move(&queue->due.past, &queue->due.nodes);
	queue->tick = TWHEEL_TICK_NEVER;
	queue->seen = now;
	return true;
}

/**
 * twheel_queue_advance - expire buckets until nodes are due
 * @queue: the queue
 * @now: current tick
 * @budget: limit on moved nodes and on buckets, emptied ones included; decremented
 *
 * Due nodes of a bucket become a batch when the previous one is empty; other nodes go to other
 * buckets. Nodes may be added and deleted between two calls, and the wheel forwarded: not past the
 * tick of a bucket in the tree, such as one that is partly emptied.
 *
 * Return: true if there is more work: due nodes, or further buckets.
 */
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int *budget)
{
	struct twheel_due *due = &queue->due;
	struct twheel_bucket *bucket;

	if (!hlist_empty(&due->nodes) || queue_take_past(queue, twheel_queue_first(queue), now))
		return true;
	while ((bucket = queue_first(queue)) && bucket->expires <= now) {
		if (!*budget)
			return true;
		--*budget;
		WRITE_ONCE(queue->wheel.now, bucket->expires);
		queue->tick = bucket->expires;
		if (bucket_expire(queue, bucket, budget))
			queue_remove(queue, bucket);
		if (!hlist_empty(&due->nodes))
			return true;
	}
	twheel_queue_forward(queue, now);
	return !hlist_empty(&due->past);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_advance);

/* Whether no node is due, and the first bucket has no nodes. */
bool twheel_queue_is_emptied(const struct twheel_queue *queue)
{
	const struct twheel_bucket *first = queue_first(queue);

	return !twheel_due_ready(&queue->due) && first && twheel_bucket_is_empty(first);
}

/**
 * twheel_queue_take - one step of emptying a queue
 * @queue: the queue, to which no node is added any more
 * @node: set to a node that was removed from its list, or to NULL if an empty bucket was removed
 *	from the tree
 *
 * The caller holds the lock for one step at a time.
 *
 * Return: false if the queue is empty.
 */
bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node)
{
	struct twheel_bucket *bucket = queue_first(queue);
	struct hlist_head *lists[] = {
		&queue->due.nodes, &queue->due.past, &queue->never,
		bucket ? &bucket->nodes[0] : NULL, bucket ? &bucket->nodes[1] : NULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!lists[i] || hlist_empty(lists[i]))
			continue;
		*node = hlist_entry(lists[i]->first, struct twheel_node, entry);
		twheel_node_del(*node);
		return true;
	}
	*node = NULL;
	if (bucket)
		queue_remove(queue, bucket);
	return bucket;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_take);
