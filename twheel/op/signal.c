// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: signals. A signal visits the watches of a key.
 *
 * If there is one, it visits this, and ends its operation with the lock of the bucket dropped. It
 * visits several in bounded chunks. With the lock of the key's bucket held it counts the
 * signal, claims operations, which takes them off their wheel, unlinks their watches of this
 * key, and collects operations with a predicate. With the lock dropped it unlinks the claimed
 * ones from their other keys, and runs callbacks and predicates. One chunk is usually enough.
 * Otherwise two marks, watches without an operation, keep the position until the next chunk:
 *
 *	w1  w2  [cursor]  w3  w4  [end]  w5
 *
 * The cursor is before the first watch yet to be visited. The end is set with the first
 * chunk. w5 was linked later and is not visited, so a callback that adds an operation under
 * the same key cannot make the signal loop forever. Watches may be unlinked between two
 * chunks. The marks stay, and may become the first of their key.
 *
 * A signal with a limit collects no more operations in a chunk than it may still complete,
 * so it keeps the order of the watches.
 *
 * With TWHEEL_KILLABLE each chunk but the first checks for a fatal signal.
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "op.h"

/* Maximum number of watches that are visited before the lock of the bucket is dropped. */
#define SIGNAL_CHUNK	32

/* Maximum number of operations that a chunk collects; on the stack. */
#define SIGNAL_OPS	16

enum signal_kind {
	SIGNAL_COUNT,
	SIGNAL_CHECK,
	SIGNAL_CANCEL,
};

/* The arguments of a signal; see twheel_signal_some() and twheel_cancel_for_key(). */
struct signal_args {
	enum signal_kind	kind;
	unsigned int		flags;
	u32			limit;		/* only with several watches */
	u64			amount;
	u64			value;
	void			(*fn)(struct twheel_op *op, void *data);
	void			*data;
};

/* A signal of a key with watches. It is large, and most signals of a broker find no watch. */
struct signal {
	const struct signal_args *args;

	/* Operations ended so far */
	u32			nr_ended;

	/* Position, linked if there are more chunks; the purgatory is held then */
	struct twheel_marks	marks;

	/* Operations of this chunk: claimed ones, as a mask, and ones to check, with a reference */
	struct twheel_op	*ops[SIGNAL_OPS];
	unsigned int		nr_ops;
	unsigned long		claimed;
};

enum signal_visit {
	VISIT_DONE,
	VISIT_CLAIMED,
	VISIT_CHECK,		/* has a predicate to run */
};

/*
 * Count a signal of a locked operation, with the bucket of the watch locked, too. Return: true if
 * it completes the operation.
 *
 * @missing is the number of keys yet to be satisfied, or for TWHEEL_COND_SUM the missing amount. A
 * predicate does not use it.
 */
static __always_inline bool op_count(struct twheel_op *op, struct twheel_watch *watch, u64 amount)
{
	u64 counts = amount ?: 1;

	/* The most frequent case */
	if (likely(op->condition == TWHEEL_COND_ANY && watch->need == 1)) {
		watch->need = 0;
		op->missing = 0;
		trace_twheel_op_signal(op, &watch->key);
		return true;
	}
	if (op->condition != TWHEEL_COND_SUM) {
		counts = watch->need == 1;
		watch->need -= !!watch->need;
	}
	op->missing -= min(counts, op->missing);
	trace_twheel_op_signal(op, &watch->key);
	return !op->missing;
}

/*
 * Whether a signal may end a pending operation: one without a cell, or whose word it has exchanged.
 * Its condition holds with any signal.
 */
static __always_inline bool signal_may_end(struct twheel_op *op, enum signal_kind kind)
{
	return likely(!twheel_op_has_cell(op)) ||
	       (kind != SIGNAL_CHECK && twheel_op_claim_cell(op, kind == SIGNAL_CANCEL));
}

/* Lock an operation of which the add links further keys, if it is pending by now: see op_add.c. */
static noinline struct twheel_shard *op_lock_unstarted(struct twheel_op *op)
{
	/* Pairs with the barrier in op_begin_linked(). */
	smp_mb();
	return twheel_op_lock_linked(op);
}

/*
 * Visit a watch. An operation to check has a reference, and so has a claimed one if @fn runs after
 * its callback. A claimed one is unlinked from this key.
 */
static __always_inline enum signal_visit signal_visit(const struct signal_args *args,
						      const struct twheel_key_at *at,
						      struct twheel_watch *watch)
{
	enum signal_visit visit = VISIT_DONE;
	struct twheel_op *op = watch->op;
	struct twheel_shard *shard = twheel_op_lock_linked(op);

	if (unlikely(!shard)) {
		shard = op_lock_unstarted(op);
		if (!shard)
			return VISIT_DONE;
	}
	if (likely(twheel_timer_pending(&op->timer)) && signal_may_end(op, args->kind)) {
		if (args->kind == SIGNAL_CANCEL)
			visit = VISIT_CLAIMED;
		else if (unlikely(twheel_op_has_predicate(op)))
			visit = VISIT_CHECK;
		else if (args->kind == SIGNAL_COUNT && op_count(op, watch, args->amount))
			visit = VISIT_CLAIMED;
	}
	if (visit == VISIT_CLAIMED)
		op_take(shard, op);
	twheel_op_unlock(shard);
	if (visit == VISIT_CLAIMED)
		twheel_key_unlink(at, watch);
	if (visit == VISIT_CHECK || (visit == VISIT_CLAIMED && unlikely(args->fn)))
		twheel_op_get(op);
	return visit;
}

/* Record the result of a claimed and unlinked operation. */
static __always_inline void signal_record(const struct signal_args *args, struct twheel_op *op)
{
	enum twheel_reason reason = args->kind == SIGNAL_CANCEL ? TWHEEL_REASON_CANCELLED :
								   TWHEEL_REASON_COMPLETED;

	op_record(op, reason, 0, args->value, twheel_clock_ns(twheel_op_clock(op)));
}

/* End a visit of an operation that was claimed and unlinked. */
static __always_inline void signal_end_claimed(const struct signal_args *args, struct twheel_op *op)
{
	if (likely(!twheel_op_has_predicate(op)) || !twheel_op_leave(op))
		op_callback(op);
	if (unlikely(args->fn)) {
		args->fn(op, args->data);
		twheel_op_put(op);
	}
}

/* End a visit of an operation with a predicate. Return: 1 if this completed it, or 0. */
static u32 signal_end_check(struct twheel_op *op)
{
	u32 completed = twheel_op_try_complete(op) == 1;

	twheel_op_put(op);
	return completed;
}

/* Visit a chunk, from @watch to @last. Return: the next watch to visit, NULL after @last. */
static struct twheel_watch *signal_chunk(struct signal *signal, const struct twheel_key_at *at,
					 struct twheel_watch *watch,
					 const struct twheel_watch *last)
{
	unsigned int max_ops = min_t(u32, SIGNAL_OPS, signal->args->limit - signal->nr_ended);
	unsigned int budget = SIGNAL_CHUNK;
	struct twheel_watch *next;
	enum signal_visit visit;
	struct twheel_op *op;

	signal->nr_ops = 0;
	signal->claimed = 0;
	do {
		/* The visit may unlink the watch. */
		next = watch == last ? NULL : watch->key_next;
		if (next)
			prefetchw(next->op);
		/* The marks of other signals have no operation. */
		op = watch->op;
		visit = op ? signal_visit(signal->args, at, watch) : VISIT_DONE;
		if (visit == VISIT_CLAIMED)
			signal->claimed |= BIT(signal->nr_ops);
		if (visit != VISIT_DONE)
			signal->ops[signal->nr_ops++] = op;
		watch = next;
	} while (--budget && watch && signal->nr_ops < max_ops);
	return watch;
}

/* Visit the next chunk. The last one unlinks the marks. */
static void signal_next(struct signal *signal, struct twheel_purgatory *purgatory)
{
	struct twheel_key_at at = twheel_key_lock(&purgatory->keys, signal->marks.cursor.hash);
	struct twheel_watch *next = signal->marks.cursor.key_next;
	bool stop = signal->nr_ended >= signal->args->limit ||
		    (signal->args->flags & TWHEEL_KILLABLE && fatal_signal_pending(current));

	signal->nr_ops = 0;
	if (next == &signal->marks.end || stop)
		next = NULL;
	else
		next = signal_chunk(signal, &at, next, signal->marks.end.key_prev);
	twheel_marks_move(&signal->marks, &at, next);
	twheel_key_unlock(&at);
}

/* Unlink all claimed operations before running callbacks and predicates, in their order. */
static void signal_finish(struct signal *signal)
{
	struct twheel_op *op;
	unsigned int i;

	for (i = 0; i < signal->nr_ops; i++) {
		op = signal->ops[i];
		if (!(signal->claimed & BIT(i)))
			continue;
		if (op->nr_watches > 1) {
			twheel_irqs_disable();
			twheel_op_unlink(op);
			twheel_irqs_enable();
		}
		twheel_keys_move(&op->purgatory->keys);
		signal_record(signal->args, op);
	}
	for (i = 0; i < signal->nr_ops; i++) {
		if (signal->claimed & BIT(i)) {
			signal->nr_ended++;
			signal_end_claimed(signal->args, signal->ops[i]);
		} else {
			signal->nr_ended += signal_end_check(signal->ops[i]);
		}
	}
}

/*
 * Visit several watches of a key, which is locked. Not inlined: it initialises a large structure.
 */
static noinline u32 signal_watches(struct twheel_purgatory *purgatory,
				   struct twheel_key_bucket *bucket, struct twheel_watch *first,
				   const struct signal_args *args)
{
	const struct twheel_key_at at = {
		.keys = &purgatory->keys, .bucket = bucket, .hash = first->hash,
	};
	struct signal signal __uninitialized;
	struct twheel_watch *next;
	bool held;

	signal.args = args;
	signal.nr_ended = 0;
	signal.marks.linked = false;
	next = signal_chunk(&signal, &at, first, first->key_prev);
	held = next && hweight_long(signal.claimed) < args->limit;
	if (held) {
		/* The operations of the linked watches have units of its quota. */
		twheel_purgatory_hold(purgatory);
		twheel_marks_link(&signal.marks, &at, next);
	}
	twheel_key_unlock(&at);
	signal_finish(&signal);
	while (signal.marks.linked) {
		if (args->flags & (TWHEEL_MAY_SLEEP | TWHEEL_KILLABLE))
			cond_resched();
		signal_next(&signal, purgatory);
		signal_finish(&signal);
	}
	/* Last: another task may destroy the purgatory once it has seen a callback. */
	if (held)
		twheel_purgatory_release(purgatory);
	return signal.nr_ended;
}

/* Two arguments, in one register */
struct signal_bounds {
	unsigned int		flags;
	u32			limit;
};

/* signal_watches() for SIGNAL_COUNT, whose arguments are in registers until then. */
static noinline u32 signal_count(struct twheel_purgatory *purgatory,
				 struct twheel_key_bucket *bucket, struct twheel_watch *first,
				 u64 amount, u64 value, struct signal_bounds bounds)
{
	return signal_watches(purgatory, bucket, first, &(struct signal_args) {
		.kind = SIGNAL_COUNT, .flags = bounds.flags, .limit = bounds.limit ?: U32_MAX,
		.amount = amount, .value = value,
	});
}

static noinline void signal_trace(struct twheel_key key, enum signal_kind kind, u32 nr)
{
	trace_twheel_signal_key(&key, kind, nr);
}

/* Visit the only watch of a key, which is locked: the most frequent case. */
static __always_inline u32 signal_watch(const struct twheel_key_at *at, struct twheel_watch *watch,
					const struct signal_args *args)
{
	struct twheel_op *op = watch->op;
	/* The mark of another signal has no operation. */
	enum signal_visit visit = likely(op) ? signal_visit(args, at, watch) : VISIT_DONE;

	twheel_key_unlock_irqs_off(at);
	if (unlikely(visit != VISIT_CLAIMED)) {
		twheel_irqs_enable();
		return visit == VISIT_CHECK ? signal_end_check(op) : 0;
	}
	if (unlikely(op->nr_watches > 1))
		twheel_op_unlink(op);
	twheel_irqs_enable();
	twheel_keys_move(&op->purgatory->keys);
	signal_record(args, op);
	signal_end_claimed(args, op);
	return 1;
}

static __always_inline u32 signal_key(struct twheel_purgatory *purgatory,
				      const struct twheel_key *key, enum signal_kind kind,
				      const struct signal_args *args)
{
	/* A callback may free the memory of @key. */
	const struct twheel_key copy = *key;
	struct twheel_keys *keys = &purgatory->keys;
	struct twheel_key_at at __uninitialized;
	struct twheel_watch *first;
	u32 nr = 0;

	might_sleep_if(args->flags & (TWHEEL_MAY_SLEEP | TWHEEL_KILLABLE));
	at = twheel_key_lock(keys, twheel_keys_hash(keys, &copy));
	first = twheel_key_first(&at, &copy);
	if (!first)
		twheel_key_unlock(&at);
	else if (likely(twheel_watch_is_only(first)))
		nr = signal_watch(&at, first, args);
	else if (kind == SIGNAL_COUNT)
		nr = signal_count(purgatory, at.bucket, first, args->amount, args->value,
				  (struct signal_bounds){ args->flags, args->limit });
	else
		nr = signal_watches(purgatory, at.bucket, first, args);
	if (trace_twheel_signal_key_enabled())
		signal_trace(copy, kind, nr);
	return nr;
}

/* A less frequent signal */
static noinline u32 signal_rarely(struct twheel_purgatory *purgatory, const struct twheel_key *key,
				  const struct signal_args *args)
{
	return signal_key(purgatory, key, args->kind, args);
}

/**
 * twheel_signal_some - signal a key
 * @purgatory: the purgatory
 * @key: the key
 * @amount: amount for TWHEEL_COND_SUM; 0 means 1
 * @value: value for the operations that this call completes
 * @limit: maximum number of operations to complete; 0 for no limit
 * @flags: TWHEEL_MAY_SLEEP or TWHEEL_KILLABLE for keys with very many watchers, or 0
 *
 * Every operation that watches the key counts the signal, in the order of the watches, and
 * completes if its condition holds. Predicates are run as by twheel_check_and_complete().
 * With a limit, operations behind the last completed one are not signalled. When this
 * returns, the callbacks have returned, with the exceptions listed at &struct
 * twheel_op_ops.
 *
 * Context: process or softirq, with interrupts enabled and without locks that a predicate
 * or a callback takes; process context only with TWHEEL_MAY_SLEEP or TWHEEL_KILLABLE.
 * Return: number of operations that this call completed.
 */
u32 twheel_signal_some(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		       u64 amount, u64 value, u32 limit, unsigned int flags)
{
	return signal_key(purgatory, key, SIGNAL_COUNT, &(struct signal_args) {
		.kind = SIGNAL_COUNT, .flags = flags, .limit = limit, .amount = amount,
		.value = value,
	});
}
EXPORT_SYMBOL_GPL(twheel_signal_some);

/**
 * twheel_check_and_complete - run the predicates of the operations that watch a key
 * @purgatory: the purgatory
 * @key: the key
 * @limit: maximum number of operations to complete; 0 for no limit
 * @flags: as for twheel_signal_some()
 *
 * Call this after changing the state that the predicates read. Without a limit, every
 * predicate of an operation that watches the key is run after the change: by this call, or
 * by another task that is running it at the moment and runs it once more. With a limit,
 * operations behind the last completed one are skipped.
 *
 * Context: as twheel_signal_some().
 * Return: number of operations that this call completed. A completion by another task that
 * runs the predicate counts there.
 */
u32 twheel_check_and_complete(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			      u32 limit, unsigned int flags)
{
	return signal_rarely(purgatory, key, &(struct signal_args) {
		.kind = SIGNAL_CHECK, .flags = flags, .limit = limit ?: U32_MAX,
	});
}
EXPORT_SYMBOL_GPL(twheel_check_and_complete);

/**
 * twheel_cancel_for_key - cancel the operations that watch a key
 * @purgatory: the purgatory
 * @key: the key
 * @fn: called for each operation that this call cancelled, after its callback, with the
 *	exceptions listed at &struct twheel_op_ops, and with a reference that is dropped when @fn
 *	returns; may be NULL. It must neither sleep nor wait for the end of an operation or of
 *	the purgatory.
 * @data: for @fn
 * @flags: as for twheel_signal_some()
 *
 * A cancelled operation has been removed from all of its keys.
 *
 * Context: as twheel_signal_some().
 * Return: number of operations that this call cancelled.
 */
u32 twheel_cancel_for_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			  void (*fn)(struct twheel_op *op, void *data), void *data,
			  unsigned int flags)
{
	return signal_rarely(purgatory, key, &(struct signal_args) {
		.kind = SIGNAL_CANCEL, .flags = flags, .limit = U32_MAX, .fn = fn, .data = data,
	});
}
EXPORT_SYMBOL_GPL(twheel_cancel_for_key);

/*
 * Return: whether an operation watches a key, or a signal of it is under way. Process or softirq
 * context, with interrupts enabled.
 */
bool twheel_key_is_watched(struct twheel_purgatory *purgatory, const struct twheel_key *key)
{
	struct twheel_keys *keys = &purgatory->keys;
	struct twheel_key_at at = twheel_key_lock(keys, twheel_keys_hash(keys, key));
	bool watched = twheel_key_first(&at, key);

	twheel_key_unlock(&at);
	return watched;
}
EXPORT_SYMBOL_GPL(twheel_key_is_watched);
