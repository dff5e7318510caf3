// SPDX-License-Identifier: GPL-2.0
/*
 * The account of armings and their outcomes.
 *
 * Each call that may arm a timer increments @begun in advance, and decrements it again
 * if it has armed nothing. Each outcome increments @ended. So @ended never exceeds
 * @begun, however calls race: a timer that fires twice, or after it was cancelled, is
 * detected at once or at the latest when it is settled.
 *
 * To settle a timer is to cancel it synchronously with exclusive access. The timer is
 * then neither pending nor running, and @ended equals @begun, unless an arming was lost.
 * A call of twheel_timer_cancel_sync() may cancel the timer more than once, if the timer
 * is armed again while the call waits for the timer function; the account stays exact
 * if only that function can arm it. Otherwise the call is counted in @syncs, and
 * armings without an outcome are counted as cancelled; the counts of the wheel show
 * whether they were.
 *
 * When several threads set the deadline of a timer, the current one is unknown. Only
 * the earliest and the latest one since the timer was settled are known, and only a time
 * outside of these bounds is an error.  outcome_arm_exactly() knows the exact deadline.
 *
 * running.c checks the calls of timer functions.
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "torture.h"

/* Shared and exclusive access */

/* Return: false if another thread has exclusive access. */
bool outcome_get_shared(struct torture_timer *t)
{
	return atomic_inc_unless_negative(&t->users);
}

void outcome_put_shared(struct torture_timer *t)
{
	atomic_dec_return_release(&t->users);
}

/* Exclude other threads. The timer's own function may still run. */
bool outcome_get_exclusive(struct torture_timer *t)
{
	return atomic_cmpxchg(&t->users, 0, -1) == 0;
}

void outcome_put_exclusive(struct torture_timer *t)
{
	WRITE_ONCE(t->quiet, false);
	atomic_set_release(&t->users, 0);
}

/* Armings */

/* Lower a bound, unless it is lower already. */
void outcome_lower(atomic64_t *bound, u64 to)
{
	s64 old = atomic64_read(bound);

	while (to < (u64)old && !atomic64_try_cmpxchg(bound, &old, to))
		;
}

/* Raise a bound, unless it is higher already. */
void outcome_raise(atomic64_t *bound, u64 to)
{
	s64 old = atomic64_read(bound);

	while (to > (u64)old && !atomic64_try_cmpxchg(bound, &old, to))
		;
}

/* The time by which a timer should fire. */
static u64 latest(u64 now, u64 deadline, u64 slack)
{
	deadline = max(deadline, now);
	if (slack == TWHEEL_SLACK_COARSE)
		slack = (deadline - now) / 8;
	return deadline + slack < deadline ? U64_MAX : deadline + slack;
}

/* Update the bounds first: a reader that sees the new @begun must see them, too. */
static void arming_begin(struct torture_timer *t, u64 deadline, u64 slack)
{
	outcome_lower(&t->earliest, deadline);
	outcome_raise(&t->latest, latest(twheel_now(t->wheel->wheel), deadline, slack));
	atomic_inc_return(&t->begun);
}

/*
 * Account for the result of a call that may arm. An error must have a known reason. @blocks is
 * t->blocks before the call.
 */
static void arming_end(struct torture_timer *t, int err, int blocks)
{
	struct torture_wheel *w = t->wheel;

	if (!err) {
		torture_count(w, COUNT_ARMED, 1);
		return;
	}
	atomic_dec(&t->begun);
	if (err == -ENOSPC) {
		torture_count(w, COUNT_REJECTED, 1);
		if (!w->max_pending)
			torture_fail(FAIL_RESULT, t, "-ENOSPC without a limit");
	} else if (err == -ESHUTDOWN) {
		torture_count(w, COUNT_REFUSED, 1);
		if (!READ_ONCE(t->shutdown_begun) && !READ_ONCE(w->stopping) &&
		    !atomic_read_acquire(&t->blocked) && atomic_read(&t->blocks) == blocks)
			torture_fail(FAIL_RESULT, t, "-ESHUTDOWN without a shutdown");
	} else if (err == -ECANCELED) {
		outcome_expect_clock_set(t);
	} else if (err != -EBUSY) {
		torture_fail(FAIL_RESULT, t, "unexpected result of add or rearm");
	}
}

int outcome_add(struct torture_timer *t, u64 deadline, u64 slack)
{
	int err, blocks = atomic_read(&t->blocks);

	arming_begin(t, deadline, slack);
	err = kind_add(t, deadline, slack);
	arming_end(t, err, blocks);
	return err;
}

int outcome_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	int ret, blocks = atomic_read(&t->blocks);

	arming_begin(t, deadline, slack);
	ret = kind_rearm(t, deadline, slack, mode);
	if (ret == 1)
		torture_count(t->wheel, COUNT_MOVED, 1);
	if (!ret && mode == TWHEEL_REARM_ALWAYS)
		torture_fail(FAIL_RESULT, t, "rearm neither moved nor armed it");
	if (ret == 2 && mode == TWHEEL_REARM_IF_PENDING)
		torture_fail(FAIL_RESULT, t, "armed with TWHEEL_REARM_IF_PENDING");
	/* A timer that was pending already is not armed again. */
	if (ret == 1 || !ret)
		atomic_dec(&t->begun);
	else
		arming_end(t, ret == 2 ? 0 : ret, blocks);
	return ret;
}

/* Outcomes */

void outcome_end(struct torture_timer *t, enum torture_count outcome)
{
	int ended = atomic_inc_return(&t->ended);

	torture_count(t->wheel, outcome, 1);
	if (ended - atomic_read(&t->begun) > 0)
		torture_fail(FAIL_TWICE, t, "more outcomes than armings");
}

static void outcome_cancelled(struct torture_timer *t)
{
	outcome_end(t, t->kind == KIND_WORK ? COUNT_WORK_CANCELLED : COUNT_CANCELLED);
}

int outcome_cancel(struct torture_timer *t)
{
	int err = kind_cancel(t);

	if (err >= 0)
		outcome_cancelled(t);
	else if (err != -EINPROGRESS && err != -EALREADY)
		torture_fail(FAIL_RESULT, t, "unexpected result of cancel");
	return err;
}

/* Account for the result of a synchronous cancel or shutdown. */
static void synced(struct torture_timer *t, int err)
{
	if (!err)
		outcome_cancelled(t);
	else if (err != -EALREADY)
		torture_fail(FAIL_RESULT, t, "unexpected result of a synchronous cancel");
}

/* Cancel synchronously with shared access: other threads may arm the timer. */
int outcome_cancel_sync(struct torture_timer *t)
{
	int err;

	atomic_inc(&t->syncs);
	err = kind_cancel_sync(t);
	synced(t, err);
	/* An error means that the call cancelled no arming at all. */
	if (err)
		atomic_dec(&t->syncs);
	return err;
}

/*
 * After twheel_timer_shutdown_sync() no thread can arm the timer, so that it must be idle
 * even with shared access.
 */
void outcome_shutdown_sync(struct torture_timer *t)
{
	WRITE_ONCE(t->shutdown_begun, true);
	synced(t, twheel_timer_shutdown_sync(&t->timer));
	WRITE_ONCE(t->shutdown_done, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	if (atomic_read(&t->running))
		torture_fail(FAIL_AFTER, t, "runs after shutdown_sync");
}

/* From here on the timer must not run before it is armed again. */
static void outcome_quiet(struct torture_timer *t)
{
	WRITE_ONCE(t->quiet, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	if (atomic_read(&t->running))
		torture_fail(FAIL_AFTER, t, "runs although it was settled");
	if (twheel_timer_pending(&t->timer) || twheel_timer_remaining(&t->timer) != TWHEEL_NEVER)
		torture_fail(FAIL_AFTER, t, "pending although it was settled");
}

int outcome_nr_open(const struct torture_timer *t)
{
	/* Pairs with the increments of both; @begun is incremented first. */
	int ended = atomic_read_acquire(&t->ended);

	return atomic_read(&t->begun) - ended;
}

/* Count the @open armings of an idle timer as cancelled. */
static void outcome_close(struct torture_timer *t, int open)
{
	torture_count(t->wheel, t->kind == KIND_WORK ? COUNT_WORK_CANCELLED : COUNT_CANCELLED,
		      open);
	atomic_add(open, &t->ended);
	atomic_set(&t->syncs, 0);
}

/* With exclusive access, cancel a timer synchronously and check its account. */
int outcome_settle(struct torture_timer *t)
{
	int err, open;

	err = kind_cancel_sync(t);
	outcome_quiet(t);
	/* twheel_stop() may have removed the timer and not handed it back yet. */
	if (READ_ONCE(t->wheel->stopping)) {
		atomic_inc(&t->syncs);
		synced(t, err);
		return err;
	}

	open = outcome_nr_open(t);
	if (err && err != -EALREADY)
		torture_fail(FAIL_RESULT, t, "unexpected result of cancel_sync");
	else if (!err && open < 1)
		torture_fail(FAIL_TWICE, t, "cancelled without an open arming");
	else if (err && open && !atomic_read(&t->syncs))
		torture_fail(FAIL_LOST, t, "idle, but an arming has no outcome");
	outcome_close(t, open);
	return err;
}

/* Check the account of an unused timer on a stopped wheel. */
void outcome_settle_stopped(struct torture_timer *t)
{
	int open = outcome_nr_open(t);

	outcome_quiet(t);
	if (open && !atomic_read(&t->syncs))
		torture_fail(FAIL_LOST, t, "not handed back by twheel_stop()");
	outcome_close(t, open);
}

/* The deadline after a re-arm of a pending timer, or a lower bound of it. */
static u64 rearmed_to(u64 old, u64 new, enum twheel_rearm mode)
{
	if (mode == TWHEEL_REARM_IF_EARLIER)
		return min(old, new);
	if (mode == TWHEEL_REARM_IF_LATER)
		return max(old, new);
	return new;
}

/*
 * With exclusive access, arm and re-arm a settled timer, so that its deadline is known: a
 * re-arm that finds the timer pending replaces the deadline of the add.
 */
void outcome_arm_exactly(struct torture_timer *t, u64 deadline, u64 other, enum twheel_rearm mode)
{
	bool stopping = READ_ONCE(t->wheel->stopping);
	int err;

	if (!stopping) {
		atomic64_set(&t->earliest, U64_MAX);
		atomic64_set(&t->latest, 0);
		t->clock_seq = torture_clock_seq();
	}
	WRITE_ONCE(t->quiet, false);
	/* A change would cancel the timer or make it due, and its function may arm it again. */
	torture_hold_clock();
	err = outcome_add(t, deadline, 0);
	if (err == -EBUSY)
		torture_fail(FAIL_RESULT, t, "-EBUSY from add of an idle timer");
	if (err)
		goto out;
	if (t->kind == KIND_WORK)
		mode = TWHEEL_REARM_IF_PENDING;
	err = outcome_rearm(t, other, 0, mode);
	/* If the timer has fired since the add, its function may have set another deadline. */
	if (err == 1 || (!err && mode != TWHEEL_REARM_IF_PENDING))
		atomic64_set(&t->earliest, rearmed_to(deadline, other, mode));
out:
	torture_release_clock();
}

void outcome_handed_back(struct torture_timer *t)
{
	outcome_end(t, COUNT_HANDED_BACK);
}
