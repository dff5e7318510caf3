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
 * @stray: nodes that are to be placed anew, since time was set back
 * @nr_nodes: how many nodes there are in all
 * @nr_cascaded: how many moves down a level there have been
 */
struct twheel_queue {
	struct twheel_wheel	wheel;
	struct rb_root_cached	buckets;
	struct list_head	due;
	struct list_head	never;
	struct list_head	stray;
	u64			nr_nodes;
	u64			nr_cascaded;
};

int twheel_queue_init(struct twheel_queue *queue, unsigned int slots, u64 now);
void twheel_queue_destroy(struct twheel_queue *queue);

void twheel_queue_forward(struct twheel_queue *queue, u64 now);
u64 twheel_queue_add(struct twheel_queue *queue, struct twheel_node *node);
u64 twheel_queue_next(const struct twheel_queue *queue);
bool twheel_queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget);
struct twheel_node *twheel_queue_pop(struct twheel_queue *queue);

void twheel_queue_gather(struct twheel_queue *queue, u64 now);
struct twheel_node *twheel_queue_pop_stray(struct twheel_queue *queue);
u64 twheel_queue_replace(struct twheel_queue *queue, struct twheel_node *node);
void twheel_queue_expire(struct twheel_queue *queue, struct twheel_node *node);

bool twheel_queue_take(struct twheel_queue *queue, struct twheel_node **node);

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
