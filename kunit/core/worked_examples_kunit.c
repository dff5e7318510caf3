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

	timer_suite_start(test, &config);
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
	KUNIT_EXPECT_EQ(test, timer_probe_add_at(&probe, at(example->deadline)), 0);
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

/*
 * Tick of 100 ms, 512 slots: 51,250 ms fires in the second turn, at 51,300 ms, and a
 * delay of 5 ms that is added at 95 ms fires at 100 ms.
 */
static void coarse_wheel_is_late_by_one_tick_at_most(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * NSEC_PER_MSEC, .slots = 512 };
	static struct timer_probe near, far;
	u64 begin;

	timer_suite_restart(test, &config);
	begin = (div64_u64(ktime_get_ns(), config.tick_ns) + 1) * config.tick_ns;
	timer_probe_init(&near);
	timer_probe_init(&far);
	vtime_sleep_until(begin);
	timer_probe_add_at(&far, begin + 51250 * NSEC_PER_MSEC);
	vtime_sleep_until(begin + 95 * NSEC_PER_MSEC);
	timer_probe_add_at(&near, begin + 100 * NSEC_PER_MSEC);

	vtime_sleep_until(begin + 52 * NSEC_PER_SEC);
	expect_on_time(test, &near);
	KUNIT_EXPECT_EQ(test, div64_u64(near.fired - begin, config.tick_ns), 1);
	expect_on_time(test, &far);
	KUNIT_EXPECT_EQ(test, div64_u64(far.fired - begin, config.tick_ns), 513);
}

static struct kunit_case examples_cases[] = {
	KUNIT_CASE_PARAM(timer_moves_and_fires, example_gen_params),
	KUNIT_CASE(coarse_wheel_is_late_by_one_tick_at_most),
	{}
};

static struct kunit_suite examples_suite = {
	.name		= "twheel_worked_examples",
	.init		= examples_init,
	.exit		= timer_suite_exit,
	.test_cases	= examples_cases,
};

kunit_test_suite(examples_suite);
