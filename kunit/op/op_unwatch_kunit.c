// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for adding and removing keys of pending operations, and for the limit on
 * watches.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "op_probe.h"

/* Unwatch a key. Returns an error, or 0 after poisoning the returned memory. */
static int unwatch(struct probe *probe, u64 number)
{
	const struct twheel_key key = { .v = { 0, number } };
	struct twheel_watch *watch = twheel_op_unwatch(&probe->op, &key);

	if (IS_ERR(watch))
		return PTR_ERR(watch);
	memset(watch, 0xa5, sizeof(*watch));
	return 0;
}

static void unwatched_key_has_no_effect(struct kunit *test)
{
	struct probe *any = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 3);
	struct probe *other = probe_pending(test, TWHEEL_COND_ANY, 0, 11, 1);

	KUNIT_EXPECT_EQ(test, unwatch(any, 11), 0);
	expect_counts(test, 2, 3, 3);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 1);
	KUNIT_EXPECT_EQ(test, other->ended, 1);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, unwatch(any, 12), 0);
	expect_counts(test, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, any->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(12, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 3), 1);
	expect_ended(test, any, TWHEEL_REASON_COMPLETED, 3);
	expect_counts(test, 0, 0, 0);
}

static void unwatch_returns_watch_memory(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 2);
	const struct twheel_watch_spec spec = { .key = { .v = { 0, 30 } } };
	struct twheel_watch *watch = twheel_op_unwatch(&probe->op, &(struct twheel_key){
		.v = { 0, 10 }
	});

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, watch);
	KUNIT_EXPECT_TRUE(test, watch >= probe->watch && watch < probe->watch + 2);
	/* It can be used for another key of the same operation, for example. */
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, &spec, watch, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(30, 4), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 4);
}

static void unwatch_error_codes(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_add(probe, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 2)), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 9), -ESRCH);
	probe_pending(test, TWHEEL_COND_ANY, 0, 9, 1);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 9), -ESRCH);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), -ESRCH);
	/* An operation with this condition needs at least one key. */
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	expect_counts(test, 2, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 1);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EALREADY);
}

static void unwatch_reduces_keys_needed_by_all(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ALL, 0, 10, 4);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 1), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(12, 1), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(13, 9), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 9);
}

static void unwatch_of_last_missing_key_completes_all(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ALL, 0, 10, 3);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 1) + probe_signal(12, 2), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

/* A quorum of two out of four keys. */
static void quorum_does_not_count_unwatched_key(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_QUORUM, 2, 10, 4);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 12), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 13), -EINVAL);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(13, 5), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 5);
}

static void sum_keeps_amounts_of_unwatched_key(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 10, probe_keys_new(test, 10, 2)),
			0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(10, 9, 0), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(10, 9, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(11, 1, 6), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 6);
}

static void predicate_op_may_unwatch_all_keys(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test), *plain = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(probe, TWHEEL_NEVER, probe_keys_new(test, 10, 2)),
			0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	expect_counts(test, 1, 0, 0);
	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0) + probe_check(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 12, 1), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 0);

	KUNIT_EXPECT_EQ(test, probe_add(plain, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, unwatch(plain, 10), -EINVAL);
}

/* TWHEEL_COND_SUM allows neither a need above 1 nor more than TWHEEL_MAX_KEYS keys. */
static void watch_checks_arguments_like_add(struct kunit *test)
{
	struct probe_keys *keys = probe_keys_new(test, 30, 2);
	struct twheel_watch watches[2];
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 5, probe_keys_new(test, 10, 2)),
			0);
	keys->spec[1].need = 2;
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, keys->spec, watches, 2),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 63), -EINVAL);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 62), 62);
	expect_counts(test, 1, 64, 64);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(81, 5, 5), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 5);
}

static void add_beyond_watch_limit_leaves_no_trace(struct kunit *test)
{
	struct probe *probe, *refused = probe_new(test);

	probe_limit(test, 10, 5);
	probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 3);
	KUNIT_EXPECT_EQ(test, probe_add(refused, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 3)), -ENOSPC);
	expect_counts(test, 1, 3, 3);
	expect_rejected(test, 1);
	KUNIT_EXPECT_EQ(test, refused->ended, 0);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&refused->op), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_signal(12, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	/* Three watches are free now, and a refused operation can be added again. */
	KUNIT_EXPECT_EQ(test, probe_add(refused, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 5)), 0);
	expect_counts(test, 1, 5, 5);
	KUNIT_EXPECT_EQ(test, probe_add(probe_new(test), TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 1)), -ENOSPC);
	/* An operation without keys needs no watches. */
	KUNIT_EXPECT_EQ(test, probe_add(probe_new(test), TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL),
			0);
	expect_counts(test, 2, 5, 5);
	expect_rejected(test, 2);
}

static void watch_beyond_limit_returns_enospc(struct kunit *test)
{
	struct probe *probe, *other;

	probe_limit(test, 10, 5);
	probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 2);
	other = probe_pending(test, TWHEEL_COND_ALL, 0, 10, 2);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 2), -ENOSPC);
	expect_counts(test, 2, 2, 4);
	expect_rejected(test, 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 20, 1), -ENOSPC);
	expect_counts(test, 2, 3, 5);
	/* Watches become available if a watch is removed or an operation ends. */
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 20, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 21, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 21, 2), 2);
	expect_counts(test, 1, 5, 5);
	expect_rejected(test, 3);
	/* All of its keys are still needed. */
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0) + probe_signal(11, 0) + probe_signal(20, 0) +
			probe_signal(21, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(22, 0), 1);
}

static struct kunit_case unwatch_cases[] = {
	KUNIT_CASE(unwatched_key_has_no_effect),
	KUNIT_CASE(unwatch_returns_watch_memory),
	KUNIT_CASE(unwatch_error_codes),
	KUNIT_CASE(unwatch_reduces_keys_needed_by_all),
	KUNIT_CASE(unwatch_of_last_missing_key_completes_all),
	KUNIT_CASE(quorum_does_not_count_unwatched_key),
	KUNIT_CASE(sum_keeps_amounts_of_unwatched_key),
	KUNIT_CASE(predicate_op_may_unwatch_all_keys),
	KUNIT_CASE(watch_checks_arguments_like_add),
	KUNIT_CASE(add_beyond_watch_limit_leaves_no_trace),
	KUNIT_CASE(watch_beyond_limit_returns_enospc),
	{}
};

static struct kunit_suite unwatch_suite = {
	.name		= "twheel_op_unwatch",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= unwatch_cases,
};

kunit_test_suite(unwatch_suite);
