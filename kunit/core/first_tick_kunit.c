// SPDX-License-Identifier: GPL-2.0
/*
 * A test of the reaper in tick 0. It is linked first: even with the longest tick, tick 1
 * begins ten seconds after boot.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "../vtime.h"

static unsigned int nr_fired;

static void count(struct twheel_timer *timer)
{
	nr_fired++;
}

/* A timer is due in tick 0 while the reaper sleeps. */
static void timer_in_tick_zero_fires(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .tick_ns = 10ULL * NSEC_PER_SEC };
	static struct twheel_timer later, now;
	struct twheel *wheel;

	if (ktime_get_ns() > 9ULL * NSEC_PER_SEC)
		kunit_skip(test, "the first tick is over");
	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	twheel_timer_init(&later, wheel, count);
	twheel_timer_init(&now, wheel, count);
	twheel_timer_add(&later, twheel_deadline(50ULL * NSEC_PER_SEC));
	vtime_sleep(NSEC_PER_SEC / 10);
	twheel_timer_add(&now, 0);
	vtime_sleep(NSEC_PER_SEC / 10);
	KUNIT_EXPECT_EQ(test, nr_fired, 1);
	vtime_sleep(100ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, nr_fired, 2);
	twheel_destroy(wheel);
}

static struct kunit_case first_tick_cases[] = {
	KUNIT_CASE(timer_in_tick_zero_fires),
	{}
};

static struct kunit_suite first_tick_suite = {
	.name		= "twheel_first_tick",
	.test_cases	= first_tick_cases,
};

kunit_test_suite(first_tick_suite);
