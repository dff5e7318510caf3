// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with their own wheel: checks of the wheel, and slack.
 */
#include <linux/ktime.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "op_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)

static struct twheel *create_wheel(struct kunit *test, enum twheel_clock clock, u64 max_pending)
{
	const struct twheel_config config = {
		.name = "kunit", .clock = clock, .max_pending = max_pending,
	};
	struct twheel *wheel = twheel_create(&config);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return wheel;
}

/* Expect an add to be refused, and twheel_op_check() to return @check. */
static void expect_refused(struct kunit *test, const struct twheel_op_args *args, int check)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, twheel_op_check(args), check);
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, args),
			-EINVAL);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

static void unsuitable_wheel_is_refused(struct kunit *test)
{
	struct twheel *full = create_wheel(test, TWHEEL_CLOCK_MONOTONIC, 100);
	struct twheel *boottime = create_wheel(test, TWHEEL_CLOCK_BOOTTIME, 0);
	struct twheel *realtime = create_wheel(test, TWHEEL_CLOCK_REALTIME, 0);
	struct twheel_op_args args = { .deadline = TWHEEL_NEVER, .wheel = full };

	expect_refused(test, &args, -EINVAL);
	args.wheel = boottime;
	args.flags = TWHEEL_OP_CANCEL_ON_SET;
	expect_refused(test, &args, -EINVAL);
	args.flags = TWHEEL_OP_WALL;
	expect_refused(test, &args, -EINVAL);
	args.wheel = realtime;
	args.flags = 0;
	expect_refused(test, &args, -EINVAL);
	args.flags = TWHEEL_OP_WALL << 1;
	expect_refused(test, &args, -EINVAL);
	twheel_destroy(full);
	twheel_destroy(boottime);
	twheel_destroy(realtime);
}

static void purgatory_on_unsuitable_wheel_returns_einval(struct kunit *test)
{
	struct twheel *wheels[] = {
		create_wheel(test, TWHEEL_CLOCK_MONOTONIC, 2),
		create_wheel(test, TWHEEL_CLOCK_REALTIME, 0),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wheels); i++) {
		const struct twheel_purgatory_config config = {
			.wheel = wheels[i], .max_pending = 1,
		};

		KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_purgatory_create(&config)), -EINVAL);
		twheel_destroy(wheels[i]);
	}
}

static int add_slack(struct probe *probe, u64 deadline, u64 slack)
{
	const struct twheel_op_args args = { .deadline = deadline, .slack_ns = slack };

	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

static void rearm_replaces_slack(struct kunit *test)
{
	struct probe *loses = probe_new(test), *gains = probe_new(test), *keeps = probe_new(test);
	u64 deadline = twheel_deadline(80 * SECOND + 1);

	KUNIT_EXPECT_EQ(test, add_slack(loses, deadline, 10 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, add_slack(gains, deadline, 0), 0);
	KUNIT_EXPECT_EQ(test, add_slack(keeps, deadline, TWHEEL_SLACK_COARSE), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&loses->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm_slack(&gains->op, deadline, 10 * SECOND,
						    TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm_slack(&gains->op, deadline, 10 * SECOND,
						    TWHEEL_REARM_IF_PENDING), 1);
	vtime_sleep(100 * SECOND);
	expect_expired(test, loses, deadline, 0);
	expect_expired(test, gains, deadline, 10 * SECOND);
	KUNIT_EXPECT_GT(test, gains->result.time, deadline + SECOND / 10);
	expect_expired(test, keeps, deadline, 10 * SECOND);
	KUNIT_EXPECT_GT(test, keeps->result.time, deadline + SECOND / 10);
}

static u64 new_deadline;

static void rearm_self(struct probe *probe)
{
	probe->on_eval = NULL;
	twheel_op_rearm(&probe->op, new_deadline, TWHEEL_REARM_ALWAYS);
}

/* The predicate is evaluated before the add arms the timer. */
static void rearm_during_add_takes_effect(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);
	struct twheel_op_args args = {
		.condition = TWHEEL_COND_PREDICATE, .slack_ns = 50 * SECOND,
	};

	new_deadline = twheel_deadline(80 * SECOND + 1);
	args.deadline = new_deadline;
	probe->on_eval = rearm_self;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 1);
	vtime_sleep(200 * SECOND);
	expect_expired(test, probe, new_deadline, 0);
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(unsuitable_wheel_is_refused),
	KUNIT_CASE(purgatory_on_unsuitable_wheel_returns_einval),
	KUNIT_CASE(rearm_replaces_slack),
	KUNIT_CASE(rearm_during_add_takes_effect),
	{}
};

static struct kunit_suite wheel_suite = {
	.name		= "twheel_op_wheel",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= wheel_cases,
};

kunit_test_suite(wheel_suite);
