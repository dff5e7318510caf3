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
	struct twheel_op_args args = { .deadline = TWHEEL_NEVER, .wheel = full };

	expect_refused(test, &args, -EINVAL);
	args.wheel = boottime;
	args.flags = TWHEEL_OP_CANCEL_ON_SET;
	expect_refused(test, &args, -EINVAL);
	args.flags = TWHEEL_OP_MAY_SLEEP << 1;
	expect_refused(test, &args, -EINVAL);
	/* twheel_op_check() does not know the wheel of the purgatory. */
	args.wheel = NULL;
	args.flags = TWHEEL_OP_CANCEL_ON_SET;
	expect_refused(test, &args, 0);
	twheel_destroy(full);
	twheel_destroy(boottime);
}

static void purgatory_on_limited_wheel_returns_einval(struct kunit *test)
{
	struct twheel *full = create_wheel(test, TWHEEL_CLOCK_MONOTONIC, 2);
	const struct twheel_purgatory_config config = { .wheel = full, .max_pending = 1 };

	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_purgatory_create(&config)), -EINVAL);
	twheel_destroy(full);
}

static void cancel_on_set_works_with_purgatory_wheel(struct kunit *test)
{
	struct twheel *realtime = create_wheel(test, TWHEEL_CLOCK_REALTIME, 0);
	struct twheel *before = probe_wheel;
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .flags = TWHEEL_OP_CANCEL_ON_SET,
	};
	struct probe *probe = probe_new(test);

	probe_wheel = realtime;
	probe_limit(test, 1, 0);
	KUNIT_EXPECT_EQ(test, twheel_op_check(&args), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	wall_clock_step(test, SECOND);
	vtime_sleep(SECOND);
	wall_clock_step(test, -(s64)SECOND);
	expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, -ECANCELED);
	probe_wheel = before;
	probe_limit(test, MAX_PENDING, 0);
	twheel_destroy(realtime);
}

static int add_slack(struct probe *probe, u64 deadline, u64 slack)
{
	const struct twheel_op_args args = { .deadline = deadline, .slack_ns = slack };

	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

/* Returns the delay after the deadline. */
static u64 expect_within(struct kunit *test, const struct probe *probe, u64 slack)
{
	u64 late = probe->result.time - probe->result.deadline;

	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_GE(test, probe->result.time, probe->result.deadline);
	KUNIT_EXPECT_LE(test, late, slack + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
	return late;
}

#define NR_OPS	300

/* Operations with the same slack share wake-ups: deadlines spread over 3 s, few expiry times. */
static void slack_delays_expiry_but_never_early(struct kunit *test)
{
	u64 start = ktime_get_ns(), latest = 0, shared = 0;
	static struct probe *probes[NR_OPS];
	unsigned int i;

	for (i = 0; i < NR_OPS; i++) {
		probes[i] = probe_new(test);
		KUNIT_EXPECT_EQ(test, add_slack(probes[i], start + (100 + i) * SECOND / 100,
						SECOND), 0);
	}
	vtime_sleep(6 * SECOND);
	for (i = 0; i < NR_OPS; i++) {
		latest = max(latest, expect_within(test, probes[i], SECOND));
		shared += i && probes[i]->result.time <
			       probes[i - 1]->result.time + VTIME_SLOP_NS;
	}
	KUNIT_EXPECT_GT(test, latest, SECOND / 20);
	KUNIT_EXPECT_GT(test, shared, NR_OPS / 2);
	expect_counts(test, 0, 0, 0);
}

static void coarse_slack_is_an_eighth_of_the_delay(struct kunit *test)
{
	struct probe *probe = probe_new(test), *exact = probe_new(test);
	u64 deadline = twheel_deadline(80 * SECOND + 1);

	KUNIT_EXPECT_EQ(test, add_slack(probe, deadline, TWHEEL_SLACK_COARSE), 0);
	KUNIT_EXPECT_EQ(test, add_slack(exact, deadline, 0), 0);
	vtime_sleep(100 * SECOND);
	expect_within(test, exact, 0);
	KUNIT_EXPECT_GT(test, expect_within(test, probe, 10 * SECOND), SECOND / 10);
	KUNIT_EXPECT_LT(test, exact->order, probe->order);
}

static void rearm_replaces_slack(struct kunit *test)
{
	struct probe *loses = probe_new(test), *gains = probe_new(test);
	u64 deadline = twheel_deadline(80 * SECOND + 1);

	KUNIT_EXPECT_EQ(test, add_slack(loses, deadline, 10 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, add_slack(gains, deadline, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&loses->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm_slack(&gains->op, deadline, 10 * SECOND,
						    TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm_slack(&gains->op, deadline, 10 * SECOND,
						    TWHEEL_REARM_IF_PENDING), 1);
	vtime_sleep(100 * SECOND);
	expect_within(test, loses, 0);
	KUNIT_EXPECT_GT(test, expect_within(test, gains, 10 * SECOND), SECOND / 10);
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
	expect_within(test, probe, 0);
}

static int own_ret;

static void expire_self(struct probe *probe)
{
	own_ret = twheel_op_expire(&probe->op);
	probe->holds = true;
}

/* The predicate returns true too late. */
static void predicate_can_expire_its_own_op(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(probe, SECOND, NULL), 0);
	probe->on_eval = expire_self;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, own_ret, 0);
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(unsuitable_wheel_is_refused),
	KUNIT_CASE(purgatory_on_limited_wheel_returns_einval),
	KUNIT_CASE(cancel_on_set_works_with_purgatory_wheel),
	KUNIT_CASE(slack_delays_expiry_but_never_early),
	KUNIT_CASE(coarse_slack_is_an_eighth_of_the_delay),
	KUNIT_CASE(rearm_replaces_slack),
	KUNIT_CASE(rearm_during_add_takes_effect),
	KUNIT_CASE(predicate_can_expire_its_own_op),
	{}
};

static struct kunit_suite wheel_suite = {
	.name		= "twheel_op_wheel",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= wheel_cases,
};

kunit_test_suite(wheel_suite);
