// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, events: what there is to tell, until somebody reads it.
 *
 * An operation that has ended is its own event: it is put onto its box's list, and
 * nothing has to be allocated.  So is a periodic one of which a period has passed;
 * what happens to it until it is read is told by the same event.  Each event goes
 * to one reader.  A reader takes a few off the list and copies them without a lock,
 * since user memory may have to be paged in; what it could not deliver goes back
 * to the head of the list, in order, and whoever waits is told.
 *
 * An operation is in one of three states, under the lock of its box: there is
 * nothing to tell of it, or it is queued, or a reader has it.  What a reader has
 * is queued again by that reader, if there is more to tell when it is done.
 *
 * An event is delivered when the whole of it is in the reader's buffer; if it
 * was the last of its operation, this is forgotten then.
 *
 * Readers sleep exclusively: one event wakes one of them.  A reader that
 * leaves events behind wakes the next.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "device.h"

/* How many events are copied at a time; a KiB on the stack. */
#define EVENT_BATCH	16

/* What a reader has taken off the list. */
struct events_taken {
	u32			nr;
	struct twheel_file_op	*fop[EVENT_BATCH];
	struct twheel_event	event[EVENT_BATCH];
};

/*
 * With the lock of the box held, or by who has its file: an open file may be closed as
 * soon as nobody is in its box any more.
 */
static void readers_wake(struct twheel_box *box)
{
	/* Who goes to sleep queues itself first, and then looks for events: one sees the other. */
	if (wq_has_sleeper(&box->readers))
		wake_up_interruptible_poll(&box->readers, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&box->async, SIGIO, POLL_IN);
}

static bool events_there(struct twheel_box *box)
{
	return !list_empty(&box->events);
}

static void event_put(struct twheel_file_op *fop, bool at_head)
{
	struct twheel_box *box = fop->box;

	lockdep_assert_held(&box->lock);
	fop->queued = true;
	if (at_head)
		list_add(&fop->event, &box->events);
	else
		list_add_tail(&fop->event, &box->events);
	WRITE_ONCE(box->unread, box->unread + 1);
}

/**
 * twheel_event_queue - there is something to tell of an operation
 * @fop: the operation, with the lock of its box held
 */
void twheel_event_queue(struct twheel_file_op *fop)
{
	if (fop->queued || fop->reading)
		return;
	event_put(fop, false);
	readers_wake(fop->box);
}

/**
 * twheel_event_ended - an operation has ended
 * @fop: the operation
 *
 * Context: process.
 */
void twheel_event_ended(struct twheel_file_op *fop)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	struct twheel_box *box = fop->box;

	spin_lock(&box->lock);
	if (periodic)
		twheel_file_periodic_catch_up(periodic);
	fop->ended = true;
	list_del_init(&fop->entry);
	WRITE_ONCE(box->nr_pending, box->nr_pending - 1);
	twheel_event_queue(fop);
	spin_unlock(&box->lock);
	/* A function of it that is running sees that it has ended. */
	if (periodic)
		twheel_periodic_cancel(&periodic->periodic);
}

static void event_fill(struct twheel_file_op *fop, struct twheel_event *event)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	struct twheel_op_result result = { .reason = TWHEEL_EXPIRED };

	if (fop->ended)
		twheel_op_result(&fop->op, &result);
	else if (periodic)
		twheel_file_periodic_catch_up(periodic);
	*event = (struct twheel_event) {
		.id		= fop->id,
		.cookie		= fop->cookie,
		.value		= result.value,
		.deadline	= result.deadline,
		.time		= result.time,
		.reason		= result.reason,
		.flags		= fop->ended ? 0 : TWHEEL_EVENT_MORE,
		.error		= result.error,
		.expirations	= result.reason == TWHEEL_EXPIRED,
	};
	if (periodic)
		twheel_file_periodic_told(periodic, event);
}

/* Take some events off the head of the list. */
static void events_take(struct twheel_box *box, struct events_taken *taken, u32 room)
{
	struct twheel_file_op *fop;

	taken->nr = 0;
	spin_lock(&box->lock);
	while (taken->nr < room && events_there(box)) {
		fop = list_first_entry(&box->events, struct twheel_file_op, event);
		list_del(&fop->event);
		fop->queued = false;
		fop->reading = true;
		event_fill(fop, &taken->event[taken->nr]);
		taken->fop[taken->nr++] = fop;
	}
	WRITE_ONCE(box->unread, box->unread - taken->nr);
	spin_unlock(&box->lock);
}

/* Put events that were not delivered back to where they came from. */
static void events_put_back(struct twheel_box *box, struct events_taken *taken, u32 delivered)
{
	u32 nr = taken->nr;

	spin_lock(&box->lock);
	while (nr > delivered) {
		taken->fop[--nr]->reading = false;
		event_put(taken->fop[nr], true);
	}
	spin_unlock(&box->lock);
}

/* An event that was not the last of its operation, which is periodic, has been delivered. */
static void event_delivered(struct twheel_file_op *fop, const struct twheel_event *event)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(fop);
	struct twheel_box *box = fop->box;

	spin_lock(&box->lock);
	fop->reading = false;
	periodic->expirations -= event->expirations;
	if (fop->ended || periodic->expirations)
		event_put(fop, false);
	if (!fop->ended)
		twheel_file_periodic_resume(periodic);
	spin_unlock(&box->lock);
}

/* Deliver what was taken; how many got there as a whole. */
static u32 events_deliver(struct twheel_box *box, struct events_taken *taken,
			  struct twheel_event __user *to)
{
	unsigned long left = copy_to_user(to, taken->event, taken->nr * sizeof(*to));
	u32 delivered = taken->nr - DIV_ROUND_UP(left, sizeof(*to));
	u32 i, nr_last = 0;

	if (delivered < taken->nr)
		events_put_back(box, taken, delivered);
	for (i = 0; i < delivered; i++) {
		if (taken->event[i].flags & TWHEEL_EVENT_MORE)
			event_delivered(taken->fop[i], &taken->event[i]);
		else
			taken->fop[nr_last++] = taken->fop[i];
	}
	twheel_file_ops_forget(box, taken->fop, nr_last);
	return delivered;
}

/* Deliver as many events as fit; how many, or -EFAULT if the first can't be. */
static ssize_t events_read(struct twheel_box *box, struct twheel_event __user *to, size_t room)
{
	struct events_taken taken;
	size_t done = 0;
	u32 delivered;

	while (done < room) {
		events_take(box, &taken, min_t(size_t, room - done, EVENT_BATCH));
		if (!taken.nr)
			return done;
		delivered = events_deliver(box, &taken, to + done);
		done += delivered;
		if (delivered < taken.nr || fatal_signal_pending(current))
			break;
		cond_resched();
	}
	/* Something may be left, and its wake-up have been ours. */
	if (events_there(box))
		readers_wake(box);
	return done ?: -EFAULT;
}

/**
 * twheel_file_read - take events
 * @file: of a purgatory
 * @buf: for as many struct twheel_event as fit
 * @size: of @buf in bytes
 * @pos: not used
 *
 * Return: bytes delivered, whole events only; 0 at the end of a file that has been
 * drained, or whose purgatory has been removed; -EINVAL if not even one fits,
 * -EAGAIN if there is none and the file is non-blocking, -EFAULT if none could
 * be copied, -ERESTARTSYS.
 */
ssize_t twheel_file_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct twheel_event __user *to = (struct twheel_event __user *)buf;
	struct twheel_file *tf = file->private_data;
	size_t room = size / sizeof(*to);
	struct twheel_box *box;
	ssize_t ret;

	if (!room)
		return -EINVAL;
	/* The file may become a reader of detached events at any time. */
	while (!(ret = events_read(box = READ_ONCE(tf->box), to, room))) {
		if (box != READ_ONCE(tf->box))
			continue;
		if (twheel_box_at_end(box))
			return 0;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible_exclusive(box->readers, events_there(box) ||
							 twheel_box_at_end(box));
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : ret * (ssize_t)sizeof(*to);
}

/**
 * twheel_file_poll - whether there is an event to read
 * @file: of a purgatory
 * @wait: where to wait for one
 *
 * Return: EPOLLIN and EPOLLRDNORM while there is, and with EPOLLHUP at the end.
 */
__poll_t twheel_file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_named *named = tf->share->named;
	struct twheel_box *box;

	/* Who waits already when it comes to read detached events is to see these, too. */
	poll_wait(file, &tf->own.readers, wait);
	if (named)
		poll_wait(file, &twheel_named_detached(named)->readers, wait);
	box = READ_ONCE(tf->box);
	/* Pairs with that of wq_has_sleeper(): the event is seen, or this who waits. */
	smp_mb();
	if (events_there(box))
		return EPOLLIN | EPOLLRDNORM;
	return twheel_box_at_end(box) ? EPOLLIN | EPOLLRDNORM | EPOLLHUP : 0;
}

/**
 * twheel_file_fasync - SIGIO for events, on or off
 * @fd: the descriptor
 * @file: of a purgatory
 * @on: which
 *
 * Return: as fasync_helper().
 */
int twheel_file_fasync(int fd, struct file *file, int on)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_box *box = READ_ONCE(tf->box);
	int ret;

	/* Two threads may have turned it on and changed the box at once. */
	if (!on)
		fasync_helper(fd, file, 0, &tf->own.async);
	ret = fasync_helper(fd, file, on, &box->async);
	if (box == READ_ONCE(tf->box))
		return ret;
	/* It has become a reader of detached events just now. */
	fasync_helper(fd, file, 0, &box->async);
	return fasync_helper(fd, file, on, &READ_ONCE(tf->box)->async);
}
