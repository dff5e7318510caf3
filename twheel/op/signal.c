// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, walks: everything that is done to whoever watches a key.
 *
 * A walk visits the watches of its key in bounded chunks.  With the lock of the
 * key's stripe held it counts a signal, or ends an operation, or notes that its
 * predicate is to be run; with the lock dropped it calls consumers' code.  Mostly
 * one chunk is all. If it is not, two marks, watches without an operation, keep the
 * place of the walk until the next one:
 *
 *	w1  w2  [cursor]  w3  w4  [end]  w5
 *
 * The cursor stands before the first watch still to be visited.  The end is set
 * with the first chunk: w5 was linked after it and is not visited, so that a
 * callback which adds an operation under the same key can't keep it going for
 * ever.  A watch may go while it is not looked at; the marks stay, and may by that
 * become the first of their key.
 *
 * A walk that may complete so many operations at most takes no more on in
 * a chunk than it may still complete, and so comes to nobody out of turn.
 *
 * A walk that a fatal signal may end looks for one before each chunk but the first.
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <trace/events/twheel.h>

#include "op.h"

/* How many watches are visited before the lock of the stripe is dropped. */
#define SIGNAL_CHUNK	32

/* For how many of them there may be something to do then; on the stack. */
#define SIGNAL_FOUND	16

/* What is done to an operation. */
enum signal_kind {
	SIGNAL_COUNT,
	SIGNAL_CHECK,
	SIGNAL_CANCEL,
};

/*
 * What is given; what became of it; where it stands; and the operations of this
 * chunk that have ended, or are held and to be asked.
 */
struct signal {
	enum signal_kind		kind;
	u64			amount;
	u64			value;
	u32			limit;
	void			(*fn)(struct twheel_op *op, void *data);
	void			*data;
	unsigned int		flags;

	u32			nr;

	struct twheel_watch	cursor;
	struct twheel_watch	end;
	bool			met;
	bool			marked;

	struct twheel_op	*found[SIGNAL_FOUND];
	unsigned int		nr_found;
	unsigned long		ended;
};

static void signal_found(struct signal *signal, struct twheel_op *op, bool ended)
{
	if (ended)
		signal->ended |= BIT(signal->nr_found);
	/* One that has ended is there until we finish it, and not for longer. */
	if (!ended || signal->fn)
		twheel_op_hold(op);
	signal->found[signal->nr_found++] = op;
}

static void signal_visit(struct signal *signal, struct twheel_watch *watch)
{
	struct twheel_op *op = watch->op;
	bool ended = false, ask = false;

	spin_lock(&op->lock);
	if (twheel_op_state(op) == OP_PENDING) {
		ask = twheel_op_has_predicate(op) && signal->kind != SIGNAL_CANCEL;
		if (signal->kind == SIGNAL_CANCEL)
			ended = twheel_op_claim(op, TWHEEL_CANCELLED, 0, 0);
		else if (signal->kind == SIGNAL_COUNT && !ask)
			ended = twheel_op_condition_signal(op, watch, signal->amount,
							   signal->value);
	}
	if (ended || ask)
		signal_found(signal, op, ended);
	spin_unlock(&op->lock);
}

/* Put the marks: the end behind all watches, the cursor before the next one to visit. */
static void signal_mark(struct signal *signal, const struct twheel_key_at *at,
			const struct twheel_key *key, struct twheel_watch *next)
{
	signal->marked = true;
	signal->end = (struct twheel_watch){ .key = *key, .mark = at->hash };
	signal->cursor = signal->end;
	twheel_key_link(at, &signal->end);
	twheel_key_link_before(&signal->cursor, next);
}

/*
 * Visit some watches, up to a last one that is not visited but by itself; the next one
 * to visit, which is that last one when all have been.
 */
static struct twheel_watch *signal_chunk(struct signal *signal, struct twheel_watch *watch,
					 const struct twheel_watch *last)
{
	unsigned int max_found = min_t(u32, SIGNAL_FOUND, signal->limit - signal->nr);
	unsigned int budget = SIGNAL_CHUNK;

	signal->nr_found = 0;
	signal->ended = 0;
	do {
		/* Another walk's marks are watched by nobody. */
		if (watch->op)
			signal_visit(signal, watch);
		watch = list_next_entry(watch, entry);
		prefetchw(watch->op);
	} while (--budget && watch != last && signal->nr_found < max_found);
	return watch;
}

/* The first chunk; whether there are more, for which the purgatory is held. */
static bool signal_first(struct signal *signal, struct twheel_purgatory *purgatory,
			 const struct twheel_key *key)
{
	struct twheel_keys *keys = &purgatory->keys;
	struct twheel_key_at at = twheel_key_lock(keys, twheel_keys_hash(keys, key));
	struct twheel_watch *first = twheel_key_first(&at, key), *next = first;

	if (first)
		next = signal_chunk(signal, first, first);
	signal->met = first;
	if (next != first && hweight_long(signal->ended) < signal->limit) {
		/* Those whose watches there are hold the purgatory, too. */
		twheel_purgatory_hold(purgatory);
		signal_mark(signal, &at, key, next);
	}
	twheel_key_unlock(&at);
	return signal->marked;
}

/* A further chunk; whether there are more. The marks go with the last one. */
static bool signal_next(struct signal *signal, struct twheel_purgatory *purgatory)
{
	struct twheel_key_at at = twheel_key_lock(&purgatory->keys,
						  twheel_watch_hash(&signal->cursor));
	struct twheel_watch *next = list_next_entry(&signal->cursor, entry);
	bool more = false;
	bool stop = signal->nr >= signal->limit ||
		    (signal->flags & TWHEEL_KILLABLE && fatal_signal_pending(current));

	signal->nr_found = 0;
	if (next != &signal->end && !stop) {
		next = signal_chunk(signal, next, &signal->end);
		more = next != &signal->end;
	}
	twheel_key_unlink(&at, &signal->cursor);
	if (more) {
		/* What was visited is still between the first one and this. */
		twheel_key_link_before(&signal->cursor, next);
	} else {
		twheel_key_unlink(&at, &signal->end);
	}
	twheel_key_unlock(&at);
	return more;
}

/* Take what has ended off everything; which of them are ours to call back. */
static unsigned long signal_unlink(struct signal *signal)
{
	unsigned long mine = 0;
	unsigned int i;

	for (i = 0; i < signal->nr_found; i++)
		if (signal->ended & BIT(i) && twheel_op_unlink(signal->found[i]))
			mine |= BIT(i);
	return mine;
}

/*
 * First let all leave that have ended, and then call back and ask, in their order:
 * who runs consumers' code owes nobody anything.
 */
static void signal_finish(struct signal *signal)
{
	unsigned long mine = signal_unlink(signal);
	struct twheel_op *op;
	unsigned int i;

	for (i = 0; i < signal->nr_found; i++) {
		op = signal->found[i];
		if (!(signal->ended & BIT(i))) {
			signal->nr += twheel_op_try_complete(op) == 1;
			twheel_op_unhold(op);
			continue;
		}
		signal->nr++;
		if (mine & BIT(i))
			twheel_op_call_back(op);
		if (signal->fn) {
			signal->fn(op, signal->data);
			twheel_op_unhold(op);
		}
	}
}

static u32 signal_run(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		      struct signal *signal, unsigned int flags)
{
	/* A callback may free the memory of @key. */
	const struct twheel_key copy = *key;
	bool may_sleep = flags & (TWHEEL_MAY_SLEEP | TWHEEL_KILLABLE);
	bool more;

	might_sleep_if(may_sleep);
	signal->flags = flags;
	more = signal_first(signal, purgatory, key);
	signal_finish(signal);
	while (more) {
		if (may_sleep)
			cond_resched();
		more = signal_next(signal, purgatory);
		signal_finish(signal);
	}
	if (signal->met)
		trace_twheel_signal_key(&copy, signal->kind, signal->nr);
	/* Last: a callback may be the condition of another task for ending the purgatory. */
	if (signal->marked)
		twheel_purgatory_release(purgatory);
	return signal->nr;
}

/**
 * twheel_signal_some - signal a key
 * @purgatory: the purgatory
 * @key: the key
 * @amount: amount for TWHEEL_COND_SUM; 0 means 1
 * @value: value for the operations that this call completes
 * @limit: maximum number of operations to complete; 0 for no limit
 * @flags: TWHEEL_MAY_SLEEP for keys with very many watchers, TWHEEL_KILLABLE, or 0
 *
 * Every operation that watches the key counts the signal, in the order of the watches, and
 * completes if its condition holds.  Predicates are run as by twheel_check_and_complete().
 * With a limit, operations behind the last completed one are not signalled.  When this
 * returns, the callbacks have returned, with the exceptions listed at &struct
 * twheel_op_ops.
 *
 * Context: process or softirq, with interrupts enabled and without locks that a predicate
 * or a callback takes; with TWHEEL_MAY_SLEEP process context only.
 * Return: number of operations that this call completed.
 */
u32 twheel_signal_some(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		       u64 amount, u64 value, u32 limit, unsigned int flags)
{
	struct signal signal = {
		.kind = SIGNAL_COUNT, .amount = amount ?: 1, .value = value,
		.limit = limit ?: U32_MAX,
	};

	return signal_run(purgatory, key, &signal, flags);
}
EXPORT_SYMBOL_GPL(twheel_signal_some);

/**
 * twheel_check_and_complete - run the predicates of the operations that watch a key
 * @purgatory: the purgatory
 * @key: the key
 * @limit: maximum number of operations to complete; 0 for no limit
 * @flags: as for twheel_signal_some()
 *
 * Call this after changing the state that the predicates read.  Without a limit, every
 * predicate of an operation that watches the key is run after the change: by this call, or
 * by another task that is running it at the moment and runs it once more.  With a limit,
 * operations behind the last completed one are skipped.
 *
 * Context: as twheel_signal_some().
 * Return: number of operations that this call completed.  A completion by another task that
 * runs the predicate counts there.
 */
u32 twheel_check_and_complete(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			      u32 limit, unsigned int flags)
{
	struct signal signal = { .kind = SIGNAL_CHECK, .limit = limit ?: U32_MAX };

	return signal_run(purgatory, key, &signal, flags);
}
EXPORT_SYMBOL_GPL(twheel_check_and_complete);

/**
 * twheel_cancel_for_key - cancel the operations that watch a key
 * @purgatory: the purgatory
 * @key: the key
 * @fn: called for each operation that this call cancelled, after its callback, with a
 *	reference that is dropped when @fn returns; may be NULL.  It must neither sleep nor
 *	wait for the end of an operation or of the purgatory.
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
	struct signal signal = { .kind = SIGNAL_CANCEL, .limit = U32_MAX, .fn = fn, .data = data };

	return signal_run(purgatory, key, &signal, flags);
}
EXPORT_SYMBOL_GPL(twheel_cancel_for_key);
