// SPDX-License-Identifier: GPL-2.0
/*
 * The worked examples in articles about hierarchical timing wheels, through the kernel
 * interface: a tick of 1 ms and 20 slots, with a real reaper. wheel_kunit.c and
 * queue_kunit.c test the placement of the timers. These cases test when they cascade, by
 * the counter of moves.
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

static void add_at(struct kunit *test, struct timer_probe *probe, unsigned int ms)
{
	timer_probe_init(probe);
	probe->deadline = at(ms);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe->timer, probe->deadline), 0);
}

/* Expect @moves moves just before a time, and one more just after it. */
static void expect_move_at(struct kunit *test, unsigned int ms, u64 moves)
{
	vtime_sleep_until(at(ms) - VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, moves);
	vtime_sleep_until(at(ms) + VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, moves + 1);
}

/* Expect that the timer fires at the beginning of its tick. */
static void expect_fires_at(struct kunit *test, struct timer_probe *probe, unsigned int ms)
{
	vtime_sleep_until(at(ms) - VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 0);
	vtime_sleep_until(at(ms) + VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_GE(test, probe->fired, at(ms));
}

static void timer_for_28_moves_at_20(struct kunit *test)
{
	static struct timer_probe probe;

	add_at(test, &probe, 28);
	expect_move_at(test, 20, 0);
	expect_fires_at(test, &probe, 28);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, 1);
}

static void timer_for_237_moves_at_220(struct kunit *test)
{
	static struct timer_probe probe;

	add_at(test, &probe, 237);
	expect_move_at(test, 220, 0);
	expect_fires_at(test, &probe, 237);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, 1);
}

/* The slot of the timer begins at 340. At 350 the timer only fires. */
static void timer_for_350_moves_at_340(struct kunit *test)
{
	static struct timer_probe probe;

	add_at(test, &probe, 350);
	expect_move_at(test, 340, 0);
	expect_fires_at(test, &probe, 350);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, 1);
}

static void timer_for_450_moves_at_400_and_440(struct kunit *test)
{
	static struct timer_probe probe;

	add_at(test, &probe, 450);
	expect_move_at(test, 400, 0);
	expect_move_at(test, 440, 1);
	expect_fires_at(test, &probe, 450);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, 2);
}

static struct kunit_case examples_cases[] = {
	KUNIT_CASE(timer_for_28_moves_at_20),
	KUNIT_CASE(timer_for_237_moves_at_220),
	KUNIT_CASE(timer_for_350_moves_at_340),
	KUNIT_CASE(timer_for_450_moves_at_400_and_440),
	{}
};

static struct kunit_suite examples_suite = {
	.name		= "twheel_worked_examples",
	.init		= examples_init,
	.exit		= timer_suite_exit,
	.test_cases	= examples_cases,
};

kunit_test_suite(examples_suite);
