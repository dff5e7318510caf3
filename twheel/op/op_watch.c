// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: watching and unwatching keys of a pending operation.
 *
 * An attached watch is on the list of its operation, protected by op->lock. A linked one is
 * also in the ring of its key, protected by bucket->lock and op->lock. Watching attaches and
 * links as an add does, see op_add.c. Unwatching removes a linked watch from both under both
 * locks. After that nothing refers to it, and its memory belongs to the consumer again. A
 * watch that is attached but not linked yet belongs to the call that links it; unwatching
 * treats it as missing.
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/export.h>
#include <trace/events/twheel.h>

#include "op.h"

/*
 * Take a hold if the keys of the operation may change. Return: 0, -ENOENT, -EALREADY, or
 * -EINVAL if it has no condition.
 */
static int op_hold_watchable(struct twheel_op *op)
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

static struct twheel_watch **op_find(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch **link = &op->watches;

	lockdep_assert_held(&op->lock);
	while (*link && !twheel_key_equal(&(*link)->key, key))
		link = &(*link)->next;
	return link;
}

static void op_count_watches(struct twheel_op *op, int nr)
{
	struct twheel_op_list *list = twheel_op_to_list(op);

	spin_lock(&list->lock);
	list->watches += nr;
	spin_unlock(&list->lock);
}

/* Drop watches of keys that are watched already, in place. Return: number of the others. */
static u32 op_keep_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	u32 i, new = 0;

	for (i = 0; i < nr; i++)
		if (!*op_find(op, &watches[i].key))
			watches[new++] = watches[i];
	return new;
}

/* Give each watch, in their order, the lowest bit that no watch of the operation has. */
static void op_assign_bits(const struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	const struct twheel_watch *watch;
	u64 used = 0;
	u32 i;

	lockdep_assert_held(&op->lock);
	for (watch = op->watches; watch; watch = watch->next)
		used |= BIT_ULL(watch->bit);
	for (i = 0; i < nr; i++) {
		watches[i].bit = __ffs64(~used);
		used |= BIT_ULL(watches[i].bit);
	}
}

/* Attach the watches of new keys. Return: their number, or an error. */
static int op_attach_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	int err = twheel_op_check_pending(op);

	if (err)
		return err;
	nr = op_keep_new(op, watches, nr);
	if (op->nr_watches + nr > TWHEEL_MAX_KEYS)
		return -EINVAL;
	if (!twheel_purgatory_charge_watches(op->purgatory, nr)) {
		atomic64_inc(&op->purgatory->rejected);
		return -ENOSPC;
	}
	op_assign_bits(op, watches, nr);
	twheel_watches_attach(op, watches, nr);
	op_count_watches(op, nr);
	return nr;
}

static int op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys, bool may_sleep)
{
	int ret;

	if (twheel_specs_check(specs, nr_keys, op->condition))
		return -EINVAL;
	twheel_watches_fill(&op->purgatory->keys, specs, watches, nr_keys);
	ret = twheel_keys_check(&op->purgatory->keys, watches, nr_keys, may_sleep);
	if (ret)
		return ret;
	spin_lock_bh(&op->lock);
	ret = op_attach_new(op, watches, nr_keys);
	spin_unlock_bh(&op->lock);
	if (ret <= 0)
		return ret;
	twheel_watches_link(op, watches, ret);
	trace_twheel_op_watch(op, ret);
	/* The predicate may have become true before the links, as in an add. */
	twheel_op_try_complete(op);
	return ret;
}

/* twheel_op_watch() for a caller that may be able to sleep. */
int __twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		      struct twheel_watch *watches, u32 nr_keys, bool may_sleep)
{
	int ret;

	if (!nr_keys)
		return -EINVAL;
	ret = op_hold_watchable(op);
	if (ret)
		return ret;
	ret = op_watch(op, specs, watches, nr_keys, may_sleep);
	twheel_op_unhold(op);
	return ret;
}

/**
 * twheel_op_watch - watch further keys
 * @op: the operation, added with a condition; the caller has a reference
 * @specs: the keys; keys that @op watches already are skipped
 * @watches: memory for @nr_keys watches; must stay until @op is released, unless this returns
 *	0 or an error
 * @nr_keys: number of keys, at least one
 *
 * On success all of the keys are watched when this returns, on an error none of them. A key
 * that another call is adding at the same time is watched when that call returns.
 * TWHEEL_COND_ALL needs these keys too. A predicate runs after the keys are watched, so that
 * it misses no change.
 *
 * Context: process or softirq, with interrupts enabled and without locks that its predicate
 * or its callback takes.
 * Return:
 * * number of keys that it did not watch before
 * * %-EINVAL   - the operation has no condition; no key, or more than TWHEEL_MAX_KEYS in all;
 *   two equal keys in @specs; a need where signals are not counted, or above TWHEEL_MAX_NEED
 * * %-ENOENT   - it was not added
 * * %-EALREADY - it has ended
 * * %-ENOSPC   - the limit on watches of the purgatory is reached
 * * %-ENOMEM   - as for twheel_op_add()
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys)
{
	return __twheel_op_watch(op, specs, watches, nr_keys, false);
}
EXPORT_SYMBOL_GPL(twheel_op_watch);

/* Remove the watch of a key from the operation and from its key, with both locks held. */
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
	op_count_watches(op, -1);
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
		claimed = twheel_op_claim(op, TWHEEL_REASON_COMPLETED, 0, 0);
	spin_unlock(&op->lock);
	twheel_key_unlock(&at);
	if (claimed)
		twheel_op_finish(op);
	return watch;
}

/**
 * twheel_op_unwatch - stop watching a key
 * @op: the operation; the caller has a reference
 * @key: the key
 *
 * The key does not count any more. TWHEEL_COND_ALL completes with value 0 if all other keys
 * are satisfied. TWHEEL_COND_QUORUM does not count the key even if it was satisfied.
 * TWHEEL_COND_SUM keeps the amounts that were signalled under it.
 *
 * Context: process or softirq, with interrupts enabled and without locks that its callback
 * takes.
 * Return: the memory of its watch, which the caller may reuse, or an ERR_PTR():
 * * %-ESRCH    - it does not watch the key, or the call that adds the key has not returned
 * * %-EINVAL   - its condition could never hold without the key, or it has none
 * * %-ENOENT   - it was not added
 * * %-EALREADY - it has ended
 */
struct twheel_watch *twheel_op_unwatch(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch *watch;
	int err;

	err = op_hold_watchable(op);
	if (err)
		return ERR_PTR(err);
	watch = op_unwatch(op, key);
	twheel_op_unhold(op);
	return watch;
}
EXPORT_SYMBOL_GPL(twheel_op_unwatch);
