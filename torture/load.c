// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls on timers, from worker threads and from timer functions.
 *
 * A worker enters the gate of a wheel and makes a number of calls on its timers, mostly
 * concurrently with other threads, sometimes with exclusive access to a timer. Orphans
 * are timers that only their creator knows; the last reference frees an orphan.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "torture.h"

/* Half of the calls use these timers, to increase contention. */
#define HOT_TIMERS	2

/* Half of the time all workers use the same wheel, which changes after this period. */
#define SHARED_PERIOD	(HZ / 4)

/* For timers and operations, by the clock of @wheel */
u64 torture_deadline(struct rnd_state *rng, struct twheel *wheel)
{
	u64 delay;

	switch (torture_below(rng, 9)) {
	case 0:
		return 0;
	case 1:
		return TWHEEL_NEVER;
	case 2:
		delay = torture_below(rng, 100 * NSEC_PER_USEC);
		break;
	case 3 ... 4:
		delay = torture_below(rng, 2 * NSEC_PER_MSEC);
		break;
	case 5:
		delay = torture_below(rng, 30 * NSEC_PER_MSEC);
		break;
	case 6:
		/* Round up, so that timers of all kinds share a deadline. */
		delay = torture_below(rng, 30 * NSEC_PER_MSEC);
		return (twheel_deadline_on(wheel, delay) | (BIT_ULL(23) - 1)) + 1;
	case 7:
		delay = torture_below(rng, 300 * NSEC_PER_MSEC);
		break;
	default:
		/* Hours to centuries, or never. */
		delay = (u64)(torture_below(rng, U32_MAX) | 1 << 20) <<
			(22 + torture_below(rng, 12));
		break;
	}
	return twheel_deadline_on(wheel, delay);
}

/* Mostly none, otherwise mostly little, so that operations still expire soon. */
u64 torture_slack(struct rnd_state *rng)
{
	if (torture_below(rng, 4))
		return 0;
	return torture_below(rng, 4) ? torture_below(rng, 5 * NSEC_PER_MSEC) :
					TWHEEL_SLACK_COARSE;
}

enum twheel_rearm torture_rearm(struct rnd_state *rng)
{
	static const u8 modes[] = {
		TWHEEL_REARM_ALWAYS, TWHEEL_REARM_IF_EARLIER, TWHEEL_REARM_IF_LATER,
		TWHEEL_REARM_IF_PENDING,
	};

	return modes[torture_below(rng, ARRAY_SIZE(modes))];
}

static struct torture_timer *random_timer(struct rnd_state *rng, struct torture_wheel *w)
{
	u32 nr = torture_below(rng, 2) ? HOT_TIMERS : TORTURE_TIMERS;

	return &w->timer[torture_below(rng, nr)];
}

static struct torture_wheel *random_wheel(struct rnd_state *rng)
{
	return &torture_wheels[torture_below(rng, torture_nr_wheels)];
}

static struct torture_wheel *pick_wheel(struct rnd_state *rng)
{
	if (torture_below(rng, 2))
		return random_wheel(rng);
	return &torture_wheels[jiffies / SHARED_PERIOD % torture_nr_wheels];
}

/* A random call that is safe in any context and concurrently with other calls. */
static void random_call(struct rnd_state *rng, struct torture_timer *t)
{
	u64 deadline = torture_deadline(rng, t->wheel->wheel);

	switch (t->kind == KIND_TIMER ? torture_below(rng, 4) : 3) {
	case 0:
		outcome_add(t, deadline, torture_slack(rng));
		break;
	case 1 ... 2:
		outcome_rearm(t, deadline, torture_slack(rng), torture_rearm(rng));
		break;
	case 3:
		outcome_cancel(t);
		break;
	}
}

static void random_call_here(struct rnd_state *rng, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(rng, w);

	if (!outcome_get_shared(t))
		return;
	random_call(rng, t);
	outcome_put_shared(t);
}

/* Timer functions */

static void random_call_elsewhere(struct rnd_state *rng)
{
	struct torture_wheel *w = random_wheel(rng);

	if (!down_read_trylock(&w->gate))
		return;
	if (w->wheel)
		random_call_here(rng, w);
	up_read(&w->gate);
}

static void arm_self(struct torture_timer *t)
{
	u64 deadline = torture_deadline(&t->rng, t->wheel->wheel);

	if (READ_ONCE(t->wheel->draining) || t->kind == KIND_ORPHAN)
		return;
	if (t->kind == KIND_TIMER && torture_below(&t->rng, 4))
		outcome_rearm(t, deadline, torture_slack(&t->rng), torture_rearm(&t->rng));
	else
		outcome_add(t, deadline, 0);
}

/* A random action of a timer function. */
static void act(struct torture_timer *t)
{
	struct rnd_state *rng = &t->rng;

	switch (torture_below(rng, 16)) {
	case 0 ... 3:
		arm_self(t);
		break;
	case 4:
		arm_self(t);
		outcome_cancel(t);
		break;
	case 5 ... 7:
		if (!READ_ONCE(t->wheel->closing))
			random_call_here(rng, t->wheel);
		break;
	case 8:
		if (!READ_ONCE(t->wheel->closing))
			random_call_elsewhere(rng);
		break;
	case 9:
		if (torture_may_delay(rng))
			udelay(torture_below(rng, 50));
		break;
	case 10:
		if (torture_may_delay(rng))
			usleep_range(100, 1000);
		arm_self(t);
		break;
	}
}

static void put_orphan(struct torture_timer *t)
{
	struct torture_wheel *w = t->wheel;

	if (!refcount_dec_and_test(&t->refs))
		return;
	if (outcome_nr_open(t))
		torture_fail(FAIL_LOST, t, "freed without an outcome");
	kfree(t);
	atomic_dec(&w->orphans);
}

/* An orphan drops its own reference; sometimes the function continues after that. */
static void run_orphan(struct torture_timer *t)
{
	bool linger = !torture_below(&t->rng, 4) && torture_may_delay(&t->rng);
	struct torture_wheel *w = t->wheel;

	atomic_inc(&w->orphans_running);
	outcome_enter(t);
	act(t);
	outcome_leave(t);
	put_orphan(t);
	if (linger)
		usleep_range(100, 2000);
	atomic_dec_return_release(&w->orphans_running);
}

/* The common function of all timers. */
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

/* The callback of twheel_stop(). */
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
	return flags;
}

/* Initialise a settled timer for the current wheel of @w. */
void torture_timer_init(struct torture_timer *t, struct torture_wheel *w, enum torture_kind kind)
{
	t->wheel = w;
	t->kind = kind;
	t->flags = random_flags(&t->rng, kind);
	t->quiet = false;
	t->shutdown_begun = false;
	t->shutdown_done = false;
	kind_init(t);
}

/* Pick the kind of a timer for a round. The hot timers are always plain ones. */
enum torture_kind torture_random_kind(struct rnd_state *rng, unsigned int number, bool allow_work)
{
	if (number < HOT_TIMERS)
		return KIND_TIMER;
	switch (torture_below(rng, 5)) {
	case 0:
		return allow_work ? KIND_WORK : KIND_TIMER;
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
	t->clock_seq = torture_clock_seq();
	torture_seed(&t->rng, prandom_u32_state(rng));
	torture_timer_init(t, w, KIND_ORPHAN);
	atomic_inc(&w->orphans);
	return t;
}

/* Add an orphan, and mostly cancel, settle or re-arm it. */
static void start_orphan(struct rnd_state *rng, struct torture_wheel *w)
{
	struct torture_timer *t;
	int err;

	/* A change of the clock could delay it for hours. */
	if (w->clock == TWHEEL_CLOCK_REALTIME)
		return;
	t = new_orphan(rng, w);
	if (!t)
		return;
	err = outcome_add(t, twheel_deadline_on(w->wheel,
						torture_below(rng, 5 * NSEC_PER_MSEC)), 0);
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
	/* The arming failed or was cancelled: drop its reference, too. */
	if (err)
		put_orphan(t);
	put_orphan(t);
}

/* A delay during which outcome_enter() would catch a call of a settled timer. */
static void delay_while_settled(struct rnd_state *rng)
{
	if (!torture_may_delay(rng))
		return;
	if (torture_below(rng, 4))
		udelay(torture_below(rng, 20));
	else
		usleep_range(10, 3000);
}

static void work_exclusive(struct rnd_state *rng, struct torture_wheel *w, struct torture_timer *t)
{
	outcome_settle(t);
	delay_while_settled(rng);
	if (!READ_ONCE(w->stopping) && (t->shutdown_done || !torture_below(rng, 4)))
		torture_timer_init(t, w, t->kind);
	if (torture_below(rng, 8))
		outcome_arm_exactly(t, torture_deadline(rng, w->wheel),
				    torture_deadline(rng, w->wheel), torture_rearm(rng));
}

/* Read the public state. Each added timer must be pending or have an outcome. */
static void read_stats(struct torture_wheel *w, struct torture_timer *t)
{
	struct twheel_stats stats;

	twheel_timer_remaining(&t->timer);
	twheel_get_stats(w->wheel, &stats);
	if (stats.added != stats.fired + stats.cancelled + stats.pending)
		torture_fail(FAIL_COUNTS, NULL, "added is not fired + cancelled + pending");
}

static void work_shared(struct torture_thread *thread, struct torture_wheel *w,
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
		torture_step(thread, "read stats");
		read_stats(w, t);
		break;
	default:
		torture_step(thread, "random calls");
		for (n = torture_below(&thread->rng, 16); n; n--)
			random_call(&thread->rng, t);
		break;
	}
}

static void work_on(struct torture_thread *thread, struct torture_wheel *w)
{
	struct torture_timer *t = random_timer(&thread->rng, w);
	u32 choice = torture_below(&thread->rng, 16);

	if (choice < 2) {
		torture_step(thread, "orphan");
		start_orphan(&thread->rng, w);
	} else if (choice < 6 && outcome_get_exclusive(t)) {
		torture_step(thread, "settle");
		work_exclusive(&thread->rng, w, t);
		outcome_put_exclusive(t);
	} else if (outcome_get_shared(t)) {
		work_shared(thread, w, t);
		outcome_put_shared(t);
	}
}

/* Thread function: works on random wheels. */
void torture_worker(struct torture_thread *thread)
{
	struct torture_wheel *w;
	unsigned int n;
	bool open;

	while (!torture_should_stop()) {
		w = pick_wheel(&thread->rng);
		torture_step(thread, "pick a wheel");
		open = down_read_trylock(&w->gate);
		if (open) {
			for (n = torture_below(&thread->rng, 64); n && w->wheel; n--)
				work_on(thread, w);
			up_read(&w->gate);
		}
		torture_pause(thread, !open);
	}
}
