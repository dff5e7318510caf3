// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the add, and the watches that it attaches and links.
 *
 * An add checks its arguments and the limits, makes the operation pending, links its watches
 * and arms its timer. Everything that can fail comes before the operation is pending, so a
 * failed add leaves nothing behind. It allocates nothing but buckets, if the table of keys has
 * to grow, see twheel_keys_check().
 *
 * Watches are attached and then linked. Attaching puts them on the list of the operation, under
 * op->lock unless no other thread knows it yet, and makes the condition count them. Linking puts
 * each one under its key, where signals find it. Neither fails. The caller that ends the operation
 * unlinks the linked ones.
 *
 * The operation is PENDING before its first watch is linked, and signals find it from that
 * link on, so no signal under a linked key is lost. The first link and the timer take no lock
 * twice: they are made with the locks held that make the operation PENDING. If a signal
 * completes it before the other watches are linked, they find it ENDED, under op->lock, and
 * are skipped:
 *
 *	adding CPU                        signalling CPU
 *	----------                        --------------
 *	lock bucket and operation
 *	park: PENDING
 *	link watch 1
 *	unlock bucket
 *	arm the timer
 *	unlock operation
 *	                                  claim: ENDED
 *	link watch 2: not PENDING, skip
 *	                                  unlink: cancel the timer,
 *	                                  unlink watch 1
 *	                                  callback
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
 * See op.c for states, references and the lock order.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/kref.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <trace/events/twheel.h>

#include "../core/twheel.h"
#include "op.h"

/* Checks of the arguments */

static bool specs_contain(const struct twheel_watch_spec *specs, u32 nr,
			  const struct twheel_key *key)
{
	while (nr--)
		if (twheel_key_equal(&specs[nr].key, key))
			return true;
	return false;
}

int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition)
{
	u32 i, max = twheel_op_counts_signals(condition) ? TWHEEL_MAX_NEED : 1;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].need > max || specs_contain(specs, i, &specs[i].key))
			return -EINVAL;
	return 0;
}

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
	switch ((unsigned int)args->condition) {
	case TWHEEL_COND_NONE:
		return !args->nr_keys && !args->quorum && !args->threshold;
	case TWHEEL_COND_ANY:
	case TWHEEL_COND_ALL:
		return args->nr_keys && !args->quorum && !args->threshold;
	case TWHEEL_COND_QUORUM:
		return args->quorum && args->quorum <= args->nr_keys && !args->threshold;
	case TWHEEL_COND_SUM:
		return args->nr_keys && !args->quorum && args->threshold;
	case TWHEEL_COND_PREDICATE:
		return !args->quorum && !args->threshold;
	default:
		return false;
	}
}

static __always_inline int op_check(const struct twheel_op_args *args)
{
	if (args->flags & ~(TWHEEL_OP_CANCEL_ON_SET | TWHEEL_OP_MAY_SLEEP | TWHEEL_OP_WALL))
		return -EINVAL;
	if (args->flags & TWHEEL_OP_CANCEL_ON_SET && !(args->flags & TWHEEL_OP_WALL))
		return -EINVAL;
	if (args->wheel && twheel_op_check_wheel(args->wheel, args->flags))
		return -EINVAL;
	if (!condition_valid(args))
		return -EINVAL;
	return args->nr_keys ? twheel_specs_check(args->specs, args->nr_keys, args->condition) : 0;
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
	return op_check(args);
}
EXPORT_SYMBOL_GPL(twheel_op_check);

/* Watches */

static __always_inline void watches_fill(const struct twheel_keys *keys,
					 const struct twheel_watch_spec *specs,
					 struct twheel_watch *watches, u32 nr_keys)
{
	u32 i;

	for (i = 0; i < nr_keys; i++) {
		watches[i].key_prev = NULL;
		watches[i].key = specs[i].key;
		watches[i].hash = twheel_keys_hash(keys, &specs[i].key);
		watches[i].need = specs[i].need ?: 1;
		watches[i].bit = i;
	}
	/* The bucket of the first one is needed at once. */
	if (nr_keys < 2)
		return;
	rcu_read_lock();
	for (i = 1; i < nr_keys; i++)
		twheel_keys_prefetch(keys, watches[i].hash);
	rcu_read_unlock();
}

/* Initialise one watch for each key, with the bits of an add. */
void twheel_watches_fill(const struct twheel_keys *keys, const struct twheel_watch_spec *specs,
			 struct twheel_watch *watches, u32 nr_keys)
{
	watches_fill(keys, specs, watches, nr_keys);
}

/*
 * Attach watches of keys that the operation does not watch yet, to be linked later. They
 * follow the earlier ones: users see the keys in the order in which they added them.
 */
void twheel_watches_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch **end = &op->watches;
	u32 i;

	lockdep_assert_held(&op->lock);
	while (*end)
		end = &(*end)->next;
	for (i = 0; i < nr; i++) {
		watches[i].op = op;
		watches[i].next = NULL;
		*end = &watches[i];
		end = &watches[i].next;
	}
	op->nr_watches += nr;
	twheel_op_condition_attach(op, nr);
}

/*
 * Link attached watches under their keys, until the operation ends. The caller has a hold
 * and no lock.
 */
void twheel_watches_link(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch *watch;
	struct twheel_key_at at;

	for (watch = watches; watch < watches + nr; watch++) {
		at = twheel_key_lock(&op->purgatory->keys, watch->hash);
		spin_lock(&op->lock);
		if (twheel_op_state(op) == OP_PENDING)
			twheel_key_link(&at, watch);
		spin_unlock(&op->lock);
		twheel_key_unlock(&at);
	}
}

/* The add */

/* The keys or the amount that the condition misses at first. */
static u64 initial_missing(const struct twheel_op_args *args)
{
	switch (args->condition) {
	case TWHEEL_COND_ANY:
		return 1;
	case TWHEEL_COND_ALL:
		return args->nr_keys;
	case TWHEEL_COND_QUORUM:
		return args->quorum;
	case TWHEEL_COND_SUM:
		return args->threshold;
	default:
		return 0;
	}
}

/* Attach the watches, since no other thread knows the operation. */
static void op_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	u32 i;

	op->watches = nr ? watches : NULL;
	op->nr_watches = nr;
	for (i = 0; i < nr; i++) {
		watches[i].op = op;
		watches[i].next = i + 1 < nr ? &watches[i + 1] : NULL;
	}
}

/* Return: as twheel_op_deadline_init(). */
static bool op_setup(struct twheel_op *op, struct twheel_purgatory *purgatory,
		     const struct twheel_op_args *args)
{
	op->purgatory = purgatory;
	op->list = raw_smp_processor_id() & (purgatory->nr_lists - 1);
	op->condition = args->condition;
	op->missing = initial_missing(args);
	op_attach(op, args->watches, args->nr_keys);
	return twheel_op_deadline_init(op, args->wheel ?: purgatory->wheel, args);
}

/*
 * Make the operation pending, unless drain has begun or a limit is reached. @holds are the first
 * hold, that of the timer and those of the caller; @state has further bits of the state. Return: 0,
 * -ESHUTDOWN, -ENOSPC, or -EAGAIN if another list may have quota.
 */
static __always_inline int op_park(struct twheel_op *op, const struct twheel_op_args *args,
				   unsigned int holds, u16 state)
{
	struct twheel_op_list *list = twheel_op_to_list(op);
	int err = 0;

	lockdep_assert_held(&op->lock);
	spin_lock(&list->lock);
	if (unlikely(list->draining)) {
		err = -ESHUTDOWN;
	} else if (!twheel_purgatory_charge(op->purgatory, list)) {
		err = -EAGAIN;
	} else if (!twheel_purgatory_charge_watches(op->purgatory, args->nr_keys)) {
		twheel_purgatory_uncharge(op->purgatory, list);
		err = -ENOSPC;
	} else {
		refcount_inc(&list->holds);
		kref_get(&op->ref);
		refcount_set(&op->holds, holds);
		list->added++;
		list->watches += args->nr_keys;
		list_add_tail(&op->parked, &list->ops);
		WRITE_ONCE(op->state, OP_PENDING | state);
		trace_twheel_op_add(op, twheel_op_clock(op));
	}
	spin_unlock(&list->lock);
	return err;
}

/*
 * Make the operation pending and link its first watch. Takes op->lock and disables softirqs; the
 * caller drops the lock.
 */
static int op_park_and_link(struct twheel_op *op, const struct twheel_op_args *args,
			    unsigned int holds, u16 state)
	__acquires(&op->lock)
{
	struct twheel_key_at at = twheel_key_lock(&op->purgatory->keys, args->watches->hash);
	int err;

	spin_lock(&op->lock);
	err = op_park(op, args, holds, state);
	if (!err)
		twheel_key_link(&at, args->watches);
	/* The bucket is not needed to arm the timer, which may allocate levels. */
	twheel_key_unlock_nobh(&at);
	return err;
}

/*
 * Begin an operation without a predicate: make it pending, link its first watch and arm its timer,
 * with op->lock taken only once. With further watches the caller gets a hold. Return: an error; 1
 * if the clock was set, and the caller has to finish the operation; or 0.
 */
static int op_begin(struct twheel_op *op, const struct twheel_op_args *args, bool simple)
{
	unsigned int holds = 1 + simple + (args->nr_keys > 1);
	u16 state = simple ? OP_ARMED : 0;
	int ret;

	if (args->nr_keys) {
		ret = op_park_and_link(op, args, holds, state);
	} else {
		spin_lock_bh(&op->lock);
		ret = op_park(op, args, holds, state);
	}
	if (likely(!ret)) {
		if (likely(simple))
			twheel_op_start_timer(op);
		else
			ret = twheel_op_arm(op, args->slack_ns);
	}
	spin_unlock_bh(&op->lock);
	return ret;
}

static int op_start(struct twheel_op *op, const struct twheel_op_args *args, bool simple)
{
	int ret = op_begin(op, args, simple);

	if (unlikely(ret)) {
		if (ret < 0)
			return ret;
		twheel_op_finish(op);
	}
	if (args->nr_keys > 1) {
		twheel_watches_link(op, args->watches + 1, args->nr_keys - 1);
		twheel_op_unhold(op);
	}
	return 0;
}

/* A re-arm that came first may have set another deadline and slack: it is left alone. */
static void op_arm(struct twheel_op *op, u64 slack_ns)
{
	bool claimed = false;

	spin_lock_bh(&op->lock);
	if (twheel_op_state(op) == OP_PENDING && !(op->state & OP_ARMED))
		claimed = twheel_op_arm(op, slack_ns);
	spin_unlock_bh(&op->lock);
	if (claimed)
		twheel_op_finish(op);
}

/* Check, watch, check again. Return: true if one of the checks completed the operation. */
static bool op_check_and_watch(struct twheel_op *op, const struct twheel_op_args *args)
{
	if (twheel_op_serve(op))
		return true;
	twheel_watches_link(op, args->watches, args->nr_keys);
	op_arm(op, args->slack_ns);
	return twheel_op_try_complete(op) == 1;
}

static int op_start_predicate(struct twheel_op *op, const struct twheel_op_args *args)
{
	int ret;

	spin_lock_bh(&op->lock);
	/* The caller owns it, and runs the predicate. */
	WRITE_ONCE(op->owner, current->pid);
	ret = op_park(op, args, 2, OP_OWNED | OP_RECHECK);
	if (ret)
		WRITE_ONCE(op->owner, 0);
	spin_unlock_bh(&op->lock);
	if (ret)
		return ret;
	ret = op_check_and_watch(op, args);
	twheel_op_unhold(op);
	return ret;
}

static int op_try_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		      const struct twheel_op_args *args)
{
	bool simple = op_setup(op, purgatory, args);

	if (unlikely(twheel_op_has_predicate(op)))
		return op_start_predicate(op, args);
	return op_start(op, args, simple);
}

/* twheel_op_add() with arguments that have been checked. */
int __twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		    const struct twheel_op_args *args)
{
	int ret;

	if (args->nr_keys) {
		watches_fill(&purgatory->keys, args->specs, args->watches, args->nr_keys);
		ret = twheel_keys_check(&purgatory->keys, args->watches, args->nr_keys,
					args->flags & TWHEEL_OP_MAY_SLEEP);
		if (ret)
			return ret;
	}
	do {
		ret = op_try_add(purgatory, op, args);
	} while (unlikely(ret == -EAGAIN) && twheel_purgatory_reclaim_quota(purgatory));
	if (likely(ret >= 0))
		return ret;
	/* Nothing is left of a failed add. */
	op_attach(op, NULL, 0);
	if (ret == -EAGAIN)
		ret = -ENOSPC;
	if (ret == -ENOSPC)
		atomic64_inc(&purgatory->rejected);
	return ret;
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
 *   clock without it; a wheel with its own limit
 * * %-EBUSY     - the operation was added before; with a warning
 * * %-ENOSPC    - the limit on pending operations or on watches is reached
 * * %-ENOMEM    - the table of keys holds several times the keys that it has buckets for, and
 *   there is no memory for more, or not without sleeping. Each add tries to allocate them.
 * * %-ESHUTDOWN - the purgatory is being drained
 */
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args)
{
	int ret;

	if (WARN_ON_ONCE(twheel_op_state(op) != OP_NEW))
		return -EBUSY;
	ret = op_check(args);
	if (ret)
		return ret;
	if (args->condition == TWHEEL_COND_PREDICATE && !op->ops->try_complete)
		return -EINVAL;
	if (twheel_op_check_wheel(args->wheel ?: purgatory->wheel, args->flags))
		return -EINVAL;
	return __twheel_op_add(purgatory, op, args);
}
EXPORT_SYMBOL_GPL(twheel_op_add);
