// SPDX-License-Identifier: GPL-2.0
/*
 * The worked examples in articles about hierarchical timing wheels, through the kernel
 * interface: a tick of 1 ms and 20 slots, with a real reaper. wheel_kunit.c tests the placement of
 * the timers. These cases test when they cascade, by the counter of moves.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define SLOTS	20

/* Time 0 of the examples: the beginning of a slot of the fourth level. */
static u64 start;

static u64 at(unsigned int ms)
{
	return start + ms * NSEC_PER_MSEC;
}

static int examples_init(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "examples", .tick_ns = NSEC_PER_MSEC, .slots = SLOTS,
	};
	u64 turn = (u64)SLOTS * SLOTS * SLOTS * NSEC_PER_MSEC;

	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
	start = (div64_u64(ktime_get_ns(), turn) + 1) * turn;
	vtime_sleep_until(start);
	return 0;
}

/**
 * struct example - a timer and its moves
 * @deadline: deadline in ms
 * @moves: times of the moves in ms, 0 after the last one. The slot of the timer begins then
 */
struct example {
	unsigned int	deadline;
	unsigned int	moves[2];
};

/* At 350 the timer only fires. */
static const struct example examples[] = {
	{ 28, { 20 } },
	{ 237, { 220 } },
	{ 350, { 340 } },
	{ 450, { 400, 440 } },
};

static void example_desc(const struct example *example, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u ms", example->deadline);
}

KUNIT_ARRAY_PARAM(example, examples, example_desc);

static void timer_moves_and_fires(struct kunit *test)
{
	const struct example *example = test->param_value;
	static struct timer_probe probe;
	unsigned int i;

	timer_probe_init(&probe);
	probe.deadline = at(example->deadline);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, probe.deadline), 0);
	for (i = 0; i < ARRAY_SIZE(example->moves) && example->moves[i]; i++) {
		vtime_sleep_until(at(example->moves[i]) - VTIME_SLOP_NS);
		KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, i);
		vtime_sleep_until(at(example->moves[i]) + VTIME_SLOP_NS);
		KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, i + 1);
	}
	/* It fires at the beginning of its tick. */
	vtime_sleep_until(at(example->deadline) - VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep_until(at(example->deadline) + VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_GE(test, probe.fired, at(example->deadline));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, i);
}

static struct kunit_case examples_cases[] = {
	KUNIT_CASE_PARAM(timer_moves_and_fires, example_gen_params),
	{}
};

static struct kunit_suite examples_suite = {
	.name		= "twheel_worked_examples",
	.init		= examples_init,
	.exit		= timer_suite_exit,
	.test_cases	= examples_cases,
};

kunit_test_suite(examples_suite);
