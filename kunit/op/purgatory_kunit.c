// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for purgatories: signals, limits and drain.
 */
#include <linux/slab.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

static void signal_is_not_remembered(struct kunit *test)
{
	struct probe *probe;

	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	expect_counts(test, 0, 0, 0);
	probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

static void signal_completes_watchers_in_order(struct kunit *test)
{
	struct probe *probes[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = probe_pending(test, i % 3 ? TWHEEL_COND_ANY : TWHEEL_COND_ALL, 0, 10,
					  i % 3 ? 1 : 2);
	expect_counts(test, 100, 2, 134);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 5), 66);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i]->ended, !!(i % 3));
		if (i % 3)
			KUNIT_EXPECT_EQ(test, probes[i]->order, 1 + i / 3 * 2 + i % 3 - 1);
	}
	expect_counts(test, 34, 2, 68);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 5), 34);
}

/* After dropping the lock of the bucket, a walk resumes behind its last position. */
static void signal_is_counted_once_by_each_watcher(struct kunit *test)
{
	struct probe *probes[100];
	struct probe_keys *keys;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		keys = probe_keys_new(test, 10, 1);
		keys->spec[0].need = 3;
		probes[i] = probe_new(test);
		KUNIT_EXPECT_EQ(test, probe_add(probes[i], TWHEEL_NEVER, TWHEEL_COND_ALL, 0, keys),
				0);
	}
	KUNIT_EXPECT_EQ(test, probe_signal(10, 1), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 2), 0);
	expect_counts(test, 100, 1, 100);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 3), 100);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_ended(test, probes[i], TWHEEL_REASON_COMPLETED, 3);
}

static void put_own(struct probe *probe)
{
	twheel_op_put(&probe->op);
}

static void callback_may_drop_last_reference(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);

	probe->on_ended = put_own;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static struct probe *next_probe;

static void add_next(struct probe *probe)
{
	static const struct twheel_watch_spec spec = { .key = { .v = { 0, 10 } } };
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = next_probe->watch,
	};

	/* The ended operation no longer watches the key. */
	if (twheel_op_add(probe_purgatory, &next_probe->op, &args))
		return;
	next_probe->on_ended = probe->on_ended;
	probe_signal(11, 0);
}

static void callback_may_add_and_signal(struct kunit *test)
{
	struct probe *first = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *other = probe_pending(test, TWHEEL_COND_ANY, 0, 11, 1);

	next_probe = probe_new(test);
	first->on_ended = add_next;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, first->ended, 1);
	KUNIT_EXPECT_EQ(test, other->ended, 1);
	KUNIT_EXPECT_EQ(test, next_probe->ended, 0);
	expect_counts(test, 1, 1, 1);
	next_probe->on_ended = NULL;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
}

#define NR_OPS	100

static struct probe *spare[NR_OPS];
static unsigned int nr_spare;

static void add_spare(struct probe *probe)
{
	if (!nr_spare)
		return;
	next_probe = spare[--nr_spare];
	add_next(probe);
}

static void signal_skips_ops_added_by_callbacks(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_OPS; i++) {
		probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1)->on_ended = add_spare;
		spare[i] = probe_new(test);
	}
	nr_spare = NR_OPS;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), NR_OPS);
	KUNIT_EXPECT_EQ(test, nr_spare, 0);
	expect_counts(test, NR_OPS, 1, NR_OPS);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), NR_OPS);
}

static void create_with_bad_limits_returns_einval(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(0, 0), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(U32_MAX, 0), ERR_PTR(-EINVAL));
}

static void full_purgatory_refuses_adds_until_op_ends(struct kunit *test)
{
	struct twheel_purgatory *big = probe_purgatory;
	struct twheel_purgatory_stats stats;
	struct probe *a, *b;

	probe_purgatory = probe_purgatory_create(1, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_purgatory);
	a = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	b = probe_new(test);
	KUNIT_EXPECT_EQ(test, probe_add(b, 0, TWHEEL_COND_NONE, 0, NULL), -ENOSPC);
	expect_counts(test, 1, 1, 1);
	probe_signal(10, 0);
	KUNIT_EXPECT_EQ(test, a->ended, 1);
	KUNIT_EXPECT_EQ(test, probe_add(b, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	twheel_purgatory_get_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.rejected, 1);
	twheel_purgatory_destroy(probe_purgatory);
	expect_ended(test, b, TWHEEL_REASON_CANCELLED, 0);
	probe_purgatory = big;
}

/* At both sides of the number from which on lists of the purgatory keep unused quota. */
static void limit_is_exact_at_any_size(struct kunit *test)
{
	static const u32 limits[] = { 1, 63, 64, 65, 95, 96, 97, 128, 129, 200 };
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

static void drain_cancels_pending_ops(struct kunit *test)
{
	struct probe *keyed = probe_pending(test, TWHEEL_COND_ALL, 0, 10, 5);
	struct probe *plain = probe_new(test), *late = probe_new(test);

	KUNIT_EXPECT_EQ(test, probe_add(plain, NSEC_PER_SEC, TWHEEL_COND_NONE, 0, NULL), 0);
	twheel_purgatory_drain(probe_purgatory);
	expect_ended(test, keyed, TWHEEL_REASON_CANCELLED, 0);
	expect_ended(test, plain, TWHEEL_REASON_CANCELLED, 0);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, probe_add(late, 0, TWHEEL_COND_NONE, 0, NULL), -ESHUTDOWN);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, late->ended, 0);
}

static void drain_waits_for_callbacks(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, probe_add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	twheel_op_put(&probe->op);
	twheel_purgatory_drain(probe_purgatory);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), probe->result.time + NSEC_PER_SEC);
}

static struct kunit_case purgatory_cases[] = {
	KUNIT_CASE(signal_is_not_remembered),
	KUNIT_CASE(signal_completes_watchers_in_order),
	KUNIT_CASE(signal_is_counted_once_by_each_watcher),
	KUNIT_CASE(callback_may_drop_last_reference),
	KUNIT_CASE(callback_may_add_and_signal),
	KUNIT_CASE(signal_skips_ops_added_by_callbacks),
	KUNIT_CASE(create_with_bad_limits_returns_einval),
	KUNIT_CASE(full_purgatory_refuses_adds_until_op_ends),
	KUNIT_CASE(limit_is_exact_at_any_size),
	KUNIT_CASE(drain_cancels_pending_ops),
	KUNIT_CASE(drain_waits_for_callbacks),
	{}
};

static struct kunit_suite purgatory_suite = {
	.name		= "twheel_purgatory",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= purgatory_cases,
};

kunit_test_suite(purgatory_suite);
