// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of Kafka's ThresholdPurgatoryTest, of its raft client, by their
 * names. Documentation/cases.rst maps one to the other.
 *
 * Their purgatory holds futures in the order of a threshold each, and completes
 * those whose threshold a value has passed. Here the threshold is the consumer's,
 * and all of the operations watch one key, under which the value moves.
 */
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../vtime.h"
#include "watcher.h"

#define KEY		1
#define WAIT_NS		(500 * NSEC_PER_MSEC)

struct future {
	struct watcher	watcher;
	u64		threshold;
};

/* As far as the log is replicated. */
static u64 high_watermark;

static bool passed(struct watcher *watcher, u64 *value)
{
	*value = high_watermark;
	return high_watermark > container_of(watcher, struct future, watcher)->threshold;
}

static struct future *await(struct kunit *test, u64 threshold, u64 delay)
{
	struct future *future = kunit_kzalloc(test, sizeof(*future), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, future);
	watcher_init(&future->watcher);
	future->watcher.holds = passed;
	future->threshold = threshold;
	KUNIT_ASSERT_EQ(test, watcher_add(&future->watcher, delay, KEY, 1), 0);
	return future;
}

static u32 maybe_complete(u64 value)
{
	high_watermark = value;
	return watcher_check(KEY);
}

/* As many as these wait, all of them under the one key. */
static void expect_waiting(struct kunit *test, u64 nr)
{
	expect_counts(test, nr, nr ? 1 : 0, nr);
}

static void expect_failed(struct kunit *test, const struct future *future, int error)
{
	expect_done(test, &future->watcher, TWHEEL_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, future->watcher.result.error, error);
}

static void expect_value(struct kunit *test, const struct future *future, u64 value)
{
	expect_done(test, &future->watcher, TWHEEL_COMPLETED, value);
	KUNIT_EXPECT_EQ(test, future->watcher.result.error, 0);
}

/* To reach a threshold is not to pass it. */
static void threshold_completion(struct kunit *test)
{
	struct future *third = await(test, 3, WAIT_NS);
	struct future *first = await(test, 1, WAIT_NS);
	struct future *fifth = await(test, 5, WAIT_NS);

	expect_waiting(test, 3);
	KUNIT_EXPECT_EQ(test, maybe_complete(1), 0);
	expect_waiting(test, 3);
	KUNIT_EXPECT_EQ(test, maybe_complete(2), 1);
	expect_value(test, first, 2);
	expect_waiting(test, 2);
	KUNIT_EXPECT_EQ(test, maybe_complete(3), 0);
	expect_waits(test, &third->watcher);
	expect_waits(test, &fifth->watcher);
	KUNIT_EXPECT_EQ(test, maybe_complete(6), 2);
	expect_value(test, third, 6);
	expect_value(test, fifth, 6);
	expect_waiting(test, 0);
}

static void expect_expired(struct kunit *test, const struct future *future)
{
	const struct twheel_op_result *result = &future->watcher.result;

	expect_done(test, &future->watcher, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_GE(test, result->time, result->deadline);
	KUNIT_EXPECT_LE(test, result->time,
			result->deadline + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
}

/* Whether they wait for the same or not, each has a deadline of its own. */
static void expiration(struct kunit *test)
{
	u64 start = ktime_get_ns();
	struct future *first = await(test, 1, 200 * NSEC_PER_MSEC);
	struct future *same = await(test, 1, 50 * NSEC_PER_MSEC);
	struct future *fifth = await(test, 5, 200 * NSEC_PER_MSEC);

	vtime_sleep_until(start + 49 * NSEC_PER_MSEC);
	expect_waiting(test, 3);
	vtime_sleep_until(start + 52 * NSEC_PER_MSEC);
	expect_waiting(test, 2);
	expect_expired(test, same);
	KUNIT_EXPECT_EQ(test, maybe_complete(2), 1);
	expect_value(test, first, 2);

	vtime_sleep_until(start + 202 * NSEC_PER_MSEC);
	expect_waiting(test, 0);
	expect_expired(test, fifth);
	KUNIT_EXPECT_EQ(test, maybe_complete(6), 0);
	KUNIT_EXPECT_EQ(test, first->watcher.ended, 1);
}

/* Whatever they wait for; others may wait again after that. */
static void complete_all_with(struct kunit *test, int error, u64 value)
{
	struct future *futures[] = {
		await(test, 3, WAIT_NS), await(test, 5, WAIT_NS), await(test, 7, TWHEEL_NEVER),
	};
	struct future *later;
	unsigned int i;

	expect_waiting(test, ARRAY_SIZE(futures));
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, error, value, 0),
			ARRAY_SIZE(futures));
	expect_waiting(test, 0);
	for (i = 0; i < ARRAY_SIZE(futures); i++) {
		if (error)
			expect_failed(test, futures[i], error);
		else
			expect_value(test, futures[i], value);
	}

	later = await(test, 3, WAIT_NS);
	expect_waiting(test, 1);
	KUNIT_EXPECT_EQ(test, maybe_complete(4), 1);
	expect_value(test, later, 4);
}

/* The name that the case has to bear is that of a function of the kernel. */
#define complete_all	complete_all_case

static void complete_all(struct kunit *test)
{
	complete_all_with(test, 0, 77);
}

/* The value is for those that did not fail. */
static void complete_all_exceptionally(struct kunit *test)
{
	complete_all_with(test, -ECONNRESET, 77);
}

/* By whoever awaits them: they are gone from the purgatory at once. */
static void external_completion(struct kunit *test)
{
	struct future *completed = await(test, 3, WAIT_NS);
	struct future *failed = await(test, 5, WAIT_NS);
	struct future *cancelled = await(test, 5, WAIT_NS);
	struct future *left = await(test, 5, WAIT_NS);

	KUNIT_EXPECT_EQ(test, twheel_op_complete(&completed->watcher.op, 8), 0);
	expect_waiting(test, 3);
	expect_value(test, completed, 8);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&failed->watcher.op, -EIO), 0);
	expect_waiting(test, 2);
	expect_failed(test, failed, -EIO);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&cancelled->watcher.op), 0);
	expect_waiting(test, 1);
	expect_done(test, &cancelled->watcher, TWHEEL_CANCELLED, 0);

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
