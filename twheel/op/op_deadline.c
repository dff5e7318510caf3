// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: their deadlines.
 *
 * The deadline that holds is the operation's, under its lock; its timer follows,
 * armed and moved under the same lock.  So of a re-arm and the expiry whoever
 * takes the lock first is right:
 *
 *	reaper                             a heartbeat
 *	------                             -----------
 *	takes the timer off the wheel
 *	                                   lock; the operation waits: a new
 *	                                   deadline; arm the timer anew; unlock
 *	lock; the timer is pending, or
 *	the deadline is never: not this
 *	one; unlock
 *
 * The function does not compare the deadline with the clock: that was done by
 * the wheel, and the clock may have been set since.
 *
 * An operation may want to be cancelled when its clock is set.  Its wheel tells
 * the timer of that; but a timer that is armed anew, before the wheel comes to it,
 * waits for its new deadline and is told nothing.  So such an operation keeps
 * twheel_clock_generation() of when it began to wait, and each call that arms the
 * timer compares:
 *
 *	setting CPU                        a heartbeat
 *	-----------                        -----------
 *	set the clock
 *	                                   lock; the operation waits; arm the
 *	                                   timer anew: the wheel sees the step,
 *	                                   and takes the timer for a new one
 *	                                   the generation is another: claim; unlock
 *
 * A step that comes after the look at the generation finds the timer on the wheel.
 * Therefore it is armed also for a deadline of never.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <trace/events/twheel.h>

#include "op.h"

/* A deadline past the end of the clock is never. */
static u64 deadline_of(u64 ns)
{
	return ns > KTIME_MAX ? TWHEEL_NEVER : ns;
}

static bool cancels_on_set(const struct twheel_op *op)
{
	return twheel_timer_flags(&op->timer) & TWHEEL_TIMER_CANCEL_ON_SET;
}

/**
 * twheel_op_begin - give an operation that is about to be added its deadline
 * @op: the operation, new
 * @wheel: where it is to wait for that
 * @args: how
 */
void twheel_op_begin(struct twheel_op *op, struct twheel *wheel,
		     const struct twheel_op_args *args)
{
	bool on_set = args->flags & TWHEEL_OP_CANCEL_ON_SET;

	op->deadline = deadline_of(args->deadline);
	op->generation = twheel_clock_generation();
	twheel_timer_init_flags(&op->timer, wheel, twheel_op_expired,
				on_set ? TWHEEL_TIMER_CANCEL_ON_SET : 0);
}

static bool claim_as_set(struct twheel_op *op)
{
	return twheel_op_claim(op, TWHEEL_CANCELLED, -ECANCELED, 0);
}

/**
 * twheel_op_arm - let the timer of an operation follow its deadline
 * @op: the operation, which waits, with its lock held; the caller has a reference
 * @slack_ns: by how much it may be late
 *
 * Return: as twheel_op_claim(): true if the clock had been set, and it has ended by
 * that.
 */
bool twheel_op_arm(struct twheel_op *op, u64 slack_ns)
{
	int ret;

	lockdep_assert_held(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_ARMED);
	if (op->deadline == TWHEEL_NEVER && !cancels_on_set(op)) {
		if (twheel_timer_cancel(&op->timer) >= 0)
			twheel_op_unhold(op);
		return false;
	}
	/* First: from the moment that it is armed its function may run. */
	twheel_op_hold(op);
	ret = twheel_timer_rearm_slack(&op->timer, op->deadline, slack_ns, TWHEEL_REARM_ALWAYS);
	/* Nobody stops a wheel that operations wait on. */
	WARN_ON_ONCE(ret < 0);
	/* It was pending, and had its hold already. */
	if (ret == 1)
		twheel_op_unhold(op);
	/* Last: the wheel tells of what comes after this. */
	return cancels_on_set(op) && op->generation != twheel_clock_generation() &&
	       claim_as_set(op);
}

/* End an operation whose timer's function runs, unless that is not for now. */
static bool claim_by_timer(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	/* It waited when the clock was set, whatever it is to wait for since. */
	if (twheel_timer_error(&op->timer))
		return claim_as_set(op);
	/* If it was armed anew before we had the lock, that is for the next time. */
	if (twheel_timer_pending(&op->timer) || op->deadline == TWHEEL_NEVER)
		return false;
	if (!twheel_op_claim(op, TWHEEL_EXPIRED, 0, 0))
		return false;
	/* The wall clock may have been set back since the timer was found due. */
	op->time = max(op->time, op->deadline);
	return true;
}

/**
 * twheel_op_expired - the function of an operation's timer
 * @timer: of an operation that holds itself for it
 *
 * After its end the timer brings it to the reaper for its callback, if that has
 * been left to it.
 */
void twheel_op_expired(struct twheel_timer *timer)
{
	struct twheel_op *op = container_of(timer, struct twheel_op, timer);
	bool claimed, deferred;

	spin_lock_bh(&op->lock);
	claimed = claim_by_timer(op);
	deferred = !twheel_timer_pending(&op->timer) && twheel_op_take_deferred(op);
	spin_unlock_bh(&op->lock);
	if (claimed)
		twheel_op_finish(op);
	else if (deferred)
		twheel_op_call_back_now(op);
	twheel_op_unhold(op);
}

static bool is_moved(u64 from, u64 to, enum twheel_rearm mode)
{
	switch (mode) {
	case TWHEEL_REARM_IF_EARLIER:
		return to < from;
	case TWHEEL_REARM_IF_LATER:
		return to > from;
	default:
		return true;
	}
}

/* Give an operation that waits another deadline; true if it has ended instead. */
static bool op_move(struct twheel_op *op, u64 deadline, u64 slack_ns)
{
	u64 before = op->deadline;

	op->deadline = deadline;
	if (twheel_op_arm(op, slack_ns)) {
		op->deadline = before;
		return true;
	}
	trace_twheel_op_rearm(op, slack_ns);
	return false;
}

/**
 * twheel_op_rearm_slack - give an operation that waits another deadline, and some slack
 * @op: the operation; the caller has a reference
 * @deadline: by the clock of its wheel; TWHEEL_NEVER for never
 * @slack_ns: by how much it may expire later, as in struct twheel_op_args; what it
 *	had before does not count any more
 * @mode: whether it is moved always or only to an earlier or a later time, by its
 *	deadline. An operation that waits is pending, also without a deadline.
 *
 * For heartbeats. An operation for which this returned 1 or 0 before it expired
 * expires at the deadline that holds now, and not before. In O(1), as
 * twheel_timer_rearm(). One that is to be cancelled when its clock is set is so
 * by this call if the clock was set, and nobody has come to it yet.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its callback takes.
 * Return:
 * * 1         - it was moved
 * * 0         - @mode left it as it was
 * * -EALREADY - it has ended, or does so now, since its clock was set
 * * -ENOENT   - it was not added
 */
int twheel_op_rearm_slack(struct twheel_op *op, u64 deadline, u64 slack_ns,
			  enum twheel_rearm mode)
{
	bool claimed = false;
	int ret;

	deadline = deadline_of(deadline);
	spin_lock_bh(&op->lock);
	ret = twheel_op_check_pending(op);
	if (!ret && is_moved(op->deadline, deadline, mode)) {
		claimed = op_move(op, deadline, slack_ns);
		ret = claimed ? -EALREADY : 1;
	}
	spin_unlock_bh(&op->lock);
	if (claimed)
		twheel_op_finish(op);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_rearm_slack);
