// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, keys of an operation that come and go while it waits, and
 * the limit on how many there may be.
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "op_probe.h"

/* The error, or 0 if that key's room came back, which is poisoned then. */
static int unwatch(struct probe *probe, u64 number)
{
	const struct twheel_key key = { .v = { 0, number } };
	struct twheel_watch *watch = twheel_op_unwatch(&probe->op, &key);

	if (IS_ERR(watch))
		return PTR_ERR(watch);
	memset(watch, 0xa5, sizeof(*watch));
	return 0;
}

static void an_unwatched_key_is_nothing_to_it(struct kunit *test)
{
	struct probe *any = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 3);
	struct probe *other = probe_waiting(test, TWHEEL_COND_ANY, 0, 11, 1);

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
	expect_ended(test, any, TWHEEL_COMPLETED, 3);
	expect_counts(test, 0, 0, 0);
}

static void the_room_of_a_watch_comes_back(struct kunit *test)
{
	struct probe *probe = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 2);
	const struct twheel_watch_spec spec = { .key = { .v = { 0, 30 } } };
	struct twheel_watch *watch = twheel_op_unwatch(&probe->op, &(struct twheel_key){
		.v = { 0, 10 }
	});

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, watch);
	KUNIT_EXPECT_TRUE(test, watch >= probe->watch && watch < probe->watch + 2);
	/* For a further key of the same operation, for one. */
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, &spec, watch, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(30, 4), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 4);
}

static void unwatch_tells_why_not(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_add(probe, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 2)), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 9), -ESRCH);
	probe_waiting(test, TWHEEL_COND_ANY, 0, 9, 1);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 9), -ESRCH);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), -ESRCH);
	/* No key would be left. */
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	expect_counts(test, 2, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 1);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EALREADY);
}

static void all_waits_for_one_less(struct kunit *test)
{
	struct probe *probe = probe_waiting(test, TWHEEL_COND_ALL, 0, 10, 4);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 1), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(12, 1), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(13, 9), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 9);
}

static void all_completes_when_the_last_that_was_missing_goes(struct kunit *test)
{
	struct probe *probe = probe_waiting(test, TWHEEL_COND_ALL, 0, 10, 3);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 1) + probe_signal(12, 2), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	expect_ended(test, probe, TWHEEL_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

/* Two of four; in each step what counts, and what could never hold. */
static void a_quorum_forgets_what_was_satisfied(struct kunit *test)
{
	struct probe *probe = probe_waiting(test, TWHEEL_COND_QUORUM, 2, 10, 4);

	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 12), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 13), -EINVAL);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(13, 5), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 5);
}

static void a_sum_keeps_what_came(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 10, probe_keys_new(test, 10, 2)),
			0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(10, 9, 0), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), -EINVAL);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(10, 9, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(11, 1, 6), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 6);
}

static void a_predicate_may_do_without_any_key(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test), *plain = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_asking(probe, TWHEEL_NEVER, probe_keys_new(test, 10, 2)),
			0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 10), 0);
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	expect_counts(test, 1, 0, 0);
	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0) + probe_check(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 12, 1), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 0);

	KUNIT_EXPECT_EQ(test, probe_add(plain, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, unwatch(plain, 10), -EINVAL);
}

/* Sum: a need can't be; a key more than there is room for neither. */
static void further_keys_are_checked_like_the_first(struct kunit *test)
{
	struct probe_keys *keys = probe_keys_new(test, 30, 2);
	struct twheel_watch watches[2];
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 5, probe_keys_new(test, 10, 2)),
			0);
	keys->spec[1].need = 2;
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, keys->spec, watches, 2),
			-EINVAL);
	keys->spec[1].need = 0;
	keys->spec[1].reserved = 1;
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, keys->spec, watches, 2),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 63), -EINVAL);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 62), 62);
	expect_counts(test, 1, 64, 64);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(81, 5, 5), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 5);
}

static void an_add_beyond_the_limit_leaves_nothing(struct kunit *test)
{
	struct probe *probe, *refused = probe_new(test);

	probe_limit(test, 10, 5);
	probe = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 3);
	KUNIT_EXPECT_EQ(test, probe_add(refused, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 3)), -ENOSPC);
	expect_counts(test, 1, 3, 3);
	expect_rejected(test, 1);
	KUNIT_EXPECT_EQ(test, refused->ended, 0);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&refused->op), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_signal(12, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	/* Three are free now, and one that was refused may come again. */
	KUNIT_EXPECT_EQ(test, probe_add(refused, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 5)), 0);
	expect_counts(test, 1, 5, 5);
	KUNIT_EXPECT_EQ(test, probe_add(probe_new(test), TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 11, 1)), -ENOSPC);
	/* Who watches nothing needs no room. */
	KUNIT_EXPECT_EQ(test, probe_add(probe_new(test), TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL),
			0);
	expect_counts(test, 2, 5, 5);
	expect_rejected(test, 2);
}

static void further_watches_have_the_same_limit(struct kunit *test)
{
	struct probe *probe, *other;

	probe_limit(test, 10, 5);
	probe = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 2);
	other = probe_waiting(test, TWHEEL_COND_ALL, 0, 10, 2);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 2), -ENOSPC);
	expect_counts(test, 2, 2, 4);
	expect_rejected(test, 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 20, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 20, 1), -ENOSPC);
	expect_counts(test, 2, 3, 5);
	/* Room again when a watch goes, and when an operation goes. */
	KUNIT_EXPECT_EQ(test, unwatch(probe, 11), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 20, 1), 1);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 21, 1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, other, 21, 2), 2);
	expect_counts(test, 1, 5, 5);
	expect_rejected(test, 3);
	/* It still waits for all of them. */
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0) + probe_signal(11, 0) + probe_signal(20, 0) +
			probe_signal(21, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(22, 0), 1);
}

static struct kunit_case unwatch_cases[] = {
	KUNIT_CASE(an_unwatched_key_is_nothing_to_it),
	KUNIT_CASE(the_room_of_a_watch_comes_back),
	KUNIT_CASE(unwatch_tells_why_not),
	KUNIT_CASE(all_waits_for_one_less),
	KUNIT_CASE(all_completes_when_the_last_that_was_missing_goes),
	KUNIT_CASE(a_quorum_forgets_what_was_satisfied),
	KUNIT_CASE(a_sum_keeps_what_came),
	KUNIT_CASE(a_predicate_may_do_without_any_key),
	KUNIT_CASE(further_keys_are_checked_like_the_first),
	KUNIT_CASE(an_add_beyond_the_limit_leaves_nothing),
	KUNIT_CASE(further_watches_have_the_same_limit),
	{}
};

static struct kunit_suite unwatch_suite = {
	.name		= "twheel_op_unwatch",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= unwatch_cases,
};

kunit_test_suite(unwatch_suite);
