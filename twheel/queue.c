// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 2, the expiry queue: the buckets that hold something, ordered by when
 * they expire.
 *
 * It drives the wheel from expiring bucket to expiring bucket, never tick by
 * tick, and answers 'when next?' in O(1).  Like the wheel it is told the time
 * and takes no lock; the shard above holds its own around every call.
 *
 * A node is in one of four places: in a bucket, on @due once its tick has
 * come, on @never if it has none, on @stray while time itself is being moved.
 * Taking a node out is a mere list_del(): a bucket that is left empty stays
 * queued until it expires, so cancel touches no tree, and what was cancelled
 * costs one wake-up at the most.
 *
 * Time goes forward but for twheel_queue_gather(), which may set it back.  It
 * takes all buckets' lists at once, and whoever drives the queue then places
 * node by node anew, in as many steps as it likes.  Nothing expires meanwhile.
 *
 * The tree has levels times slots nodes at the most.  Buckets of several
 * levels may expire at the same tick, in any order: when the wheel stands at
 * a tick, nothing is placed into a bucket that expires at it any more.
 */
#include <linux/bug.h>
#include <linux/prefetch.h>

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

/* Put a node, which is in no list, where it belongs now; when there is to be done for it. */
static u64 queue_place(struct twheel_queue *queue, struct twheel_node *node)
{
	struct twheel_bucket *bucket = twheel_wheel_place(&queue->wheel, node);

	if (!bucket) {
		list_add_tail(&node->entry, &queue->due);
		return queue->wheel.now;
	}
	list_add_tail(&node->entry, &bucket->nodes);
	if (RB_EMPTY_NODE(&bucket->queued))
		rb_add_cached(&bucket->queued, &queue->buckets, bucket_before);
	return bucket->expires;
}

/* Take an empty bucket out of the tree. */
static void queue_remove(struct twheel_queue *queue, struct twheel_bucket *bucket)
{
	bucket->far = false;
	rb_erase_cached(&bucket->queued, &queue->buckets);
	RB_CLEAR_NODE(&bucket->queued);
}

/**
 * twheel_queue_init - an empty queue over a wheel of one level
 * @queue: the queue
 * @slots: in each level of the wheel
 * @now: the tick it is
 *
 * Return: 0, or -ENOMEM.
 */
int twheel_queue_init(struct twheel_queue *queue, unsigned int slots, u64 now)
{
	queue->buckets = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&queue->due);
	INIT_LIST_HEAD(&queue->never);
	INIT_LIST_HEAD(&queue->stray);
	queue->nr_nodes = 0;
	queue->nr_cascaded = 0;
	return twheel_wheel_init(&queue->wheel, slots, now);
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
 * bucket that has yet to expire, nor while there are nodes to be placed anew.
 */
void twheel_queue_forward(struct twheel_queue *queue, u64 now)
{
	const struct twheel_bucket *first = queue_first(queue);

	if (!list_empty(&queue->stray))
		return;
	if (first && first->expires <= now)
		now = first->expires - 1;
	if (now > queue->wheel.now)
		queue->wheel.now = now;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_forward);

/**
 * twheel_queue_add - add a node
 * @queue: the queue
 * @node: in no list; its @expires is the tick at which it is due, or
 *	TWHEEL_TICK_NEVER
 *
 * A tick that has passed makes it due at once.
 *
 * Return: the tick at which there is something to do for this node: its bucket's, or
 * the wheel's own if it is due; TWHEEL_TICK_NEVER.
 */
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node)
{
	queue->nr_nodes++;
	return twheel_queue_replace(queue, node);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_add);

/**
 * twheel_queue_next - when is there something to do next?
 * @queue: the queue
 *
 * Return: the tick of the earliest bucket, the wheel's own if something is
 * due or to be placed anew, TWHEEL_TICK_NEVER if nothing will be.
 */
u64 twheel_queue_next(const struct twheel_queue *queue)
{
	const struct twheel_bucket *first;

	if (!list_empty(&queue->due) || !list_empty(&queue->stray))
		return queue->wheel.now;
	first = queue_first(queue);
	return first ? first->expires : TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_next);

/*
 * Empty a bucket that expires now, within a budget of nodes to move. On level
 * 0 all nodes are due at its very tick and move as one list, however many;
 * unless some are only there because the wheel doesn't reach further.
 */
static unsigned int bucket_expire(struct twheel_queue *queue,
				  struct twheel_bucket *bucket, unsigned int budget)
{
	struct twheel_node *node;

	if (bucket->level == 0 && !bucket->far)
		list_splice_tail_init(&bucket->nodes, &queue->due);

	while (budget && !list_empty(&bucket->nodes)) {
		node = list_first_entry(&bucket->nodes, struct twheel_node, entry);
		list_del(&node->entry);
		/* The next one is on its way by that; this is the one after it. */
		prefetchw(bucket->nodes.next->next);
		/* A coarse one may be due on a high level. */
		queue->nr_cascaded += node->expires > queue->wheel.now;
		queue_place(queue, node);
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
 * taken out: the wheel stands at the tick of the bucket in hand. All nodes that
 * twheel_queue_gather() took have been placed.
 *
 * Return: true if there is more to do: nodes to pop, or buckets to expire.
 */
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget)
{
	struct twheel_bucket *bucket;

	WARN_ON_ONCE(!list_empty(&queue->stray));
	while ((bucket = queue_first(queue)) && bucket->expires <= now) {
		if (!budget)
			return true;
		queue->wheel.now = bucket->expires;
		budget = bucket_expire(queue, bucket, budget - 1);
		if (!list_empty(&bucket->nodes))
			return true;
		queue_remove(queue, bucket);
	}
	twheel_queue_forward(queue, now);
	return !list_empty(&queue->due);
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
 * twheel_queue_gather - take all nodes out of their places, and set time back
 * @queue: the queue
 * @now: the tick it is, which may lie behind the wheel's; if it lies ahead, the
 *	wheel stays where it is, so that twheel_queue_advance() finds what is
 *	due in its order
 *
 * Takes a step for each bucket in use, and none for a node. Each node is then to be
 * had from twheel_queue_pop_stray(), those of an earlier bucket first. What is
 * due stays due: its tick has come, once.
 */
void twheel_queue_gather(struct twheel_queue *queue, u64 now)
{
	struct twheel_bucket *bucket;

	if (now < queue->wheel.now)
		queue->wheel.now = now;
	while ((bucket = queue_first(queue))) {
		list_splice_tail_init(&bucket->nodes, &queue->stray);
		queue_remove(queue, bucket);
	}
	list_splice_tail_init(&queue->never, &queue->stray);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_gather);

/**
 * twheel_queue_pop_stray - take the next node that is to be placed anew
 * @queue: the queue
 *
 * It still counts as a node of the queue, and goes back by
 * twheel_queue_replace() or twheel_queue_expire().
 *
 * Return: the node, or NULL.
 */
struct twheel_node *twheel_queue_pop_stray(struct twheel_queue *queue)
{
	struct twheel_node *node;

	node = list_first_entry_or_null(&queue->stray, struct twheel_node, entry);
	if (node)
		list_del(&node->entry);
	return node;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_pop_stray);

/**
 * twheel_queue_replace - put a stray node where it belongs now
 * @queue: the queue
 * @node: from twheel_queue_pop_stray()
 *
 * Return: as twheel_queue_add().
 */
u64 twheel_queue_replace(struct twheel_queue *queue, struct twheel_node *node)
{
	if (likely(node->expires != TWHEEL_TICK_NEVER))
		return queue_place(queue, node);
	list_add_tail(&node->entry, &queue->never);
	return TWHEEL_TICK_NEVER;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_queue_replace);

/**
 * twheel_queue_expire - make a stray node due
 * @queue: the queue
 * @node: from twheel_queue_pop_stray()
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
 * So that whoever empties a queue holds its lock for a step only, however many
 * nodes and buckets there are.
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
		from = &queue->stray;
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
