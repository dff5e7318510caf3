// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, listing: the walk over what waits, while that comes and goes,
 * and what is told of each.
 */
#include <linux/bits.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

#define MANY	100
#define FEW	5

static struct probe *waiting(struct kunit *test)
{
	return probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
}

static struct probe *next(struct twheel_op_iter *iter)
{
	struct twheel_op *op = twheel_op_iter_next(iter);

	return op ? container_of(op, struct probe, op) : NULL;
}

static void there_may_be_nothing(struct kunit *test)
{
	struct twheel_op_iter iter;

	twheel_op_iter_start(&iter, probe_purgatory);
	KUNIT_EXPECT_NULL(test, next(&iter));
	KUNIT_EXPECT_NULL(test, next(&iter));
	twheel_op_iter_end(&iter);

	/* Begun and ended, and not gone. */
	waiting(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	twheel_op_iter_end(&iter);
	twheel_op_iter_start(&iter, probe_purgatory);
	KUNIT_EXPECT_NOT_NULL(test, next(&iter));
	twheel_op_iter_end(&iter);
}

/* The orders are of use here to count how often each was seen. */
static void each_that_waits_is_seen_once(struct kunit *test)
{
	struct probe *probes[MANY], *probe;
	struct twheel_op_iter iter;
	unsigned int i, nr = 0;

	for (i = 0; i < MANY; i++)
		probes[i] = waiting(test);
	for (i = 0; i < MANY; i += 10)
		KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probes[i]->op), 0);
	for (i = 0; i < MANY; i++)
		probes[i]->order = 0;
	twheel_op_iter_start(&iter, probe_purgatory);
	while ((probe = next(&iter))) {
		probe->order++;
		nr++;
	}
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_EQ(test, nr, MANY - MANY / 10);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, probes[i]->order, !!(i % 10));
}

/*
 * See @after of a few, then have those of @victims end and as many others come
 * as @added says, and see the rest.
 */
static void walk_with(struct kunit *test, unsigned int after, unsigned long victims,
		      unsigned int added)
{
	struct probe *probes[FEW], *probe;
	unsigned int seen[FEW] = {}, i, nr = 0;
	struct twheel_op_iter iter;

	for (i = 0; i < FEW; i++)
		probes[i] = waiting(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	do {
		for (i = 0; i < FEW && nr == after; i++)
			if (victims & BIT(i))
				twheel_op_cancel(&probes[i]->op);
		for (i = 0; i < added && nr == after; i++)
			waiting(test);
		probe = next(&iter);
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

static void those_that_go_meanwhile_do_no_harm(struct kunit *test)
{
	unsigned long victims;
	unsigned int after;

	for (after = 0; after <= FEW; after++)
		for (victims = 0; victims < BIT(FEW); victims++)
			walk_with(test, after, victims, 0);
}

static void neither_do_those_that_come(struct kunit *test)
{
	unsigned long victims;
	unsigned int after;

	for (after = 0; after <= FEW; after++)
		for (victims = 0; victims < BIT(FEW); victims++)
			walk_with(test, after, victims, 1 + victims % 3);
}

/* What has ended is not seen any more, wherever the walk stands. */
static void what_has_ended_is_not_seen(struct kunit *test)
{
	struct probe *probes[FEW], *probe;
	struct twheel_op_iter iter;
	unsigned int i, nr = 0;

	for (i = 0; i < FEW; i++)
		probes[i] = waiting(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	while ((probe = next(&iter)) && !probe->ended) {
		for (i = 0; i < FEW; i++)
			if (!nr && probes[i] != probe)
				KUNIT_EXPECT_EQ(test, twheel_op_complete(&probes[i]->op, 0), 0);
		nr++;
	}
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_NULL(test, probe);
	KUNIT_EXPECT_EQ(test, nr, 1);
}

/* Each time another is added, and at first one of the three may go. */
static void walk_and_add(struct kunit *test, unsigned int victim)
{
	struct probe *probes[] = { waiting(test), waiting(test), waiting(test) };
	struct twheel_op_iter iter;
	unsigned int nr = 0;

	twheel_op_iter_start(&iter, probe_purgatory);
	while (next(&iter) && nr++ < MANY) {
		if (nr == 1 && victim < ARRAY_SIZE(probes))
			KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probes[victim]->op), 0);
		waiting(test);
	}
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_LT(test, nr, MANY);
	KUNIT_EXPECT_GE(test, nr, 2);
	twheel_complete_all(probe_purgatory, 0, 0, 0);
}

static void a_walk_has_an_end(struct kunit *test)
{
	unsigned int victim;

	for (victim = 0; victim <= 3; victim++)
		walk_and_add(test, victim);
}

/* Three walks at different paces, and what ends is at where one of them stands. */
static void walks_do_not_get_in_each_others_way(struct kunit *test)
{
	struct twheel_op_iter iters[3];
	unsigned int i, round, seen[ARRAY_SIZE(iters)] = {}, ended = 0;
	struct probe *probe;

	for (i = 0; i < MANY; i++)
		waiting(test);
	for (i = 0; i < ARRAY_SIZE(iters); i++)
		twheel_op_iter_start(&iters[i], probe_purgatory);
	for (round = 0; round < 4 * MANY; round++) {
		i = round % 4 % ARRAY_SIZE(iters);
		probe = next(&iters[i]);
		if (probe)
			seen[i]++;
		/* It is behind the first, and before the others. */
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

static void what_it_stands_at_is_held(struct kunit *test)
{
	struct probe *probe = waiting(test), *other = waiting(test), *at;
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

	/* The end of the walk gives it back, too. */
	probe = waiting(test);
	twheel_op_iter_start(&iter, probe_purgatory);
	KUNIT_EXPECT_PTR_EQ(test, next(&iter), probe);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static void progress_is_told_while_it_waits(struct kunit *test)
{
	struct twheel_op_progress progress;
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, NULL, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe_add(probe, 10 * (u64)NSEC_PER_SEC, TWHEEL_COND_NONE, 0, NULL),
			0);
	vtime_sleep(4 * (u64)NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, progress.condition, TWHEEL_COND_NONE);
	KUNIT_EXPECT_EQ(test, progress.nr_keys, 0);
	KUNIT_EXPECT_EQ(test, progress.missing, 0);
	KUNIT_EXPECT_LE(test, progress.remaining, 6 * (u64)NSEC_PER_SEC);
	KUNIT_EXPECT_GT(test, progress.remaining, 6 * (u64)NSEC_PER_SEC - NSEC_PER_MSEC);
	vtime_sleep(7 * (u64)NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, NULL, 0), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe->result.deadline, progress.deadline);
}

static void progress_of(struct kunit *test, struct probe *probe, enum twheel_condition condition,
			u64 missing, u32 nr_keys)
{
	struct twheel_op_progress progress;

	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, progress.deadline, TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, progress.remaining, TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, progress.condition, condition);
	KUNIT_EXPECT_EQ(test, progress.missing, missing);
	KUNIT_EXPECT_EQ(test, progress.nr_keys, nr_keys);
}

static void progress_tells_what_is_missing(struct kunit *test)
{
	struct probe *all = probe_waiting(test, TWHEEL_COND_ALL, 0, 10, 4);
	struct probe *quorum = probe_waiting(test, TWHEEL_COND_QUORUM, 3, 10, 4);
	struct probe *any = probe_waiting(test, TWHEEL_COND_ANY, 0, 20, 4);
	struct probe *sum = probe_new(test), *asked = probe_new_asking(test);

	KUNIT_EXPECT_EQ(test, probe_add_sum(sum, TWHEEL_NEVER, 100, probe_keys_new(test, 10, 2)),
			0);
	KUNIT_EXPECT_EQ(test, probe_add_asking(asked, TWHEEL_NEVER, probe_keys_new(test, 10, 3)),
			0);
	progress_of(test, all, TWHEEL_COND_ALL, 4, 4);
	progress_of(test, quorum, TWHEEL_COND_QUORUM, 3, 4);
	progress_of(test, any, TWHEEL_COND_ANY, 1, 4);
	progress_of(test, sum, TWHEEL_COND_SUM, 100, 2);
	progress_of(test, asked, TWHEEL_COND_PREDICATE, 0, 3);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(11, 30, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal_amount(11, 30, 0), 0);
	progress_of(test, all, TWHEEL_COND_ALL, 3, 4);
	progress_of(test, quorum, TWHEEL_COND_QUORUM, 2, 4);
	progress_of(test, sum, TWHEEL_COND_SUM, 40, 2);
	KUNIT_EXPECT_EQ(test, probe_watch(test, all, 30, 2), 2);
	progress_of(test, all, TWHEEL_COND_ALL, 5, 6);
}

static void progress_lists_as_many_keys_as_fit(struct kunit *test)
{
	struct probe_keys *keys = probe_keys_new(test, 10, 3), *told = probe_keys_new(test, 0, 4);
	struct twheel_op_progress progress;
	struct probe *probe = probe_new(test);
	u32 i, found = 0;

	keys->spec[0].need = 5;
	KUNIT_EXPECT_EQ(test, probe_add(probe, TWHEEL_NEVER, TWHEEL_COND_ALL, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0) + probe_signal(12, 0), 0);
	told->spec[3].key.v[1] = 99;
	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, told->spec, 4), 0);
	for (i = 0; i < 3; i++) {
		u64 number = told->spec[i].key.v[1];

		KUNIT_ASSERT_GE(test, number, 10);
		KUNIT_ASSERT_LE(test, number, 12);
		KUNIT_EXPECT_EQ(test, told->spec[i].need, number == 10 ? 4 : number == 11);
		KUNIT_EXPECT_EQ(test, told->spec[i].reserved, 0);
		found |= BIT(number - 10);
	}
	KUNIT_EXPECT_EQ(test, found, 7);
	KUNIT_EXPECT_EQ(test, told->spec[3].key.v[1], 99);
	told->spec[2].key.v[1] = 99;
	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, told->spec, 2), 0);
	KUNIT_EXPECT_EQ(test, progress.nr_keys, 3);
	KUNIT_EXPECT_EQ(test, told->spec[2].key.v[1], 99);
}

static struct kunit_case iter_cases[] = {
	KUNIT_CASE(there_may_be_nothing),
	KUNIT_CASE(each_that_waits_is_seen_once),
	KUNIT_CASE(those_that_go_meanwhile_do_no_harm),
	KUNIT_CASE(neither_do_those_that_come),
	KUNIT_CASE(what_has_ended_is_not_seen),
	KUNIT_CASE(a_walk_has_an_end),
	KUNIT_CASE(walks_do_not_get_in_each_others_way),
	KUNIT_CASE(what_it_stands_at_is_held),
	KUNIT_CASE(progress_is_told_while_it_waits),
	KUNIT_CASE(progress_tells_what_is_missing),
	KUNIT_CASE(progress_lists_as_many_keys_as_fit),
	{}
};

static struct kunit_suite iter_suite = {
	.name		= "twheel_op_iter",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= iter_cases,
};

kunit_test_suite(iter_suite);
