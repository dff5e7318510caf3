// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the life of an operation, and its callback.
 *
 *
 * Overview
 * --------
 *
 * An operation is added to a purgatory (op_add.c), may watch keys (op_watch.c, signal.c) and
 * has a deadline:
 *
 *	NEW -----> PENDING -----> ENDED -----> DONE
 *	     add           claim        callback
 *
 * It is pending if and only if its timer is. The lock of the shard protects the timer and with it
 * the operation. The one caller that takes the timer off the wheel has ended it.
 *
 *   claim	A caller that ends an operation removes its timer, with the shard locked. The reaper
 *		has claimed an operation when it has popped the timer; its state is set a little
 *		later, by the function of the timer. Others find that the timer is not pending, and
 *		fail with -EALREADY.
 *   unlink	The claimant removes the watches from their keys, or the operation from the list of
 *		those without watches, and records the result.
 *   callback	With no lock held it calls ->ended(), drops the reference of the module and returns
 *		the unit of quota.
 *
 * A signal, a predicate that returns true, complete, cancel, expiry and drain all end in these
 * steps. An operation without a deadline is on the list of its shard for timers that never expire.
 *
 *
 * Where operations are found
 * --------------------------
 *
 * A purgatory has no list of its operations. The table of keys refers to those with watches. Those
 * without are on the list of a pool of the purgatory, one for each CPU, in memory that they do not
 * use for watches. The lock of a bucket, or of a pool, is held while an operation becomes pending
 * under its first key, or on the list:
 *
 *	adding CPU                        CPU that drains
 *	----------                        ---------------
 *	lock bucket                       close the quota of all pools
 *	take a unit of quota, or fail     for each bucket and pool:
 *	link                                lock; end the operations; unlock
 *	lock shard, arm, unlock           wait until all units are back
 *	unlock bucket
 *
 * The CPU that locks the bucket last sees the stores of the other: the add finds the quota closed,
 * or the drain finds the operation. An add to the list of a pool takes its unit first, locks the
 * shard and the pool, and looks whether the purgatory is closed.
 *
 *
 * References and units
 * --------------------
 *
 * The reference of twheel_op_init() belongs to the consumer. The module has one from the add until
 * the callback has returned. Others are taken while the operation is pending, linked or listed,
 * with its shard, a bucket or a pool locked: by a signal that runs a predicate, or a function after
 * the callback, by a re-arm, and by an iterator. A thread that has a reference and reads 1 is
 * alone, since nobody takes one without having one, and does without atomic operations. Operations
 * with @looked_up are excepted.
 *
 * An operation has a unit of the quota of its purgatory as long as the module has its reference. So
 * the purgatory exists while the module uses it on behalf of an operation, and the drain, which
 * waits for all units, has waited for all callbacks. Calls that use the purgatory for longer than
 * that hold it (twheel_purgatory_hold()), but for an add with a predicate: its caller does.
 *
 *
 * Results
 * -------
 *
 * Value and time of the end are where the first watch had its neighbours, or the operation its
 * list: the claimant writes them after the unlink, and they stay until the release. The set of
 * satisfied keys is computed when it is asked for.
 *
 *
 * Locking
 * -------
 *
 * From outer to inner; none of them is held during a callback:
 *
 *	keys->lock		(key.c)
 *	  bucket->lock		linked watches, to signal and to link
 *	    shard->lock		of the timer: whether it is pending; while it is, also state,
 *				watches, nr_watches, missing, need, deadline. The claimant
 *				inherits them.
 *	      pool->lock	operations without watches
 *	        purgatory->lock	(purgatory.h)
 *
 * An owner of the predicate (predicate.c) and the claimant change the state with the shard locked,
 * too. Interrupts are disabled from bucket->lock on, and softirqs with keys->lock, since
 * shard->lock is taken in interrupts; on PREEMPT_RT they are sleeping locks. Calls on operations,
 * except init, get, put and result, are made with interrupts enabled, in process or softirq
 * context.
 *
 * A deadline on a wheel of its own may outlive the wheel: calls on an operation that is done do not
 * lock its shard. One that is late finds that the timer is not pending, since the memory of a wheel
 * is freed after a grace period, and disabled interrupts are a read-side section of RCU.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/llist.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/stddef.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <trace/events/twheel.h>

#include "../core/wall.h"
#include "op.h"

/* See twheel_wall_timer(). */
static_assert(offsetof(struct twheel_wall_op, op.timer) ==
	      offsetof(struct twheel_wall_timer, timer));

/* Unless debugging makes locks larger. */
static_assert(sizeof(struct twheel_op) <= 96);
static_assert(sizeof(struct twheel_watch) <= 56);

/**
 * twheel_op_init - initialise an operation
 * @op: the operation
 * @ops: callbacks of the consumer
 *
 * The caller has the first reference. An operation is added once; to reuse the memory, wait
 * for ->release() and initialise it again.
 *
 * Context: any.
 */
void twheel_op_init(struct twheel_op *op, const struct twheel_op_ops *ops)
{
	/* The rest is initialised by the add, which is not needed to read the state. */
	WRITE_ONCE(op->timer.shard_flags, 0);
	WRITE_ONCE(op->timer.node.entry.pprev, NULL);
	op->ops = ops;
	WRITE_ONCE(op->state, OP_NEW);
	op->owner = 0;
	op->awaited = false;
	refcount_set(&op->ref, 1);
}
EXPORT_SYMBOL_GPL(twheel_op_init);

/**
 * twheel_op_get - take a reference
 * @op: the operation, which must have a reference already
 *
 * Context: any.
 */
void twheel_op_get(struct twheel_op *op)
{
	refcount_inc(&op->ref);
}
EXPORT_SYMBOL_GPL(twheel_op_get);

/* Another user of the operation has dropped the reference of the module: keep the memory. */
noinline void twheel_op_leak(struct twheel_op *op)
{
	WARN_ONCE(1, "twheel: surplus put of a pending operation, leaked; its callback is %ps\n",
		  op->ops->ended);
	/* The puts that follow must not release it either. */
	refcount_set(&op->ref, INT_MAX / 2);
}

/**
 * twheel_op_put - drop a reference
 * @op: the operation; the last put calls ->release()
 *
 * Context: any in which ->release() may run.
 */
void twheel_op_put(struct twheel_op *op)
{
	if (twheel_op_put_last(op))
		op->ops->release(op);
}
EXPORT_SYMBOL_GPL(twheel_op_put);

static __always_inline struct twheel_shard *op_lock_pending(struct twheel_op *op)
{
	struct twheel_shard *shard;

	twheel_irqs_disable();
	shard = twheel_op_lock(op);
	if (likely(shard)) {
		if (likely(twheel_timer_pending(&op->timer)))
			return shard;
		twheel_op_unlock(shard);
	}
	twheel_irqs_enable();
	/* One that was not added may be added just now. */
	return ERR_PTR(shard || twheel_op_state(op) == OP_DONE ? -EALREADY : -ENOENT);
}

struct twheel_shard *twheel_op_lock_pending(struct twheel_op *op)
{
	return op_lock_pending(op);
}

/* The end: claim, unlink, callback */

/* Remove an operation without watches from the list of its pool. */
noinline void twheel_op_unlist(struct twheel_op *op)
{
	struct twheel_pool *pool = per_cpu_ptr(op->purgatory->pools, op->pool);

	spin_lock(&pool->lock);
	hlist_del(&op->listed);
	spin_unlock(&pool->lock);
}

/* Add a locked operation without watches to the list of the pool of this CPU. */
void twheel_op_list(struct twheel_op *op)
{
	struct twheel_pool *pool;

	op->pool = raw_smp_processor_id();
	pool = per_cpu_ptr(op->purgatory->pools, op->pool);
	spin_lock(&pool->lock);
	hlist_add_head(&op->listed, &pool->ops);
	spin_unlock(&pool->lock);
}

void twheel_op_unlink(struct twheel_op *op)
{
	op_unlink(op);
}

/*
 * Complete a claimed operation, with no lock held, but for its callback. Interrupts are disabled,
 * and enabled afterwards.
 */
void twheel_op_complete_claimed(struct twheel_op *op, u64 value)
{
	op_unlink(op);
	twheel_irqs_enable();
	twheel_keys_move(&op->purgatory->keys);
	op_record(op, TWHEEL_REASON_COMPLETED, 0, value, twheel_clock_ns(twheel_op_clock(op)));
}

/*
 * Nested callbacks
 *
 * A callback may end another operation, the callback of that one runs on top of it and may
 * end a third one, and so on. Consumers decide the depth, so the stack has to be protected.
 * With less than half of it left (op.h), the callback is deferred to a work item of the
 * purgatory. The unit of the operation keeps the purgatory, and so the work item.
 */

DEFINE_PER_CPU(unsigned int, twheel_nested);
EXPORT_PER_CPU_SYMBOL_GPL(twheel_nested);

/* Its callback has returned, and others have references. Drop that of the module. */
noinline void twheel_op_done(struct twheel_op *op)
{
	WRITE_ONCE(op->owner, 0);
	/* Pairs with the acquire in twheel_op_cancel_sync(), which sees all of the callback. */
	smp_store_release(&op->state, OP_DONE);
	/*
	 * Pairs with the barrier in wait_var_event(): the waiter sees the state, or this sees
	 * @awaited and the waiter.
	 */
	smp_mb();
	if (unlikely(READ_ONCE(op->awaited)))
		wake_up_var(&op->state);
	if (twheel_op_put_last(op))
		op->ops->release(op);
}

void twheel_op_deferred_fn(struct work_struct *work)
{
	struct twheel_purgatory *purgatory = container_of(work, struct twheel_purgatory,
							  deferred_work);
	struct llist_node *first = llist_reverse_order(llist_del_all(&purgatory->deferred));
	struct llist_node *node, *next;

	llist_for_each_safe(node, next, first) {
		op_callback_now(llist_entry(node, struct twheel_op, deferred));
		cond_resched();
	}
}

/* Not on the stack of a task, or it is deep. */
noinline void twheel_op_callback_nested(struct twheel_op *op)
{
	struct twheel_purgatory *purgatory = op->purgatory;

	if (!twheel_stack_is_deep()) {
		this_cpu_inc(twheel_nested);
		op_callback_now(op);
		this_cpu_dec(twheel_nested);
		return;
	}
	/* So that the -EDEADLK check cannot match. */
	WRITE_ONCE(op->owner, 0);
	/* Only the work item that is queued here removes the first one. */
	if (llist_add(&op->deferred, &purgatory->deferred))
		queue_work(twheel_op_wq, &purgatory->deferred_work);
}

/* Run the callback of an unlinked operation, or defer it. @op may be freed. */
void twheel_op_callback(struct twheel_op *op)
{
	op_callback(op);
}

/*
 * The function of the timer. The reaper has taken it off the wheel, and so has ended the operation.
 */
void twheel_op_timer_fn(struct twheel_timer *timer)
{
	struct twheel_op *op = container_of(timer, struct twheel_op, timer);
	struct twheel_shard *shard = twheel_timer_shard(timer);
	bool predicate = twheel_op_has_predicate(op);
	u64 now;

	twheel_irqs_disable();
	if (unlikely(predicate)) {
		/* Its owner may change the state. */
		spin_lock(&shard->lock);
		op_set_ended(op);
		spin_unlock(&shard->lock);
	} else {
		op_set_ended(op);
	}
	op_unlink(op);
	twheel_irqs_enable();
	twheel_keys_move(&op->purgatory->keys);
	now = twheel_shard_expired(shard);
	if (likely(!twheel_timer_error(timer)))
		/* The clock may have been set back since the timer expired. */
		op_record(op, TWHEEL_REASON_EXPIRED, 0, 0, max(now, timer->node.expires));
	else
		op_record(op, TWHEEL_REASON_CANCELLED, -ECANCELED, 0, now);
	if (likely(!predicate) || !twheel_op_leave(op))
		op_callback_now(op);
}

/* Calls that end an operation, and its result */

/* Inlined, like op_lock_pending(): 39 instructions less for twheel_op_end(). */
static __always_inline int op_end_locked(struct twheel_shard *shard, struct twheel_op *op,
					 enum twheel_reason reason, int error, u64 value)
{
	enum twheel_clock clock = shard->clock;

	if (twheel_op_has_cell(op) &&
	    !twheel_op_claim_cell(op, reason == TWHEEL_REASON_CANCELLED)) {
		twheel_op_unlock_irqs(shard);
		return -EAGAIN;
	}
	op_take(shard, op);
	twheel_op_unlock(shard);
	op_unlink(op);
	twheel_irqs_enable();
	twheel_keys_move(&op->purgatory->keys);
	op_record(op, reason, error, value, twheel_clock_ns(clock));
	if (likely(!twheel_op_has_predicate(op)) || !twheel_op_leave(op))
		op_callback(op);
	return 0;
}

int twheel_op_end_locked(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	return op_end_locked(twheel_timer_shard(&op->timer), op, reason, error, value);
}

/**
 * twheel_op_end - end an operation
 * @op: the operation; the caller has a reference
 * @reason: completed, expired or cancelled
 * @error: 0 or a negative error number, for its result
 * @value: value for its result
 *
 * Context: process or softirq, with interrupts enabled and without locks that its callback
 * takes.
 * Return:
 * * %0         - this call ended it. The operation has been removed from its wheel and its
 *   keys, and its callback has returned, with the exceptions listed at &struct
 *   twheel_op_ops
 * * %-EALREADY - it had ended; its callback may be running
 * * %-ENOENT   - it was not added
 * * %-EAGAIN   - its cell is idle, and @reason is not TWHEEL_REASON_CANCELLED
 * * %-EINVAL   - @reason is none of the three, or @error is neither 0 nor a negative error
 *   number
 */
int twheel_op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	struct twheel_shard *shard;

	if (unlikely(reason < TWHEEL_REASON_COMPLETED || reason > TWHEEL_REASON_CANCELLED ||
		     error > 0 || error < -MAX_ERRNO))
		return -EINVAL;
	shard = op_lock_pending(op);
	if (IS_ERR(shard))
		return PTR_ERR(shard);
	return op_end_locked(shard, op, reason, error, value);
}
EXPORT_SYMBOL_GPL(twheel_op_end);

/**
 * twheel_op_cancel_sync - cancel an operation and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, the callback has returned, however the operation ended, and the
 * predicate does not run any more.
 *
 * Context: process; may sleep. Not from the predicate or the callback of @op.
 * Return: as twheel_op_cancel(), or -EDEADLK with a warning from its own predicate or
 * callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	/* A thread sees its own store; that of another one does not match. */
	if (WARN_ON_ONCE(READ_ONCE(op->owner) == current->pid))
		return -EDEADLK;
	might_sleep();
	err = twheel_op_cancel(op);
	if (err == -ENOENT)
		return err;
	twheel_callback_wait((unsigned long)op->ops->ended);
	if (op->ops->try_complete)
		twheel_callback_wait((unsigned long)op->ops->try_complete);
	/* Before the barrier in wait_var_event(); see twheel_op_done(). */
	WRITE_ONCE(op->awaited, true);
	/* Pairs with the release in twheel_op_done(): the caller has a reference. */
	wait_var_event(&op->state, (smp_load_acquire(&op->state) & OP_STATE) == OP_DONE);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_cancel_sync);

/*
 * Deadlines
 *
 * The timer of a pending operation has its deadline, and op->deadline, too, since a timer with
 * slack expires later. Both change with the shard locked, in core/, if the timer is pending. So a
 * re-arm and an expiry do not race: the reaper has popped the timer, or has not.
 *
 * With TWHEEL_OP_CANCEL_ON_SET, setting the clock cancels the operation. core/ cancels pending
 * timers, and refuses to re-arm a timer after a change.
 */

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
		twheel_op_end(op, TWHEEL_REASON_CANCELLED, -ECANCELED, 0);
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
	/* The clock was set before. The reaper may be about to do the same. */
	if (unlikely(ret == -ECANCELED))
		twheel_op_end(op, TWHEEL_REASON_CANCELLED, -ECANCELED, 0);
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
 * Context: as twheel_op_end().
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

/**
 * twheel_op_get_result - get the result of an ended operation
 * @op: the operation, in or after its callback
 * @result: filled in
 *
 * Context: any.
 */
void twheel_op_get_result(const struct twheel_op *op, struct twheel_op_result *result)
{
	op_get_result(op, result);
}
EXPORT_SYMBOL_GPL(twheel_op_get_result);
