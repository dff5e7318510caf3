// SPDX-License-Identifier: GPL-2.0
/*
 * Checks in timer functions: whether the timer may run at all, and at this time. The
 * audit checks from outside whether it should have run.
 */
#include <linux/errno.h>

#include "torture.h"

/* Check whether the function may be called, regardless of the time. */
static void expect_call(struct torture_timer *t)
{
	if (READ_ONCE(t->quiet))
		torture_fail(FAIL_AFTER, t, "runs although it was settled");
	if (READ_ONCE(t->shutdown_done))
		torture_fail(FAIL_AFTER, t, "runs although it was shut down");
	if (READ_ONCE(t->wheel->stopped) && t->kind != KIND_WORK)
		torture_fail(FAIL_AFTER, t, "runs although its wheel was stopped");
}

/*
 * Whether a timer that fires early by CLOCK_REALTIME may have been due before the clock
 * was set back.
 */
static bool was_due(const struct torture_timer *t, u64 earliest)
{
	if (t->wheel->clock != TWHEEL_CLOCK_REALTIME)
		return false;
	smp_rmb();	/* after the read of the clock; pairs with set_clock() */
	return torture_clock_reached(t->clock_seq, earliest);
}

static void expect_time(struct torture_timer *t)
{
	bool realtime = t->wheel->clock == TWHEEL_CLOCK_REALTIME;
	u64 now = twheel_now(t->wheel->wheel);
	/* Read each bound once: another thread may move it. */
	u64 earliest = atomic64_read(&t->earliest), latest = outcome_latest(t);

	if (now < earliest && !was_due(t, earliest))
		torture_fail(FAIL_EARLY, t, "fires before its deadline");
	if (now > latest && !realtime) {
		outcome_raise(&torture_late_ns, now - latest);
		if (now - latest > TORTURE_LOST_NS)
			torture_fail(FAIL_LOST, t, "fires long after its deadline");
	}
}

/* The clock must have been set, and a change must cancel the timer. */
void outcome_expect_clock_set(struct torture_timer *t)
{
	if (!(t->flags & TWHEEL_TIMER_CANCEL_ON_SET) || t->wheel->clock != TWHEEL_CLOCK_REALTIME ||
	    (t->clock_seq >= 0 && t->clock_seq == torture_clock_seq()))
		torture_fail(FAIL_RESULT, t, "unexpected -ECANCELED");
}

static void expect_on_time(struct torture_timer *t)
{
	int err = t->kind == KIND_WORK ? 0 : twheel_timer_error(&t->timer);

	if (!err)
		expect_time(t);
	else if (err == -ECANCELED)
		outcome_expect_clock_set(t);
	else
		torture_fail(FAIL_RESULT, t, "unexpected result of twheel_timer_error()");
}

/* Called at the start of a timer function. */
void outcome_enter(struct torture_timer *t)
{
	/* Pairs with the barriers after writes of the flags that expect_call() reads. */
	if (atomic_inc_return(&t->running) != 1)
		torture_fail(FAIL_OVERLAP, t, "its function is running already");
	expect_call(t);
	expect_on_time(t);
	outcome_end(t, COUNT_FIRED);
}

/* Called at the end of a timer function. */
void outcome_leave(struct torture_timer *t)
{
	atomic_dec_return_release(&t->running);
}

/* Audit */

/* Whether a timer must fire eventually. Also false if that is unknown. */
bool outcome_is_open(const struct torture_timer *t)
{
	return outcome_nr_open(t) > 0 && !atomic_read(&t->syncs);
}

/* The time by which a timer should have fired. */
u64 outcome_latest(const struct torture_timer *t)
{
	return atomic64_read(&t->latest);
}

/* Check for a lost timer while other threads use it. */
void outcome_audit(const struct torture_timer *t)
{
	u64 now = twheel_now(t->wheel->wheel);
	int ended = atomic_read_acquire(&t->ended);
	u64 latest;

	if (!outcome_is_open(t))
		return;
	smp_rmb();	/* pairs with the increment in arming_begin() */
	latest = outcome_latest(t);
	if (now > latest && now - latest > TORTURE_LOST_NS && atomic_read(&t->ended) == ended)
		torture_fail(FAIL_LOST, t, "has not fired long after its deadline");
}
