// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, event queues: pending operations, and the events of their ends.
 *
 * An operation that has ended is its own event: it moves to the list of events,
 * and nothing is allocated.  A periodic operation is queued for each period, and
 * further periods until it is read are part of the same event.
 *
 * Under the lock of its event queue an operation is in one of three states:
 *
 *	idle ------> queued ------> reading ------> idle
 *	     event          read            delivered: forgotten if it has ended,
 *	                                    queued again if there is more
 *	             queued <------ reading
 *	                    not delivered
 *
 * A reader takes a few events off the head of the list, copies them without a lock,
 * and puts back in order those that were not delivered.  An event is delivered
 * when the whole of it is in the reader's buffer.
 *
 * Readers sleep exclusively: an event wakes one of them.  A reader that leaves
 * events behind wakes the next one.  SIGIO is sent when a queue becomes non-empty.
 * Both happen outside of the lock: the waiters of one queue may be many, and
 * reapers of several users add events to a queue of detached operations.
 *
 * The lock is taken in process context only, and outside of all locks of the
 * layers below.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "dev.h"

/* Number of events that are copied at a time; 1 KiB on the stack. */
#define EVENT_BATCH	16

static_assert(sizeof(struct twheel_event) == 64);

/* The events that a reader has taken off the list, and whether it made that non-empty since. */
struct events_taken {
	u32			nr;
	bool			refilled;
	struct twheel_file_op	*file_op[EVENT_BATCH];
	struct twheel_event	event[EVENT_BATCH];
};

/**
 * twheel_events_init - initialise an event queue
 * @events: zeroed
 */
void twheel_events_init(struct twheel_events *events)
{
	spin_lock_init(&events->lock);
	INIT_LIST_HEAD(&events->pending);
	INIT_LIST_HEAD(&events->events);
	init_waitqueue_head(&events->readers);
}

/* At the end all waiters look again. */
static void events_wake_all(struct twheel_events *events)
{
	wake_up_interruptible_all(&events->readers);
	kill_fasync(&events->async, SIGIO, POLL_HUP);
}

/**
 * twheel_events_uncharge - some operations are gone
 * @events: their event queue
 * @pending: number of those that were never added
 * @nr: number of all of them
 */
void twheel_events_uncharge(struct twheel_events *events, u32 pending, u32 nr)
{
	bool at_end;

	spin_lock(&events->lock);
	WRITE_ONCE(events->nr_pending, events->nr_pending - pending);
	events->held -= nr;
	at_end = events->shut && !events->held;
	spin_unlock(&events->lock);
	if (at_end)
		events_wake_all(events);
}

/**
 * twheel_events_shut - let no operation in any more
 * @events: the event queue
 */
void twheel_events_shut(struct twheel_events *events)
{
	spin_lock(&events->lock);
	WRITE_ONCE(events->shut, true);
	spin_unlock(&events->lock);
	events_wake_all(events);
}

/* Whether the queue is shut and everything has been read. */
static bool events_at_end(struct twheel_events *events)
{
	bool at_end;

	spin_lock(&events->lock);
	at_end = events->shut && !events->held;
	spin_unlock(&events->lock);
	return at_end;
}

static bool events_there(const struct twheel_events *events)
{
	return !list_empty(&events->events);
}

/* The first pending operation, with a reference; it moves to the tail of the list. */
static struct twheel_file_op *events_next_pending(struct twheel_events *events)
{
	struct twheel_file_op *file_op;

	spin_lock(&events->lock);
	file_op = list_first_entry_or_null(&events->pending, struct twheel_file_op, entry);
	if (file_op) {
		list_move_tail(&file_op->entry, &events->pending);
		twheel_op_get(&file_op->op);
	}
	spin_unlock(&events->lock);
	return file_op;
}

/**
 * twheel_events_end_all - end all pending operations of a queue
 * @events: the event queue
 * @reason: cancelled, of a queue that is shut; or completed
 * @error: 0 or a negative error number, for the results
 * @value: value for the results
 * @flags: TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP
 *
 * Of a queue that is shut, the adder cancels an operation whose add is under way, and when
 * all have been ended no callback of theirs is running.  Of another queue, operations that
 * are added meanwhile may be ended or not.
 *
 * Context: process; may sleep.
 * Return: number of operations that this call ended.
 */
u32 twheel_events_end_all(struct twheel_events *events, enum twheel_reason reason, int error,
			  u64 value, unsigned int flags)
{
	bool sync = reason == TWHEEL_CANCELLED;
	u32 todo = sync ? U32_MAX : READ_ONCE(events->nr_pending), nr = 0;
	struct twheel_file_op *file_op;

	/* An operation that another thread is ending may be met more than once. */
	while (todo-- && !(flags & TWHEEL_KILLABLE && fatal_signal_pending(current)) &&
	       (file_op = events_next_pending(events))) {
		nr += !(sync ? twheel_op_cancel_sync(&file_op->op) :
			       twheel_op_end(&file_op->op, reason, error, value));
		twheel_file_op_put(file_op);
		cond_resched();
	}
	return nr;
}

/**
 * twheel_events_empty - forget all events of a queue that nobody uses any more
 * @events: the event queue, without pending operations
 *
 * Context: process; may sleep.
 */
void twheel_events_empty(struct twheel_events *events)
{
	struct twheel_file_op *file_op, *next;

	list_for_each_entry_safe(file_op, next, &events->events, event) {
		twheel_file_ops_forget(&file_op, 1);
		cond_resched();
	}
}

/* Queue an event; whether it is the only one now. */
static bool event_put(struct twheel_events *events, struct twheel_file_op *file_op, bool at_head)
{
	bool was_empty = list_empty(&events->events);

	lockdep_assert_held(&events->lock);
	file_op->queued = true;
	if (at_head)
		list_add(&file_op->event, &events->events);
	else
		list_add_tail(&file_op->event, &events->events);
	WRITE_ONCE(events->unread, events->unread + 1);
	return was_empty;
}

/**
 * twheel_event_queue - queue an operation for reading
 * @file_op: the operation, with the lock of its event queue held
 *
 * Return: whether the queue was empty; the caller unlocks it and passes this to
 * twheel_events_wake().
 */
bool twheel_event_queue(struct twheel_file_op *file_op)
{
	return !file_op->queued && !file_op->reading &&
	       event_put(twheel_file_op_events(file_op), file_op, false);
}

/**
 * twheel_events_wake - wake a reader after an event was queued
 * @events: the event queue; a reference to one of its operations keeps it
 * @signal: the queue became non-empty: send SIGIO
 */
void twheel_events_wake(struct twheel_events *events, bool signal)
{
	/* A reader queues itself before it looks for events. */
	if (wq_has_sleeper(&events->readers))
		wake_up_interruptible_poll(&events->readers, EPOLLIN | EPOLLRDNORM);
	if (signal)
		kill_fasync(&events->async, SIGIO, POLL_IN);
}

/**
 * twheel_event_ended - queue the event of an operation that has ended
 * @file_op: the operation
 *
 * Context: process; the callback of the operation.
 */
void twheel_event_ended(struct twheel_file_op *file_op)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_events *events = twheel_file_op_events(file_op);
	bool signal;

	/* The reader may forget the operation as soon as it is queued. */
	twheel_op_get(&file_op->op);
	if (file_op->flags & TWHEEL_ADD_DETACHED)
		twheel_file_ended(file_op->file);
	spin_lock(&events->lock);
	if (periodic)
		twheel_file_periodic_catch_up(periodic);
	file_op->ended = true;
	list_del_init(&file_op->entry);
	WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	signal = twheel_event_queue(file_op);
	spin_unlock(&events->lock);
	/* A run of the timer that is under way sees that the operation has ended. */
	if (periodic)
		twheel_periodic_cancel(&periodic->periodic);
	twheel_events_wake(events, signal);
	twheel_file_op_put(file_op);
}

static void event_fill(struct twheel_file_op *file_op, struct twheel_event *event)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_op_result result = { .reason = TWHEEL_EXPIRED };

	if (file_op->ended)
		twheel_op_result(&file_op->op, &result);
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
		.expirations	= result.reason == TWHEEL_EXPIRED,
	};
	if (periodic)
		twheel_file_periodic_fill(periodic, event);
	event->deadline = twheel_time_from_host(file_op->clock, event->deadline);
	event->time = twheel_time_from_host(file_op->clock, event->time);
}

/* Take some events off the head of the list. */
static void events_take(struct twheel_events *events, struct events_taken *taken, u32 max)
{
	struct twheel_file_op *file_op;

	taken->nr = 0;
	taken->refilled = false;
	spin_lock(&events->lock);
	while (taken->nr < max && events_there(events)) {
		file_op = list_first_entry(&events->events, struct twheel_file_op, event);
		list_del(&file_op->event);
		file_op->queued = false;
		file_op->reading = true;
		event_fill(file_op, &taken->event[taken->nr]);
		taken->file_op[taken->nr++] = file_op;
	}
	WRITE_ONCE(events->unread, events->unread - taken->nr);
	spin_unlock(&events->lock);
}

/* Put events that were not delivered back to where they were. */
static void events_put_back(struct twheel_events *events, struct events_taken *taken,
			    u32 delivered)
{
	u32 nr = taken->nr;

	spin_lock(&events->lock);
	while (nr > delivered) {
		taken->file_op[--nr]->reading = false;
		taken->refilled |= event_put(events, taken->file_op[nr], true);
	}
	spin_unlock(&events->lock);
}

/* The event of a period has been delivered, and the operation continues. */
static void event_delivered(struct twheel_events *events, struct events_taken *taken, u32 i)
{
	struct twheel_file_op *file_op = taken->file_op[i];
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);

	spin_lock(&events->lock);
	file_op->reading = false;
	periodic->expirations -= taken->event[i].expirations;
	if (file_op->ended || periodic->expirations)
		taken->refilled |= event_put(events, file_op, false);
	if (!file_op->ended)
		twheel_file_periodic_resume(periodic);
	spin_unlock(&events->lock);
}

/* Copy the events that were taken; the number of those delivered. */
static u32 events_deliver(struct twheel_events *events, struct events_taken *taken,
			  struct iov_iter *to)
{
	size_t copied = copy_to_iter(taken->event, taken->nr * sizeof(*taken->event), to);
	u32 delivered = copied / sizeof(*taken->event);
	u32 i, nr_last = 0;

	if (delivered < taken->nr) {
		iov_iter_revert(to, copied % sizeof(*taken->event));
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

/* Deliver as many events as fit: their number, or -EFAULT if the first one cannot be. */
static ssize_t events_read(struct twheel_events *events, struct iov_iter *to)
{
	size_t max = iov_iter_count(to) / sizeof(struct twheel_event), done = 0;
	struct events_taken taken;
	bool signal = false;
	u32 delivered;

	while (done < max && !fatal_signal_pending(current)) {
		events_take(events, &taken, min_t(size_t, max - done, EVENT_BATCH));
		if (!taken.nr)
			return done;
		delivered = events_deliver(events, &taken, to);
		done += delivered;
		signal |= taken.refilled;
		if (delivered < taken.nr) {
			/* What was put back is there for others. */
			twheel_events_wake(events, signal);
			return done ?: -EFAULT;
		}
		cond_resched();
	}
	/* The wake-up for the events left behind may have been this reader's. */
	if (events_there(events))
		twheel_events_wake(events, signal);
	return done ?: -ERESTARTSYS;
}

/**
 * twheel_events_read - deliver events
 * @events: the event queue
 * @iocb: read() of a file that keeps the queue
 * @to: buffer
 *
 * Return: number of bytes delivered, whole events only; 0 at the end of a queue
 * that has been shut; -EINVAL if not even one event fits, -EAGAIN if there is none and the
 * caller does not wait, -EFAULT if the first one cannot be copied, -ERESTARTSYS.
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
		ret = wait_event_interruptible_exclusive(events->readers, events_there(events) ||
							 events_at_end(events));
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : ret * (ssize_t)sizeof(struct twheel_event);
}

/**
 * twheel_events_poll - whether there is an event to read
 * @events: the event queue
 * @file: file that keeps the queue
 * @wait: poll table
 *
 * Return: EPOLLIN and EPOLLRDNORM if there is, and with EPOLLHUP at the end.
 */
__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait)
{
	poll_wait(file, &events->readers, wait);
	/* Pairs with that of wq_has_sleeper(): either the event or the waiter is seen. */
	smp_mb();
	if (events_there(events))
		return EPOLLIN | EPOLLRDNORM;
	return events_at_end(events) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}
