// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: watching and unwatching keys of a pending operation.
 *
 * An attached watch is on the list of its operation, protected by the shard. A linked one is also
 * among those of its key, protected by the bucket. Watching attaches all watches and then links
 * one after the other; neither fails. Unwatching removes a linked watch from both, with both locks
 * held. After that nothing refers to it, and its memory belongs to the consumer again. A
 * watch that is attached but not linked yet belongs to the call that links it; unwatching
 * treats it as missing. If the operation ends meanwhile, the rest is not linked:
 *
 *	linking CPU                       claimant
 *	-----------                       --------
 *	lock bucket                       ENDED
 *	PENDING: link                     for each watch:
 *	unlock bucket                       lock bucket; linked: unlink; unlock
 *
 * The CPU that locks the bucket last sees the stores of the other.
 *
 * An operation with a predicate may have no watch. It is on the list of a pool until its first one
 * is attached, and again when its last one is detached.
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <trace/events/twheel.h>

#include "op.h"

int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition, bool cell)
{
	u32 i, j, max = twheel_op_counts_signals(condition) && !cell ? TWHEEL_MAX_NEED : 1;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++) {
		if (specs[i].need > max)
			return -EINVAL;
		for (j = 0; j < i; j++)
			if (twheel_key_equal(&specs[i].key, &specs[j].key))
				return -EINVAL;
	}
	return 0;
}

/* Initialise the watches behind the first one, with the bits of an add. */
noinline void twheel_watches_init_rest(struct twheel_op *op, const struct twheel_keys *keys,
				       const struct twheel_watch_spec *specs,
				       struct twheel_watch *watches, u32 nr)
{
	u32 i;

	for (i = 1; i < nr; i++) {
		watches[i - 1].next = &watches[i];
		twheel_watch_init(op, keys, &specs[i], &watches[i], i);
	}
}

/*
 * Append watches to those of a locked operation. They follow the earlier ones: users see the keys
 * in the order in which they added them. Each gets the lowest bit that no other one has.
 */
static void op_append(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch **end = &op->watches;
	u64 used = 0;
	u32 i;

	if (!op->nr_watches) {
		op->watches = NULL;
		op->missing = 0;
	}
	for (; *end; end = &(*end)->next)
		used |= BIT_ULL((*end)->bit);
	for (i = 0; i < nr; i++) {
		watches[i].bit = __ffs64(~used);
		used |= BIT_ULL(watches[i].bit);
		watches[i].next = NULL;
		*end = &watches[i];
		end = &watches[i].next;
	}
	op->nr_watches += nr;
	this_cpu_add(op->purgatory->pools->watches, nr);
	if (op->condition == TWHEEL_COND_ALL)
		op->missing += nr;
}

/*
 * Attach watches with their keys and hashes set, and link them, between twheel_op_change_begin()
 * and twheel_op_change_end(). @charged: they have been charged. Return: the number of keys that
 * were not watched, or an error.
 */
int twheel_op_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr, bool charged)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	/* Numbers of the new watches from 1 on, by hash, in the next free place */
	u8 index[2 * TWHEEL_MAX_KEYS] = {};
	const struct twheel_watch *watch;
	struct twheel_shard *shard;
	struct twheel_key_at at;
	u32 i, place, new = 0;
	u64 watched = 0;

	for (i = 0; i < nr; i++) {
		place = watches[i].hash;
		while (index[place % ARRAY_SIZE(index)])
			place++;
		index[place % ARRAY_SIZE(index)] = i + 1;
	}
	shard = twheel_op_lock_pending(op);
	if (IS_ERR(shard))
		return PTR_ERR(shard);
	for (watch = op->nr_watches ? op->watches : NULL; watch; watch = watch->next)
		for (place = watch->hash; (i = index[place % ARRAY_SIZE(index)]); place++)
			if (twheel_key_equal(&watches[i - 1].key, &watch->key))
				watched |= BIT_ULL(i - 1);
	for (i = 0; i < nr; i++)
		if (!(watched & BIT_ULL(i)))
			watches[new++] = watches[i];
	if (op->nr_watches + new > TWHEEL_MAX_KEYS) {
		twheel_op_unlock_irqs(shard);
		return -EINVAL;
	}
	if (!charged && !twheel_purgatory_charge_watches(purgatory, new)) {
		twheel_op_unlock_irqs(shard);
		atomic64_inc(&purgatory->rejected);
		return -ENOSPC;
	}
	if (new) {
		if (!op->nr_watches)
			twheel_op_unlist(op);
		op_append(op, watches, new);
	}
	twheel_op_unlock_irqs(shard);

	for (i = 0; i < new; i++) {
		at = twheel_key_lock(&purgatory->keys, watches[i].hash);
		if (twheel_op_state(op) == OP_PENDING)
			twheel_key_link(&at, &watches[i]);
		twheel_key_unlock(&at);
	}
	return new;
}

/*
 * Hold the purgatory of a pending operation whose keys may change. Return: the purgatory, or
 * ERR_PTR() of -ENOENT, -EALREADY, or -EINVAL if it has no condition.
 */
static struct twheel_purgatory *op_hold_purgatory(struct twheel_op *op)
{
	struct twheel_shard *shard = twheel_op_lock_pending(op);
	struct twheel_purgatory *purgatory = ERR_PTR(-EINVAL);

	if (IS_ERR(shard))
		return ERR_CAST(shard);
	if (op->condition != TWHEEL_COND_NONE) {
		purgatory = op->purgatory;
		twheel_purgatory_hold(purgatory);
	}
	twheel_op_unlock_irqs(shard);
	return purgatory;
}

/* twheel_op_watch() for a caller that may be able to sleep. */
int __twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		      struct twheel_watch *watches, u32 nr_keys, bool may_sleep)
{
	struct twheel_purgatory *purgatory;
	int ret;

	if (!nr_keys)
		return -EINVAL;
	purgatory = op_hold_purgatory(op);
	if (IS_ERR(purgatory))
		return PTR_ERR(purgatory);
	if (twheel_specs_check(specs, nr_keys, op->condition, twheel_op_has_cell(op))) {
		ret = -EINVAL;
	} else {
		twheel_watch_init(op, &purgatory->keys, specs, watches, 0);
		twheel_watches_init_rest(op, &purgatory->keys, specs, watches, nr_keys);
		ret = twheel_keys_check(&purgatory->keys, watches, nr_keys, may_sleep) ?:
		      twheel_op_change_begin(op);
	}
	if (!ret) {
		ret = twheel_op_attach(op, watches, nr_keys, false);
		twheel_op_change_end(purgatory);
	}
	twheel_purgatory_release(purgatory);
	if (ret > 0) {
		trace_twheel_op_watch(op, ret);
		/* The predicate may have become true before the links, as in an add. */
		twheel_op_try_complete(op);
	}
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
 * Context: as twheel_op_end(), also for its predicate.
 * Return:
 * * number of keys that it did not watch before
 * * %-EINVAL   - the operation has no condition; no key, or more than TWHEEL_MAX_KEYS in all;
 *   two equal keys in @specs; a need where signals are not counted, or above TWHEEL_MAX_NEED
 * * %-ENOENT   - it was not added
 * * %-EALREADY - it has ended, perhaps by this call, on behalf of one that ends all
 * * %-EAGAIN   - its cell is idle, and a call completes all
 * * %-ENOSPC   - the limit on watches of the purgatory is reached
 * * %-ENOMEM   - as for twheel_op_add()
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys)
{
	return __twheel_op_watch(op, specs, watches, nr_keys, false);
}
EXPORT_SYMBOL_GPL(twheel_op_watch);

/*
 * Account for a watch that is about to be detached. Return: 0, or -EINVAL if the condition
 * could not hold without it.
 */
static int condition_detach(struct twheel_op *op, const struct twheel_watch *watch)
{
	const struct twheel_watch *other;
	u64 missing = op->missing;
	u32 unsatisfied = 0;

	if (twheel_op_has_predicate(op))
		return 0;
	for (other = op->watches; other; other = other->next)
		unsatisfied += other != watch && other->need;
	if (op->condition == TWHEEL_COND_ALL)
		missing = unsatisfied;
	if (op->condition == TWHEEL_COND_QUORUM)
		missing += !watch->need;
	if (op->nr_watches == 1 ||
	    (twheel_op_counts_signals(op->condition) && missing > unsatisfied))
		return -EINVAL;
	op->missing = missing;
	return 0;
}

/* Remove the watch of a key from the operation and from its key, with both locks held. */
static struct twheel_watch *op_detach(struct twheel_op *op, const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	struct twheel_watch **link, *watch;
	int err;

	if (!twheel_timer_pending(&op->timer))
		return ERR_PTR(-EALREADY);
	if (!op->nr_watches)
		return ERR_PTR(-ESRCH);
	for (link = &op->watches; (watch = *link); link = &watch->next)
		if (twheel_key_equal(&watch->key, key))
			break;
	if (!watch || !twheel_watch_is_linked(watch))
		return ERR_PTR(-ESRCH);
	err = condition_detach(op, watch);
	if (err)
		return ERR_PTR(err);

	*link = watch->next;
	twheel_key_unlink(at, watch);
	if (!--op->nr_watches)
		twheel_op_list(op);
	this_cpu_dec(op->purgatory->pools->watches);
	twheel_purgatory_uncharge_watches(op->purgatory, 1);
	trace_twheel_op_watch(op, -1);
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
 * Context: as twheel_op_end().
 * Return: the memory of its watch, which the caller may reuse, or an ERR_PTR():
 * * %-ESRCH    - it does not watch the key, or the call that adds the key has not returned
 * * %-EINVAL   - its condition could never hold without the key, or it has none
 * * %-ENOENT   - it was not added
 * * %-EALREADY - it has ended, perhaps by this call, on behalf of one that ends all
 * * %-EAGAIN   - its cell is idle, and a call completes all
 */
struct twheel_watch *twheel_op_unwatch(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch *watch = ERR_PTR(-EALREADY);
	struct twheel_purgatory *purgatory = op_hold_purgatory(op);
	struct twheel_shard *shard;
	struct twheel_key_at at;
	bool claimed = false;
	int err;

	if (IS_ERR(purgatory))
		return ERR_CAST(purgatory);
	err = twheel_op_change_begin(op);
	if (err) {
		twheel_purgatory_release(purgatory);
		return ERR_PTR(err);
	}
	at = twheel_key_lock(&purgatory->keys, twheel_keys_hash(&purgatory->keys, key));
	shard = twheel_op_lock(op);
	if (shard) {
		watch = op_detach(op, &at, key);
		claimed = !IS_ERR(watch) && twheel_op_counts_signals(op->condition) && !op->missing;
		if (claimed)
			op_take(shard, op);
		twheel_op_unlock(shard);
	}
	twheel_key_unlock_irqs_off(&at);
	if (claimed)
		twheel_op_complete_claimed(op, 0);
	else
		twheel_irqs_enable();
	twheel_op_change_end(purgatory);
	twheel_purgatory_release(purgatory);
	if (claimed)
		twheel_op_callback(op);
	return watch;
}
EXPORT_SYMBOL_GPL(twheel_op_unwatch);
