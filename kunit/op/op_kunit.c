// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations: ends that the model of kunit/model/op_model.h does not have.
 *
 * The selftests of the device check on several CPUs that exactly one caller ends an
 * operation.
 */
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

#define NR_MOMENTS	400

/* Cancels from before the deadline until after the callback, which takes 300 us. */
static void either_cancel_or_expiry_ends_op(struct kunit *test)
{
	unsigned int i, nr_cancelled = 0, nr_expired = 0;
	struct probe *probe;
	u64 deadline;
	int ret;

	for (i = 0; i < NR_MOMENTS; i++) {
		probe = probe_new(test);
		probe->takes_ns = 300 * NSEC_PER_USEC;
		KUNIT_ASSERT_EQ(test, probe_add(probe, 5 * NSEC_PER_MSEC, TWHEEL_COND_NONE, 0,
						NULL), 0);
		deadline = twheel_deadline(5 * NSEC_PER_MSEC);
		vtime_sleep_until(deadline - NSEC_PER_MSEC + i * 10 * NSEC_PER_USEC);
		ret = twheel_op_cancel(&probe->op);
		nr_cancelled += ret == 0;
		nr_expired += ret == -EALREADY;
		vtime_sleep(5 * NSEC_PER_MSEC);
		expect_ended(test, probe, ret ? TWHEEL_REASON_EXPIRED : TWHEEL_REASON_CANCELLED, 0);
	}
	KUNIT_EXPECT_EQ(test, nr_cancelled + nr_expired, NR_MOMENTS);
	KUNIT_EXPECT_GT(test, nr_cancelled, 0);
	KUNIT_EXPECT_GT(test, nr_expired, 0);
}

static void cancel_sync_waits_for_callback(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, probe_add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&probe->op), -EALREADY);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), probe->result.time + NSEC_PER_SEC);
}

static void op_is_released_once(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);

	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	probe_signal(10, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->released, 1);

	probe = probe_new(test);
	KUNIT_EXPECT_EQ(test, probe_add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static void watching_further_keys_is_all_or_nothing(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 100, 60);
	struct probe *plain = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 200, 5), -EINVAL);
	expect_counts(test, 1, 60, 60);
	/* Key 159 is watched already. */
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 159, 5), 4);
	expect_counts(test, 1, 64, 64);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 100, 0), -EINVAL);

	KUNIT_EXPECT_EQ(test, probe_watch(test, plain, 10, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_add(plain, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, plain, 10, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&plain->op), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, plain, 10, 1), -EALREADY);
	expect_counts(test, 1, 64, 64);
}

static struct kunit_case op_cases[] = {
	KUNIT_CASE(either_cancel_or_expiry_ends_op),
	KUNIT_CASE(cancel_sync_waits_for_callback),
	KUNIT_CASE(op_is_released_once),
	KUNIT_CASE(watching_further_keys_is_all_or_nothing),
	{}
};

static struct kunit_suite op_suite = {
	.name		= "twheel_op",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= op_cases,
};

kunit_test_suite(op_suite);
