// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: look-up by id, and the calls on operations and keys.
 *
 * Look-up by id
 * =============
 *
 * A look-up by id takes no lock. It may find an operation that has been freed, and whose memory has
 * become another one. The memory does not become anything else during the look-up, and id and
 * reference count are always valid: SLAB_TYPESAFE_BY_RCU, or freed after a grace period. A slot
 * that is free, or was never used, has an id that matches no look-up.
 *
 * A call that ends or re-arms an operation needs no reference. It disables interrupts, which is a
 * read-side critical section, and
 *
 *	1. compares the id
 *	2. locks the shard of the operation
 *	3. finds a pending timer, and compares the id again
 *	4. compares the shard again
 *
 * The shard is valid because of 1: a wheel is freed a grace period after its last operation was
 * forgotten, and so has no id. The shard found after 1 is that of the operation with the id, or of
 * a later one in the same memory, or NULL: no grace period that has ended began after either was
 * added.
 *
 * The operation may end before 2, and then the lock protects its memory no longer, which may become
 * an operation of another shard, with the same id in another instance. But each life begins with a
 * shard of NULL, and gets another one with that shard locked:
 *
 *	call_lock_op()				new life of the operation
 *	--------------				-------------------------
 *	lock a shard				shard = NULL
 *	is it pending? compare the id		smp_wmb()
 *	smp_rmb()				id = new id
 *	compare the shard			lock another one
 *						shard = this one, pending
 *
 * If 3 sees anything of a life on another shard, 4 does not see the locked one. So pending timer,
 * id and shard are of one life, which stays pending while the shard is locked. Then the module has
 * a reference, so its leaf, file and instance are valid; a call that ends it inherits that
 * reference.
 *
 * Other calls take a reference, and then compare the id:
 *
 *	twheel_call_op()			new life of the operation
 *	----------------			-------------------------
 *	refcount_inc_not_zero(ref)		id = TWHEEL_NO_ID
 *	smp_rmb()				smp_wmb()
 *	compare the id				ref = 1
 *						smp_wmb()
 *						id = new id
 *
 * If it takes a reference to the new life, it does not read the id of the old one. Until the new id
 * is set, other fields may still be those of the old life, but TWHEEL_NO_ID matches no look-up.
 *
 * The operation may then be of another instance, and this its last reference. It is dropped before
 * the end of the read-side section, for which the end of that instance waits.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../compat.h"
#include "../op/op.h"
#include "args.h"
#include "file.h"
#include "time.h"
#include "user.h"

#define REARM_MODES	(TWHEEL_REARM_IF_EARLIER | TWHEEL_REARM_IF_LATER)

/* Whether an operation was added through the file of a call. In a look-up, a hint. */
static bool call_owns(const struct twheel_ioctl *call, const struct twheel_file_op *file_op)
{
	return READ_ONCE(READ_ONCE(file_op->leaf)->file) == call->file;
}

/*
 * Whether a call may use an operation. A restricted file can use its own operations only; for it,
 * all other ids are unknown.
 */
static bool call_may_use(const struct twheel_ioctl *call, const struct twheel_file_op *file_op)
{
	return call_owns(call, file_op) ||
	       (twheel_file_may(call->file, TWHEEL_RIGHT_OTHERS) &&
		twheel_file_op_file(file_op)->instance == call->file->instance);
}

/*
 * Lock the pending operation of a call, without a reference, see above, and disable interrupts. A
 * restricted file does not lock the shards of others. Returns the operation, or NULL. Inlined: 8
 * instructions less.
 */
static __always_inline struct twheel_file_op *call_lock_op(const struct twheel_ioctl *call, u64 id)
{
	struct twheel_file_op *file_op;
	struct twheel_shard *shard;
	bool moved;

	twheel_irqs_disable();
	file_op = twheel_ids_find(&call->file->instance->ids, id);
	if (unlikely(!file_op || twheel_file_op_id(file_op) != id ||
		     (!twheel_file_may(call->file, TWHEEL_RIGHT_OTHERS) &&
		      !call_owns(call, file_op))))
		goto enable;
	do {
		shard = twheel_timer_predict_shard(&file_op->op.timer);
		if (unlikely(!shard))
			break;
		spin_lock(&shard->lock);
		/* Sparse does not count a lock that is only held in some cases. */
		__release(&shard->lock);
		if (likely(twheel_timer_pending(&file_op->op.timer) &&
			   READ_ONCE(file_op->id) == id)) {
			/* Pairs with the smp_wmb() in file_op_init(). */
			smp_rmb();
			if (likely(twheel_timer_shard(&file_op->op.timer) == shard &&
				   call_may_use(call, file_op)))
				return file_op;
		}
		moved = twheel_timer_shard(&file_op->op.timer) != shard;
		twheel_op_unlock(shard);
	} while (moved);
enable:
	twheel_irqs_enable();
	return NULL;
}

/* Look up the operation of a call. Returns it with a reference, or ERR_PTR(-ENOENT). */
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id)
{
	struct twheel_file_op *file_op;

	rcu_read_lock();
	file_op = twheel_ids_find(&call->file->instance->ids, id);
	if (file_op && !twheel_file_op_try_get(file_op))
		file_op = NULL;
	if (file_op && unlikely(twheel_file_op_id(file_op) != id || !call_may_use(call, file_op))) {
		/* Within the section, see twheel_ids_exit(). */
		twheel_file_op_put(file_op);
		file_op = NULL;
	}
	rcu_read_unlock();
	return file_op ?: ERR_PTR(-ENOENT);
}

/* Calls on an operation */

int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_op *file_op;

	if (args->cancel.flags || args->cancel.reserved)
		return -EINVAL;
	file_op = call_lock_op(call, args->cancel.id);
	if (!file_op)
		return -ENOENT;
	return twheel_op_end_locked(&file_op->op, TWHEEL_REASON_CANCELLED, 0, 0);
}

static bool result_valid(int error, u64 value)
{
	return !error || (error < 0 && error >= -MAX_ERRNO && !value);
}

int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_complete_args *complete = &args->complete;
	struct twheel_file_op *file_op;

	if (complete->flags || !result_valid(complete->error, complete->value))
		return -EINVAL;
	file_op = call_lock_op(call, complete->id);
	if (!file_op)
		return -ENOENT;
	return twheel_op_end_locked(&file_op->op, TWHEEL_REASON_COMPLETED, complete->error,
				    complete->value);
}

int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_rearm_args *rearm = &args->rearm;
	struct twheel_file_op *file_op;
	u64 deadline;
	int ret;

	BUILD_BUG_ON(TWHEEL_REARM_ABSTIME != TWHEEL_ADD_ABSTIME);
	if (rearm->flags & ~(TWHEEL_REARM_ABSTIME | REARM_MODES) ||
	    (rearm->flags & REARM_MODES) == REARM_MODES)
		return -EINVAL;
	if (!twheel_time_valid(rearm->deadline) || !twheel_time_valid(rearm->slack))
		return -EINVAL;
	file_op = call_lock_op(call, rearm->id);
	if (!file_op)
		return -ENOENT;
	ret = file_op->flags & (TWHEEL_FILE_OP_PERIODIC | TWHEEL_ADD_CELL) ? -EOPNOTSUPP : 0;
	/* An operation stays on its wheel. */
	if (!ret && file_op->clock == CLOCK_REALTIME &&
	    (rearm->flags ^ file_op->flags) & TWHEEL_ADD_ABSTIME)
		ret = -EINVAL;
	if (unlikely(ret)) {
		twheel_op_unlock_irqs(twheel_timer_shard(&file_op->op.timer));
		return ret;
	}
	deadline = twheel_time_deadline(file_op->clock, file_op->flags, rearm->deadline,
					rearm->flags & TWHEEL_REARM_ABSTIME);
	ret = twheel_op_rearm_locked(&file_op->op, deadline, rearm->slack,
				     rearm->flags & REARM_MODES);
	rearm->moved = ret > 0;
	return min(ret, 0);
}

/*
 * Watching further keys
 *
 * The memory of the watches of an add follows the operation. Those of a TWHEEL_IOC_WATCH are in a
 * chunk, which is freed with its last watch, so that an operation which keeps watching and
 * unwatching keys has a chunk for each key at most. A chunk is added before its watches are
 * attached, since another thread may unwatch them at once. Until the number of attached watches is
 * known, all count as used, and one more for the call.
 */

/* Watches of a call; the lock of the event queue protects @node and @used. */
struct chunk {
	struct hlist_node	node;
	u32			nr;
	u32			used;
	struct twheel_watch	watch[];
};

/* Free the chunks of an operation without references. */
void twheel_chunks_free(struct twheel_file_op *file_op)
{
	struct hlist_node *next;
	struct chunk *chunk;

	hlist_for_each_entry_safe(chunk, next, &file_op->chunks, node)
		kfree(chunk);
}

/* @nr watches of a chunk are not used any more. */
static void chunk_release(struct twheel_file_op *file_op, struct chunk *chunk, u32 nr)
{
	lockdep_assert_held(&file_op->events->lock);
	chunk->used -= nr;
	if (chunk->used)
		return;
	hlist_del(&chunk->node);
	kfree(chunk);
}

static int file_op_watch(struct twheel_file_op *file_op, const struct twheel_watch_spec *specs,
			 u32 nr_keys)
{
	struct chunk *chunk = kmalloc(struct_size(chunk, watch, nr_keys), TWHEEL_GFP_USER);
	int nr;

	if (!chunk)
		return -ENOMEM;
	chunk->nr = nr_keys;
	chunk->used = nr_keys + 1;
	spin_lock(&file_op->events->lock);
	hlist_add_head(&chunk->node, &file_op->chunks);
	spin_unlock(&file_op->events->lock);
	nr = __twheel_op_watch(&file_op->op, specs, chunk->watch, nr_keys, true);
	spin_lock(&file_op->events->lock);
	chunk_release(file_op, chunk, nr_keys - max(nr, 0) + 1);
	spin_unlock(&file_op->events->lock);
	return min(nr, 0);
}

int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_watch_args *watch = &args->watch;
	const struct twheel_watch_spec *specs;
	struct twheel_file_op *file_op;
	int err;

	if (watch->flags || watch->reserved || !watch->nr_keys)
		return -EINVAL;
	specs = twheel_call_specs(call, watch->keys, watch->nr_keys, watch->key_size);
	if (IS_ERR(specs))
		return PTR_ERR(specs);
	file_op = twheel_call_op(call, watch->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	err = file_op_watch(file_op, specs, watch->nr_keys);
	twheel_file_op_put(file_op);
	return err;
}

/* The watch has been detached, and belongs to a chunk, or to the add. */
static void file_op_unwatched(struct twheel_file_op *file_op, const struct twheel_watch *watch)
{
	struct chunk *chunk;

	spin_lock(&file_op->events->lock);
	hlist_for_each_entry(chunk, &file_op->chunks, node) {
		if (watch >= chunk->watch && watch < chunk->watch + chunk->nr) {
			chunk_release(file_op, chunk, 1);
			break;
		}
	}
	spin_unlock(&file_op->events->lock);
}

int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_op *file_op;
	struct twheel_watch *watch;

	if (args->unwatch.flags || args->unwatch.reserved)
		return -EINVAL;
	file_op = twheel_call_op(call, args->unwatch.id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	watch = twheel_op_unwatch(&file_op->op, &args->unwatch.key);
	if (!IS_ERR(watch))
		file_op_unwatched(file_op, watch);
	twheel_file_op_put(file_op);
	return PTR_ERR_OR_ZERO(watch);
}

/* Calls on keys, and on all operations */

/* Result of a call that stops at a fatal signal; its output has the progress. */
static int interrupted(void)
{
	return fatal_signal_pending(current) ? -EINTR : 0;
}

int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_purgatory *purgatory = call->file->instance->purgatory;
	struct twheel_signal_args *signal = &args->signal;

	if (signal->flags || signal->reserved)
		return -EINVAL;
	signal->completed = twheel_signal_some(purgatory, &signal->key, signal->amount,
					       signal->value, signal->limit, TWHEEL_KILLABLE);
	return interrupted();
}

int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_cancel_key_args *cancel = &args->cancel_key;

	if (cancel->flags)
		return -EINVAL;
	cancel->cancelled = twheel_cancel_for_key(call->file->instance->purgatory, &cancel->key,
						  NULL, NULL, TWHEEL_KILLABLE);
	return interrupted();
}

int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_complete_all_args *all = &args->complete_all;
	struct twheel_file *file = call->file;
	bool others = all->flags & TWHEEL_COMPLETE_OTHERS;

	if (all->flags & ~TWHEEL_COMPLETE_OTHERS || all->reserved)
		return -EINVAL;
	if (!result_valid(all->error, all->value))
		return -EINVAL;
	if (others && !twheel_file_may(file, TWHEEL_RIGHT_OTHERS))
		return -EPERM;
	all->completed = 0;
	if (!others) {
		all->completed = twheel_file_end_all(file, TWHEEL_REASON_COMPLETED, all->error,
						     all->value, TWHEEL_KILLABLE);
		return interrupted();
	}
	if (mutex_lock_killable(&file->instance->complete_lock))
		return -EINTR;
	all->completed = twheel_complete_all(file->instance->purgatory, all->error, all->value,
					     TWHEEL_KILLABLE);
	mutex_unlock(&file->instance->complete_lock);
	return interrupted();
}

int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->drain.flags)
		return -EINVAL;
	twheel_events_shut(&file->own);
	args->drain.cancelled = twheel_file_end_all(file, TWHEEL_REASON_CANCELLED, 0, 0,
						    TWHEEL_KILLABLE);
	return interrupted();
}
