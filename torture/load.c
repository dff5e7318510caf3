// SPDX-License-Identifier: GPL-2.0
/*
 * What the torture does to timers: the workers, from outside, and the functions
 * of the timers themselves.
 *
 * A worker goes through the gate of a wheel and plays with its timers for a
 * while, mostly beside others, sometimes alone with one.  Orphans are timers
 * that nobody knows but their creator: whoever ends one frees it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "torture.h"

/* Half of what is done goes to these, so that threads meet. */
#define HOT_TIMERS	2

/* And half of the time all workers go to the same wheel, for so long. */
#define MEETING	(HZ / 4)

static u64 random_deadline(struct rnd_state *rng, const struct torture_wheel *w)
{
	u64 delay;

	switch (torture_below(rng, 8)) {
	case 0:
		return 0;
	case 1:
		delay = torture_below(rng, 100 * NSEC_PER_USEC);
		break;
	case 2 ... 3:
		delay = torture_below(rng, 2 * NSEC_PER_MSEC);
		break;
	case 4:
		delay = torture_below(rng, 30 * NSEC_PER_MSEC);
		break;
	case 5:
		/* At one instant with others, of all kinds. */
		delay = torture_below(rng, 30 * NSEC_PER_MSEC);
		return (twheel_deadline_on(w->wheel, delay) | (BIT_ULL(23) - 1)) + 1;
	case 6:
		delay = torture_below(rng, 300 * NSEC_PER_MSEC);
		break;
	default:
		/* Hours to centuries, which nobody will wait for, or never. */
		delay = (u64)(torture_below(rng, U32_MAX) | 1 << 20) <<
			(22 + torture_below(rng, 12));
		break;
	}
	return twheel_deadline_on(w->wheel, delay);
}

static u64 random_slack(struct rnd_state *rng)
{
	if (torture_below(rng, 4))
		return 0;
	return torture_below(rng, 4) ? torture_below(rng, 5 * NSEC_PER_MSEC) :
					TWHEEL_SLACK_COARSE;
}

static enum twheel_rearm random_rearm(struct rnd_state *rng)
{
	return torture_below(rng, TWHEEL_REARM_IF_LATER + 1);
}

static struct torture_timer *random_timer(struct rnd_state *rng, struct torture_wheel *w)
{
	u32 of = torture_below(rng, 2) ? HOT_TIMERS : TORTURE_TIMERS;

	return &w->timer[torture_below(rng, of)];
}

static struct torture_wheel *random_wheel(struct rnd_state *rng)
{
	return &torture_wheels[torture_below(rng, torture_nr_wheels)];
}

static struct torture_wheel *meeting_wheel(struct rnd_state *rng)
{
	if (torture_below(rng, 2))
		return random_wheel(rng);
	return &torture_wheels[jiffies / MEETING % torture_nr_wheels];
}

/* What can be done to a timer from anywhere, beside others. */
static void meddle(struct rnd_state *rng, struct torture_timer *t)
{
	u64 deadline = random_deadline(rng, t->wheel);

	switch (t->kind == KIND_TIMER ? torture_below(rng, 4) : 3) {
	case 0:
		outcome_add(t, deadline, random_slack(rng));
		break;
	case 1 ... 2:
		outcome_rearm(t, deadline, random_slack(rng), random_rearm(rng));
		break;
	case 3:
		outcome_cancel(t);
		break;
	}
}

static void meddle_with_any(struct rnd_state *rng, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(rng, w);

	if (!outcome_share(t))
		return;
	meddle(rng, t);
	outcome_unshare(t);
}

/* Timers' functions */

static void meddle_elsewhere(struct rnd_state *rng)
{
	struct torture_wheel *w = random_wheel(rng);

	if (!down_read_trylock(&w->gate))
		return;
	if (w->wheel)
		meddle_with_any(rng, w);
	up_read(&w->gate);
}

static void arm_myself(struct torture_timer *t)
{
	u64 deadline = random_deadline(&t->rng, t->wheel);

	if (READ_ONCE(t->wheel->draining) || t->kind == KIND_ORPHAN || t->kind == KIND_PERIODIC)
		return;
	if (t->kind == KIND_TIMER && torture_below(&t->rng, 4))
		outcome_rearm(t, deadline, random_slack(&t->rng), random_rearm(&t->rng));
	else
		outcome_add(t, deadline, 0);
}

/* Anything may be done in process context, but an inline timer is mostly not. */
static void act(struct torture_timer *t)
{
	struct rnd_state *rng = &t->rng;
	bool may_sleep = !(t->flags & TWHEEL_TIMER_INLINE);

	switch (torture_below(rng, 16)) {
	case 0 ... 3:
		arm_myself(t);
		break;
	case 4:
		arm_myself(t);
		outcome_cancel(t);
		break;
	case 5 ... 7:
		if (!READ_ONCE(t->wheel->closing))
			meddle_with_any(rng, t->wheel);
		break;
	case 8:
		if (!READ_ONCE(t->wheel->closing) && may_sleep)
			meddle_elsewhere(rng);
		break;
	case 9:
		if (torture_idles(rng))
			udelay(torture_below(rng, 50));
		break;
	case 10:
		if (may_sleep && torture_idles(rng))
			usleep_range(100, 1000);
		arm_myself(t);
		break;
	}
}

static void put_orphan(struct torture_timer *t)
{
	struct torture_wheel *w = t->wheel;

	if (!refcount_dec_and_test(&t->refs))
		return;
	if (outcome_nr_open(t))
		torture_wrong(WRONG_LOST, t, "freed, and has not ended");
	kfree(t);
	atomic_dec(&w->orphans);
}

/* An orphan frees itself, and then its function may go on for a while. */
static void run_orphan(struct torture_timer *t)
{
	bool linger = !(t->flags & TWHEEL_TIMER_INLINE) && !torture_below(&t->rng, 4) &&
		      torture_idles(&t->rng);
	struct torture_wheel *w = t->wheel;

	atomic_inc(&w->inside);
	outcome_enter(t);
	act(t);
	outcome_leave(t);
	put_orphan(t);
	if (linger)
		usleep_range(100, 2000);
	atomic_dec_return_release(&w->inside);
}

/* The function of all timers. */
void torture_run(struct torture_timer *t)
{
	if (t->kind == KIND_ORPHAN) {
		run_orphan(t);
		return;
	}
	outcome_enter(t);
	act(t);
	outcome_leave(t);
}

/* What twheel_stop() calls. */
void torture_handed_back(struct twheel_timer *timer, void *data)
{
	struct torture_timer *t = container_of(timer, struct torture_timer, timer);

	++*(long *)data;
	outcome_handed_back(t);
	if (t->kind == KIND_ORPHAN)
		put_orphan(t);
}

static unsigned int random_flags(struct rnd_state *rng, enum torture_kind kind)
{
	unsigned int flags = 0;

	if (kind != KIND_WORK && !torture_below(rng, 4))
		flags |= TWHEEL_TIMER_CANCEL_ON_SET;
	if (kind != KIND_WORK && kind != KIND_PERIODIC && !torture_below(rng, 4))
		flags |= TWHEEL_TIMER_INLINE;
	return flags;
}

/* Make a timer ready, that is settled, for the wheel that is there now. */
void torture_timer_init(struct torture_timer *t, struct torture_wheel *w, enum torture_kind kind)
{
	t->wheel = w;
	t->kind = kind;
	t->flags = random_flags(&t->rng, kind);
	t->quiet = false;
	t->shutting = false;
	t->shut = false;
	t->runs = 0;
	t->limit = 0;
	t->cut = 2;
	kind_init(t);
}

/* What the timer with this number is for a round. */
enum torture_kind torture_any_kind(struct rnd_state *rng, unsigned int number, bool works)
{
	if (number < HOT_TIMERS)
		return KIND_TIMER;
	switch (torture_below(rng, 5)) {
	case 0:
		return KIND_PERIODIC;
	case 1:
		return works ? KIND_WORK : KIND_TIMER;
	default:
		return KIND_TIMER;
	}
}

/* Workers */

static struct torture_timer *new_orphan(struct rnd_state *rng, struct torture_wheel *w)
{
	struct torture_timer *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	refcount_set(&t->refs, 2);
	atomic64_set(&t->earliest, U64_MAX);
	t->sets = torture_clock_seq();
	torture_seed(&t->rng, prandom_u32_state(rng));
	torture_timer_init(t, w, KIND_ORPHAN);
	atomic_inc(&w->orphans);
	return t;
}

/* Send a timer out to free itself, and maybe run after it. */
static void orphan(struct rnd_state *rng, struct torture_wheel *w)
{
	struct torture_timer *t;
	int err;

	/* It might have to wait for hours after all. */
	if (w->clock == TWHEEL_CLOCK_REALTIME)
		return;
	t = new_orphan(rng, w);
	if (!t)
		return;
	err = outcome_add(t, twheel_deadline_on(w->wheel, torture_below(rng, 5 * NSEC_PER_MSEC)), 0);
	if (!err) {
		switch (torture_below(rng, 4)) {
		case 0:
			err = outcome_cancel(t) >= 0;
			break;
		case 1:
			err = !outcome_settle(t);
			break;
		case 2:
			outcome_rearm(t, 0, 0, TWHEEL_REARM_IF_PENDING);
			break;
		}
	}
	/* If it doesn't wait any more, what it would have done falls to us. */
	if (err)
		put_orphan(t);
	put_orphan(t);
}

/* A while in which a timer that rests would be caught running. */
static void watch_it_rest(struct rnd_state *rng)
{
	if (!torture_idles(rng))
		return;
	if (torture_below(rng, 4))
		udelay(torture_below(rng, 20));
	else
		usleep_range(10, 3000);
}

static void random_periods(struct rnd_state *rng, struct torture_timer *t)
{
	t->period = 500 * NSEC_PER_USEC + torture_below(rng, 20 * NSEC_PER_MSEC);
	t->repeat = torture_below(rng, 2) ? TWHEEL_FIXED_RATE : TWHEEL_FIXED_DELAY;
	t->limit = torture_below(rng, 4) ? 1 + torture_below(rng, 10) : U32_MAX;
}

static void alone(struct rnd_state *rng, struct torture_wheel *w, struct torture_timer *t)
{
	outcome_settle(t);
	watch_it_rest(rng);
	if (!READ_ONCE(w->stopping) && (t->shut || !torture_below(rng, 4)))
		torture_timer_init(t, w, t->kind);
	if (t->kind == KIND_PERIODIC)
		random_periods(rng, t);
	if (torture_below(rng, 8))
		outcome_arm_exactly(t, random_deadline(rng, w), random_deadline(rng, w),
				 random_rearm(rng));
}

/* Read what anybody may read; and what was added has a fate, or is pending. */
static void look(struct torture_wheel *w, struct torture_timer *t)
{
	struct twheel_stats stats;

	twheel_next(w->wheel);
	twheel_timer_remaining(&t->timer);
	twheel_stats(w->wheel, &stats);
	if (stats.added != stats.fired + stats.cancelled + stats.pending)
		torture_wrong(WRONG_COUNTS, NULL, "these don't add up");
}

static void work_beside_others(struct torture_thread *thread, struct torture_wheel *w,
			       struct torture_timer *t)
{
	unsigned int n;

	switch (torture_below(&thread->rng, 64)) {
	case 0:
		torture_step(thread, "shutdown_sync");
		if (t->kind != KIND_WORK)
			outcome_shutdown_sync(t);
		break;
	case 1 ... 8:
		torture_step(thread, "cancel_sync");
		outcome_cancel_sync(t);
		break;
	case 9 ... 12:
		torture_step(thread, "look");
		look(w, t);
		break;
	default:
		torture_step(thread, "meddle");
		for (n = torture_below(&thread->rng, 16); n; n--)
			meddle(&thread->rng, t);
		break;
	}
}

static void work_on(struct torture_thread *thread, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(&thread->rng, w);
	u32 what = torture_below(&thread->rng, 16);

	if (what < 2) {
		torture_step(thread, "orphan");
		orphan(&thread->rng, w);
	} else if (what < 6 && outcome_alone(t)) {
		torture_step(thread, "settle");
		alone(&thread->rng, w, t);
		outcome_release(t);
	} else if (outcome_share(t)) {
		work_beside_others(thread, w, t);
		outcome_unshare(t);
	}
}

/* A thread that works on whatever wheel it finds. */
void torture_worker(struct torture_thread *thread)
{
	struct torture_wheel *w;
	unsigned int n;
	bool open;

	while (!torture_over()) {
		w = meeting_wheel(&thread->rng);
		torture_step(thread, "look for a wheel");
		open = down_read_trylock(&w->gate);
		if (open) {
			for (n = torture_below(&thread->rng, 64); n && w->wheel; n--)
				work_on(thread, w);
			up_read(&w->gate);
		}
		torture_rest(thread, !open);
	}
}
