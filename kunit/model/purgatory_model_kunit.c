// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for operations: random calls on operations and keys, and sleeps, compared
 * with a simple model. See op_model.h.
 */
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../random.h"
#include "op_model.h"

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
