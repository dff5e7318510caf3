// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, listing: the operations that wait in a purgatory, one after the other,
 * and how far each has come.
 *
 * An iterator goes from home to home, and stands between two calls at the operation
 * that comes next.  It is on a list of the home, and when that operation leaves, it
 * is moved on by whoever ends the operation, under the home's lock.  So it costs
 * nothing to go on, however long ago the last call was and whatever has gone, and
 * nothing to those who end operations while nobody looks.
 *
 * It goes as far as what was last when it came to the home, so that it comes to an
 * end however many are added meanwhile.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "op.h"
#include "purgatory.h"

static struct twheel_op *op_after(struct twheel_op_list *list, struct twheel_op *op)
{
	return list_is_last(&op->parked, &list->ops) ? NULL : list_next_entry(op, parked);
}

static struct twheel_op *op_before(struct twheel_op_list *list, struct twheel_op *op)
{
	return list_is_first(&op->parked, &list->ops) ? NULL : list_prev_entry(op, parked);
}

static void iter_pass(struct twheel_op_iter *iter, struct twheel_op_list *list,
		      struct twheel_op *op)
{
	if (iter->next == op)
		iter->next = iter->last == op ? NULL : op_after(list, op);
	if (iter->last == op)
		iter->last = op_before(list, op);
}

void __twheel_iters_pass(struct twheel_op_list *list, struct twheel_op *op)
{
	struct twheel_op_iter *iter;

	lockdep_assert_held(&list->lock);
	list_for_each_entry(iter, &list->iters, entry)
		iter_pass(iter, list, op);
}

static void iter_enter(struct twheel_op_iter *iter, struct twheel_op_list *list)
{
	lockdep_assert_held(&list->lock);
	list_add(&iter->entry, &list->iters);
	iter->next = list_first_entry_or_null(&list->ops, struct twheel_op, parked);
	iter->last = iter->next ? list_last_entry(&list->ops, struct twheel_op, parked) : NULL;
}

/* The next operation of a home, held, or NULL, and the iterator has left the home. */
static struct twheel_op *iter_next_of_list(struct twheel_op_iter *iter, struct twheel_op_list *list)
{
	struct twheel_op *op;

	spin_lock_bh(&list->lock);
	if (list_empty(&iter->entry))
		iter_enter(iter, list);
	op = iter->next;
	if (op) {
		/* It is listed, so that it waits, and is held for that. */
		twheel_op_hold(op);
		iter->next = op == iter->last ? NULL : op_after(list, op);
	} else {
		list_del_init(&iter->entry);
	}
	spin_unlock_bh(&list->lock);
	return op;
}

/**
 * twheel_op_iter_start - begin to walk over the operations that wait
 * @iter: the iterator
 * @purgatory: where; it must stay until twheel_op_iter_end()
 *
 * Each operation that waits all the time of the walk is met once, in no
 * particular order. Those that come or go meanwhile do no harm, and are met or not.
 * Whoever ends an operation takes a step for each iterator that stands in the
 * same part of the purgatory: a few at a time do no harm either.
 *
 * Context: any.
 */
void twheel_op_iter_start(struct twheel_op_iter *iter, struct twheel_purgatory *purgatory)
{
	INIT_LIST_HEAD(&iter->entry);
	iter->purgatory = purgatory;
	iter->op = NULL;
	iter->next = NULL;
	iter->last = NULL;
	iter->list = 0;
}
EXPORT_SYMBOL_GPL(twheel_op_iter_start);

static void iter_let_go(struct twheel_op_iter *iter)
{
	if (iter->op)
		twheel_op_unhold(iter->op);
	iter->op = NULL;
}

/**
 * twheel_op_iter_next - the next operation
 * @iter: the iterator, of one user at a time
 *
 * To drain a purgatory waits for the iterators that stand at one of its operations.
 *
 * Context: process or softirq, with interrupts enabled. The consumer may sleep
 * between two calls.
 * Return: an operation that waited just now; the iterator keeps a reference
 * to it until the next call. NULL at the end.
 */
struct twheel_op *twheel_op_iter_next(struct twheel_op_iter *iter)
{
	struct twheel_purgatory *purgatory = iter->purgatory;
	struct twheel_op *op = NULL;

	while (!op && iter->list < purgatory->nr_lists) {
		op = iter_next_of_list(iter, &purgatory->list[iter->list]);
		iter->list += !op;
	}
	/* Last: it may be all that keeps the purgatory. */
	iter_let_go(iter);
	iter->op = op;
	return op;
}
EXPORT_SYMBOL_GPL(twheel_op_iter_next);

/**
 * twheel_op_iter_end - end a walk, whether it came to its end or not
 * @iter: the iterator
 *
 * Context: as twheel_op_iter_next().
 */
void twheel_op_iter_end(struct twheel_op_iter *iter)
{
	struct twheel_op_list *list;

	if (!list_empty(&iter->entry)) {
		list = &iter->purgatory->list[iter->list];
		spin_lock_bh(&list->lock);
		list_del_init(&iter->entry);
		spin_unlock_bh(&list->lock);
	}
	iter_let_go(iter);
}
EXPORT_SYMBOL_GPL(twheel_op_iter_end);

static u64 op_remaining(const struct twheel_op *op)
{
	u64 now = twheel_op_now(op);

	if (op->deadline == TWHEEL_NEVER)
		return TWHEEL_NEVER;
	return op->deadline - min(now, op->deadline);
}

/**
 * twheel_op_progress - how far an operation that waits has come
 * @op: the operation; the caller has a reference
 * @progress: filled in
 * @keys: filled in with the keys that it watches, and how many more signals each
 *	needs, 0 for one that is satisfied
 * @max_keys: how many keys fit
 *
 * Context: process or softirq, with interrupts enabled.
 * Return:
 * * 0         - it waits
 * * -EALREADY - it has ended
 * * -ENOENT   - it was not added
 */
int twheel_op_progress(struct twheel_op *op, struct twheel_op_progress *progress,
		       struct twheel_watch_spec *keys, u32 max_keys)
{
	const struct twheel_watch *watch;
	u32 i = 0;
	int err;

	spin_lock_bh(&op->lock);
	err = twheel_op_check_pending(op);
	if (err)
		goto out;
	progress->deadline = op->deadline;
	progress->remaining = op_remaining(op);
	progress->condition = op->condition;
	progress->missing = op->missing;
	progress->nr_keys = op->nr_watches;
	for (watch = op->watches; watch && i < max_keys; watch = watch->next, i++)
		keys[i] = (struct twheel_watch_spec) {
			.key	= watch->key,
			.need	= watch->need,
		};
out:
	spin_unlock_bh(&op->lock);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_progress);

/**
 * twheel_purgatory_end_all - end every pending operation
 * @purgatory: the purgatory
 * @reason: completed or cancelled
 * @error: 0 or a negative error number, for the results
 * @value: value for the results
 * @flags: TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP
 *
 * Operations that are added meanwhile may be ended or not.
 *
 * Context: process; may sleep.
 * Return: number of operations that this call ended.
 */
u32 twheel_purgatory_end_all(struct twheel_purgatory *purgatory, enum twheel_reason reason,
			     int error, u64 value, unsigned int flags)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;
	u32 nr = 0;

	might_sleep();
	twheel_op_iter_start(&iter, purgatory);
	while ((op = twheel_op_iter_next(&iter))) {
		if (flags & TWHEEL_KILLABLE && fatal_signal_pending(current))
			break;
		nr += !twheel_op_end(op, reason, error, value);
		cond_resched();
	}
	twheel_op_iter_end(&iter);
	return nr;
}

/**
 * twheel_complete_all - complete every pending operation
 * @purgatory: the purgatory
 * @error: 0 or a negative error number, for the results
 * @value: value for the results; ignored with an error
 * @flags: TWHEEL_KILLABLE or 0
 *
 * Operations that are added meanwhile may be completed or not.
 *
 * Context: process; may sleep.
 * Return: number of operations that this call completed.
 */
u32 twheel_complete_all(struct twheel_purgatory *purgatory, int error, u64 value,
			unsigned int flags)
{
	if (WARN_ON_ONCE(error > 0 || error < -MAX_ERRNO))
		error = -EINVAL;
	return twheel_purgatory_end_all(purgatory, TWHEEL_COMPLETED, error, error ? 0 : value,
					flags);
}
EXPORT_SYMBOL_GPL(twheel_complete_all);
