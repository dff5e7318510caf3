// SPDX-License-Identifier: GPL-2.0
/*
 * The test cases of ThresholdPurgatoryTest of Kafka's raft client, with the same names.
 * Documentation/cases.rst has the mapping.
 *
 * Kafka's purgatory sorts futures by threshold and completes them when a value has passed
 * their threshold. Here the predicate compares threshold and value, and all operations
 * watch one key, which is checked when the value changes.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../vtime.h"

#define KEY		1
#define WAIT_NS		(500 * NSEC_PER_MSEC)

struct future {
	struct probe	watcher;
	u64		threshold;
};

/* End of the replicated log. */
static u64 high_watermark;

static bool threshold_passed(struct probe *watcher, u64 *value)
{
	*value = high_watermark;
	return high_watermark > container_of(watcher, struct future, watcher)->threshold;
}

static struct future *future_add(struct kunit *test, u64 threshold, u64 delay)
{
	struct future *future = kunit_kzalloc(test, sizeof(*future), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, future);
	probe_init_predicate(&future->watcher);
	future->watcher.predicate = threshold_passed;
	future->threshold = threshold;
	KUNIT_ASSERT_EQ(test, watcher_add(test, &future->watcher, delay, KEY, 1), 0);
	return future;
}

static u32 maybe_complete(u64 value)
{
	high_watermark = value;
	return probe_check(KEY, 0);
}

/* Expect @nr pending operations, all under one key. */
static void expect_nr_pending(struct kunit *test, u64 nr)
{
	expect_counts(test, nr, nr ? 1 : 0, nr);
}

static void expect_failed(struct kunit *test, const struct future *future, int error)
{
	expect_ended(test, &future->watcher, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, future->watcher.result.error, error);
}

static void expect_value(struct kunit *test, const struct future *future, u64 value)
{
	expect_ended(test, &future->watcher, TWHEEL_REASON_COMPLETED, value);
	KUNIT_EXPECT_EQ(test, future->watcher.result.error, 0);
}

/* A threshold must be exceeded. Reaching it is not enough. */
static void threshold_completion(struct kunit *test)
{
	struct future *third = future_add(test, 3, WAIT_NS);
	struct future *first = future_add(test, 1, WAIT_NS);
	struct future *fifth = future_add(test, 5, WAIT_NS);

	expect_nr_pending(test, 3);
	KUNIT_EXPECT_EQ(test, maybe_complete(1), 0);
	expect_nr_pending(test, 3);
	KUNIT_EXPECT_EQ(test, maybe_complete(2), 1);
	expect_value(test, first, 2);
	expect_nr_pending(test, 2);
	KUNIT_EXPECT_EQ(test, maybe_complete(3), 0);
	expect_pending(test, &third->watcher);
	expect_pending(test, &fifth->watcher);
	KUNIT_EXPECT_EQ(test, maybe_complete(6), 2);
	expect_value(test, third, 6);
	expect_value(test, fifth, 6);
	expect_nr_pending(test, 0);
}

/* Each operation has its own deadline, even if the thresholds are equal. */
static void expiration(struct kunit *test)
{
	u64 start = ktime_get_ns();
	struct future *first = future_add(test, 1, 200 * NSEC_PER_MSEC);
	struct future *same = future_add(test, 1, 50 * NSEC_PER_MSEC);
	struct future *fifth = future_add(test, 5, 200 * NSEC_PER_MSEC);

	vtime_sleep_until(start + 49 * NSEC_PER_MSEC);
	expect_nr_pending(test, 3);
	vtime_sleep_until(start + 52 * NSEC_PER_MSEC);
	expect_nr_pending(test, 2);
	expect_expired(test, &same->watcher, same->watcher.result.deadline, 0);
	KUNIT_EXPECT_EQ(test, maybe_complete(2), 1);
	expect_value(test, first, 2);

	vtime_sleep_until(start + 202 * NSEC_PER_MSEC);
	expect_nr_pending(test, 0);
	expect_expired(test, &fifth->watcher, fifth->watcher.result.deadline, 0);
	KUNIT_EXPECT_EQ(test, maybe_complete(6), 0);
	KUNIT_EXPECT_EQ(test, first->watcher.ended, 1);
}

/* All operations complete, regardless of their thresholds. New ones can be added afterwards. */
static void complete_all_with(struct kunit *test, int error, u64 value)
{
	struct future *futures[] = {
		future_add(test, 3, WAIT_NS), future_add(test, 5, WAIT_NS),
		future_add(test, 7, TWHEEL_NEVER),
	};
	struct future *later;
	unsigned int i;

	expect_nr_pending(test, ARRAY_SIZE(futures));
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, error, value, 0),
			ARRAY_SIZE(futures));
	expect_nr_pending(test, 0);
	for (i = 0; i < ARRAY_SIZE(futures); i++) {
		if (error)
			expect_failed(test, futures[i], error);
		else
			expect_value(test, futures[i], value);
	}

	later = future_add(test, 3, WAIT_NS);
	expect_nr_pending(test, 1);
	KUNIT_EXPECT_EQ(test, maybe_complete(4), 1);
	expect_value(test, later, 4);
}

/* The name of this test case is also that of a kernel function. */
#define complete_all	complete_all_case

static void complete_all(struct kunit *test)
{
	complete_all_with(test, 0, 77);
}

/* The value is not reported with an error. */
static void complete_all_exceptionally(struct kunit *test)
{
	complete_all_with(test, -ECONNRESET, 77);
}

/* Operations completed by the caller leave the purgatory at once. */
static void external_completion(struct kunit *test)
{
	struct future *completed = future_add(test, 3, WAIT_NS);
	struct future *failed = future_add(test, 5, WAIT_NS);
	struct future *cancelled = future_add(test, 5, WAIT_NS);
	struct future *left = future_add(test, 5, WAIT_NS);

	KUNIT_EXPECT_EQ(test, twheel_op_complete(&completed->watcher.op, 8), 0);
	expect_nr_pending(test, 3);
	expect_value(test, completed, 8);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&failed->watcher.op, -EIO), 0);
	expect_nr_pending(test, 2);
	expect_failed(test, failed, -EIO);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&cancelled->watcher.op), 0);
	expect_nr_pending(test, 1);
	expect_ended(test, &cancelled->watcher, TWHEEL_REASON_CANCELLED, 0);

	KUNIT_EXPECT_EQ(test, maybe_complete(6), 1);
	expect_value(test, left, 6);
	expect_value(test, completed, 8);
	expect_failed(test, failed, -EIO);
	KUNIT_EXPECT_EQ(test, cancelled->watcher.ended, 1);
}

static int threshold_init(struct kunit *test)
{
	high_watermark = 0;
	return probe_suite_init(test);
}

static struct kunit_case threshold_cases[] = {
	KUNIT_CASE(threshold_completion),
	KUNIT_CASE(expiration),
	KUNIT_CASE(complete_all),
	KUNIT_CASE(complete_all_exceptionally),
	KUNIT_CASE(external_completion),
	{}
};

static struct kunit_suite threshold_suite = {
	.name		= "raft_threshold_purgatory_test",
	.init		= threshold_init,
	.exit		= probe_suite_exit,
	.test_cases	= threshold_cases,
};

kunit_test_suite(threshold_suite);
