// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: their callbacks, and how deep they may be nested.
 *
 * A callback may end another operation, whose callback then runs on top of it, and
 * may end a third one.  How long that goes on is up to the consumers, and the stack
 * is not theirs to fill.  So where less than half of it is left, the callback is left
 * to the reaper: the timer of an operation that has ended is free, and due at
 * once it brings the operation to a thread with nothing on its stack.  (If that shard
 * has had no timer yet, that thread is still to be made, and the callback is late.)
 *
 * Softirqs have a stack of their own, the bounds of which we don't know. They are
 * not moved to another CPU, so that how deep they are is counted there.
 */
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/wait_bit.h>
#include <trace/events/twheel.h>

#include "callback.h"
#include "op.h"

/* How many callbacks may be nested in a softirq. */
#define SOFTIRQ_DEPTH	4

static DEFINE_PER_CPU(unsigned int, softirq_depth);

/* On PREEMPT_RT softirqs are on the stack of a task, too. */
static bool on_stack_of_task(void)
{
	unsigned long here;

	return object_is_on_stack(&here);
}

/* Whether a callback would find less than half of the stack. */
static bool stack_is_deep(void)
{
	unsigned long here;

	if (!on_stack_of_task())
		return this_cpu_read(softirq_depth) >= SOFTIRQ_DEPTH;
	return (unsigned long)&here - (unsigned long)task_stack_page(current) < THREAD_SIZE / 2;
}

/* Whoever waits may see that it need not any more. The operation may be gone by now. */
static void op_wake(struct twheel_op *op)
{
	/* Pairs with the barrier of wait_var_event(): one sees the other. */
	smp_mb();
	/* It takes no more than the address. */
	wake_up_var(&op->state);
}

static void call_ended(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->ended;
	bool in_softirq = !on_stack_of_task();
	struct twheel_callback callback;

	if (in_softirq)
		this_cpu_inc(softirq_depth);
	twheel_callback_begin(&callback, fn);
	op->ops->ended(op);
	twheel_callback_end(&callback, fn);
	if (in_softirq)
		this_cpu_dec(softirq_depth);
}

/**
 * twheel_op_call_back_now - tell the consumer of an operation that has left everything
 * @op: the operation, which the caller owns; it may be gone after that
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_call_back_now(struct twheel_op *op)
{
	bool awaited;

	WRITE_ONCE(op->owner, current->pid);
	call_ended(op);

	spin_lock_bh(&op->lock);
	twheel_op_disown(op);
	twheel_op_move(op, OP_DONE);
	awaited = op->state & OP_AWAITED;
	spin_unlock_bh(&op->lock);
	trace_twheel_op_done(op);
	if (unlikely(awaited))
		op_wake(op);
	twheel_op_unhold(op);
}

/**
 * twheel_op_call_back - the same, or have the reaper do it if the stack is deep
 * @op: the operation, which the caller owns; it may be gone after that
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_call_back(struct twheel_op *op)
{
	bool awaited;

	if (likely(!stack_is_deep())) {
		twheel_op_call_back_now(op);
		return;
	}
	spin_lock_bh(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_DEFERRED);
	/* Still owned, but by nobody as yet who could wait for itself. */
	WRITE_ONCE(op->owner, 0);
	twheel_op_hold(op);
	/* The operation has left the wheel, which has no limit and is not stopped. */
	WARN_ON_ONCE(twheel_timer_rearm(&op->timer, 0, TWHEEL_REARM_ALWAYS) != 2);
	awaited = op->state & OP_AWAITED;
	spin_unlock_bh(&op->lock);
	if (awaited)
		op_wake(op);
}

/**
 * twheel_op_take_deferred - whether a callback was left to the reaper
 * @op: the operation, with its lock held
 *
 * Return: true if the caller has to make it, with twheel_op_call_back_now(); nobody
 * else will.
 */
bool twheel_op_take_deferred(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (!(op->state & OP_DEFERRED))
		return false;
	WRITE_ONCE(op->state, op->state & ~OP_DEFERRED);
	return true;
}

static bool op_done(const struct twheel_op *op)
{
	/* Pairs with the release that made it DONE, after its callback. */
	return (smp_load_acquire(&op->state) & OP_LIFE) == OP_DONE;
}

static bool op_deferred(const struct twheel_op *op)
{
	return READ_ONCE(op->state) & OP_DEFERRED;
}

/* Make a callback that was left to the reaper, if that has not come to it. */
static void op_help(struct twheel_op *op)
{
	bool mine;

	spin_lock_bh(&op->lock);
	mine = twheel_op_take_deferred(op);
	spin_unlock_bh(&op->lock);
	if (!mine)
		return;
	if (twheel_timer_cancel(&op->timer) >= 0)
		twheel_op_unhold(op);
	twheel_op_call_back_now(op);
}

/**
 * twheel_op_wait - wait for the callback of an operation that has ended
 * @op: the operation; the caller has a reference
 *
 * If it was left to the reaper, the caller makes it: the reaper may wait for the
 * caller, or be the caller.
 *
 * Context: process; may sleep.
 */
void twheel_op_wait(struct twheel_op *op)
{
	twheel_callback_wait((unsigned long)op->ops->ended);
	if (op->ops->try_complete)
		twheel_callback_wait((unsigned long)op->ops->try_complete);
	/* Who changes what we wait for does so under the same lock, and wakes us then. */
	spin_lock_bh(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_AWAITED);
	spin_unlock_bh(&op->lock);
	for (;;) {
		wait_var_event(&op->state, op_done(op) || op_deferred(op));
		if (op_done(op))
			return;
		op_help(op);
	}
}
