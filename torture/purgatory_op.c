// SPDX-License-Identifier: GPL-2.0
/*
 * The operations under test: their creation, callbacks and release.
 *
 * The memory of an operation is not freed by its release, which only poisons it and puts
 * it into a quarantine. This detects callbacks after the release, and writes to memory
 * that a consumer could have freed. The memory is freed after further releases.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "purgatory.h"

/* Number of released operations that are kept. */
#define QUARANTINE_OPS	64

/* Report a failure of an operation. */
void op_fail(enum torture_failure kind, const struct torture_op *o, const char *detail)
{
	if (!torture_report(kind, detail))
		return;
	pr_err("  purgatory %u, operation %u, condition %d of %u keys%s%s%s%s, held %d, added %d, ended %d, released %d, known ended %d, claims %d; reason %d, value %llx, error %d\n",
	       o->p->number, o->number, o->condition, o->nr_want, o->own ? " (own)" : "",
	       o->shared_deadline ? ", shared deadline" : "", o->orphan ? ", orphan" : "",
	       o->keys_changed ? ", keys changed" : "", atomic_read(&o->held),
	       o->added, atomic_read(&o->ended), atomic_read(&o->released), o->known_ended,
	       atomic_read(&o->claims), o->reason, o->value, o->error);
}

/* Callbacks */

static struct torture_op *to_op(struct twheel_op *op)
{
	return container_of(op, struct torture_op, op);
}

/*
 * Callbacks make random calls, but rarely and only up to a certain depth: a call may run
 * the callbacks of all operations that watch a key, which make further calls.
 */
static void act(struct torture_op *o, unsigned int one_in)
{
	const struct torture_caller c = { .rng = &o->rng };
	struct torture_call *call = call_current();

	if (READ_ONCE(o->p->closing))
		return;
	if (call && call->chain)
		purgatory_chain(o->p, c.rng);
	else if (!torture_below(c.rng, one_in) && (!call || call->depth < 2))
		purgatory_random_call(o->p, &c);
}

/* Calls from a predicate or a callback on its operation. The callback runs after the predicate. */
static void act_on_self(struct torture_op *o, unsigned int one_in)
{
	switch (torture_below(&o->rng, one_in)) {
	case 0:
		op_complete(o);
		break;
	case 1:
		op_cancel(o);
		break;
	case 2:
		op_try_complete(o);
		break;
	case 3:
		op_rearm(o, &o->rng);
		break;
	}
}

/* Whether the predicate runs in a call that evaluates predicates. */
static bool called_by_evaluator(const struct torture_call *call)
{
	return call && (call->type == CALL_SIGNAL || call->type == CALL_CHECK ||
			call->type == CALL_TRY || call->type == CALL_ADD ||
			call->type == CALL_WATCH);
}

static void callback_enter(struct torture_op *o)
{
	atomic_inc_return(&o->p->callbacks);	/* pairs with the barrier after the drain */
	if (READ_ONCE(o->p->drained))
		op_fail(FAIL_AFTER, o, "called back after the drain");
	if (atomic_read(&o->released))
		op_fail(FAIL_AFTER, o, "called back after its release");
	if (!READ_ONCE(o->adding))
		op_fail(FAIL_AFTER, o, "called back without an add");
}

static bool evaluate(struct twheel_op *op, u64 *value)
{
	struct torture_call *call = call_current();
	struct torture_purgatory *p = to_op(op)->p;
	struct torture_op *o = to_op(op);
	bool held;

	callback_enter(o);
	if (atomic_inc_return(&o->evaluating) != 1)
		op_fail(FAIL_OVERLAP, o, "its predicate is running already");
	if (atomic_read(&o->ended))
		op_fail(FAIL_AFTER, o, "its predicate runs after its callback");
	if (!called_by_evaluator(call))
		op_fail(FAIL_RESULT, o, "its predicate runs outside of a call that evaluates it");
	held = atomic_read(&o->held) != NOT_HELD;
	/* Let other calls race, after the result has been determined. */
	if (torture_below(&o->rng, 2) && torture_may_delay(&o->rng))
		udelay(torture_below(&o->rng, 30));
	act_on_self(o, 32);
	act(o, 64);
	if (held && call)
		*value = call_value(call);
	atomic_dec_return_release(&o->evaluating);
	atomic_dec_return_release(&p->callbacks);
	return held;
}

static void ended(struct twheel_op *op)
{
	struct torture_purgatory *p = to_op(op)->p;
	struct torture_op *o = to_op(op);
	struct twheel_op_result result;

	callback_enter(o);
	if (atomic_inc_return(&o->ended) != 1)
		op_fail(FAIL_TWICE, o, "called back twice");
	if (atomic_read(&o->evaluating))
		op_fail(FAIL_OVERLAP, o, "called back while its predicate is running");
	twheel_op_get_result(op, &result);
	o->reason = result.reason;
	o->error = result.error;
	o->value = result.value;
	WRITE_ONCE(o->known_ended, true);
	op_check_end(o, &result);
	if (result.reason <= TWHEEL_REASON_CANCELLED)
		atomic64_inc(&p->ended[result.reason]);
	/* Let other calls wait for this callback. */
	if (!torture_below(&o->rng, 8) && torture_may_delay(&o->rng))
		udelay(torture_below(&o->rng, 30));
	act_on_self(o, 16);
	if (!torture_below(&o->rng, 16))
		op_check_progress(o);
	act(o, 8);
	/* Publishes the result; pairs with the acquire in cancelled_for_key(). */
	smp_store_release(&o->returned, true);
	if (o->orphan)
		twheel_op_put(op);
	atomic_dec_return_release(&p->callbacks);
}

/* Release */

static void expect_poison(const struct torture_op *o, const void *from, size_t size)
{
	if (memchr_inv(from, TORTURE_POISON, size))
		op_fail(FAIL_AFTER, o, "written after its release or an unwatch");
}

static void free_op(struct torture_op *o)
{
	expect_poison(o, &o->op, sizeof(o->op));
	expect_poison(o, o->watch, o->nr_watches * sizeof(*o->watch));
	kfree(o->watch);
	kfree(o);
}

/* Free released operations, except for the last @keep. */
void quarantine_free(struct torture_purgatory *p, unsigned int keep)
{
	struct torture_op *o;

	do {
		o = NULL;
		spin_lock_bh(&p->quarantine_lock);
		if (p->nr_quarantined > keep) {
			o = list_first_entry(&p->quarantine, struct torture_op, quarantine_entry);
			list_del(&o->quarantine_entry);
			p->nr_quarantined--;
		}
		spin_unlock_bh(&p->quarantine_lock);
		if (o)
			free_op(o);
	} while (o);
}

/* Drop a reference to the account. The last one puts the operation into the quarantine. */
void op_account_put(struct torture_op *o)
{
	struct torture_purgatory *p = o->p;

	if (!refcount_dec_and_test(&o->refs))
		return;
	op_check_release(o);
	spin_lock_bh(&p->quarantine_lock);
	list_add_tail(&o->quarantine_entry, &p->quarantine);
	p->nr_quarantined++;
	spin_unlock_bh(&p->quarantine_lock);
	atomic_dec(&p->alive);
	quarantine_free(p, QUARANTINE_OPS);
}

static void release(struct twheel_op *op)
{
	struct torture_op *o = to_op(op);
	unsigned int i;

	if (atomic_inc_return(&o->released) != 1) {
		op_fail(FAIL_TWICE, o, "released twice");
		return;
	}
	for_each_set_bit(i, o->unwatched, o->nr_watches)
		expect_poison(o, &o->watch[i], sizeof(o->watch[i]));
	memset(&o->op, TORTURE_POISON, sizeof(o->op));
	memset(o->watch, TORTURE_POISON, o->nr_watches * sizeof(*o->watch));
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

/* Creation */

static enum twheel_condition random_condition(struct rnd_state *rng)
{
	static const enum twheel_condition conditions[] = {
		TWHEEL_COND_NONE, TWHEEL_COND_ANY, TWHEEL_COND_ALL, TWHEEL_COND_QUORUM,
		TWHEEL_COND_SUM, TWHEEL_COND_PREDICATE, TWHEEL_COND_PREDICATE,
		TWHEEL_COND_PREDICATE,
	};

	return conditions[torture_below(rng, ARRAY_SIZE(conditions))];
}

/* Mostly few keys, sometimes up to the maximum. */
static u32 random_nr_keys(struct rnd_state *rng, enum twheel_condition condition, bool own)
{
	if (condition == TWHEEL_COND_NONE)
		return 0;
	if (condition == TWHEEL_COND_PREDICATE && !torture_below(rng, 8))
		return 0;
	if (own)
		return 1 + torture_below(rng, OWN_KEYS - 1);
	return 1 + torture_below(rng, torture_below(rng, 16) ? 4 : TWHEEL_MAX_KEYS);
}

/* Half of the operations start with the same shared key. */
static void init_keys(struct torture_op *o)
{
	bool counts = o->condition == TWHEEL_COND_ANY || o->condition == TWHEEL_COND_ALL ||
		      o->condition == TWHEEL_COND_QUORUM;
	u32 i, first = torture_below(&o->rng, 2) ? 0 : torture_below(&o->rng, TORTURE_KEYS);

	for (i = 0; i < OWN_KEYS; i++)
		torture_key_init(&o->own_key[i], o->number, 1 + i);
	for (i = 0; i < o->nr_want; i++) {
		o->want[i].key = o->own ? &o->own_key[i] :
					  &o->p->key[(first + i) % TORTURE_KEYS];
		o->want[i].need = counts ? 1 + torture_below(&o->rng, o->has_cell ? 1 : 3) : 0;
	}
}

static void init_deadline(struct torture_op *o, u64 deadline)
{
	o->shared_deadline = !o->has_cell && !torture_below(&o->rng, 4);
	o->deadline = deadline;
	o->next_deadline = deadline;
	atomic64_set(&o->earliest, deadline);
	atomic64_set(&o->latest, deadline);
}

static struct torture_op *op_alloc(u32 nr, gfp_t gfp)
{
	struct torture_op *o = kzalloc(struct_size(o, want, nr), gfp);

	if (!o)
		return NULL;
	o->nr_want = nr;
	o->nr_watches = nr + SPARE_WATCHES;
	o->watch = kmalloc_array(o->nr_watches, sizeof(*o->watch), gfp);
	if (!o->watch) {
		kfree(o);
		return NULL;
	}
	memset(o->watch, TORTURE_POISON, o->nr_watches * sizeof(*o->watch));
	return o;
}

static struct torture_op *create(struct torture_purgatory *p, const struct torture_caller *c,
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
	o->wheel = torture_below(&o->rng, TORTURE_WHEELS);
	o->has_cell = condition <= TWHEEL_COND_ANY && !uses_wall_clock(o) &&
		      torture_below(&o->rng, 2);
	o->lowered = torture_below(&o->rng, 2);
	o->hostile = o->has_cell && !torture_below(&o->rng, 8);
	init_keys(o);
	o->cancel_on_set = uses_wall_clock(o) && torture_below(&o->rng, 2);
	o->slack = o->has_cell ? 0 : torture_slack(&o->rng);
	init_deadline(o, torture_deadline(&o->rng, p->wheel[o->wheel]));
	twheel_op_init(&o->op, condition == TWHEEL_COND_PREDICATE ? &predicate_ops :
								    &declared_ops);
	atomic_inc(&p->alive);
	return o;
}

/*
 * Create an operation. The caller becomes a user of it, with a reference to the operation
 * and one to its account.
 */
struct torture_op *op_create(struct torture_purgatory *p, const struct torture_caller *c)
{
	enum twheel_condition condition = random_condition(c->rng);
	bool orphan = !torture_below(c->rng, 8);
	bool own = !orphan && torture_below(c->rng, 2);
	struct torture_op *o = create(p, c, condition, own, random_nr_keys(c->rng, condition, own));

	if (o)
		o->orphan = orphan;
	return o;
}

/* Create an orphan that stays pending until a call ends it. */
struct torture_op *op_create_idle(struct torture_purgatory *p, const struct torture_caller *c,
				  u32 nr)
{
	struct torture_op *o = create(p, c, nr ? TWHEEL_COND_ANY : TWHEEL_COND_NONE, false, nr);

	if (!o)
		return NULL;
	o->orphan = true;
	o->cancel_on_set = false;
	o->has_cell = false;
	o->hostile = false;
	init_deadline(o, TWHEEL_NEVER);
	return o;
}

/* Likewise, but it needs 100 or more signals of @key, or of one of many keys if NULL. */
struct torture_op *op_create_patient(struct torture_purgatory *p, const struct torture_caller *c,
				     struct torture_key *key)
{
	struct torture_op *o = op_create_idle(p, c, key ? 1 : TWHEEL_MAX_KEYS);
	u32 i;

	if (!o)
		return NULL;
	if (key)
		o->want[0].key = key;
	for (i = 0; i < o->nr_want; i++)
		o->want[i].need = 100 + torture_below(c->rng, 400);
	return o;
}
