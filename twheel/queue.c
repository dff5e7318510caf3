// SPDX-License-Identifier: GPL-2.0
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
#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/string.h>

#include "compat.h"
#include "queue.h"

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
static u64 queue_place(struct twheel_queue *queue, struct twheel_node *node, bool on_set)
{
	struct twheel_bucket *bucket;
	u64 expires;

	bucket = twheel_wheel_place(&queue->wheel, node->expires, on_set, &expires);
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
		return queue_place(queue, node, on_set);
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
		queue_place(queue, node, bucket->on_set);
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
