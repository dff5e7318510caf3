// SPDX-License-Identifier: GPL-2.0
/*
 * The books of the torture, seen from inside of a timer's function: whether it
 * may be called at all, and now.  And from aside: whether it should have been.
 */
#include <linux/errno.h>

#include "torture.h"

/* Whether a timer may be called now, whatever the time is. */
static void expect_call(struct torture_timer *t)
{
	unsigned int cut;

	if (READ_ONCE(t->quiet))
		torture_wrong(WRONG_AFTER, t, "runs though it was to rest");
	if (READ_ONCE(t->shut))
		torture_wrong(WRONG_AFTER, t, "runs though it is shut down");
	if (READ_ONCE(t->wheel->stopped) && t->kind != KIND_WORK)
		torture_wrong(WRONG_AFTER, t, "runs though its wheel has stopped");
	if (t->flags & TWHEEL_TIMER_INLINE && !IS_ENABLED(CONFIG_PREEMPT_RT) && !in_hardirq())
		torture_wrong(WRONG_ANSWER, t, "is inline, and runs in a thread");
	if (t->kind != KIND_PERIODIC)
		return;
	if (t->runs == t->limit)
		torture_wrong(WRONG_TWICE, t, "has run often enough");
	cut = READ_ONCE(t->cut);
	if (cut == 2)
		torture_wrong(WRONG_AFTER, t, "runs though it was cancelled");
	else if (cut)
		WRITE_ONCE(t->cut, 2);
}

/*
 * Whether a timer that fires too early by the wall clock may have been due before that
 * was set back. A run after a fixed delay is armed when the function has returned, by the
 * clock from before or from after it was set.
 */
static bool was_due(const struct torture_timer *t, u64 earliest)
{
	int sets = t->runs ? t->next_sets : t->sets;

	if (t->wheel->clock != TWHEEL_CLOCK_REALTIME)
		return false;
	smp_rmb();	/* the clock was read before; pairs with set_clock() */
	if (t->runs && t->repeat == TWHEEL_FIXED_DELAY)
		return sets < 0 || sets != torture_clock_seq();
	return torture_clock_reached(sets, earliest);
}

static void expect_time(struct torture_timer *t)
{
	bool realtime = t->wheel->clock == TWHEEL_CLOCK_REALTIME;
	u64 now = twheel_now(t->wheel->wheel);
	/* Each is read once: another thread may be moving it. */
	u64 earliest = atomic64_read(&t->earliest), latest = outcome_latest(t);

	if (now < earliest && !was_due(t, earliest))
		torture_wrong(WRONG_EARLY, t, "fires before its deadline");
	if (now > latest && !realtime) {
		outcome_raise(&torture_late_ns, now - latest);
		if (now - latest > TORTURE_LOST_NS)
			torture_wrong(WRONG_LOST, t, "fires long after its deadline");
	}
}

/* Told that the clock was set: it must have been, and be this timer's business. */
static void expect_told(struct torture_timer *t)
{
	if (!(t->flags & TWHEEL_TIMER_CANCEL_ON_SET) || t->wheel->clock != TWHEEL_CLOCK_REALTIME ||
	    (t->sets >= 0 && t->sets == torture_clock_seq()))
		torture_wrong(WRONG_ANSWER, t, "told that the clock was set");
}

static void expect_on_time(struct torture_timer *t)
{
	int err = t->kind == KIND_WORK ? 0 : twheel_timer_error(&t->timer);

	if (!err)
		expect_time(t);
	else if (err == -ECANCELED)
		expect_told(t);
	else
		torture_wrong(WRONG_ANSWER, t, "of error");
	/* That was the last run. */
	if (err && t->kind == KIND_PERIODIC)
		WRITE_ONCE(t->cut, 2);
}

/* From when the next run may come, which has not yet been armed. */
static void expect_next(struct torture_timer *t, u64 from)
{
	outcome_raise(&t->latest, from + t->period);
	atomic64_set(&t->earliest, from + t->period);
}

/* First thing in a timer's function. */
void outcome_enter(struct torture_timer *t)
{
	/* Pairs with the barriers of those who say that it must not run. */
	if (atomic_inc_return(&t->running) != 1)
		torture_wrong(WRONG_OVERLAP, t, "its function is running");
	expect_call(t);
	expect_on_time(t);
	outcome_repeated(t);
	outcome_end(t, COUNT_FIRED);
	if (t->kind != KIND_PERIODIC)
		return;
	WRITE_ONCE(t->runs, t->runs + 1);
	t->next_sets = torture_clock_seq();
	if (t->repeat == TWHEEL_FIXED_RATE)
		expect_next(t, atomic64_read(&t->earliest) +
			    t->period * twheel_periodic_overrun(&t->periodic));
}

/* Last thing in a timer's function. */
void outcome_leave(struct torture_timer *t)
{
	if (t->kind == KIND_PERIODIC && t->repeat == TWHEEL_FIXED_DELAY) {
		t->next_sets = torture_clock_seq();
		smp_rmb();	/* pairs with set_clock() */
		expect_next(t, twheel_now(t->wheel->wheel));
	}
	atomic_dec_return_release(&t->running);
}

/* Audit */

/* Whether a timer has to fire sooner or later. False also if that can't be said. */
bool outcome_open(const struct torture_timer *t)
{
	if (t->kind == KIND_PERIODIC)
		return outcome_repeats(t);
	return outcome_nr_open(t) > 0 && !atomic_read(&t->syncs);
}

/* The time by which a timer should have fired. */
u64 outcome_latest(const struct torture_timer *t)
{
	return atomic64_read(&t->latest);
}

/* See whether a timer was forgotten, while others use it. */
void outcome_audit(const struct torture_timer *t)
{
	u64 now = twheel_now(t->wheel->wheel);
	int ended = atomic_read_acquire(&t->ended);
	u64 latest;

	if (!outcome_open(t))
		return;
	smp_rmb();	/* pairs with the increment in arming_begin() */
	latest = outcome_latest(t);
	if (now > latest && now - latest > TORTURE_LOST_NS && atomic_read(&t->ended) == ended)
		torture_wrong(WRONG_LOST, t, "has not fired long after its deadline");
}
