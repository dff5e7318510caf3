// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 1, the wheel: levels of buckets.
 *
 * A pure data structure.  The caller passes the time in ticks.  The wheel takes no lock,
 * reads no clock, and allocates only in twheel_wheel_add_level().  The expiry
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
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
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
 * twheel_wheel_add_level - allocate one more level and put it on top
 * @wheel: the wheel, which no one else uses at the same time
 * @gfp: how to allocate
 *
 * Return: 0, or -ENOMEM.
 */
int twheel_wheel_add_level(struct twheel_wheel *wheel, gfp_t gfp)
{
	struct twheel_level *level = twheel_level_alloc(wheel, gfp);

	if (!level)
		return -ENOMEM;
	twheel_wheel_grow(wheel, level);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_add_level);

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
 * twheel_wheel_find - find the bucket for a tick
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
struct twheel_bucket *twheel_wheel_find(struct twheel_wheel *wheel, u64 tick, bool on_set,
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
EXPORT_SYMBOL_IF_KUNIT(twheel_wheel_find);

/*
 * Layer 2, the expiry queue: an rbtree of non-empty buckets, ordered by expiry.
 *
 * The leftmost bucket is the next expiry.  The caller passes the current tick and
 * holds the lock of the shard above.  A node is on one list: a bucket, @due once its
 * tick has come, @never if it has none, or @set if it is cancelled since the clock was
 * set.  Deletion is list_del().  An emptied bucket stays in the tree until it expires,
 * so cancel does not touch the tree.
 *
 * No bucket expires after a node that it holds is due.  That is all that expiry relies
 * on, and it holds across a change of the clock, so that nothing is placed anew then:
 *
 * - A step forward is time that passes: the buckets of that time expire in their order.
 * - A step back sets the wheel's time back.  The buckets keep their nodes and expire
 *   when they did before.  Only if a node is added to such a bucket, for a slot of the
 *   present turn, the bucket expires at the beginning of that slot instead, which is
 *   earlier, and its older nodes are then placed anew together with it.
 *
 * Both take O(1).  A node that is due stays due.
 *
 * Nodes that are cancelled when the clock is set have buckets of their own.  A step
 * increments @generation, and every such bucket of an older generation holds nodes
 * that were added before the step, and no other:
 *
 *	bucket of an older generation      its nodes
 *	-----------------------------      ---------
 *	a node is added                    move to @set first, as one list
 *	it expires                         move to @set instead
 *	the sweep comes to it              move to @set
 *
 * The sweep visits these buckets, a few at a time.  Steps that follow faster than it
 * sweeps do not restart it: it makes another round when it has ended.
 *
 * The tree has levels times slots nodes at the most, or twice as many.  Buckets of
 * several levels may expire at the same tick, in any order: when the wheel stands at
 * a tick, nothing is placed into a bucket that expires at it any more.
 */

static struct twheel_bucket *bucket_of(const struct rb_node *queued)
{
	return rb_entry(queued, struct twheel_bucket, queued);
}

static struct twheel_bucket *queue_first(const struct twheel_queue *queue)
{
	struct rb_node *first = rb_first_cached(&queue->buckets);

	return first ? bucket_of(first) : NULL;
}

static bool bucket_before(struct rb_node *a, const struct rb_node *b)
{
	return bucket_of(a)->expires < bucket_of(b)->expires;
}

static void queue_insert(struct twheel_queue *queue, struct twheel_bucket *bucket, u64 expires)
{
	bucket->expires = expires;
	rb_add_cached(&bucket->queued, &queue->buckets, bucket_before);
	queue->nr_on_set += bucket->on_set;
}

/* Take a bucket out of the tree. */
static void queue_remove(struct twheel_queue *queue, struct twheel_bucket *bucket)
{
	rb_erase_cached(&bucket->queued, &queue->buckets);
	RB_CLEAR_NODE(&bucket->queued);
	queue->nr_on_set -= bucket->on_set;
}

static bool bucket_is_old(const struct twheel_queue *queue, const struct twheel_bucket *bucket)
{
	return bucket->on_set && bucket->generation != queue->generation;
}

/*
 * Let a bucket in the tree expire earlier. The clock was set back since it was filled: it
 * expires after now, and at the same place of some turn, so not before @expires.
 */
static void bucket_move(struct twheel_queue *queue, struct twheel_bucket *bucket, u64 expires)
{
	bucket->mixed |= !list_empty(&bucket->nodes);
	queue_remove(queue, bucket);
	queue_insert(queue, bucket, expires);
}

/* Put a node, which is in no list, where it belongs now; when there is to be done for it. */
static u64 queue_enqueue(struct twheel_queue *queue, struct twheel_node *node, bool on_set)
{
	struct twheel_bucket *bucket;
	u64 expires;

	bucket = twheel_wheel_find(&queue->wheel, node->expires, on_set, &expires);
	if (!bucket) {
		list_add_tail(&node->entry, &queue->due);
		return queue->wheel.now;
	}
	if (unlikely(bucket_is_old(queue, bucket))) {
		list_splice_tail_init(&bucket->nodes, &queue->set);
		bucket->generation = queue->generation;
	}
	if (RB_EMPTY_NODE(&bucket->queued))
		queue_insert(queue, bucket, expires);
	else if (unlikely(bucket->expires != expires))
		bucket_move(queue, bucket, expires);
	list_add_tail(&node->entry, &bucket->nodes);
	return bucket->expires;
}

/**
 * twheel_queue_init - an empty queue over a wheel without any level
 * @queue: the queue
 * @slots: in each level of the wheel
 * @on_set: whether nodes can be cancelled when the clock is set
 * @now: the tick it is
 */
void twheel_queue_init(struct twheel_queue *queue, unsigned int slots, bool on_set, u64 now)
{
	memset(queue, 0, sizeof(*queue));
	queue->buckets = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&queue->due);
	INIT_LIST_HEAD(&queue->never);
	INIT_LIST_HEAD(&queue->never_on_set);
	INIT_LIST_HEAD(&queue->set);
	twheel_wheel_init(&queue->wheel, slots, on_set, now);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_init);

/**
 * twheel_queue_destroy - free the wheel
 * @queue: the queue, which holds no node any more
 */
void twheel_queue_destroy(struct twheel_queue *queue)
{
	WARN_ON_ONCE(queue->nr_nodes);
	twheel_wheel_destroy(&queue->wheel);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_destroy);

/**
 * twheel_queue_forward - tell an idle wheel the time
 * @queue: the queue
 * @now: a tick that is not in the future
 *
 * A wheel on which nothing has expired for long lags behind, and would place
 * a new node a level too high. It is moved up to @now, but never past a
 * bucket that has yet to expire.
 */
void twheel_queue_forward(struct twheel_queue *queue, u64 now)
{
	const struct twheel_bucket *first = queue_first(queue);

	if (first && first->expires <= now)
		now = first->expires - 1;
	if (now > queue->wheel.now)
		queue->wheel.now = now;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_forward);

/**
 * twheel_queue_rewind - the clock was set back
 * @queue: the queue
 * @now: the tick it is; nothing happens if that is not before the wheel's own
 */
void twheel_queue_rewind(struct twheel_queue *queue, u64 now)
{
	queue->wheel.now = min(queue->wheel.now, now);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_rewind);

/**
 * twheel_queue_add - add a node
 * @queue: the queue, whose wheel has one level at least unless the node is due, or
 *	never will be
 * @node: in no list; its @expires is the tick at which it is due, or
 *	TWHEEL_TICK_NEVER
 * @on_set: whether it is cancelled when the clock is set; only where that was said at
 *	init
 *
 * A tick that has passed makes it due at once.
 *
 * Return: the tick at which there is something to do for this node: its bucket's, or
 * the wheel's own if it is due; TWHEEL_TICK_NEVER.
 */
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node, bool on_set)
{
	queue->nr_nodes++;
	if (likely(node->expires != TWHEEL_TICK_NEVER))
		return queue_enqueue(queue, node, on_set);
	list_add_tail(&node->entry, on_set ? &queue->never_on_set : &queue->never);
	return TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_add);

/**
 * twheel_queue_next - when is there something to do next?
 * @queue: the queue
 *
 * Return: the tick of the earliest bucket, the wheel's own if twheel_queue_ready(),
 * TWHEEL_TICK_NEVER if nothing will be due.
 */
u64 twheel_queue_next(const struct twheel_queue *queue)
{
	const struct twheel_bucket *first;

	if (twheel_queue_ready(queue))
		return queue->wheel.now;
	first = queue_first(queue);
	return first ? first->expires : TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_next);

/*
 * Empty a bucket that expires now, within a budget of nodes to move. On level
 * 0 all nodes are due at its very tick and move as one list, however many, unless the
 * bucket is mixed. The nodes of an old bucket are cancelled.
 */
static unsigned int bucket_expire(struct twheel_queue *queue,
				  struct twheel_bucket *bucket, unsigned int budget)
{
	struct twheel_node *node;

	if (unlikely(bucket_is_old(queue, bucket)))
		list_splice_tail_init(&bucket->nodes, &queue->set);
	else if (bucket->level == 0 && !bucket->mixed)
		list_splice_tail_init(&bucket->nodes, &queue->due);

	while (budget && !list_empty(&bucket->nodes)) {
		node = list_first_entry(&bucket->nodes, struct twheel_node, entry);
		list_del(&node->entry);
		/* The next one is on its way by that; this is the one after it. */
		prefetchw(bucket->nodes.next->next);
		/* A coarse one may be due on a high level. */
		queue->nr_cascaded += node->expires > queue->wheel.now;
		queue_enqueue(queue, node, bucket->on_set);
		budget--;
	}
	return budget;
}

/**
 * twheel_queue_advance - expire buckets up to a tick
 * @queue: the queue
 * @now: the tick it is
 * @budget: how many nodes to move and buckets to empty before coming back, at
 *	least two
 *
 * What is due comes onto the list of due nodes, the earliest tick first, and
 * what is not yet moves down a level. Between two calls nodes may be added and
 * taken out: the wheel stands at the tick of the bucket in hand.
 *
 * Return: true if there is more to do: nodes to pop, or buckets to expire.
 */
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget)
{
	struct twheel_bucket *bucket;

	while ((bucket = queue_first(queue)) && bucket->expires <= now) {
		if (!budget)
			return true;
		queue->wheel.now = bucket->expires;
		budget = bucket_expire(queue, bucket, budget - 1);
		if (!list_empty(&bucket->nodes))
			return true;
		bucket->mixed = false;
		queue_remove(queue, bucket);
	}
	twheel_queue_forward(queue, now);
	return twheel_queue_ready(queue);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_advance);

/**
 * twheel_queue_pop - take the next node that is due
 * @queue: the queue
 *
 * Return: the node, in no list any more, or NULL.
 */
struct twheel_node *twheel_queue_pop(struct twheel_queue *queue)
{
	struct twheel_node *node;

	node = list_first_entry_or_null(&queue->due, struct twheel_node, entry);
	if (node)
		twheel_queue_del(queue, node);
	return node;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_pop);

/**
 * twheel_queue_set - the clock was set: cancel the nodes that asked for it
 * @queue: the queue
 *
 * In O(1). The nodes that were added by now with @on_set, and are not due yet, are then
 * returned by twheel_queue_pop_set(); those that are added from now on are not.
 */
void twheel_queue_set(struct twheel_queue *queue)
{
	queue->generation++;
	list_splice_tail_init(&queue->never_on_set, &queue->set);
	if (queue->nr_on_set && !queue->sweeping) {
		queue->sweeping = true;
		queue->swept = 0;
		queue->sweep_generation = queue->generation;
	}
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_set);

/* Visit the next bucket for nodes that are cancelled when the clock is set. */
static void queue_sweep(struct twheel_queue *queue)
{
	struct twheel_wheel *wheel = &queue->wheel;
	unsigned int level = queue->swept / wheel->slots;
	struct twheel_bucket *bucket;

	bucket = &wheel->level[level]->bucket[wheel->slots + queue->swept % wheel->slots];
	if (!RB_EMPTY_NODE(&bucket->queued) && bucket_is_old(queue, bucket)) {
		list_splice_tail_init(&bucket->nodes, &queue->set);
		bucket->mixed = false;
		queue_remove(queue, bucket);
	}
	if (++queue->swept < wheel->nr_levels * wheel->slots)
		return;
	queue->swept = 0;
	queue->sweeping = queue->sweep_generation != queue->generation;
	queue->sweep_generation = queue->generation;
}

/**
 * twheel_queue_pop_set - take the next node that is cancelled since the clock was set
 * @queue: the queue
 * @budget: how many nodes to take and buckets to visit; what is left of it
 *
 * The node still counts as one of the queue, and goes back by twheel_queue_expire().
 *
 * Return: the node, or NULL if there is none, or the budget is used up.
 */
struct twheel_node *twheel_queue_pop_set(struct twheel_queue *queue, unsigned int *budget)
{
	struct twheel_node *node;

	for (; *budget && list_empty(&queue->set) && queue->sweeping; --*budget)
		queue_sweep(queue);
	node = list_first_entry_or_null(&queue->set, struct twheel_node, entry);
	if (!node || !*budget)
		return NULL;
	--*budget;
	list_del(&node->entry);
	return node;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_pop_set);

/**
 * twheel_queue_expire - make a node due, after those that are
 * @queue: the queue
 * @node: from twheel_queue_pop_set()
 */
void twheel_queue_expire(struct twheel_queue *queue, struct twheel_node *node)
{
	list_add_tail(&node->entry, &queue->due);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_expire);

/**
 * twheel_queue_take - one step towards an empty queue
 * @queue: the queue, to which no node is added any more
 * @node: set to a node, due or not, that is in no list any more; to NULL if an
 *	empty bucket left the tree instead
 *
 * The caller holds its lock for one step at a time, however many nodes and buckets there
 * are.
 *
 * Return: false if nothing is left.
 */
bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node)
{
	struct twheel_bucket *bucket = queue_first(queue);
	struct list_head *from = &queue->due;

	if (list_empty(from))
		from = &queue->never;
	if (list_empty(from))
		from = &queue->never_on_set;
	if (list_empty(from))
		from = &queue->set;
	if (list_empty(from) && bucket)
		from = &bucket->nodes;

	*node = list_first_entry_or_null(from, struct twheel_node, entry);
	if (*node)
		twheel_queue_del(queue, *node);
	else if (bucket)
		queue_remove(queue, bucket);
	return *node || bucket;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_take);
