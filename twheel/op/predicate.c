// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the predicate, and its owner.
 *
 * Callbacks of the consumer for one operation run one at a time. The thread that has set OP_OWNED,
 * with the shard locked, runs the predicate with no lock held. Another thread that finds OP_OWNED
 * set does not wait. It sets OP_RECHECK to have the predicate run once more, or, if it has ended
 * and unlinked the operation, OP_LEFT to have the callback run. The owner clears OP_OWNED only with
 * the shard locked and after checking for both, so no request is lost:
 *
 *	owner (twheel_op_serve)            another thread
 *	-----------------------            --------------
 *	lock; clear RECHECK; unlock
 *	run the predicate                  lock; OWNED: set RECHECK (or LEFT); unlock
 *	lock; RECHECK (or LEFT) set:
 *	  repeat (or run the callback)
 *	else clear OWNED; unlock
 *	                                   lock; not OWNED: set OWNED; unlock; serve
 *
 * If the owner finds the operation ENDED and not LEFT, the claimant has not finished unlinking. The
 * owner clears OP_OWNED, and the claimant runs the callback.
 *
 * A thread that failed to take a lock of the operation and went away would lose the check that it
 * had wanted. Threads that waited for such a lock, or ran callbacks with it held, would deadlock
 * with the locks of the callbacks. Here only calls that are documented to wait (cancel_sync,
 * drain) wait for another thread, and callbacks run without locks.
 *
 * A thread that makes the predicate true and then calls twheel_op_try_complete() does both
 * before or both after the owner tests OP_RECHECK. Before: the owner runs the predicate
 * after that, and the lock orders the change before it. After: the owner runs it once more.
 * See op_add.c for a thread that looks up the operation by its key instead.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "op.h"

/*
 * The caller has ended and unlinked the operation. Return: true if another thread is the owner, and
 * runs the callback. @op may be freed then.
 */
bool twheel_op_leave(struct twheel_op *op)
{
	struct twheel_shard *shard;
	bool owned;

	twheel_irqs_disable();
	/* Its callback has not run, so it is not done. */
	shard = twheel_op_lock(op);
	owned = op->state & OP_OWNED;
	if (owned)
		WRITE_ONCE(op->state, op->state | OP_LEFT);
	twheel_op_unlock_irqs(shard);
	return owned;
}

/* Run the predicate as the owner. Return: true if it completed the operation. */
static bool op_evaluate(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->try_complete;
	struct twheel_callback callback;
	struct twheel_shard *shard;
	bool complete, claimed;
	u64 value = 0;

	op_callback_begin(op, &callback, fn);
	complete = op->ops->try_complete(op, &value);
	op_callback_end(op, &callback, fn);
	trace_twheel_op_try_complete(op, complete);
	if (!complete)
		return false;
	twheel_irqs_disable();
	shard = twheel_op_lock(op);
	claimed = twheel_timer_pending(&op->timer);
	if (claimed)
		op_take(shard, op);
	twheel_op_unlock(shard);
	if (claimed) {
		twheel_op_complete_claimed(op, value);
		twheel_op_leave(op);
	} else {
		twheel_irqs_enable();
	}
	return claimed;
}

/*
 * Serve all requests as the owner, with no lock held, and drop ownership. Without a
 * reference of the caller @op may be freed. Return: true if the predicate completed the
 * operation.
 */
bool twheel_op_serve(struct twheel_op *op)
{
	struct twheel_shard *shard;
	bool completed = false, left;

	twheel_irqs_disable();
	shard = twheel_op_lock(op);
	while (twheel_timer_pending(&op->timer) && op->state & OP_RECHECK) {
		WRITE_ONCE(op->state, op->state & ~OP_RECHECK);
		twheel_op_unlock_irqs(shard);
		completed = op_evaluate(op);
		twheel_irqs_disable();
		shard = twheel_op_lock(op);
	}
	left = op->state & OP_LEFT;
	if (!left) {
		WRITE_ONCE(op->owner, 0);
		WRITE_ONCE(op->state, op->state & ~OP_OWNED);
	}
	twheel_op_unlock_irqs(shard);
	if (left)
		twheel_op_callback(op);
	return completed;
}

/**
 * twheel_op_try_complete - run the predicate of an operation
 * @op: the operation; the caller has a reference
 *
 * If another thread is running the predicate, that thread runs it once more.
 *
 * Context: as twheel_op_end(), also for its predicate.
 * Return:
 * * %1         - the predicate completed the operation; its callback has returned, with the
 *   exceptions listed at &struct twheel_op_ops
 * * %0         - the predicate returned false, another thread runs it once more, or there is
 *   no predicate
 * * %-EALREADY - the operation has ended
 * * %-ENOENT   - it was not added
 */
int twheel_op_try_complete(struct twheel_op *op)
{
	struct twheel_shard *shard = twheel_op_lock_pending(op);
	bool owned = true;

	if (IS_ERR(shard))
		return PTR_ERR(shard);
	if (twheel_op_has_predicate(op)) {
		owned = op->state & OP_OWNED;
		if (!owned)
			WRITE_ONCE(op->owner, current->pid);
		WRITE_ONCE(op->state, op->state | OP_OWNED | OP_RECHECK);
	}
	twheel_op_unlock_irqs(shard);
	return owned ? 0 : twheel_op_serve(op);
}
EXPORT_SYMBOL_GPL(twheel_op_try_complete);
