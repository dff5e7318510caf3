// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations: ends that the model of kunit/model/op_model.h does not have, checks
 * of arguments, and the value of a predicate. The model has the conditions: counting of signals and
 * amounts, keys that are added and removed, and limits.
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

static void op_is_released_at_its_end(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);

	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	probe_signal(10, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

/* Add an operation that watches a key, with a predicate. */
static struct probe *add_predicate(struct kunit *test, u64 key)
{
	struct probe *probe = probe_new_predicate(test);

	KUNIT_ASSERT_EQ(test, watcher_add(test, probe, TWHEEL_NEVER, key, 1), 0);
	return probe;
}

/*
 * Arguments that are valid, or have exactly one error that a program cannot make. twheel_errno_test
 * makes the others.
 */
static const struct args_case {
	const char		*name;
	enum twheel_condition	condition;
	u32			nr_keys;
	u32			quorum;
	u64			threshold;
	u32			need;
	int			ret;
} args_cases[] = {
	{ "any", TWHEEL_COND_ANY, 64, .need = TWHEEL_MAX_NEED },
	{ "predicate", TWHEEL_COND_PREDICATE, 64, .need = 1 },
	{ "predicate with a quorum", TWHEEL_COND_PREDICATE, 1, 1, .ret = -EINVAL },
	{ "predicate with a threshold", TWHEEL_COND_PREDICATE, 1, 0, 1, .ret = -EINVAL },
	{ "predicate with a need", TWHEEL_COND_PREDICATE, 1, .need = 2, .ret = -EINVAL },
	{ "predicate of too many keys", TWHEEL_COND_PREDICATE, 65, .ret = -EINVAL },
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

	KUNIT_EXPECT_EQ(test, watcher_add(test, probe, TWHEEL_NEVER, 20, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 0), -ENOENT);
	expect_counts(test, 0, 0, 0);
}

static void value_is_set_by_last_evaluation(struct kunit *test)
{
	struct probe *set = add_predicate(test, 10), *unset = add_predicate(test, 11);

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

static struct kunit_case op_cases[] = {
	KUNIT_CASE(either_cancel_or_expiry_ends_op),
	KUNIT_CASE(op_is_released_at_its_end),
	KUNIT_CASE(conditions_are_checked),
	KUNIT_CASE(predicate_condition_without_try_complete_fails),
	KUNIT_CASE(value_is_set_by_last_evaluation),
	KUNIT_CASE(end_rejects_unknown_reasons),
	{}
};

static struct kunit_suite op_suite = {
	.name		= "twheel_op",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= op_cases,
};

kunit_test_suite(op_suite);
