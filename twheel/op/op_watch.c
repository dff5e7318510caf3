// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the keys that one watches.
 *
 * Watching has two steps: to attach the watches to the operation makes them its own,
 * and what its condition counts; to link each under its key lets it be found by
 * signals. Neither can fail: before that, the caller asks whether the table has room, see
 * twheel_keys_check(). Once they are attached, the caller that ends the operation unlinks
 * those that are linked.
 *
 * How a key is watched no more is in op_watch.c.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <trace/events/twheel.h>

#include "op.h"

static bool watch_among(const struct twheel_watch *watches, u32 nr, const struct twheel_key *key)
{
	while (nr--)
		if (twheel_key_equal(&watches[nr].key, key))
			return true;
	return false;
}

/**
 * twheel_watches_fill - make watches of keys, one for each key
 * @keys: where they will be linked
 * @specs: the keys
 * @watches: for as many watches
 * @nr_keys: how many keys
 *
 * Return: how many watches there are, each of another key.
 */
u32 twheel_watches_fill(const struct twheel_keys *keys, const struct twheel_watch_spec *specs,
			struct twheel_watch *watches, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		if (watch_among(watches, nr, &specs[i].key))
			continue;
		watches[nr].key = specs[i].key;
		watches[nr].mark = twheel_keys_hash(keys, &specs[i].key);
		twheel_keys_prefetch(keys, watches[nr].mark);
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
		watches[i].op = op;
		watches[i].next = op->watches;
		op->watches = &watches[i];
	}
	op->nr_watches += nr;
	twheel_op_condition_attach(op, nr);
}

/**
 * twheel_watches_link - let watches be found under their keys
 * @op: the operation that they are attached to; the caller has a reference
 * @watches: the watches
 * @nr: how many
 *
 * If it ends meanwhile, no more of them are linked.
 */
void twheel_watches_link(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch *watch;
	struct twheel_key_at at;

	for (watch = watches; watch < watches + nr; watch++) {
		at = twheel_key_lock(&op->purgatory->keys, twheel_watch_hash(watch));
		spin_lock(&op->lock);
		if (twheel_op_state(op) == OP_PENDING)
			twheel_key_link(&at, watch);
		spin_unlock(&op->lock);
		twheel_key_unlock(&at);
	}
}

/* Move watches whose key the operation watches already behind the others. */
static u32 op_sort_new(const struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	const struct twheel_watch *old;
	u32 i = 0;

	lockdep_assert_held(&op->lock);
	while (i < nr) {
		for (old = op->watches; old; old = old->next)
			if (twheel_key_equal(&old->key, &watches[i].key))
				break;
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
	int err = twheel_op_check_pending(op);

	if (err)
		return err;
	nr = op_sort_new(op, watches, nr);
	if (op->nr_watches + nr > TWHEEL_MAX_KEYS)
		return -EINVAL;
	err = twheel_purgatory_charge_watches(op->purgatory, nr);
	if (err)
		return err;
	twheel_watches_attach(op, watches, nr);
	twheel_op_list_count_watches(twheel_op_to_list(op), nr);
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
	err = twheel_op_check_pending(op);
	if (!err && op->condition == TWHEEL_COND_NONE)
		err = -EINVAL;
	if (!err)
		twheel_op_hold(op);
	spin_unlock_bh(&op->lock);
	return err;
}

static int op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys)
{
	u32 nr;
	int ret;

	if (twheel_specs_check(specs, nr_keys, op->condition))
		return -EINVAL;
	nr = twheel_watches_fill(&op->purgatory->keys, specs, watches, nr_keys);
	ret = twheel_keys_check(&op->purgatory->keys, watches, nr);
	if (ret)
		return ret;
	ret = op_watch_new(op, watches, nr);
	if (ret <= 0)
		return ret;
	trace_twheel_op_watch(op, ret);
	/* Its predicate misses nothing, as in an add: see op_add.c. */
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
 *
 * All of the keys are watched from now on, or on an error none; those that
 * another call is about to add or to watch, from when that call has returned. An
 * operation that waits for all of its keys waits for these too. A predicate is run after
 * that, so that it misses nothing.
 *
 * Context: process or softirq, with interrupts enabled and no
 * lock held that its predicate or its callback takes.
 * Return:
 * * how many of the keys it did not watch before
 * * -EINVAL   - it has no condition; no key, or more than TWHEEL_MAX_KEYS in all;
 *	a need where signals are not counted; a reserved field that is not zero
 * * -ENOENT   - it was not added
 * * -EALREADY - it has ended
 * * -ENOSPC   - the purgatory has as many watches as it may have
 * * -ENOMEM   - as for twheel_op_add()
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys)
{
	int ret;

	if (!nr_keys)
		return -EINVAL;
	ret = twheel_op_may_watch(op);
	if (ret)
		return ret;
	ret = op_watch(op, specs, watches, nr_keys);
	twheel_op_unhold(op);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_watch);

/*
 * Layer 5, operations: to watch a key no more.
 *
 * A watch that is attached is on its operation's list, under the lock of that;
 * one that is linked also in its key's ring, under the locks of both.  To unwatch takes a
 * watch that is linked off both in one step, under both locks: after that
 * nobody of ours can come upon it, and its memory is the consumer's again.
 * A watch that is still to be linked belongs to who does that, and is not
 * watched yet for whoever wants to unwatch it.
 */

static struct twheel_watch **op_find(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch **link = &op->watches;

	lockdep_assert_held(&op->lock);
	while (*link && !twheel_key_equal(&(*link)->key, key))
		link = &(*link)->next;
	return link;
}

/* Take the watch of a key off its operation and its key. */
static struct twheel_watch *op_detach(struct twheel_op *op, const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	struct twheel_watch **link, *watch;
	int err = twheel_op_check_pending(op);

	if (err)
		return ERR_PTR(err);
	link = op_find(op, key);
	watch = *link;
	if (!watch || !twheel_watch_is_linked(watch))
		return ERR_PTR(-ESRCH);
	err = twheel_op_condition_detach(op, watch);
	if (err)
		return ERR_PTR(err);

	*link = watch->next;
	twheel_key_unlink(at, watch);
	op->nr_watches--;
	twheel_op_list_count_watches(twheel_op_to_list(op), -1);
	twheel_purgatory_uncharge_watches(op->purgatory, 1);
	trace_twheel_op_watch(op, -1);
	return watch;
}

static struct twheel_watch *op_unwatch(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_key_at at = twheel_key_lock(keys, twheel_keys_hash(keys, key));
	struct twheel_watch *watch;
	bool claimed = false;

	spin_lock(&op->lock);
	watch = op_detach(op, &at, key);
	if (!IS_ERR(watch) && !op->missing && twheel_op_counts_signals(op->condition))
		claimed = twheel_op_claim(op, TWHEEL_COMPLETED, 0, 0);
	spin_unlock(&op->lock);
	twheel_key_unlock(&at);
	if (claimed)
		twheel_op_finish(op);
	return watch;
}

/**
 * twheel_op_unwatch - let a waiting operation watch a key no more
 * @op: the operation; the caller has a reference
 * @key: the key
 *
 * As if it had never watched it: if it waits for all of its keys, this one is
 * not waited for, and if the others are satisfied it completes, with value 0; if it waits
 * for some of them, this one does not count. But amounts that came under the key
 * stay counted.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its callback takes.
 * Return: the room of its watch, which is the caller's to use again, or an ERR_PTR():
 * * -ESRCH    - it does not watch that key, or not yet: the call that lets it has
 *	not returned
 * * -EINVAL   - its condition could never hold without it; it has none
 * * -ENOENT   - it was not added
 * * -EALREADY - it has ended
 */
struct twheel_watch *twheel_op_unwatch(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch *watch;
	int err;

	err = twheel_op_may_watch(op);
	if (err)
		return ERR_PTR(err);
	watch = op_unwatch(op, key);
	twheel_op_unhold(op);
	return watch;
}
EXPORT_SYMBOL_GPL(twheel_op_unwatch);
