// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, events: what has ended, until somebody reads it.
 *
 * An operation that has ended is its own event: it is put onto the file's
 * list, and nothing has to be allocated.  Each event goes to one reader.  A
 * reader takes a few off the list and copies them without a lock, since user
 * memory may have to be paged in; what it could not deliver goes back to the
 * head of the list, in order, and whoever waits is told.
 *
 * An event is delivered when the whole of it is in the reader's buffer; then
 * the file forgets the operation.
 *
 * Readers sleep exclusively: one event wakes one of them.  A reader that
 * leaves events behind wakes the next.
 */
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "device.h"

/* How many events are copied at a time; half a KiB on the stack. */
#define EVENT_BATCH	8

static void readers_wake(struct twheel_file *file)
{
	wake_up_interruptible_poll(&file->readers, EPOLLIN | EPOLLRDNORM);
}

static bool events_there(struct twheel_file *file)
{
	return !list_empty(&file->events);
}

/**
 * twheel_event_queue - an operation has ended
 * @fop: the operation
 *
 * Context: process.
 */
void twheel_event_queue(struct twheel_file_op *fop)
{
	struct twheel_file *file = fop->file;

	spin_lock(&file->lock);
	list_add_tail(&fop->event, &file->events);
	WRITE_ONCE(file->unread, file->unread + 1);
	spin_unlock(&file->lock);
	readers_wake(file);
}

/* Take some events off the head of the list; how many. */
static u32 events_pop(struct twheel_file *file, struct twheel_file_op **batch, u32 room)
{
	struct twheel_file_op *fop;
	u32 nr = 0;

	spin_lock(&file->lock);
	while (nr < room && events_there(file)) {
		fop = list_first_entry(&file->events, struct twheel_file_op, event);
		list_del(&fop->event);
		batch[nr++] = fop;
	}
	WRITE_ONCE(file->unread, file->unread - nr);
	spin_unlock(&file->lock);
	return nr;
}

/* Put events that were not delivered back to where they came from. */
static void events_push_back(struct twheel_file *file, struct twheel_file_op **batch, u32 nr)
{
	spin_lock(&file->lock);
	WRITE_ONCE(file->unread, file->unread + nr);
	while (nr)
		list_add(&batch[--nr]->event, &file->events);
	spin_unlock(&file->lock);
}

/* Copy events to user space; how many got there as a whole. */
static u32 events_copy(struct twheel_file_op **batch, u32 nr, struct twheel_event __user *to)
{
	struct twheel_event event[EVENT_BATCH] = {};
	struct twheel_op_result result;
	unsigned long left;
	u32 i;

	for (i = 0; i < nr; i++) {
		twheel_op_result(&batch[i]->op, &result);
		event[i].id = batch[i]->id;
		event[i].cookie = batch[i]->cookie;
		event[i].value = result.value;
		event[i].deadline = result.deadline;
		event[i].time = result.time;
		event[i].reason = result.reason;
	}
	left = copy_to_user(to, event, nr * sizeof(*event));
	return nr - DIV_ROUND_UP(left, sizeof(*event));
}

/* Deliver as many events as fit; how many, or -EFAULT if the first can't be. */
static ssize_t events_read(struct twheel_file *file, struct twheel_event __user *to,
			   size_t room)
{
	struct twheel_file_op *batch[EVENT_BATCH];
	u32 nr, copied, i;
	size_t done = 0;

	while (done < room) {
		nr = events_pop(file, batch, min_t(size_t, room - done, EVENT_BATCH));
		if (!nr)
			return done;
		copied = events_copy(batch, nr, to + done);
		if (copied < nr)
			events_push_back(file, batch + copied, nr - copied);
		for (i = 0; i < copied; i++)
			twheel_file_op_forget(batch[i]);
		done += copied;
		if (copied < nr)
			break;
		cond_resched();
	}
	/* Something may be left, and its wake-up have been ours. */
	if (events_there(file))
		readers_wake(file);
	return done ?: -EFAULT;
}

/**
 * twheel_file_read - take events
 * @file: of /dev/twheel
 * @buf: for as many struct twheel_event as fit
 * @size: of @buf in bytes
 * @pos: not used
 *
 * Return: bytes delivered, whole events only; -EINVAL if not even one fits,
 * -EAGAIN if there is none and the file is non-blocking, -EFAULT if none could
 * be copied, -ERESTARTSYS.
 */
ssize_t twheel_file_read(struct file *file, char __user *buf, size_t size, loff_t *pos)
{
	struct twheel_event __user *to = (struct twheel_event __user *)buf;
	struct twheel_file *tf = file->private_data;
	size_t room = size / sizeof(*to);
	ssize_t ret;

	if (!room)
		return -EINVAL;
	while (!(ret = events_read(tf, to, room))) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = wait_event_interruptible_exclusive(tf->readers, events_there(tf));
		if (ret)
			return ret;
	}
	return ret < 0 ? ret : ret * (ssize_t)sizeof(*to);
}

/**
 * twheel_file_poll - whether there is an event to read
 * @file: of /dev/twheel
 * @wait: where to wait for one
 *
 * Return: EPOLLIN and EPOLLRDNORM while there is.
 */
__poll_t twheel_file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct twheel_file *tf = file->private_data;

	poll_wait(file, &tf->readers, wait);
	return events_there(tf) ? EPOLLIN | EPOLLRDNORM : 0;
}
