// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for operations: random calls on operations and keys, and sleeps, compared
 * with a simple model, see op_model.h: results of ended operations, progress of pending
 * operations, iterators, and all counts.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../random.h"
#include "../stats.h"
#include "op_model.h"

static void verify_ended(struct op_model *model, const struct op_model_op *m)
{
	OP_MODEL_EQ(model, m->calls, m->life == OP_MODEL_ENDED);
	OP_MODEL_EQ(model, m->releases, 0);
	if (m->life != OP_MODEL_ENDED)
		return;
	OP_MODEL_EQ(model, m->result.reason, m->end.reason);
	OP_MODEL_EQ(model, m->result.error, m->end.error);
	OP_MODEL_EQ(model, m->result.value, m->end.value);
	OP_MODEL_EQ(model, m->result.deadline, m->end.deadline);
	OP_MODEL_EQ(model, m->result.missing, m->end.missing);
	OP_MODEL_EQ(model, m->result.satisfied, m->end.satisfied);
	if (m->end_order)
		OP_MODEL_EQ(model, m->order, m->end_order);
	KUNIT_ASSERT_GE(model->test, m->result.time, m->end.time);
	KUNIT_ASSERT_LE(model->test, m->result.time, m->latest);
}

static u64 until(u64 deadline, u64 now)
{
	return deadline == TWHEEL_NEVER ? TWHEEL_NEVER : deadline - min(now, deadline);
}

static void verify_keys(struct op_model *model, struct op_model_op *m,
			const struct twheel_watch_spec *keys, u32 nr)
{
	struct op_model_watch *watch;
	bool seen[OP_MODEL_KEYS] = {};
	u32 i;

	for (i = 0; i < nr; i++) {
		watch = op_model_watch_of(m, keys[i].key.v[1]);
		KUNIT_ASSERT_NOT_NULL(model->test, watch);
		OP_MODEL_EQ(model, keys[i].need, watch->need);
		OP_MODEL_EQ(model, keys[i].bit, watch->bit);
		OP_MODEL_EQ(model, seen[watch->key], false);
		seen[watch->key] = true;
	}
}

static void verify_progress(struct op_model *model, struct op_model_op *m)
{
	/* Sometimes request only one key. */
	u32 max_keys = model->step % 4 ? OP_MODEL_KEYS : 1, nr;
	struct twheel_watch_spec keys[OP_MODEL_KEYS];
	struct twheel_op_progress progress;
	u64 now = ktime_get_ns();
	int ret;

	memset(keys, OP_MODEL_POISON, sizeof(keys));
	ret = twheel_op_get_progress(&m->op, &progress, keys, max_keys);
	if (m->life != OP_MODEL_PENDING) {
		OP_MODEL_EQ(model, ret, m->life == OP_MODEL_NEW ? -ENOENT : -EALREADY);
		return;
	}
	OP_MODEL_EQ(model, ret, 0);
	OP_MODEL_EQ(model, progress.deadline, m->deadline);
	KUNIT_ASSERT_LE(model->test, progress.remaining, until(m->deadline, now));
	KUNIT_ASSERT_GE(model->test, progress.remaining, until(m->deadline, ktime_get_ns()));
	OP_MODEL_EQ(model, progress.condition, m->condition);
	OP_MODEL_EQ(model, progress.missing, op_model_missing(m));
	OP_MODEL_EQ(model, progress.nr_keys, m->nr_watches);
	verify_keys(model, m, keys, min(max_keys, m->nr_watches));
	for (nr = min(max_keys, m->nr_watches); nr < OP_MODEL_KEYS; nr++)
		KUNIT_ASSERT_NULL(model->test, memchr_inv(&keys[nr], OP_MODEL_POISON,
							  sizeof(keys[nr])));
}

/* The iterator must return each pending operation once, and no others. */
static void verify_iterator(struct op_model *model)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;
	u32 i;

	for (i = 0; i < OP_MODEL_OPS; i++)
		model->op[i].visited = 0;
	twheel_op_iter_start(&iter, probe_purgatory);
	while ((op = twheel_op_iter_next(&iter)))
		container_of(op, struct op_model_op, op)->visited++;
	twheel_op_iter_end(&iter);
	for (i = 0; i < OP_MODEL_OPS; i++)
		OP_MODEL_EQ(model, model->op[i].visited, model->op[i].life == OP_MODEL_PENDING);
}

void op_model_walk_end(struct op_model_walk *walk)
{
	twheel_op_iter_end(&walk->iter);
	walk->active = false;
	walk->at = NULL;
}

static void walk_start(struct op_model *model, struct op_model_walk *walk, unsigned long bit)
{
	struct op_model_op *m;

	twheel_op_iter_start(&walk->iter, probe_purgatory);
	walk->active = true;
	walk->visits = 0;
	for (m = model->op; m < model->op + OP_MODEL_OPS; m++) {
		m->steady = m->life == OP_MODEL_PENDING ? m->steady | bit : m->steady & ~bit;
		m->seen &= ~bit;
	}
}

/* Others may be visited, too, but the walk ends. */
static void verify_walk(struct op_model *model, struct op_model_walk *walk, unsigned long bit)
{
	struct twheel_op *op = twheel_op_iter_next(&walk->iter);
	struct op_model_op *m;

	if (op) {
		m = container_of(op, struct op_model_op, op);
		OP_MODEL_EQ(model, m->life, OP_MODEL_PENDING);
		OP_MODEL_EQ(model, m->steady & m->seen & bit, 0);
		m->seen |= bit;
		walk->at = m;
		KUNIT_ASSERT_LT(model->test, walk->visits++, 2 * OP_MODEL_OPS);
		return;
	}
	for (m = model->op; m < model->op + OP_MODEL_OPS; m++)
		if (m->life == OP_MODEL_PENDING)
			OP_MODEL_EQ(model, m->steady & ~m->seen & bit, 0);
	op_model_walk_end(walk);
}

static bool verify_walks(struct op_model *model)
{
	bool active = false;
	unsigned int i;

	for (i = 0; i < OP_MODEL_WALKS; i++) {
		if (model->walk[i].active)
			verify_walk(model, &model->walk[i], BIT(i));
		else if (!random_below(&model->random, 64))
			walk_start(model, &model->walk[i], BIT(i));
		active |= model->walk[i].active;
	}
	return active;
}

/* Current numbers are recounted, totals are kept by the model. */
static void verify_counts(struct op_model *model, bool walks)
{
	struct twheel_purgatory_stats stats, *expected = &model->stats;
	bool watched[OP_MODEL_KEYS] = {};
	u32 i, j;

	expected->pending = 0;
	expected->watches = 0;
	expected->keys = 0;
	for (i = 0; i < OP_MODEL_OPS; i++) {
		struct op_model_op *m = &model->op[i];

		expected->pending += m->life == OP_MODEL_PENDING;
		for (j = 0; j < m->nr_watches; j++) {
			expected->watches++;
			expected->keys += !watched[m->watch[j].key];
			watched[m->watch[j].key] = true;
		}
	}
	twheel_purgatory_get_stats(probe_purgatory, &stats);
	OP_MODEL_EQ(model, stats.pending, expected->pending);
	/* A walk keeps the key at which it stands. */
	KUNIT_ASSERT_LE(model->test, stats.keys, expected->keys + (walks ? OP_MODEL_WALKS : 0));
	KUNIT_ASSERT_GE(model->test, stats.keys, expected->keys);
	OP_MODEL_EQ(model, stats.watches, expected->watches);
	OP_MODEL_EQ(model, stats.added, expected->added);
	OP_MODEL_EQ(model, stats.rejected, expected->rejected);
	for (i = 0; i < ARRAY_SIZE(stats.ended); i++)
		OP_MODEL_EQ(model, stats.ended[i], expected->ended[i]);
	/* An operation is pending if and only if its timer is. */
	OP_MODEL_EQ(model, stats_of(probe_wheel).pending, expected->pending);
}

static void op_model_verify(struct op_model *model)
{
	u32 i;

	for (i = 0; i < OP_MODEL_OPS; i++) {
		verify_ended(model, &model->op[i]);
		verify_progress(model, &model->op[i]);
	}
	verify_iterator(model);
	verify_counts(model, verify_walks(model));
}

#define STEPS	5000

/* Check that the random calls covered all ways to end. */
static void expect_variety(struct kunit *test, const struct twheel_purgatory_stats *stats)
{
	unsigned int i;

	kunit_info(test, "%llu completed, %llu expired, %llu cancelled, %llu rejected\n",
		   stats->ended[TWHEEL_REASON_COMPLETED], stats->ended[TWHEEL_REASON_EXPIRED],
		   stats->ended[TWHEEL_REASON_CANCELLED], stats->rejected);
	for (i = TWHEEL_REASON_COMPLETED; i <= TWHEEL_REASON_CANCELLED; i++)
		KUNIT_EXPECT_GT(test, stats->ended[i], STEPS / 100);
}

static struct twheel_purgatory_stats run(struct kunit *test, u64 max_pending, u64 max_watches)
{
	struct op_model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	model->test = test;
	model->max_pending = max_pending;
	model->max_watches = max_watches;
	random_start(test, &model->random);
	op_model_start(model);
	op_model_sleep(model, 0);
	for (i = 0; i < STEPS; i++) {
		op_model_step(model);
		op_model_sleep(model, random_within(&model->random, 2 * NSEC_PER_MSEC));
		op_model_verify(model);
	}
	op_model_stop(model);
	expect_variety(test, &model->stats);
	return model->stats;
}

static void random_calls_match_model(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, run(test, MAX_PENDING, 0).rejected, 0);
}

/* A limit on operations, then a limit on watches. */
static void random_calls_match_model_within_limits(struct kunit *test)
{
	static const u64 limits[][2] = { { OP_MODEL_OPS / 2, 0 }, { OP_MODEL_OPS, 60 } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		twheel_purgatory_destroy(probe_purgatory);
		probe_purgatory = probe_purgatory_create(limits[i][0], limits[i][1]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_purgatory);
		KUNIT_EXPECT_NE(test, run(test, limits[i][0], limits[i][1]).rejected, 0);
	}
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE(random_calls_match_model),
	KUNIT_CASE(random_calls_match_model_within_limits),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_purgatory_model",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
