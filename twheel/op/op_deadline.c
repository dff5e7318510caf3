// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: deadlines.
 *
 * The timer of a pending operation has its deadline, and op->deadline, too, since a timer with
 * slack expires later. Both change with the shard locked, in core/, if the timer is pending. So a
 * re-arm and an expiry do not race: the reaper has popped the timer, or has not.
 *
 * With TWHEEL_OP_CANCEL_ON_SET, setting the clock cancels the operation. core/ cancels pending
 * timers, and refuses to re-arm a timer after a change.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/stddef.h>
#include <trace/events/twheel.h>

#include "../core/wall.h"
#include "op.h"

/* See twheel_wall_timer(). */
static_assert(offsetof(struct twheel_wall_op, op.timer) ==
	      offsetof(struct twheel_wall_timer, timer));

/* The clock was set before a re-arm. The reaper may be about to do the same. */
static void op_cancel_on_set(struct twheel_op *op)
{
	twheel_op_end(op, TWHEEL_REASON_CANCELLED, -ECANCELED, 0);
}

/*
 * Re-arm the timer of an operation that has been added. Return: as twheel_timer_rearm_exact(). If
 * the operation is done, its wheel may have been destroyed; see op.c.
 */
static int op_rearm(struct twheel_op *op, u64 deadline, u64 slack_ns, enum twheel_rearm mode)
{
	int ret = -ENOENT;

	rcu_read_lock();
	if (likely(twheel_op_state(op) != OP_DONE))
		ret = twheel_timer_rearm_exact(&op->timer, deadline, slack_ns, mode, &op->deadline);
	rcu_read_unlock();
	return ret;
}

/*
 * Arm the timer of an operation with a predicate for its deadline, at the end of its add, unless it
 * has ended or was re-armed.
 */
void twheel_op_arm(struct twheel_op *op, u64 deadline, u64 slack_ns)
{
	if (op_rearm(op, deadline, slack_ns, TWHEEL_REARM_IF_UNARMED) == -ECANCELED)
		op_cancel_on_set(op);
}

int twheel_op_rearm_locked(struct twheel_op *op, u64 deadline, u64 slack_ns,
			   enum twheel_rearm mode)
{
	struct twheel_shard *shard = twheel_timer_shard(&op->timer);
	int ret;

	deadline = twheel_deadline_of(deadline);
	if (likely(!(slack_ns | mode) && twheel_timer_rearm_near(shard, &op->timer, deadline))) {
		op->deadline = deadline;
		trace_twheel_op_rearm(op, 0);
		twheel_op_unlock_irqs(shard);
		return 1;
	}
	/* The operation may end when it is unlocked. */
	twheel_op_get(op);
	twheel_op_unlock_irqs(shard);
	ret = op_rearm(op, deadline, slack_ns, mode);
	if (ret > 0)
		trace_twheel_op_rearm(op, slack_ns);
	if (unlikely(ret == -ECANCELED))
		op_cancel_on_set(op);
	twheel_op_put(op);
	return ret < 0 ? -EALREADY : ret;
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
	struct twheel_shard *shard = twheel_op_lock_pending(op);

	if (IS_ERR(shard))
		return PTR_ERR(shard);
	return twheel_op_rearm_locked(op, deadline, slack_ns, mode);
}
EXPORT_SYMBOL_GPL(twheel_op_rearm_slack);
