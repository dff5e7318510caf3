// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: the effect of steps on timers that are already late, or due while the
 * reaper is busy. timer_clock_exact_kunit.c tests many timers on one wheel.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/errno.h>

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
	const struct twheel_config config = { .name = "steps", .clock = TWHEEL_CLOCK_REALTIME };

	offset = wall_offset();
	wall_set(START_NS);
	random_start(test, &random);
	return timer_set_start(&timer_set, &config, SIZE);
}

static void steps_exit(struct kunit *test)
{
	timer_set_end(&timer_set);
	wall_restore(offset);
}

static DECLARE_COMPLETION(busy_begins);
static DECLARE_COMPLETION(busy_may_end);

static void busy(struct twheel_timer *timer)
{
	complete(&busy_begins);
	wait_for_completion(&busy_may_end);
}

/* Keep the reaper busy until @busy_may_end is completed. */
static void start_busy(struct twheel_timer *first)
{
	reinit_completion(&busy_begins);
	reinit_completion(&busy_may_end);
	twheel_timer_init(first, timer_set.wheel, busy);
	twheel_timer_add(first, 0);
	wait_for_completion(&busy_begins);
}

/*
 * Timers became due while the reaper was busy, or were due when they were added, and the clock was
 * set back before it could process them. They fire nevertheless, and the others stay pending.
 */
static void timers_missed_by_busy_reaper_fire_after_step_back(struct kunit *test)
{
	static struct twheel_timer first;
	unsigned int i, late = 0;
	u64 passed;

	start_busy(&first);
	for (i = 0; i < SIZE; i++)
		timer_set_add(&timer_set.member[i], START_NS - 5 * NSEC_PER_SEC +
			      random_within(&random, 15 * NSEC_PER_SEC), 0, 0);
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

/*
 * Timers that a step cancels have a wheel of their own. While the reaper is busy, it is empty, and
 * does not pass the other one: a later tick does not become due first.
 */
static void cancel_on_set_does_not_change_order(struct kunit *test)
{
	struct member *plain = &timer_set.member[0], *on_set = &timer_set.member[1];
	static struct twheel_timer first;

	start_busy(&first);
	vtime_sleep(40 * NSEC_PER_MSEC);
	timer_set_add(plain, twheel_now(timer_set.wheel), 0, 0);
	vtime_sleep(120 * NSEC_PER_MSEC);
	timer_set_add(on_set, twheel_now(timer_set.wheel) - 60 * NSEC_PER_MSEC, 0,
		      TWHEEL_TIMER_CANCEL_ON_SET);
	vtime_sleep(40 * NSEC_PER_MSEC);
	complete(&busy_may_end);
	vtime_sleep(200 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, plain->rank, 1);
	KUNIT_EXPECT_EQ(test, on_set->rank, 2);
}

/* The reaper is busy, and has left a step unfinished when the clock is set again. */
static void timer_added_during_step_is_cancelled_by_next(struct kunit *test)
{
	struct member *on_set = &timer_set.member[SIZE - 1];
	static struct twheel_timer first;
	unsigned int i;

	start_busy(&first);
	for (i = 0; i < SIZE - 1; i++)
		timer_set_add(&timer_set.member[i], START_NS + NSEC_PER_SEC +
			      random_within(&random, 9 * NSEC_PER_SEC), 0, 0);
	vtime_sleep(11 * NSEC_PER_SEC);
	wall_set(START_NS);
	vtime_sleep(NOTICE_NS);
	timer_set_add(on_set, START_NS + DAY_NS, 0, TWHEEL_TIMER_CANCEL_ON_SET);
	wall_set(START_NS - DAY_NS);
	vtime_sleep(NOTICE_NS);
	complete(&busy_may_end);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, on_set->nr_fired, 1);
	KUNIT_EXPECT_EQ(test, on_set->error, -ECANCELED);
}

static struct kunit_case steps_cases[] = {
	KUNIT_CASE(timers_missed_by_busy_reaper_fire_after_step_back),
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
