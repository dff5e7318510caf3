/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the queues of detached operations, see detached.c. */
#ifndef _TWHEEL_DEV_DETACHED_H
#define _TWHEEL_DEV_DETACHED_H

#include <linux/container_of.h>
#include <linux/kref.h>
#include <linux/types.h>

#include "file_op.h"
#include "instance.h"
#include "queue.h"

/**
 * struct twheel_detached - a queue of detached operations
 * @events: the queue
 * @number: its index in the queues of the instance; immutable
 * @users: descriptors, and operations that are charged; protected by the lock of these queues
 * @ref: one while it has users, and one per operation in memory
 */
struct twheel_detached {
	struct twheel_events	events;
	u32			number;
	u32			users;
	struct kref		ref;
};

/* The queue of a detached operation. */
static inline struct twheel_detached *twheel_file_op_detached(const struct twheel_file_op *file_op)
{
	return container_of(file_op->events, struct twheel_detached, events);
}

bool twheel_detached_valid(const struct twheel_instance *instance, u32 number);
struct twheel_detached *twheel_detached_get(struct twheel_instance *instance, u32 number);
void twheel_detached_put(struct twheel_instance *instance, struct twheel_detached *detached,
			 u32 nr);
void twheel_detached_free(struct twheel_detached *detached);
struct twheel_detached *twheel_detached_next(struct twheel_instance *instance,
					     unsigned long *number);
void twheel_detached_visit(struct twheel_instance *instance,
			   bool (*visit)(struct twheel_events *events, void *data), void *data);

#endif /* _TWHEEL_DEV_DETACHED_H */
