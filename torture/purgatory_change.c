// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that change the deadline or the keys of an operation, or read its progress.
 *
 * The deadline of most operations is moved by one thread at a time, which knows it exactly.
 * While a re-arm is in progress, either of two deadlines may be the current one.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "../kunit/model/condition.h"
#include "purgatory.h"

/* Deadlines */

/* Check a re-arm. @exact: the operation was added, and no other thread re-arms it. */
static void check_rearm(struct torture_op *o, u64 deadline, enum twheel_rearm mode, int ret,
			bool exact)
{
	if (ret == -ENOENT || ret == -EALREADY) {
		if (ret == -ENOENT ? exact : !READ_ONCE(o->adding))
			op_fail(FAIL_RESULT, o, "unexpected result of rearm");
		return;
	}
	if (ret < 0 || ret > 1)
		op_fail(FAIL_RESULT, o, "unexpected result of rearm");
	if (!ret && (mode == TWHEEL_REARM_ALWAYS || mode == TWHEEL_REARM_IF_PENDING))
		op_fail(FAIL_RESULT, o, "rearm did not move the deadline");
	if (!exact || ret != 1)
		return;
	if ((mode == TWHEEL_REARM_IF_EARLIER && deadline > o->deadline) ||
	    (mode == TWHEEL_REARM_IF_LATER && deadline < o->deadline))
		op_fail(FAIL_RESULT, o, "rearm moved the deadline the wrong way");
}

static int rearm(struct torture_op *o, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	bool added = smp_load_acquire(&o->added);	/* with the account of the add */
	int seq = torture_clock_seq(), ret;

	ret = twheel_op_rearm_slack(&o->op, deadline, slack, mode);
	if (ret == 1 && o->cancel_on_set && added && seq >= 0 && o->clock_seq_after >= 0 &&
	    seq != o->clock_seq_after)
		op_fail(FAIL_LOST, o, "pending although the clock was set");
	return ret;
}

static void rearm_shared(struct torture_op *o, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	outcome_lower(&o->earliest, deadline);
	outcome_raise(&o->latest, deadline);
	check_rearm(o, deadline, mode, rearm(o, deadline, slack, mode), false);
}

static void rearm_exactly(struct torture_op *o, u64 deadline, u64 slack,
			  enum twheel_rearm mode)
{
	bool added = smp_load_acquire(&o->added);	/* rules out -ENOENT */
	int ret;

	/* After @deadline of the previous re-arm; see valid_deadline(). */
	smp_store_release(&o->next_deadline, deadline);
	ret = rearm(o, deadline, slack, mode);
	check_rearm(o, deadline, mode, ret, added);
	/* After the end, keep both: the callback may have either. */
	if (ret == 1)
		WRITE_ONCE(o->deadline, deadline);
	else if (!ret || ret == -ENOENT)
		WRITE_ONCE(o->next_deadline, o->deadline);
}

void op_rearm(struct torture_op *o, struct rnd_state *rng)
{
	enum twheel_rearm mode = torture_rearm(rng);
	u64 deadline = torture_deadline(rng, o->p->wheel[o->wheel]), slack = torture_slack(rng);

	if (o->has_cell) {
		op_use_cell(o, rng);
		return;
	}
	if (o->shared_deadline) {
		rearm_shared(o, deadline, slack, mode);
	} else if (!test_and_set_bit_lock(0, &o->rearming)) {
		rearm_exactly(o, deadline, slack, mode);
		clear_bit_unlock(0, &o->rearming);
	}
}

/* Keys */

/* Reserve @nr unused elements of @watch. Return: NULL if too few are left. */
static struct twheel_watch *spare_watches(struct torture_op *o, u32 nr)
{
	int used = atomic_fetch_add(nr, &o->nr_spare_used);

	return used + nr > SPARE_WATCHES ? NULL : &o->watch[o->nr_want + used];
}

/* Different keys, possibly watched already: its own keys if it has any, or else shared ones. */
static void random_specs(struct torture_op *o, struct rnd_state *rng,
			 struct twheel_watch_spec *specs, u32 nr)
{
	u32 i, first = torture_below(rng, TORTURE_KEYS);

	memset(specs, 0, nr * sizeof(*specs));
	for (i = 0; i < nr; i++)
		specs[i].key = o->own ? o->own_key[(first + i) % OWN_KEYS].key :
					o->p->key[(first + i) % TORTURE_KEYS].key;
}

static void check_watch(struct torture_op *o, int ret, u32 nr)
{
	switch (ret) {
	case -ENOSPC:
		atomic64_inc(&o->p->rejected);
		if (!o->p->max_watches)
			op_fail(FAIL_RESULT, o, "-ENOSPC from watch without a limit");
		break;
	case -EINVAL:
		if (o->condition != TWHEEL_COND_NONE &&
		    o->nr_want + SPARE_WATCHES <= TWHEEL_MAX_KEYS)
			op_fail(FAIL_RESULT, o, "-EINVAL from watch without a reason");
		break;
	case -EAGAIN:
		if (!op_may_be_idle(o))
			op_fail(FAIL_RESULT, o, "-EAGAIN from watch without an idle cell");
		break;
	case -ENOENT:
	case -EALREADY:
	case -ENOMEM:
		break;
	default:
		if (ret < 0 || ret > nr || o->condition == TWHEEL_COND_NONE)
			op_fail(FAIL_RESULT, o, "unexpected result of watch");
	}
}

void op_watch(struct torture_op *o, const struct torture_caller *c)
{
	bool held = atomic_read_acquire(&o->held) == HELD, ended = READ_ONCE(o->known_ended);
	u32 nr = 1 + torture_below(c->rng, 3);
	struct twheel_watch_spec specs[3];
	struct torture_call call;
	struct twheel_watch *watches = spare_watches(o, nr);
	int ret;

	if (!watches)
		return;
	random_specs(o, c->rng, specs, nr);
	WRITE_ONCE(o->keys_changed, true);
	smp_mb();	/* a call that sees the new watch sees this, too */
	call_begin(&call, o->p, CALL_WATCH);
	ret = twheel_op_watch(&o->op, specs, watches, nr);
	call_end(&call, 0);
	check_watch(o, ret, nr);
	if (ret >= 0 && ended)
		op_fail(FAIL_TWICE, o, "watch succeeded after the end");
	if (ret > 0 && held && o->condition == TWHEEL_COND_PREDICATE)
		WRITE_ONCE(o->checked, true);
}

/* Poison a watch that was returned, to detect later writes. */
static void check_unwatched(struct torture_op *o, struct twheel_watch *watch)
{
	if (watch < o->watch || watch >= o->watch + o->nr_watches) {
		op_fail(FAIL_RESULT, o, "unwatch returned an unknown watch");
		return;
	}
	if (test_and_set_bit(watch - o->watch, o->unwatched))
		op_fail(FAIL_TWICE, o, "unwatch returned the same watch twice");
	memset(watch, TORTURE_POISON, sizeof(*watch));
}

void op_unwatch(struct torture_op *o, struct rnd_state *rng)
{
	bool ended = READ_ONCE(o->known_ended);
	struct twheel_watch *watch;
	struct torture_call call;

	if (!o->nr_want)
		return;
	WRITE_ONCE(o->keys_changed, true);
	smp_mb();	/* a call that misses the watch sees this */
	call_begin(&call, o->p, CALL_UNWATCH);
	watch = twheel_op_unwatch(&o->op, &o->want[torture_below(rng, o->nr_want)].key->key);
	call_end(&call, 0);
	switch (PTR_ERR_OR_ZERO(watch)) {
	case 0:
		check_unwatched(o, watch);
		if (ended)
			op_fail(FAIL_TWICE, o, "unwatch succeeded after the end");
		break;
	case -EINVAL:
		if (o->condition == TWHEEL_COND_PREDICATE)
			op_fail(FAIL_RESULT, o, "-EINVAL from unwatch of a predicate");
		break;
	case -EAGAIN:
		if (!op_may_be_idle(o))
			op_fail(FAIL_RESULT, o, "-EAGAIN from unwatch without an idle cell");
		break;
	case -ENOENT:
	case -EALREADY:
	case -ESRCH:
		break;
	default:
		op_fail(FAIL_RESULT, o, "unexpected result of unwatch");
	}
}

/* Progress */

static void check_progress(struct torture_op *o, const struct twheel_op_progress *progress)
{
	bool signals = condition_needs_signals(o->condition);
	u64 max_missing = o->condition == TWHEEL_COND_SUM ? o->threshold : TWHEEL_MAX_KEYS;
	/* The add runs the predicate before it watches the keys. */
	bool adding = o->condition == TWHEEL_COND_PREDICATE && !progress->nr_keys;

	if (progress->condition != o->condition || progress->nr_keys > TWHEEL_MAX_KEYS ||
	    (progress->nr_keys != o->nr_want && !READ_ONCE(o->keys_changed) && !adding))
		op_fail(FAIL_RESULT, o, "progress does not match the operation");
	if (signals ? !progress->missing || progress->missing > max_missing : progress->missing)
		op_fail(FAIL_RESULT, o, "pending with an impossible number of missing signals");
}

void op_check_progress(struct torture_op *o)
{
	bool ended = READ_ONCE(o->known_ended);
	bool added = smp_load_acquire(&o->added);	/* as in op_due() */
	struct twheel_op_progress progress;
	struct twheel_watch_spec specs[4];
	int ret;

	ret = twheel_op_get_progress(&o->op, &progress, specs, ARRAY_SIZE(specs));
	if (!ret && ended)
		op_fail(FAIL_TWICE, o, "pending after the end");
	if (!ret)
		check_progress(o, &progress);
	else if (ret != -EALREADY && (ret != -ENOENT || added))
		op_fail(FAIL_RESULT, o, "unexpected result of progress");
}
