// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for purgatories: limits, drain, and the completion of all operations.
 */
#include <linux/time64.h>

#include "../../twheel/op/purgatory.h"
#include "op_probe.h"

static void create_with_bad_limits_returns_einval(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(0, 0), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(U32_MAX, 0), ERR_PTR(-EINVAL));
}

/* At both sides of the number from which on lists of the purgatory keep unused quota. */
static void limit_is_exact_at_any_size(struct kunit *test)
{
	static const u32 limits[] = { 1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 300 };
	unsigned int i, j, round;
	struct probe *probe;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		probe_limit(test, limits[i], 0);
		for (round = 0; round < 3; round++) {
			for (j = 0; j < limits[i]; j++)
				probe_pending(test, TWHEEL_COND_ANY, 0, 1 + j % 3, 1);
			probe = probe_new(test);
			KUNIT_EXPECT_EQ(test, -ENOSPC, probe_add(probe, 0, TWHEEL_COND_NONE, 0,
								 NULL));
			KUNIT_EXPECT_EQ(test, probe->ended, 0);
			expect_rejected(test, round + 1);
			for (j = 1; j <= 3; j++)
				probe_signal(j, 0);
			expect_counts(test, 0, 0, 0);
		}
	}
}

static u32 hash_of(const struct probe_keys *keys)
{
	return twheel_keys_hash(&probe_purgatory->keys, &keys->spec[0].key);
}

/* Return: a key that a walk visits before another one, or after it. */
static struct probe_keys *key_beside(struct kunit *test, const struct probe_keys *other,
				     bool before)
{
	struct probe_keys *keys;
	u64 number = 2;

	do {
		keys = probe_keys_new(test, number++, 1);
	} while (hash_of(keys) == hash_of(other) || (hash_of(keys) < hash_of(other)) != before);
	return keys;
}

static struct probe *changed;
static struct probe_keys *gained, *lost;

static void change_keys(struct probe *probe)
{
	if (gained)
		twheel_op_watch(&changed->op, gained->spec, changed->watch + 1, 1);
	twheel_op_unwatch(&changed->op, &lost->spec[0].key);
}

/*
 * An operation is where the walk of a drain, or of a call that completes all, has yet to come, and
 * then where it has been: it gets another key, or has no key any more.
 */
static void expect_all_ended(struct kunit *test, bool gains, bool drain)
{
	enum twheel_reason reason = drain ? TWHEEL_REASON_CANCELLED : TWHEEL_REASON_COMPLETED;
	struct probe_keys *keys = probe_keys_new(test, 1, 1);
	struct probe *first = probe_new(test);
	u64 value = drain ? 0 : 7;

	changed = probe_new_predicate(test);
	gained = gains ? key_beside(test, keys, true) : NULL;
	lost = key_beside(test, keys, false);
	first->on_ended = change_keys;
	KUNIT_EXPECT_EQ(test, probe_add(first, NSEC_PER_SEC, TWHEEL_COND_ANY, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_add_predicate(changed, NSEC_PER_SEC, lost), 0);
	if (drain)
		KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), 2);
	else
		KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, value, 0), 2);
	expect_ended(test, first, reason, value);
	expect_ended(test, changed, reason, value);
}

static void drain_finds_operation_whose_key_changes(struct kunit *test)
{
	expect_all_ended(test, true, true);
}

static void drain_finds_operation_that_loses_its_key(struct kunit *test)
{
	expect_all_ended(test, false, true);
}

static void complete_all_finds_operation_whose_key_changes(struct kunit *test)
{
	expect_all_ended(test, true, false);
}

static void complete_all_finds_operation_that_loses_its_key(struct kunit *test)
{
	expect_all_ended(test, false, false);
}

static struct kunit_case purgatory_cases[] = {
	KUNIT_CASE(create_with_bad_limits_returns_einval),
	KUNIT_CASE(limit_is_exact_at_any_size),
	KUNIT_CASE(drain_finds_operation_whose_key_changes),
	KUNIT_CASE(drain_finds_operation_that_loses_its_key),
	KUNIT_CASE(complete_all_finds_operation_whose_key_changes),
	KUNIT_CASE(complete_all_finds_operation_that_loses_its_key),
	{}
};

static struct kunit_suite purgatory_suite = {
	.name		= "twheel_purgatory",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= purgatory_cases,
};

kunit_test_suite(purgatory_suite);
