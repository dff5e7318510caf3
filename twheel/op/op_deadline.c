// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: deadlines.
 *
 * op->deadline is authoritative. The timer follows it: it is armed and moved with op->lock
 * held. If a re-arm races with an expiry, the first to take the lock wins:
 *
 *	reaper                             re-arming CPU
 *	------                             -------------
 *	takes the timer off the wheel
 *	                                   lock; PENDING: set a new deadline,
 *	                                   arm the timer again; unlock
 *	lock; the timer is pending, or
 *	the deadline is never: ignore
 *	this expiry; unlock
 *
 * The timer function does not compare the deadline with the clock. The wheel did, and the
 * clock may have been set since.
 *
 * With TWHEEL_OP_CANCEL_ON_SET, setting the clock cancels the operation. core/ cancels pending
 * timers, and refuses to re-arm a timer after a change. A timer that is not pending while its
 * operation is, before the add and during its function, would miss a change: so the number of
 * changes is set by the add and whenever the timer is armed, and each call that arms the timer
 * compares. Such a timer is armed even without a deadline.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/stddef.h>
#include <trace/events/twheel.h>

#include "../core/timer.h"
#include "../core/wall.h"
#include "op.h"

/* See twheel_wall_timer(). */
static_assert(offsetof(struct twheel_wall_op, op.timer) ==
	      offsetof(struct twheel_wall_timer, timer));

/* Times past the end of the clock are never. */
static u64 deadline_of(u64 ns)
{
	return ns > KTIME_MAX ? TWHEEL_NEVER : ns;
}

static bool op_cancels_on_set(const struct twheel_op *op)
{
	return twheel_timer_flags(&op->timer) & TWHEEL_TIMER_CANCEL_ON_SET;
}

static bool op_claim_clock_set(struct twheel_op *op)
{
	return twheel_op_claim(op, TWHEEL_REASON_CANCELLED, -ECANCELED, 0);
}

/*
 * Make the timer follow the deadline of a pending operation, with op->lock and a reference
 * held. Return: true if the clock was set; the operation is claimed then.
 */
bool twheel_op_arm(struct twheel_op *op, u64 slack_ns)
{
	u32 changes = 0;
	int ret;

	lockdep_assert_held(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_ARMED);
	if (op->deadline == TWHEEL_NEVER && !op_cancels_on_set(op)) {
		if (twheel_timer_pending(&op->timer) && twheel_timer_cancel(&op->timer) >= 0)
			twheel_op_unhold(op);
		return false;
	}
	if (unlikely(op_cancels_on_set(op)))
		changes = twheel_wall_timer(&op->timer)->part.changes;
	ret = twheel_timer_rearm_slack(&op->timer, op->deadline, slack_ns, TWHEEL_REARM_ALWAYS);
	/* A wheel is not stopped before its operations have ended. */
	WARN_ON_ONCE(ret < 0 && ret != -ECANCELED);
	/* It was not pending. Its function takes op->lock before it drops this hold. */
	if (ret == 2)
		twheel_op_hold(op);
	if (likely(!op_cancels_on_set(op)) ||
	    (ret != -ECANCELED && twheel_wall_timer(&op->timer)->part.changes == changes))
		return false;
	return op_claim_clock_set(op);
}

/* Arm the timer of a new operation with a simple deadline, with op->lock and a hold for it. */
void twheel_op_start_timer(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	/* A wheel is not stopped before its operations have ended. */
	WARN_ON_ONCE(twheel_timer_add_slack(&op->timer, op->deadline, 0));
}

/* Claim an operation in the function of its timer, unless this expiry is out of date. */
static bool op_claim_expired(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	/* It was pending when the clock was set, even if it was re-armed since. */
	if (twheel_timer_error(&op->timer))
		return op_claim_clock_set(op);
	/* Re-armed before the lock was taken. */
	if (twheel_timer_pending(&op->timer) || op->deadline == TWHEEL_NEVER)
		return false;
	if (!twheel_op_claim(op, TWHEEL_REASON_EXPIRED, 0, 0))
		return false;
	/* The clock may have been set back since the timer expired. */
	op->time = max(op->time, op->deadline);
	return true;
}

/*
 * The function of the timer, which has a hold. Before the end of the operation it expires
 * the operation, after that it runs a deferred callback.
 */
static void op_timer_fn(struct twheel_timer *timer)
{
	struct twheel_op *op = container_of(timer, struct twheel_op, timer);
	bool claimed, deferred, left = false;

	spin_lock_bh(&op->lock);
	claimed = op_claim_expired(op);
	deferred = !twheel_timer_pending(&op->timer) && twheel_op_take_deferred(op);
	spin_unlock_bh(&op->lock);
	if (claimed && twheel_op_unlink(op)) {
		left = twheel_op_leave_timer_hold(op);
		twheel_op_callback(op);
	} else if (deferred) {
		twheel_op_callback_now(op);
	}
	if (!left)
		twheel_op_unhold(op);
}

static noinline void op_init_on_set(struct twheel_op *op, struct twheel *wheel)
{
	twheel_wall_timer(&op->timer)->part.changes = twheel_wall_changes();
	__twheel_timer_init(&op->timer, wheel, op_timer_fn, TWHEEL_TIMER_CANCEL_ON_SET);
}

/*
 * Set the deadline and the wheel of a new operation. Return: whether the deadline is simple, so
 * that twheel_op_start_timer() does what twheel_op_arm() would do.
 */
bool twheel_op_deadline_init(struct twheel_op *op, struct twheel *wheel,
			     const struct twheel_op_args *args)
{
	op->deadline = deadline_of(args->deadline);
	if (unlikely(args->flags & TWHEEL_OP_CANCEL_ON_SET)) {
		op_init_on_set(op, wheel);
		return false;
	}
	__twheel_timer_init(&op->timer, wheel, op_timer_fn, 0);
	return !args->slack_ns && op->deadline != TWHEEL_NEVER;
}

static bool mode_allows(enum twheel_rearm mode, u64 from, u64 to)
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

/* Return: as twheel_op_arm(). */
static bool op_move(struct twheel_op *op, u64 deadline, u64 slack_ns)
{
	u64 old = op->deadline;

	op->deadline = deadline;
	if (twheel_op_arm(op, slack_ns)) {
		op->deadline = old;
		return true;
	}
	trace_twheel_op_rearm(op, slack_ns);
	return false;
}

/**
 * twheel_op_rearm_slack - set another deadline for a pending operation, with slack
 * @op: the operation; the caller has a reference
 * @deadline: in ns of the clock of its wheel; TWHEEL_NEVER for none
 * @slack_ns: by how much it may expire later, as in struct twheel_op_args; replaces the
 *	previous slack
 * @mode: move always, or only to an earlier or a later deadline. An operation without a
 *	deadline is pending, too.
 *
 * For heartbeats. If this returns 0 or 1 before the operation expires, it expires at the
 * resulting deadline and not earlier. O(1), as twheel_timer_rearm(). With
 * TWHEEL_OP_CANCEL_ON_SET this call cancels the operation if the clock was set and the wheel
 * has not cancelled it yet.
 *
 * Context: process or softirq, with interrupts enabled and without locks that its callback
 * takes.
 * Return:
 * * %1         - the deadline was moved
 * * %0         - it was not moved because of @mode
 * * %-EALREADY - the operation has ended, or this call cancelled it since the clock was set
 * * %-ENOENT   - it was not added
 */
int twheel_op_rearm_slack(struct twheel_op *op, u64 deadline, u64 slack_ns,
			  enum twheel_rearm mode)
{
	bool claimed = false;
	int ret;

	deadline = deadline_of(deadline);
	spin_lock_bh(&op->lock);
	ret = twheel_op_check_pending(op);
	if (!ret && mode_allows(mode, op->deadline, deadline)) {
		claimed = op_move(op, deadline, slack_ns);
		ret = claimed ? -EALREADY : 1;
	}
	spin_unlock_bh(&op->lock);
	if (claimed)
		twheel_op_finish(op);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_rearm_slack);
