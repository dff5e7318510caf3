// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the keys that one watches.
 *
 * Watching has three steps.  To get a key may fail, and comes before anything
 * has changed; to attach the watches to the operation makes them its own, and what
 * its condition counts; to link each to its key lets it be found by signals.
 * From the attaching on whoever finishes the operation gives back the keys of all
 * watches, linked or not.
 *
 * How a key is watched no more is in op_unwatch.c.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <trace/events/twheel.h>

#include "op.h"

static bool watch_among(const struct twheel_watch *watches, u32 nr,
			const struct twheel_watched_key *key)
{
	while (nr--)
		if (watches[nr].key == key)
			return true;
	return false;
}

/**
 * twheel_watches_put - give back what twheel_watches_get() got
 * @purgatory: where
 * @watches: not attached
 * @nr: how many
 */
void twheel_watches_put(struct twheel_purgatory *purgatory, struct twheel_watch *watches, u32 nr)
{
	while (nr--)
		twheel_key_put(&purgatory->keys, watches[nr].key);
}

/**
 * twheel_watches_get - get each of some keys once
 * @purgatory: where
 * @specs: the keys
 * @watches: for as many watches
 * @nr_keys: how many keys
 * @gfp: how to allocate
 *
 * Return: how many watches there are, each of another key; or -ENOMEM, and there
 * are none.
 */
int twheel_watches_get(struct twheel_purgatory *purgatory, const struct twheel_watch_spec *specs,
		       struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_watched_key *key;
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		key = twheel_key_get(&purgatory->keys, &specs[i].key, gfp);
		if (IS_ERR(key)) {
			twheel_watches_put(purgatory, watches, nr);
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

/**
 * twheel_watches_attach - put watches on an operation; they are still to be linked
 * @op: the operation, with its lock held
 * @watches: of keys that it does not watch
 * @nr: how many
 */
void twheel_watches_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
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
		op->missing += nr;
}

/**
 * twheel_watches_link - let watches be found under their keys
 * @op: the operation that they are attached to; the caller has a reference
 * @watches: the watches
 * @nr: how many
 *
 * If it ends meanwhile, its keys are given back, and may have been freed. They
 * are not as long as we have seen it WAITING in the same RCU section.
 */
void twheel_watches_link(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch *watch;

	rcu_read_lock();
	if (twheel_op_life(op) != OP_WAITING)
		nr = 0;
	for (watch = watches; watch < watches + nr; watch++) {
		struct twheel_watched_key *key = watch->key;

		spin_lock_bh(&key->lock);
		spin_lock(&op->lock);
		if (twheel_op_life(op) == OP_WAITING)
			twheel_key_link(key, watch);
		spin_unlock(&op->lock);
		spin_unlock_bh(&key->lock);
	}
	rcu_read_unlock();
}

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

/* Attach those watches whose key is new; how many, or an error. */
static int op_attach_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	int err = twheel_op_not_waiting(op);

	if (err)
		return err;
	nr = op_sort_new(op, watches, nr);
	if (op->nr_watches + nr > TWHEEL_MAX_KEYS)
		return -EINVAL;
	err = twheel_purgatory_admit_watches(op->purgatory, nr);
	if (err)
		return err;
	twheel_watches_attach(op, watches, nr);
	twheel_home_count_watches(twheel_op_home(op), nr);
	return nr;
}

/* Attach and link those watches whose key is new; how many, or an error. */
static int op_watch_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	int ret;

	spin_lock_bh(&op->lock);
	ret = op_attach_new(op, watches, nr);
	spin_unlock_bh(&op->lock);
	if (ret > 0)
		twheel_watches_link(op, watches, ret);
	return ret;
}

/**
 * twheel_op_may_watch - whether the keys of an operation may change
 * @op: the operation, to which the caller has a reference
 *
 * Return: 0, and the operation is held; -ENOENT, -EALREADY, or -EINVAL if it has
 * no condition.
 */
int twheel_op_may_watch(struct twheel_op *op)
{
	int err;

	spin_lock_bh(&op->lock);
	err = twheel_op_not_waiting(op);
	if (!err && op->condition == TWHEEL_COND_NONE)
		err = -EINVAL;
	if (!err)
		twheel_op_hold(op);
	spin_unlock_bh(&op->lock);
	return err;
}

static int op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	int nr, ret;

	if (twheel_specs_check(specs, nr_keys, op->condition))
		return -EINVAL;
	nr = twheel_watches_get(purgatory, specs, watches, nr_keys, gfp);
	if (nr < 0)
		return nr;
	ret = op_watch_new(op, watches, nr);
	twheel_watches_put(purgatory, watches + max(ret, 0), nr - max(ret, 0));
	if (ret <= 0)
		return ret;
	trace_twheel_op_watch(op, ret);
	/* Pairs with the barrier in walk_key(), as in an add. */
	smp_mb();
	twheel_op_try_complete(op);
	return ret;
}

/**
 * twheel_op_watch - let a waiting operation watch further keys
 * @op: the operation, which was added with a condition; the caller has a reference
 * @specs: the keys; those that it watches already are passed over
 * @watches: room for as many watches, to stay until @op is released unless
 *	none of it is used
 * @nr_keys: how many, at least one
 * @gfp: how to allocate what a new key needs
 *
 * All of the keys are watched from now on, or on an error none; those that
 * another call is about to add or to watch, from when that call has returned. An
 * operation that waits for all of its keys waits for these too. A predicate is run after
 * that, so that it misses nothing.
 *
 * Context: process or softirq, as @gfp allows, with interrupts enabled and no
 * lock held that its predicate or its callback takes.
 * Return:
 * * how many of the keys it did not watch before
 * * -EINVAL   - it has no condition; no key, or more than TWHEEL_MAX_KEYS in all;
 *	a need where signals are not counted; a reserved field that is not zero
 * * -ENOENT   - it was not added
 * * -EALREADY - it has ended
 * * -ENOSPC   - the purgatory has as many watches as it may have
 * * -ENOMEM   - no memory for a key
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	int ret;

	if (!nr_keys)
		return -EINVAL;
	ret = twheel_op_may_watch(op);
	if (ret)
		return ret;
	ret = op_watch(op, specs, watches, nr_keys, gfp);
	twheel_op_unhold(op);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_watch);

