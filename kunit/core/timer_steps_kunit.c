// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: wheels that are not affected by steps of the wall clock, and
 * the effect of steps on timers that are periodic, already late, or due while the reaper
 * is busy. timer_clock_exact_kunit.c tests many timers on one wheel.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "../random.h"
#include "timer_set.h"
#include "leap.h"

#define DAY_NS		(24 * 3600 * NSEC_PER_SEC)
/* Initial time of the wall clock, far from both limits. */
#define START_NS	(50 * 365 * DAY_NS)
#define SIZE		300

static struct timer_set timer_set;
static struct rnd_state random;
static s64 offset;

static int steps_init(struct kunit *test)
{
	offset = wall_offset();
	wall_set(START_NS);
	random_start(test, &random);
	return 0;
}

static void steps_exit(struct kunit *test)
{
	timer_set_end(&timer_set);
	wall_restore(offset);
}

static void start(struct kunit *test, enum twheel_clock clock)
{
	const struct twheel_config config = { .name = "steps", .clock = clock };

	KUNIT_ASSERT_EQ(test, timer_set_start(&timer_set, &config, SIZE), 0);
}

/* Step the wall clock by up to 2^@bits ns in either direction. */
static void set_within(unsigned int bits)
{
	u64 size = random_magnitude(&random, bits);
	u64 now = ktime_get_real_ns();

	wall_set(random_below(&random, 2) ? now + size : max(now - size, START_NS / 2));
}

/* Step the clock at random while timers are pending for up to two minutes. */
static void expect_unaffected(struct kunit *test, enum twheel_clock clock)
{
	unsigned int i;
	u64 deadline;

	start(test, clock);
	for (i = 0; i < SIZE; i++) {
		deadline = twheel_deadline_on(timer_set.wheel,
					      random_within(&random, 120 * NSEC_PER_SEC));
		KUNIT_ASSERT_EQ(test, 0,
				timer_set_add(&timer_set.member[i], deadline, 0,
					      i % 2 ? TWHEEL_TIMER_CANCEL_ON_SET : 0));
	}
	while (atomic_read(&timer_set.nr_fired) < SIZE && i++ < 1000) {
		set_within(54);
		vtime_sleep(random_within(&random, 2 * NSEC_PER_SEC));
	}
	for (i = 0; i < SIZE; i++)
		expect_exact(test, &timer_set.member[i], timer_set_slop(&timer_set));
}

static void steps_do_not_affect_monotonic_wheel(struct kunit *test)
{
	expect_unaffected(test, TWHEEL_CLOCK_MONOTONIC);
}

static void steps_do_not_affect_boottime_wheel(struct kunit *test)
{
	expect_unaffected(test, TWHEEL_CLOCK_BOOTTIME);
}

static DECLARE_COMPLETION(busy_begins);
static DECLARE_COMPLETION(busy_may_end);

static void busy(struct twheel_timer *timer)
{
	complete(&busy_begins);
	wait_for_completion(&busy_may_end);
}

/* Start a wheel whose reaper is busy until @busy_may_end is completed. */
static void start_busy(struct kunit *test, struct twheel_timer *first)
{
	start(test, TWHEEL_CLOCK_REALTIME);
	reinit_completion(&busy_begins);
	reinit_completion(&busy_may_end);
	twheel_timer_init(first, timer_set.wheel, busy);
	twheel_timer_add(first, 0);
	wait_for_completion(&busy_begins);
}

/* All deadlines have already passed when the reaper processes the timers. */
static void step_back_does_not_delay_passed_timers(struct kunit *test)
{
	static struct twheel_timer first;
	unsigned int i;
	u64 at;

	start_busy(test, &first);
	for (i = 0; i < SIZE; i++)
		timer_set_add(&timer_set.member[i],
			      random_within(&random, START_NS - DAY_NS), 0, 0);
	wall_set(START_NS - DAY_NS);
	at = ktime_get_ns();
	complete(&busy_may_end);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < SIZE; i++) {
		KUNIT_ASSERT_EQ_MSG(test, timer_set.member[i].nr_fired, 1, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, timer_set.member[i].at, at + timer_set_slop(&timer_set),
				    "timer %u", i);
	}
}

/*
 * Timers became due while the reaper was busy, and the clock was set back before it could
 * process them. They fire nevertheless, and the others stay pending.
 */
static void timers_missed_by_busy_reaper_fire_after_step_back(struct kunit *test)
{
	static struct twheel_timer first;
	unsigned int i, late = 0;
	u64 passed;

	start_busy(test, &first);
	for (i = 0; i < SIZE; i++)
		timer_set_add(&timer_set.member[i], START_NS + NSEC_PER_SEC +
			      random_within(&random, 9 * NSEC_PER_SEC), 0, 0);
	vtime_sleep(5 * NSEC_PER_SEC);
	passed = ktime_get_real_ns();
	wall_set(START_NS);
	complete(&busy_may_end);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < SIZE; i++) {
		KUNIT_EXPECT_EQ_MSG(test, timer_set.member[i].nr_fired,
				    timer_set.member[i].deadline <= passed, "timer %u", i);
		late += timer_set.member[i].deadline > passed;
	}
	KUNIT_EXPECT_GT(test, late, 0);
	KUNIT_EXPECT_LT(test, late, SIZE);
	vtime_sleep(10 * NSEC_PER_SEC);
	for (i = 0; i < SIZE; i++)
		if (timer_set.member[i].deadline > passed)
			expect_exact(test, &timer_set.member[i], timer_set_slop(&timer_set));
}

#define PERIOD_NS	(777777777ULL)

/**
 * struct grid - a periodic timer, and its expected next run
 * @periodic: the timer
 * @test: the test
 * @deadline: of the next run
 * @before: wall clock just before the last step
 * @wall: wall clock just after the last step
 * @runs: number of runs
 * @served: number of deadlines that the runs have served
 */
struct grid {
	struct twheel_periodic	periodic;
	struct kunit		*test;
	u64			deadline;
	u64			before;
	u64			wall;
	u64			runs;
	u64			served;
};

static void grid_run(struct twheel_periodic *periodic)
{
	struct grid *grid = container_of(periodic, struct grid, periodic);
	u64 missed = twheel_periodic_overrun(periodic);
	u64 now = twheel_now(timer_set.wheel);

	/* If the alarm has found the timer due, a step back does not delay it. */
	KUNIT_EXPECT_GE(grid->test, max(now, grid->before), grid->deadline);
	KUNIT_EXPECT_LE(grid->test, now, VTIME_SLOP_NS +
			max(grid->deadline + twheel_tick_ns(timer_set.wheel),
			    grid->wall + NOTICE_NS));
	KUNIT_EXPECT_EQ(grid->test, missed,
			div64_u64(max(now, grid->deadline) - grid->deadline, PERIOD_NS));
	grid->deadline += (missed + 1) * PERIOD_NS;
	grid->served += missed + 1;
	grid->runs++;
}

static void fixed_rate_stays_on_grid(struct kunit *test)
{
	static struct grid grid;
	unsigned int i;

	start(test, TWHEEL_CLOCK_REALTIME);
	grid = (struct grid){ .test = test, .deadline = START_NS + PERIOD_NS, .wall = START_NS };
	twheel_periodic_init(&grid.periodic, timer_set.wheel, grid_run, 0);
	KUNIT_ASSERT_EQ(test, 0, twheel_periodic_start(&grid.periodic, grid.deadline, PERIOD_NS, 0,
						       TWHEEL_FIXED_RATE));
	vtime_sleep(2 * PERIOD_NS);
	for (i = 0; i < 200; i++) {
		vtime_sleep(NOTICE_NS + random_magnitude(&random, 31));
		KUNIT_EXPECT_LT(test, ktime_get_real_ns(), VTIME_SLOP_NS +
				grid.deadline + twheel_tick_ns(timer_set.wheel));
		grid.before = ktime_get_real_ns();
		set_within(33);
		grid.wall = ktime_get_real_ns();
	}
	KUNIT_EXPECT_EQ(test, twheel_periodic_cancel_sync(&grid.periodic), 0);
	KUNIT_EXPECT_GT(test, grid.runs, 1);
	KUNIT_EXPECT_EQ(test, START_NS + (grid.served + 1) * PERIOD_NS, grid.deadline);
}

static unsigned int nr_called, plain_called, on_set_called;

static void call_busy(struct twheel_timer *timer)
{
	vtime_sleep(200 * NSEC_PER_MSEC);
}

static void call_plain(struct twheel_timer *timer)
{
	plain_called = ++nr_called;
}

static void call_on_set(struct twheel_timer *timer)
{
	on_set_called = ++nr_called;
}

/*
 * Timers that a step cancels have a wheel of their own. While the reaper is busy, it is empty, and
 * does not pass the other one: a later tick does not become due first.
 */
static void cancel_on_set_does_not_change_order(struct kunit *test)
{
	static struct twheel_timer busy, plain;
	static struct twheel_clock_timer on_set;

	start(test, TWHEEL_CLOCK_REALTIME);
	nr_called = 0;
	twheel_timer_init(&busy, timer_set.wheel, call_busy);
	twheel_timer_init(&plain, timer_set.wheel, call_plain);
	twheel_clock_timer_init(&on_set, timer_set.wheel, call_on_set, 0);
	twheel_timer_add(&busy, 0);
	vtime_sleep(40 * NSEC_PER_MSEC);
	twheel_timer_add(&plain, twheel_now(timer_set.wheel));
	vtime_sleep(120 * NSEC_PER_MSEC);
	twheel_timer_add(&on_set.timer, twheel_now(timer_set.wheel) - 60 * NSEC_PER_MSEC);
	vtime_sleep(400 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, plain_called, 1);
	KUNIT_EXPECT_EQ(test, on_set_called, 2);
}

static int on_set_error;

static void note_error(struct twheel_timer *timer)
{
	on_set_error = twheel_timer_error(timer);
}

/* The reaper is busy, and has left a step unfinished when the clock is set again. */
static void timer_added_during_step_is_cancelled_by_next(struct kunit *test)
{
	static struct twheel_timer first;
	static struct twheel_clock_timer on_set;
	unsigned int i;

	start_busy(test, &first);
	on_set_error = 0;
	twheel_clock_timer_init(&on_set, timer_set.wheel, note_error, 0);
	for (i = 0; i < SIZE; i++)
		timer_set_add(&timer_set.member[i], START_NS + NSEC_PER_SEC +
			      random_within(&random, 9 * NSEC_PER_SEC), 0, 0);
	vtime_sleep(11 * NSEC_PER_SEC);
	wall_set(START_NS);
	vtime_sleep(NOTICE_NS);
	twheel_timer_add(&on_set.timer, START_NS + DAY_NS);
	wall_set(START_NS - DAY_NS);
	vtime_sleep(NOTICE_NS);
	complete(&busy_may_end);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, on_set_error, -ECANCELED);
	twheel_timer_cancel_sync(&on_set.timer);
}

static struct kunit_case steps_cases[] = {
	KUNIT_CASE(steps_do_not_affect_monotonic_wheel),
	KUNIT_CASE(steps_do_not_affect_boottime_wheel),
	KUNIT_CASE(step_back_does_not_delay_passed_timers),
	KUNIT_CASE(timers_missed_by_busy_reaper_fire_after_step_back),
	KUNIT_CASE(fixed_rate_stays_on_grid),
	KUNIT_CASE(cancel_on_set_does_not_change_order),
	KUNIT_CASE(timer_added_during_step_is_cancelled_by_next),
	{}
};

static struct kunit_suite steps_suite = {
	.name		= "twheel_timer_clock_steps",
	.init		= steps_init,
	.exit		= steps_exit,
	.test_cases	= steps_cases,
};

kunit_test_suite(steps_suite);
