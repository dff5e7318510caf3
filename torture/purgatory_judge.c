// SPDX-License-Identifier: GPL-2.0
/*
 * The books of an operation: whether it ended as it may, and whether it should
 * have.
 *
 * What is told under keys is counted at the keys, when a call begins and again
 * when it has returned.  Signals that had begun before the add returned may or
 * may not count for an operation; those that begin after it do.  So with the
 * counts of before the add and after it we know how many signals it can have
 * seen at the most, and how many it must have.  By the first it may complete,
 * by the second it has to.  The same with predicates: who asks after the
 * predicate came to hold must find that out, or leave it to someone who will.
 *
 * That an operation is due says something only when nothing is under way.
 * Those with keys of their own have this moment again and again: whenever the last
 * of those that work on one leaves it.  That is where two calls on one
 * operation which miss each other show.
 */
#include "purgatory.h"

/* Who works on an operation */

/* Work on an operation, which the caller has a reference to. False if it is judged. */
bool op_enter(struct torture_op *o)
{
	return !o->own || atomic_inc_unless_negative(&o->users);
}

/* The opposite. With the last to leave, nobody is asking for it. */
void op_leave(struct torture_op *o)
{
	struct twheel_op_progress progress;

	if (!o->own || atomic_dec_return(&o->users))
		return;
	if (atomic_cmpxchg(&o->users, 0, -1))
		return;
	if (op_due(o) && !twheel_op_progress(&o->op, &progress, NULL, 0))
		wrong_op(WRONG_LOST, o, "it still waits, and nobody asks for it");
	atomic_set_release(&o->users, 0);
}

/* What it has seen */

/* Before the add. */
void op_account_begin(struct torture_op *o)
{
	struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		want->over = atomic64_read(&want->key->over);
		want->amount_over = atomic64_read(&want->key->amount_over);
	}
	o->held_before = atomic_read_acquire(&o->held) == HELD;
	WRITE_ONCE(o->adding, true);
	smp_mb();	/* what begins from now on may count */
}

/* After the add. */
void op_account_begun(struct torture_op *o)
{
	struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		want->sure = atomic64_read(&want->key->sure);
		want->amount_sure = atomic64_read(&want->key->amount_sure);
		want->cancels = atomic64_read(&want->key->cancels);
	}
	o->alls = atomic64_read(&o->p->alls);
}

/* Signals that an operation may have seen, or if not @may has. */
static u64 seen(const struct torture_want *want, bool may)
{
	return may ? atomic64_read(&want->key->begun) - want->over :
		     atomic64_read(&want->key->sure) - want->sure;
}

static u64 seen_amount(const struct torture_want *want, bool may)
{
	return may ? atomic64_read(&want->key->amount_begun) - want->amount_over :
		     atomic64_read(&want->key->amount_sure) - want->amount_sure;
}

/* Whether a declared condition may hold by its signals, or if not @may does. */
static bool condition_holds(const struct torture_op *o, bool may)
{
	const struct torture_want *want;
	u32 satisfied = 0;
	u64 sum = 0;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		satisfied += seen(want, may) >= want->need;
		sum += seen_amount(want, may);
	}
	switch (o->condition) {
	case TWHEEL_COND_ANY:
		return satisfied;
	case TWHEEL_COND_ALL:
		return satisfied == o->nr_want;
	case TWHEEL_COND_QUORUM:
		return satisfied >= o->quorum;
	case TWHEEL_COND_SUM:
		return sum >= o->threshold;
	default:
		return false;
	}
}

/* Whether somebody has been told that the predicate holds. */
static bool predicate_asked(const struct torture_op *o)
{
	const struct torture_want *want;

	if (atomic_read_acquire(&o->held) != HELD)
		return false;
	if (o->held_before || READ_ONCE(o->asked))
		return true;
	if (READ_ONCE(o->reshaped))
		return false;
	for (want = o->want; want < o->want + o->nr_want; want++)
		if (atomic64_read(&want->key->sure) + atomic64_read(&want->key->checks) !=
		    want->signalled)
			return true;
	return false;
}

static bool any_key_cancelled(const struct torture_op *o)
{
	const struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++)
		if (atomic64_read(&want->key->cancels) != want->cancels)
			return true;
	return false;
}

/*
 * Whether an operation must have ended, as far as its keys and its predicate go.
 * Nothing of these is under way.
 */
bool op_due(struct torture_op *o)
{
	if (!smp_load_acquire(&o->added))	/* by now its books are complete */
		return false;
	if (READ_ONCE(o->over))
		return true;
	if (o->condition == TWHEEL_COND_PREDICATE && predicate_asked(o))
		return true;
	if (READ_ONCE(o->reshaped))
		return false;
	return any_key_cancelled(o) || condition_holds(o, false);
}

/* How it ended */

static bool is_declared(const struct torture_op *o)
{
	return o->condition != TWHEEL_COND_NONE && o->condition != TWHEEL_COND_PREDICATE;
}

/* Whether an operation may be completed by that call. */
static bool may_complete(struct torture_op *o, enum torture_how how)
{
	switch (how) {
	case HOW_UNWATCH:
		return o->condition == TWHEEL_COND_ALL && READ_ONCE(o->reshaped);
	case HOW_SIGNAL:
		if (is_declared(o))
			return READ_ONCE(o->reshaped) || condition_holds(o, true);
		fallthrough;
	case HOW_CHECK:
	case HOW_TRY:
	case HOW_ADD:
	case HOW_WATCH:
		return o->condition == TWHEEL_COND_PREDICATE &&
		       atomic_read(&o->held) != NOT_HELD;
	case HOW_COMPLETE:
	case HOW_ALL:
		return true;
	default:
		return false;
	}
}

static void judge_completed(struct torture_op *o, u64 value)
{
	enum torture_how how = value >> 32;

	if (how > HOW_ALL || (u32)value >= TORTURE_TICKETS)
		wrong_op(WRONG_ANSWER, o, "completed by no call of ours");
	else if (!may_complete(o, how))
		wrong_op(WRONG_EARLY, o, "completed before its condition can hold");
	if ((u32)value < TORTURE_TICKETS && how != HOW_WATCH && how != HOW_UNWATCH)
		atomic_inc(&o->p->ticket[(u32)value]);
}

static void judge_error(struct torture_op *o, int error)
{
	if (error > 0 || error < 2 * ALONE_ERROR)
		wrong_op(WRONG_ANSWER, o, "an error of no call of ours");
	if (error < ALONE_ERROR)
		atomic_inc(&o->p->all_errors);
}

/* Whether a deadline is one that the operation may have. */
static bool may_have(struct torture_op *o, u64 deadline)
{
	if (o->loose)
		return deadline >= (u64)atomic64_read(&o->earliest) &&
		       deadline <= (u64)atomic64_read(&o->latest);
	return deadline == READ_ONCE(o->deadline) || deadline == READ_ONCE(o->next);
}

static void judge_expired(struct torture_op *o, const struct twheel_op_result *result)
{
	if (result->value || result->error)
		wrong_op(WRONG_ANSWER, o, "expired, and carries something");
	if (by_wall_clock(o))
		return;
	if (result->time < result->deadline) {
		if (!READ_ONCE(o->urged))
			wrong_op(WRONG_EARLY, o, "expires before its deadline");
	} else if (result->time - result->deadline > TORTURE_LOST_NS && result->deadline) {
		wrong_op(WRONG_LOST, o, "expires long after its deadline");
	}
}

/* With an error only by the clock; if it has been set since before the add. */
static void judge_cancelled(struct torture_op *o, const struct twheel_op_result *result)
{
	if (result->value || (result->error && result->error != -ECANCELED))
		wrong_op(WRONG_ANSWER, o, "cancelled, and carries something");
	else if (result->error && !o->wary)
		wrong_op(WRONG_ANSWER, o, "cancelled by a clock that it does not care for");
	else if (result->error && o->sets_before >= 0 && o->sets_before == torture_clock_seq())
		wrong_op(WRONG_EARLY, o, "cancelled though the clock was not set");
}

/* How an operation has ended, seen from its callback. */
void op_judge_end(struct torture_op *o, const struct twheel_op_result *result)
{
	u64 now = twheel_now(o->p->wheel[o->wheel]);

	if (!may_have(o, result->deadline))
		wrong_op(WRONG_ANSWER, o, "another deadline than it was given");
	if (result->time > now && !by_wall_clock(o))
		wrong_op(WRONG_ANSWER, o, "ended in the future");
	switch (result->reason) {
	case TWHEEL_COMPLETED:
		if (result->error)
			judge_error(o, result->error);
		else
			judge_completed(o, result->value);
		break;
	case TWHEEL_EXPIRED:
		judge_expired(o, result);
		break;
	case TWHEEL_CANCELLED:
		judge_cancelled(o, result);
		break;
	default:
		wrong_op(WRONG_ANSWER, o, "ended by no reason");
	}
}

/* How many calls should have said of it that they have ended it; -1 for any number. */
static int answers_due(const struct torture_op *o)
{
	enum torture_how how = o->value >> 32;

	if (o->reason == TWHEEL_CANCELLED)
		return o->error ? 0 : -1;
	if (o->reason == TWHEEL_EXPIRED)
		return o->urged ? -1 : 0;
	if (o->error)
		return o->error >= ALONE_ERROR;
	return how == HOW_COMPLETE || how == HOW_TRY || how == HOW_ADD;
}

/* Its books are closed: nobody has it in hand any more. */
void op_judge_release(struct torture_op *o)
{
	int answers = atomic_read(&o->answers);

	if (atomic_read(&o->released) != 1)
		wrong_op(WRONG_TWICE, o, "not released once");
	if (atomic_read(&o->ended) != o->added)
		wrong_op(o->added ? WRONG_LOST : WRONG_TWICE, o, "its end is not that of its add");
	if (!o->added)
		return;
	if (answers_due(o) >= 0 && answers != answers_due(o))
		wrong_op(WRONG_ANSWER, o, "not as many answers as it should have");
	if (o->reason == TWHEEL_CANCELLED && !o->error && !answers)
		atomic_inc(&o->p->unclaimed);
}
