// SPDX-License-Identifier: GPL-2.0
/* KUnit tests for the iterator over pending operations while operations are added and end. */
#include <linux/bits.h>

#include "op_probe.h"

#define MANY	100
#define FEW	5

static struct probe *add_pending(struct kunit *test)
{
	return probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
}

static struct probe *next(struct twheel_op_iter *iter)
{
	struct twheel_op *op = twheel_op_iter_next(iter);

	return op ? container_of(op, struct probe, op) : NULL;
}

/*
 * Advance the iterator @after times, then end the operations in @victims, add @added
 * operations, and continue to the end.
 */
static void iterate_with(struct kunit *test, unsigned int after, unsigned long victims,
			 unsigned int added)
{
	struct probe *probes[FEW], *probe;
	unsigned int seen[FEW] = {}, i, nr = 0;
	struct twheel_op_iter iter;

	for (i = 0; i < FEW; i++)
		probes[i] = add_pending(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	do {
		for (i = 0; i < FEW && nr == after; i++)
			if (victims & BIT(i))
				twheel_op_cancel(&probes[i]->op);
		for (i = 0; i < added && nr == after; i++)
			add_pending(test);
		probe = next(&iter);
		if (probe)
			KUNIT_EXPECT_EQ(test, probe->ended, 0);
		for (i = 0; i < FEW; i++)
			seen[i] += probe == probes[i];
	} while (probe && nr++ < 2 * FEW);
	twheel_op_iter_end(&iter);

	KUNIT_EXPECT_NULL(test, probe);
	for (i = 0; i < FEW; i++) {
		KUNIT_EXPECT_LE(test, seen[i], 1);
		KUNIT_EXPECT_TRUE_MSG(test, seen[i] || victims & BIT(i),
				      "%u of victims %#lx, %u added after %u",
				      i, victims, added, after);
	}
	twheel_complete_all(probe_purgatory, 0, 0, 0);
}

static void remaining_ops_are_seen_if_others_end_or_are_added(struct kunit *test)
{
	unsigned long victims;
	unsigned int after;

	for (after = 0; after <= FEW; after++)
		for (victims = 0; victims < BIT(FEW); victims++) {
			iterate_with(test, after, victims, 0);
			iterate_with(test, after, victims, 1 + victims % 3);
		}
}

/* Add an operation in each step. In the first step, cancel one of the three initial ones. */
static void iterate_and_add(struct kunit *test, unsigned int victim)
{
	struct probe *probes[] = { add_pending(test), add_pending(test), add_pending(test) };
	struct twheel_op_iter iter;
	unsigned int nr = 0;

	twheel_op_iter_start(&iter, probe_purgatory);
	while (next(&iter) && nr++ < MANY) {
		if (nr == 1 && victim < ARRAY_SIZE(probes))
			KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probes[victim]->op), 0);
		add_pending(test);
	}
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_LT(test, nr, MANY);
	KUNIT_EXPECT_GE(test, nr, 2);
	twheel_complete_all(probe_purgatory, 0, 0, 0);
}

static void iteration_terminates_despite_adds(struct kunit *test)
{
	unsigned int victim;

	for (victim = 0; victim <= 3; victim++)
		iterate_and_add(test, victim);
}

/* Three iterators at different positions. Operations end at the position of the first. */
static void concurrent_iterators_are_independent(struct kunit *test)
{
	struct twheel_op_iter iters[3];
	unsigned int i, round, seen[ARRAY_SIZE(iters)] = {}, ended = 0;
	struct probe *probe;

	for (i = 0; i < MANY; i++)
		add_pending(test);
	for (i = 0; i < ARRAY_SIZE(iters); i++)
		twheel_op_iter_start(&iters[i], probe_purgatory);
	for (round = 0; round < 4 * MANY; round++) {
		i = round % 4 % ARRAY_SIZE(iters);
		probe = next(&iters[i]);
		if (probe)
			seen[i]++;
		/* The operation is at the first iterator, and not yet reached by the others. */
		if (probe && !i && seen[0] % 5 == 0) {
			KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), 0);
			ended++;
		}
	}
	for (i = 0; i < ARRAY_SIZE(iters); i++) {
		KUNIT_EXPECT_NULL(test, next(&iters[i]));
		twheel_op_iter_end(&iters[i]);
	}
	KUNIT_EXPECT_EQ(test, ended, MANY / 5);
	KUNIT_EXPECT_EQ(test, seen[0], MANY);
	for (i = 1; i < ARRAY_SIZE(iters); i++) {
		KUNIT_EXPECT_GE(test, seen[i], MANY - ended);
		KUNIT_EXPECT_LE(test, seen[i], MANY);
	}
	expect_counts(test, MANY - ended, 1, MANY - ended);
}

static void iterator_holds_current_op(struct kunit *test)
{
	struct probe *probe = add_pending(test), *other = add_pending(test), *at;
	struct twheel_op_iter iter;

	twheel_op_iter_start(&iter, probe_purgatory);
	at = next(&iter);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 2);
	twheel_op_put(&probe->op);
	twheel_op_put(&other->op);
	KUNIT_EXPECT_EQ(test, probe->released + other->released, 1);
	KUNIT_EXPECT_EQ(test, at->released, 0);
	KUNIT_EXPECT_NULL(test, next(&iter));
	KUNIT_EXPECT_EQ(test, at->released, 1);
	twheel_op_iter_end(&iter);

	/* The end of the iteration drops the reference, too. */
	probe = add_pending(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	KUNIT_EXPECT_PTR_EQ(test, next(&iter), probe);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static struct kunit_case iter_cases[] = {
	KUNIT_CASE(remaining_ops_are_seen_if_others_end_or_are_added),
	KUNIT_CASE(iteration_terminates_despite_adds),
	KUNIT_CASE(concurrent_iterators_are_independent),
	KUNIT_CASE(iterator_holds_current_op),
	{}
};

static struct kunit_suite iter_suite = {
	.name		= "twheel_op_iter",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= iter_cases,
};

kunit_test_suite(iter_suite);
