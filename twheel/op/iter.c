// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: iteration over the pending operations of a purgatory, and their progress.
 *
 * An iterator visits one list of the purgatory after the other. Between two calls it stands
 * at the next operation and is on list->iters. A claim that removes that operation advances
 * the iterator, with list->lock held. So the next call is O(1) no matter how many
 * operations have ended, and claims have no extra cost while there is no iterator.
 *
 * The walk of a list stops at the operation that was last when the walk entered the list, so
 * it terminates no matter how many operations are added meanwhile.
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

void __twheel_iters_skip(struct twheel_op_list *list, struct twheel_op *op)
{
	struct twheel_op_iter *iter;

	lockdep_assert_held(&list->lock);
	list_for_each_entry(iter, &list->iters, entry) {
		if (iter->next == op)
			iter->next = iter->last == op ? NULL : op_after(list, op);
		if (iter->last == op)
			iter->last = op_before(list, op);
	}
}

static void iter_enter(struct twheel_op_iter *iter, struct twheel_op_list *list)
{
	lockdep_assert_held(&list->lock);
	list_add(&iter->entry, &list->iters);
	iter->next = list_first_entry_or_null(&list->ops, struct twheel_op, parked);
	iter->last = iter->next ? list_last_entry(&list->ops, struct twheel_op, parked) : NULL;
}

/* Return: the next operation of the list, with a hold, or NULL after leaving the list. */
static struct twheel_op *iter_next_of_list(struct twheel_op_iter *iter, struct twheel_op_list *list)
{
	struct twheel_op *op;

	spin_lock_bh(&list->lock);
	if (list_empty(&iter->entry))
		iter_enter(iter, list);
	op = iter->next;
	if (op) {
		/* It is listed, so it has the hold of a pending operation. */
		twheel_op_hold(op);
		iter->next = op == iter->last ? NULL : op_after(list, op);
	} else {
		list_del_init(&iter->entry);
	}
	spin_unlock_bh(&list->lock);
	return op;
}

/**
 * twheel_op_iter_start - start a walk over the pending operations
 * @iter: the iterator
 * @purgatory: the purgatory; it must stay until twheel_op_iter_end()
 *
 * An operation that is pending during the whole walk is visited once; operations that are
 * added or end meanwhile may be visited. The order is unspecified. A claim takes one step
 * for each iterator in the same part of the purgatory, so only a few should be active at a
 * time.
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

static void iter_drop_op(struct twheel_op_iter *iter)
{
	if (iter->op)
		twheel_op_unhold(iter->op);
	iter->op = NULL;
}

/**
 * twheel_op_iter_next - get the next operation
 * @iter: the iterator; calls must be serialised
 *
 * Draining a purgatory waits for the iterators that stand at one of its operations.
 *
 * Context: process or softirq, with interrupts enabled. The caller may sleep between two
 * calls.
 * Return: an operation that was pending a moment ago; the iterator keeps a reference to it
 * until the next call. NULL at the end.
 */
struct twheel_op *twheel_op_iter_next(struct twheel_op_iter *iter)
{
	struct twheel_purgatory *purgatory = iter->purgatory;
	struct twheel_op *op = NULL;

	while (!op && iter->list < purgatory->nr_lists) {
		op = iter_next_of_list(iter, &purgatory->list[iter->list]);
		iter->list += !op;
	}
	/* Last: this may be the last hold of the purgatory. */
	iter_drop_op(iter);
	iter->op = op;
	return op;
}
EXPORT_SYMBOL_GPL(twheel_op_iter_next);

/**
 * twheel_op_iter_end - end a walk, complete or not
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
	iter_drop_op(iter);
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
 * twheel_op_get_progress - get the progress of a pending operation
 * @op: the operation; the caller has a reference
 * @progress: filled in
 * @keys: filled in with its keys, the number of signals that each still needs, 0 for a
 *	satisfied one, and the bit of each in the result
 * @max_keys: number of entries in @keys
 *
 * Context: process or softirq, with interrupts enabled.
 * Return:
 * * %0         - it is pending
 * * %-EALREADY - it has ended
 * * %-ENOENT   - it was not added
 */
int twheel_op_get_progress(struct twheel_op *op, struct twheel_op_progress *progress,
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
			.bit	= watch->bit,
		};
out:
	spin_unlock_bh(&op->lock);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_get_progress);

/*
 * End every pending operation; operations that are added meanwhile may be ended or not.
 * @flags are TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP. Return: number of operations that this
 * call ended.
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
	return twheel_purgatory_end_all(purgatory, TWHEEL_REASON_COMPLETED, error,
					error ? 0 : value, flags);
}
EXPORT_SYMBOL_GPL(twheel_complete_all);
