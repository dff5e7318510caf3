// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for deadlines of operations: checks of a wheel, slack, re-arming of operations that
 * are due or are being added, and the first call that sees a step of the wall clock.
 *
 * kunit/model/op_model.h re-arms operations at any other time, twheel_clock_test has operations of
 * each clock, and the torture test races of a re-arm or a step with the expiry.
 */
#include <linux/preempt.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "op_probe.h"

#define SECOND	((s64)NSEC_PER_SEC)

static struct twheel *create_wheel(struct kunit *test, enum twheel_clock clock, u64 max_pending)
{
	const struct twheel_config config = {
		.name = "kunit", .clock = clock, .max_pending = max_pending,
	};
	struct twheel *wheel = twheel_create(&config);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return wheel;
}

static void expect_refused(struct kunit *test, const struct twheel_op_args *args)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, twheel_op_check(args), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, args), -EINVAL);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

/* By an add, and by a purgatory. */
static void unsuitable_wheel_is_refused(struct kunit *test)
{
	struct twheel *full = create_wheel(test, TWHEEL_CLOCK_MONOTONIC, 100);
	struct twheel *boottime = create_wheel(test, TWHEEL_CLOCK_BOOTTIME, 0);
	struct twheel *realtime = create_wheel(test, TWHEEL_CLOCK_REALTIME, 0);
	const struct twheel_op_args refused[] = {
		{ .wheel = full },
		{ .wheel = boottime, .flags = TWHEEL_OP_CANCEL_ON_SET },
		{ .wheel = boottime, .flags = TWHEEL_OP_WALL },
		{ .wheel = realtime },
		{ .wheel = realtime, .flags = TWHEEL_OP_WALL << 2 },
		{ .flags = TWHEEL_OP_CELL | TWHEEL_OP_WALL },
	};
	struct twheel_purgatory_config config = { .wheel = full, .max_pending = 1 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refused); i++)
		expect_refused(test, &refused[i]);
	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_purgatory_create(&config)), -EINVAL);
	config.wheel = realtime;
	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_purgatory_create(&config)), -EINVAL);
	twheel_destroy(full);
	twheel_destroy(boottime);
	twheel_destroy(realtime);
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

static struct probe *add_expiring(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add(probe, delay, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 2)), 0);
	return probe;
}

static int rearm(struct probe *probe, u64 delay)
{
	return twheel_op_rearm(&probe->op, twheel_deadline(delay), TWHEEL_REARM_ALWAYS);
}

/*
 * The callback of another operation that is due just before blocks the reaper, so that
 * this operation is removed from the wheel long after its deadline. A call made before
 * the timer function runs takes effect.
 */
static struct probe *add_overdue(struct kunit *test)
{
	u64 deadline = twheel_deadline(SECOND);
	struct probe *slow = add_expiring(test, TWHEEL_NEVER);
	struct probe *probe = add_expiring(test, TWHEEL_NEVER);

	slow->takes_ns = 2 * SECOND;
	twheel_op_rearm(&slow->op, deadline, TWHEEL_REARM_ALWAYS);
	twheel_op_rearm(&probe->op, deadline + 2 * NSEC_PER_MSEC, TWHEEL_REARM_ALWAYS);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_TRUE(test, slow->busy);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	return probe;
}

static void overdue_op_can_be_rearmed(struct kunit *test)
{
	struct probe *probe = add_overdue(test);
	struct twheel_op_progress progress;
	u64 deadline = twheel_deadline(3 * SECOND);

	KUNIT_EXPECT_EQ(test, twheel_op_get_progress(&probe->op, &progress, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, progress.remaining, 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER), 1);
	vtime_sleep(SECOND);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probe->op, deadline, TWHEEL_REARM_IF_EARLIER), 1);
	vtime_sleep(3 * SECOND);
	expect_expired(test, probe, deadline, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

static void overdue_op_can_be_completed(struct kunit *test)
{
	struct probe *probe = add_overdue(test);

	KUNIT_EXPECT_EQ(test, probe_signal(11, 6), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 6);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 6);
}

/*
 * The reaper has removed the timer from the wheel and is about to call the timer function. No other
 * thread can run at that point on one CPU, so the test emulates the reaper with private functions.
 * From that point on the operation has ended, though its state does not say so yet.
 */
static void expiring_op_has_ended(struct kunit *test)
{
	struct probe *probe = add_expiring(test, SECOND);
	struct twheel_op_progress progress;

	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe->op.timer), 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, 5 * SECOND), -EALREADY);
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 4), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 5), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 1), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_get_progress(&probe->op, &progress, NULL, 0), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	probe->op.timer.fn(&probe->op.timer);
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	expect_counts(test, 0, 0, 0);
}

static int own_ret;

static void rearm_self(struct probe *probe)
{
	probe->on_eval = NULL;
	own_ret = rearm(probe, 10 * SECOND);
}

/* This also works before the add has armed the timer, and replaces the slack. */
static void predicate_rearms_its_own_op(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);
	const struct twheel_op_args args = {
		.deadline = twheel_deadline(SECOND), .slack_ns = 50 * SECOND,
		.condition = TWHEEL_COND_PREDICATE,
	};

	probe->on_eval = rearm_self;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	KUNIT_EXPECT_EQ(test, own_ret, 1);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 1);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	probe->on_eval = rearm_self;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, own_ret, 1);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	vtime_sleep(2 * SECOND);
	expect_expired(test, probe, probe->result.deadline, 0);
}

static struct kunit *step_test;

static void step(struct probe *probe)
{
	probe->on_eval = NULL;
	wall_clock_step(step_test, 3 * SECOND);
}

static void expect_cancelled(struct kunit *test, const struct probe *probe, struct twheel *wheel)
{
	expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, -ECANCELED);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	expect_counts(test, 0, 0, 0);
}

/* The add evaluates the predicate when the operation is pending, and the step is undone. */
static void first_call_after_a_step_cancels(struct kunit *test)
{
	static const u64 to[] = { 1, SECOND, 200 * SECOND, TWHEEL_NEVER };
	struct twheel *realtime = create_wheel(test, TWHEEL_CLOCK_REALTIME, 0);
	struct twheel_op_args args = {
		.wheel = realtime, .flags = TWHEEL_OP_WALL | TWHEEL_OP_CANCEL_ON_SET,
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_PREDICATE,
	};
	struct probe *probe = probe_new_predicate(test);
	unsigned int i;
	int ret;

	step_test = test;
	probe->on_eval = step;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	expect_cancelled(test, probe, realtime);
	wall_clock_step(test, -3 * SECOND);

	/* A re-arm does not hide the step. */
	for (i = 0; i < ARRAY_SIZE(to); i++) {
		probe = probe_new_predicate(test);
		args.deadline = twheel_deadline_on(realtime, 100 * SECOND);
		KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
		vtime_sleep(SECOND);
		preempt_disable();
		wall_clock_step(test, i % 2 ? -5 * SECOND : 5 * SECOND);
		ret = twheel_op_rearm(&probe->op, twheel_deadline_on(realtime, to[i]),
				      TWHEEL_REARM_ALWAYS);
		preempt_enable();
		KUNIT_EXPECT_EQ(test, ret, -EALREADY);
		expect_cancelled(test, probe, realtime);
		KUNIT_EXPECT_EQ(test, probe->result.deadline, args.deadline);
		vtime_sleep(2 * SECOND);
		expect_cancelled(test, probe, realtime);
	}
	twheel_destroy(realtime);
}

static struct kunit_case deadline_cases[] = {
	KUNIT_CASE(unsuitable_wheel_is_refused),
	KUNIT_CASE(rearm_replaces_slack),
	KUNIT_CASE(overdue_op_can_be_rearmed),
	KUNIT_CASE(overdue_op_can_be_completed),
	KUNIT_CASE(expiring_op_has_ended),
	KUNIT_CASE(predicate_rearms_its_own_op),
	KUNIT_CASE(first_call_after_a_step_cancels),
	{}
};

static struct kunit_suite deadline_suite = {
	.name		= "twheel_op_deadline",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= deadline_cases,
};

kunit_test_suite(deadline_suite);
