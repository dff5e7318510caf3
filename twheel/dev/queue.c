// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: event queues.
 *
 * An ended operation is its own event: it moves from the list of pending operations to the
 * list of events, so delivery allocates nothing.
 *
 * Fresh events
 * ============
 *
 * The thread that ends an operation does not take the lock: it pushes the operation on ->fresh.
 * A thread that needs the lists or the counts takes the lock and collects the fresh events with
 * twheel_events_collect(). Only then does an operation leave the pending list. ->fresh may be
 * long and has the newest operation first, but the lock is held for few operations at a time:
 *
 *	1. If ->rest is empty, an atomic exchange moves all of ->fresh to it.
 *	2. Operations move from ->rest to the head of ->collected, which reverses their order,
 *	   and are counted as ended. This may take several critical sections.
 *	3. When ->rest is empty, ->collected is appended to ->events.
 *
 * ->fresh is NULL if the queue is empty, and NONE_FRESH if all events are on the other lists. A
 * reader that takes the last event changes NONE_FRESH to NULL. Hence a thread that replaces
 * NULL has made the queue non-empty, and a check for events reads one word.
 *
 * Waiters
 * =======
 *
 * Threads in read() and epoll instances with EPOLLEXCLUSIVE are exclusive waiters, at the tail
 * of ->waiters. All others, here called pollers, are in front of them.
 *
 *	event			wakes
 *	queue was empty		all pollers and an exclusive waiter
 *	queue was not empty	an exclusive waiter
 *	reader leaves events	all pollers and an exclusive waiter
 *	end of the queue	all waiters
 *
 * A poller has been woken since the queue was empty, and checks for events before it sleeps
 * again. But only one of the exclusive waiters has been woken, and that may never read: an
 * epoll instance whose process exits wakes no other one. So each event wakes another one.
 *
 * A user can multiply the waiters of a queue to which another user adds events. A thread that
 * ends an operation therefore visits at most WAKE_DIRECT waiters of each kind. If there are
 * more, a work item does the rest, once for all events that were pushed before. It visits
 * WAKE_MAX waiters at a time and then lets the work items of other queues run; wake_up() would
 * visit all of them with interrupts off. An ordered workqueue serves all queues, so that this
 * takes one thread.
 *
 * The lock is taken in process context only, and before all locks of op/ and core/.
 */
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "queue.h"

/* Number of operations that are collected, and taken by a reader, with the lock held. */
#define COLLECT_MAX	16

/* Number of waiters of each kind that are visited by the thread that ends an operation. */
#define WAKE_DIRECT	4

/* Number of waiters visited by the work item with the lock of the wait queue held. */
#define WAKE_MAX	32

/* No event is fresh, but others can be read. Also the end of the list, like NULL. */
#define NONE_FRESH	((struct twheel_file_op *)1UL)

/* Wakes waiters, in turn for all event queues. */
static struct workqueue_struct *wake_wq;

int __init twheel_queues_init(void)
{
	wake_wq = alloc_ordered_workqueue("twheel_wake", 0);
	return wake_wq ? 0 : -ENOMEM;
}

void twheel_queues_exit(void)
{
	destroy_workqueue(wake_wq);
}

/* Another walk calls this for the mark of a walk. */
static int wake_nobody(struct wait_queue_entry *mark, unsigned int mode, int flags, void *key)
{
	return 0;
}

/*
 * Visit up to @max waiters of one kind after @mark, which moves behind them: with WAKE_POLLERS from
 * the first one, with WAKE_EXCLUSIVE from the latest one. So the walk ends although waiters are
 * added. Returns true, with @mark in the wait queue, if there are more.
 */
static bool wake_some(struct twheel_events *events, struct wait_queue_entry *mark, u32 what,
		      u32 kind, u32 max)
{
	void *key = what & WAKE_END ? NULL : poll_to_key(EPOLLIN | EPOLLRDNORM);
	u32 flag = kind == WAKE_EXCLUSIVE ? WQ_FLAG_EXCLUSIVE : 0;
	struct wait_queue_head *waiters = &events->waiters;
	struct wait_queue_entry *waiter;
	unsigned long irq_flags;
	struct list_head *pos;
	bool more;

	if (!(what & kind))
		return false;
	spin_lock_irqsave(&waiters->lock, irq_flags);
	if (list_empty(&mark->entry)) {
		mark->flags = flag;
		list_add(&mark->entry, flag ? waiters->head.prev : &waiters->head);
	}
	for (;;) {
		pos = flag ? mark->entry.prev : mark->entry.next;
		waiter = list_entry(pos, struct wait_queue_entry, entry);
		more = pos != &waiters->head && (waiter->flags & WQ_FLAG_EXCLUSIVE) == flag;
		if (!more || !max--)
			break;
		list_move(&mark->entry, flag ? pos->prev : pos);
		/* This may remove the waiter. */
		more = waiter->func(waiter, TASK_INTERRUPTIBLE, 0, key) <= 0;
		if (!more && flag && !(what & WAKE_END))
			break;
	}
	if (!more)
		list_del_init(&mark->entry);
	spin_unlock_irqrestore(&waiters->lock, irq_flags);
	return more;
}

/* Returns true if some waiters are left to the work item. */
static bool wake_direct(struct twheel_events *events, u32 what, u32 kind)
{
	struct wait_queue_entry mark = {
		.func	= wake_nobody,
		.entry	= LIST_HEAD_INIT(mark.entry),
	};
	bool more = wake_some(events, &mark, what, kind, WAKE_DIRECT);

	if (more)
		remove_wait_queue(&events->waiters, &mark);
	return more;
}

/* A callback may get here after a reader has forgotten its operation and closed the file. */
static void events_wake_later(struct twheel_events *events, u32 what)
{
	spin_lock(&events->lock);
	if (!events->closed) {
		WRITE_ONCE(events->wake, events->wake | what);
		queue_work(wake_wq, &events->wake_work);
	}
	spin_unlock(&events->lock);
}

/* Visit WAKE_MAX waiters. If there are more, the work items of other queues run first. */
static void events_wake_work(struct work_struct *work)
{
	struct twheel_events *events = container_of(work, struct twheel_events, wake_work);
	u32 what;

	if (!events->waking) {
		spin_lock(&events->lock);
		events->waking = events->wake;
		WRITE_ONCE(events->wake, 0);
		spin_unlock(&events->lock);
	}
	what = events->waking;
	if (!wake_some(events, &events->mark, what, WAKE_POLLERS, WAKE_MAX)) {
		what &= ~WAKE_POLLERS;
		if (!wake_some(events, &events->mark, what, WAKE_EXCLUSIVE, WAKE_MAX))
			what = 0;
	}
	events->waking = what;
	/* A store of ->wake that this does not see queues the work item itself. */
	if (what || READ_ONCE(events->wake))
		events_wake_later(events, 0);
}

/*
 * Wake waiters after an event was pushed or the queue was shut. The caller
 * keeps the queue: it holds a reference to an operation or to the file.
 *
 *	CPU 0					CPU 1
 *	twheel_event_push()			waiter, for example twheel_events_poll()
 *	  cmpxchg(fresh, NULL, op)		  add to ->waiters
 *	  full barrier				  smp_mb()
 *	waitqueue_active()?			  READ_ONCE(fresh)
 *
 * Either CPU 0 sees the waiter, or CPU 1 sees an event. If CPU 1 reads NULL, the push that
 * replaces this NULL has "queue was empty" as its result, and wakes the pollers. The barrier
 * of CPU 1 is in twheel_events_poll() or in the set_current_state() of prepare_to_wait_event().
 * The barrier of CPU 0 is the cmpxchg() of twheel_event_push(), the smp_mb() of events_wake_next()
 * in event.c, or for the end of the queue, ->lock on both sides.
 */
void twheel_events_wake(struct twheel_events *events, u32 what)
{
	u32 later = 0;

	/* After the barrier of CPU 0. */
	if (!waitqueue_active(&events->waiters))
		return;
	later |= wake_direct(events, what, WAKE_POLLERS) ? WAKE_POLLERS : 0;
	later |= wake_direct(events, what, WAKE_EXCLUSIVE) ? WAKE_EXCLUSIVE : 0;
	if (unlikely(later))
		events_wake_later(events, later | (what & WAKE_END));
}

/* At the end of the queue all waiters must return. */
static void events_wake_all(struct twheel_events *events)
{
	twheel_events_wake(events, WAKE_EVENT | WAKE_END);
}

/* @events is zeroed. */
void twheel_events_init(struct twheel_events *events)
{
	spin_lock_init(&events->lock);
	INIT_LIST_HEAD(&events->pending);
	init_waitqueue_head(&events->waiters);
	events->mark.func = wake_nobody;
	INIT_LIST_HEAD(&events->mark.entry);
	INIT_WORK(&events->wake_work, events_wake_work);
}

/* The queue has no waiters, and none can be added. May sleep. */
void twheel_events_close(struct twheel_events *events)
{
	spin_lock(&events->lock);
	events->closed = true;
	spin_unlock(&events->lock);
	cancel_work_sync(&events->wake_work);
}

/* Uncharge @nr operations that are not pending. */
void twheel_events_uncharge(struct twheel_events *events, u32 nr)
{
	bool at_end;

	spin_lock(&events->lock);
	WRITE_ONCE(events->held, events->held - nr);
	at_end = events->shut && !events->held;
	spin_unlock(&events->lock);
	if (at_end)
		events_wake_all(events);
}

/* Refuse further adds. */
void twheel_events_shut(struct twheel_events *events)
{
	spin_lock(&events->lock);
	WRITE_ONCE(events->shut, true);
	spin_unlock(&events->lock);
	/* Pairs with the barrier in twheel_call_add(). */
	smp_mb();
	events_wake_all(events);
}

/* Is the queue shut and completely read? */
bool twheel_events_at_end(struct twheel_events *events)
{
	bool at_end;

	spin_lock(&events->lock);
	at_end = events->shut && !events->held;
	spin_unlock(&events->lock);
	return at_end;
}

static bool at_end_of_list(const struct twheel_file_op *file_op)
{
	return !file_op || file_op == NONE_FRESH;
}

/*
 * Push an operation on ->fresh; no lock is needed. A full barrier, see twheel_events_wake().
 * Returns true if the queue was empty.
 */
bool twheel_event_push(struct twheel_events *events, struct twheel_file_op *file_op)
{
	struct twheel_file_op *first = READ_ONCE(events->fresh);

	do {
		file_op->next = first;
		/* Pairs with the xchg() in twheel_events_collect(). */
	} while (!try_cmpxchg(&events->fresh, &first, file_op));
	return !first;
}

/*
 * Queue the event of a periodic operation, with the lock of its event queue held. Returns true
 * if the queue was empty.
 */
bool twheel_event_queue(struct twheel_events *events, struct twheel_file_op *file_op)
{
	lockdep_assert_held(&events->lock);
	if (file_op->queued || file_op->reading)
		return false;
	file_op->queued = true;
	return twheel_event_push(events, file_op);
}

/* An operation of io_uring has ended. Its event is not in the queue. */
void twheel_events_leave(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;

	spin_lock(&events->lock);
	file_op->ended = true;
	list_del_init(&file_op->entry);
	WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	spin_unlock(&events->lock);
}

/*
 * The event of an operation that left the queue could not be delivered: queue it. Until it is
 * collected, the operation counts as pending, like others whose event is fresh. Returns true if
 * the queue was empty.
 */
bool twheel_event_return(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;
	bool was_empty;

	spin_lock(&events->lock);
	list_add_tail(&file_op->entry, &events->pending);
	WRITE_ONCE(events->nr_pending, events->nr_pending + 1);
	was_empty = twheel_event_push(events, file_op);
	spin_unlock(&events->lock);
	return was_empty;
}

static void event_collect(struct twheel_events *events, struct twheel_file_op *file_op)
{
	/* The end of a periodic operation changes this under the lock. */
	if (!twheel_file_op_periodic(file_op)) {
		file_op->ended = true;
		file_op->queued = true;
		list_del_init(&file_op->entry);
		WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	}
	file_op->next = events->collected;
	if (!events->collected)
		events->newest = file_op;
	events->collected = file_op;
	WRITE_ONCE(events->unread, events->unread + 1);
}

/* Append the collected operations to those with an event to read. */
static void events_append(struct twheel_events *events)
{
	if (!events->collected)
		return;
	if (events->events)
		events->tail->next = events->collected;
	else
		events->events = events->collected;
	events->tail = events->newest;
	events->collected = NULL;
}

/*
 * Collect operations with fresh events, with the lock held. At least one is collected, if
 * there are any. Returns true if there are more.
 */
bool twheel_events_collect(struct twheel_events *events)
{
	struct twheel_file_op *file_op;
	u32 nr;

	lockdep_assert_held(&events->lock);
	if (at_end_of_list(events->rest) && !at_end_of_list(READ_ONCE(events->fresh)))
		events->rest = xchg(&events->fresh, NONE_FRESH);
	for (nr = 0; nr < COLLECT_MAX && !at_end_of_list(events->rest); nr++) {
		file_op = events->rest;
		events->rest = file_op->next;
		event_collect(events, file_op);
	}
	if (!at_end_of_list(events->rest))
		return true;
	events_append(events);
	return !at_end_of_list(READ_ONCE(events->fresh));
}

/*
 * Collect operations with fresh events, so that the counts are exact for events that were
 * queued before the call: as many as were pending or unread then, so that it returns no matter
 * how many are added and end meanwhile. @flags is TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP. May
 * sleep.
 */
void twheel_events_collect_all(struct twheel_events *events, unsigned int flags)
{
	u32 todo = READ_ONCE(events->held), unread, nr;
	bool more;

	do {
		spin_lock(&events->lock);
		unread = events->unread;
		more = twheel_events_collect(events);
		nr = events->unread - unread;
		spin_unlock(&events->lock);
		todo -= min(nr, todo);
		cond_resched();
	} while (more && todo && !(flags & TWHEEL_KILLABLE && fatal_signal_pending(current)));
}

/* Take up to COLLECT_MAX operations, as many as the lock may be held for. Returns their number. */
static u32 events_take(struct twheel_events *events, struct twheel_file_op **file_ops, u32 max)
{
	struct twheel_file_op *file_op;
	u32 nr = 0;

	spin_lock(&events->lock);
	twheel_events_collect(events);
	max = min_t(u32, max, COLLECT_MAX);
	while (nr < max && events->events) {
		file_op = events->events;
		events->events = file_op->next;
		file_op->queued = false;
		file_op->reading = true;
		file_ops[nr++] = file_op;
	}
	WRITE_ONCE(events->unread, events->unread - nr);
	/* The queue is empty, unless an event is fresh. */
	if (!events->unread && at_end_of_list(events->rest) &&
	    READ_ONCE(events->fresh) == NONE_FRESH)
		cmpxchg(&events->fresh, NONE_FRESH, NULL);
	spin_unlock(&events->lock);
	return nr;
}

/*
 * Take up to @max operations with events off the head of the list. Returns their number; it may
 * be 0 while the collection takes longer.
 */
u32 twheel_events_take(struct twheel_events *events, struct twheel_file_op **file_ops, u32 max)
{
	u32 nr = 0, taken;

	do {
		taken = events_take(events, &file_ops[nr], max - nr);
		nr += taken;
	} while (taken == COLLECT_MAX && nr < max);
	return nr;
}

/* Put an event back at the head of the list. */
void twheel_event_put_back(struct twheel_events *events, struct twheel_file_op *file_op)
{
	lockdep_assert_held(&events->lock);
	file_op->reading = false;
	file_op->queued = true;
	file_op->next = events->events;
	if (!events->events)
		events->tail = file_op;
	events->events = file_op;
	WRITE_ONCE(events->unread, events->unread + 1);
	cmpxchg(&events->fresh, NULL, NONE_FRESH);
}

__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait)
{
	poll_wait(file, &events->waiters, wait);
	/* See twheel_events_wake(). */
	smp_mb();
	if (twheel_events_readable(events))
		return EPOLLIN | EPOLLRDNORM;
	return twheel_events_at_end(events) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}
