// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with a predicate: the calls that evaluate it, and
 * the value that it sets.
 *
 * Calls made while a predicate runs are tested in op_predicate_race_kunit.c.
 */
#include <linux/slab.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

/* Add an operation that watches @nr keys from @first on, with a predicate. */
static struct probe *add_predicate(struct kunit *test, u64 first, u32 nr)
{
	struct probe *probe = probe_new_predicate(test);

	KUNIT_ASSERT_EQ(test, probe_add_predicate(probe, TWHEEL_NEVER,
						  probe_keys_new(test, first, nr)), 0);
	probe->evaluated = 0;
	return probe;
}

static void add_completes_if_predicate_is_true(struct kunit *test)
{
	struct probe *keyed = probe_new_predicate(test), *plain = probe_new_predicate(test);

	keyed->holds = true;
	keyed->value = 7;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(keyed, NSEC_PER_SEC, probe_keys_new(test, 10, 3)),
			1);
	KUNIT_EXPECT_EQ(test, keyed->evaluated, 1);
	expect_ended(test, keyed, TWHEEL_REASON_COMPLETED, 7);

	plain->holds = true;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(plain, TWHEEL_NEVER, NULL), 1);
	expect_ended(test, plain, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, keyed->ended + plain->ended, 2);
}

static void true_on_second_eval(struct probe *probe)
{
	probe->holds = probe->evaluated == 2;
}

static void add_reevaluates_after_linking_watches(struct kunit *test)
{
	struct probe *late = probe_new_predicate(test), *never = probe_new_predicate(test);

	late->on_eval = true_on_second_eval;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(late, TWHEEL_NEVER, probe_keys_new(test, 10, 3)),
			1);
	KUNIT_EXPECT_EQ(test, late->evaluated, 2);
	expect_ended(test, late, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(never, TWHEEL_NEVER, probe_keys_new(test, 10, 3)),
			0);
	KUNIT_EXPECT_EQ(test, never->evaluated, 2);
	KUNIT_EXPECT_EQ(test, never->ended, 0);
	expect_counts(test, 1, 3, 3);
}

/* Signals before the watches are linked have no effect on the operation. */
static void signal_on_first_eval(struct probe *probe)
{
	if (probe->evaluated == 1)
		probe_signal(10, 0);
}

static void signal_on_second_eval(struct probe *probe)
{
	if (probe->evaluated == 2)
		probe_signal(10, 0);
}

static void add_links_watches_between_evaluations(struct kunit *test)
{
	struct probe *before = probe_new_predicate(test), *after = probe_new_predicate(test);

	before->on_eval = signal_on_first_eval;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(before, TWHEEL_NEVER,
						  probe_keys_new(test, 10, 1)), 0);
	KUNIT_EXPECT_EQ(test, before->evaluated, 2);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&before->op), 0);

	after->on_eval = signal_on_second_eval;
	KUNIT_EXPECT_EQ(test, probe_add_predicate(after, TWHEEL_NEVER, probe_keys_new(test, 10, 1)),
			0);
	KUNIT_EXPECT_EQ(test, after->evaluated, 3);
}

static void signal_evaluates_watchers_of_its_key(struct kunit *test)
{
	struct probe *a = add_predicate(test, 10, 2), *b = add_predicate(test, 11, 2);

	a->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(12, 0), 0);
	KUNIT_EXPECT_EQ(test, a->evaluated, 0);
	KUNIT_EXPECT_EQ(test, b->evaluated, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 1);
	expect_ended(test, a, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, b->evaluated, 2);
	KUNIT_EXPECT_EQ(test, b->ended, 0);
	expect_counts(test, 1, 2, 2);
}

static void check_completes_in_order_up_to_limit(struct kunit *test)
{
	struct probe *probes[6];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i] = add_predicate(test, 10, 1);
		probes[i]->holds = i != 1;
	}
	KUNIT_EXPECT_EQ(test, probe_check(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 2), 2);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i]->ended, i == 0 || i == 2);
		KUNIT_EXPECT_EQ(test, probes[i]->evaluated, i <= 2);
	}
	expect_counts(test, 4, 1, 4);
	/* No limit. The false predicate in between is skipped. */
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 3);
	KUNIT_EXPECT_EQ(test, probes[1]->evaluated, 2);
	for (i = 2; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i]->order, i);
	expect_counts(test, 1, 1, 1);
}

static void check_cansleep_completes_up_to_limit(struct kunit *test)
{
	const struct twheel_key key = { .v = { 0, 10 } };
	struct probe *probe = add_predicate(test, 10, 1), *other = add_predicate(test, 10, 1);

	probe->holds = true;
	other->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_check_and_complete(probe_purgatory, &key, 1,
							TWHEEL_MAY_SLEEP), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, twheel_check_and_complete(probe_purgatory, &key, 0,
							TWHEEL_MAY_SLEEP), 1);
	KUNIT_EXPECT_EQ(test, other->ended, 1);
}

static void check_does_not_count_as_signal(struct kunit *test)
{
	struct probe *any = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *predicate = add_predicate(test, 10, 1);

	predicate->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 1);
	KUNIT_EXPECT_EQ(test, any->ended, 0);
	expect_counts(test, 1, 1, 1);
}

static void try_complete_return_values(struct kunit *test)
{
	struct probe *any = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *probe = probe_new_predicate(test);

	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 0);
	probe = add_predicate(test, 10, 3);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 1);
	probe->holds = true;
	probe->value = 5;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 5);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 2);

	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&any->op), 0);
	expect_counts(test, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&any->op), -EALREADY);
}

static void declared_condition_ignores_predicate(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);

	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_add(probe, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 1)), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 6), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 6);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 0);
}

static void value_is_set_by_last_evaluation(struct kunit *test)
{
	struct probe *set = add_predicate(test, 10, 1), *unset = add_predicate(test, 11, 1);

	/* Neither the value of a false predicate nor the value of the signal is used. */
	unset->value = 8;
	KUNIT_EXPECT_EQ(test, probe_signal(11, 3), 0);
	unset->value = 0;
	unset->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(11, 4), 1);
	expect_ended(test, unset, TWHEEL_REASON_COMPLETED, 0);

	set->value = 8;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 3), 0);
	set->holds = true;
	set->value = 9;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 4), 1);
	expect_ended(test, set, TWHEEL_REASON_COMPLETED, 9);
}

static void watching_another_key_reevaluates(struct kunit *test)
{
	struct probe *probe = add_predicate(test, 10, 1), *none = probe_new_predicate(test);

	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 10, 2), 1);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 1);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 2);
	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 12, 2), 2);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 14, 1), -EALREADY);

	/* An operation without keys may watch its first key later. */
	KUNIT_EXPECT_EQ(test, probe_add_predicate(none, TWHEEL_NEVER, NULL), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, none, 10, 1), 1);
	none->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	expect_ended(test, none, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

static void expiry_and_complete_error_skip_predicate(struct kunit *test)
{
	struct probe *expires = probe_new_predicate(test), *forced = add_predicate(test, 10, 1);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(expires, NSEC_PER_SEC,
						  probe_keys_new(test, 10, 2)), 0);
	expires->evaluated = 0;
	expires->holds = true;
	forced->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&forced->op, -EIO), 0);
	expect_ended(test, forced, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, forced->result.error, -EIO);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_ended(test, expires, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, expires->evaluated + forced->evaluated, 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 0);
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case predicate_cases[] = {
	KUNIT_CASE(add_completes_if_predicate_is_true),
	KUNIT_CASE(add_reevaluates_after_linking_watches),
	KUNIT_CASE(add_links_watches_between_evaluations),
	KUNIT_CASE(signal_evaluates_watchers_of_its_key),
	KUNIT_CASE(check_completes_in_order_up_to_limit),
	KUNIT_CASE(check_cansleep_completes_up_to_limit),
	KUNIT_CASE(check_does_not_count_as_signal),
	KUNIT_CASE(try_complete_return_values),
	KUNIT_CASE(declared_condition_ignores_predicate),
	KUNIT_CASE(value_is_set_by_last_evaluation),
	KUNIT_CASE(watching_another_key_reevaluates),
	KUNIT_CASE(expiry_and_complete_error_skip_predicate),
	{}
};

static struct kunit_suite predicate_suite = {
	.name		= "twheel_op_predicate",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= predicate_cases,
};

kunit_test_suite(predicate_suite);
