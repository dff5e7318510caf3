// SPDX-License-Identifier: GPL-2.0
/*
 * The wheels under test, and a thread for each that creates and ends it.
 *
 * In each round the thread creates the wheel and initialises its timers. Then workers
 * make calls on the timers, until the thread ends the wheel in one of three ways and
 * compares its counts with those of the test.
 *
 *	stop	twheel_stop(), while workers and timer functions continue
 *	cancel	cancel each timer, while timer functions continue
 *	drain	stop arming, and let near deadlines expire: only the alarm wakes the
 *		reaper, so that a lost alarm is detected
 *
 * The system wheels are never stopped, only emptied.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/printk.h>

#include "torture.h"

static bool is_system(const struct torture_wheel *w)
{
	return !w->number;
}

/* Start of a round */

/* Create a wheel of random size. */
struct twheel *torture_create_wheel(const char *name, enum twheel_clock clock, u32 max_pending,
				    struct rnd_state *rng)
{
	const struct twheel_config config = {
		.name		= name,
		.tick_ns	= 1000ULL << torture_below(rng, 14),
		.slots		= 2 + torture_below(rng, 80),
		.shards		= max_pending ? 1 : 1 + torture_below(rng, 4),
		.clock		= clock,
		.max_pending	= max_pending,
	};

	return twheel_create(&config);
}

static void begin_timers(struct torture_wheel *w, struct rnd_state *rng)
{
	bool allow_work = !torture_below(rng, 2);
	unsigned int i;

	for (i = 0; i < TORTURE_TIMERS; i++)
		torture_timer_init(&w->timer[i], w, torture_random_kind(rng, i, allow_work));
}

static void begin(struct torture_wheel *w, struct rnd_state *rng)
{
	struct twheel *wheel;
	unsigned int i;

	w->clock = torture_below(rng, TWHEEL_CLOCK_REALTIME + 1);
	/* Some wheels get a limit that is low enough to be reached. */
	w->max_pending = is_system(w) || torture_below(rng, 3) ? 0 : 8 + torture_below(rng, 32);
	wheel = is_system(w) ? twheel_system_clock(w->clock) :
		torture_create_wheel("twheel_t", w->clock, w->max_pending, rng);
	if (IS_ERR(wheel)) {
		if (PTR_ERR(wheel) != -ENOMEM)
			torture_fail(FAIL_RESULT, NULL, "cannot create a wheel");
		return;
	}
	w->wheel = wheel;
	w->stopping = false;
	w->stopped = false;
	w->closing = false;
	w->draining = false;
	for (i = 0; i < COUNT_KINDS; i++)
		w->before[i] = atomic64_read(&w->count[i]);
	twheel_get_stats(wheel, &w->stats);
	begin_timers(w, rng);
	torture_count(w, COUNT_ROUNDS, 1);
}

/* Counts */

static s64 counted(const struct torture_wheel *w, enum torture_count count)
{
	return atomic64_read(&w->count[count]) - w->before[count];
}

static void expect_count(const struct torture_wheel *w, const char *name, s64 reported,
			 s64 least, s64 most)
{
	if (reported >= least && reported <= most)
		return;
	torture_fail(FAIL_COUNTS, NULL, name);
	pr_err("wheel %u: %s is %lld, expected %lld to %lld\n",
	       w->number, name, reported, least, most);
}

/*
 * No call is in progress, so the counts of the wheel must match exactly. Only the
 * workqueue knows whether the timer of cancelled work had fired.
 */
static void expect_counts(const struct torture_wheel *w)
{
	s64 cancelled = counted(w, COUNT_CANCELLED) + counted(w, COUNT_HANDED_BACK);
	s64 armed = counted(w, COUNT_ARMED), fired = counted(w, COUNT_FIRED);
	s64 moved = counted(w, COUNT_MOVED), rejected = counted(w, COUNT_REJECTED);
	s64 work = counted(w, COUNT_WORK_CANCELLED);
	const struct twheel_stats *before = &w->stats;
	struct twheel_stats now;

	twheel_get_stats(w->wheel, &now);
	expect_count(w, "pending", now.pending, 0, 0);
	expect_count(w, "added", now.added - before->added, armed, armed);
	expect_count(w, "fired", now.fired - before->fired, fired, fired + work);
	expect_count(w, "cancelled", now.cancelled - before->cancelled,
		     cancelled, cancelled + work);
	expect_count(w, "rearmed", now.rearmed - before->rearmed, moved, moved);
	expect_count(w, "rejected", now.rejected - before->rejected, rejected, rejected);
	expect_count(w, "total added", now.added, now.fired + now.cancelled,
		     now.fired + now.cancelled);
}

/* Exactly @max_pending timers can be pending. */
static void expect_limit(struct torture_wheel *w)
{
	unsigned int i;

	for (i = 0; i <= w->max_pending; i++) {
		/* A change of the clock must not cancel it. */
		do {
			torture_timer_init(&w->timer[i], w, KIND_TIMER);
		} while (w->timer[i].flags & TWHEEL_TIMER_CANCEL_ON_SET);
		if (outcome_add(&w->timer[i], TWHEEL_NEVER, 0) !=
		    (i < w->max_pending ? 0 : -ENOSPC))
			torture_fail(FAIL_COUNTS, &w->timer[i], "limit on timers is not exact");
	}
	for (i = 0; i <= w->max_pending; i++)
		outcome_settle(&w->timer[i]);
}

/* End of a round */

static void expect_no_orphan_running(const struct torture_wheel *w)
{
	if (atomic_read_acquire(&w->orphans_running))
		torture_fail(FAIL_AFTER, NULL, "the function of an orphan is running");
}

/*
 * Orphans have near deadlines and free themselves. Their functions may continue after
 * that: twheel_flush() waits for these.
 */
static void wait_for_orphans(struct torture_wheel *w)
{
	u64 limit = ktime_get_ns() + TORTURE_LOST_NS;

	while (atomic_read(&w->orphans)) {
		if (ktime_get_ns() > limit) {
			torture_fail(FAIL_LOST, NULL, "an orphan was not freed");
			return;
		}
		usleep_range(100, 1000);
	}
	twheel_flush(w->wheel);
	expect_no_orphan_running(w);
}

static void stop_all(struct torture_wheel *w)
{
	s64 before = atomic64_read(&w->count[COUNT_HANDED_BACK]);
	long handed_back = 0, ret;
	unsigned int i;

	WRITE_ONCE(w->stopping, true);
	ret = twheel_stop(w->wheel, torture_handed_back, &handed_back);
	WRITE_ONCE(w->stopped, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	expect_no_orphan_running(w);
	if (ret != handed_back ||
	    handed_back != atomic64_read(&w->count[COUNT_HANDED_BACK]) - before)
		torture_fail(FAIL_RESULT, NULL, "wrong result of twheel_stop()");

	down_write(&w->gate);
	if (atomic_read(&w->orphans))
		torture_fail(FAIL_LOST, NULL, "an orphan was not handed back");
	/* Queued work still runs after the stop. */
	for (i = 0; i < TORTURE_TIMERS; i++)
		if (w->timer[i].kind == KIND_WORK)
			outcome_cancel_sync(&w->timer[i]);
	for (i = 0; i < TORTURE_TIMERS; i++) {
		outcome_settle_stopped(&w->timer[i]);
		if (twheel_timer_add(&w->timer[i].timer, 0) != -ESHUTDOWN)
			torture_fail(FAIL_RESULT, &w->timer[i], "wrong result of add after stop");
	}
	if (twheel_stop(w->wheel, torture_handed_back, &handed_back))
		torture_fail(FAIL_RESULT, NULL, "timers handed back by the second stop");
}

/* Whether to wait for a timer: it fires soon, or the change of the clock cancels it. */
static bool is_near(const struct torture_timer *t, u64 horizon, bool clock_set)
{
	return outcome_latest(t) < horizon || (clock_set && t->flags & TWHEEL_TIMER_CANCEL_ON_SET);
}

/* Return a timer that is_near(), or NULL. Cancel all others. */
static struct torture_timer *any_near(struct torture_wheel *w, bool clock_set)
{
	u64 horizon = twheel_now(w->wheel) + NSEC_PER_SEC;
	struct torture_timer *t, *near = NULL;

	for (t = w->timer; t < w->timer + TORTURE_TIMERS; t++) {
		if (!outcome_is_open(t))
			continue;
		if (is_near(t, horizon, clock_set))
			near = t;
		else
			outcome_cancel(t);
	}
	return near;
}

/*
 * Set the clock after all functions that may arm a timer have returned: the change must
 * cancel the timers with TWHEEL_TIMER_CANCEL_ON_SET.
 */
static void drain_all(struct torture_wheel *w, struct rnd_state *rng)
{
	u64 limit = ktime_get_ns() + NSEC_PER_SEC + TORTURE_LOST_NS;
	struct torture_timer *t;
	bool clock_set;

	WRITE_ONCE(w->draining, true);
	twheel_flush(w->wheel);
	kinds_flush();
	clock_set = w->clock == TWHEEL_CLOCK_REALTIME && torture_clock_ms && torture_set_clock(rng);
	while ((t = any_near(w, clock_set))) {
		if (ktime_get_ns() > limit) {
			torture_fail(FAIL_LOST, t, "has not fired in time");
			return;
		}
		usleep_range(100, 1000);
	}
}

/*
 * A function that was running when @closing was set may have armed other timers. The
 * first pass waits for all such functions.
 */
static void cancel_all(struct torture_wheel *w)
{
	unsigned int i;

	for (i = 0; i < TORTURE_TIMERS; i++)
		outcome_cancel_sync(&w->timer[i]);
	for (i = 0; i < TORTURE_TIMERS; i++)
		outcome_settle(&w->timer[i]);
}

static void end(struct torture_wheel *w, struct torture_thread *thread)
{
	u32 way = torture_below(&thread->rng, is_system(w) ? 2 : 4);

	if (way >= 2) {
		torture_step(thread, "stop");
		stop_all(w);
	} else {
		torture_step(thread, "wait for workers");
		down_write(&w->gate);
		WRITE_ONCE(w->closing, true);
		torture_step(thread, "wait for orphans");
		wait_for_orphans(w);
		torture_step(thread, "drain");
		if (way == 1)
			drain_all(w, &thread->rng);
		torture_step(thread, "cancel");
		cancel_all(w);
		if (w->max_pending)
			expect_limit(w);
	}
	expect_counts(w);
	torture_step(thread, "destroy");
	if (!is_system(w))
		twheel_destroy(w->wheel);
	w->wheel = NULL;
	up_write(&w->gate);
}

/* Thread function: creates and ends wheels, one at a time. */
void torture_keeper(struct torture_thread *thread)
{
	struct torture_wheel *w = thread->wheel;

	while (!torture_should_stop()) {
		torture_step(thread, "begin");
		down_write(&w->gate);
		begin(w, &thread->rng);
		up_write(&w->gate);
		torture_sleep(20 + torture_below(&thread->rng, is_system(w) ? 3000 : 600));
		if (w->wheel)
			end(w, thread);
	}
}

/* A worker with exclusive access may be initialising the timer: skip it. */
static void audit_timer(struct torture_timer *t)
{
	if (!outcome_get_shared(t))
		return;
	outcome_audit(t);
	outcome_put_shared(t);
}

/* CLOCK_REALTIME may be set: skip wheels that use it. */
static void audit(struct torture_wheel *w)
{
	unsigned int i;

	if (!down_read_trylock(&w->gate))
		return;
	for (i = 0; i < TORTURE_TIMERS && w->wheel && w->clock != TWHEEL_CLOCK_REALTIME; i++)
		audit_timer(&w->timer[i]);
	up_read(&w->gate);
}

/* Check all wheels for lost timers. */
void torture_audit(void)
{
	unsigned int i;

	for (i = 0; i < torture_nr_wheels; i++)
		audit(&torture_wheels[i]);
}
