// SPDX-License-Identifier: GPL-2.0
/*
 * Operations to torture: made, asked, called back, released, and buried.
 *
 * An operation of ours is kept longer than its consumer may: its release only
 * poisons it.  So we see it if something calls back after that, or writes to what
 * is no longer there.  It is freed when some more have been released.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "purgatory.h"

/* So many are kept before they are freed. */
#define GRAVES	64

/* Say what is wrong with an operation. */
void wrong_op(enum torture_wrong what, const struct torture_op *o, const char *detail)
{
	if (!torture_tell(what, detail))
		return;
	pr_err("  purgatory %u, operation %u, condition %d of %u keys%s%s%s%s, held %d, added %d, ended %d, released %d, over %d, answers %d; reason %d, value %llx, error %d\n",
	       o->p->number, o->number, o->condition, o->nr_want, o->own ? " of its own" : "",
	       o->loose ? ", loose" : "", o->orphan ? ", orphan" : "",
	       o->reshaped ? ", reshaped" : "", atomic_read(&o->held),
	       o->added, atomic_read(&o->ended), atomic_read(&o->released), o->over,
	       atomic_read(&o->answers), o->reason, o->value, o->error);
}

/* Its callbacks */

static struct torture_op *to_op(struct twheel_op *op)
{
	return container_of(op, struct torture_op, op);
}

/*
 * Anything may be done in a callback, but not for ever: what is done leads to callbacks,
 * of all that watch a key, and these do the same.
 */
static void act(struct torture_op *o, unsigned int seldom)
{
	const struct torture_caller c = { .rng = &o->rng };
	struct torture_call *call = call_current();

	if (READ_ONCE(o->p->closing))
		return;
	if (call && call->chain)
		purgatory_chain(o->p, c.rng);
	else if (!torture_below(c.rng, seldom) && (!call || call->depth < 2))
		purgatory_play(o->p, &c);
}

/* What can be done to itself: its callback comes when the predicate has returned. */
static void act_on_itself(struct torture_op *o)
{
	switch (torture_below(&o->rng, 32)) {
	case 0:
		op_complete(o);
		break;
	case 1:
		op_cancel(o);
		break;
	case 2:
		op_try(o);
		break;
	case 3:
		op_rearm(o, &o->rng);
		break;
	}
}

/* Who runs this counts it as its own, and must be one who asks. */
static bool called_by_asker(const struct torture_call *call)
{
	return call && (call->how == HOW_SIGNAL || call->how == HOW_CHECK ||
			call->how == HOW_TRY || call->how == HOW_ADD || call->how == HOW_WATCH);
}

static void enter(struct torture_op *o)
{
	atomic_inc_return(&o->p->inside);	/* pairs with the barrier after the drain */
	if (READ_ONCE(o->p->drained))
		wrong_op(WRONG_AFTER, o, "called back though its purgatory was drained");
	if (atomic_read(&o->released))
		wrong_op(WRONG_AFTER, o, "called back though it was released");
	if (!READ_ONCE(o->adding))
		wrong_op(WRONG_AFTER, o, "called back though it was not added");
}

static bool evaluate(struct twheel_op *op, u64 *value)
{
	struct torture_call *call = call_current();
	struct torture_purgatory *p = to_op(op)->p;
	struct torture_op *o = to_op(op);
	bool held;

	enter(o);
	if (atomic_inc_return(&o->inside) != 1)
		wrong_op(WRONG_OVERLAP, o, "its predicate is running");
	if (atomic_read(&o->ended))
		wrong_op(WRONG_AFTER, o, "its predicate runs after its callback");
	if (!called_by_asker(call))
		wrong_op(WRONG_ANSWER, o, "its predicate runs in no call that asks for it");
	held = atomic_read(&o->held) != NOT_HELD;
	/* Others come to ask, and what they know is not in the answer. */
	if (torture_below(&o->rng, 2) && torture_idles(&o->rng))
		udelay(torture_below(&o->rng, 30));
	act_on_itself(o);
	act(o, 64);
	if (held && call)
		*value = call_value(call);
	atomic_dec_return_release(&o->inside);
	atomic_dec_return_release(&p->inside);
	return held;
}

static void expect_over(struct torture_op *o)
{
	u32 what = torture_below(&o->rng, 16);

	if (what == 0)
		op_complete(o);
	else if (what == 1)
		op_cancel(o);
	else if (what == 2)
		op_try(o);
	else if (what == 3)
		op_rearm(o, &o->rng);
	else if (what == 4)
		op_look(o);
}

static void ended(struct twheel_op *op)
{
	struct torture_purgatory *p = to_op(op)->p;
	struct torture_op *o = to_op(op);
	struct twheel_op_result result;

	enter(o);
	if (atomic_inc_return(&o->ended) != 1)
		wrong_op(WRONG_TWICE, o, "called back once more");
	if (atomic_read(&o->inside))
		wrong_op(WRONG_OVERLAP, o, "called back while its predicate is running");
	twheel_op_result(op, &result);
	o->reason = result.reason;
	o->error = result.error;
	o->value = result.value;
	WRITE_ONCE(o->over, true);
	op_judge_end(o, &result);
	if (result.reason <= TWHEEL_CANCELLED)
		atomic64_inc(&p->ended[result.reason]);
	/* Others come to wait for it. */
	if (!torture_below(&o->rng, 8) && torture_idles(&o->rng))
		udelay(torture_below(&o->rng, 30));
	expect_over(o);
	act(o, 8);
	/* Pairs with the acquire in cancelled_for_key(): the result is on the books. */
	smp_store_release(&o->returned, true);
	if (o->orphan)
		twheel_op_put(op);
	atomic_dec_return_release(&p->inside);
}

/* The end of one */

static void expect_poison(const struct torture_op *o, const void *from, size_t size)
{
	if (memchr_inv(from, TORTURE_POISON, size))
		wrong_op(WRONG_AFTER, o, "touched after it was given back");
}

static void bury(struct torture_op *o)
{
	expect_poison(o, &o->op, sizeof(o->op));
	expect_poison(o, o->watch, o->nr_rooms * sizeof(*o->watch));
	kfree(o->watch);
	kfree(o);
}

/* Free those that were released, but for some. */
void graves_free(struct torture_purgatory *p, unsigned int keep)
{
	struct torture_op *o;

	do {
		o = NULL;
		spin_lock_bh(&p->grave_lock);
		if (p->nr_graves > keep) {
			o = list_first_entry(&p->grave, struct torture_op, grave);
			list_del(&o->grave);
			p->nr_graves--;
		}
		spin_unlock_bh(&p->grave_lock);
		if (o)
			bury(o);
	} while (o);
}

/* Give up the books of an operation; the last to do so closes them. */
void op_account_put(struct torture_op *o)
{
	struct torture_purgatory *p = o->p;

	if (!refcount_dec_and_test(&o->refs))
		return;
	op_judge_release(o);
	spin_lock_bh(&p->grave_lock);
	list_add_tail(&o->grave, &p->grave);
	p->nr_graves++;
	spin_unlock_bh(&p->grave_lock);
	atomic_dec(&p->alive);
	graves_free(p, GRAVES);
}

static void release(struct twheel_op *op)
{
	struct torture_op *o = to_op(op);
	unsigned int i;

	if (atomic_inc_return(&o->released) != 1) {
		wrong_op(WRONG_TWICE, o, "released once more");
		return;
	}
	for_each_set_bit(i, o->back, o->nr_rooms)
		expect_poison(o, &o->watch[i], sizeof(o->watch[i]));
	memset(&o->op, TORTURE_POISON, sizeof(o->op));
	memset(o->watch, TORTURE_POISON, o->nr_rooms * sizeof(*o->watch));
	op_account_put(o);
}

static const struct twheel_op_ops predicate_ops = {
	.try_complete	= evaluate,
	.ended		= ended,
	.release	= release,
};

static const struct twheel_op_ops declared_ops = {
	.ended		= ended,
	.release	= release,
};

/* The beginning */

static enum twheel_condition any_condition(struct rnd_state *rng)
{
	static const enum twheel_condition conditions[] = {
		TWHEEL_COND_NONE, TWHEEL_COND_ANY, TWHEEL_COND_ALL, TWHEEL_COND_QUORUM,
		TWHEEL_COND_SUM, TWHEEL_COND_PREDICATE, TWHEEL_COND_PREDICATE,
		TWHEEL_COND_PREDICATE,
	};

	return conditions[torture_below(rng, ARRAY_SIZE(conditions))];
}

/* Few keys mostly, as many as there may be now and then. */
static u32 any_nr_keys(struct rnd_state *rng, enum twheel_condition condition, bool own)
{
	if (condition == TWHEEL_COND_NONE)
		return 0;
	if (condition == TWHEEL_COND_PREDICATE && !torture_below(rng, 8))
		return 0;
	if (own)
		return 1 + torture_below(rng, OWN_KEYS - 1);
	return 1 + torture_below(rng, torture_below(rng, 16) ? 4 : TWHEEL_MAX_KEYS);
}

/* Half of them watch the same first ones. */
static void want_keys(struct torture_op *o)
{
	bool counts = o->condition == TWHEEL_COND_ANY || o->condition == TWHEEL_COND_ALL ||
		      o->condition == TWHEEL_COND_QUORUM;
	u32 i, first = torture_below(&o->rng, 2) ? 0 : torture_below(&o->rng, TORTURE_KEYS);

	for (i = 0; i < OWN_KEYS; i++)
		torture_key_init(&o->own_key[i], o->number, 1 + i);
	for (i = 0; i < o->nr_want; i++) {
		o->want[i].key = o->own ? &o->own_key[i] :
					  &o->p->key[(first + i) % TORTURE_KEYS];
		o->want[i].need = counts ? 1 + torture_below(&o->rng, 3) : 0;
	}
}

static void want_time(struct torture_op *o, u64 deadline)
{
	o->loose = !torture_below(&o->rng, 4);
	o->deadline = deadline;
	o->next = deadline;
	atomic64_set(&o->earliest, deadline);
	atomic64_set(&o->latest, deadline);
}

static struct torture_op *op_alloc(u32 nr, gfp_t gfp)
{
	struct torture_op *o = kzalloc(struct_size(o, want, nr), gfp);

	if (!o)
		return NULL;
	o->nr_want = nr;
	o->nr_rooms = nr + 1 + MORE_WATCHES;
	o->watch = kmalloc_array(o->nr_rooms, sizeof(*o->watch), gfp);
	if (!o->watch) {
		kfree(o);
		return NULL;
	}
	memset(o->watch, TORTURE_POISON, o->nr_rooms * sizeof(*o->watch));
	return o;
}

static struct torture_op *make(struct torture_purgatory *p, const struct torture_caller *c,
			       enum twheel_condition condition, bool own, u32 nr)
{
	struct torture_op *o = op_alloc(nr, caller_gfp(c));
	static atomic_t number;

	if (!o)
		return NULL;
	o->p = p;
	o->number = atomic_inc_return(&number);
	torture_seed(&o->rng, prandom_u32_state(c->rng));
	o->condition = condition;
	o->own = own;
	o->quorum = condition == TWHEEL_COND_QUORUM ? 1 + torture_below(&o->rng, nr) : 0;
	o->threshold = condition == TWHEEL_COND_SUM ? 1 + torture_below(&o->rng, 30) : 0;
	refcount_set(&o->refs, 2);
	atomic_set(&o->users, 1);
	want_keys(o);
	o->wheel = torture_below(&o->rng, TORTURE_WHEELS);
	o->wary = by_wall_clock(o) && torture_below(&o->rng, 2);
	o->slack = op_slack(&o->rng);
	want_time(o, op_deadline(o, &o->rng));
	twheel_op_init(&o->op, condition == TWHEEL_COND_PREDICATE ? &predicate_ops :
								    &declared_ops);
	atomic_inc(&p->alive);
	return o;
}

/* Make an operation, with a reference to it and to its books for the caller, who works on it. */
struct torture_op *op_make(struct torture_purgatory *p, const struct torture_caller *c)
{
	enum twheel_condition condition = any_condition(c->rng);
	bool orphan = !torture_below(c->rng, 8);
	bool own = !orphan && torture_below(c->rng, 2);
	struct torture_op *o = make(p, c, condition, own, any_nr_keys(c->rng, condition, own));

	if (o)
		o->orphan = orphan;
	return o;
}

/* Make an orphan that will wait until somebody ends it. */
struct torture_op *op_make_idle(struct torture_purgatory *p, const struct torture_caller *c,
				u32 nr)
{
	struct torture_op *o = make(p, c, nr ? TWHEEL_COND_ANY : TWHEEL_COND_NONE, false, nr);

	if (!o)
		return NULL;
	o->orphan = true;
	o->wary = false;
	want_time(o, TWHEEL_NEVER);
	return o;
}

/* Likewise one that many signals do not complete, under one key or, for NULL, under many. */
struct torture_op *op_make_patient(struct torture_purgatory *p, const struct torture_caller *c,
				   struct torture_key *key)
{
	struct torture_op *o = op_make_idle(p, c, key ? 1 : TWHEEL_MAX_KEYS);
	u32 i;

	if (!o)
		return NULL;
	if (key)
		o->want[0].key = key;
	for (i = 0; i < o->nr_want; i++)
		o->want[i].need = 100 + torture_below(c->rng, 400);
	return o;
}
