// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: which conditions go with which keys, and which wheels will
 * do. No state, no locks.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../core/twheel.h"
#include "op.h"

/**
 * twheel_specs_check - whether keys can be watched
 * @specs: the keys
 * @nr_keys: how many
 * @condition: of the operation that is to watch them
 *
 * Return: 0, or -EINVAL.
 */
int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition)
{
	u32 i;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].reserved ||
		    (specs[i].need > 1 && !twheel_op_counts_signals(condition)))
			return -EINVAL;
	return 0;
}

static bool key_among(const struct twheel_watch_spec *specs, u32 nr,
		      const struct twheel_key *key)
{
	while (nr--)
		if (!memcmp(&specs[nr].key, key, sizeof(*key)))
			return true;
	return false;
}

static u32 nr_distinct(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++)
		nr += !key_among(specs, i, &specs[i].key);
	return nr;
}

/* Whether a condition can do with so many keys. */
static bool nr_keys_fits(enum twheel_condition condition, u32 nr_keys)
{
	switch ((unsigned int)condition) {
	case TWHEEL_COND_NONE:
		return !nr_keys;
	case TWHEEL_COND_ANY:
	case TWHEEL_COND_ALL:
	case TWHEEL_COND_QUORUM:
	case TWHEEL_COND_SUM:
		return nr_keys;
	case TWHEEL_COND_PREDICATE:
		return true;
	default:
		return false;
	}
}

/**
 * twheel_op_check_wheel - whether a wheel will do for an operation
 * @wheel: the wheel
 * @flags: of the operation
 *
 * Return: 0, or -EINVAL.
 */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags)
{
	/* Its timer is armed when it is too late to fail. */
	if (wheel->limit.max)
		return -EINVAL;
	if (flags & TWHEEL_OP_CANCEL_ON_SET && wheel->shard[0].clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	return 0;
}

/**
 * twheel_op_check - whether an operation can be added like this
 * @args: how it is to wait; the room for its watches is not looked at, nor the
 *	wheel of the purgatory
 *
 * twheel_op_add() checks this too. It is for who wants to know before anything
 * else is done for the operation.
 *
 * Context: any.
 * Return: 0, or -EINVAL as twheel_op_add().
 */
int twheel_op_check(const struct twheel_op_args *args)
{
	bool quorum = args->condition == TWHEEL_COND_QUORUM;
	bool sum = args->condition == TWHEEL_COND_SUM;

	if (args->flags & ~TWHEEL_OP_CANCEL_ON_SET)
		return -EINVAL;
	if (args->wheel && twheel_op_check_wheel(args->wheel, args->flags))
		return -EINVAL;
	if (!nr_keys_fits(args->condition, args->nr_keys))
		return -EINVAL;
	if (quorum != !!args->quorum || sum != !!args->threshold)
		return -EINVAL;
	if (twheel_specs_check(args->specs, args->nr_keys, args->condition))
		return -EINVAL;
	if (quorum && args->quorum > nr_distinct(args->specs, args->nr_keys))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_op_check);

/*
 * Layer 5, operations: how one is added to a purgatory.
 *
 * An add checks its arguments and the limits, parks the operation, links its watches,
 * arms its timer. What can fail comes before the operation waits, so that an add
 * which fails leaves nothing behind. It allocates nothing, but the table of keys may be
 * full, see twheel_keys_check().
 *
 * Nothing missed: an operation is WAITING before its first watch is linked,
 * and is told of signals from that link on, so there is no gap in which a signal
 * under a linked key could be lost.  If that completes it while its further
 * watches are still to be linked or its timer to be armed, these steps find
 * it ENDED, under its lock, and do nothing:
 *
 *	adding CPU                        signalling CPU
 *	----------                        --------------
 *	park: WAITING
 *	link watch 1
 *	                                  claim: ENDED
 *	link watch 2: not WAITING, skip
 *	                                  leave: cancel the timer (not armed)
 *	                                  unlink 1
 *	arm: not WAITING, skip            call back
 *
 * A predicate is run twice: before anything is linked, since what it waits for
 * may be there already, and after everything is, since it may have come in
 * between, when nobody found the operation under its keys:
 *
 *	adding CPU                        CPU on which it comes true
 *	----------                        --------------------------
 *	run it: false
 *	                                  make it true
 *	lock the stripe, link, unlock     lock the stripe, look who watches the
 *	run it                            key, unlock; ask these
 *
 * Whoever has the lock of the stripe last sees what the other did before: either the
 * walk finds the watch, or the second run sees the change. This is Kafka's
 * tryCompleteElseWatch.
 *
 * States, references and the order of locks are explained in op.c.
 */

static void op_setup(struct twheel_op *op, struct twheel_purgatory *purgatory,
		     const struct twheel_op_args *args)
{
	op->purgatory = purgatory;
	op->list = raw_smp_processor_id() & (purgatory->nr_lists - 1);
	twheel_op_condition_init(op, args);
	op->watches = NULL;
	op->nr_watches = 0;
	twheel_op_begin(op, args->wheel ?: purgatory->wheel, args);
}

/* Let an operation wait, and the caller hold it, unless the purgatory is being drained. */
static int op_park(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_op_list *list = twheel_op_to_list(op);
	int err = -ESHUTDOWN;

	spin_lock_bh(&op->lock);
	spin_lock(&list->lock);
	if (!list->draining) {
		twheel_watches_attach(op, watches, nr);
		twheel_op_park(op);
		twheel_op_hold(op);
		err = 0;
	}
	spin_unlock(&list->lock);
	spin_unlock_bh(&op->lock);
	return err;
}

/* Arm its timer, unless it has been re-armed by now, and maybe without slack. */
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

/* Check, watch, check again; whether a check completed it. */
static bool op_start(struct twheel_op *op, const struct twheel_op_args *args, u32 nr)
{
	bool predicate = twheel_op_has_predicate(op);

	if (predicate && twheel_op_serve(op))
		return true;
	twheel_watches_link(op, args->watches, nr);
	op_arm(op, args->slack_ns);
	return predicate && twheel_op_try_complete(op) == 1;
}

static int op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args)
{
	bool completed;
	u32 nr;
	int err;

	nr = twheel_watches_fill(&purgatory->keys, args->specs, args->watches, args->nr_keys);
	err = twheel_keys_check(&purgatory->keys, args->watches, nr);
	if (err)
		return err;
	err = twheel_purgatory_charge_watches(purgatory, nr);
	if (err)
		return err;
	op_setup(op, purgatory, args);
	err = op_park(op, args->watches, nr);
	if (err) {
		twheel_purgatory_uncharge_watches(purgatory, nr);
		return err;
	}
	completed = op_start(op, args, nr);
	twheel_op_unhold(op);
	return completed;
}

/**
 * twheel_op_add - let an operation wait in a purgatory, unless it is complete
 * @purgatory: where
 * @op: the operation, initialised; the caller has a reference
 * @args: how it waits; a key given twice counts once
 *
 * Kafka's tryCompleteElseWatch: the predicate of an operation that has one is run
 * before its keys are watched and after, so that nothing is missed in between.
 *
 * The operation may end, and its callback run and give back the only reference,
 * before this returns. On an error it has not been added, nothing of it is left
 * behind, and it may be added again. The memory of its watches must stay until
 * it is released. An operation is added by one at a time.
 *
 * Context: process or softirq, with interrupts enabled and no
 * lock held that its predicate or its callback takes.
 * Return:
 * * 1          - its predicate held: this call has completed it; of its callback see
 *	struct twheel_op_ops
 * * 0          - it waits, or has ended by now in another way
 * * -EINVAL    - keys and condition don't go together: no key for a condition on
 *	keys, or keys for none; a quorum of none or of more than the distinct keys;
 *	no threshold for a sum; a need where signals are not counted; a quorum or
 *	threshold where none belongs; TWHEEL_COND_PREDICATE without a predicate;
 *	more than TWHEEL_MAX_KEYS; a reserved field that is not zero; an unknown flag;
 *	TWHEEL_OP_CANCEL_ON_SET on a wheel that does not go by TWHEEL_CLOCK_REALTIME;
 *	a wheel with a limit of its own
 * * -EBUSY     - the operation was added before; with a warning
 * * -ENOSPC    - as many operations as may are pending, or have as many watches
 * * -ENOMEM    - there is no memory to let the table of keys grow, and it holds several
 *	times the keys that it has buckets for. It tries again ten times a second.
 * * -ESHUTDOWN - the purgatory is being drained
 */
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args)
{
	int ret;

	if (WARN_ON_ONCE(twheel_op_state(op) != OP_NEW))
		return -EBUSY;
	ret = twheel_op_check(args);
	if (ret)
		return ret;
	if (args->condition == TWHEEL_COND_PREDICATE && !op->ops->try_complete)
		return -EINVAL;
	if (twheel_op_check_wheel(args->wheel ?: purgatory->wheel, args->flags))
		return -EINVAL;
	ret = twheel_purgatory_charge(purgatory);
	if (ret)
		return ret;
	ret = op_add(purgatory, op, args);
	if (ret < 0)
		twheel_purgatory_uncharge(purgatory, 0);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_add);
