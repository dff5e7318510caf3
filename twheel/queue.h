/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 2: the buckets that hold something, by expiry. See queue.c. */
#ifndef _TWHEEL_QUEUE_H
#define _TWHEEL_QUEUE_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "wheel.h"

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

#endif /* _TWHEEL_QUEUE_H */
