// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: event queues.
 *
 * An ended operation is its own event, so delivery allocates nothing.
 *
 * The thread that ends an operation does not take the lock. It makes the operation the newest one
 * of a list that starts with the oldest one, and then links it behind the one that was the newest.
 * A reader takes operations off the head of the list, with the lock held:
 *
 *	CPU 0					CPU 1
 *	twheel_event_push()			event_pop(), of the last operation
 *	  op->next = NULL			  ->oldest = NULL
 *	  prev = xchg(->newest, op)		  cmpxchg(->newest, op, NULL), or ->oldest = op
 *	  prev->next = op, or ->oldest = op
 *
 * If CPU 1 finds that the next operation is not linked yet, it leaves both. CPU 0 links it soon,
 * since it does not schedule in between. Events that a reader could not deliver, or has not
 * confirmed, are on a list of their own, ->back, which comes first.
 *
 * ->newest is NULL if and only if the list is empty. Hence a thread that replaces NULL has made it
 * non-empty, and a check for events reads two words.
 *
 * ->pushed counts events, and so the ends of operations. So the pushes of periodic operations that
 * are not ends are counted, too.
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
 * once for all events that were pushed before, and are in a ring of wait queues of POLLERS_MAX
 * each: wake_up() visits all of a wait queue with interrupts off. The work item visits one and then
 * lets those of other queues run, on an ordered workqueue with one thread. Waiters with
 * EPOLLEXCLUSIVE are woken like the others, since one that is woken alone may never read.
 *
 * The lock is taken in process context only, and before all locks of op/ and core/.
 *
 * Queues of detached operations
 * =============================
 *
 * A named purgatory has numbered queues. An add names the queue of its event, and TWHEEL_IOC_EVENTS
 * opens one. A queue exists while it has a descriptor, or an operation whose final event has not
 * been read; these are its users. The first user creates it, and the last one removes it from the
 * table. Its memory stays until the last of its operations is freed, since the callback of an
 * operation whose event has been read may still be about to wake readers.
 *
 * The lock of the table protects the number of users. It is taken in process context, with no
 * other spinlock held.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "../compat.h"
#include "queue.h"

/* Number of pollers in a wait queue. */
#define POLLERS_MAX	32

/* Wakes pollers, in turn for all event queues. */
static struct workqueue_struct *wake_wq;

/* With a rescuer: without memory for a new worker, pollers would not notice an event. */
int __init twheel_queues_init(void)
{
	wake_wq = alloc_ordered_workqueue("twheel_wake", WQ_MEM_RECLAIM);
	return wake_wq ? 0 : -ENOMEM;
}

void twheel_queues_exit(void)
{
	destroy_workqueue(wake_wq);
}

/* A callback may get here after a reader has forgotten its operation and closed the file. */
void twheel_events_wake_pollers(struct twheel_events *events)
{
	spin_lock(&events->lock);
	if (!events->closed) {
		/* All from where the work item is: it may have visited some before the event. */
		events->nr_waking = events->nr_pollers;
		queue_work(wake_wq, &events->wake_work);
	}
	spin_unlock(&events->lock);
}

/* Visit a wait queue. If there are more, the work items of other event queues run first. */
static void events_wake_work(struct work_struct *work)
{
	struct twheel_events *events = container_of(work, struct twheel_events, wake_work);
	struct twheel_pollers *pollers;
	bool more;

	spin_lock(&events->lock);
	pollers = events->waking;
	events->waking = pollers->next;
	/* It is 0 if this was queued again before the previous run took the lock. */
	more = events->nr_waking && --events->nr_waking;
	spin_unlock(&events->lock);
	wake_up_all(&pollers->waiters);
	if (more)
		queue_work(wake_wq, &events->wake_work);
}

/*
 * The reader leaves the wait queue even if it was awake, so that no waker visits it again. That
 * comes last: a reader that is not in the queue any more returns without the lock, and @wait is on
 * its stack.
 */
static int reader_wake(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	default_wake_function(wait, mode, flags, key);
	/* Pairs with the list_empty_careful() of finish_wait(). */
	list_del_init_careful(&wait->entry);
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
	INIT_LIST_HEAD(&events->holding);
	init_waitqueue_head(&events->readers);
	init_waitqueue_head(&events->pollers.waiters);
	events->pollers.next = &events->pollers;
	events->polled = &events->pollers;
	events->waking = &events->pollers;
	events->nr_pollers = 1;
	INIT_WORK(&events->wake_work, events_wake_work);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_events_init);

/* The queue has no waiters, and none can be added. May sleep. */
void twheel_events_close(struct twheel_events *events)
{
	struct twheel_pollers *pollers, *next;

	spin_lock(&events->lock);
	events->closed = true;
	spin_unlock(&events->lock);
	cancel_work_sync(&events->wake_work);
	for (pollers = events->pollers.next; pollers != &events->pollers; pollers = next) {
		next = pollers->next;
		kfree(pollers);
	}
}

/* Uncharge @nr operations that are not pending. */
void twheel_events_uncharge(struct twheel_events *events, u32 nr)
{
	bool at_end;

	spin_lock(&events->lock);
	at_end = twheel_events_give(events, nr);
	spin_unlock(&events->lock);
	if (at_end)
		twheel_events_wake(events, true);
}

/* An operation that was charged is not going to be pending. */
void twheel_events_not_added(struct twheel_events *events)
{
	spin_lock(&events->lock);
	events->added--;
	spin_unlock(&events->lock);
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

/* The head of the list, or NULL if it is empty, or is about to be linked. */
struct twheel_file_op *twheel_events_oldest(const struct twheel_events *events)
{
	lockdep_assert_held(&events->lock);
	return events->back ?: rcu_dereference_raw(events->oldest);
}

/* Take the head of the list, see above. */
static struct twheel_file_op *event_pop(struct twheel_events *events)
{
	struct twheel_file_op *file_op = twheel_events_oldest(events), *next;

	if (unlikely(!file_op))
		return NULL;
	next = rcu_dereference_raw(file_op->next);
	if (unlikely(file_op == events->back)) {
		WRITE_ONCE(events->back, next);
		return file_op;
	}
	WRITE_ONCE(events->oldest, next);
	if (next || cmpxchg(&events->newest, file_op, NULL) == file_op)
		return file_op;
	WRITE_ONCE(events->oldest, file_op);
	return NULL;
}

/*
 * Take up to @max operations with events off the head of the list, at most TWHEEL_TAKE_MAX. Returns
 * their number; it may be 0 while a thread is about to link an event.
 */
u32 twheel_events_take(struct twheel_events *events, struct twheel_file_op **file_ops, u32 max)
{
	struct twheel_file_op *file_op;
	u32 nr = 0;

	spin_lock(&events->lock);
	while (nr < max && (file_op = event_pop(events)))
		file_ops[nr++] = file_op;
	events->taken += nr;
	spin_unlock(&events->lock);
	return nr;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_events_take);

/*
 * Put events that were taken back at the head of the list: all at once, since another reader must
 * not take the later ones first.
 */
void twheel_events_put_back(struct twheel_events *events, struct twheel_file_op **file_ops, u32 nr)
{
	u32 i;

	for (i = 1; i < nr; i++)
		file_ops[i - 1]->next = file_ops[i];
	spin_lock(&events->lock);
	file_ops[nr - 1]->next = events->back;
	WRITE_ONCE(events->back, file_ops[0]);
	events->taken -= nr;
	spin_unlock(&events->lock);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_events_put_back);

/* A wait queue with space for one more poller, or NULL. Two of them are tried, in turn. */
static struct twheel_pollers *pollers_find(struct twheel_events *events)
{
	struct twheel_pollers *pollers;
	unsigned int tries;

	lockdep_assert_held(&events->lock);
	for (tries = 2; tries; tries--) {
		pollers = events->polled;
		/* Empty, and no poller is on its way: one that leaves meanwhile counts longer. */
		if (!pollers->adding && !waitqueue_active(&pollers->waiters))
			pollers->nr = 0;
		if (pollers->nr < POLLERS_MAX)
			return pollers;
		events->polled = pollers->next;
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
		WRITE_ONCE(pollers->next, more);
		events->polled = more;
		events->nr_pollers++;
		/* The work item may visit it instead of another one. */
		events->nr_waking += !!events->nr_waking;
		pollers = more;
	}
	pollers->nr++;
	pollers->adding++;
	spin_unlock(&events->lock);
	return pollers;
}

__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait)
{
	struct twheel_pollers *pollers;

	/* Whether it waits; newer kernels have no poll_does_not_wait(). */
	if (wait && wait->_qproc) {
		pollers = pollers_add(events);
		/* It may sleep for memory before it adds the poller. */
		poll_wait(file, &pollers->waiters, wait);
		spin_lock(&events->lock);
		pollers->adding--;
		spin_unlock(&events->lock);
	}
	/* See twheel_events_wake(). */
	smp_mb();
	if (twheel_events_readable(events))
		return EPOLLIN | EPOLLRDNORM;
	return twheel_events_at_end(events) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}

/* Queues of detached operations */

static void detached_free(struct kref *ref)
{
	kfree(container_of(ref, struct twheel_detached, ref));
}

/* Drop a reference to the memory of a queue. */
void twheel_detached_free(struct twheel_detached *detached)
{
	kref_put(&detached->ref, detached_free);
}

static struct twheel_detached *detached_alloc(u32 number)
{
	struct twheel_detached *detached = kzalloc(sizeof(*detached), TWHEEL_GFP_USER);

	if (!detached)
		return NULL;
	twheel_events_init(&detached->events);
	kref_init(&detached->ref);
	detached->number = number;
	detached->users = 1;
	return detached;
}

/* Another user of an existing queue, or NULL. */
static struct twheel_detached *detached_find(struct twheel_instance *instance, u32 number)
{
	struct twheel_detached *detached;

	xa_lock(&instance->queues);
	detached = xa_load(&instance->queues, number);
	if (detached)
		detached->users++;
	xa_unlock(&instance->queues);
	return detached;
}

/* Add a queue to the table, unless another task has done so: then this is a user of that one. */
static struct twheel_detached *detached_create(struct twheel_instance *instance, u32 number)
{
	struct twheel_detached *detached = detached_alloc(number), *other;

	if (!detached)
		return ERR_PTR(-ENOMEM);
	xa_lock(&instance->queues);
	other = __xa_cmpxchg(&instance->queues, number, NULL, detached, TWHEEL_GFP_USER);
	if (other && !xa_is_err(other))
		other->users++;
	xa_unlock(&instance->queues);
	if (!other)
		return detached;
	kfree(detached);
	return xa_is_err(other) ? ERR_PTR(xa_err(other)) : other;
}

/* Whether a purgatory can have a queue of this number. */
bool twheel_detached_valid(const struct twheel_instance *instance, u32 number)
{
	return instance->name && number < TWHEEL_MAX_QUEUES;
}

/* Become a user of a queue, see above: it, or ERR_PTR(-ENOMEM). */
struct twheel_detached *twheel_detached_get(struct twheel_instance *instance, u32 number)
{
	return detached_find(instance, number) ?: detached_create(instance, number);
}

/* @nr users leave a queue. May sleep. */
void twheel_detached_put(struct twheel_instance *instance, struct twheel_detached *detached, u32 nr)
{
	bool unused;

	xa_lock(&instance->queues);
	detached->users -= nr;
	unused = !detached->users;
	if (unused)
		__xa_erase(&instance->queues, detached->number);
	xa_unlock(&instance->queues);
	if (!unused)
		return;
	twheel_events_close(&detached->events);
	twheel_detached_free(detached);
}

/* The first queue from @number on, with a reference to its memory, or NULL. */
struct twheel_detached *twheel_detached_next(struct twheel_instance *instance, unsigned long number)
{
	struct twheel_detached *detached;

	xa_lock(&instance->queues);
	detached = xa_find(&instance->queues, &number, ULONG_MAX, XA_PRESENT);
	if (detached)
		kref_get(&detached->ref);
	xa_unlock(&instance->queues);
	return detached;
}

/* The queue behind @detached, whose reference is dropped, or the first one; or NULL. May sleep. */
struct twheel_detached *twheel_detached_after(struct twheel_instance *instance,
					      struct twheel_detached *detached)
{
	unsigned long number = detached ? detached->number + 1 : 0;

	if (detached)
		twheel_detached_free(detached);
	cond_resched();
	return twheel_detached_next(instance, number);
}
