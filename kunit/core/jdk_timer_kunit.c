// SPDX-License-Identifier: GPL-2.0
/*
 * Guarantees that the JDK's Timer and ScheduledThreadPoolExecutor give, or are known to
 * violate, and the cases of its ScheduledExecutorTest about periodic timers, under their
 * own names. Documentation/cases.rst maps the names.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "timer_probe.h"

/*
 * A callback in which everything fails: it adds a pending timer, adds a timer that was
 * shut down, and takes too long.
 */
static struct timer_probe pending, shut;
static int add_pending, add_shut;

static void failing_callback(struct twheel_timer *timer)
{
	add_pending = timer_probe_add(&pending, 0);
	add_shut = timer_probe_add(&shut, 0);
	vtime_sleep(NSEC_PER_SEC);
}

/*
 * A TimerTask that throws terminates its Timer. A failing callback here affects no other
 * timer.
 */
static void a_callback_that_fails_does_not_stop_the_timer(struct kunit *test)
{
	static struct timer_probe failing, due, later;
	u64 deadline = twheel_deadline(10 * NSEC_PER_MSEC);

	timer_probe_init(&pending);
	timer_probe_init(&shut);
	timer_probe_init(&failing);
	timer_probe_init(&due);
	timer_probe_init(&later);
	twheel_timer_init(&failing.timer, timer_wheel, failing_callback);
	timer_probe_add(&pending, 100 * NSEC_PER_SEC);
	twheel_timer_shutdown_sync(&shut.timer);
	twheel_timer_add(&failing.timer, deadline);
	twheel_timer_add(&due.timer, deadline);
	timer_probe_add(&later, 5 * NSEC_PER_SEC);

	vtime_sleep(10 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, add_pending, -EBUSY);
	KUNIT_EXPECT_EQ(test, add_shut, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, due.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, later.nr_fired, 1);
	expect_on_time(test, &later);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 1);

	/* The failing timer itself can be added again, too. */
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&failing.timer, 0), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 2);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&pending.timer), 0);
}

/* java.util.Timer uses the wall clock, so that steps of the clock move its deadlines. */
static void the_wall_clock_being_set_does_not_move_deadlines(struct kunit *test)
{
	static const s64 steps[] = { 3600LL * NSEC_PER_SEC, -3600LL * NSEC_PER_SEC };
	static struct timer_probe probe;
	u64 remaining, left;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		timer_probe_init(&probe);
		timer_probe_add(&probe, 10 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		wall_clock_step(test, steps[i]);
		remaining = twheel_timer_remaining(&probe.timer);
		left = probe.deadline - ktime_get_ns();
		KUNIT_EXPECT_GE(test, remaining, left);
		KUNIT_EXPECT_LE(test, remaining,
				left + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
		vtime_sleep(7 * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
		vtime_sleep(3 * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
		expect_on_time(test, &probe);
		twheel_timer_cancel_sync(&probe.timer);
	}
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(a_callback_that_fails_does_not_stop_the_timer),
	KUNIT_CASE(the_wall_clock_being_set_does_not_move_deadlines),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "jdk_timer",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_cases,
};

/* ScheduledExecutorTest */

#define CYCLES	8U
#define PERIOD	(10 * NSEC_PER_MSEC)
#define STALL	(35 * NSEC_PER_MSEC)

struct run {
	u64	started;
	u64	ended;
	u64	overrun;
};

/* A periodic timer that records its runs. Run number @stalled, if not 0, takes STALL. */
struct sequence {
	struct twheel_periodic	periodic;
	u64			first;
	unsigned int		nr_runs;
	unsigned int		stalled;
	struct run		run[CYCLES];
};

static void sequence_run(struct twheel_periodic *periodic)
{
	struct sequence *sequence = container_of(periodic, struct sequence, periodic);
	struct run *run = &sequence->run[min(sequence->nr_runs, CYCLES - 1)];

	run->started = ktime_get_ns();
	run->overrun = twheel_periodic_overrun(periodic);
	if (++sequence->nr_runs == sequence->stalled)
		vtime_sleep(STALL);
	run->ended = ktime_get_ns();
}

static void sequence_start(struct kunit *test, struct sequence *sequence,
			   enum twheel_repeat repeat, unsigned int stalled)
{
	memset(sequence, 0, sizeof(*sequence));
	sequence->stalled = stalled;
	sequence->first = twheel_deadline(PERIOD);
	twheel_periodic_init(&sequence->periodic, timer_wheel, sequence_run, 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&sequence->periodic, sequence->first, PERIOD,
						    CYCLES, repeat), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, sequence->nr_runs, CYCLES);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&sequence->periodic.timer));
}

static void expect_start(struct kunit *test, const struct run *run, u64 deadline)
{
	KUNIT_EXPECT_GE(test, run->started, deadline);
	KUNIT_EXPECT_LE(test, run->started,
			deadline + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
}

/*
 * At each run, runs and overruns add up to the number of passed deadlines. After the
 * stall, runs start on the grid again.
 */
static void expect_caught_up(struct kunit *test, const struct sequence *sequence)
{
	u64 served = 0, behind;
	unsigned int i;

	for (i = 0; i < CYCLES; i++) {
		const struct run *run = &sequence->run[i];

		served += run->overrun + 1;
		behind = div64_u64(run->started - sequence->first, PERIOD) + 1;
		KUNIT_EXPECT_EQ(test, served, behind);
		if (i != sequence->stalled)
			expect_start(test, run, sequence->first + (behind - 1) * PERIOD);
	}
	/* There are no extra runs for the deadlines that passed during the stall. */
	KUNIT_EXPECT_GE(test, served, CYCLES + STALL / PERIOD - 1);
}

static void fixed_rate_sequence(struct kunit *test)
{
	static struct sequence sequence;
	unsigned int i;

	sequence_start(test, &sequence, TWHEEL_FIXED_RATE, 0);
	for (i = 0; i < CYCLES; i++) {
		expect_start(test, &sequence.run[i], sequence.first + i * PERIOD);
		KUNIT_EXPECT_EQ(test, sequence.run[i].overrun, 0);
	}
	sequence_start(test, &sequence, TWHEEL_FIXED_RATE, 3);
	expect_caught_up(test, &sequence);
}

static void expect_delayed(struct kunit *test, const struct sequence *sequence)
{
	unsigned int i;

	expect_start(test, &sequence->run[0], sequence->first);
	for (i = 1; i < CYCLES; i++) {
		expect_start(test, &sequence->run[i], sequence->run[i - 1].ended + PERIOD);
		KUNIT_EXPECT_EQ(test, sequence->run[i].overrun, 0);
	}
}

/* There are no runs to catch up: a stall delays all later runs. */
static void fixed_delay_sequence(struct kunit *test)
{
	static struct sequence sequence;

	sequence_start(test, &sequence, TWHEEL_FIXED_DELAY, 0);
	expect_delayed(test, &sequence);
	sequence_start(test, &sequence, TWHEEL_FIXED_DELAY, 3);
	expect_delayed(test, &sequence);
	KUNIT_EXPECT_GE(test, sequence.run[CYCLES - 1].started,
			sequence.first + (CYCLES - 1) * PERIOD + STALL);
}

static struct kunit_case executor_cases[] = {
	KUNIT_CASE(fixed_rate_sequence),
	KUNIT_CASE(fixed_delay_sequence),
	{}
};

static struct kunit_suite executor_suite = {
	.name		= "jdk_scheduled_executor_test",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= executor_cases,
};

kunit_test_suites(&timer_suite, &executor_suite);
