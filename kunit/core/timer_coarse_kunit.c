// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: the benefit of slack. The same timers are pending on two
 * wheels, exact on one and with slack on the other. Slack reduces moves and wakeups. No
 * timer is earlier than its deadline, or later than its slack allows. timer_due_kunit.c
 * tests slack for long delays.
 */
#include <kunit/test.h>
#include <linux/time64.h>

#include "../random.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_set.h"

#define SIZE	1000

/**
 * struct slack_case - a slack and its minimum benefit
 * @slack: slack of all timers
 * @ahead: maximum delay of the timers
 * @moves: minimum factor by which the moves are reduced
 * @wakeups: minimum factor by which the wakeups are reduced
 */
struct slack_case {
	u64		slack;
	u64		ahead;
	unsigned int	moves;
	unsigned int	wakeups;
};

static const struct slack_case slack_cases[] = {
	{ TWHEEL_SLACK_COARSE, 240 * NSEC_PER_SEC, 8, 4 },
	{ TWHEEL_SLACK_COARSE, 10 * NSEC_PER_SEC, 2, 3 },
	{ 100 * NSEC_PER_MSEC, 240 * NSEC_PER_SEC, 1, 1 },
	{ 5 * NSEC_PER_SEC, 200 * NSEC_PER_SEC, 50, 20 },
};

static void slack_desc(const struct slack_case *slack_case, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "slack %llu ns, up to %llu ns ahead",
		 slack_case->slack, slack_case->ahead);
}

KUNIT_ARRAY_PARAM(slack, slack_cases, slack_desc);

static struct timer_set exact, coarse;

static int coarse_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "coarse" };

	KUNIT_ASSERT_EQ(test, timer_set_start(&exact, &config, SIZE), 0);
	KUNIT_ASSERT_EQ(test, timer_set_start(&coarse, &config, SIZE), 0);
	return 0;
}

static void coarse_exit(struct kunit *test)
{
	timer_set_end(&exact);
	timer_set_end(&coarse);
}

static void slack_reduces_moves_and_wakeups(struct kunit *test)
{
	const struct slack_case *slack_case = test->param_value;
	struct twheel_stats without, with;
	struct rnd_state random;
	unsigned int i;
	u64 deadline;

	random_start(test, &random);
	for (i = 0; i < SIZE; i++) {
		deadline = twheel_deadline(random_within(&random, slack_case->ahead));
		timer_set_add(&exact.member[i], deadline, 0, 0);
		timer_set_add(&coarse.member[i], deadline, slack_case->slack, 0);
		vtime_sleep(1);
	}
	vtime_sleep(slack_case->ahead + slack_case->ahead / 8 + NSEC_PER_SEC);
	vtime_sleep(slack_case->slack == TWHEEL_SLACK_COARSE ? 0 : slack_case->slack);
	for (i = 0; i < SIZE; i++) {
		expect_exact(test, &exact.member[i], timer_set_slop(&exact));
		expect_exact(test, &coarse.member[i], timer_set_slop(&coarse));
	}
	without = stats_of(exact.wheel);
	with = stats_of(coarse.wheel);
	kunit_info(test, "%llu moves instead of %llu, %llu wakeups instead of %llu\n",
		   with.cascaded, without.cascaded, with.wakeups, without.wakeups);
	KUNIT_EXPECT_LT(test, with.cascaded * slack_case->moves, without.cascaded);
	KUNIT_EXPECT_LT(test, with.wakeups * slack_case->wakeups, without.wakeups);
}

static struct kunit_case coarse_cases[] = {
	KUNIT_CASE_PARAM(slack_reduces_moves_and_wakeups, slack_gen_params),
	{}
};

static struct kunit_suite coarse_suite = {
	.name		= "twheel_timer_coarse",
	.init		= coarse_init,
	.exit		= coarse_exit,
	.test_cases	= coarse_cases,
};

kunit_test_suite(coarse_suite);
