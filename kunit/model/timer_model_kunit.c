// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: random sequences of all calls, on system wheels and on
 * wheels of any configuration, compared with a model. See model.h.
 *
 * A failing sequence is printed up to the step that differs.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../random.h"
#include "model.h"

/* Time limit for the search, below KUnit's 300 seconds per test. */
#define SEARCH_NS	(120 * NSEC_PER_SEC)

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

/* Run sequences until one fails, and cut it after the step that differs. */
static bool find_failure(struct rnd_state *random, bool system, enum twheel_clock clock)
{
	u64 begin = ktime_get_ns();
	unsigned int i;
	int step;

	for (i = 0; i < SEQUENCES && ktime_get_ns() < begin + SEARCH_NS; i++) {
		model_generate(&sequence, random, system, clock);
		step = model_run(run, &sequence);
		if (step < 0)
			continue;
		sequence.nr = min_t(unsigned int, sequence.nr, step + 1);
		return true;
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
	if (!find_failure(&random, kind->system, kind->clock))
		return;
	kunit_info(test, "fails with the seed above after these steps:\n");
	model_print(test, &sequence);
	KUNIT_FAIL(test, "%s", sequence.diff);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE_PARAM(random_calls_match_model, kind_gen_params),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_timer_model",
	.init		= model_init,
	.exit		= model_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
