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

static u64 random_deadline(struct rnd_state *dice, const struct torture_wheel *w)
{
	u64 delay;

	switch (torture_below(dice, 8)) {
	case 0:
		return 0;
	case 1:
		delay = torture_below(dice, 100 * NSEC_PER_USEC);
		break;
	case 2 ... 3:
		delay = torture_below(dice, 2 * NSEC_PER_MSEC);
		break;
	case 4:
		delay = torture_below(dice, 30 * NSEC_PER_MSEC);
		break;
	case 5:
		/* At one instant with others, of all kinds. */
		delay = torture_below(dice, 30 * NSEC_PER_MSEC);
		return (twheel_deadline_on(w->wheel, delay) | (BIT_ULL(23) - 1)) + 1;
	case 6:
		delay = torture_below(dice, 300 * NSEC_PER_MSEC);
		break;
	default:
		/* Hours to centuries, which nobody will wait for, or never. */
		delay = (u64)(torture_below(dice, U32_MAX) | 1 << 20) <<
			(22 + torture_below(dice, 12));
		break;
	}
	return twheel_deadline_on(w->wheel, delay);
}

static u64 random_slack(struct rnd_state *dice)
{
	if (torture_below(dice, 4))
		return 0;
	return torture_below(dice, 4) ? torture_below(dice, 5 * NSEC_PER_MSEC) :
					TWHEEL_SLACK_COARSE;
}

static enum twheel_rearm random_rearm(struct rnd_state *dice)
{
	return torture_below(dice, TWHEEL_REARM_IF_LATER + 1);
}

static struct torture_timer *random_timer(struct rnd_state *dice, struct torture_wheel *w)
{
	u32 of = torture_below(dice, 2) ? HOT_TIMERS : TORTURE_TIMERS;

	return &w->timer[torture_below(dice, of)];
}

static struct torture_wheel *random_wheel(struct rnd_state *dice)
{
	return &torture_wheels[torture_below(dice, torture_nr_wheels)];
}

static struct torture_wheel *meeting_wheel(struct rnd_state *dice)
{
	if (torture_below(dice, 2))
		return random_wheel(dice);
	return &torture_wheels[jiffies / MEETING % torture_nr_wheels];
}

/* What can be done to a timer from anywhere, beside others. */
static void meddle(struct rnd_state *dice, struct torture_timer *t)
{
	u64 deadline = random_deadline(dice, t->wheel);

	switch (t->kind == KIND_TIMER ? torture_below(dice, 4) : 3) {
	case 0:
		fate_add(t, deadline, random_slack(dice));
		break;
	case 1 ... 2:
		fate_rearm(t, deadline, random_slack(dice), random_rearm(dice));
		break;
	case 3:
		fate_cancel(t);
		break;
	}
}

static void meddle_with_any(struct rnd_state *dice, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(dice, w);

	if (!fate_share(t))
		return;
	meddle(dice, t);
	fate_unshare(t);
}

/* Timers' functions */

static void meddle_elsewhere(struct rnd_state *dice)
{
	struct torture_wheel *w = random_wheel(dice);

	if (!down_read_trylock(&w->gate))
		return;
	if (w->wheel)
		meddle_with_any(dice, w);
	up_read(&w->gate);
}

static void arm_myself(struct torture_timer *t)
{
	u64 deadline = random_deadline(&t->dice, t->wheel);

	if (READ_ONCE(t->wheel->draining) || t->kind == KIND_ORPHAN || t->kind == KIND_PERIODIC)
		return;
	if (t->kind == KIND_TIMER && torture_below(&t->dice, 4))
		fate_rearm(t, deadline, random_slack(&t->dice), random_rearm(&t->dice));
	else
		fate_add(t, deadline, 0);
}

/* Anything may be done in process context, but an inline timer is mostly not. */
static void act(struct torture_timer *t)
{
	struct rnd_state *dice = &t->dice;
	bool may_sleep = !(t->flags & TWHEEL_TIMER_INLINE);

	switch (torture_below(dice, 16)) {
	case 0 ... 3:
		arm_myself(t);
		break;
	case 4:
		arm_myself(t);
		fate_cancel(t);
		break;
	case 5 ... 7:
		if (!READ_ONCE(t->wheel->closing))
			meddle_with_any(dice, t->wheel);
		break;
	case 8:
		if (!READ_ONCE(t->wheel->closing) && may_sleep)
			meddle_elsewhere(dice);
		break;
	case 9:
		if (torture_idles(dice))
			udelay(torture_below(dice, 50));
		break;
	case 10:
		if (may_sleep && torture_idles(dice))
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
	if (fate_nr_open(t))
		torture_wrong(WRONG_LOST, t, "freed, and has not ended");
	kfree(t);
	atomic_dec(&w->orphans);
}

/* An orphan frees itself, and then its function may go on for a while. */
static void run_orphan(struct torture_timer *t)
{
	bool linger = !(t->flags & TWHEEL_TIMER_INLINE) && !torture_below(&t->dice, 4) &&
		      torture_idles(&t->dice);
	struct torture_wheel *w = t->wheel;

	atomic_inc(&w->inside);
	fate_enter(t);
	act(t);
	fate_leave(t);
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
	fate_enter(t);
	act(t);
	fate_leave(t);
}

/* What twheel_stop() calls. */
void torture_handed_back(struct twheel_timer *timer, void *data)
{
	struct torture_timer *t = container_of(timer, struct torture_timer, timer);

	++*(long *)data;
	fate_handed_back(t);
	if (t->kind == KIND_ORPHAN)
		put_orphan(t);
}

static unsigned int random_flags(struct rnd_state *dice, enum torture_kind kind)
{
	unsigned int flags = 0;

	if (kind != KIND_WORK && !torture_below(dice, 4))
		flags |= TWHEEL_TIMER_CANCEL_ON_SET;
	if (kind != KIND_WORK && kind != KIND_PERIODIC && !torture_below(dice, 4))
		flags |= TWHEEL_TIMER_INLINE;
	return flags;
}

/* Make a timer ready, that is settled, for the wheel that is there now. */
void torture_timer_init(struct torture_timer *t, struct torture_wheel *w, enum torture_kind kind)
{
	t->wheel = w;
	t->kind = kind;
	t->flags = random_flags(&t->dice, kind);
	t->quiet = false;
	t->shutting = false;
	t->shut = false;
	t->runs = 0;
	t->limit = 0;
	t->cut = 2;
	kind_init(t);
}

/* What the timer with this number is for a round. */
enum torture_kind torture_any_kind(struct rnd_state *dice, unsigned int number, bool works)
{
	if (number < HOT_TIMERS)
		return KIND_TIMER;
	switch (torture_below(dice, 5)) {
	case 0:
		return KIND_PERIODIC;
	case 1:
		return works ? KIND_WORK : KIND_TIMER;
	default:
		return KIND_TIMER;
	}
}

/* Workers */

static struct torture_timer *new_orphan(struct rnd_state *dice, struct torture_wheel *w)
{
	struct torture_timer *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	refcount_set(&t->refs, 2);
	atomic64_set(&t->earliest, U64_MAX);
	t->sets = torture_clock_seq();
	torture_seed(&t->dice, prandom_u32_state(dice));
	torture_timer_init(t, w, KIND_ORPHAN);
	atomic_inc(&w->orphans);
	return t;
}

/* Send a timer out to free itself, and maybe run after it. */
static void orphan(struct rnd_state *dice, struct torture_wheel *w)
{
	struct torture_timer *t;
	int err;

	/* It might have to wait for hours after all. */
	if (w->clock == TWHEEL_CLOCK_REALTIME)
		return;
	t = new_orphan(dice, w);
	if (!t)
		return;
	err = fate_add(t, twheel_deadline_on(w->wheel, torture_below(dice, 5 * NSEC_PER_MSEC)), 0);
	if (!err) {
		switch (torture_below(dice, 4)) {
		case 0:
			err = fate_cancel(t) >= 0;
			break;
		case 1:
			err = !fate_settle(t);
			break;
		case 2:
			fate_rearm(t, 0, 0, TWHEEL_REARM_IF_PENDING);
			break;
		}
	}
	/* If it doesn't wait any more, what it would have done falls to us. */
	if (err)
		put_orphan(t);
	put_orphan(t);
}

/* A while in which a timer that rests would be caught running. */
static void watch_it_rest(struct rnd_state *dice)
{
	if (!torture_idles(dice))
		return;
	if (torture_below(dice, 4))
		udelay(torture_below(dice, 20));
	else
		usleep_range(10, 3000);
}

static void random_periods(struct rnd_state *dice, struct torture_timer *t)
{
	t->period = 500 * NSEC_PER_USEC + torture_below(dice, 20 * NSEC_PER_MSEC);
	t->repeat = torture_below(dice, 2) ? TWHEEL_FIXED_RATE : TWHEEL_FIXED_DELAY;
	t->limit = torture_below(dice, 4) ? 1 + torture_below(dice, 10) : U32_MAX;
}

static void alone(struct rnd_state *dice, struct torture_wheel *w, struct torture_timer *t)
{
	fate_settle(t);
	watch_it_rest(dice);
	if (!READ_ONCE(w->stopping) && (t->shut || !torture_below(dice, 4)))
		torture_timer_init(t, w, t->kind);
	if (t->kind == KIND_PERIODIC)
		random_periods(dice, t);
	if (torture_below(dice, 8))
		fate_arm_exactly(t, random_deadline(dice, w), random_deadline(dice, w),
				 random_rearm(dice));
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

	switch (torture_below(&thread->dice, 64)) {
	case 0:
		torture_step(thread, "shutdown_sync");
		if (t->kind != KIND_WORK)
			fate_shutdown_sync(t);
		break;
	case 1 ... 8:
		torture_step(thread, "cancel_sync");
		fate_cancel_sync(t);
		break;
	case 9 ... 12:
		torture_step(thread, "look");
		look(w, t);
		break;
	default:
		torture_step(thread, "meddle");
		for (n = torture_below(&thread->dice, 16); n; n--)
			meddle(&thread->dice, t);
		break;
	}
}

static void work_on(struct torture_thread *thread, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(&thread->dice, w);
	u32 what = torture_below(&thread->dice, 16);

	if (what < 2) {
		torture_step(thread, "orphan");
		orphan(&thread->dice, w);
	} else if (what < 6 && fate_alone(t)) {
		torture_step(thread, "settle");
		alone(&thread->dice, w, t);
		fate_release(t);
	} else if (fate_share(t)) {
		work_beside_others(thread, w, t);
		fate_unshare(t);
	}
}

/* A thread that works on whatever wheel it finds. */
void torture_worker(struct torture_thread *thread)
{
	struct torture_wheel *w;
	unsigned int n;
	bool open;

	while (!torture_over()) {
		w = meeting_wheel(&thread->dice);
		torture_step(thread, "look for a wheel");
		open = down_read_trylock(&w->gate);
		if (open) {
			for (n = torture_below(&thread->dice, 64); n && w->wheel; n--)
				work_on(thread, w);
			up_read(&w->gate);
		}
		torture_rest(thread, !open);
	}
}
