// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: how one is added to a purgatory, and comes to watch
 * keys.
 *
 * An add checks its arguments, gets all of its keys, parks the operation, links
 * its watches, arms its timer. What can fail comes before the operation waits,
 * so that an add which fails leaves nothing behind.
 *
 * Nothing missed: an operation is WAITING before its first watch is linked,
 * and counts signals from that link on, so there is no gap in which a signal
 * under a linked key could be lost.  If that completes it while its further
 * watches are still to be linked or its timer to be armed, these steps find
 * it ENDED, under its lock, and do nothing:
 *
 *	adding CPU                        signalling CPU
 *	----------                        --------------
 *	park: state = WAITING
 *	link watch 1
 *	                                  op_end: state = ENDED
 *	link watch 2: not WAITING, skip
 *	                                  finish: cancel the timer (not armed)
 *	                                  unlink 1; give back the uses of 1, 2
 *	arm: not WAITING, skip            callback
 *
 * Whoever finishes gives back the keys of all watches, linked or not.  The
 * adding CPU may find the lock of such a key still to be taken; RCU keeps its
 * memory until then.
 *
 * States, references and the order of locks are explained in op.c.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "op.h"

static bool watch_among(const struct twheel_watch *watches, u32 nr,
			const struct twheel_watched_key *key)
{
	while (nr--)
		if (watches[nr].key == key)
			return true;
	return false;
}

static void watches_put(struct twheel_purgatory *purgatory,
			struct twheel_watch *watches, u32 nr)
{
	while (nr--)
		twheel_key_put(&purgatory->keys, watches[nr].key);
}

/* Get each of some keys once; how many these are, or -ENOMEM and none. */
static int watches_get(struct twheel_purgatory *purgatory,
		       const struct twheel_watch_spec *specs,
		       struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_watched_key *key;
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		key = twheel_key_get(&purgatory->keys, &specs[i].key, gfp);
		if (IS_ERR(key)) {
			watches_put(purgatory, watches, nr);
			return PTR_ERR(key);
		}
		if (watch_among(watches, nr, key)) {
			twheel_key_put(&purgatory->keys, key);
			continue;
		}
		watches[nr].key = key;
		watches[nr].need = specs[i].need ?: 1;
		nr++;
	}
	return nr;
}

/* Put watches on their operation; they are still to be linked. */
static void op_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	u32 i;

	lockdep_assert_held(&op->lock);
	for (i = 0; i < nr; i++) {
		INIT_LIST_HEAD(&watches[i].entry);
		watches[i].op = op;
		watches[i].next = op->watches;
		op->watches = &watches[i];
	}
	op->nr_watches += nr;
	if (op->condition == TWHEEL_COND_ALL)
		op->unsatisfied += nr;
}

/* From here on signals under the key of each watch count. */
static void watches_link(struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch *watch;

	for (watch = watches; watch < watches + nr; watch++) {
		spin_lock_bh(&watch->key->lock);
		spin_lock(&watch->op->lock);
		if (twheel_op_state(watch->op) == OP_WAITING)
			twheel_key_link(watch->key, watch);
		spin_unlock(&watch->op->lock);
		spin_unlock_bh(&watch->key->lock);
	}
}

/* Let an operation wait, unless the purgatory is being drained. */
static int op_park(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_home *home = twheel_op_home(op);
	int err = -ESHUTDOWN;

	spin_lock_bh(&op->lock);
	spin_lock(&home->lock);
	if (!home->draining) {
		twheel_op_hold(op);
		op_attach(op, watches, nr);
		home->added++;
		home->watches += nr;
		list_add_tail(&op->parked, &home->ops);
		WRITE_ONCE(op->state, OP_WAITING);
		err = 0;
	}
	spin_unlock(&home->lock);
	spin_unlock_bh(&op->lock);
	return err;
}

static void op_arm(struct twheel_op *op)
{
	spin_lock_bh(&op->lock);
	if (twheel_op_state(op) == OP_WAITING && op->deadline <= KTIME_MAX) {
		twheel_op_hold(op);
		/* Nobody stops a wheel that a purgatory is on. */
		if (WARN_ON_ONCE(twheel_timer_add(&op->timer, op->deadline)))
			twheel_op_unhold(op);
	}
	spin_unlock_bh(&op->lock);
}

static void op_setup(struct twheel_op *op, struct twheel_purgatory *purgatory,
		     const struct twheel_op_args *args)
{
	op->purgatory = purgatory;
	op->home = raw_smp_processor_id() & (purgatory->nr_homes - 1);
	op->deadline = args->deadline > KTIME_MAX ? TWHEEL_NEVER : args->deadline;
	op->condition = args->condition;
	/* With all of its keys, each that is attached counts. */
	op->unsatisfied = args->condition == TWHEEL_COND_ANY ? 1 : args->quorum;
	twheel_timer_init(&op->timer, purgatory->wheel, twheel_op_expired);
}

static int specs_check(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].reserved)
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

/**
 * twheel_op_check - whether an operation can be added like this
 * @args: how it is to wait; the room for its watches is not looked at
 *
 * twheel_op_add() checks this too. It is for who wants to know before anything
 * else is done for the operation.
 *
 * Context: any.
 * Return: 0, or -EINVAL as twheel_op_add().
 */
int twheel_op_check(const struct twheel_op_args *args)
{
	bool keyed = args->condition != TWHEEL_COND_NONE;
	bool quorum = args->condition == TWHEEL_COND_QUORUM;

	if (args->condition > TWHEEL_COND_QUORUM)
		return -EINVAL;
	if (keyed != !!args->nr_keys || quorum != !!args->quorum)
		return -EINVAL;
	if (specs_check(args->specs, args->nr_keys))
		return -EINVAL;
	if (quorum && args->quorum > nr_distinct(args->specs, args->nr_keys))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_op_check);

static int op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args, gfp_t gfp)
{
	int nr, err;

	nr = watches_get(purgatory, args->specs, args->watches, args->nr_keys, gfp);
	if (nr < 0)
		return nr;
	op_setup(op, purgatory, args);
	/* Keeps the keys there for us, should the operation end meanwhile. */
	rcu_read_lock();
	err = op_park(op, args->watches, nr);
	if (!err) {
		watches_link(args->watches, nr);
		op_arm(op);
	}
	rcu_read_unlock();
	if (err)
		watches_put(purgatory, args->watches, nr);
	return err;
}

/**
 * twheel_op_add - let an operation wait in a purgatory
 * @purgatory: where
 * @op: the operation, initialised; the caller has a reference
 * @args: how it waits; a key given twice counts once
 * @gfp: how to allocate what a new key needs
 *
 * The operation may end, and its callback run, before this returns. On an
 * error it has not been added, nothing of it is left behind, and it may be
 * added again. The memory of its watches must stay until it is released.
 *
 * Context: process or softirq, as @gfp allows, with interrupts enabled.
 * Return:
 * * 0          - it waits, or has ended by now
 * * -EINVAL    - a condition without keys or keys without a condition, a
 *	quorum of none or of more than the distinct keys, too many keys, a
 *	reserved field that is not zero
 * * -EBUSY     - the operation was added before
 * * -ENOSPC    - as many operations as may are pending
 * * -ESHUTDOWN - the purgatory is being drained
 * * -ENOMEM    - no memory for a key
 */
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args, gfp_t gfp)
{
	int err;

	if (WARN_ON_ONCE(twheel_op_state(op) != OP_NEW))
		return -EBUSY;
	err = twheel_op_check(args);
	if (err)
		return err;
	err = twheel_purgatory_admit(purgatory);
	if (err)
		return err;
	err = op_add(purgatory, op, args, gfp);
	if (err)
		twheel_purgatory_dismiss(purgatory);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_add);

/* Move watches whose key the operation watches already behind the others. */
static u32 op_sort_new(const struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	const struct twheel_watch *old;
	u32 i = 0;

	lockdep_assert_held(&op->lock);
	while (i < nr) {
		for (old = op->watches; old && old->key != watches[i].key; old = old->next)
			;
		if (!old) {
			i++;
			continue;
		}
		nr--;
		swap(watches[i], watches[nr]);
	}
	return nr;
}

/* Attach and link those watches whose key is new; how many, or an error. */
static int op_watch_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_home *home = twheel_op_home(op);
	int ret = -EALREADY;

	spin_lock_bh(&op->lock);
	if (twheel_op_state(op) == OP_WAITING) {
		nr = op_sort_new(op, watches, nr);
		ret = op->nr_watches + nr > TWHEEL_MAX_KEYS ? -EINVAL : nr;
	}
	if (ret > 0) {
		op_attach(op, watches, nr);
		spin_lock(&home->lock);
		home->watches += nr;
		spin_unlock(&home->lock);
	}
	spin_unlock_bh(&op->lock);
	if (ret > 0)
		watches_link(watches, nr);
	return ret;
}

/* Whether more keys may be watched; holds the purgatory if so. */
static int op_may_watch(struct twheel_op *op)
{
	int err = 0;

	spin_lock_bh(&op->lock);
	if (twheel_op_state(op) == OP_NEW)
		err = -ENOENT;
	else if (twheel_op_state(op) != OP_WAITING)
		err = -EALREADY;
	else if (op->condition == TWHEEL_COND_NONE)
		err = -EINVAL;
	else
		twheel_purgatory_hold(op->purgatory);
	spin_unlock_bh(&op->lock);
	return err;
}

/**
 * twheel_op_watch - let a waiting operation watch further keys
 * @op: the operation, which was added with a condition on keys
 * @specs: the keys; those that it watches already are passed over
 * @watches: room for as many watches, to stay until @op is released unless
 *	none of it is used
 * @nr_keys: how many, at least one
 * @gfp: how to allocate what a new key needs
 *
 * All of the keys are watched from now on, or on an error none. An operation
 * that waits for all of its keys waits for these too.
 *
 * Context: process or softirq, as @gfp allows, with interrupts enabled.
 * Return:
 * * how many of the keys it did not watch before
 * * -EINVAL   - it has no condition on keys; no key, or more than
 *	TWHEEL_MAX_KEYS in all; a reserved field that is not zero
 * * -ENOENT   - it was not added
 * * -EALREADY - it has ended
 * * -ENOMEM   - no memory for a key
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_purgatory *purgatory;
	int nr, ret, err;

	if (!nr_keys || specs_check(specs, nr_keys))
		return -EINVAL;
	err = op_may_watch(op);
	if (err)
		return err;

	purgatory = op->purgatory;
	nr = watches_get(purgatory, specs, watches, nr_keys, gfp);
	if (nr < 0) {
		twheel_purgatory_release(purgatory);
		return nr;
	}
	rcu_read_lock();
	ret = op_watch_new(op, watches, nr);
	rcu_read_unlock();
	watches_put(purgatory, watches + max(ret, 0), nr - max(ret, 0));
	twheel_purgatory_release(purgatory);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_watch);
