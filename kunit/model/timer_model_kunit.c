// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: random sequences of all calls, on system wheels and on
 * wheels of any configuration, compared with a model. See model.h.
 *
 * Failing sequences are shrunk and printed.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../random.h"
#include "model.h"

/* Time limits, below KUnit's 300 seconds per test: for the search, and including shrinking. */
#define SEARCH_NS	(120 * NSEC_PER_SEC)
#define SHRINK_NS	(280 * NSEC_PER_SEC)

#define SEQUENCES	100

static struct model_run *run;
static struct model_sequence sequence;

static int model_init(struct kunit *test)
{
	run = kvzalloc(sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	spin_lock_init(&run->log_lock);
	run->wq = alloc_workqueue("twheel_model", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, run->wq);
	return 0;
}

static void model_exit(struct kunit *test)
{
	if (run && run->wq)
		destroy_workqueue(run->wq);
	kvfree(run);
	run = NULL;
}

/* Run sequences until one fails, and shrink that one. Returns true if one failed. */
static bool find_failure(struct rnd_state *random, bool system, enum twheel_clock clock,
			 enum model_bug bug)
{
	u64 begin = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < SEQUENCES && ktime_get_ns() < begin + SEARCH_NS; i++) {
		model_generate(&sequence, random, system, clock);
		/* With long ticks, there is not enough time to shrink failures. */
		if (bug && sequence.config.tick_ns > 20 * NSEC_PER_MSEC)
			continue;
		if (model_run(run, &sequence, bug) >= 0) {
			model_shrink(run, &sequence, bug, begin + SHRINK_NS);
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

static void random_calls_match_model(struct kunit *test)
{
	const struct kind *kind = test->param_value;
	struct rnd_state random;

	random_start(test, &random);
	if (!find_failure(&random, kind->system, kind->clock, MODEL_NO_BUG))
		return;
	kunit_info(test, "fails with the seed above and only these steps:\n");
	model_print(test, &sequence);
	KUNIT_FAIL(test, "%s", sequence.diff);
}

struct bug {
	const char	*name;
	enum model_bug	bug;
	bool		system;
	unsigned int	steps;		/* length of the shortest failing sequence */
};

/*
 * Shrinking may end with a longer sequence from which no step can be removed. The
 * shortest of a few failures is rarely longer than this.
 */
#define EXTRA_STEPS	3
#define FAILURES	4

static const struct bug bugs[] = {
	{ "cancel_sync always fails", MODEL_BUG_CANCEL_SYNC, true, 2 },
	{ "if earlier moves any timer", MODEL_BUG_IF_EARLIER, true, 2 },
	{ "stop returns no timers", MODEL_BUG_STOP, false, 1 },
};

static void bug_desc(const struct bug *bug, char *desc)
{
	strscpy(desc, bug->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bug, bugs, bug_desc);

/* Find and shrink a failure. Returns the number of steps. */
static unsigned int shrunk(struct kunit *test, const struct bug *bug, struct rnd_state *random)
{
	KUNIT_ASSERT_TRUE(test, find_failure(random, bug->system, TWHEEL_CLOCK_MONOTONIC,
					     bug->bug));
	KUNIT_EXPECT_STRNEQ(test, sequence.diff, "");
	KUNIT_EXPECT_LT(test, model_run(run, &sequence, MODEL_NO_BUG), 0);
	return sequence.nr;
}

/* A bug in the model looks like a bug in the module. It must be found with few steps. */
static void model_bug_is_found_and_shrunk(struct kunit *test)
{
	const struct bug *bug = test->param_value;
	unsigned int i, least = UINT_MAX;
	struct rnd_state random;

	random_start(test, &random);
	for (i = 0; i < FAILURES && least > bug->steps + EXTRA_STEPS; i++)
		least = min(least, shrunk(test, bug, &random));
	KUNIT_EXPECT_LE(test, least, bug->steps + EXTRA_STEPS);
	if (least > bug->steps + EXTRA_STEPS)
		model_print(test, &sequence);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(random_calls_match_model, kind_gen_params),
	KUNIT_CASE_PARAM(model_bug_is_found_and_shrunk, bug_gen_params),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_timer_model",
	.init		= model_init,
	.exit		= model_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
