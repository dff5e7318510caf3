// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of an operation: whether it may have ended, and whether it must have ended.
 *
 * A key counts its signals when a call begins and again after it has returned. A signal
 * that began before the add returned may or may not count for the operation; a signal
 * that begins later does. So the counters before and after the add give the maximum and
 * minimum number of signals that the operation has seen. It may complete if the maximum
 * satisfies its condition, and must complete if the minimum does. Predicates are alike: a
 * call that evaluates the predicate after it has started to hold must notice that, or
 * leave it to another call that will.
 *
 * That an operation must have ended can only be checked while no call is in progress. For
 * operations with keys of their own this is the case whenever their last user leaves.
 * This detects two concurrent calls on one operation that miss each other.
 */
#include "../kunit/model/condition.h"
#include "purgatory.h"

/* Users of an operation */

/* Start to use an operation, with a reference. Return: false while it is being checked. */
bool op_enter(struct torture_op *o)
{
	return !o->own || atomic_inc_unless_negative(&o->users);
}

/* Stop using an operation. After its last user no call on it is in progress: check it. */
void op_leave(struct torture_op *o)
{
	struct twheel_op_progress progress;

	if (!o->own || atomic_dec_return(&o->users))
		return;
	if (atomic_cmpxchg(&o->users, 0, -1))
		return;
	if (op_due(o) && !twheel_op_get_progress(&o->op, &progress, NULL, 0))
		op_fail(FAIL_LOST, o, "pending although it is due and has no user");
	atomic_set_release(&o->users, 0);
}

/* Signals that an operation has seen */

/* Called before the add. */
void op_account_begin(struct torture_op *o)
{
	struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		want->done = atomic64_read(&want->key->done);
		want->amount_done = atomic64_read(&want->key->amount_done);
	}
	o->held_before = atomic_read_acquire(&o->held) == HELD;
	WRITE_ONCE(o->adding, true);
	smp_mb();	/* signals that begin from now on may count */
}

/* Called after the add. */
void op_account_added(struct torture_op *o)
{
	struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		want->unlimited = atomic64_read(&want->key->unlimited);
		want->amount_unlimited = atomic64_read(&want->key->amount_unlimited);
		want->cancels = atomic64_read(&want->key->cancels);
	}
	o->complete_alls = atomic64_read(&o->p->complete_alls);
}

/* The maximum (@at_most) or minimum number of signals that the operation has seen. */
static u64 seen(const struct torture_want *want, bool at_most)
{
	return at_most ? atomic64_read(&want->key->begun) - want->done :
		     atomic64_read(&want->key->unlimited) - want->unlimited;
}

static u64 seen_amount(const struct torture_want *want, bool at_most)
{
	return at_most ? atomic64_read(&want->key->amount_begun) - want->amount_done :
		     atomic64_read(&want->key->amount_unlimited) - want->amount_unlimited;
}

/* Whether the maximum (@at_most) or minimum of signals satisfies a declared condition. */
static bool condition_holds(const struct torture_op *o, bool at_most)
{
	struct condition_state state = {
		.condition	= o->condition,
		.quorum		= o->quorum,
		.threshold	= o->threshold,
		.nr_keys	= o->nr_want,
	};
	const struct torture_want *want;

	for (want = o->want; want < o->want + o->nr_want; want++) {
		state.nr_satisfied += seen(want, at_most) >= want->need;
		state.amount += seen_amount(want, at_most);
	}
	return condition_needs_signals(o->condition) && !condition_missing(&state);
}

/* Whether a call must have noticed that the predicate holds. */
static bool predicate_checked(const struct torture_op *o)
{
	const struct torture_want *want;

	if (atomic_read_acquire(&o->held) != HELD)
		return false;
	if (o->held_before || READ_ONCE(o->checked))
		return true;
	if (READ_ONCE(o->keys_changed))
		return false;
	for (want = o->want; want < o->want + o->nr_want; want++)
		if (atomic64_read(&want->key->unlimited) + atomic64_read(&want->key->checks) !=
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
 * Whether an operation must have ended by its keys or its predicate. The answer is only
 * valid while no call on these is in progress.
 */
bool op_due(struct torture_op *o)
{
	if (!smp_load_acquire(&o->added))	/* its account is complete */
		return false;
	if (READ_ONCE(o->known_ended))
		return true;
	if (o->condition == TWHEEL_COND_PREDICATE && predicate_checked(o))
		return true;
	if (READ_ONCE(o->keys_changed))
		return false;
	return any_key_cancelled(o) || (!op_may_be_idle(o) && condition_holds(o, false));
}

/* The end of an operation */

/* Whether a call of this type may complete the operation. */
static bool may_complete(struct torture_op *o, enum torture_call_type type)
{
	switch (type) {
	case CALL_UNWATCH:
		return o->condition == TWHEEL_COND_ALL && READ_ONCE(o->keys_changed);
	case CALL_SIGNAL:
		if (condition_needs_signals(o->condition))
			return READ_ONCE(o->keys_changed) || condition_holds(o, true);
		fallthrough;
	case CALL_CHECK:
	case CALL_TRY:
	case CALL_ADD:
	case CALL_WATCH:
		return o->condition == TWHEEL_COND_PREDICATE &&
		       atomic_read(&o->held) != NOT_HELD;
	case CALL_COMPLETE:
	case CALL_ALL:
		return true;
	default:
		return false;
	}
}

static void check_completed(struct torture_op *o, u64 value)
{
	enum torture_call_type type = value >> 32;

	if (type > CALL_ALL || (u32)value >= TORTURE_TICKETS)
		op_fail(FAIL_RESULT, o, "completed with an unknown value");
	else if (!may_complete(o, type))
		op_fail(FAIL_EARLY, o, "completed before its condition can hold");
	if ((u32)value < TORTURE_TICKETS && type != CALL_WATCH && type != CALL_UNWATCH)
		atomic_inc(&o->p->ticket[(u32)value]);
}

static void check_error(struct torture_op *o, int error)
{
	if (error > 0 || error < 2 * MIN_OP_ERROR)
		op_fail(FAIL_RESULT, o, "completed with an unknown error");
	if (error < MIN_OP_ERROR)
		atomic_inc(&o->p->complete_all_errors);
}

/* Whether the operation may have this deadline. */
static bool valid_deadline(struct torture_op *o, u64 deadline)
{
	if (o->shared_deadline)
		return deadline >= (u64)atomic64_read(&o->earliest) &&
		       deadline <= (u64)atomic64_read(&o->latest);
	/*
	 * In this order: the operation has ended, so only a re-arm that had begun before can set
	 * @deadline, and the next one sets @next_deadline after that. Pairs with the release in
	 * rearm_exactly().
	 */
	return deadline == smp_load_acquire(&o->next_deadline) ||
	       deadline == READ_ONCE(o->deadline);
}

static void check_expired(struct torture_op *o, const struct twheel_op_result *result)
{
	if (result->value || result->error)
		op_fail(FAIL_RESULT, o, "expired with a value or an error");
	if (uses_wall_clock(o) || o->has_cell)
		return;
	if (result->time < result->deadline) {
		if (!READ_ONCE(o->expire_called))
			op_fail(FAIL_EARLY, o, "expired before its deadline");
	} else if (result->time - result->deadline > TORTURE_LOST_NS && result->deadline) {
		op_fail(FAIL_LOST, o, "expired long after its deadline");
	}
}

/* An error must come from a change of the clock that is not older than the add. */
static void check_cancelled(struct torture_op *o, const struct twheel_op_result *result)
{
	if (result->value || (result->error && result->error != -ECANCELED))
		op_fail(FAIL_RESULT, o, "cancelled with a value or an unknown error");
	else if (result->error && !o->cancel_on_set)
		op_fail(FAIL_RESULT, o, "cancelled by the clock without CANCEL_ON_SET");
	else if (result->error && o->clock_seq_before >= 0 &&
		 o->clock_seq_before == torture_clock_seq())
		op_fail(FAIL_EARLY, o, "cancelled although the clock was not set");
}

/* Check the result of an operation, in its callback. */
void op_check_end(struct torture_op *o, const struct twheel_op_result *result)
{
	u64 now = twheel_now(o->p->wheel[o->wheel]);

	if (!valid_deadline(o, result->deadline))
		op_fail(FAIL_RESULT, o, "ended with a wrong deadline");
	if (result->time > now && !uses_wall_clock(o))
		op_fail(FAIL_RESULT, o, "ended in the future");
	if (o->has_cell)
		op_check_word(o, result);
	switch (result->reason) {
	case TWHEEL_REASON_COMPLETED:
		if (result->error)
			check_error(o, result->error);
		else
			check_completed(o, result->value);
		break;
	case TWHEEL_REASON_EXPIRED:
		check_expired(o, result);
		break;
	case TWHEEL_REASON_CANCELLED:
		check_cancelled(o, result);
		break;
	default:
		op_fail(FAIL_RESULT, o, "ended for an unknown reason");
	}
}

/* Return: the number of calls that must claim to have ended it, -1 if unknown. */
static int expected_claims(const struct torture_op *o)
{
	enum torture_call_type type = o->value >> 32;

	if (o->reason == TWHEEL_REASON_CANCELLED)
		return o->error ? 0 : -1;
	if (o->reason == TWHEEL_REASON_EXPIRED)
		return o->expire_called ? -1 : 0;
	if (o->error)
		return o->error >= MIN_OP_ERROR;
	return type == CALL_COMPLETE || type == CALL_TRY || type == CALL_ADD;
}

/* Check the account of an operation after its last reference was dropped. */
void op_check_release(struct torture_op *o)
{
	int claims = atomic_read(&o->claims);

	if (atomic_read(&o->released) != 1)
		op_fail(FAIL_TWICE, o, "not released exactly once");
	if (atomic_read(&o->ended) != o->added)
		op_fail(o->added ? FAIL_LOST : FAIL_TWICE, o, "callbacks do not match its add");
	if (!o->added)
		return;
	op_check_last_word(o);
	if (expected_claims(o) >= 0 && claims != expected_claims(o))
		op_fail(FAIL_RESULT, o, "wrong number of calls claim to have ended it");
	if (o->reason == TWHEEL_REASON_CANCELLED && !o->error && !claims)
		atomic_inc(&o->p->unclaimed);
}
