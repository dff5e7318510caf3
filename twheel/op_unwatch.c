// SPDX-License-Identifier: GPL-2.0
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
#include <linux/err.h>
#include <linux/export.h>
#include <trace/events/twheel.h>

#include "op.h"

static struct twheel_watch **op_find(struct twheel_op *op, const struct twheel_key *key)
{
	struct twheel_watch **link = &op->watches;

	lockdep_assert_held(&op->lock);
	while (*link && !twheel_key_equal(&(*link)->key, key))
		link = &(*link)->next;
	return link;
}

/* How many watches are not satisfied. */
static u32 nr_unsatisfied(const struct twheel_op *op)
{
	const struct twheel_watch *watch;
	u32 nr = 0;

	for (watch = op->watches; watch; watch = watch->next)
		nr += !!watch->need;
	return nr;
}

/* Do without one of the watches, unless the condition could never hold then. */
static int op_forgo(struct twheel_op *op, const struct twheel_watch *watch)
{
	u32 unsatisfied = nr_unsatisfied(op) - !!watch->need;
	u64 missing = op->missing;

	lockdep_assert_held(&op->lock);
	if (twheel_op_has_predicate(op))
		return 0;
	if (op->condition == TWHEEL_COND_ALL)
		missing = unsatisfied;
	if (op->condition == TWHEEL_COND_QUORUM)
		missing += !watch->need;
	if (op->nr_watches == 1 || (twheel_counts_signals(op->condition) && missing > unsatisfied))
		return -EINVAL;
	op->missing = missing;
	return 0;
}

/* Take the watch of a key off its operation and its key. */
static struct twheel_watch *op_detach(struct twheel_op *op, const struct twheel_key_at *at,
				      const struct twheel_key *key)
{
	struct twheel_watch **link, *watch;
	int err = twheel_op_not_waiting(op);

	if (err)
		return ERR_PTR(err);
	link = op_find(op, key);
	watch = *link;
	if (!watch || !twheel_watch_is_linked(watch))
		return ERR_PTR(-ESRCH);
	err = op_forgo(op, watch);
	if (err)
		return ERR_PTR(err);

	*link = watch->next;
	twheel_key_unlink(at, watch);
	op->nr_watches--;
	twheel_home_count_watches(twheel_op_home(op), -1);
	twheel_purgatory_dismiss_watches(op->purgatory, 1);
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
	if (!IS_ERR(watch) && op->condition == TWHEEL_COND_ALL && !op->missing)
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
