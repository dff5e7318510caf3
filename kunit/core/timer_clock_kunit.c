// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: wheels that use CLOCK_REALTIME or CLOCK_BOOTTIME, and the
 * effect of setting the wall clock.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "timer_probe.h"

/* Time for the alarm to take a timer. */
#define TAKEN_NS	(20 * NSEC_PER_USEC)

/* Sum of all steps of the wall clock. */
static s64 moved;

/* Add a timer with a deadline or a delay. */
static void add_at(struct kunit *test, struct timer_probe *probe, unsigned int flags, u64 deadline)
{
	timer_probe_init_flags(probe, flags);
	KUNIT_EXPECT_EQ(test, timer_probe_add_at(probe, deadline), 0);
}

static void add_in(struct kunit *test, struct timer_probe *probe, unsigned int flags, u64 delay)
{
	add_at(test, probe, flags, twheel_deadline_on(timer_wheel, delay));
}

static void expect_cancelled(struct kunit *test, const struct timer_probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe->error, -ECANCELED);
}

static void clock_move(struct kunit *test, s64 ns)
{
	moved += ns;
	wall_clock_step(test, ns);
}

static int clock_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .clock = TWHEEL_CLOCK_REALTIME };

	/* Far from 1970, so that the clock can be set back. */
	moved = 0;
	clock_move(test, 2000000000 * NSEC_PER_SEC - ktime_get_real_ns());
	return timer_suite_start(test, &config);
}

static void clock_exit(struct kunit *test)
{
	timer_suite_exit(test);
	clock_move(test, -moved);
}

/* The reaper is busy for 50 ms from now on. */
static void keep_busy(struct kunit *test, struct timer_probe *busy)
{
	timer_probe_init(busy);
	busy->takes_ns = 50 * NSEC_PER_MSEC;
	KUNIT_EXPECT_EQ(test, timer_probe_add_at(busy, 0), 0);
	vtime_sleep(NSEC_PER_MSEC);
}

/* The clock has shown the deadline, and the alarm has taken the timer. */
static void taken_timer_fires_after_step_back(struct kunit *test)
{
	static struct timer_probe probe[2];
	u64 tick_ns = twheel_tick_ns(timer_wheel);
	unsigned int i, nr;

	for (nr = 0; nr < 20; nr++) {
		for (i = 0; i < 2; i++)
			add_at(test, &probe[i], 0,
			       (twheel_now(timer_wheel) / tick_ns + 5) * tick_ns + 1 + nr * 1000);
		preempt_disable();
		ndelay(probe[0].deadline + TAKEN_NS - twheel_now(timer_wheel));
		clock_move(test, -3600 * (s64)NSEC_PER_SEC);
		preempt_enable();
		vtime_sleep(2 * NOTICE_NS);
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, probe[i].nr_fired, 1);
			twheel_timer_cancel(&probe[i].timer);
		}
		clock_move(test, 3600 * (s64)NSEC_PER_SEC);
		vtime_sleep(2 * NOTICE_NS);
	}
}

/* A timer that was due by the old time fires normally. */
static void passed_deadline_is_not_cancelled(struct kunit *test)
{
	static struct timer_probe busy, past, due, ahead;

	keep_busy(test, &busy);
	add_at(test, &past, TWHEEL_TIMER_CANCEL_ON_SET, 0);
	add_in(test, &due, TWHEEL_TIMER_CANCEL_ON_SET, 5 * NSEC_PER_MSEC);
	add_in(test, &ahead, TWHEEL_TIMER_CANCEL_ON_SET,
	       5 * NSEC_PER_MSEC + 2 * twheel_tick_ns(timer_wheel));
	ndelay(due.deadline + TAKEN_NS - twheel_now(timer_wheel));
	clock_move(test, 3600 * (s64)NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, past.nr_fired + due.nr_fired, 2);
	KUNIT_EXPECT_EQ(test, past.error, 0);
	KUNIT_EXPECT_EQ(test, due.error, 0);
	expect_cancelled(test, &ahead);
}

/*
 * As with timerfd, a step cancels timers even if it is undone before the wheel reads the
 * clock.
 */
static void step_undone_at_once_is_noticed(struct kunit *test)
{
	static struct timer_probe far, never, plain;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		add_in(test, &far, TWHEEL_TIMER_CANCEL_ON_SET, 100000 * NSEC_PER_SEC);
		add_at(test, &never, TWHEEL_TIMER_CANCEL_ON_SET, TWHEEL_NEVER);
		add_in(test, &plain, 0, 100000 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		wall_clock_step_and_undo(test, i % 2 ? NSEC_PER_SEC : -(s64)NSEC_PER_SEC);
		vtime_sleep(2 * NOTICE_NS);
		expect_cancelled(test, &far);
		expect_cancelled(test, &never);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&plain.timer), 0);
	}
}

/*
 * A step does not move other timers unless they are due, even after cancel-on-set timers
 * were on the wheel.
 */
static void step_wakes_no_reaper_for_other_timers(struct kunit *test)
{
	static struct timer_probe plain, on_set;
	u64 wakeups, cascaded;
	unsigned int i;

	add_in(test, &on_set, TWHEEL_TIMER_CANCEL_ON_SET, 100000 * NSEC_PER_SEC);
	add_in(test, &plain, 0, 100000 * NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	clock_move(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	expect_cancelled(test, &on_set);
	wakeups = stats_of(timer_wheel).wakeups;
	cascaded = stats_of(timer_wheel).cascaded;
	for (i = 0; i < 10; i++) {
		clock_move(test, i % 2 ? NSEC_PER_SEC : -(s64)NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_MSEC);
	}
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, cascaded);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&plain.timer), 0);
}

static struct twheel_wall_timer rearmed;
static int rearmed_error;

static void rearm_and_ask(struct twheel_timer *timer)
{
	if (!rearmed_error)
		twheel_timer_rearm(timer, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS);
	rearmed_error = twheel_timer_error(timer);
}

/* The error is that of the call, also after the callback has armed its timer again. */
static void rearm_in_callback_keeps_error(struct kunit *test)
{
	rearmed_error = 0;
	twheel_wall_timer_init(&rearmed, timer_wheel, rearm_and_ask, TWHEEL_TIMER_CANCEL_ON_SET);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&rearmed.timer, TWHEEL_NEVER), 0);
	clock_move(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rearmed_error, -ECANCELED);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&rearmed.timer), 0);
}

static struct twheel_wall_timer plain_timer, on_set_timers[200];
static unsigned int nr_cancelled, nr_before_plain;

static void count_cancelled(struct twheel_timer *timer)
{
	if (timer == &plain_timer.timer)
		nr_before_plain = nr_cancelled;
	else
		nr_cancelled++;
}

/* Many timers are cancelled, while another one is due; then again while the reaper sleeps. */
static void cancelled_timers_do_not_delay_others(struct kunit *test)
{
	static struct timer_probe busy;
	u64 deadline, wakeups;
	unsigned int i;

	nr_cancelled = 0;
	nr_before_plain = U32_MAX;
	keep_busy(test, &busy);
	for (i = 0; i < ARRAY_SIZE(on_set_timers); i++) {
		twheel_wall_timer_init(&on_set_timers[i], timer_wheel, count_cancelled,
				       TWHEEL_TIMER_CANCEL_ON_SET);
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&on_set_timers[i].timer, TWHEEL_NEVER), 0);
	}
	twheel_wall_timer_init(&plain_timer, timer_wheel, count_cancelled, 0);
	deadline = twheel_deadline_on(timer_wheel, 100 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&plain_timer.timer, deadline), 0);
	clock_move(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, nr_cancelled, ARRAY_SIZE(on_set_timers));
	KUNIT_EXPECT_LE(test, nr_before_plain, 32);

	wakeups = stats_of(timer_wheel).wakeups;
	for (i = 0; i < ARRAY_SIZE(on_set_timers); i++)
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&on_set_timers[i].timer, TWHEEL_NEVER), 0);
	clock_move(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, nr_cancelled, 2 * ARRAY_SIZE(on_set_timers));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups + 1);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(taken_timer_fires_after_step_back),
	KUNIT_CASE(passed_deadline_is_not_cancelled),
	KUNIT_CASE(step_undone_at_once_is_noticed),
	KUNIT_CASE(step_wakes_no_reaper_for_other_timers),
	KUNIT_CASE(rearm_in_callback_keeps_error),
	KUNIT_CASE(cancelled_timers_do_not_delay_others),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_timer_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
