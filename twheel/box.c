// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, boxes: the operations of one owner, and how they end together.
 *
 * An operation is charged to its box before it is added, so that room for its
 * event is there: one that waits will be an event, and an event that nobody
 * reads stays, so both count against a limit of their own.
 *
 * The lock of a box is taken in process context only, and outside of all locks of
 * the layers below.
 */
#include <linux/fs.h>
#include <linux/sched/signal.h>

#include "device.h"

/**
 * twheel_box_init - make a box ready
 * @box: the box
 * @share: of which node its owner is
 * @max_pending: how many operations may wait at a time
 */
void twheel_box_init(struct twheel_box *box, struct twheel_share *share, u32 max_pending)
{
	box->share = share;
	box->max_pending = max_pending;
	spin_lock_init(&box->lock);
	INIT_LIST_HEAD(&box->pending);
	INIT_LIST_HEAD(&box->events);
	init_waitqueue_head(&box->readers);
}

/**
 * twheel_box_charge - make room for an operation that is about to wait
 * @box: whose
 *
 * Return: 0; -ESHUTDOWN; -ENOSPC if as many as may are pending; -EAGAIN if too
 * many are pending or unread.
 */
int twheel_box_charge(struct twheel_box *box)
{
	int err = 0;

	spin_lock(&box->lock);
	if (box->shut)
		err = -ESHUTDOWN;
	else if (box->nr_pending >= box->max_pending)
		err = -ENOSPC;
	else if (box->held >= 2 * box->max_pending)
		err = -EAGAIN;
	if (!err) {
		WRITE_ONCE(box->nr_pending, box->nr_pending + 1);
		box->held++;
	}
	spin_unlock(&box->lock);
	return err;
}

/* Let all who wait look again. */
static void box_tell_end(struct twheel_box *box)
{
	wake_up_interruptible_all(&box->readers);
	kill_fasync(&box->async, SIGIO, POLL_HUP);
}

/**
 * twheel_box_uncharge - some operations are gone
 * @box: whose
 * @pending: how many of them never were added
 * @nr: how many
 */
void twheel_box_uncharge(struct twheel_box *box, u32 pending, u32 nr)
{
	bool wake;

	spin_lock(&box->lock);
	WRITE_ONCE(box->nr_pending, box->nr_pending - pending);
	box->held -= nr;
	wake = box->shut && !box->held;
	spin_unlock(&box->lock);
	/* Readers wait for the end, too. */
	if (wake)
		box_tell_end(box);
}

/**
 * twheel_box_at_end - whether there will be nothing to read any more
 * @box: the box
 */
bool twheel_box_at_end(struct twheel_box *box)
{
	bool at_end;

	spin_lock(&box->lock);
	at_end = box->shut && !box->held;
	spin_unlock(&box->lock);
	return at_end;
}

/**
 * twheel_box_shut - let nothing in any more
 * @box: the box
 */
void twheel_box_shut(struct twheel_box *box)
{
	spin_lock(&box->lock);
	WRITE_ONCE(box->shut, true);
	spin_unlock(&box->lock);
	box_tell_end(box);
}

/* The first that waits, with a reference; it goes to the end of the list. */
static struct twheel_file_op *box_next(struct twheel_box *box)
{
	struct twheel_file_op *fop;

	spin_lock(&box->lock);
	fop = list_first_entry_or_null(&box->pending, struct twheel_file_op, entry);
	if (fop) {
		list_move_tail(&fop->entry, &box->pending);
		twheel_op_get(&fop->op);
	}
	spin_unlock(&box->lock);
	return fop;
}

/**
 * twheel_box_cancel - cancel all that wait in a box that is shut
 * @box: the box
 *
 * When this returns, no callback of theirs is running. One that is just being
 * added is cancelled by who adds it.
 *
 * Context: process; may sleep.
 * Return: how many this cancelled.
 */
u32 twheel_box_cancel(struct twheel_box *box)
{
	struct twheel_file_op *fop;
	u32 nr = 0;

	while ((fop = box_next(box))) {
		nr += !twheel_op_cancel_sync(&fop->op);
		twheel_file_op_put(fop);
		cond_resched();
	}
	return nr;
}

/**
 * twheel_box_complete - complete all that wait
 * @box: the box
 * @error: 0, or a negative error number that they are completed with
 * @value: for their events; not used with an error
 *
 * Those that are added meanwhile are completed or not.
 *
 * Return: how many this completed.
 */
u32 twheel_box_complete(struct twheel_box *box, int error, u64 value)
{
	u32 todo = READ_ONCE(box->nr_pending), nr = 0;
	struct twheel_file_op *fop;

	/* One that another thread is just ending may come round more than once. */
	while (todo-- && (fop = box_next(box))) {
		nr += !(error ? twheel_op_complete_error(&fop->op, error) :
				twheel_op_complete(&fop->op, value));
		twheel_file_op_put(fop);
		cond_resched();
	}
	return nr;
}

/**
 * twheel_box_empty - forget all that is in a box which nobody uses any more
 * @box: the box, shut and without any that waits
 *
 * Context: process; may sleep.
 */
void twheel_box_empty(struct twheel_box *box)
{
	struct twheel_file_op *fop, *next;

	list_for_each_entry_safe(fop, next, &box->events, event) {
		twheel_file_op_forget(fop);
		cond_resched();
	}
}
