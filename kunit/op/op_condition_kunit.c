// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for declared conditions: counting of signals and amounts, checks
 * of arguments, and the limit on the operations that a signal completes.
 *
 * Adding and removing keys of pending operations is tested in op_unwatch_kunit.c.
 */
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "op_probe.h"

/* Add an operation that completes when the amounts under its keys add up to @threshold. */
static struct probe *add_sum(struct kunit *test, u64 threshold, u64 first, u32 nr)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, threshold,
					    probe_keys_new(test, first, nr)), 0);
	return probe;
}

static void amounts_add_up_to_threshold(struct kunit *test)
{
	struct probe *probe = add_sum(test, 10, 20, 1);

	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 4, 1), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 5, 3), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 1, 77), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 77);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 10, 4), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
}

static void amount_of_0_counts_as_1(struct kunit *test)
{
	struct probe *probe = add_sum(test, 3, 20, 1);

	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 0, 2), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 0, 3), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 3);
}

static void amounts_of_all_keys_count(struct kunit *test)
{
	struct probe *probe = add_sum(test, 100, 20, 3);

	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 33, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(21, 33, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(23, 33, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(22, 33, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 1, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
}

static void sum_saturates(struct kunit *test)
{
	struct probe *exact = add_sum(test, U64_MAX, 20, 1);
	struct probe *over = add_sum(test, U64_MAX, 21, 2);
	struct probe *small = add_sum(test, 3, 23, 1);

	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, U64_MAX - 1, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 1, 0), 1);
	KUNIT_EXPECT_EQ(test, exact->ended, 1);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(21, U64_MAX - 1, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(22, U64_MAX - 1, 0), 1);
	KUNIT_EXPECT_EQ(test, over->ended, 1);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(23, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(23, U64_MAX, 0), 1);
	KUNIT_EXPECT_EQ(test, small->ended, 1);
}

static void amounts_are_ignored_by_other_conditions(struct kunit *test)
{
	struct probe *twice = probe_new(test), *quorum;
	struct probe_keys *keys = probe_keys_new(test, 20, 1);

	keys->spec[0].need = 2;
	KUNIT_EXPECT_EQ(test, probe_add(twice, TWHEEL_NEVER, TWHEEL_COND_ANY, 0, keys), 0);
	quorum = probe_pending(test, TWHEEL_COND_QUORUM, 2, 20, 3);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 1000, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(20, 0, 8), 1);
	expect_ended(test, twice, TWHEEL_REASON_COMPLETED, 8);
	KUNIT_EXPECT_EQ(test, quorum->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(21, 0, 9), 1);
	expect_ended(test, quorum, TWHEEL_REASON_COMPLETED, 9);
}

static void each_key_has_its_own_need(struct kunit *test)
{
	struct probe_keys *keys = probe_keys_new(test, 20, 3);
	struct probe *any = probe_new(test), *quorum = probe_new(test);

	keys->spec[0].need = 3;
	keys->spec[1].need = 2;
	keys->spec[2].need = TWHEEL_MAX_NEED;
	KUNIT_EXPECT_EQ(test, probe_add(any, TWHEEL_NEVER, TWHEEL_COND_ANY, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_add(quorum, TWHEEL_NEVER, TWHEEL_COND_QUORUM, 2, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(20, 0) + probe_signal(20, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(21, 0) + probe_signal(22, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(21, 1), 1);
	expect_ended(test, any, TWHEEL_REASON_COMPLETED, 1);
	/* Additional signals of this key do not count for the other keys. */
	KUNIT_EXPECT_EQ(test, probe_signal(21, 0) + probe_signal(21, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(20, 2), 1);
	expect_ended(test, quorum, TWHEEL_REASON_COMPLETED, 2);
}

/* Arguments that are valid, or have exactly one error. */
static const struct args_case {
	const char		*name;
	enum twheel_condition	condition;
	u32			nr_keys;
	u32			quorum;
	u64			threshold;
	u32			need;
	int			ret;
} args_cases[] = {
	{ "none", TWHEEL_COND_NONE },
	{ "none with a key", TWHEEL_COND_NONE, 1, .ret = -EINVAL },
	{ "none with a quorum", TWHEEL_COND_NONE, .quorum = 1, .ret = -EINVAL },
	{ "none with a threshold", TWHEEL_COND_NONE, .threshold = 1, .ret = -EINVAL },
	{ "any", TWHEEL_COND_ANY, 64, .need = TWHEEL_MAX_NEED },
	{ "any without keys", TWHEEL_COND_ANY, .ret = -EINVAL },
	{ "any of too many keys", TWHEEL_COND_ANY, 65, .ret = -EINVAL },
	{ "any with a quorum", TWHEEL_COND_ANY, 1, 1, .ret = -EINVAL },
	{ "any with a threshold", TWHEEL_COND_ANY, 1, .threshold = 1, .ret = -EINVAL },
	{ "any with too large a need", TWHEEL_COND_ANY, 1, .need = TWHEEL_MAX_NEED + 1,
	  .ret = -EINVAL },
	{ "all", TWHEEL_COND_ALL, 64, .need = 2 },
	{ "all without keys", TWHEEL_COND_ALL, .ret = -EINVAL },
	{ "all of too many keys", TWHEEL_COND_ALL, 65, .ret = -EINVAL },
	{ "all with a quorum", TWHEEL_COND_ALL, 1, 1, .ret = -EINVAL },
	{ "all with a threshold", TWHEEL_COND_ALL, 1, .threshold = 1, .ret = -EINVAL },
	{ "quorum", TWHEEL_COND_QUORUM, 64, 64, .need = 2 },
	{ "quorum of zero", TWHEEL_COND_QUORUM, 3, 0, .ret = -EINVAL },
	{ "quorum of more than all", TWHEEL_COND_QUORUM, 3, 4, .ret = -EINVAL },
	{ "quorum with a threshold", TWHEEL_COND_QUORUM, 3, 2, 1, .ret = -EINVAL },
	{ "quorum of too many keys", TWHEEL_COND_QUORUM, 65, 2, .ret = -EINVAL },
	{ "sum", TWHEEL_COND_SUM, 64, .threshold = 1, .need = 1 },
	{ "sum without keys", TWHEEL_COND_SUM, .threshold = 1, .ret = -EINVAL },
	{ "sum without threshold", TWHEEL_COND_SUM, 1, .ret = -EINVAL },
	{ "sum with a quorum", TWHEEL_COND_SUM, 1, 1, 1, .ret = -EINVAL },
	{ "sum with a need", TWHEEL_COND_SUM, 1, .threshold = 1, .need = 2, .ret = -EINVAL },
	{ "sum of too many keys", TWHEEL_COND_SUM, 65, .threshold = 1, .ret = -EINVAL },
	{ "predicate", TWHEEL_COND_PREDICATE, 64, .need = 1 },
	{ "predicate without keys", TWHEEL_COND_PREDICATE },
	{ "predicate with a quorum", TWHEEL_COND_PREDICATE, 1, 1, .ret = -EINVAL },
	{ "predicate with a threshold", TWHEEL_COND_PREDICATE, 1, 0, 1, .ret = -EINVAL },
	{ "predicate with a need", TWHEEL_COND_PREDICATE, 1, .need = 2, .ret = -EINVAL },
	{ "predicate of too many keys", TWHEEL_COND_PREDICATE, 65, .ret = -EINVAL },
	{ "past the last condition", TWHEEL_COND_SUM + 1, 1, .ret = -EINVAL },
	{ "past the predicate", TWHEEL_COND_PREDICATE + 1, 1, .ret = -EINVAL },
	{ "truncated to predicate", TWHEEL_COND_PREDICATE + 256, 1, .ret = -EINVAL },
};

static void conditions_are_checked(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(args_cases); i++) {
		const struct args_case *c = &args_cases[i];
		struct probe_keys *keys = probe_keys_new(test, 20, c->nr_keys);
		struct probe *probe = probe_new_predicate(test);
		const struct twheel_op_args args = {
			.deadline = TWHEEL_NEVER, .condition = c->condition,
			.quorum = c->quorum, .threshold = c->threshold,
			.nr_keys = c->nr_keys, .specs = keys->spec, .watches = probe->watch,
		};

		if (c->nr_keys)
			keys->spec[c->nr_keys - 1].need = c->need;
		KUNIT_EXPECT_EQ_MSG(test, twheel_op_check(&args), c->ret, "%s", c->name);
		KUNIT_EXPECT_EQ_MSG(test, twheel_op_add(probe_purgatory, &probe->op, &args),
				    c->ret, "%s", c->name);
		KUNIT_EXPECT_EQ(test, probe->ended, 0);
		expect_counts(test, !c->ret, c->ret ? 0 : c->nr_keys,
			      c->ret ? 0 : c->nr_keys);
		twheel_op_cancel(&probe->op);
	}
}

static void predicate_condition_without_try_complete_fails(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(probe, TWHEEL_NEVER, probe_keys_new(test, 20, 1)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 0), -ENOENT);
	expect_counts(test, 0, 0, 0);
}

static void complete_error_rejects_other_values(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 20, 1);

	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&probe->op, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&probe->op, 5), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&probe->op, -MAX_ERRNO - 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	expect_counts(test, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&probe->op, -MAX_ERRNO), 0);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, -MAX_ERRNO);
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&probe->op, -EIO), -EALREADY);
}

static void end_rejects_unknown_reasons(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 20, 1);

	KUNIT_EXPECT_EQ(test, twheel_op_end(&probe->op, 0, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_end(&probe->op, TWHEEL_REASON_CANCELLED + 1, 0, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, twheel_op_end(&probe->op, TWHEEL_REASON_CANCELLED, 0, 0), 0);
	expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
}

static u32 signal_some(u64 number, u64 amount, u64 value, u32 limit)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_signal_some(probe_purgatory, &key, amount, value, limit, 0);
}

static void signal_some_completes_first_watchers(struct kunit *test)
{
	struct probe *probes[5];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = probe_pending(test, TWHEEL_COND_ANY, 0, 20, 1);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 7, 2), 2);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i]->ended, i < 2);
	expect_ended(test, probes[1], TWHEEL_REASON_COMPLETED, 7);
	expect_counts(test, 3, 1, 3);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 8, 1), 1);
	expect_ended(test, probes[2], TWHEEL_REASON_COMPLETED, 8);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 9, 100), 2);
	KUNIT_EXPECT_EQ(test, probes[3]->order, 4);
	KUNIT_EXPECT_EQ(test, probes[4]->order, 5);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 9, 100), 0);
}

static void limit_of_0_is_unlimited(struct kunit *test)
{
	const struct twheel_key key = { .v = { 0, 20 } };
	unsigned int i;

	for (i = 0; i < 5; i++)
		probe_pending(test, TWHEEL_COND_ANY, 0, 20, 1);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 7, 0), 5);
	for (i = 0; i < 5; i++)
		probe_pending(test, TWHEEL_COND_ANY, 0, 20, 1);
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 7, 0,
						 TWHEEL_MAY_SLEEP), 5);
	expect_counts(test, 0, 0, 0);
}

/* Watchers in ring order: a sum, a predicate, and two operations that need two signals. */
static void watchers_behind_limit_are_not_signalled(struct kunit *test)
{
	struct probe *sum = add_sum(test, 10, 20, 1), *predicate = probe_new_predicate(test);
	struct probe *first = probe_new(test), *second = probe_new(test);
	struct probe_keys *keys = probe_keys_new(test, 20, 1);

	KUNIT_EXPECT_EQ(test, probe_add_predicate(predicate, TWHEEL_NEVER, keys), 0);
	predicate->evaluated = 0;
	keys->spec[0].need = 2;
	KUNIT_EXPECT_EQ(test, probe_add(first, TWHEEL_NEVER, TWHEEL_COND_ANY, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_add(second, TWHEEL_NEVER, TWHEEL_COND_ANY, 0, keys), 0);

	/* The sum completes and reaches the limit, so the watchers behind it are not visited. */
	KUNIT_EXPECT_EQ(test, signal_some(20, 10, 1, 1), 1);
	expect_ended(test, sum, TWHEEL_REASON_COMPLETED, 1);
	KUNIT_EXPECT_EQ(test, predicate->evaluated, 0);
	/* No operation completes, so all are visited. */
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 2, 1), 0);
	KUNIT_EXPECT_EQ(test, predicate->evaluated, 1);
	predicate->holds = true;
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 3, 1), 1);
	KUNIT_EXPECT_EQ(test, predicate->ended, 1);
	KUNIT_EXPECT_EQ(test, first->ended, 0);
	KUNIT_EXPECT_EQ(test, signal_some(20, 1, 4, 1), 1);
	expect_ended(test, first, TWHEEL_REASON_COMPLETED, 4);
	KUNIT_EXPECT_EQ(test, second->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(20, 5), 1);
	expect_ended(test, second, TWHEEL_REASON_COMPLETED, 5);
}

static struct kunit_case condition_cases[] = {
	KUNIT_CASE(amounts_add_up_to_threshold),
	KUNIT_CASE(amount_of_0_counts_as_1),
	KUNIT_CASE(amounts_of_all_keys_count),
	KUNIT_CASE(sum_saturates),
	KUNIT_CASE(amounts_are_ignored_by_other_conditions),
	KUNIT_CASE(each_key_has_its_own_need),
	KUNIT_CASE(conditions_are_checked),
	KUNIT_CASE(predicate_condition_without_try_complete_fails),
	KUNIT_CASE(complete_error_rejects_other_values),
	KUNIT_CASE(end_rejects_unknown_reasons),
	KUNIT_CASE(signal_some_completes_first_watchers),
	KUNIT_CASE(limit_of_0_is_unlimited),
	KUNIT_CASE(watchers_behind_limit_are_not_signalled),
	{}
};

static struct kunit_suite condition_suite = {
	.name		= "twheel_op_condition",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= condition_cases,
};

kunit_test_suite(condition_suite);
