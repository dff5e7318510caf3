// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the calls that end one, and how it has ended.
 *
 * All of them claim it under its lock, and the one that wins finishes it; op.c
 * tells what that is.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>

#include "op.h"

static int op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	int err;

	spin_lock_bh(&op->lock);
	err = twheel_op_not_waiting(op);
	if (!err)
		twheel_op_claim(op, reason, error, value);
	spin_unlock_bh(&op->lock);

	if (!err)
		twheel_op_finish(op);
	return err;
}

/**
 * twheel_op_complete - complete an operation, whatever its condition says
 * @op: the operation; the caller has a reference
 * @value: for whoever waits for it
 *
 * Kafka's forceComplete.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its callback takes.
 * Return:
 * * 0         - this call completed it. It has left the wheel and its keys, and its
 *	callback has returned, but for what struct twheel_op_ops says
 * * -EALREADY - it has ended by another way; its callback may be running
 * * -ENOENT   - it was not added
 */
int twheel_op_complete(struct twheel_op *op, u64 value)
{
	return op_end(op, TWHEEL_COMPLETED, 0, value);
}
EXPORT_SYMBOL_GPL(twheel_op_complete);

/**
 * twheel_op_complete_error - complete an operation, with an error for a value
 * @op: the operation; the caller has a reference
 * @error: a negative error number
 *
 * Context: as twheel_op_complete().
 * Return: as twheel_op_complete(), or -EINVAL if @error is none.
 */
int twheel_op_complete_error(struct twheel_op *op, int error)
{
	if (error >= 0 || error < -MAX_ERRNO)
		return -EINVAL;
	return op_end(op, TWHEEL_COMPLETED, error, 0);
}
EXPORT_SYMBOL_GPL(twheel_op_complete_error);

/**
 * twheel_op_expire - expire an operation, whatever the time
 * @op: the operation; the caller has a reference
 *
 * For consumers that have further timers of their own for it.
 *
 * Context: as twheel_op_complete().
 * Return: as twheel_op_complete().
 */
int twheel_op_expire(struct twheel_op *op)
{
	return op_end(op, TWHEEL_EXPIRED, 0, 0);
}
EXPORT_SYMBOL_GPL(twheel_op_expire);

/**
 * twheel_op_cancel - cancel an operation
 * @op: the operation; the caller has a reference
 *
 * Context: as twheel_op_complete().
 * Return: as twheel_op_complete().
 */
int twheel_op_cancel(struct twheel_op *op)
{
	return op_end(op, TWHEEL_CANCELLED, 0, 0);
}
EXPORT_SYMBOL_GPL(twheel_op_cancel);

/**
 * twheel_op_cancel_sync - cancel an operation, and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, its callback has returned, by whatever way it ended, and
 * its predicate is not run any more.
 *
 * Context: process; may sleep. Not from the operation's own predicate or
 * callback: refused with a warning.
 * Return: as twheel_op_complete(), or -EDEADLK from its own predicate or callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	might_sleep();
	if (WARN_ON_ONCE(READ_ONCE(op->owner) == current->pid))
		return -EDEADLK;
	err = twheel_op_cancel(op);
	if (err != -ENOENT)
		twheel_op_wait(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_cancel_sync);

/**
 * twheel_op_result - how an operation ended
 * @op: the operation, in or after its callback
 * @result: filled in
 *
 * Context: any.
 */
void twheel_op_result(const struct twheel_op *op, struct twheel_op_result *result)
{
	WARN_ON_ONCE(twheel_op_life(op) < OP_ENDED);
	result->reason = op->reason;
	result->error = op->error;
	result->value = op->value;
	result->deadline = op->deadline;
	result->time = op->time;
}
EXPORT_SYMBOL_GPL(twheel_op_result);

/**
 * twheel_op_count - count a signal for one watch of an operation
 * @op: the operation, with its lock held and that of the stripe of the watched key
 * @watch: one of its watches
 * @amount: of the signal
 * @value: for the operation, if this completes it
 *
 * Return: as twheel_op_claim().
 */
bool twheel_op_count(struct twheel_op *op, struct twheel_watch *watch, u64 amount, u64 value)
{
	u64 counts;

	lockdep_assert_held(&op->lock);
	if (op->condition == TWHEEL_COND_SUM)
		counts = amount;
	else
		counts = watch->need && !--watch->need;
	op->missing -= min(counts, op->missing);
	return !op->missing && twheel_op_claim(op, TWHEEL_COMPLETED, 0, value);
}
