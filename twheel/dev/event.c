// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: event queues.
 *
 * An ended operation is its own event: it moves from the list of pending operations to the
 * list of events, so delivery allocates nothing. A periodic operation is queued when a period
 * expires. Periods that expire before it is read are added to the same event.
 *
 * Under the lock of its event queue an operation is in one of three states:
 *
 *	idle ------> queued ------> reading ------> idle
 *	     event          read            delivered: forgotten if the event was its
 *	                                    last, queued if it has ended meanwhile
 *	             queued <------ reading
 *	                    not delivered
 *
 * A reader takes a batch off the head of the list, copies it without the lock, and puts the
 * events that were not delivered back in order. An event is delivered when all of it has
 * been copied to the reader's buffer.
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
 *	queue was empty		all pollers and an exclusive waiter; SIGIO is sent
 *	queue was not empty	an exclusive waiter
 *	reader leaves events	all pollers and an exclusive waiter
 *	end of the queue	all waiters; SIGIO is sent
 *
 * A poller has been woken since the queue was empty, and checks for events before it sleeps
 * again. But only one of the exclusive waiters has been woken, and that may never read: an
 * epoll instance whose process exits wakes no other one. So each event wakes another one.
 *
 * A user can multiply the waiters, and the receivers of signals, of a queue to which another
 * user adds events. A thread that ends an operation therefore visits at most WAKE_DIRECT
 * waiters of each kind. If there are more, or a signal is to be sent, a work item does the
 * rest, once for all events that were pushed before. It visits WAKE_MAX waiters at a time and
 * then lets the work items of other queues run; wake_up() would visit all of them with
 * interrupts off. An ordered workqueue serves all queues, so that this takes one thread.
 *
 * The lock is taken in process context only, and before all locks of op/ and core/.
 */
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "dev.h"

/* Number of events copied at a time: 1 KiB on the stack. */
#define EVENT_BATCH	8

/* Number of operations collected at a time. A reader also takes a batch with the lock held. */
#define COLLECT_MAX	16

/* Number of waiters of each kind that are visited by the thread that ends an operation. */
#define WAKE_DIRECT	4

/* Number of waiters visited by the work item with the lock of the wait queue held. */
#define WAKE_MAX	32

/* Number of files of a queue that may be asynchronous. */
#define ASYNC_MAX	8

/* For ->wake. */
#define WAKE_POLLERS	BIT(0)
#define WAKE_EXCLUSIVE	BIT(1)	/* one exclusive waiter */
#define WAKE_SIGIO	BIT(2)
#define WAKE_END	BIT(3)	/* all exclusive waiters, and SIGIO for the end */

#define WAKE_EVENT	(WAKE_POLLERS | WAKE_EXCLUSIVE)

/* No event is fresh, but others can be read. Also the end of the list, like NULL. */
#define NONE_FRESH	((struct twheel_file_op *)1UL)

static_assert(sizeof(struct twheel_event) == 128);

/* Events that a reader took off the list; @refilled: it made the empty list non-empty since. */
struct events_taken {
	u32			nr;
	bool			refilled;
	struct twheel_file_op	*file_op[EVENT_BATCH];
	struct twheel_event	event[EVENT_BATCH];
};

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
		queue_work(twheel_wake_wq, &events->wake_work);
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
		if (!wake_some(events, &events->mark, what, WAKE_EXCLUSIVE, WAKE_MAX)) {
			if (what & WAKE_SIGIO)
				kill_fasync(&events->async, SIGIO, POLL_IN);
			if (what & WAKE_END)
				kill_fasync(&events->async, SIGIO, POLL_HUP);
			what = 0;
		}
	}
	events->waking = what;
	if (what || READ_ONCE(events->wake))
		events_wake_later(events, 0);
}

/*
 * Wake waiters and send signals after an event was pushed or the queue was shut. The caller
 * keeps the queue: it holds a reference to an operation or to the file.
 *
 *	CPU 0					CPU 1
 *	event_push()				waiter, for example twheel_events_poll()
 *	  cmpxchg(fresh, NULL, op)		  add to ->waiters
 *	  full barrier				  smp_mb()
 *	waitqueue_active()?			  READ_ONCE(fresh)
 *
 * Either CPU 0 sees the waiter, or CPU 1 sees an event. If CPU 1 reads NULL, the push that
 * replaces this NULL has "queue was empty" as its result, and wakes the pollers. The barrier
 * of CPU 1 is in twheel_events_poll() or in the set_current_state() of prepare_to_wait_event().
 * The barrier of CPU 0 is the cmpxchg() of event_push(), the smp_mb() of events_wake_next(), or
 * for the end of the queue, ->lock on both sides.
 */
static void events_wake(struct twheel_events *events, u32 what)
{
	u32 later = 0;

	/* After the barrier of CPU 0. */
	if (waitqueue_active(&events->waiters)) {
		later |= wake_direct(events, what, WAKE_POLLERS) ? WAKE_POLLERS : 0;
		later |= wake_direct(events, what, WAKE_EXCLUSIVE) ? WAKE_EXCLUSIVE : 0;
		later |= later ? what & WAKE_END : 0;
	}
	if (what & (WAKE_SIGIO | WAKE_END) && READ_ONCE(events->async))
		later |= what & (WAKE_SIGIO | WAKE_END);
	if (unlikely(later))
		events_wake_later(events, later);
}

/* At the end of the queue all waiters must return. */
static void events_wake_all(struct twheel_events *events)
{
	events_wake(events, WAKE_EVENT | WAKE_END);
}

/* @events is zeroed. */
void twheel_events_init(struct twheel_events *events)
{
	spin_lock_init(&events->lock);
	INIT_LIST_HEAD(&events->pending);
	INIT_LIST_HEAD(&events->events);
	INIT_LIST_HEAD(&events->collected);
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
	events_wake_all(events);
}

/* Is the queue shut and completely read? */
static bool events_at_end(struct twheel_events *events)
{
	bool at_end;

	spin_lock(&events->lock);
	at_end = events->shut && !events->held;
	spin_unlock(&events->lock);
	return at_end;
}

/* An event that has been pushed is readable until a reader takes it. */
static bool events_readable(const struct twheel_events *events)
{
	return READ_ONCE(events->fresh);
}

static bool at_end_of_list(const struct twheel_file_op *file_op)
{
	return !file_op || file_op == NONE_FRESH;
}

/*
 * Push an operation on ->fresh; no lock is needed. A full barrier, see events_wake().
 * Returns true if the queue was empty.
 */
static bool event_push(struct twheel_events *events, struct twheel_file_op *file_op)
{
	struct twheel_file_op *first = READ_ONCE(events->fresh);

	do {
		file_op->next = first;
		/* Pairs with the xchg() in twheel_events_collect(). */
	} while (!try_cmpxchg(&events->fresh, &first, file_op));
	return !first;
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
	list_add(&file_op->event, &events->collected);
	WRITE_ONCE(events->unread, events->unread + 1);
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
	list_splice_tail_init(&events->collected, &events->events);
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

/* Returns the first pending operation with a reference and moves it to the tail. */
static struct twheel_file_op *events_next_pending(struct twheel_events *events)
{
	struct twheel_file_op *file_op;

	spin_lock(&events->lock);
	twheel_events_collect(events);
	file_op = list_first_entry_or_null(&events->pending, struct twheel_file_op, entry);
	if (file_op) {
		list_move_tail(&file_op->entry, &events->pending);
		twheel_op_get(&file_op->op);
	}
	spin_unlock(&events->lock);
	return file_op;
}

/*
 * Cancel an operation of a queue that has been shut, and wait for its callback. Returns true if
 * this call ended it. If it has not been added yet, the adder cancels it, see
 * file_op_end_late(). It leaves the pending list, so that it is not visited again.
 */
static bool event_cancel(struct twheel_events *events, struct twheel_file_op *file_op)
{
	int err = twheel_op_cancel_sync(&file_op->op);

	if (err == -ENOENT) {
		spin_lock(&events->lock);
		list_del_init(&file_op->entry);
		spin_unlock(&events->lock);
	}
	return !err;
}

/*
 * End all pending operations of a queue. @reason is TWHEEL_REASON_CANCELLED for a queue that has
 * been shut: an add in progress cancels its own operation, and no callback of an ended operation
 * is running on return. Otherwise it is TWHEEL_REASON_COMPLETED, and operations added during the
 * call may or may not be ended. @flags is TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP. May sleep.
 *
 * Returns the number of operations ended by this call.
 */
u32 twheel_events_end_all(struct twheel_events *events, enum twheel_reason reason, int error,
			  u64 value, unsigned int flags)
{
	bool cancel = reason == TWHEEL_REASON_CANCELLED;
	u32 todo = READ_ONCE(events->nr_pending), nr = 0;
	struct twheel_file_op *file_op;

	/* An operation that another thread is ending may be visited more than once. */
	while ((cancel || todo--) &&
	       !(flags & TWHEEL_KILLABLE && fatal_signal_pending(current)) &&
	       (file_op = events_next_pending(events))) {
		nr += cancel ? event_cancel(events, file_op) :
			       !twheel_op_end(&file_op->op, reason, error, value);
		twheel_file_op_put(file_op);
		cond_resched();
	}
	return nr;
}

/* Drop all events. The queue has no pending operations and no users. May sleep. */
void twheel_events_empty(struct twheel_events *events)
{
	struct twheel_file_op *file_ops[EVENT_BATCH], *file_op, *next;
	u32 nr = 0;

	twheel_events_collect_all(events, TWHEEL_MAY_SLEEP);
	list_for_each_entry_safe(file_op, next, &events->events, event) {
		file_ops[nr++] = file_op;
		if (nr < EVENT_BATCH)
			continue;
		twheel_file_ops_forget(file_ops, nr);
		nr = 0;
		cond_resched();
	}
	twheel_file_ops_forget(file_ops, nr);
}

/*
 * Queue the event of a periodic operation, with the lock of its event queue held. Returns true
 * if the queue was empty: the caller passes this to twheel_event_wake() after unlocking.
 */
bool twheel_event_queue(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;

	lockdep_assert_held(&events->lock);
	if (file_op->queued || file_op->reading)
		return false;
	file_op->queued = true;
	return event_push(events, file_op);
}

/* Wake waiters after an event was pushed. */
void twheel_event_wake(struct twheel_events *events, bool was_empty)
{
	events_wake(events, was_empty ? WAKE_EVENT | WAKE_SIGIO : WAKE_EXCLUSIVE);
}

static bool periodic_ended(struct twheel_events *events, struct twheel_file_periodic *periodic)
{
	struct twheel_file_op *file_op = periodic->file_op;
	bool was_empty;

	spin_lock(&events->lock);
	twheel_file_periodic_catch_up(periodic);
	file_op->ended = true;
	list_del_init(&file_op->entry);
	WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	was_empty = twheel_event_queue(file_op);
	spin_unlock(&events->lock);
	/* A running timer callback sees ->ended. */
	twheel_periodic_cancel(&periodic->periodic);
	return was_empty;
}

/*
 * Callback of an operation that has ended: queue its event. A reader may drop the reference of
 * the queue once the event is queued. op/ keeps a reference until this function has returned,
 * and so the operation, its file and instance, and the queue.
 */
void twheel_event_ended(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_events *events = file_op->events;
	bool was_empty;

	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&file_op->file->nr_detached);
	if (unlikely(periodic))
		was_empty = periodic_ended(events, periodic);
	else
		was_empty = event_push(events, file_op);
	twheel_event_wake(events, was_empty);
}

static void event_fill(struct twheel_file_op *file_op, struct twheel_event *event)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_op_result result = { .reason = TWHEEL_REASON_EXPIRED };
	s64 offset = twheel_file_op_offset(file_op);

	if (file_op->ended)
		twheel_op_get_result(&file_op->op, &result);
	else if (periodic)
		twheel_file_periodic_catch_up(periodic);
	*event = (struct twheel_event) {
		.id		= file_op->id,
		.cookie		= file_op->cookie,
		.value		= result.value,
		.deadline	= result.deadline,
		.time		= result.time,
		.reason		= result.reason,
		.flags		= file_op->ended ? 0 : TWHEEL_EVENT_MORE,
		.error		= result.error,
		.clock		= file_op->clock,
		.expirations	= result.reason == TWHEEL_REASON_EXPIRED,
		.satisfied	= result.satisfied,
		.missing	= result.missing,
	};
	if (periodic)
		twheel_file_periodic_fill(periodic, event);
	event->deadline = twheel_time_shift(event->deadline, offset);
	event->time = twheel_time_shift(event->time, offset);
}

static void events_take(struct twheel_events *events, struct events_taken *taken, u32 max)
{
	struct twheel_file_op *file_op;

	taken->nr = 0;
	taken->refilled = false;
	spin_lock(&events->lock);
	twheel_events_collect(events);
	while (taken->nr < max && !list_empty(&events->events)) {
		file_op = list_first_entry(&events->events, struct twheel_file_op, event);
		list_del(&file_op->event);
		file_op->queued = false;
		file_op->reading = true;
		event_fill(file_op, &taken->event[taken->nr]);
		taken->file_op[taken->nr++] = file_op;
	}
	WRITE_ONCE(events->unread, events->unread - taken->nr);
	/* The queue is empty, unless an event is fresh. */
	if (!events->unread && at_end_of_list(events->rest) &&
	    READ_ONCE(events->fresh) == NONE_FRESH)
		cmpxchg(&events->fresh, NONE_FRESH, NULL);
	spin_unlock(&events->lock);
}

/* Put an event back at the head of the list. Returns true if the queue was empty. */
static bool event_put_back(struct twheel_events *events, struct twheel_file_op *file_op)
{
	lockdep_assert_held(&events->lock);
	file_op->reading = false;
	file_op->queued = true;
	list_add(&file_op->event, &events->events);
	WRITE_ONCE(events->unread, events->unread + 1);
	return !cmpxchg(&events->fresh, NULL, NONE_FRESH);
}

/* Put events that were not delivered back at the head of the list. */
static void events_put_back(struct twheel_events *events, struct events_taken *taken,
			    u32 delivered)
{
	u32 nr = taken->nr;

	spin_lock(&events->lock);
	while (nr > delivered)
		taken->refilled |= event_put_back(events, taken->file_op[--nr]);
	spin_unlock(&events->lock);
}

/* The event of a periodic operation was delivered, and is not its last one. */
static void event_delivered(struct twheel_events *events, struct events_taken *taken, u32 i)
{
	struct twheel_file_op *file_op = taken->file_op[i];
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);

	spin_lock(&events->lock);
	file_op->reading = false;
	periodic->expirations -= taken->event[i].expirations;
	if (file_op->ended)
		taken->refilled |= twheel_event_queue(file_op);
	else
		twheel_file_periodic_resume(periodic);
	spin_unlock(&events->lock);
}

/* Copy @nr events. Returns the number of events that were copied as a whole. */
static u32 events_copy(const struct twheel_event *event, u32 nr, struct iov_iter *to)
{
	size_t copied = copy_to_iter(event, nr * sizeof(*event), to);

	if (unlikely(copied < nr * sizeof(*event)))
		iov_iter_revert(to, copied % sizeof(*event));
	return copied / sizeof(*event);
}

/* Copy the taken events. Returns the number of delivered events. */
static u32 events_deliver(struct twheel_events *events, struct events_taken *taken,
			  struct iov_iter *to)
{
	u32 delivered = events_copy(taken->event, taken->nr, to);
	u32 i, nr_last = 0;

	if (unlikely(delivered < taken->nr)) {
		/* On arm64, a copy that ends at a fault may have written more than it reports. */
		while (delivered < taken->nr && events_copy(&taken->event[delivered], 1, to))
			delivered++;
		events_put_back(events, taken, delivered);
	}
	for (i = 0; i < delivered; i++) {
		if (taken->event[i].flags & TWHEEL_EVENT_MORE)
			event_delivered(events, taken, i);
		else
			taken->file_op[nr_last++] = taken->file_op[i];
	}
	twheel_file_ops_forget(taken->file_op, nr_last);
	return delivered;
}

/* Wake other waiters for events that this reader leaves. */
static void events_wake_next(struct twheel_events *events, bool signal)
{
	/* See events_wake(). */
	smp_mb();
	events_wake(events, signal ? WAKE_EVENT | WAKE_SIGIO : WAKE_EVENT);
}

/*
 * Deliver up to a buffer of events. Returns their number, -EFAULT if the first one cannot be
 * copied, or -ERESTARTSYS.
 */
static ssize_t events_read(struct twheel_events *events, struct iov_iter *to)
{
	size_t max = iov_iter_count(to) / sizeof(struct twheel_event), done = 0;
	struct events_taken taken;
	bool signal = false;
	u32 delivered;

	while (done < max && !fatal_signal_pending(current)) {
		events_take(events, &taken, min_t(size_t, max - done, EVENT_BATCH));
		/* None was taken, but some are readable: the collection takes longer. */
		if (!taken.nr && !events_readable(events))
			return done;
		delivered = events_deliver(events, &taken, to);
		done += delivered;
		signal |= taken.refilled;
		if (delivered < taken.nr) {
			/* Another reader may deliver the events that were put back. */
			events_wake_next(events, signal);
			return done ?: -EFAULT;
		}
		cond_resched();
	}
	/* This reader may have consumed the wake-up for the remaining events. */
	if (events_readable(events))
		events_wake_next(events, signal);
	return done ?: -ERESTARTSYS;
}

/*
 * Returns the number of delivered bytes, which is a multiple of the event size, or 0 at the
 * end of a queue that was shut. Errors: -EINVAL if the buffer is too small for an event,
 * -EAGAIN if there is none and the file is non-blocking, -EFAULT if the first event cannot
 * be copied, -ERESTARTSYS.
 */
ssize_t twheel_events_read(struct twheel_events *events, struct kiocb *iocb, struct iov_iter *to)
{
	bool wait = !(iocb->ki_filp->f_flags & O_NONBLOCK) && !(iocb->ki_flags & IOCB_NOWAIT);
	ssize_t ret;

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;
	while (!(ret = events_read(events, to))) {
		if (events_at_end(events))
			return 0;
		if (!wait)
			return -EAGAIN;
		ret = wait_event_interruptible_exclusive(events->waiters, events_readable(events) ||
							 events_at_end(events));
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : ret * (ssize_t)sizeof(struct twheel_event);
}

__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait)
{
	poll_wait(file, &events->waiters, wait);
	/* See events_wake(). */
	smp_mb();
	if (events_readable(events))
		return EPOLLIN | EPOLLRDNORM;
	return events_at_end(events) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}

/* Number of bytes that read() would deliver, of whole events and at most INT_MAX. May sleep. */
int twheel_events_fionread(struct twheel_events *events, int __user *to)
{
	u64 bytes;

	twheel_events_collect_all(events, TWHEEL_KILLABLE);
	bytes = (u64)READ_ONCE(events->unread) * sizeof(struct twheel_event);
	bytes = min_t(u64, bytes, INT_MAX - INT_MAX % sizeof(struct twheel_event));
	return put_user((int)bytes, to);
}

/* Returns -ENOSPC if too many files of the queue are asynchronous. */
int twheel_events_fasync(struct twheel_events *events, int fd, struct file *file, int on)
{
	int ret = -ENOSPC;

	if (!on || atomic_inc_return(&events->nr_async) <= ASYNC_MAX)
		ret = fasync_helper(fd, file, on, &events->async);
	/* None was added, or one was removed. */
	if (on ? ret <= 0 : ret > 0)
		atomic_dec(&events->nr_async);
	return ret;
}
