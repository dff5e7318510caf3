// SPDX-License-Identifier: GPL-2.0
/*
 * The books of the torture: what was promised of each timer, and what it did.
 *
 * Each call that may arm a timer counts in @begun before it is made, and is
 * taken back if it armed nothing.  Each fate counts in @ended.  So @ended never
 * exceeds @begun, whoever does what at the same time: a timer that fires twice,
 * or after it was cancelled, shows at once or at the latest when it is settled.
 *
 * To settle a timer is to be alone with it and to cancel it synchronously.
 * Then it neither waits nor runs, nor will it, and @ended is @begun.  One that
 * was dropped on the way shows here.  A call of twheel_timer_cancel_sync() may
 * cancel more than once, if the timer is armed anew while the call waits for
 * its function; the books are exact if nobody but that function can do so.
 * Otherwise the call goes into @syncs, and what is missing from @ended is taken
 * for cancelled; whether that is so, the counts of the wheel will tell.
 *
 * A timer that repeats is armed by the reaper, which we see only by the fate of
 * that arming: it is put on the books together with that.  How many runs there
 * may be is known, and that is what is judged.
 *
 * When several threads give a timer deadlines, nobody can say which holds. Only
 * the earliest and the latest of all since it was settled are known, and only
 * what is outside of those is wrong.  outcome_arm_exactly() knows it exactly.
 *
 * running.c is about what is judged when a timer's function is called.
 */
#include <linux/errno.h>
#include <linux/minmax.h>

#include "torture.h"

/* Who works on a timer */

/* Work on a timer beside others. False if somebody is alone with it. */
bool outcome_share(struct torture_timer *t)
{
	return atomic_inc_unless_negative(&t->users);
}

void outcome_unshare(struct torture_timer *t)
{
	atomic_dec_return_release(&t->users);
}

/* Keep all from working on a timer, but its own function. */
bool outcome_alone(struct torture_timer *t)
{
	return atomic_cmpxchg(&t->users, 0, -1) == 0;
}

void outcome_release(struct torture_timer *t)
{
	WRITE_ONCE(t->quiet, false);
	atomic_set_release(&t->users, 0);
}

/* Armings */

/* Set a bound lower, if it isn't. */
static void lower(atomic64_t *bound, u64 to)
{
	s64 old = atomic64_read(bound);

	while (to < (u64)old && !atomic64_try_cmpxchg(bound, &old, to))
		;
}

/* Set a bound higher, if it isn't. */
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

/* The bounds come first: whoever sees the arming must not find old ones. */
static void arming_begin(struct torture_timer *t, u64 deadline, u64 slack)
{
	lower(&t->earliest, deadline);
	outcome_raise(&t->latest, latest(twheel_now(t->wheel->wheel), deadline, slack));
	atomic_inc_return(&t->begun);
	if (t->kind == KIND_PERIODIC) {
		WRITE_ONCE(t->runs, 0);
		WRITE_ONCE(t->cut, 0);
	}
}

/* Only who was told to go away may be refused. */
static void arming_end(struct torture_timer *t, int err)
{
	struct torture_wheel *w = t->wheel;

	if (!err) {
		torture_count(w, COUNT_ARMED, 1);
		return;
	}
	atomic_dec(&t->begun);
	if (t->kind == KIND_PERIODIC)
		WRITE_ONCE(t->cut, 2);
	if (err == -ENOSPC) {
		torture_count(w, COUNT_REJECTED, 1);
		if (!w->max_pending)
			torture_wrong(WRONG_ANSWER, t, "rejected without a limit");
	} else if (err == -ESHUTDOWN) {
		torture_count(w, COUNT_REFUSED, 1);
		if (!READ_ONCE(t->shutting) && !READ_ONCE(w->stopping) &&
		    !atomic_read(&t->blocked))
			torture_wrong(WRONG_ANSWER, t, "refused for no reason");
	} else if (err == -ENOMEM) {
		if (t->kind != KIND_WORK && !(t->flags & TWHEEL_TIMER_INLINE))
			torture_wrong(WRONG_ANSWER, t, "no memory, and needs none");
	} else if (err != -EBUSY) {
		torture_wrong(WRONG_ANSWER, t, "of add or rearm");
	}
}

/* twheel_timer_add(), or what takes its place, on the books */
int outcome_add(struct torture_timer *t, u64 deadline, u64 slack)
{
	int err;

	arming_begin(t, deadline, slack);
	err = kind_add(t, deadline, slack);
	arming_end(t, err);
	return err;
}

/* twheel_timer_rearm(), on the books */
int outcome_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	int ret;

	arming_begin(t, deadline, slack);
	ret = kind_rearm(t, deadline, slack, mode);
	if (ret == 1)
		torture_count(t->wheel, COUNT_MOVED, 1);
	if (!ret && mode == TWHEEL_REARM_ALWAYS)
		torture_wrong(WRONG_ANSWER, t, "neither moved nor armed by a rearm");
	if (ret == 2 && mode == TWHEEL_REARM_IF_PENDING)
		torture_wrong(WRONG_ANSWER, t, "armed by a rearm of pending timers");
	/* Only a timer that was not pending begins to wait. */
	if (ret == 1 || !ret)
		atomic_dec(&t->begun);
	else
		arming_end(t, ret == 2 ? 0 : ret);
	return ret;
}

/* Fates */

void outcome_end(struct torture_timer *t, enum torture_count how)
{
	int ended = atomic_inc_return(&t->ended);

	torture_count(t->wheel, how, 1);
	if (ended - atomic_read(&t->begun) > 0)
		torture_wrong(WRONG_TWICE, t, "more fates than armings");
}

/* That which meets its fate now, the reaper has armed. */
void outcome_repeated(struct torture_timer *t)
{
	if (t->kind != KIND_PERIODIC || !READ_ONCE(t->runs))
		return;
	atomic_inc(&t->begun);
	torture_count(t->wheel, COUNT_ARMED, 1);
}

static void outcome_cancelled(struct torture_timer *t)
{
	outcome_repeated(t);
	outcome_end(t, t->kind == KIND_WORK ? COUNT_WORK_CANCELLED : COUNT_CANCELLED);
}

/* twheel_timer_cancel(), on the books */
int outcome_cancel(struct torture_timer *t)
{
	int err = kind_cancel(t);

	if (err >= 0)
		outcome_cancelled(t);
	else if (err != -EINPROGRESS && err != -EALREADY)
		torture_wrong(WRONG_ANSWER, t, "of cancel");
	/* A run that goes on may have yet to say so. */
	if (err >= 0 || err == -EINPROGRESS)
		WRITE_ONCE(t->cut, err ? 1 : 2);
	return err;
}

/* The answers of those that wait. */
static void synced(struct torture_timer *t, int err)
{
	if (!err)
		outcome_cancelled(t);
	else if (err != -EALREADY)
		torture_wrong(WRONG_ANSWER, t, "of a cancel that waits");
	WRITE_ONCE(t->cut, 2);
}

/* twheel_timer_cancel_sync(), on the books, while others may arm the timer */
int outcome_cancel_sync(struct torture_timer *t)
{
	int err;

	atomic_inc(&t->syncs);
	err = kind_cancel_sync(t);
	synced(t, err);
	/* It has cancelled nothing that it didn't tell of. */
	if (err)
		atomic_dec(&t->syncs);
	return err;
}

/*
 * twheel_timer_shutdown_sync(), on the books. Nobody can arm the timer any
 * more, so that even who isn't alone with it knows that it rests.
 */
void outcome_shutdown_sync(struct torture_timer *t)
{
	WRITE_ONCE(t->shutting, true);
	synced(t, twheel_timer_shutdown_sync(&t->timer));
	WRITE_ONCE(t->shut, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	if (atomic_read(&t->running))
		torture_wrong(WRONG_AFTER, t, "runs after shutdown_sync");
}

/* From here on it must not run, until it is armed again. */
static void outcome_quiet(struct torture_timer *t)
{
	WRITE_ONCE(t->quiet, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	if (atomic_read(&t->running))
		torture_wrong(WRONG_AFTER, t, "runs after the promise that it doesn't");
	if (twheel_timer_pending(&t->timer) || twheel_timer_remaining(&t->timer) != TWHEEL_NEVER)
		torture_wrong(WRONG_AFTER, t, "pending after the promise that it isn't");
}

int outcome_nr_open(const struct torture_timer *t)
{
	/* Pairs with the increments of both, of which @begun's comes first. */
	int ended = atomic_read_acquire(&t->ended);

	return atomic_read(&t->begun) - ended;
}

/* Close the books of a timer that rests, with so many armings open. */
static void outcome_close(struct torture_timer *t, int open)
{
	torture_count(t->wheel, t->kind == KIND_WORK ? COUNT_WORK_CANCELLED : COUNT_CANCELLED,
		      open);
	atomic_add(open, &t->ended);
	atomic_set(&t->syncs, 0);
}

/* Whether a timer that repeats ought to be pending, unless it is running. */
bool outcome_repeats(const struct torture_timer *t)
{
	return !READ_ONCE(t->cut) && READ_ONCE(t->runs) < READ_ONCE(t->limit);
}

/* Settle a timer that repeats: it can't be armed anew behind our back. */
static int settle_periodic(struct torture_timer *t)
{
	int err = outcome_cancel(t);

	if (err == -EALREADY && outcome_repeats(t) && !READ_ONCE(t->wheel->stopping))
		torture_wrong(WRONG_LOST, t, "it doesn't repeat any more");
	if (kind_cancel_sync(t) != -EALREADY)
		torture_wrong(WRONG_ANSWER, t, "of cancel_sync after cancel");
	WRITE_ONCE(t->cut, 2);
	outcome_quiet(t);
	return err;
}

/* Alone with a timer, cancel it synchronously, and see that all is accounted for. */
int outcome_settle(struct torture_timer *t)
{
	int err, open;

	if (t->kind == KIND_PERIODIC)
		return settle_periodic(t);
	err = kind_cancel_sync(t);
	outcome_quiet(t);
	/* What it has taken out, twheel_stop() may not have handed back yet. */
	if (READ_ONCE(t->wheel->stopping)) {
		atomic_inc(&t->syncs);
		synced(t, err);
		return err;
	}

	open = outcome_nr_open(t);
	if (err && err != -EALREADY)
		torture_wrong(WRONG_ANSWER, t, "of cancel_sync");
	else if (!err && open < 1)
		torture_wrong(WRONG_TWICE, t, "cancelled, but all its armings had ended");
	else if (err && open && !atomic_read(&t->syncs))
		torture_wrong(WRONG_LOST, t, "it rests, and has not ended");
	outcome_close(t, open);
	return err;
}

/* See that all is accounted for of a timer that nobody uses, on a stopped wheel. */
void outcome_settled(struct torture_timer *t)
{
	int open = outcome_nr_open(t);

	outcome_quiet(t);
	if (open && !atomic_read(&t->syncs))
		torture_wrong(WRONG_LOST, t, "its wheel has stopped, and it was not handed back");
	outcome_close(t, open);
}

/* The deadline that holds after a re-arm of a pending timer, or one before it. */
static u64 rearmed_to(u64 old, u64 new, enum twheel_rearm mode)
{
	if (mode == TWHEEL_REARM_IF_EARLIER)
		return min(old, new);
	if (mode == TWHEEL_REARM_IF_LATER)
		return max(old, new);
	return new;
}

/*
 * Alone with a timer that is settled, arm and re-arm it, and know what deadline
 * holds then: if the re-arm found it pending, what was pending was the add.
 */
void outcome_arm_exactly(struct torture_timer *t, u64 deadline, u64 other, enum twheel_rearm mode)
{
	bool stopping = READ_ONCE(t->wheel->stopping);
	int err;

	/* The fate of what twheel_stop() has taken will be known by its runs. */
	if (stopping && t->kind == KIND_PERIODIC)
		return;
	if (!stopping) {
		atomic64_set(&t->earliest, U64_MAX);
		atomic64_set(&t->latest, 0);
		t->sets = torture_clock_seq();
	}
	WRITE_ONCE(t->quiet, false);
	err = outcome_add(t, deadline, 0);
	if (err == -EBUSY)
		torture_wrong(WRONG_ANSWER, t, "of add to one that rests");
	if (err || t->kind == KIND_PERIODIC)
		return;
	if (t->kind == KIND_WORK)
		mode = TWHEEL_REARM_IF_PENDING;
	err = outcome_rearm(t, other, 0, mode);
	/* If it has fired since, its next deadline is another one. */
	if (err == 1 || (!err && mode != TWHEEL_REARM_IF_PENDING))
		atomic64_set(&t->earliest, rearmed_to(deadline, other, mode));
}

/* A timer has been handed back by twheel_stop(). */
void outcome_handed_back(struct torture_timer *t)
{
	outcome_repeated(t);
	outcome_end(t, COUNT_HANDED_BACK);
}
