// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the file of an operation, its rights and its limits.
 *
 * An operation holds a reference to its struct twheel_file, which may be closed. It is
 * charged to its file and event queue until its final event has been read, and to its
 * user until its memory is freed.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "file.h"

/* Drop a reference to the memory of a file. */
void twheel_file_put(struct twheel_file *file)
{
	if (refcount_dec_and_test(&file->ref)) {
		twheel_user_put(file->user);
		kfree(file);
	}
}

/*
 * Look up the operation of a call. A restricted file can use its own operations only. For it, all
 * other ids are unknown, including those of its operations whose event has been read: an error of
 * an id must not depend on the operations of other files.
 * Returns the operation with a reference, or an error as twheel_file_op_get().
 */
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id)
{
	struct twheel_file *file = call->file;
	struct twheel_file_op *file_op = twheel_file_op_get(file->instance, id);

	if (likely(twheel_file_may(file, TWHEEL_RIGHT_OTHERS)))
		return file_op;
	if (!IS_ERR(file_op) && file_op->file == file)
		return file_op;
	if (!IS_ERR(file_op))
		twheel_file_op_put(file_op);
	return ERR_PTR(-ENOENT);
}

/*
 * The limits of a file and of an event queue. A pending operation becomes an event, which stays
 * until it is read: both together are limited to twice the limit on pending operations. For
 * detached operations that is a limit of their queue, since each may have another reader; and of
 * a restricted file, which must not fill the queues of others.
 *
 * Returns -ESHUTDOWN if the file was drained or the purgatory removed, -ENOSPC at the limit on
 * pending operations, or -ENOBUFS at the limit on both.
 */
static int file_check(const struct twheel_file *file, bool detached)
{
	const struct twheel_events *own = &file->own;
	u32 max = file->instance->max_file_pending, held = 0;

	if (READ_ONCE(own->shut))
		return -ESHUTDOWN;
	if (READ_ONCE(own->nr_pending) + atomic_read(&file->nr_detached) >= max)
		return -ENOSPC;
	if (likely(!detached))
		held = READ_ONCE(own->held);
	else if (!twheel_file_may(file, TWHEEL_RIGHT_OTHERS))
		held = atomic_read(&file->held_detached);
	return held >= 2 * max ? -ENOBUFS : 0;
}

/* Operations that have ended may still be counted as pending. */
static int file_check_exactly(struct twheel_file *file, bool detached)
{
	int err = file_check(file, detached);

	lockdep_assert_held(&file->own.lock);
	if (err != -ENOSPC)
		return err;
	twheel_events_collect(&file->own);
	return file_check(file, detached);
}

/* Check the limits of a file without a charge, so that an add beyond one costs little. */
int twheel_file_check(struct twheel_file *file, bool detached)
{
	int err = file_check(file, detached);

	if (likely(!err))
		return 0;
	spin_lock(&file->own.lock);
	err = file_check_exactly(file, detached);
	spin_unlock(&file->own.lock);
	return err;
}

int twheel_detached_check(const struct twheel_instance *instance,
			  const struct twheel_events *events)
{
	if (READ_ONCE(events->shut))
		return -ESHUTDOWN;
	return READ_ONCE(events->held) >= instance->max_queue ? -ENOBUFS : 0;
}

static int detached_charge(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;
	int err;

	spin_lock(&events->lock);
	err = twheel_detached_check(file_op->file->instance, events);
	if (!err)
		twheel_events_add(events, file_op);
	spin_unlock(&events->lock);
	return err;
}

/*
 * Charge an operation to its file and event queue and put it on the pending list of the queue.
 * It has not been added yet: calls on it fail with -ENOENT. Errors as file_check().
 */
int twheel_file_op_charge(struct twheel_file_op *file_op)
{
	bool detached = file_op->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file *file = file_op->file;
	int err;

	spin_lock(&file->own.lock);
	err = file_check_exactly(file, detached);
	if (!err && detached) {
		atomic_inc(&file->nr_detached);
		atomic_inc(&file->held_detached);
	} else if (!err) {
		twheel_events_add(&file->own, file_op);
	}
	spin_unlock(&file->own.lock);
	if (err || !detached)
		return err;
	err = detached_charge(file_op);
	if (err) {
		atomic_dec(&file->nr_detached);
		atomic_dec(&file->held_detached);
	}
	return err;
}

/* The add of a charged operation has failed: it is not pending. */
void twheel_file_op_not_pending(struct twheel_file_op *file_op)
{
	struct twheel_events *events = file_op->events;

	if (file_op->flags & TWHEEL_ADD_DETACHED)
		atomic_dec(&file_op->file->nr_detached);
	spin_lock(&events->lock);
	list_del_init(&file_op->entry);
	WRITE_ONCE(events->nr_pending, events->nr_pending - 1);
	spin_unlock(&events->lock);
}
