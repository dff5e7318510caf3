// SPDX-License-Identifier: GPL-2.0
/*
 * The wheels that are tortured, and the thread that keeps each of them.
 *
 * A round of a wheel: it is made, its timers are made ready, workers play with
 * them for a while, it ends in one of three ways, and its counts are compared
 * with ours.
 *
 *	stop	twheel_stop(), while workers and functions go on
 *	cancel	each timer is cancelled, while functions go on
 *	drain	no more is armed, and what is near is waited for: nothing but its
 *		own alarm will wake the reaper, so that a lost one shows
 *
 * The system's wheels are there for all: they are only emptied, never stopped.
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

/* Beginning */

/* A limit that is met now and then, on some wheels. */
static struct twheel *random_wheel(struct torture_wheel *w, struct rnd_state *rng)
{
	const struct twheel_config config = {
		.name		= "twheel_t",
		.tick_ns	= 1000ULL << torture_below(rng, 14),
		.slots		= 2 + torture_below(rng, 80),
		.shards		= 1 + torture_below(rng, 4),
		.clock		= w->clock,
		.max_pending	= torture_below(rng, 3) ? 0 : 8 + torture_below(rng, 32),
	};

	w->max_pending = config.max_pending;
	return twheel_create(&config);
}

static void begin_timers(struct torture_wheel *w, struct rnd_state *rng)
{
	bool works = !torture_below(rng, 2);
	unsigned int i;

	for (i = 0; i < TORTURE_TIMERS; i++)
		torture_timer_init(&w->timer[i], w, torture_any_kind(rng, i, works));
}

static void begin(struct torture_wheel *w, struct rnd_state *rng)
{
	struct twheel *wheel;
	unsigned int i;

	w->clock = torture_below(rng, TWHEEL_CLOCK_REALTIME + 1);
	w->max_pending = 0;
	wheel = is_system(w) ? twheel_system_clock(w->clock) : random_wheel(w, rng);
	if (IS_ERR(wheel)) {
		if (PTR_ERR(wheel) != -ENOMEM)
			torture_wrong(WRONG_ANSWER, NULL, "a wheel could not be made");
		return;
	}
	w->wheel = wheel;
	w->stopping = false;
	w->stopped = false;
	w->closing = false;
	w->draining = false;
	for (i = 0; i < COUNT_KINDS; i++)
		w->before[i] = atomic64_read(&w->count[i]);
	twheel_stats(wheel, &w->stats);
	begin_timers(w, rng);
	torture_count(w, COUNT_ROUNDS, 1);
}

/* Counts */

static s64 counted(const struct torture_wheel *w, enum torture_count what)
{
	return atomic64_read(&w->count[what]) - w->before[what];
}

static void expect_count(const struct torture_wheel *w, const char *name, s64 theirs,
			 s64 least, s64 most)
{
	if (theirs >= least && theirs <= most)
		return;
	torture_wrong(WRONG_COUNTS, NULL, name);
	pr_err("wheel %u: %s is %lld, and should be %lld to %lld\n",
	       w->number, name, theirs, least, most);
}

/*
 * Nothing is under way: what the wheel says has to be exactly what we know. Of
 * work that was cancelled only its workqueue knows whether it had fired.
 */
static void expect_counts(const struct torture_wheel *w)
{
	s64 cancelled = counted(w, COUNT_CANCELLED) + counted(w, COUNT_HANDED_BACK);
	s64 armed = counted(w, COUNT_ARMED), fired = counted(w, COUNT_FIRED);
	s64 moved = counted(w, COUNT_MOVED), rejected = counted(w, COUNT_REJECTED);
	s64 work = counted(w, COUNT_WORK_CANCELLED);
	const struct twheel_stats *before = &w->stats;
	struct twheel_stats now;

	twheel_stats(w->wheel, &now);
	expect_count(w, "pending", now.pending, 0, 0);
	expect_count(w, "added", now.added - before->added, armed, armed);
	expect_count(w, "fired", now.fired - before->fired, fired, fired + work);
	expect_count(w, "cancelled", now.cancelled - before->cancelled,
		     cancelled, cancelled + work);
	expect_count(w, "rearmed", now.rearmed - before->rearmed, moved, moved);
	expect_count(w, "rejected", now.rejected - before->rejected, rejected, rejected);
	expect_count(w, "what was added", now.added, now.fired + now.cancelled,
		     now.fired + now.cancelled);
}

/* As many timers as may be pending can be, and no more. */
static void expect_places(struct torture_wheel *w)
{
	unsigned int i;

	for (i = 0; i <= w->max_pending; i++) {
		/* None that ends when the clock is set. */
		do {
			torture_timer_init(&w->timer[i], w, KIND_TIMER);
		} while (w->timer[i].flags & TWHEEL_TIMER_CANCEL_ON_SET);
		if (outcome_add(&w->timer[i], TWHEEL_NEVER, 0) !=
		    (i < w->max_pending ? 0 : -ENOSPC))
			torture_wrong(WRONG_COUNTS, &w->timer[i], "of places");
	}
	for (i = 0; i <= w->max_pending; i++)
		outcome_settle(&w->timer[i]);
}

/* End */

/* No function is on its way of a timer that it has freed. */
static void expect_nobody_inside(const struct torture_wheel *w)
{
	if (atomic_read_acquire(&w->inside))
		torture_wrong(WRONG_AFTER, NULL, "a function is on its way");
}

/*
 * Orphans are short-lived: all of them end soon, and then free themselves. To
 * wait for their functions beyond that takes the wheel.
 */
static void await_orphans(struct torture_wheel *w)
{
	u64 limit = ktime_get_ns() + TORTURE_LOST_NS;

	while (atomic_read(&w->orphans)) {
		if (ktime_get_ns() > limit) {
			torture_wrong(WRONG_LOST, NULL, "an orphan has not come back");
			return;
		}
		usleep_range(100, 1000);
	}
	twheel_flush(w->wheel);
	expect_nobody_inside(w);
}

static void stop_all(struct torture_wheel *w)
{
	s64 before = atomic64_read(&w->count[COUNT_HANDED_BACK]);
	long signalled = 0, ret;
	unsigned int i;

	WRITE_ONCE(w->stopping, true);
	ret = twheel_stop(w->wheel, torture_handed_back, &signalled);
	WRITE_ONCE(w->stopped, true);
	smp_mb();	/* pairs with the increment in outcome_enter() */
	expect_nobody_inside(w);
	if (ret != signalled || signalled != atomic64_read(&w->count[COUNT_HANDED_BACK]) - before)
		torture_wrong(WRONG_ANSWER, NULL, "of stop");

	down_write(&w->gate);
	if (atomic_read(&w->orphans))
		torture_wrong(WRONG_LOST, NULL, "an orphan was not handed back");
	/* The workqueue goes on without the wheel. */
	for (i = 0; i < TORTURE_TIMERS; i++)
		if (w->timer[i].kind == KIND_WORK)
			outcome_cancel_sync(&w->timer[i]);
	for (i = 0; i < TORTURE_TIMERS; i++) {
		outcome_settled(&w->timer[i]);
		if (twheel_timer_add(&w->timer[i].timer, 0) != -ESHUTDOWN)
			torture_wrong(WRONG_ANSWER, &w->timer[i], "of add after stop");
	}
	if (twheel_stop(w->wheel, torture_handed_back, &signalled))
		torture_wrong(WRONG_ANSWER, NULL, "of the second stop");
}

/* Whether to wait for a timer: the others are far, or told all the same. */
static bool is_near(const struct torture_timer *t, u64 soon, bool signalled)
{
	if (t->kind == KIND_PERIODIC && t->limit == U32_MAX)
		return false;
	return outcome_latest(t) < soon || (signalled && t->flags & TWHEEL_TIMER_CANCEL_ON_SET);
}

/* One that will fire soon, NULL if there is none. All that is far is cancelled. */
static struct torture_timer *any_near(struct torture_wheel *w, bool signalled)
{
	u64 soon = twheel_now(w->wheel) + NSEC_PER_SEC;
	struct torture_timer *t, *near = NULL;

	for (t = w->timer; t < w->timer + TORTURE_TIMERS; t++) {
		if (!outcome_open(t))
			continue;
		if (is_near(t, soon, signalled))
			near = t;
		else
			outcome_cancel(t);
	}
	return near;
}

/*
 * Once all functions that might arm a timer have returned, the clock is set, for
 * those that are to be told of it.
 */
static void drain_all(struct torture_wheel *w, struct rnd_state *rng)
{
	u64 limit = ktime_get_ns() + NSEC_PER_SEC + TORTURE_LOST_NS;
	struct torture_timer *t;
	bool signalled;

	WRITE_ONCE(w->draining, true);
	twheel_flush(w->wheel);
	kinds_flush();
	signalled = w->clock == TWHEEL_CLOCK_REALTIME && torture_clock_ms && torture_set_clock(rng);
	while ((t = any_near(w, signalled))) {
		if (ktime_get_ns() > limit) {
			torture_wrong(WRONG_LOST, t, "it was near, and has not fired");
			return;
		}
		usleep_range(100, 1000);
	}
}

/*
 * A function that was running when @closing was set may have armed others. The
 * first pass waits for all of these.
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
		await_orphans(w);
		torture_step(thread, "drain");
		if (way == 1)
			drain_all(w, &thread->rng);
		torture_step(thread, "cancel");
		cancel_all(w);
		if (w->max_pending)
			expect_places(w);
	}
	expect_counts(w);
	if (torture_verbose)
		pr_info("wheel %u: %s after %lld armings\n", w->number,
			way >= 2 ? "stopped" : way ? "drained" : "cancelled",
			counted(w, COUNT_ARMED));
	torture_step(thread, "destroy");
	if (!is_system(w))
		twheel_destroy(w->wheel);
	w->wheel = NULL;
	up_write(&w->gate);
}

/* A thread that makes and ends wheels, one after the other. */
void torture_keeper(struct torture_thread *thread)
{
	struct torture_wheel *w = thread->wheel;

	while (!torture_over()) {
		torture_step(thread, "begin");
		down_write(&w->gate);
		begin(w, &thread->rng);
		up_write(&w->gate);
		torture_nap(20 + torture_below(&thread->rng, is_system(w) ? 3000 : 600));
		if (w->wheel)
			end(w, thread);
	}
}

/* A worker that is alone with a timer may be making it another one. */
static void audit_timer(struct torture_timer *t)
{
	if (!outcome_share(t))
		return;
	outcome_audit(t);
	outcome_unshare(t);
}

/* By a clock that may be set there is no telling. */
static void audit(struct torture_wheel *w)
{
	unsigned int i;

	if (!down_read_trylock(&w->gate))
		return;
	for (i = 0; i < TORTURE_TIMERS && w->wheel && w->clock != TWHEEL_CLOCK_REALTIME; i++)
		audit_timer(&w->timer[i]);
	up_read(&w->gate);
}

/* See whether a timer was forgotten. */
void torture_audit(void)
{
	unsigned int i;

	for (i = 0; i < torture_nr_wheels; i++)
		audit(&torture_wheels[i]);
}
