// SPDX-License-Identifier: GPL-2.0
/*
 * Property test of layer 4: random sequences of all the calls, on wheels of the
 * system's and of any other shape, held against a model. See model.h.
 *
 * Of a sequence that fails, what is needed to make it fail is printed.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../../twheel/core/shard.h"
#include "../random.h"
#include "model.h"

/* What a case may take of KUnit's 300 seconds: to look for a failure, and to shrink it. */
#define SEARCH_NS	(120 * NSEC_PER_SEC)
#define SHRINK_NS	(280 * NSEC_PER_SEC)

#define SEQUENCES	100

static struct model_run *run;
static struct model_sequence sequence;

static int model_init(struct kunit *test)
{
	/* The model counts slow functions one by one. */
	twheel_timed_together = 1;
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	spin_lock_init(&run->log_lock);
	run->wq = alloc_workqueue("twheel_model", 0, 0);
	KUNIT_ASSERT_NOT_NULL(test, run->wq);
	return 0;
}

static void model_exit(struct kunit *test)
{
	twheel_timed_together = TWHEEL_TIMED_TOGETHER;
	if (run && run->wq)
		destroy_workqueue(run->wq);
	kvfree(run);
	run = NULL;
}

/* Run sequences until one fails, and shrink that. True if one did. */
static bool find_failure(struct rnd_state *random, bool system, enum twheel_clock clock,
			 enum model_lie lie)
{
	u64 begin = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < SEQUENCES && ktime_get_ns() < begin + SEARCH_NS; i++) {
		model_generate(&sequence, random, system, clock);
		/* By a long tick there is no time to shrink what surely fails. */
		if (lie && sequence.config.tick_ns > 20 * NSEC_PER_MSEC)
			continue;
		if (model_run(run, &sequence, lie) >= 0) {
			model_shrink(run, &sequence, lie, begin + SHRINK_NS);
			return true;
		}
	}
	return false;
}

struct kind {
	const char		*name;
	bool			system;
	enum twheel_clock	clock;
};

static const struct kind kinds[] = {
	{ "private, monotonic", false, TWHEEL_CLOCK_MONOTONIC },
	{ "private, boottime", false, TWHEEL_CLOCK_BOOTTIME },
	{ "private, realtime", false, TWHEEL_CLOCK_REALTIME },
	{ "system, monotonic", true, TWHEEL_CLOCK_MONOTONIC },
	{ "system, boottime", true, TWHEEL_CLOCK_BOOTTIME },
	{ "system, realtime", true, TWHEEL_CLOCK_REALTIME },
};

static void kind_desc(const struct kind *kind, char *desc)
{
	strscpy(desc, kind->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, kind_desc);

static void it_does_as_the_model(struct kunit *test)
{
	const struct kind *kind = test->param_value;
	struct rnd_state random;

	random_start(test, &random);
	if (!find_failure(&random, kind->system, kind->clock, MODEL_TRUTH))
		return;
	kunit_info(test, "with the seed above, and no more than these steps:\n");
	model_print(test, &sequence);
	KUNIT_FAIL(test, "%s", sequence.diff);
}

struct lie {
	const char	*name;
	enum model_lie	lie;
	bool		system;
	unsigned int	steps;		/* what it takes at the least */
};

/*
 * None can be left out, but there are longer ways to the same end; seldom one so long
 * that the shortest of a few failures is no better.
 */
#define DETOUR	3
#define FAILURES	4

static const struct lie lies[] = {
	{ "cancel_sync loses", MODEL_CANCEL_SYNC_LOSES, true, 2 },
	{ "if earlier moves later ones", MODEL_EARLIER_MOVES, true, 2 },
	{ "runs are not counted", MODEL_REPEATS_FOREVER, true, 3 },
	{ "stop hands nothing back", MODEL_STOP_FORGETS, false, 1 },
};

static void lie_desc(const struct lie *lie, char *desc)
{
	strscpy(desc, lie->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lie, lies, lie_desc);

/* Find a failure, and shrink it; how many steps it takes. */
static unsigned int shrunk(struct kunit *test, const struct lie *lie, struct rnd_state *random)
{
	KUNIT_ASSERT_TRUE(test, find_failure(random, lie->system, TWHEEL_CLOCK_MONOTONIC,
					     lie->lie));
	KUNIT_EXPECT_STRNEQ(test, sequence.diff, "");
	KUNIT_EXPECT_LT(test, model_run(run, &sequence, MODEL_TRUTH), 0);
	return sequence.nr;
}

/* A wrong model stands for a wrong module: it is found out by few steps. */
static void a_failure_is_found_and_shrunk(struct kunit *test)
{
	const struct lie *lie = test->param_value;
	unsigned int i, least = UINT_MAX;
	struct rnd_state random;

	random_start(test, &random);
	for (i = 0; i < FAILURES && least > lie->steps + DETOUR; i++)
		least = min(least, shrunk(test, lie, &random));
	KUNIT_EXPECT_LE(test, least, lie->steps + DETOUR);
	if (least > lie->steps + DETOUR)
		model_print(test, &sequence);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(it_does_as_the_model, kind_gen_params),
	KUNIT_CASE_PARAM(a_failure_is_found_and_shrunk, lie_gen_params),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_timer_model",
	.init		= model_init,
	.exit		= model_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
