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
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <trace/events/twheel.h>

#include "op.h"

/**
 * twheel_op_arm - let the timer of an operation follow its deadline
 * @op: the operation, which waits, with its lock held; the caller has a reference
 */
void twheel_op_arm(struct twheel_op *op)
{
	int ret;

	lockdep_assert_held(&op->lock);
	if (op->deadline == TWHEEL_NEVER) {
		if (!twheel_timer_cancel(&op->timer))
			twheel_op_unhold(op);
		return;
	}
	/* First: from the moment that it is armed its function may run. */
	twheel_op_hold(op);
	ret = twheel_timer_rearm(&op->timer, op->deadline, TWHEEL_REARM_ALWAYS);
	/* Nobody stops a wheel that a purgatory is on. */
	WARN_ON_ONCE(ret < 0);
	/* It was pending, and had its hold already. */
	if (ret)
		twheel_op_unhold(op);
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
	bool claimed = false, deferred = false;

	spin_lock_bh(&op->lock);
	/* If it was armed anew before we had the lock, that is for the next time. */
	if (!twheel_timer_pending(&op->timer)) {
		deferred = twheel_op_take_deferred(op);
		if (op->deadline != TWHEEL_NEVER)
			claimed = twheel_op_claim(op, TWHEEL_EXPIRED, 0, 0);
	}
	spin_unlock_bh(&op->lock);
	if (claimed)
		twheel_op_finish(op);
	else if (deferred)
		twheel_op_call_back_now(op);
	twheel_op_unhold(op);
}

static bool is_moved(u64 from, u64 to, enum twheel_rearm which)
{
	switch (which) {
	case TWHEEL_REARM_IF_EARLIER:
		return to < from;
	case TWHEEL_REARM_IF_LATER:
		return to > from;
	default:
		return true;
	}
}

/**
 * twheel_op_rearm - give an operation that waits another deadline
 * @op: the operation; the caller has a reference
 * @deadline: by the clock; TWHEEL_NEVER for never
 * @which: whether it is moved always or only to an earlier or a later time.
 *	An operation that waits is pending, also without a deadline.
 *
 * For heartbeats. An operation for which this returned 1 or 0 before it expired
 * expires at the deadline that holds now, and not before. In O(1), as
 * twheel_timer_rearm().
 *
 * Context: process or softirq, with interrupts enabled.
 * Return:
 * * 1         - it was moved
 * * 0         - it was left as it is, as @which wants it
 * * -EALREADY - it has ended
 * * -ENOENT   - it was not added
 */
int twheel_op_rearm(struct twheel_op *op, u64 deadline, enum twheel_rearm which)
{
	int ret;

	if (deadline > KTIME_MAX)
		deadline = TWHEEL_NEVER;
	spin_lock_bh(&op->lock);
	ret = twheel_op_not_waiting(op);
	if (!ret && is_moved(op->deadline, deadline, which)) {
		op->deadline = deadline;
		twheel_op_arm(op);
		trace_twheel_op_rearm(op);
		ret = 1;
	}
	spin_unlock_bh(&op->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_rearm);
