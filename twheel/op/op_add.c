// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the add.
 *
 * An add checks its arguments, computes the hashes of its keys, and provides what its timer needs.
 * Then it makes the operation pending, in one section with interrupts disabled: with the lock of
 * the bucket of its first key it takes a unit of quota, links the first watch and arms the timer,
 * see op.c. The unit is the last thing that can fail: without one the other watches are unlinked,
 * and nothing is left behind. An add allocates nothing but buckets, if the table of keys has to
 * grow, and levels of the wheel.
 *
 * The other watches are linked before the first one. A signal that finds them finds that the
 * operation is not pending yet, and comes before the add. So once it is pending, all of its keys
 * are linked, and no signal is lost:
 *
 *	adding CPU			CPU that signals another key than the first one
 *	----------			-----------------------------------------------
 *	link the other watches		store what the adder reads
 *	lock the first bucket		lock the other bucket
 *	link, arm, unlock		if the operation is not pending:
 *	smp_mb()				smp_mb(), look once more
 *	the caller reads
 *
 * The two CPUs lock different buckets. By the barriers, the caller sees the store, or the signal
 * finds the operation pending.
 *
 * Predicates
 * ----------
 *
 * A predicate runs before the first link, since it may be true already, and once more after
 * the last one, since it may have become true in between, when a lookup of its keys did not
 * find the operation:
 *
 *	adding CPU                        CPU that makes it true
 *	----------                        ----------------------
 *	run it: false
 *	                                  make it true
 *	lock the bucket, link, unlock     lock the bucket, look up the watches of
 *	run it                            the key, unlock; run their predicates
 *
 * The CPU that locks the bucket last sees the stores of the other: either the lookup finds
 * the watch, or the second run sees the change.
 *
 * The operation has to be pending from the first run on. So it is added without watches and without
 * a deadline, attaches and links its watches as twheel_op_watch() does, and is armed for its
 * deadline before the last run, unless it was re-armed meanwhile.
 *
 * See op.c for states, references and the lock order.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "../core/twheel.h"
#include "op.h"

/* Checks of the arguments */

/* Whether operations with @flags may have their deadlines on @wheel: 0 or -EINVAL. */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags)
{
	/* The timer is armed when the add cannot fail any more. */
	if (wheel->limited)
		return -EINVAL;
	return !(flags & TWHEEL_OP_WALL) == (wheel->clock == TWHEEL_CLOCK_REALTIME) ? -EINVAL : 0;
}

/* Whether keys, quorum and threshold are those that the condition needs. */
static bool condition_valid(const struct twheel_op_args *args)
{
	u32 nr = args->nr_keys, quorum = args->quorum;

	if (args->condition == TWHEEL_COND_SUM ? !args->threshold : args->threshold)
		return false;
	switch ((unsigned int)args->condition) {
	case TWHEEL_COND_NONE:
		return !nr && !quorum;
	case TWHEEL_COND_ANY:
	case TWHEEL_COND_ALL:
	case TWHEEL_COND_SUM:
		return nr && !quorum;
	case TWHEEL_COND_QUORUM:
		return quorum && quorum <= nr;
	case TWHEEL_COND_PREDICATE:
		return !quorum;
	default:
		return false;
	}
}

/**
 * twheel_op_check - check the arguments of an add
 * @args: arguments; @watches is not used, and the wheel of the purgatory is not checked
 *
 * twheel_op_add() makes the same checks. This is for a caller that has to know before it
 * prepares anything else.
 *
 * Context: any.
 * Return: 0, or -EINVAL as twheel_op_add().
 */
int twheel_op_check(const struct twheel_op_args *args)
{
	if (args->flags & ~(TWHEEL_OP_CANCEL_ON_SET | TWHEEL_OP_MAY_SLEEP | TWHEEL_OP_WALL |
			    TWHEEL_OP_CELL))
		return -EINVAL;
	if (args->flags & TWHEEL_OP_CANCEL_ON_SET && !(args->flags & TWHEEL_OP_WALL))
		return -EINVAL;
	if (args->wheel && twheel_op_check_wheel(args->wheel, args->flags))
		return -EINVAL;
	if (!condition_valid(args))
		return -EINVAL;
	/* Progress in one life of a cell would count for the next one. */
	if (args->flags & TWHEEL_OP_CELL && (args->condition > TWHEEL_COND_ANY || args->slack_ns ||
					     args->flags & TWHEEL_OP_WALL))
		return -EINVAL;
	return args->nr_keys ? twheel_specs_check(args->specs, args->nr_keys, args->condition,
						  args->flags & TWHEEL_OP_CELL) : 0;
}
EXPORT_SYMBOL_GPL(twheel_op_check);

/* Take the references of the module and perhaps of the caller. */
static __always_inline void op_take_references(struct twheel_op *op, unsigned int refs)
{
	/* No other thread knows the operation, and could take one. */
	if (likely(!op->ops->looked_up && refcount_read(&op->ref) == 1))
		refcount_set(&op->ref, 1 + refs);
	else
		refcount_add(refs, &op->ref);
}

/* Make the operation pending, with its shard and its bucket or pool locked. */
static __always_inline void op_begin(struct twheel_op *op, struct twheel_shard *shard, u8 state,
				     u64 tick)
{
	/* Under the lock, so that look-ups rely on it while they hold the lock: see dev/op.c. */
	WRITE_ONCE(op->timer.shard_flags, (unsigned long)shard | op->timer.shard_flags);
	WRITE_ONCE(op->state, state | OP_PENDING);
	trace_twheel_op_add(op, shard->clock);
	twheel_timer_start(shard, &op->timer, tick);
}

/* Add an operation without watches. */
static int op_begin_listed(struct twheel_op *op, struct twheel_shard *shard, u8 state,
			   unsigned int refs, u64 tick)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_pool *pool;
	int err;

	twheel_irqs_disable();
	/* Before the locks: at the limit it visits all pools. */
	err = twheel_purgatory_charge(purgatory);
	if (unlikely(err))
		goto out;
	op->pool = raw_smp_processor_id();
	pool = per_cpu_ptr(purgatory->pools, op->pool);
	spin_lock(&shard->lock);
	spin_lock(&pool->lock);
	if (likely(!READ_ONCE(purgatory->closed))) {
		hlist_add_head(&op->listed, &pool->ops);
		op_take_references(op, refs);
		op_begin(op, shard, state, tick);
	} else {
		/* The walk of the drain may have visited the pool. It waits for the unit. */
		err = -ESHUTDOWN;
	}
	spin_unlock(&pool->lock);
	spin_unlock(&shard->lock);
	if (unlikely(err)) {
		this_cpu_dec(purgatory->pools->added);
		twheel_purgatory_uncharge(purgatory);
	}
out:
	twheel_irqs_enable();
	return err;
}

/* Link the watches behind the first one of an operation that is not pending. */
static noinline void op_link_rest(struct twheel_keys *keys, struct twheel_watch *watch)
{
	while ((watch = watch->next)) {
		const struct twheel_key_at at = twheel_key_lock(keys, watch->hash);

		twheel_key_link(&at, watch);
		twheel_key_unlock(&at);
	}
}

/* Add an operation with watches: link the first one last. */
static __always_inline int op_begin_linked(struct twheel_purgatory *purgatory,
					   struct twheel_op *op, struct twheel_shard *shard,
					   struct twheel_watch *watch, u64 tick)
{
	struct twheel_key_at at __uninitialized;
	/* When it is pending, others may free it. */
	bool several = watch->next;
	int err;

	if (unlikely(several))
		op_link_rest(&purgatory->keys, watch);
	at = twheel_key_lock(&purgatory->keys, watch->hash);
	err = twheel_purgatory_charge(purgatory);
	if (likely(!err)) {
		twheel_key_link(&at, watch);
		op_take_references(op, 1);
		this_cpu_add(purgatory->pools->watches, (u32)op->nr_watches);
		spin_lock(&shard->lock);
		op_begin(op, shard, 0, tick);
		spin_unlock(&shard->lock);
	}
	twheel_key_unlock_irqs_off(&at);
	if (unlikely(several)) {
		/* Pairs with the barrier in op_lock_unstarted(). */
		smp_mb();
	}
	if (unlikely(err))
		twheel_op_unlink(op);
	twheel_irqs_enable();
	return err;
}

/* Check, watch, check again. */
static noinline int op_add_predicate(struct twheel_op *op, struct twheel_shard *shard,
				     const struct twheel_op_args *args)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	int ret, new = 0;

	op->nr_watches = 0;
	op->timer.node.expires = TWHEEL_NEVER;
	/* The caller owns it, and runs the predicate. */
	WRITE_ONCE(op->owner, current->pid);
	ret = op_begin_listed(op, shard, OP_OWNED | OP_RECHECK, 2, TWHEEL_TICK_NEVER);
	if (ret) {
		WRITE_ONCE(op->owner, 0);
		return ret;
	}
	ret = twheel_op_serve(op);
	if (!ret) {
		if (args->nr_keys && !twheel_op_change_begin(op)) {
			new = max(0, twheel_op_attach(op, args->watches, args->nr_keys, true));
			twheel_op_change_end(purgatory);
		}
		twheel_op_arm(op, twheel_deadline_of(args->deadline), args->slack_ns);
		ret = twheel_op_try_complete(op) == 1;
	}
	/* It may have ended, or twheel_op_watch() was faster. */
	twheel_purgatory_uncharge_watches(purgatory, args->nr_keys - new);
	twheel_op_put(op);
	return ret;
}

/* twheel_op_add() with arguments that have been checked. */
int __twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		    const struct twheel_op_args *args)
{
	struct twheel_expiry at = { .expires = twheel_deadline_of(args->deadline) };
	struct twheel_watch *watches = args->watches;
	struct twheel *wheel = args->wheel;
	struct twheel_shard *shard;
	u32 nr = args->nr_keys;
	int ret;

	BUILD_BUG_ON(TWHEEL_OP_CANCEL_ON_SET != TWHEEL_TIMER_CANCEL_ON_SET);
	/* Without the shard, see op_begin(). */
	WRITE_ONCE(op->timer.shard_flags, args->flags & TWHEEL_TIMER_FLAGS);
	if (likely(nr)) {
		twheel_watch_init(op, &purgatory->keys, args->specs, watches, 0);
		if (nr > 1)
			twheel_watches_init_rest(op, &purgatory->keys, args->specs, watches, nr);
		ret = twheel_keys_check(&purgatory->keys, watches, nr,
					args->flags & TWHEEL_OP_MAY_SLEEP);
		if (unlikely(ret))
			goto rejected;
		op->watches = watches;
		op->missing = likely(args->condition == TWHEEL_COND_ANY) ? 1 :
			      args->condition == TWHEEL_COND_ALL ? nr :
			      args->quorum + args->threshold;
		ret = -ENOSPC;
		if (unlikely(!twheel_purgatory_charge_watches(purgatory, nr)))
			goto rejected;
	}
	op->purgatory = purgatory;
	op->condition = args->condition;
	op->nr_watches = nr;
	op->deadline = at.expires;
	debug_object_init(&op->timer, &twheel_timer_descr);
	op->timer.fn = twheel_op_timer_fn;
	if (likely(!wheel))
		wheel = purgatory->wheel;
	shard = twheel_local_shard(wheel);
	at.tick = twheel_shard_tick(shard, at.expires);
	if (unlikely(twheel_shard_is_wall(shard) || args->slack_ns ||
		     /* Without the lock, a wrong answer costs time, or a move of the timer. */
		     !data_race(twheel_wheel_is_near(&shard->queue.wheel, at.tick))))
		at = twheel_timer_prepare(shard, at.expires, args->slack_ns);
	op->timer.node.expires = at.expires;
	if (unlikely(args->condition == TWHEEL_COND_PREDICATE))
		ret = op_add_predicate(op, shard, args);
	else if (likely(nr))
		ret = op_begin_linked(purgatory, op, shard, watches, at.tick);
	else
		ret = op_begin_listed(op, shard, 0, 1, at.tick);
	if (likely(ret >= 0))
		return ret;
	twheel_purgatory_uncharge_watches(purgatory, nr);
rejected:
	/* Nothing is left of a failed add. */
	if (twheel_op_has_cell(op))
		twheel_op_claim_cell(op, true);
	WRITE_ONCE(op->timer.shard_flags, 0);
	if (ret == -ENOSPC)
		atomic64_inc(&purgatory->rejected);
	return ret;
}

/* A function of its own: without it, an add takes 12 instructions to save registers. */
static noinline int op_add_checked(struct twheel_purgatory *purgatory, struct twheel_op *op,
				   const struct twheel_op_args *args)
{
	int err = twheel_op_check(args);

	if (err)
		return err;
	if (args->condition == TWHEEL_COND_PREDICATE && !op->ops->try_complete)
		return -EINVAL;
	/* The wheel of the purgatory is not of TWHEEL_CLOCK_REALTIME. */
	if (args->flags & TWHEEL_OP_WALL && !args->wheel)
		return -EINVAL;
	return __twheel_op_add(purgatory, op, args);
}

/**
 * twheel_op_add - add an operation to a purgatory, unless its predicate is true
 * @purgatory: the purgatory
 * @op: the operation, initialised; the caller has a reference
 * @args: condition, keys and deadline
 *
 * A predicate runs before the keys are watched and after that, so that no change in between is
 * missed.
 *
 * With a predicate, the operation is pending before its keys are watched. If they and those that
 * twheel_op_watch() adds meanwhile are more than TWHEEL_MAX_KEYS, none of @args is watched.
 *
 * The operation may end, and its callback may run and drop the only reference, before this
 * returns. After an error @op has not been added, and may be added again. The memory of the
 * watches must stay until @op is released. Calls for the same operation must be serialised.
 *
 * Context: process or softirq, with interrupts enabled and without locks that its predicate
 * or its callback takes. May sleep with TWHEEL_OP_MAY_SLEEP.
 * Return:
 * * %1          - the predicate completed the operation; its callback has returned, with the
 *   exceptions listed at &struct twheel_op_ops
 * * %0          - it is pending, or has ended in another way
 * * %-EINVAL    - keys and condition do not match: a condition on keys without a key, or keys
 *   without a condition; two equal keys; a quorum of zero or of more than the keys; a sum
 *   without a threshold; a need where signals are not counted, or above TWHEEL_MAX_NEED; a
 *   quorum or threshold for another condition; TWHEEL_COND_PREDICATE without a predicate;
 *   more than TWHEEL_MAX_KEYS keys; an unknown flag; TWHEEL_OP_CANCEL_ON_SET without
 *   TWHEEL_OP_WALL; this on a wheel that does not use TWHEEL_CLOCK_REALTIME, or a wheel of this
 *   clock without it; a wheel with its own limit; TWHEEL_OP_CELL with TWHEEL_OP_WALL, slack, a need
 *   above 1, or another condition than TWHEEL_COND_NONE and TWHEEL_COND_ANY
 * * %-EBUSY     - the operation was added before; with a warning
 * * %-ENOSPC    - the limit on pending operations or on watches is reached
 * * %-ENOMEM    - the table of keys holds several times the keys that it has buckets for, and
 *   there is no memory for more, or not without sleeping. Each add tries to allocate them.
 * * %-ESHUTDOWN - the purgatory is being drained
 */
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args)
{
	if (WARN_ON_ONCE(twheel_op_state(op) != OP_NEW))
		return -EBUSY;
	if (likely(twheel_args_are_simple(args)))
		return __twheel_op_add(purgatory, op, args);
	return op_add_checked(purgatory, op, args);
}
EXPORT_SYMBOL_GPL(twheel_op_add);
