// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the file of an operation, look-up by id, and limits.
 *
 * An operation holds a reference to its struct twheel_file, which may be closed. It is
 * charged to its file and event queue until its final event has been read, and to its
 * user until its last reference is dropped.
 *
 * A look-up by id takes no lock. It may find an operation that has been freed, and whose memory has
 * become another one. The memory does not become anything else during the look-up, and the
 * reference count is always valid: SLAB_TYPESAFE_BY_RCU, or freed after a grace period. So it takes
 * a reference, and then compares the id:
 *
 *	twheel_file_op_get()			new life of the operation
 *	--------------------			-------------------------
 *	refcount_inc_not_zero(ref)		id = TWHEEL_NO_ID
 *	smp_rmb()				smp_wmb()
 *	compare the id				ref = 1
 *						smp_wmb()
 *						id = new id
 *
 * If it takes a reference to the new life, it does not read the id of the old one. Until the new id
 * is set, other fields may still be those of the old life, but TWHEEL_NO_ID matches no look-up.
 *
 * The id is freed when the final event has been read.
 */
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../op/purgatory.h"
#include "file.h"

/*
 * At its first add, a file gets the shard with the fewest files: CPUs with files of their own do
 * not contend for a lock of the ids.
 */
u32 twheel_file_choose_shard(struct twheel_file *file)
{
	struct twheel_instance *instance = file->instance;
	u32 i, shard = 0;

	spin_lock(&instance->lock);
	if (file->shard != TWHEEL_NO_SHARD) {
		shard = file->shard;
	} else {
		for (i = 1; i < TWHEEL_ID_SHARDS; i++)
			if (instance->nr_adders[i] < instance->nr_adders[shard])
				shard = i;
		instance->nr_adders[shard]++;
		WRITE_ONCE(file->shard, shard);
	}
	spin_unlock(&instance->lock);
	return shard;
}

static void file_put(struct twheel_file *file, u32 nr)
{
	if (refcount_sub_and_test(nr, &file->ref)) {
		twheel_user_put(file->user);
		kfree(file);
	}
}

/* Drop a reference to the memory of a file. */
void twheel_file_put(struct twheel_file *file)
{
	file_put(file, 1);
}

/* @nr operations of a file, charged to its user, have been freed. */
static void file_uncharge(struct twheel_file *file, u32 nr)
{
	if (!nr)
		return;
	twheel_user_uncharge(file->user, TWHEEL_USER_OPS, nr);
	file_put(file, nr);
}

/* Free an operation without references, but leave its file and its user charged. */
static void file_op_free(struct twheel_file_op *file_op)
{
	if (unlikely(file_op->flags & TWHEEL_ADD_DETACHED))
		twheel_detached_free(twheel_file_op_detached(file_op));
	twheel_file_op_free(file_op);
}

/* Callback of an operation without references. */
void twheel_file_op_release(struct twheel_op *op)
{
	struct twheel_file_op *file_op = container_of(op, struct twheel_file_op, op);
	bool put_user = file_op->flags & TWHEEL_FILE_OP_USER;
	struct twheel_file *file = file_op->file;
	struct twheel_user *user = file_op->user;

	file_op_free(file_op);
	twheel_user_uncharge(user, TWHEEL_USER_OPS, 1);
	if (put_user)
		twheel_user_put(user);
	file_put(file, 1);
}

/* Drop a reference to each operation; adjacent ones of a file are released together. */
void twheel_file_ops_put(struct twheel_file_op **file_ops, u32 nr)
{
	struct twheel_file *file = NULL;
	u32 i, same = 0;

	for (i = 0; i < nr; i++) {
		if (!twheel_op_put_last(&file_ops[i]->op))
			continue;
		if (unlikely(file_ops[i]->flags & TWHEEL_FILE_OP_USER)) {
			twheel_file_op_release(&file_ops[i]->op);
			continue;
		}
		if (file_ops[i]->file != file) {
			file_uncharge(file, same);
			file = file_ops[i]->file;
			same = 0;
		}
		same++;
		file_op_free(file_ops[i]);
	}
	file_uncharge(file, same);
}

/*
 * Take a reference to an operation that was found in the table, in the same read-side critical
 * section. Returns false if it has been freed.
 */
static bool file_op_try_get(struct twheel_file_op *file_op)
{
	if (!refcount_inc_not_zero(&file_op->op.ref))
		return false;
	/* See above. */
	smp_rmb();
	return true;
}

/* The id of an operation with a reference. Other members are valid if it is not TWHEEL_NO_ID. */
static u64 file_op_id(const struct twheel_file_op *file_op)
{
	/* On 32-bit kernels this may be half of TWHEEL_NO_ID, which does not match either. */
	u64 id = READ_ONCE(file_op->id);

	/* Pairs with the smp_wmb() in twheel_ids_add(). */
	smp_rmb();
	return id;
}

static bool file_op_has_index(const struct twheel_file_op *file_op,
			      const struct twheel_instance *instance, unsigned long index)
{
	u64 id = file_op_id(file_op);

	return id != TWHEEL_NO_ID && twheel_id_index(&instance->ids, id) == index &&
	       file_op->file->instance == instance;
}

/* Returns the operation of an id with a reference, or ERR_PTR(-ENOENT). */
struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id)
{
	struct twheel_file_op *file_op;

	rcu_read_lock();
	file_op = twheel_ids_find(&instance->ids, id);
	if (file_op && !file_op_try_get(file_op))
		file_op = NULL;
	rcu_read_unlock();
	if (!file_op)
		return ERR_PTR(-ENOENT);
	if (likely(file_op_id(file_op) == id && file_op->file->instance == instance))
		return file_op;
	twheel_file_op_put(file_op);
	return ERR_PTR(-ENOENT);
}

/*
 * Returns the first operation at or after *@index with a reference and stores its index, or
 * returns NULL at the end. May sleep.
 */
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index)
{
	struct twheel_file_op *file_op;
	bool found;

	while (*index < TWHEEL_INDEX_END) {
		rcu_read_lock();
		file_op = twheel_ids_next(&instance->ids, index);
		found = file_op && file_op_try_get(file_op);
		rcu_read_unlock();
		if (found && likely(file_op_has_index(file_op, instance, *index)))
			return file_op;
		if (found)
			twheel_file_op_put(file_op);
		/* It was removed in the meantime, or some leaves are empty. */
		*index += !!file_op;
		cond_resched();
	}
	return NULL;
}

/*
 * Look up the operation of a call. A restricted file can use its own operations only; for it, all
 * other ids are unknown. Returns the operation with a reference, or ERR_PTR(-ENOENT).
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
 * pending operations, or -ENOBUFS at the limit on both. Without the lock of @own the result is a
 * hint: the charge checks again with it.
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

/* twheel_file_check(), if the file may be at a limit. */
int __twheel_file_check(struct twheel_file *file, bool detached)
{
	int err = file_check(file, detached);

	if (likely(!err))
		return 0;
	spin_lock(&file->own.lock);
	err = file_check_exactly(file, detached);
	spin_unlock(&file->own.lock);
	return err;
}

/* Likewise, a hint without the lock of @events. */
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
