// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: event queues.
 *
 * An ended operation is its own event, so delivery allocates nothing.
 *
 * Fresh events
 * ============
 *
 * The thread that ends an operation does not take the lock: it pushes the operation on ->fresh.
 * A thread that needs the lists or the counts takes the lock and collects the fresh events with
 * twheel_events_collect(). Until then an operation counts as pending. ->fresh may be long and has
 * the newest operation first, but the lock is held for few operations at a time:
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
 *	event			wakes
 *	queue was empty		a thread in read(), and all pollers
 *	queue was not empty	a thread in read()
 *	reader leaves events	a thread in read(), and all pollers
 *	end of the queue	a thread in read(), which wakes the next one, and all pollers
 *
 * A thread in read() is woken by the thread that ends an operation, and is off the wait queue then,
 * whether it slept or had been woken by a signal: the waker visits one entry, and a reader that
 * was woken looks for events before it returns.
 *
 * Pollers are waiters of poll(), epoll and io_uring. A user can multiply those of a queue to which
 * another user adds events, and waking one may wake many others. So they are left to a work item,
 * once for all events that were pushed before, and are in wait queues of POLLERS_MAX each:
 * wake_up() visits all of a wait queue with interrupts off. The work item visits one and then lets
 * the work items of other queues run. An ordered workqueue serves all queues, so that this takes
 * one thread. Waiters with EPOLLEXCLUSIVE are woken like the others, since one that is woken alone
 * may never read.
 *
 * The lock is taken in process context only, and before all locks of op/ and core/.
 */
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "queue.h"

/* Number of operations that are collected, and taken by a reader, with the lock held. */
#define COLLECT_MAX	16

/* Number of pollers in a wait queue. */
#define POLLERS_MAX	32

/* No event is fresh, but others can be read. Also the end of the list, like NULL. */
#define NONE_FRESH	((struct twheel_file_op *)1UL)

/* Wakes pollers, in turn for all event queues. */
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

/* A callback may get here after a reader has forgotten its operation and closed the file. */
static void events_wake_pollers(struct twheel_events *events)
{
	spin_lock(&events->lock);
	if (!events->closed) {
		WRITE_ONCE(events->wake, true);
		queue_work(wake_wq, &events->wake_work);
	}
	spin_unlock(&events->lock);
}

/* Visit a wait queue. If there are more, the work items of other event queues run first. */
static void events_wake_work(struct work_struct *work)
{
	struct twheel_events *events = container_of(work, struct twheel_events, wake_work);
	struct twheel_pollers *pollers = events->waking;

	if (!pollers) {
		spin_lock(&events->lock);
		WRITE_ONCE(events->wake, false);
		spin_unlock(&events->lock);
		pollers = &events->pollers;
	}
	wake_up_all(&pollers->waiters);
	/* Pairs with the release in pollers_add(). */
	events->waking = smp_load_acquire(&pollers->next);
	/* A store of ->wake that this does not see queues the work item itself. */
	if (events->waking || READ_ONCE(events->wake))
		queue_work(wake_wq, &events->wake_work);
}

/*
 * Wake waiters after an event was pushed, for events that a reader leaves, or at the end of the
 * queue; @pollers unless the queue was not empty.
 *
 *	CPU 0					CPU 1
 *	twheel_event_push()			waiter, for example twheel_events_poll()
 *	  cmpxchg(fresh, NULL, op)		  add to ->readers or ->pollers
 *	  full barrier				  smp_mb()
 *	waitqueue_active()?			  READ_ONCE(fresh)
 *
 * Either CPU 0 sees the waiter, or CPU 1 sees an event. If CPU 1 reads NULL, the push that
 * replaces this NULL has "queue was empty" as its result, and wakes the pollers. The barrier
 * of CPU 1 is in twheel_events_poll() or in the set_current_state() of prepare_to_wait_event().
 * The barrier of CPU 0 is the cmpxchg() of twheel_event_push(), the smp_mb() of events_wake_next()
 * in event.c, or for the end of the queue, ->lock on both sides. The caller keeps the queue: it
 * holds a reference to an operation or to the file.
 */
void twheel_events_wake(struct twheel_events *events, bool pollers)
{
	/* After the barrier of CPU 0. */
	if (waitqueue_active(&events->readers))
		wake_up_interruptible(&events->readers);
	/* After the same barrier. */
	if (pollers && (waitqueue_active(&events->pollers.waiters) ||
			READ_ONCE(events->pollers.next)))
		events_wake_pollers(events);
}

/* The reader leaves the wait queue even if it was awake, so that no waker visits it again. */
static int reader_wake(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	list_del_init(&wait->entry);
	default_wake_function(wait, mode, flags, key);
	return 1;
}

/* Wait until the queue has an event or is at its end. Returns 0 or -ERESTARTSYS. */
int twheel_events_wait(struct twheel_events *events)
{
	struct wait_queue_entry wait;
	long err;

	init_wait_entry(&wait, WQ_FLAG_EXCLUSIVE);
	wait.func = reader_wake;
	for (;;) {
		err = prepare_to_wait_event(&events->readers, &wait, TASK_INTERRUPTIBLE);
		/* Also after a signal: a waker may have chosen this reader before. */
		if (twheel_events_readable(events) || twheel_events_at_end(events)) {
			err = 0;
			break;
		}
		if (err)
			break;
		schedule();
	}
	finish_wait(&events->readers, &wait);
	return err;
}

/* @events is zeroed. */
void twheel_events_init(struct twheel_events *events)
{
	spin_lock_init(&events->lock);
	init_waitqueue_head(&events->readers);
	init_waitqueue_head(&events->pollers.waiters);
	events->polled = &events->pollers;
	INIT_WORK(&events->wake_work, events_wake_work);
}

/* The queue has no waiters, and none can be added. May sleep. */
void twheel_events_close(struct twheel_events *events)
{
	struct twheel_pollers *pollers, *next;

	spin_lock(&events->lock);
	events->closed = true;
	spin_unlock(&events->lock);
	cancel_work_sync(&events->wake_work);
	for (pollers = events->pollers.next; pollers; pollers = next) {
		next = pollers->next;
		kfree(pollers);
	}
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
		twheel_events_wake(events, true);
}

/* Refuse further adds. */
void twheel_events_shut(struct twheel_events *events)
{
	spin_lock(&events->lock);
	WRITE_ONCE(events->shut, true);
	spin_unlock(&events->lock);
	/* Pairs with the barrier in twheel_call_add(). */
	smp_mb();
	twheel_events_wake(events, true);
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

static void event_collect(struct twheel_events *events, struct twheel_file_op *file_op)
{
	/* The end of a periodic operation changes this under the lock. */
	if (!twheel_file_op_periodic(file_op)) {
		file_op->ended = true;
		file_op->queued = true;
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

/* A wait queue with space for one more poller, or NULL. Two of them are tried, in turn. */
static struct twheel_pollers *pollers_find(struct twheel_events *events)
{
	struct twheel_pollers *pollers;
	unsigned int tries;

	lockdep_assert_held(&events->lock);
	for (tries = 2; tries; tries--) {
		pollers = events->polled;
		/* A poller that is about to be added makes this wait queue longer by one. */
		if (!waitqueue_active(&pollers->waiters))
			pollers->nr = 0;
		if (pollers->nr < POLLERS_MAX)
			return pollers;
		events->polled = pollers->next ?: &events->pollers;
	}
	return NULL;
}

/* The wait queue for a new poller, longer than others if there is no memory. May sleep. */
static struct twheel_pollers *pollers_add(struct twheel_events *events)
{
	struct twheel_pollers *pollers, *more = NULL;

	spin_lock(&events->lock);
	pollers = pollers_find(events);
	if (unlikely(!pollers)) {
		spin_unlock(&events->lock);
		more = kzalloc(sizeof(*more), TWHEEL_GFP_USER);
		spin_lock(&events->lock);
		pollers = events->polled;
	}
	if (unlikely(more)) {
		init_waitqueue_head(&more->waiters);
		more->next = pollers->next;
		/* Pairs with the acquire in events_wake_work(). */
		smp_store_release(&pollers->next, more);
		events->polled = more;
		pollers = more;
	}
	pollers->nr++;
	spin_unlock(&events->lock);
	return pollers;
}

__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait)
{
	/* Whether it waits; newer kernels have no poll_does_not_wait(). */
	if (wait && wait->_qproc)
		poll_wait(file, &pollers_add(events)->waiters, wait);
	/* See twheel_events_wake(). */
	smp_mb();
	if (twheel_events_readable(events))
		return EPOLLIN | EPOLLRDNORM;
	return twheel_events_at_end(events) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}
