// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of folly's HHWheelTimerTest, under their own names: the order of timers, and
 * callbacks that use their own wheel. The wheel has a tick of 1 ms and 256 slots.
 * misuse_kunit.c has the case of a callback that destroys its wheel.
 * Documentation/cases.rst maps the names.
 */
#include <linux/ktime.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define SLOTS	256

static int folly_init(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "folly", .tick_ns = NSEC_PER_MSEC, .slots = SLOTS,
	};

	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
	return 0;
}

/* A timer that is added later, with an earlier deadline, fires first. */
static void slow_fast(struct kunit *test)
{
	static struct timer_probe slow, fast;

	timer_probe_init(&slow);
	timer_probe_init(&fast);
	timer_probe_add(&slow, 10 * NSEC_PER_MSEC);
	timer_probe_add(&fast, 5 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 2);
	vtime_sleep(20 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, slow.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, fast.nr_fired, 1);
	KUNIT_EXPECT_LT(test, fast.fired, slow.fired);
	expect_on_time(test, &slow);
	expect_on_time(test, &fast);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
}

/* The timer that a callback adds, with its delay. */
static struct timer_probe added;
static u64 added_delay, pending_after_add;

static void add_another(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	probe->nr_fired++;
	probe->fired = ktime_get_ns();
	timer_probe_add(&added, added_delay);
	pending_after_add = stats_of(timer_wheel).pending;
}

static void expect_added_within(struct kunit *test, u64 delay, u64 then)
{
	static struct timer_probe adds;

	added_delay = then;
	timer_probe_init(&added);
	timer_probe_init(&adds);
	twheel_timer_init(&adds.timer, timer_wheel, add_another);
	timer_probe_add(&adds, delay);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(delay + then + 10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, adds.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, added.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, pending_after_add, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	expect_on_time(test, &adds);
	expect_on_time(test, &added);
}

/*
 * The callback runs half a turn ahead, and adds a timer with a delay of about the range
 * of a level: just within it, equal to it, and past it.
 */
static void resched(struct kunit *test)
{
	expect_added_within(test, SLOTS / 2 * NSEC_PER_MSEC, (SLOTS - 1) * NSEC_PER_MSEC);
	expect_added_within(test, SLOTS / 2 * NSEC_PER_MSEC, SLOTS * NSEC_PER_MSEC);
	expect_added_within(test, SLOTS / 2 * NSEC_PER_MSEC, (SLOTS + 1) * NSEC_PER_MSEC);
}

/* The callback adds a timer with a delay of one tick, and one without a delay. */
static void scheduling_within_callback(struct kunit *test)
{
	expect_added_within(test, 500 * NSEC_PER_MSEC, NSEC_PER_MSEC);
	expect_added_within(test, 500 * NSEC_PER_MSEC, 0);
}

static struct kunit_case folly_cases[] = {
	KUNIT_CASE(slow_fast),
	KUNIT_CASE(resched),
	KUNIT_CASE(scheduling_within_callback),
	{}
};

static struct kunit_suite folly_suite = {
	.name		= "folly_hh_wheel_timer_test",
	.init		= folly_init,
	.exit		= timer_suite_exit,
	.test_cases	= folly_cases,
};

kunit_test_suite(folly_suite);
