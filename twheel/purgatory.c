// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, the purgatory: where operations wait, and are found by key.
 *
 * What all of them share: the limit, the counts, the way of a signal through
 * the watches of a key, and the end.  What happens to a single operation is in
 * op.c.
 *
 * A signal walks the watches of its key in bounded chunks, with the lock of
 * the key dropped in between; there it finishes the operations that it has
 * completed.  Two marks, watches without an operation, keep its place:
 *
 *	w1  w2  [cursor]  w3  w4  [end]  w5
 *
 * The cursor stands before the first watch still to be told.  The end is set
 * when the signal comes: w5 was linked after it and is not told, so that a
 * callback which adds an operation under the same key can't keep it going for
 * ever.  A watch may go while it is not looked at; the marks stay.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "op.h"
#include "purgatory.h"
#include "shards.h"

/* How many watches a signal tells before it lets go of the lock of the key. */
#define SIGNAL_CHUNK	32

/* More lists than this make the counting slow, and contention no rarer. */
#define HOMES_MAX	16

/**
 * twheel_purgatory_create - make a purgatory
 * @wheel: for the deadlines, to outlive it, and without a limit of its own on
 *	what is pending; NULL for the system's
 * @max_pending: how many operations may be pending at a time, at least one
 *
 * Context: process; may sleep.
 * Return: the purgatory, or an ERR_PTR(): -EINVAL for a limit that is none, or
 * a wheel that has one, -ENOMEM.
 */
struct twheel_purgatory *twheel_purgatory_create(struct twheel *wheel, u32 max_pending)
{
	unsigned int nr = min_t(unsigned int, roundup_pow_of_two(nr_cpu_ids), HOMES_MAX);
	struct twheel_purgatory *purgatory;
	unsigned int i;
	int err;

	might_sleep();
	if (!max_pending || max_pending > INT_MAX)
		return ERR_PTR(-EINVAL);
	if (!wheel)
		wheel = twheel_system();
	if (IS_ERR(wheel))
		return ERR_CAST(wheel);
	if (wheel->places.max)
		return ERR_PTR(-EINVAL);

	purgatory = kzalloc(struct_size(purgatory, home, nr), GFP_KERNEL_ACCOUNT);
	if (!purgatory)
		return ERR_PTR(-ENOMEM);
	err = twheel_keys_init(&purgatory->keys);
	if (err) {
		kfree(purgatory);
		return ERR_PTR(err);
	}
	purgatory->wheel = wheel;
	purgatory->max_pending = max_pending;
	refcount_set(&purgatory->holds, 1);
	init_completion(&purgatory->drained);
	purgatory->nr_homes = nr;
	for (i = 0; i < nr; i++) {
		spin_lock_init(&purgatory->home[i].lock);
		INIT_LIST_HEAD(&purgatory->home[i].ops);
	}
	return purgatory;
}
EXPORT_SYMBOL_GPL(twheel_purgatory_create);

/* Tell some watches; whether there are more. */
static bool signal_chunk(struct twheel_watch *cursor, const struct twheel_watch *end,
			 u64 value, struct list_head *completed)
{
	struct twheel_watch *watch = list_next_entry(cursor, entry);
	unsigned int budget;

	for (budget = SIGNAL_CHUNK; budget && watch != end; budget--) {
		if (watch->op && twheel_op_signal(watch->op, watch, value))
			list_add_tail(&watch->op->parked, completed);
		watch = list_next_entry(watch, entry);
	}
	list_move_tail(&cursor->entry, &watch->entry);
	return watch != end;
}

static u32 finish_all(struct list_head *completed)
{
	struct twheel_op *op, *next;
	u32 nr = 0;

	list_for_each_entry_safe(op, next, completed, parked) {
		list_del_init(&op->parked);
		twheel_op_finish(op);
		nr++;
	}
	return nr;
}

static u32 signal_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		      u64 value, bool may_sleep)
{
	struct twheel_watch cursor = {}, end = {};
	struct twheel_watched_key *watched;
	LIST_HEAD(completed);
	u32 nr = 0;
	bool more;

	watched = twheel_key_find(&purgatory->keys, key);
	if (!watched)
		return 0;

	spin_lock_bh(&watched->lock);
	list_add(&cursor.entry, &watched->watches);
	list_add_tail(&end.entry, &watched->watches);
	do {
		more = signal_chunk(&cursor, &end, value, &completed);
		spin_unlock_bh(&watched->lock);
		nr += finish_all(&completed);
		if (may_sleep)
			cond_resched();
		spin_lock_bh(&watched->lock);
	} while (more);
	list_del(&cursor.entry);
	list_del(&end.entry);
	spin_unlock_bh(&watched->lock);

	twheel_key_put(&purgatory->keys, watched);
	return nr;
}

/**
 * twheel_signal - tell whoever watches a key that something has happened
 * @purgatory: the purgatory
 * @key: under which
 * @value: for the operations that this completes
 *
 * Every operation that watches the key when the signal comes counts it once,
 * in the order in which they came to watch, and completes if its condition
 * holds by that. Their callbacks run before this returns.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that a
 * callback takes. Does not sleep.
 * Return: how many operations this completed.
 */
u32 twheel_signal(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		  u64 value)
{
	return signal_key(purgatory, key, value, false);
}
EXPORT_SYMBOL_GPL(twheel_signal);

/**
 * twheel_signal_cansleep - the same, letting others run in between
 * @purgatory: the purgatory
 * @key: under which
 * @value: for the operations that this completes
 *
 * For keys that very many operations may watch.
 *
 * Context: process; may sleep.
 * Return: how many operations this completed.
 */
u32 twheel_signal_cansleep(struct twheel_purgatory *purgatory,
			   const struct twheel_key *key, u64 value)
{
	might_sleep();
	return signal_key(purgatory, key, value, true);
}
EXPORT_SYMBOL_GPL(twheel_signal_cansleep);

/* Some operation that waits, with a reference to it, or NULL. */
static struct twheel_op *home_first(struct twheel_home *home)
{
	struct twheel_op *op;

	spin_lock_bh(&home->lock);
	op = list_first_entry_or_null(&home->ops, struct twheel_op, parked);
	if (op)
		twheel_op_get(op);
	spin_unlock_bh(&home->lock);
	return op;
}

/* Let no operation in any more, and cancel those that wait. */
static bool home_drain(struct twheel_home *home)
{
	struct twheel_op *op;
	bool draining;

	spin_lock_bh(&home->lock);
	draining = home->draining;
	home->draining = true;
	spin_unlock_bh(&home->lock);

	/* What is listed waits; if another ends it first, it is unlisted. */
	while ((op = home_first(home))) {
		twheel_op_cancel(op);
		twheel_op_put(op);
		cond_resched();
	}
	return draining;
}

/**
 * twheel_purgatory_drain - cancel all that waits, and let nothing in any more
 * @purgatory: the purgatory
 *
 * Every operation that was still pending is handed back through its callback,
 * as cancelled. When this returns no callback is running and none will, and
 * adds are refused with -ESHUTDOWN. To drain twice is fine.
 *
 * Context: process; may sleep. Not from the callback of an operation of this
 * purgatory: it would wait for itself.
 */
void twheel_purgatory_drain(struct twheel_purgatory *purgatory)
{
	bool again = false;
	unsigned int i;

	might_sleep();
	for (i = 0; i < purgatory->nr_homes; i++) {
		if (home_drain(&purgatory->home[i]) && i == 0)
			again = true;
	}
	if (!again)
		twheel_purgatory_release(purgatory);
	wait_for_completion(&purgatory->drained);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_drain);

/**
 * twheel_purgatory_destroy - drain a purgatory, and free it
 * @purgatory: the purgatory, which no call uses any more; NULL and ERR_PTR()
 *	are left alone
 *
 * Context: as twheel_purgatory_drain().
 */
void twheel_purgatory_destroy(struct twheel_purgatory *purgatory)
{
	if (IS_ERR_OR_NULL(purgatory))
		return;
	twheel_purgatory_drain(purgatory);
	twheel_keys_destroy(&purgatory->keys);
	kfree(purgatory);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_destroy);

static void home_stats(struct twheel_home *home, struct twheel_purgatory_stats *stats)
{
	unsigned int i;

	spin_lock_bh(&home->lock);
	stats->watches += home->watches;
	stats->added += home->added;
	for (i = 0; i < ARRAY_SIZE(home->ended); i++)
		stats->ended[i] += home->ended[i];
	spin_unlock_bh(&home->lock);
}

/**
 * twheel_purgatory_stats - the counts of a purgatory
 * @purgatory: the purgatory
 * @stats: filled in
 *
 * Context: process or softirq.
 */
void twheel_purgatory_stats(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats)
{
	unsigned int i;

	memset(stats, 0, sizeof(*stats));
	stats->pending = atomic_read(&purgatory->pending);
	stats->keys = twheel_keys_count(&purgatory->keys);
	stats->rejected = atomic64_read(&purgatory->rejected);
	for (i = 0; i < purgatory->nr_homes; i++)
		home_stats(&purgatory->home[i], stats);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_stats);
