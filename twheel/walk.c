// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, walks: everything that is done to whoever watches a key.
 *
 * A walk visits the watches of its key in bounded chunks.  With the lock of
 * the key held it counts a signal, or ends an operation, or notes that its
 * predicate is to be run; with the lock dropped, between the chunks, it calls
 * consumers' code.  Two marks, watches without an operation, keep its place:
 *
 *	w1  w2  [cursor]  w3  w4  [end]  w5
 *
 * The cursor stands before the first watch still to be visited.  The end is set
 * when the walk begins: w5 was linked after it and is not visited, so that a
 * callback which adds an operation under the same key can't keep it going for
 * ever.  A watch may go while it is not looked at; the marks stay.
 *
 * A walk that may complete so many operations at most takes no more on in
 * a chunk than it may still complete, and so comes to nobody out of turn.
 */
#include <linux/bits.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "op.h"

/* How many watches are visited before the lock of the key is dropped. */
#define WALK_CHUNK	32

/* For how many of them there may be something to do then; on the stack. */
#define WALK_FOUND	16

/* What is done to an operation. */
enum walk_what {
	WALK_SIGNAL,
	WALK_CHECK,
	WALK_CANCEL,
};

/*
 * What is given; what became of it; where it stands; and the operations of this
 * chunk that have ended, or are held and to be asked.
 */
struct walk {
	enum walk_what		what;
	u64			amount;
	u64			value;
	u32			limit;
	void			(*fn)(struct twheel_op *op, void *data);
	void			*data;

	u32			nr;

	struct twheel_watch	cursor;
	struct twheel_watch	end;

	struct twheel_op	*found[WALK_FOUND];
	unsigned int		nr_found;
	unsigned long		ended;
};

static void walk_found(struct walk *walk, struct twheel_op *op, bool ended)
{
	if (ended)
		walk->ended |= BIT(walk->nr_found);
	/* One that has ended is there until we finish it, and not for longer. */
	if (!ended || walk->fn)
		twheel_op_hold(op);
	walk->found[walk->nr_found++] = op;
}

static void walk_visit(struct walk *walk, struct twheel_watch *watch)
{
	struct twheel_op *op = watch->op;
	bool ended = false, ask = false;

	spin_lock(&op->lock);
	if (twheel_op_life(op) == OP_WAITING) {
		ask = twheel_op_has_predicate(op) && walk->what != WALK_CANCEL;
		if (walk->what == WALK_CANCEL)
			ended = twheel_op_claim(op, TWHEEL_CANCELLED, 0, 0);
		else if (walk->what == WALK_SIGNAL && !ask)
			ended = twheel_op_count(op, watch, walk->amount, walk->value);
	}
	if (ended || ask)
		walk_found(walk, op, ended);
	spin_unlock(&op->lock);
}

/* Visit some watches; whether there are more. */
static bool walk_chunk(struct walk *walk)
{
	unsigned int room = min_t(u32, WALK_FOUND, walk->limit - walk->nr);
	struct twheel_watch *watch = list_next_entry(&walk->cursor, entry);
	unsigned int budget;

	walk->nr_found = 0;
	walk->ended = 0;
	for (budget = WALK_CHUNK; budget && watch != &walk->end; budget--) {
		if (walk->nr_found == room)
			break;
		/* Another walk's marks are watched by nobody. */
		if (watch->op)
			walk_visit(walk, watch);
		watch = list_next_entry(watch, entry);
	}
	list_move_tail(&walk->cursor.entry, &watch->entry);
	return watch != &walk->end;
}

/* Take what has ended off everything; which of them are ours to call back. */
static unsigned long walk_leave(struct walk *walk)
{
	unsigned long mine = 0;
	unsigned int i;

	for (i = 0; i < walk->nr_found; i++)
		if (walk->ended & BIT(i) && twheel_op_leave(walk->found[i]))
			mine |= BIT(i);
	return mine;
}

/*
 * First let all leave that have ended, and then call back and ask, in their order:
 * who runs consumers' code owes nobody anything.
 */
static void walk_do(struct walk *walk)
{
	unsigned long mine = walk_leave(walk);
	struct twheel_op *op;
	unsigned int i;

	for (i = 0; i < walk->nr_found; i++) {
		op = walk->found[i];
		if (!(walk->ended & BIT(i))) {
			walk->nr += twheel_op_try_complete(op) == 1;
			twheel_op_unhold(op);
			continue;
		}
		walk->nr++;
		if (mine & BIT(i))
			twheel_op_call_back(op);
		if (walk->fn) {
			walk->fn(op, walk->data);
			twheel_op_unhold(op);
		}
	}
}

static u32 walk_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		    struct walk *walk, bool may_sleep)
{
	struct twheel_watched_key *watched;
	bool more;

	/*
	 * What the caller did for a predicate to hold comes before we look who
	 * watches the key.  Pairs with the barriers in op_start() and op_watch().
	 */
	smp_mb();
	watched = twheel_key_find(&purgatory->keys, key);
	if (!watched)
		return 0;

	/* A callback may be what others wait for before they end the purgatory. */
	if (!twheel_purgatory_try_hold(purgatory)) {
		twheel_key_put(&purgatory->keys, watched);
		return 0;
	}
	spin_lock_bh(&watched->lock);
	list_add(&walk->cursor.entry, &watched->watches);
	list_add_tail(&walk->end.entry, &watched->watches);
	do {
		more = walk_chunk(walk);
		spin_unlock_bh(&watched->lock);
		walk_do(walk);
		if (may_sleep)
			cond_resched();
		spin_lock_bh(&watched->lock);
	} while (more && walk->nr < walk->limit);
	list_del(&walk->cursor.entry);
	list_del(&walk->end.entry);
	spin_unlock_bh(&watched->lock);

	twheel_key_put(&purgatory->keys, watched);
	twheel_purgatory_release(purgatory);
	trace_twheel_walk(key, walk->what, walk->nr);
	return walk->nr;
}

static u32 signal_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		      u64 amount, u64 value, u32 limit, bool may_sleep)
{
	struct walk walk = {
		.what = WALK_SIGNAL, .amount = amount, .value = value, .limit = limit,
	};

	return walk_key(purgatory, key, &walk, may_sleep);
}

/**
 * twheel_signal - tell whoever watches a key that something has happened
 * @purgatory: the purgatory
 * @key: under which
 * @amount: how much, for those that wait for a sum
 * @value: for the operations that this completes
 *
 * Every operation that watches the key when the signal comes counts it, in the
 * order in which they came to watch, and completes if its condition holds by
 * that. Those with a predicate have it run, as by twheel_check_and_complete().
 * Their callbacks have returned by then, but for what struct twheel_op_ops says.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that a
 * predicate or a callback takes. Does not sleep.
 * Return: how many operations this completed.
 */
u32 twheel_signal(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		  u64 amount, u64 value)
{
	return signal_key(purgatory, key, amount, value, U32_MAX, false);
}
EXPORT_SYMBOL_GPL(twheel_signal);

/**
 * twheel_signal_cansleep - the same, letting others run in between
 * @purgatory: the purgatory
 * @key: under which
 * @amount: how much, for those that wait for a sum
 * @value: for the operations that this completes
 *
 * For keys that very many operations may watch.
 *
 * Context: process; may sleep.
 * Return: how many operations this completed.
 */
u32 twheel_signal_cansleep(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			   u64 amount, u64 value)
{
	might_sleep();
	return signal_key(purgatory, key, amount, value, U32_MAX, true);
}
EXPORT_SYMBOL_GPL(twheel_signal_cansleep);

/**
 * twheel_signal_some - twheel_signal() until so many operations are complete
 * @purgatory: the purgatory
 * @key: under which
 * @amount: how much, for those that wait for a sum
 * @value: for the operations that this completes
 * @limit: how many this may complete
 *
 * First come, first served: those behind the last one that this completes are
 * not told of the signal.
 *
 * Context: as twheel_signal().
 * Return: how many operations this completed.
 */
u32 twheel_signal_some(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		       u64 amount, u64 value, u32 limit)
{
	return signal_key(purgatory, key, amount, value, limit, false);
}
EXPORT_SYMBOL_GPL(twheel_signal_some);

/**
 * twheel_signal_some_cansleep - the same, letting others run in between
 * @purgatory: the purgatory
 * @key: under which
 * @amount: how much, for those that wait for a sum
 * @value: for the operations that this completes
 * @limit: how many this may complete
 *
 * Context: process; may sleep.
 * Return: how many operations this completed.
 */
u32 twheel_signal_some_cansleep(struct twheel_purgatory *purgatory,
				const struct twheel_key *key, u64 amount, u64 value, u32 limit)
{
	might_sleep();
	return signal_key(purgatory, key, amount, value, limit, true);
}
EXPORT_SYMBOL_GPL(twheel_signal_some_cansleep);

static u32 check_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		     u32 limit, bool may_sleep)
{
	struct walk walk = { .what = WALK_CHECK, .limit = limit ?: U32_MAX };

	return walk_key(purgatory, key, &walk, may_sleep);
}

/**
 * twheel_check_and_complete - run the predicates of whoever watches a key
 * @purgatory: the purgatory
 * @key: which key
 * @limit: how many operations this may complete, first come, first served; 0 for
 *	any number
 *
 * To be called after something has changed that the predicates look at. Without
 * a limit nothing is missed: what an operation that watches the key waits for, and
 * what is the case before this call, its predicate will see, run by this call or by
 * who is about it. With one, those behind the last that this completes are not
 * asked.
 *
 * Context: as twheel_signal().
 * Return: how many operations this completed; those whose predicate is being run
 * by somebody else are counted there.
 */
u32 twheel_check_and_complete(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			      u32 limit)
{
	return check_key(purgatory, key, limit, false);
}
EXPORT_SYMBOL_GPL(twheel_check_and_complete);

/**
 * twheel_check_and_complete_cansleep - the same, letting others run in between
 * @purgatory: the purgatory
 * @key: which key
 * @limit: how many operations this may complete, first come, first served; 0 for
 *	any number
 *
 * Context: process; may sleep.
 * Return: as twheel_check_and_complete().
 */
u32 twheel_check_and_complete_cansleep(struct twheel_purgatory *purgatory,
				       const struct twheel_key *key, u32 limit)
{
	might_sleep();
	return check_key(purgatory, key, limit, true);
}
EXPORT_SYMBOL_GPL(twheel_check_and_complete_cansleep);

static u32 cancel_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
		      void (*fn)(struct twheel_op *op, void *data), void *data, bool may_sleep)
{
	struct walk walk = { .what = WALK_CANCEL, .limit = U32_MAX, .fn = fn, .data = data };

	return walk_key(purgatory, key, &walk, may_sleep);
}

/**
 * twheel_cancel_for_key - cancel whoever watches a key
 * @purgatory: the purgatory
 * @key: which key
 * @fn: is handed each operation that this has cancelled, with a reference that is
 *	given back when it returns; NULL for none. Its callback has returned, but for
 *	what struct twheel_op_ops says.
 * @data: for @fn
 *
 * They have left all of their keys, not only this one.
 *
 * Context: as twheel_signal(). @fn may not sleep, nor wait for an operation or the
 * purgatory to end.
 * Return: how many operations this cancelled.
 */
u32 twheel_cancel_for_key(struct twheel_purgatory *purgatory, const struct twheel_key *key,
			  void (*fn)(struct twheel_op *op, void *data), void *data)
{
	return cancel_key(purgatory, key, fn, data, false);
}
EXPORT_SYMBOL_GPL(twheel_cancel_for_key);

/**
 * twheel_cancel_for_key_cansleep - the same, letting others run in between
 * @purgatory: the purgatory
 * @key: which key
 * @fn: as for twheel_cancel_for_key(), and it may not sleep here either; NULL for none
 * @data: for @fn
 *
 * Context: process; may sleep.
 * Return: how many operations this cancelled.
 */
u32 twheel_cancel_for_key_cansleep(struct twheel_purgatory *purgatory,
				   const struct twheel_key *key,
				   void (*fn)(struct twheel_op *op, void *data), void *data)
{
	might_sleep();
	return cancel_key(purgatory, key, fn, data, true);
}
EXPORT_SYMBOL_GPL(twheel_cancel_for_key_cansleep);
