// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that meet many operations, on the books: what is told under a key, what
 * ends all of a purgatory, and the walk.
 */
#include <linux/errno.h>

#include "purgatory.h"

/* A key that has not been told anything. */
void torture_key_init(struct torture_key *key, u64 v0, u64 v1)
{
	*key = (struct torture_key) { .key.v = { v0, v1 } };
}

/* More than may wait at a time, or what was to be the limit. */
static void judge_number(u32 nr, u32 limit, const char *detail)
{
	if (nr > (limit ?: U32_MAX / 2))
		torture_wrong(WRONG_ANSWER, NULL, detail);
}

/* Signal */

static u32 any_limit(struct rnd_state *rng)
{
	return torture_below(rng, 4) ? 0 : 1 + torture_below(rng, 3);
}

static unsigned int any_flags(const struct torture_caller *c)
{
	static const unsigned int flags[] = { 0, TWHEEL_MAY_SLEEP, TWHEEL_KILLABLE };

	return c->may_sleep ? flags[torture_below(c->rng, ARRAY_SIZE(flags))] : 0;
}

static u32 do_signal(struct torture_purgatory *p, const struct torture_key *key, u64 amount,
		     u64 value, u32 limit, const struct torture_caller *c)
{
	if (!limit && torture_below(c->rng, 2))
		return twheel_signal(p->purgatory, &key->key, amount, value);
	return twheel_signal_some(p->purgatory, &key->key, amount, value, limit, any_flags(c));
}

/* A signal of any kind, on the books. With a limit it may stop before some. */
void signal_key(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c)
{
	u32 limit = any_limit(c->rng), nr;
	u64 amount = 1 + torture_below(c->rng, 10);
	struct torture_call call;

	atomic64_inc(&key->begun);
	atomic64_add(amount, &key->amount_begun);
	if (!limit) {
		atomic64_inc(&key->sure);
		atomic64_add(amount, &key->amount_sure);
	}
	smp_mb__after_atomic();		/* they are on the books before they count */
	call_begin(&call, p, HOW_SIGNAL);
	nr = do_signal(p, key, amount, call_value(&call), limit, c);
	call_end(&call, nr);
	judge_number(nr, limit, "a signal has completed more than it may");
	atomic64_inc_return(&key->over);
	atomic64_add_return(amount, &key->amount_over);
}

/* twheel_check_and_complete(), on the books */
void check_key(struct torture_purgatory *p, struct torture_key *key,
	       const struct torture_caller *c)
{
	u32 limit = any_limit(c->rng), nr;
	struct torture_call call;

	if (!limit)
		atomic64_inc_return(&key->checks);	/* pairs with op_hold() */
	call_begin(&call, p, HOW_CHECK);
	nr = twheel_check_and_complete(p->purgatory, &key->key, limit, any_flags(c));
	call_end(&call, nr);
	judge_number(nr, limit, "a check has completed more than it may");
}

/* Cancel */

/* By now its callback has returned, unless that was left to others. */
static void cancelled_for_key(struct twheel_op *op, void *data)
{
	struct torture_op *o = container_of(op, struct torture_op, op);
	bool returned;

	++*(u32 *)data;
	op_won(o);
	returned = smp_load_acquire(&o->returned);	/* with the result, from ended() */
	if (o->condition != TWHEEL_COND_PREDICATE && call_is_shallow(call_current()) &&
	    !returned)
		wrong_op(WRONG_AFTER, o, "told of before its callback has returned");
	else if (returned && o->reason != TWHEEL_CANCELLED)
		wrong_op(WRONG_ANSWER, o, "told of, and was not cancelled");
}

/* twheel_cancel_for_key(), on the books */
void cancel_key(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c)
{
	struct torture_call call;
	u32 nr, signalled = 0;

	atomic64_inc_return(&key->cancels);
	call_begin(&call, p, HOW_CANCEL);
	nr = twheel_cancel_for_key(p->purgatory, &key->key, cancelled_for_key, &signalled,
				   any_flags(c));
	call_end(&call, 0);
	if (nr != signalled)
		torture_wrong(WRONG_ANSWER, NULL, "of cancel_for_key");
}

/* All */

/* twheel_complete_all(), on the books */
u32 purgatory_complete_all(struct torture_purgatory *p, struct rnd_state *rng)
{
	int error = torture_below(rng, 2) ? ALONE_ERROR - 1 - (int)torture_below(rng, 2000) : 0;
	struct torture_call call;
	u32 nr;

	atomic64_inc_return(&p->alls);
	call_begin(&call, p, HOW_ALL);
	nr = twheel_complete_all(p->purgatory, error, call_value(&call),
				 torture_below(rng, 2) ? TWHEEL_KILLABLE : 0);
	call_end(&call, error ? 0 : nr);
	if (error)
		atomic_sub(nr, &p->all_errors);
	return nr;
}

/* Walk */

/* Operations that perhaps wait throughout a walk. */
#define ANCHORS	4

static bool waits(struct torture_op *o)
{
	struct twheel_op_progress progress;

	return !twheel_op_progress(&o->op, &progress, NULL, 0);
}

static unsigned int find_anchors(struct torture_purgatory *p, struct torture_op **anchor)
{
	struct torture_slot *slot;
	unsigned int nr = 0;

	for (slot = p->slot; slot < p->slot + TORTURE_SLOTS && nr < ANCHORS; slot++) {
		spin_lock_bh(&slot->lock);
		anchor[nr] = slot->op;
		if (slot->op)
			twheel_op_get(&slot->op->op);
		spin_unlock_bh(&slot->lock);
		if (!anchor[nr])
			continue;
		if (waits(anchor[nr]))
			nr++;
		else
			twheel_op_put(&anchor[nr]->op);
	}
	return nr;
}

static void walk_over(struct torture_purgatory *p, u32 number, u32 most)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;
	struct torture_op *o;

	twheel_op_iter_start(&iter, p->purgatory);
	while (most-- && (op = twheel_op_iter_next(&iter))) {
		o = container_of(op, struct torture_op, op);
		if (READ_ONCE(o->walk) == number)
			wrong_op(WRONG_TWICE, o, "met twice on a walk");
		WRITE_ONCE(o->walk, number);
		if (atomic_read(&o->released))
			wrong_op(WRONG_AFTER, o, "met though it was released");
	}
	twheel_op_iter_end(&iter);
}

/* Walk over all that waits; who waits from before it until after it is met. */
void purgatory_walk(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct torture_op *anchor[ANCHORS];
	bool whole = torture_below(rng, 4);
	unsigned int i, nr;
	u32 number;

	/* An operation remembers only one walk. */
	if (!mutex_trylock(&p->walking))
		return;
	number = ++p->walks;
	nr = find_anchors(p, anchor);
	walk_over(p, number, whole ? U32_MAX : torture_below(rng, 8));
	for (i = 0; i < nr; i++) {
		if (whole && waits(anchor[i]) && READ_ONCE(anchor[i]->walk) != number)
			wrong_op(WRONG_LOST, anchor[i], "not met on a walk");
		twheel_op_put(&anchor[i]->op);
	}
	mutex_unlock(&p->walking);
}
