// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, timers: what slack is worth.  The same timers wait on two
 * wheels, exact on one and with slack on the other: that one moves them less and
 * wakes up less, and none is earlier than its deadline, or later than its slack.
 * How far ahead that holds is seen in timer_range_kunit.c.
 */
#include <kunit/test.h>
#include <linux/time64.h>

#include "../random.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_set.h"

#define SIZE	1000

/**
 * struct bargain - what is given, and what is asked for it
 * @slack: of all timers
 * @ahead: how far they lie ahead at the most
 * @moves: how many times fewer moves there are at the least
 * @wakeups: how many times fewer wake-ups
 */
struct bargain {
	u64		slack;
	u64		ahead;
	unsigned int	moves;
	unsigned int	wakeups;
};

static const struct bargain bargains[] = {
	{ TWHEEL_SLACK_COARSE, 240 * NSEC_PER_SEC, 8, 4 },
	{ TWHEEL_SLACK_COARSE, 10 * NSEC_PER_SEC, 2, 3 },
	{ 100 * NSEC_PER_MSEC, 240 * NSEC_PER_SEC, 1, 1 },
	{ 5 * NSEC_PER_SEC, 200 * NSEC_PER_SEC, 50, 20 },
};

static void bargain_desc(const struct bargain *bargain, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "slack %llu ns, up to %llu ns ahead",
		 bargain->slack, bargain->ahead);
}

KUNIT_ARRAY_PARAM(bargain, bargains, bargain_desc);

static struct timer_set exact, coarse;

static int coarse_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "coarse" };

	KUNIT_ASSERT_EQ(test, timer_set_start(&exact, &config, SIZE), 0);
	KUNIT_ASSERT_EQ(test, timer_set_start(&coarse, &config, SIZE), 0);
	timer_set_wake(&exact);
	timer_set_wake(&coarse);
	return 0;
}

static void coarse_exit(struct kunit *test)
{
	timer_set_end(&exact);
	timer_set_end(&coarse);
}

static void slack_makes_for_fewer_moves_and_wakeups(struct kunit *test)
{
	const struct bargain *bargain = test->param_value;
	struct twheel_stats dear, cheap;
	struct rnd_state random;
	unsigned int i;
	u64 deadline;

	random_start(test, &random);
	for (i = 0; i < SIZE; i++) {
		deadline = twheel_deadline(random_within(&random, bargain->ahead));
		timer_set_add(&exact.member[i], deadline, 0, 0);
		timer_set_add(&coarse.member[i], deadline, bargain->slack, 0);
		vtime_sleep(1);
	}
	vtime_sleep(bargain->ahead + bargain->ahead / 8 + NSEC_PER_SEC);
	vtime_sleep(bargain->slack == TWHEEL_SLACK_COARSE ? 0 : bargain->slack);
	for (i = 0; i < SIZE; i++) {
		expect_exact(test, &exact.member[i], timer_set_slop(&exact));
		expect_exact(test, &coarse.member[i], timer_set_slop(&coarse));
	}
	dear = stats_of(exact.wheel);
	cheap = stats_of(coarse.wheel);
	kunit_info(test, "%llu moves instead of %llu, %llu wake-ups instead of %llu\n",
		   cheap.cascaded, dear.cascaded, cheap.wakeups, dear.wakeups);
	KUNIT_EXPECT_LT(test, cheap.cascaded * bargain->moves, dear.cascaded);
	KUNIT_EXPECT_LT(test, cheap.wakeups * bargain->wakeups, dear.wakeups);
}

static struct kunit_case coarse_cases[] = {
	KUNIT_CASE_PARAM(slack_makes_for_fewer_moves_and_wakeups, bargain_gen_params),
	{}
};

static struct kunit_suite coarse_suite = {
	.name		= "twheel_timer_coarse",
	.init		= coarse_init,
	.exit		= coarse_exit,
	.test_cases	= coarse_cases,
};

kunit_test_suite(coarse_suite);
