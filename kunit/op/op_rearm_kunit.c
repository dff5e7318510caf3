// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for re-arming operations that are due, and in callbacks and predicates.
 *
 * Races between re-arm and expiry on different CPUs are left to the torture test.
 */
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)

static struct probe *add_expiring(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add(probe, delay, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 2)), 0);
	return probe;
}

static int rearm(struct probe *probe, u64 delay, enum twheel_rearm mode)
{
	return twheel_op_rearm(&probe->op, twheel_deadline(delay), mode);
}

static u64 remaining(struct probe *probe)
{
	struct twheel_op_progress progress;

	return twheel_op_get_progress(&probe->op, &progress, NULL, 0) ? 0 : progress.remaining;
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
	KUNIT_EXPECT_EQ(test, slow->ended, 1);
	KUNIT_EXPECT_TRUE(test, slow->busy);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	return probe;
}

static void overdue_op_can_be_rearmed(struct kunit *test)
{
	struct probe *probe = add_overdue(test);
	u64 deadline = twheel_deadline(3 * SECOND);

	KUNIT_EXPECT_EQ(test, remaining(probe), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probe->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	vtime_sleep(2 * SECOND);
	expect_expired(test, probe, deadline, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

static void overdue_op_can_be_rearmed_to_never(struct kunit *test)
{
	struct probe *probe = add_overdue(test);

	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(10 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	/* It is pending on the wheel, without a deadline. */
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 1);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_IF_EARLIER), 1);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
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
 * The reaper has removed the timer from the wheel and is about to call the timer
 * function. No other thread can run at that point on one CPU, so the test emulates the
 * reaper with private functions.
 */
static void emulate_removal(struct kunit *test, struct probe *probe)
{
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe->op.timer), 0);
}

static void emulate_call(struct probe *probe)
{
	probe->op.timer.fn(&probe->op.timer);
}

/* From that point on the operation has ended, though its state does not say so yet. */
static void expiring_op_has_ended(struct kunit *test)
{
	struct probe *probe = add_expiring(test, SECOND);
	struct twheel_op_progress progress;

	emulate_removal(test, probe);
	KUNIT_EXPECT_EQ(test, rearm(probe, 5 * SECOND, TWHEEL_REARM_ALWAYS), -EALREADY);
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 4), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 5), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 1), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_get_progress(&probe->op, &progress, NULL, 0), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	emulate_call(probe);
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	expect_counts(test, 0, 0, 0);
}

/* A callback can re-arm other operations, but not its own. A predicate can re-arm its own. */
static struct probe *other_probe;
static int own_ret, other_ret;

static void rearm_both(struct probe *probe)
{
	own_ret = rearm(probe, SECOND, TWHEEL_REARM_ALWAYS);
	other_ret = rearm(other_probe, 10 * SECOND, TWHEEL_REARM_ALWAYS);
}

static void callback_rearms_other_op_but_not_its_own(struct kunit *test)
{
	struct probe *probe = add_expiring(test, SECOND);

	other_probe = add_expiring(test, 2 * SECOND);
	probe->on_ended = rearm_both;
	vtime_sleep(5 * SECOND);
	KUNIT_EXPECT_EQ(test, own_ret, -EALREADY);
	KUNIT_EXPECT_EQ(test, other_ret, 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, other_probe->ended, 0);
	vtime_sleep(7 * SECOND);
	expect_ended(test, other_probe, TWHEEL_REASON_EXPIRED, 0);
}

static void rearm_self(struct probe *probe)
{
	own_ret = rearm(probe, 10 * SECOND, TWHEEL_REARM_ALWAYS);
}

/* This also works before the add has armed the timer. */
static void predicate_rearms_its_own_op(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);

	probe->on_eval = rearm_self;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(probe, SECOND, NULL), 0);
	probe->on_eval = NULL;
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
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
}

static struct kunit_case rearm_cases[] = {
	KUNIT_CASE(overdue_op_can_be_rearmed),
	KUNIT_CASE(overdue_op_can_be_rearmed_to_never),
	KUNIT_CASE(overdue_op_can_be_completed),
	KUNIT_CASE(expiring_op_has_ended),
	KUNIT_CASE(callback_rearms_other_op_but_not_its_own),
	KUNIT_CASE(predicate_rearms_its_own_op),
	{}
};

static struct kunit_suite rearm_suite = {
	.name		= "twheel_op_rearm",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= rearm_cases,
};

kunit_test_suite(rearm_suite);
