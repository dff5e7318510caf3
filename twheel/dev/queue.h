/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: event queues, see queue.c. */
#ifndef _TWHEEL_DEV_QUEUE_H
#define _TWHEEL_DEV_QUEUE_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "file_op.h"

/**
 * struct twheel_pollers - a wait queue of pollers, see queue.c
 * @waiters: the pollers
 * @nr: number of pollers that were added since it was empty
 * @next: next one of the event queue, or NULL
 */
struct twheel_pollers {
	wait_queue_head_t	waiters;
	u32			nr;
	struct twheel_pollers	*next;
};

/**
 * struct twheel_events - an event queue
 * @lock: protects all fields up to @fresh
 * @nr_pending: number of pending operations, including adds in progress and uncollected ends
 * @unread: number of operations on @events and @collected
 * @held: number of operations that are charged: pending, or with an unread final event
 * @shut: adds are refused; read() returns 0 once @held is 0
 * @closed: @wake_work must not be queued
 * @wake: pollers have to be woken that @wake_work may have visited before
 * @polled: wait queue of the latest poller
 * @events: operations with an event to read, oldest first
 * @tail: last operation on @events
 * @rest: operations that have been taken from @fresh, newest first
 * @collected: operations from the head of @rest, oldest first; appended to @events when @rest
 *	is empty
 * @newest: last operation on @collected
 * @fresh: operations with a new event, newest first; pushed without the lock. NULL if and only
 *	if no event can be read.
 * @readers: threads in read()
 * @pollers: waiters of poll(), epoll and io_uring
 * @wake_work: wakes @pollers
 * @waking: next wait queue to visit, or NULL; used by @wake_work only
 *
 * Each file has a queue for the operations added through it. A named purgatory has numbered ones
 * for its detached operations.
 */
struct twheel_events {
	spinlock_t		lock;	/* of the fields up to fresh */
	u32			nr_pending;
	u32			unread;
	u32			held;
	bool			shut;
	bool			closed;
	bool			wake;
	struct twheel_pollers	*polled;
	struct twheel_file_op	*events;
	struct twheel_file_op	*tail;
	struct twheel_file_op	*rest;
	struct twheel_file_op	*collected;
	struct twheel_file_op	*newest;
	/* Written by each end of an operation; apart from the members above. */
	struct twheel_file_op	*fresh ____cacheline_aligned_in_smp;
	wait_queue_head_t	readers;
	struct twheel_pollers	pollers;
	struct work_struct	wake_work;
	struct twheel_pollers	*waking;
};

/* An event that has been pushed is readable until a reader takes it. */
static inline bool twheel_events_readable(const struct twheel_events *events)
{
	return READ_ONCE(events->fresh);
}

/* Charge a new operation, with the lock of its event queue held. */
static inline void twheel_events_add(struct twheel_events *events)
{
	lockdep_assert_held(&events->lock);
	WRITE_ONCE(events->nr_pending, events->nr_pending + 1);
	WRITE_ONCE(events->held, events->held + 1);
}

void twheel_events_wake(struct twheel_events *events, bool pollers);
int __init twheel_queues_init(void);
void twheel_queues_exit(void);
void twheel_events_init(struct twheel_events *events);
void twheel_events_close(struct twheel_events *events);
void twheel_events_shut(struct twheel_events *events);
void twheel_events_uncharge(struct twheel_events *events, u32 nr);
bool twheel_events_at_end(struct twheel_events *events);
bool twheel_event_push(struct twheel_events *events, struct twheel_file_op *file_op);
bool twheel_event_queue(struct twheel_events *events, struct twheel_file_op *file_op);
void twheel_event_put_back(struct twheel_events *events, struct twheel_file_op *file_op);
u32 twheel_events_take(struct twheel_events *events, struct twheel_file_op **file_ops, u32 max);
bool twheel_events_collect(struct twheel_events *events);
void twheel_events_collect_all(struct twheel_events *events, unsigned int flags);
int twheel_events_wait(struct twheel_events *events);
__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait);

#endif /* _TWHEEL_DEV_QUEUE_H */
