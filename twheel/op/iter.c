// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: iteration over the pending operations of a purgatory, their progress, and the end of
 * all of them.
 *
 * An iterator first visits the lists of operations without watches, of one pool after the other.
 * Between two calls it keeps its position by a cursor in front of the next operation: one that is
 * never added. Operations are added at the head of a list, so the walk does not meet those that are
 * added meanwhile.
 *
 * Then it visits the keys, in the order of the walk of key.c; keys with the same hash are ordered
 * by themselves. The position is the last key. As a signal does, it keeps its position among
 * several watches of a key by two marks, and stops at the watch that was last when it came. An
 * operation is visited at its first watch; to end operations, at any.
 *
 * Each call returns one operation, and holds a lock for a chunk of watches or a bucket at most.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "op.h"

/* Maximum number of operations or watches that are visited with the lock held */
#define ITER_CHUNK	32

/* Operations without watches */

/* Return: the next operation of a list, with a reference, or NULL after a chunk or the list. */
static struct twheel_op *iter_next_listed(struct twheel_op_iter *iter)
{
	struct hlist_node *cursor = &iter->cursor.listed, *node;
	struct twheel_pool *pool = per_cpu_ptr(iter->purgatory->pools, iter->pool);
	unsigned int budget = ITER_CHUNK;
	struct twheel_op *op = NULL;

	twheel_irqs_disable();
	spin_lock(&pool->lock);
	node = hlist_unhashed(cursor) ? pool->ops.first : cursor->next;
	hlist_del_init(cursor);
	for (; node && !op && budget; node = node->next, budget--) {
		op = hlist_entry(node, struct twheel_op, listed);
		/* Another cursor? */
		if (twheel_op_state(op) == OP_NEW)
			op = NULL;
	}
	if (op)
		/* It is on the list, so the module has a reference. */
		twheel_op_get(op);
	if (node)
		hlist_add_before(cursor, node);
	else
		iter->pool = cpumask_next(iter->pool, cpu_possible_mask);
	spin_unlock(&pool->lock);
	twheel_irqs_enable();
	return op;
}

/* Operations with watches */

/* Take a reference to the operation of a linked watch if it is visited here. */
static bool iter_visit(const struct twheel_op_iter *iter, const struct twheel_watch *watch)
{
	struct twheel_op *op = watch->op;
	struct twheel_shard *shard;
	bool visit;

	/* The marks have none. */
	if (!op)
		return false;
	shard = twheel_op_lock_linked(op);
	if (!shard)
		return false;
	visit = twheel_timer_pending(&op->timer) && (iter->all || op->watches == watch);
	if (visit)
		twheel_op_get(op);
	twheel_op_unlock(shard);
	return visit;
}

/* Return: the next operation, with a reference, or NULL after a chunk or a bucket. */
static struct twheel_op *iter_next_linked(struct twheel_op_iter *iter)
{
	struct twheel_key_at at = twheel_key_lock(&iter->purgatory->keys, iter->hash);
	unsigned int budget = ITER_CHUNK;
	struct twheel_op *op = NULL;
	struct twheel_watch *watch;

	if (iter->marks.linked) {
		watch = iter->marks.cursor.key_next;
		for (; watch != &iter->marks.end && !op && budget--; watch = watch->key_next)
			if (iter_visit(iter, watch))
				op = watch->op;
		twheel_marks_move(&iter->marks, &at, watch);
		goto out;
	}
	watch = twheel_key_after(&at, iter->has_key ? &iter->key : NULL);
	iter->has_key = watch;
	if (watch) {
		at.hash = watch->hash;
		iter->hash = watch->hash;
		iter->key = watch->key;
		if (!twheel_watch_is_only(watch))
			twheel_marks_link(&iter->marks, &at, watch);
		else if (iter_visit(iter, watch))
			op = watch->op;
	} else {
		iter->hash = at.last + 1ULL;
	}
out:
	twheel_key_unlock(&at);
	return op;
}

/**
 * twheel_op_iter_start - start a walk over the pending operations
 * @iter: the iterator
 * @purgatory: the purgatory; it must stay until twheel_op_iter_end()
 *
 * An operation that was added before, is pending during the whole walk, and whose set of keys does
 * not change, is visited once. Others may be visited, one whose keys change or whose predicate the
 * add is running more than once. The order is unspecified. An iterator that stands among the
 * watches of a key keeps this key. Until the end of the walk the table of keys does not shrink.
 *
 * Context: any.
 */
void twheel_op_iter_start(struct twheel_op_iter *iter, struct twheel_purgatory *purgatory)
{
	*iter = (struct twheel_op_iter) {
		.purgatory = purgatory,
		.pool = cpumask_first(cpu_possible_mask),
	};
	atomic_inc(&purgatory->keys.walks);
}
EXPORT_SYMBOL_GPL(twheel_op_iter_start);

/**
 * twheel_op_iter_next - get the next operation
 * @iter: the iterator; calls must be serialised
 *
 * Context: process or softirq, with interrupts enabled. The caller may sleep between two
 * calls.
 * Return: an operation that was pending a moment ago; the iterator keeps a reference to it
 * until the next call. NULL at the end.
 */
struct twheel_op *twheel_op_iter_next(struct twheel_op_iter *iter)
{
	struct twheel_op *op = NULL;

	while (!op && iter->hash <= U32_MAX) {
		op = iter->pool < nr_cpu_ids ? iter_next_listed(iter) : iter_next_linked(iter);
		/* A table may have many buckets without keys. */
		if (iter->may_sleep)
			cond_resched();
	}
	if (iter->op)
		twheel_op_put(iter->op);
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
	struct twheel_keys *keys = &iter->purgatory->keys;
	struct twheel_pool *pool;
	struct twheel_key_at at;

	if (iter->pool < nr_cpu_ids) {
		pool = per_cpu_ptr(iter->purgatory->pools, iter->pool);
		twheel_irqs_disable();
		spin_lock(&pool->lock);
		hlist_del_init(&iter->cursor.listed);
		spin_unlock(&pool->lock);
		twheel_irqs_enable();
	}
	if (iter->marks.linked) {
		at = twheel_key_lock(keys, iter->marks.cursor.hash);
		twheel_marks_move(&iter->marks, &at, NULL);
		twheel_key_unlock(&at);
	}
	/* The keys that were removed meanwhile have not made the table shrink. */
	if (atomic_dec_and_test(&keys->walks))
		WRITE_ONCE(keys->look, true);
	if (iter->op)
		twheel_op_put(iter->op);
}
EXPORT_SYMBOL_GPL(twheel_op_iter_end);

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
	struct twheel_shard *shard = twheel_op_lock_pending(op);
	const struct twheel_watch *watch;
	u32 i = 0;
	u64 now;

	if (IS_ERR(shard))
		return PTR_ERR(shard);
	progress->idle = false;
	progress->deadline = twheel_op_has_cell(op) ? twheel_op_read_cell(op, &progress->idle) :
						      op->deadline;
	now = twheel_clock_ns(twheel_op_clock(op));
	progress->remaining = progress->deadline == TWHEEL_NEVER ? TWHEEL_NEVER :
			      progress->deadline - min(now, progress->deadline);
	progress->condition = op->condition;
	progress->missing = op->nr_watches ? op->missing : 0;
	progress->nr_keys = op->nr_watches;
	watch = op->nr_watches ? op->watches : NULL;
	for (; watch && i < max_keys; watch = watch->next, i++)
		keys[i] = (struct twheel_watch_spec) {
			.key	= watch->key,
			.need	= watch->need,
			.bit	= watch->bit,
		};
	twheel_op_unlock_irqs(shard);
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_op_get_progress);

/*
 * The end of all operations
 *
 * A walk that ends them would miss one that is behind it first and then, as its keys change, in
 * front of it. So a change of the keys of an operation ends this instead. purgatory->lock protects
 * all of it:
 *
 *	CPU that changes the keys	CPU that ends all
 *	-------------------------	-----------------
 *	not ending: count in ->changing	set ->ending, wait until ->changing is 0
 *	change				walk
 *
 *	ending: count in ->busy		clear ->ending, wait until ->busy is 0
 *	end the operation
 */
struct twheel_ending {
	enum twheel_reason	reason;
	int			error;
	u64			value;
	u32			nr;		/* operations ended by other calls */
	u32			busy;		/* calls that do so */
};

/*
 * Begin to change the keys of an operation: keep calls that end all operations from walking, until
 * twheel_op_change_end(). The purgatory is held. They wait, so the caller must not sleep. Return:
 * 0, -EALREADY, or -EAGAIN if its cell is idle, and a call completes all.
 */
int twheel_op_change_begin(struct twheel_op *op)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_ending *ending;
	int err;

	spin_lock_irq(&purgatory->lock);
	ending = purgatory->ending;
	if (unlikely(ending))
		ending->busy++;
	else
		purgatory->changing++;
	spin_unlock_irq(&purgatory->lock);
	if (likely(!ending))
		return 0;
	err = twheel_op_end(op, ending->reason, ending->error, ending->value);
	spin_lock_irq(&purgatory->lock);
	ending->nr += !err;
	if (!--ending->busy && purgatory->ending != ending)
		wake_up_all(&purgatory->drain);
	spin_unlock_irq(&purgatory->lock);
	return err ?: -EALREADY;
}

void twheel_op_change_end(struct twheel_purgatory *purgatory)
{
	spin_lock_irq(&purgatory->lock);
	if (!--purgatory->changing && purgatory->ending)
		wake_up_all(&purgatory->drain);
	spin_unlock_irq(&purgatory->lock);
}

/*
 * End every pending operation. Those that are added meanwhile may be ended or not. @flags are
 * TWHEEL_KILLABLE or TWHEEL_MAY_SLEEP. Return: number of operations that were ended.
 */
u32 twheel_purgatory_end_all(struct twheel_purgatory *purgatory, enum twheel_reason reason,
			     int error, u64 value, unsigned int flags)
{
	struct twheel_ending ending = { .reason = reason, .error = error, .value = value };
	struct twheel_op_iter iter;
	struct twheel_op *op;
	u32 nr = 0;

	might_sleep();
	spin_lock_irq(&purgatory->lock);
	/* One call at a time */
	wait_event_lock_irq(purgatory->drain, !purgatory->ending, purgatory->lock);
	purgatory->ending = &ending;
	wait_event_lock_irq(purgatory->drain, !purgatory->changing, purgatory->lock);
	spin_unlock_irq(&purgatory->lock);

	twheel_op_iter_start(&iter, purgatory);
	iter.all = true;
	iter.may_sleep = true;
	while ((op = twheel_op_iter_next(&iter))) {
		if (flags & TWHEEL_KILLABLE && fatal_signal_pending(current))
			break;
		nr += !twheel_op_end(op, reason, error, value);
	}
	twheel_op_iter_end(&iter);

	spin_lock_irq(&purgatory->lock);
	purgatory->ending = NULL;
	wake_up_all(&purgatory->drain);
	wait_event_lock_irq(purgatory->drain, !ending.busy, purgatory->lock);
	spin_unlock_irq(&purgatory->lock);
	return nr + ending.nr;
}

/**
 * twheel_complete_all - complete every pending operation
 * @purgatory: the purgatory
 * @error: 0 or a negative error number, for the results
 * @value: value for the results; ignored with an error
 * @flags: TWHEEL_KILLABLE or 0
 *
 * Operations that are added meanwhile may be completed or not; those with an idle cell are not. If
 * another call changes the keys of an operation meanwhile, it completes this on behalf of the
 * present call, for which it counts. Such calls wait for each other, also with TWHEEL_KILLABLE.
 *
 * Context: process; may sleep. Not from a predicate or a callback of the purgatory, since it would
 * wait for itself.
 * Return: number of operations that this call completed.
 */
u32 twheel_complete_all(struct twheel_purgatory *purgatory, int error, u64 value,
			unsigned int flags)
{
	u32 nr;

	if (WARN_ON_ONCE(error > 0 || error < -MAX_ERRNO))
		error = -EINVAL;
	nr = twheel_purgatory_end_all(purgatory, TWHEEL_REASON_COMPLETED, error,
				      error ? 0 : value, flags);
	twheel_keys_shrink(&purgatory->keys);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_complete_all);
