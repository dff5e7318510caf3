// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: events, from the end of an operation or its period to read().
 *
 * A reader takes a piece off the head of the list, copies it without the lock, and puts the
 * events that were not delivered back in order. An event is delivered when all of it has
 * been copied to the reader's buffer. See periodic.c for the events of periods.
 *
 * A descriptor that confirms events keeps those that it has delivered until its next read() or a
 * call confirms them. When it is closed, it puts them back. Two threads must not use such a
 * descriptor at a time, since each would confirm the events of the other: the second one fails. So
 * no thread waits for @lock of a reader.
 *
 * A page fault may block for any time, for example in a file system in user space. So a piece is
 * copied with page faults disabled. If that fails, the reader puts the rest back for other readers
 * and takes a single event, which it holds during the fault.
 */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "../compat.h"
#include "../core/cell.h"
#include "../op/op.h"
#include "file.h"
#include "time.h"

/* Number of events copied at a time: 1 KiB on the stack, half of it on 32-bit kernels. */
#define COPY	(BITS_PER_LONG / 8)

static_assert(sizeof(struct twheel_event) == 128);

/* The end of an operation or a period */

/*
 * Callback of an operation that has ended: queue its event. A reader may drop the reference of
 * the queue once the event is queued. op/ keeps a reference until this function has returned,
 * and so the operation, its file and instance, and the queue.
 */
static void file_op_ended(struct twheel_op *op)
{
	struct twheel_file_op *file_op = container_of(op, struct twheel_file_op, op);
	struct twheel_events *events = file_op->events;
	bool was_empty;

	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&twheel_file_op_file(file_op)->nr_detached);
	if (likely(!(file_op->flags & TWHEEL_FILE_OP_PERIODIC)))
		was_empty = twheel_event_push(events, file_op);
	else
		was_empty = twheel_periodic_ended(twheel_file_op_periodic(file_op));
	twheel_events_wake(events, was_empty);
}

const struct twheel_op_ops twheel_file_op_ops = {
	.ended		= file_op_ended,
	.release	= twheel_file_op_release,
	.looked_up	= true,
};

/* Ending operations */

/* Drop all events. The queue has no pending operations and no users. May sleep. */
void twheel_events_empty(struct twheel_events *events)
{
	struct twheel_file_op *file_ops[TWHEEL_TAKE_MAX];
	u32 nr;

	while ((nr = twheel_events_take(events, file_ops, TWHEEL_TAKE_MAX))) {
		twheel_file_ops_forget(file_ops, nr);
		cond_resched();
	}
}

/*
 * End all pending operations of a file, except detached ones. @reason is TWHEEL_REASON_CANCELLED if
 * its queue has been shut: an add in progress cancels its own operation, see file_op_end_late(),
 * and no callback of an ended operation is running on return. Otherwise it is
 * TWHEEL_REASON_COMPLETED, and operations added during the call may or may not be ended. @flags is
 * TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP. May sleep.
 *
 * Returns the number of operations ended by this call. Without the lock, it bounds the visits by a
 * count that may be stale: adds and ends go on anyway.
 */
u32 twheel_file_end_all(struct twheel_file *file, enum twheel_reason reason, int error, u64 value,
			unsigned int flags)
{
	u32 leaves = READ_ONCE(file->nr_leaves), nr = 0;
	struct twheel_file_op *file_op = NULL;
	int err;

	while ((file_op = twheel_file_next_op(file, file_op, &leaves))) {
		cond_resched();
		if (flags & TWHEEL_KILLABLE && fatal_signal_pending(current)) {
			twheel_file_op_put(file_op);
			break;
		}
		if (twheel_file_op_id(file_op) == TWHEEL_NO_ID ||
		    file_op->flags & TWHEEL_ADD_DETACHED)
			continue;
		if (reason == TWHEEL_REASON_CANCELLED)
			err = twheel_op_cancel_sync(&file_op->op);
		else
			err = twheel_op_end(&file_op->op, reason, error, value);
		nr += !err;
	}
	return nr;
}

/* Reading */

/*
 * The fields are set one by one: GCC builds a compound literal aside, zeroes it, and copies it,
 * which takes 33 instructions more. Inlined: 25 instructions less.
 */
static __always_inline void event_fill(struct twheel_file_op *file_op, struct twheel_event *event)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	s64 offset = twheel_time_offset(file_op->clock, file_op->flags);

	if (likely(!periodic))
		twheel_event_set_result(event, &file_op->op);
	else
		twheel_periodic_fill(periodic, event);
	event->id = file_op->id;
	event->cookie = file_op->cookie;
	if (unlikely(file_op->again))
		event->flags |= TWHEEL_EVENT_AGAIN;
	event->clock = file_op->clock;
	event->cell = 0;
	memset(event->spare, 0, sizeof(event->spare));
	if (unlikely(file_op->flags & TWHEEL_ADD_CELL)) {
		event->cell = twheel_timer_cell(&file_op->op.timer)->last;
		event->deadline = event->cell & TWHEEL_CELL_IDLE ? TWHEEL_NEVER :
				  twheel_cell_time(event->cell);
	}
	if (likely(!offset))
		return;
	event->deadline = twheel_time_shift(event->deadline, offset);
	event->time = twheel_time_shift(event->time, offset);
}

/* Events were delivered. Forget the operations whose last ones they were. */
static void events_delivered(struct twheel_file_op **file_ops, u32 nr)
{
	struct twheel_file_periodic *periodic;
	u32 last = 0, i;

	for (i = 0; i < nr; i++) {
		periodic = twheel_file_op_periodic(file_ops[i]);
		if (likely(!periodic) || twheel_periodic_delivered(periodic))
			file_ops[last++] = file_ops[i];
	}
	twheel_file_ops_forget(file_ops, last);
}

/*
 * Set the number of events of a reader. It is too great for a moment, rather than too small: no
 * query must find a queue empty that is not.
 */
static void reader_set_nr(struct twheel_events *events, struct twheel_reader *reader, u32 nr)
{
	spin_lock(&events->lock);
	events->unconfirmed += nr - reader->nr;
	if (!nr) {
		list_del_init(&reader->entry);
	} else if (!reader->nr) {
		reader->time = ktime_get_ns();
		list_add_tail(&reader->entry, &events->holding);
	}
	spin_unlock(&events->lock);
	WRITE_ONCE(reader->nr, nr);
}

/* Copy @nr events. Returns the number of events that were copied as a whole. */
static u32 events_copy(const struct twheel_event *event, u32 nr, struct iov_iter *to)
{
	/* The kernel does not check the object of a copy of a constant size. */
	size_t copied = nr == 1 ? copy_to_iter(event, sizeof(*event), to) :
				  copy_to_iter(event, nr * sizeof(*event), to);
	u32 done = copied / sizeof(*event);

	if (likely(done == nr))
		return nr;
	iov_iter_revert(to, copied % sizeof(*event));
	/* On arm64, a copy that ends at a fault may have written more than it reports. */
	while (nr > 1 && done < nr && events_copy(&event[done], 1, to))
		done++;
	return done;
}

/*
 * Deliver the events of the taken operations, and put the rest back. Returns the number of
 * delivered events.
 */
static u32 events_deliver(struct twheel_events *events, struct twheel_file_op **file_ops, u32 nr,
			  struct iov_iter *to, bool may_fault)
{
	struct twheel_event event[COPY] __uninitialized;
	u32 done = 0, some, i, copied;

	if (likely(!may_fault))
		pagefault_disable();
	do {
		some = min(nr - done, (u32)COPY);
		for (i = 0; i < some; i++)
			event_fill(file_ops[done + i], &event[i]);
		copied = events_copy(event, some, to);
		done += copied;
	} while (copied == COPY && done < nr);
	if (likely(!may_fault))
		pagefault_enable();
	if (unlikely(done < nr))
		twheel_events_put_back(events, &file_ops[done], nr - done);
	return done;
}

/* Wake other waiters for events that this reader leaves. */
static void events_wake_next(struct twheel_events *events)
{
	/* See twheel_events_wake(). */
	smp_mb();
	twheel_events_wake(events, true);
}

/*
 * Deliver up to a buffer of events; @reader keeps them, if it is not NULL. Returns their number,
 * -EFAULT if the first one cannot be copied, or -ERESTARTSYS.
 */
static ssize_t events_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct iov_iter *to)
{
	size_t max = iov_iter_count(to) / sizeof(struct twheel_event), done = 0;
	struct twheel_file_op *file_ops[TWHEEL_TAKE_MAX] __uninitialized;
	bool may_fault = false;
	u32 nr, delivered;

	while (done < max && !fatal_signal_pending(current)) {
		nr = twheel_events_take(events, file_ops,
					may_fault ? 1 : min_t(size_t, max - done, TWHEEL_TAKE_MAX));
		if (!nr) {
			/* If some are readable, one is about to be linked. */
			if (!twheel_events_readable(events))
				return done;
			cond_resched();
			continue;
		}
		/* The rest of the piece is for other readers, since this one may block. */
		if (unlikely(may_fault) && twheel_events_readable(events))
			events_wake_next(events);
		delivered = events_deliver(events, file_ops, nr, to, may_fault);
		if (likely(!reader)) {
			events_delivered(file_ops, delivered);
		} else {
			memcpy(&reader->file_ops[done], file_ops, delivered * sizeof(*file_ops));
			reader_set_nr(events, reader, done + delivered);
		}
		done += delivered;
		if (may_fault && delivered < nr) {
			/* Another reader may deliver the event that was put back. */
			events_wake_next(events);
			return done ?: -EFAULT;
		}
		may_fault = delivered < nr;
		cond_resched();
	}
	/* This reader may have consumed the wake-up for the remaining events, or for the end. */
	if (twheel_events_readable(events))
		events_wake_next(events);
	else if (unlikely(!done) && twheel_events_at_end(events))
		twheel_events_wake(events, false);
	return done ?: -ERESTARTSYS;
}

/*
 * Returns the number of delivered bytes, which is a multiple of the event size, or 0 at the
 * end of a queue that was shut. Errors: -EINVAL if the buffer is too small for an event,
 * -EAGAIN if there is none and the file is non-blocking, -EFAULT if the first event cannot
 * be copied, -ERESTARTSYS.
 */
ssize_t twheel_events_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to)
{
	bool wait = !(iocb->ki_filp->f_flags & O_NONBLOCK) && !(iocb->ki_flags & IOCB_NOWAIT);
	ssize_t ret;

	if (iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;
	while (!(ret = events_read(events, reader, to))) {
		if (twheel_events_at_end(events)) {
			/* The next reader returns as well. */
			twheel_events_wake(events, false);
			return 0;
		}
		if (!wait)
			return -EAGAIN;
		ret = twheel_events_wait(events);
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : ret * (ssize_t)sizeof(struct twheel_event);
}

/* Descriptors that confirm events */

struct twheel_reader *twheel_reader_create(void)
{
	struct twheel_reader *reader = kzalloc(sizeof(*reader), TWHEEL_GFP_USER);

	if (!reader)
		return NULL;
	mutex_init(&reader->lock);
	INIT_LIST_HEAD(&reader->entry);
	return reader;
}

/* The last descriptor is closed: another reader gets its events. The queue has not been freed. */
void twheel_reader_close(struct twheel_events *events, struct twheel_reader *reader)
{
	u32 nr = reader->nr, i;

	if (nr) {
		for (i = 0; i < nr; i++)
			reader->file_ops[i]->again = true;
		twheel_events_put_back(events, reader->file_ops, nr);
		reader_set_nr(events, reader, 0);
		events_wake_next(events);
	}
	kfree(reader);
}

/*
 * Confirm the events of the previous read, and deliver some. Returns as twheel_events_read();
 * -EBUSY if another thread uses the reader; or -EINVAL for io_uring, which repeats a multishot read
 * by itself. Such a read is synchronous, and must not block, like preadv2() with RWF_NOWAIT.
 */
ssize_t twheel_reader_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to)
{
	ssize_t ret;
	u32 nr, i;

	if (!is_sync_kiocb(iocb) || iocb->ki_flags & IOCB_NOWAIT ||
	    iov_iter_count(to) < sizeof(struct twheel_event))
		return -EINVAL;
	if (!mutex_trylock(&reader->lock))
		return -EBUSY;
	nr = reader->nr;
	for (i = 0; i < nr; i += TWHEEL_TAKE_MAX)
		events_delivered(&reader->file_ops[i], min_t(u32, nr - i, TWHEEL_TAKE_MAX));
	if (nr)
		reader_set_nr(events, reader, 0);
	iov_iter_truncate(to, TWHEEL_READ_MAX * sizeof(struct twheel_event));
	ret = twheel_events_read(events, reader, iocb, to);
	mutex_unlock(&reader->lock);
	return ret;
}

/* Confirm the event of an operation. Returns 0, -EBUSY as above, or -ENOENT. */
int twheel_reader_confirm(struct twheel_events *events, struct twheel_reader *reader, u64 id)
{
	struct twheel_file_op *file_op = NULL;
	u32 i;

	if (!mutex_trylock(&reader->lock))
		return -EBUSY;
	for (i = 0; i < reader->nr && !file_op; i++)
		if (reader->file_ops[i]->id == id)
			file_op = reader->file_ops[i];
	if (file_op) {
		for (; i < reader->nr; i++)
			reader->file_ops[i - 1] = reader->file_ops[i];
		events_delivered(&file_op, 1);
		reader_set_nr(events, reader, reader->nr - 1);
	}
	mutex_unlock(&reader->lock);
	return file_op ? 0 : -ENOENT;
}
