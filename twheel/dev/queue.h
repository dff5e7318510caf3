/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Character devices: operations, which are their own events; event queues, see queue.c; and events,
 * see event.c.
 */
#ifndef _TWHEEL_DEV_QUEUE_H
#define _TWHEEL_DEV_QUEUE_H

#include <asm/barrier.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/init.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/stddef.h>
#include <linux/twheel.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "../op/op.h"
#include "ids.h"
#include "instance.h"

struct iov_iter;
struct kiocb;
struct twheel_events;

/**
 * struct twheel_file_op - an operation added through a file
 * @op: the operation
 * @leaf: its memory, which belongs to the file that it was added through; immutable
 * @events: its event queue; immutable
 * @id: set before the operation is visible to user space
 * @cookie: immutable
 * @next: next operation on a list of events of that queue
 * @chunks: watches added after the operation, see op.c
 * @clock: clock ID that the caller chose; immutable
 * @again: its event was delivered before; belongs to the reader that has taken the event
 * @flags: TWHEEL_ADD_* and TWHEEL_FILE_OP_*; immutable
 * @watch: memory of the watches of the add
 *
 * The lock of the event queue protects @chunks; see queue.c for @next.
 *
 * The operation is its own event, so ending it needs no memory. The event queue holds a
 * reference from the add until the final event has been read.
 */
struct twheel_file_op {
	struct twheel_op		op;
	struct twheel_leaf		*leaf;
	struct twheel_events		*events;
	u64				id;
	u64				cookie;
	struct twheel_file_op		*next;
	struct hlist_head		chunks;
	u8				clock;
	bool				again;
	u32				flags;
	struct twheel_watch		watch[];
};

/**
 * struct twheel_file_periodic - the timer of a periodic operation, which follows in memory
 * @timer: armed if the operation is pending and has no event
 * @wheel: wheel of the timer; immutable
 * @expirations: expired periods that no delivered event has reported
 * @reported: those in the event that a reader has; 0 if it is the last one
 * @next: next deadline
 * @last: latest deadline that expired
 * @time: time at which the expiry of @last was noticed
 * @period: immutable
 * @runs: remaining periods, 0 for no limit
 * @fixed_delay: immutable
 * @ended: the operation has ended
 * @has_event: there is an event to read, or a reader has it
 * @part: for the timer of the operation, which has no deadline, by CLOCK_REALTIME
 *
 * The other fields are protected by the lock of the operation's event queue.
 */
struct twheel_file_periodic {
	struct twheel_wall_timer timer;
	struct twheel		*wheel;
	u64			expirations;
	u64			reported;
	u64			next;
	u64			last;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			ended;
	bool			has_event;
	struct twheel_wall_part	part __aligned(__alignof__(struct twheel_wall_timer));
};

/* @part precedes the operation, as it precedes a timer: with some space on 32-bit machines. */
static_assert(sizeof(struct twheel_file_periodic) - offsetof(struct twheel_file_periodic, part) ==
	      offsetof(struct twheel_wall_timer, timer));

/* In addition to TWHEEL_ADD_*: struct twheel_file_periodic precedes the operation. */
#define TWHEEL_FILE_OP_PERIODIC	BIT(31)
/* Its slot in the leaf */
#define TWHEEL_FILE_OP_SLOT		GENMASK(27, TWHEEL_FILE_OP_SLOT_SHIFT)
#define TWHEEL_FILE_OP_SLOT_SHIFT	24

/* There is a class of leaves for each number of keys below the last class, of single operations. */
#define TWHEEL_LEAF_SINGLE	9
#define TWHEEL_LEAF_CLASSES	(TWHEEL_LEAF_SINGLE + 1)

/* The periodic timer of an operation, or NULL. */
static inline struct twheel_file_periodic *twheel_file_op_periodic(struct twheel_file_op *file_op)
{
	if (likely(!(file_op->flags & TWHEEL_FILE_OP_PERIODIC)))
		return NULL;
	return (struct twheel_file_periodic *)file_op - 1;
}

/* The operation of a periodic timer. */
static inline struct twheel_file_op *twheel_periodic_file_op(struct twheel_file_periodic *periodic)
{
	return (struct twheel_file_op *)(periodic + 1);
}

static inline void twheel_file_op_put(struct twheel_file_op *file_op)
{
	twheel_op_put(&file_op->op);
}

/* The file that it was added through, which may be closed. */
static inline struct twheel_file *twheel_file_op_file(const struct twheel_file_op *file_op)
{
	return file_op->leaf->file;
}

static inline u32 twheel_file_op_slot(const struct twheel_file_op *file_op)
{
	return (file_op->flags & TWHEEL_FILE_OP_SLOT) >> TWHEEL_FILE_OP_SLOT_SHIFT;
}

/*
 * Take a reference to an operation that was found in the table, in the same read-side critical
 * section. Returns false if it has been freed.
 */
static inline bool twheel_file_op_try_get(struct twheel_file_op *file_op)
{
	if (!refcount_inc_not_zero(&file_op->op.ref))
		return false;
	/* Pairs with the smp_wmb() in file_op_init(). */
	smp_rmb();
	return true;
}

/* The id of an operation with a reference. Other members are valid if it is not TWHEEL_NO_ID. */
static inline u64 twheel_file_op_id(const struct twheel_file_op *file_op)
{
#ifdef CONFIG_64BIT
	/* Pairs with the release in twheel_file_op_set_id(). */
	return smp_load_acquire(&file_op->id);
#else
	/* This may be half of TWHEEL_NO_ID, which does not match either. */
	u64 id = READ_ONCE(file_op->id);

	/* Pairs with the smp_wmb() in twheel_file_op_set_id(). */
	smp_rmb();
	return id;
#endif
}

/* Set the id, after all other members. */
static inline void twheel_file_op_set_id(struct twheel_file_op *file_op, u64 id)
{
#ifdef CONFIG_64BIT
	/* Pairs with the acquire in twheel_file_op_id(). */
	smp_store_release(&file_op->id, id);
#else
	/* Pairs with the smp_rmb() in twheel_file_op_id(). */
	smp_wmb();
	WRITE_ONCE(file_op->id, id);
#endif
}

/* Number of operations that are taken, or released, with the lock held. */
#define TWHEEL_TAKE_MAX	32

/**
 * struct twheel_pollers - a wait queue of pollers, see queue.c
 * @waiters: the pollers
 * @nr: number of pollers that were added since it was empty
 * @adding: number of those that may not be in @waiters yet
 * @next: next one in the ring of the event queue
 */
struct twheel_pollers {
	wait_queue_head_t	waiters;
	u32			nr;
	u32			adding;
	struct twheel_pollers	*next;
};

/**
 * struct twheel_events - an event queue
 * @lock: protects all fields up to @pushed, and the head of the list
 * @added: number of operations that were charged
 * @held: number of those that are charged: pending, or with an unread final event
 * @periods: number of events pushed that are not the end of an operation
 * @taken: number of events taken by readers
 * @shut: adds are refused; read() returns 0 once @held is 0
 * @closed: @wake_work must not be queued
 * @has_reader: of a file that is open for reading; immutable
 * @polled: wait queue of the latest poller
 * @waking: wait queue that @wake_work visits next
 * @nr_waking: number of those that it has to visit
 * @nr_pollers: number of wait queues of pollers
 * @back: operations with an event that came back, oldest first
 * @unconfirmed: number of events that readers have taken and not confirmed, see event.c
 * @holding: these readers, in the order of their reads
 * @pushed: number of events pushed
 * @oldest: operations with an event, oldest first; NULL while the first one is being linked
 * @newest: last operation of the list, NULL if and only if it is empty; written without the lock
 * @readers: threads in read()
 * @pollers: the first wait queue of waiters of poll(), epoll and io_uring
 * @wake_work: wakes pollers
 *
 * Each file has a queue for the operations added through it. A named purgatory has numbered ones
 * for its detached operations.
 */
struct twheel_events {
	spinlock_t		lock;	/* of the fields up to pushed, and of the list */
	u32			added;
	u32			held;
	u32			periods;
	u32			taken;
	bool			shut;
	bool			closed;
	bool			has_reader;
	struct twheel_pollers	*polled;
	struct twheel_pollers	*waking;
	u32			nr_waking;
	u32			nr_pollers;
	struct twheel_file_op	*back;
	u32			unconfirmed;
	struct list_head	holding;
	/* Written by each end of an operation; apart from the members above. */
	atomic_t		pushed ____cacheline_aligned_in_smp;
	struct twheel_file_op	*oldest;
	struct twheel_file_op	*newest;
	wait_queue_head_t	readers;
	struct twheel_pollers	pollers;
	struct work_struct	wake_work;
};

/* Number of events that a descriptor may leave unconfirmed. */
#define TWHEEL_READ_MAX	64

/**
 * struct twheel_reader - the unconfirmed events of a descriptor
 * @lock: held by the thread in read() or a call; protects the other members
 * @entry: in the list of its queue while it has such events
 * @time: of the read that delivered them; protected by the lock of the queue, like @entry
 * @nr: number of events
 * @file_ops: their operations, oldest first
 */
struct twheel_reader {
	struct mutex		lock;	/* see event.c */
	struct list_head	entry;
	u64			time;
	u32			nr;
	struct twheel_file_op	*file_ops[TWHEEL_READ_MAX];
};

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

/* An event that has been pushed is readable until a reader takes it. */
static inline bool twheel_events_readable(const struct twheel_events *events)
{
	return READ_ONCE(events->newest) || READ_ONCE(events->back);
}

/* Number of pending operations, including adds in progress, with the lock held. */
static inline u32 twheel_events_pending(const struct twheel_events *events)
{
	lockdep_assert_held(&events->lock);
	return events->added + events->periods - atomic_read(&events->pushed);
}

/* Number of events to read, with the lock held. */
static inline u32 twheel_events_unread(const struct twheel_events *events)
{
	lockdep_assert_held(&events->lock);
	return atomic_read(&events->pushed) - events->taken;
}

/* Charge a new operation, with the lock of its event queue held. */
static inline void twheel_events_add(struct twheel_events *events)
{
	lockdep_assert_held(&events->lock);
	events->added++;
	WRITE_ONCE(events->held, events->held + 1);
}

/*
 * Uncharge @nr operations that are not pending, with the lock held. Returns true if waiters have to
 * be woken, since the queue is at its end.
 */
static inline bool twheel_events_give(struct twheel_events *events, u32 nr)
{
	lockdep_assert_held(&events->lock);
	WRITE_ONCE(events->held, events->held - nr);
	return unlikely(events->shut) && !events->held;
}

/* queue.c */
void twheel_events_wake_pollers(struct twheel_events *events);
int __init twheel_queues_init(void);
void twheel_queues_exit(void);
void twheel_events_init(struct twheel_events *events);
void twheel_events_close(struct twheel_events *events);
void twheel_events_shut(struct twheel_events *events);
void twheel_events_not_added(struct twheel_events *events);
void twheel_events_uncharge(struct twheel_events *events, u32 nr);
bool twheel_events_at_end(struct twheel_events *events);
struct twheel_file_op *twheel_events_oldest(const struct twheel_events *events);
void twheel_events_put_back(struct twheel_events *events, struct twheel_file_op **file_ops, u32 nr);
u32 twheel_events_take(struct twheel_events *events, struct twheel_file_op **file_ops, u32 max);
int twheel_events_wait(struct twheel_events *events);
__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait);
bool twheel_detached_valid(const struct twheel_instance *instance, u32 number);
struct twheel_detached *twheel_detached_get(struct twheel_instance *instance, u32 number);
void twheel_detached_put(struct twheel_instance *instance, struct twheel_detached *detached,
			 u32 nr);
void twheel_detached_free(struct twheel_detached *detached);
struct twheel_detached *twheel_detached_next(struct twheel_instance *instance,
					     unsigned long number);
struct twheel_detached *twheel_detached_after(struct twheel_instance *instance,
					      struct twheel_detached *detached);

/* event.c */
extern const struct twheel_op_ops twheel_file_op_ops;

void twheel_events_empty(struct twheel_events *events);
u32 twheel_file_end_all(struct twheel_file *file, enum twheel_reason reason, int error, u64 value,
			unsigned int flags);
ssize_t twheel_events_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to);
struct twheel_reader *twheel_reader_create(void);
void twheel_reader_close(struct twheel_events *events, struct twheel_reader *reader);
ssize_t twheel_reader_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to);
int twheel_reader_confirm(struct twheel_events *events, struct twheel_reader *reader, u64 id);

/* periodic.c */
int twheel_periodic_add(struct twheel_purgatory *purgatory, struct twheel_file_op *file_op,
			struct twheel_op_args *op_args, const struct twheel_add_args *args);
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic);
bool twheel_periodic_ended(struct twheel_file_periodic *periodic);
void twheel_periodic_fill(struct twheel_file_periodic *periodic, struct twheel_event *event);
bool twheel_periodic_delivered(struct twheel_file_periodic *periodic);

/* Set the fields of an event that the end of its operation determines. */
static __always_inline void twheel_event_set_result(struct twheel_event *event,
						    const struct twheel_op *op)
{
	struct twheel_op_result result __uninitialized;

	op_get_result(op, &result);
	event->value = result.value;
	event->deadline = result.deadline;
	event->time = result.time;
	event->reason = result.reason;
	event->flags = 0;
	event->error = result.error;
	event->expirations = result.reason == TWHEEL_REASON_EXPIRED;
	event->satisfied = result.satisfied;
	event->missing = result.missing;
}

/* The following two are inlined into the end of an operation: 15 instructions less. */

/*
 * Push the event of an operation; no lock is needed. A full barrier, see twheel_events_wake().
 * Returns true if the queue was empty.
 */
static inline bool twheel_event_push(struct twheel_events *events,
				     struct twheel_file_op *file_op)
{
	struct twheel_file_op *prev;

	/* It counts as ended before a reader finds the event. */
	atomic_inc(&events->pushed);
	file_op->next = NULL;
	preempt_disable();
	prev = xchg(&events->newest, file_op);
	/* The releases pair with the address dependencies of event_pop(), like the xchg(). */
	if (prev) {
		/* See above. */
		smp_store_release(&prev->next, file_op);
	} else {
		/* See above. */
		smp_store_release(&events->oldest, file_op);
	}
	preempt_enable();
	return !prev;
}

/*
 * Wake waiters after an event was pushed, for events that a reader leaves, or at the end of the
 * queue; @pollers unless the queue was not empty.
 *
 *	CPU 0					CPU 1
 *	twheel_event_push()			waiter, for example twheel_events_poll()
 *	  xchg(newest, op)			  add to ->readers or ->pollers
 *	  full barrier				  smp_mb()
 *	waitqueue_active()?			  READ_ONCE(newest)
 *
 * Either CPU 0 sees the waiter, or CPU 1 sees an event. If CPU 1 reads NULL, the push that
 * replaces this NULL has "queue was empty" as its result, and wakes the pollers. The barrier
 * of CPU 1 is in twheel_events_poll() or in the set_current_state() of prepare_to_wait_event().
 * The barrier of CPU 0 is the xchg() of twheel_event_push(), the smp_mb() of events_wake_next()
 * in event.c, or for the end of the queue, ->lock on both sides. The caller keeps the queue: it
 * holds a reference to an operation or to the file.
 */
static inline void twheel_events_wake(struct twheel_events *events, bool pollers)
{
	/* After the barrier of CPU 0. */
	if (waitqueue_active(&events->readers))
		wake_up_interruptible(&events->readers);
	/* After the same barrier. */
	if (pollers && (waitqueue_active(&events->pollers.waiters) ||
			READ_ONCE(events->pollers.next) != &events->pollers))
		twheel_events_wake_pollers(events);
}

#endif /* _TWHEEL_DEV_QUEUE_H */
