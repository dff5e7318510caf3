// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the add, look-up by id, and the calls on operations and keys.
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
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../compat.h"
#include "../core/cell.h"
#include "../op/op.h"
#include "args.h"
#include "file.h"
#include "time.h"
#include "user.h"

#define ADD_FLAGS	(TWHEEL_ADD_ABSTIME | TWHEEL_ADD_DETACHED | \
			 TWHEEL_ADD_CANCEL_ON_SET | TWHEEL_ADD_FIXED_DELAY | TWHEEL_ADD_CELL)

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
	rcu_read_unlock();
	if (!file_op)
		return ERR_PTR(-ENOENT);
	if (likely(twheel_file_op_id(file_op) == id && call_may_use(call, file_op)))
		return file_op;
	twheel_file_op_put(file_op);
	return ERR_PTR(-ENOENT);
}

/* The add */

/* Add an operation. After success it may have been freed. */
static int file_op_start(struct twheel_file *file, struct twheel_file_op *file_op,
			 struct twheel_op_args *op_args, const struct twheel_add_args *args)
{
	struct twheel_purgatory *purgatory = file->instance->purgatory;

	op_args->watches = file_op->watch;
	/* As late as possible: the clock may be set in the meantime. */
	op_args->deadline = twheel_time_deadline(args->clock, args->flags, args->deadline,
						 args->flags & TWHEEL_ADD_ABSTIME);
	if (unlikely(file_op->flags & (TWHEEL_FILE_OP_PERIODIC | TWHEEL_ADD_CELL))) {
		if (file_op->flags & TWHEEL_FILE_OP_PERIODIC)
			return twheel_periodic_add(purgatory, file_op, op_args, args);
		op_args->deadline = twheel_op_init_cell(&file_op->op, op_args->wheel,
							twheel_cell_find(file, args->cell),
							op_args->deadline);
		twheel_timer_cell(&file_op->op.timer)->number = args->cell;
	}
	return __twheel_op_add(purgatory, &file_op->op, op_args);
}

/*
 * The queue of the file was shut during the add, and the task that cancels its operations may have
 * visited this one before it was added. (Detached operations are cancelled with the purgatory,
 * which refuses adds by then.)
 *
 *	adder					task that shuts the queue
 *	-----					-------------------------
 *	events->lock: shut is false,
 *	  take a slot				events->lock: shut = true
 *	initialise and add it			smp_mb()
 *	smp_mb()				visit the slot: cancel
 *	read shut
 *
 * The visitor finds the slot, since it is taken before the queue is shut. If the visitor finds
 * nothing pending there, the adder reads true. Otherwise the visitor cancels the operation.
 *
 * Wait for the callback, no matter which thread ends the operation: file_free() may not.
 */
static void file_op_end_late(struct twheel_ioctl *call, u64 id)
{
	struct twheel_file_op *file_op = twheel_call_op(call, id);

	/* Its event has been read. */
	if (IS_ERR(file_op))
		return;
	twheel_op_cancel_sync(&file_op->op);
	twheel_file_op_put(file_op);
}

/*
 * A deadline or slack in the range of times, or TWHEEL_NEVER or TWHEEL_SLACK_COARSE. The rest is an
 * overflow in the caller, or a negative number.
 */
static bool time_valid(u64 ns)
{
	BUILD_BUG_ON(TWHEEL_SLACK_COARSE != TWHEEL_NEVER);
	return ns <= KTIME_MAX || ns == TWHEEL_NEVER;
}

/* Check the arguments of an add that are usually zero. Returns 0 or -EINVAL. */
static noinline int rare_args_check(const struct twheel_file *file,
				    const struct twheel_add_args *args, int clock)
{
	if (!time_valid(args->slack))
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CELL ?
	    args->flags & TWHEEL_ADD_DETACHED || args->clock == CLOCK_REALTIME || args->period ||
	    !twheel_cell_find(file, args->cell) : args->cell)
		return -EINVAL;
	if (args->period ? args->slack || args->deadline > KTIME_MAX || args->period > KTIME_MAX :
			   args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY)
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_CANCEL_ON_SET && clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	if (args->flags & TWHEEL_ADD_DETACHED)
		return twheel_detached_valid(file->instance, args->queue) ? 0 : -EINVAL;
	return args->queue ? -EINVAL : 0;
}

/*
 * Check the arguments and convert them, except wheel, deadline and watches. The fields are set one
 * by one, see event_fill(). Returns the clock of the wheel, or an error.
 */
static int add_args_convert(struct twheel_ioctl *call, const struct twheel_add_args *args,
			    struct twheel_op_args *op_args)
{
	int clock = twheel_wheel_clock(args->clock, args->flags);

	/* The conditions after TWHEEL_COND_SUM need a callback. */
	if (clock < 0 || args->condition > TWHEEL_COND_SUM || !time_valid(args->deadline))
		return -EINVAL;
	op_args->flags = TWHEEL_OP_MAY_SLEEP;
	if (unlikely(args->flags & ~TWHEEL_ADD_ABSTIME || clock == TWHEEL_CLOCK_REALTIME ||
		     args->slack | args->period | args->runs | args->queue | args->cell)) {
		if (args->flags & ~ADD_FLAGS || rare_args_check(call->file, args, clock))
			return -EINVAL;
		if (clock == TWHEEL_CLOCK_REALTIME)
			op_args->flags |= TWHEEL_OP_WALL;
		if (args->flags & TWHEEL_ADD_CANCEL_ON_SET)
			op_args->flags |= TWHEEL_OP_CANCEL_ON_SET;
		if (args->flags & TWHEEL_ADD_CELL)
			op_args->flags |= TWHEEL_OP_CELL;
	}
	op_args->wheel = NULL;
	op_args->slack_ns = args->slack;
	op_args->condition = args->condition;
	op_args->quorum = args->quorum;
	op_args->threshold = args->threshold;
	op_args->nr_keys = args->nr_keys;
	op_args->specs = twheel_call_specs(call, args->keys, args->nr_keys, args->key_size);
	if (IS_ERR(op_args->specs))
		return PTR_ERR(op_args->specs);
	return likely(twheel_args_are_simple(op_args)) ? clock : twheel_op_check(op_args) ?: clock;
}

int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_add_args *add = &args->add;
	struct twheel_op_args op_args __uninitialized;
	bool detached = add->flags & TWHEEL_ADD_DETACHED;
	struct twheel_file_op *file_op;
	int err, clock;

	/* Its event would have no reader. */
	if (!call->file->own.has_reader && !detached)
		return -EBADF;
	if (unlikely(!twheel_file_may(call->file, TWHEEL_RIGHT_OTHERS)) &&
	    !twheel_file_may(call->file,
			     (detached ? TWHEEL_RIGHT_ADD_DETACHED : TWHEEL_RIGHT_ADD) |
			     (add->nr_keys ? TWHEEL_RIGHT_WATCH : 0)))
		return -EPERM;
	clock = add_args_convert(call, add, &op_args);
	if (clock < 0)
		return clock;
	file_op = twheel_file_op_create(call->file, add, clock, &op_args);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	add->id = file_op->id;
	err = file_op_start(call->file, file_op, &op_args, add);
	if (unlikely(err)) {
		twheel_file_op_not_pending(file_op);
		twheel_file_ops_forget(&file_op, 1);
		return err;
	}
	/*
	 * Pairs with the barrier in twheel_events_shut(), before a drain visits the leaves:
	 * either this sees the store before it, or the drain sees that the operation is pending.
	 */
	smp_mb();
	if (READ_ONCE(call->file->own.shut) && !(add->flags & TWHEEL_ADD_DETACHED))
		file_op_end_late(call, add->id);
	return 0;
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
	if (!time_valid(rearm->deadline) || !time_valid(rearm->slack))
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
 * unwatching keys does not grow. A chunk is added before its watches are attached, since another
 * thread may unwatch them at once. Until the number of attached watches is known, all count as
 * used, and one more for the call.
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
