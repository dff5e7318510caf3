// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that affect many operations: on a key, on all of a purgatory, and the walk.
 */
#include <linux/errno.h>

#include "purgatory.h"

/* Initialise a key with all counters zero. */
void torture_key_init(struct torture_key *key, u64 v0, u64 v1)
{
	*key = (struct torture_key) { .key.v = { v0, v1 } };
}

/* A call must not end more operations than its limit, or than can be pending. */
static void check_number(u32 nr, u32 limit, const char *detail)
{
	if (nr > (limit ?: U32_MAX / 2))
		torture_fail(FAIL_RESULT, NULL, detail);
}

/* Signal */

static u32 random_limit(struct rnd_state *rng)
{
	return torture_below(rng, 4) ? 0 : 1 + torture_below(rng, 3);
}

static unsigned int random_flags(const struct torture_caller *c)
{
	static const unsigned int flags[] = { 0, TWHEEL_MAY_SLEEP, TWHEEL_KILLABLE };

	return c->may_sleep ? flags[torture_below(c->rng, ARRAY_SIZE(flags))] : 0;
}

static u32 do_signal(struct torture_purgatory *p, const struct torture_key *key, u64 amount,
		     u64 value, u32 limit, const struct torture_caller *c)
{
	if (!limit && torture_below(c->rng, 2))
		return twheel_signal(p->purgatory, &key->key, amount, value);
	return twheel_signal_some(p->purgatory, &key->key, amount, value, limit, random_flags(c));
}

/* Send a signal of a random kind. With a limit it need not reach all watchers. */
void key_signal(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c)
{
	u32 limit = random_limit(c->rng), nr;
	u64 amount = 1 + torture_below(c->rng, 10);
	struct torture_call call;

	atomic64_inc(&key->begun);
	atomic64_add(amount, &key->amount_begun);
	if (!limit) {
		atomic64_inc(&key->unlimited);
		atomic64_add(amount, &key->amount_unlimited);
	}
	smp_mb__after_atomic();		/* count the signal before it takes effect */
	call_begin(&call, p, CALL_SIGNAL);
	nr = do_signal(p, key, amount, call_value(&call), limit, c);
	call_end(&call, nr);
	check_number(nr, limit, "a signal has completed too many operations");
	atomic64_inc_return(&key->done);
	atomic64_add_return(amount, &key->amount_done);
}

void key_check(struct torture_purgatory *p, struct torture_key *key,
	       const struct torture_caller *c)
{
	u32 limit = random_limit(c->rng), nr;
	struct torture_call call;

	if (!limit)
		atomic64_inc_return(&key->checks);	/* pairs with op_hold() */
	call_begin(&call, p, CALL_CHECK);
	nr = twheel_check_and_complete(p->purgatory, &key->key, limit, random_flags(c));
	call_end(&call, nr);
	check_number(nr, limit, "a check has completed too many operations");
}

/* Cancel */

/* Reports a cancelled operation, after its callback unless the reaper runs that. */
static void cancelled_for_key(struct twheel_op *op, void *data)
{
	struct torture_op *o = container_of(op, struct torture_op, op);
	bool returned;

	++*(u32 *)data;
	op_claim(o);
	returned = smp_load_acquire(&o->returned);	/* with the result from ended() */
	if (o->condition != TWHEEL_COND_PREDICATE && call_is_shallow(call_current()) &&
	    !returned)
		op_fail(FAIL_AFTER, o, "reported before its callback has returned");
	else if (returned && o->reason != TWHEEL_REASON_CANCELLED)
		op_fail(FAIL_RESULT, o, "reported, but not cancelled");
}

void key_cancel(struct torture_purgatory *p, struct torture_key *key,
		const struct torture_caller *c)
{
	struct torture_call call;
	u32 nr, reported = 0;

	atomic64_inc_return(&key->cancels);
	call_begin(&call, p, CALL_CANCEL);
	nr = twheel_cancel_for_key(p->purgatory, &key->key, cancelled_for_key, &reported,
				   random_flags(c));
	call_end(&call, 0);
	if (nr != reported)
		torture_fail(FAIL_RESULT, NULL, "wrong result of cancel_for_key");
}

/* All */

u32 purgatory_complete_all(struct torture_purgatory *p, struct rnd_state *rng)
{
	int error = torture_below(rng, 2) ? MIN_OP_ERROR - 1 - (int)torture_below(rng, 2000) : 0;
	struct torture_call call;
	u32 nr;

	atomic64_inc_return(&p->complete_alls);
	call_begin(&call, p, CALL_ALL);
	nr = twheel_complete_all(p->purgatory, error, call_value(&call),
				 torture_below(rng, 2) ? TWHEEL_KILLABLE : 0);
	call_end(&call, error ? 0 : nr);
	if (error)
		atomic_sub(nr, &p->complete_all_errors);
	return nr;
}

/* Walk */

/* Operations that a walk should visit if they stay pending. */
#define ANCHORS	4

static bool is_pending(struct torture_op *o)
{
	struct twheel_op_progress progress;

	return !twheel_op_get_progress(&o->op, &progress, NULL, 0);
}

static unsigned int find_anchors(struct torture_purgatory *p, struct torture_op **anchor)
{
	struct torture_slot *slot;
	unsigned int nr = 0;

	for (slot = p->slot; slot < p->slot + torture_nr_slots && nr < ANCHORS; slot++) {
		anchor[nr] = slot_get(slot);
		if (!anchor[nr])
			continue;
		/* The add must have watched its keys. */
		if (READ_ONCE(anchor[nr]->added) && is_pending(anchor[nr]))
			nr++;
		else
			twheel_op_put(&anchor[nr]->op);
	}
	return nr;
}

static void walk_over(struct torture_purgatory *p, u32 number, u32 limit)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;
	struct torture_op *o;

	twheel_op_iter_start(&iter, p->purgatory);
	while (limit-- && (op = twheel_op_iter_next(&iter))) {
		o = container_of(op, struct torture_op, op);
		/* One with a predicate may be visited again when its add has watched its keys. */
		if (READ_ONCE(o->last_walk) == number && !READ_ONCE(o->keys_changed) &&
		    o->condition != TWHEEL_COND_PREDICATE)
			op_fail(FAIL_TWICE, o, "visited twice by a walk");
		WRITE_ONCE(o->last_walk, number);
		if (atomic_read(&o->released))
			op_fail(FAIL_AFTER, o, "visited after its release");
	}
	twheel_op_iter_end(&iter);
}

/* Walk over operations. A whole walk must visit all that are pending before and after it. */
void purgatory_walk(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct torture_op *anchor[ANCHORS];
	bool whole = torture_below(rng, 4);
	unsigned int i, nr;
	u32 number;

	/* An operation records only one walk. */
	if (!mutex_trylock(&p->walk_lock))
		return;
	number = ++p->nr_walks;
	nr = find_anchors(p, anchor);
	walk_over(p, number, whole ? U32_MAX : torture_below(rng, 8));
	for (i = 0; i < nr; i++) {
		if (whole && is_pending(anchor[i]) && READ_ONCE(anchor[i]->last_walk) != number &&
		    !READ_ONCE(anchor[i]->keys_changed))
			op_fail(FAIL_LOST, anchor[i], "not visited by a walk");
		twheel_op_put(&anchor[i]->op);
	}
	mutex_unlock(&p->walk_lock);
}
