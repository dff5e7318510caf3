// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the life of one operation, and how it ends. How it
 * begins, and comes to watch keys, is in op_add.c.
 *
 * States, each reached once, under the lock of the operation but for DONE,
 * which only whoever finishes it sets:
 *
 *	NEW -----> WAITING -----> ENDED -----> DONE
 *	     add           op_end        finish
 *
 * Exactly once: whoever moves an operation from WAITING to ENDED has won.
 * It alone finishes it - takes it off the wheel and off its keys, and calls
 * back - and everyone else is told -EALREADY.  Complete, expire, cancel, signal
 * and drain all come down to op_end().
 *
 * References: the one of twheel_op_init() is the consumer's.  We hold one
 * while it is parked (until DONE), and one while its timer is armed or its
 * timer's function runs.  Each of ours holds the purgatory too, and gives that
 * up last, so that the end of a purgatory waits for all of them and no
 * callback of a consumer runs after it.
 *
 * Locks, from the outside in, none of them held during a callback:
 *
 *	key->lock, to signal and to link	(key.c)
 *	op->lock				state, reason, value, unsatisfied,
 *						watches and nr_watches
 *	home->lock				(purgatory.h)
 *	shard->lock, in the timer calls		(reaper.h)
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/wait_bit.h>

#include "op.h"

/**
 * twheel_op_init - make an operation ready to be added
 * @op: the operation
 * @ops: what its consumer does about it
 *
 * The caller has the first reference. An operation is added once in its life:
 * to use the memory again, wait for its release and init it anew.
 *
 * Context: any.
 */
void twheel_op_init(struct twheel_op *op, const struct twheel_op_ops *ops)
{
	memset(op, 0, sizeof(*op));
	op->ops = ops;
	op->state = OP_NEW;
	INIT_LIST_HEAD(&op->parked);
	kref_init(&op->ref);
	spin_lock_init(&op->lock);
}
EXPORT_SYMBOL_GPL(twheel_op_init);

/**
 * twheel_op_get - take a reference
 * @op: the operation, to which the caller has a reference or a sure way
 *
 * Context: any.
 */
void twheel_op_get(struct twheel_op *op)
{
	kref_get(&op->ref);
}
EXPORT_SYMBOL_GPL(twheel_op_get);

static void op_release(struct kref *ref)
{
	struct twheel_op *op = container_of(ref, struct twheel_op, ref);

	op->ops->release(op);
}

/**
 * twheel_op_put - give a reference back
 * @op: the operation; with the last reference its release is called
 *
 * Context: any in which the consumer's release may run.
 */
void twheel_op_put(struct twheel_op *op)
{
	kref_put(&op->ref, op_release);
}
EXPORT_SYMBOL_GPL(twheel_op_put);

/* The one way to end; true if it was this call that ended the operation. */
static bool op_end(struct twheel_op *op, enum twheel_reason reason, u64 value)
{
	struct twheel_home *home;

	lockdep_assert_held(&op->lock);
	if (twheel_op_state(op) != OP_WAITING)
		return false;

	WRITE_ONCE(op->state, OP_ENDED);
	op->reason = reason;
	op->value = value;
	op->time = twheel_now(op->purgatory->wheel);

	home = twheel_op_home(op);
	spin_lock(&home->lock);
	list_del_init(&op->parked);
	home->watches -= op->nr_watches;
	home->ended[reason]++;
	spin_unlock(&home->lock);
	twheel_purgatory_dismiss(op->purgatory);
	return true;
}

/**
 * twheel_op_finish - do what is left to do after an operation has ended
 * @op: the operation, which the caller has ended, and nobody else
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_finish(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_watch *watch, *next;

	/* If its function is running, that gives up the timer's hold. */
	if (!twheel_timer_cancel(&op->timer))
		twheel_op_unhold(op);

	/* It has ended, so that nothing is put onto the list any more. */
	for (watch = op->watches; watch; watch = next) {
		next = watch->next;
		twheel_key_unlink(keys, watch);
	}

	WRITE_ONCE(op->ender, current);
	op->ops->ended(op);
	WRITE_ONCE(op->ender, NULL);

	/* Pairs with the acquire in op_done(): it sees all the callback did. */
	smp_store_release(&op->state, OP_DONE);
	/* Pairs with the barrier of wait_var_event(): one sees the other. */
	smp_mb();
	wake_up_var(&op->state);
	twheel_op_unhold(op);
}

static int op_end_and_finish(struct twheel_op *op, enum twheel_reason reason, u64 value)
{
	bool new, won;

	spin_lock_bh(&op->lock);
	new = twheel_op_state(op) == OP_NEW;
	won = op_end(op, reason, value);
	spin_unlock_bh(&op->lock);

	if (won)
		twheel_op_finish(op);
	return won ? 0 : new ? -ENOENT : -EALREADY;
}

/**
 * twheel_op_expired - the function of an operation's timer
 * @timer: of an operation that holds itself for it
 */
void twheel_op_expired(struct twheel_timer *timer)
{
	struct twheel_op *op = container_of(timer, struct twheel_op, timer);

	op_end_and_finish(op, TWHEEL_EXPIRED, 0);
	twheel_op_unhold(op);
}

/**
 * twheel_op_signal - count a signal for one watch of an operation
 * @op: the operation
 * @watch: one of its watches; the lock of its key is held
 * @value: what the signal carries
 *
 * Return: true if that completed the operation: the caller has to finish it,
 * once it holds no lock.
 */
bool twheel_op_signal(struct twheel_op *op, struct twheel_watch *watch, u64 value)
{
	bool completed = false;

	lockdep_assert_held(&watch->key->lock);
	spin_lock(&op->lock);
	if (twheel_op_state(op) == OP_WAITING && watch->need &&
	    !--watch->need && !--op->unsatisfied)
		completed = op_end(op, TWHEEL_COMPLETED, value);
	spin_unlock(&op->lock);
	return completed;
}

/**
 * twheel_op_complete - complete an operation, whatever its condition says
 * @op: the operation; the caller has a reference
 * @value: for whoever waits for it
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its callback takes.
 * Return:
 * * 0         - this call completed it, and its callback has returned
 * * -EALREADY - it has ended by another way; its callback may be running
 * * -ENOENT   - it was not added
 */
int twheel_op_complete(struct twheel_op *op, u64 value)
{
	return op_end_and_finish(op, TWHEEL_COMPLETED, value);
}
EXPORT_SYMBOL_GPL(twheel_op_complete);

/**
 * twheel_op_cancel - cancel an operation
 * @op: the operation; the caller has a reference
 *
 * Context: as twheel_op_complete().
 * Return: as twheel_op_complete().
 */
int twheel_op_cancel(struct twheel_op *op)
{
	return op_end_and_finish(op, TWHEEL_CANCELLED, 0);
}
EXPORT_SYMBOL_GPL(twheel_op_cancel);

static bool op_done(const struct twheel_op *op)
{
	/* Pairs with the release in twheel_op_finish(). */
	return smp_load_acquire(&op->state) == OP_DONE;
}

/**
 * twheel_op_cancel_sync - cancel an operation, and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, its callback has returned, by whatever way it ended.
 *
 * Context: process; may sleep. Not from the operation's own callback: refused
 * with a warning.
 * Return: as twheel_op_complete(), or -EDEADLK from its own callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	might_sleep();
	err = twheel_op_cancel(op);
	if (err != -EALREADY)
		return err;
	if (WARN_ON_ONCE(READ_ONCE(op->ender) == current))
		return -EDEADLK;
	wait_var_event(&op->state, op_done(op));
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
	WARN_ON_ONCE(twheel_op_state(op) < OP_ENDED);
	result->reason = op->reason;
	result->value = op->value;
	result->deadline = op->deadline;
	result->time = op->time;
}
EXPORT_SYMBOL_GPL(twheel_op_result);
