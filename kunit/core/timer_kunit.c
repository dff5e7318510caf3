// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, timers: the calls of the kernel interface and their return values.
 * timer_exact_kunit.c tests that many timers are on time.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

static void timer_fires_once_and_on_time(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 50 * NSEC_PER_MSEC), 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&probe.timer));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	expect_on_time(test, &probe);
}

static void add_of_pending_timer_returns_ebusy(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, 0), -EBUSY);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, NSEC_PER_MSEC), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 2);
}

static void rearm_moves_timer_both_ways(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_ALWAYS), 2);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 2 * NSEC_PER_SEC, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(3 * NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_MSEC, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_ALWAYS), 2);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void rearm_if_pending_does_not_arm_idle_timer(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	timer_probe_add(&probe, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 1);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
}

/* Arm a timer for two deadlines, in either order. @mode keeps the deadline after @kept. */
static void expect_rearm_keeps(struct kunit *test, enum twheel_rearm mode, u64 kept)
{
	u64 first, second, delays[] = { NSEC_PER_SEC, 2 * NSEC_PER_SEC };
	static struct timer_probe probe;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		timer_probe_init(&probe);
		first = ktime_get_ns();
		KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, delays[i], mode), 2);
		KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, delays[!i], mode),
				delays[!i] == kept);
		second = ktime_get_ns();
		vtime_sleep(3 * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
		KUNIT_EXPECT_GE(test, probe.fired, first + kept);
		KUNIT_EXPECT_LE(test, probe.fired,
				second + kept + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
	}
}

static void rearm_if_earlier_keeps_earlier_deadline(struct kunit *test)
{
	expect_rearm_keeps(test, TWHEEL_REARM_IF_EARLIER, NSEC_PER_SEC);
}

static void rearm_if_later_keeps_later_deadline(struct kunit *test)
{
	expect_rearm_keeps(test, TWHEEL_REARM_IF_LATER, 2 * NSEC_PER_SEC);
}

static void rearm_treats_never_as_latest_deadline(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_LATER), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_EARLIER), 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
}

static void rearm_and_sleep(struct twheel_timer *timer)
{
	twheel_timer_rearm(timer, twheel_deadline(10 * NSEC_PER_SEC), TWHEEL_REARM_ALWAYS);
	vtime_sleep(NSEC_PER_SEC);
}

/* The timer is pending and running at once, so it must not be freed after the first cancel. */
static void cancel_of_pending_and_running_timer_returns_one(struct kunit *test)
{
	static struct twheel_timer timer;

	twheel_timer_init(&timer, timer_wheel, rearm_and_sleep);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer, 0), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), -EINPROGRESS);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer, twheel_deadline(NSEC_PER_SEC)), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), 0);
}

static void cancel_returns_state_of_timer(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	timer_probe_add(&probe, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);

	probe.takes_ns = NSEC_PER_SEC;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EINPROGRESS);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe.cancelled, -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void cancel_sync_waits_for_callback(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	timer_probe_add(&probe, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), -EALREADY);

	probe.takes_ns = NSEC_PER_SEC;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_TRUE(test, probe.running);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), -EALREADY);
	KUNIT_EXPECT_FALSE(test, probe.running);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void callback_may_rearm_own_timer(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	probe.again = 9;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 10);
	expect_on_time(test, &probe);
}

/* One timer is re-armed for the past, until long after the deadline of the other. */
static void always_due_timer_does_not_starve_others(struct kunit *test)
{
	static struct timer_probe greedy, other;

	timer_probe_init(&greedy);
	greedy.after_ns = 0;
	greedy.again = 50000;
	timer_probe_init(&other);
	timer_probe_add(&other, 5 * NSEC_PER_MSEC);
	timer_probe_add(&greedy, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, greedy.nr_fired, 50001);
	KUNIT_EXPECT_GT(test, greedy.fired, other.deadline + 2 * twheel_tick_ns(timer_wheel));
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
	expect_on_time(test, &other);
}

static void cancel_sync_stops_timer_that_rearms_itself(struct kunit *test)
{
	unsigned int nr_fired;
	static struct timer_probe probe;

	timer_probe_init(&probe);
	probe.again = UINT_MAX;
	probe.takes_ns = 10 * NSEC_PER_MSEC;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), 0);
	nr_fired = probe.nr_fired;
	KUNIT_EXPECT_GT(test, nr_fired, 10);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, nr_fired);
}

static void shutdown_stops_timer_that_rearms_itself(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	probe.again = UINT_MAX;
	probe.takes_ns = 10 * NSEC_PER_MSEC;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 200);
	KUNIT_EXPECT_TRUE(test, probe.running);
	/* The callback is running, and its re-arm fails. */
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&probe.timer), -EALREADY);
	KUNIT_EXPECT_FALSE(test, probe.running);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void add_after_shutdown_returns_eshutdown(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	timer_probe_add(&probe, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&probe.timer), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 0, TWHEEL_REARM_ALWAYS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 0), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static struct twheel_timer *freed_timer;

static void free_fired(struct twheel_timer *timer)
{
	freed_timer = timer;
	kfree(timer);
}

static void callback_may_free_own_timer(struct kunit *test)
{
	struct twheel_timer *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, timer);
	freed_timer = NULL;
	twheel_timer_init(timer, timer_wheel, free_fired);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(timer, twheel_deadline(NSEC_PER_MSEC)), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_PTR_EQ(test, freed_timer, timer);
}

static void timer_without_deadline_stays_pending(struct kunit *test)
{
	u64 before = stats_of(timer_wheel).wakeups;
	static struct timer_probe probe;

	KUNIT_EXPECT_EQ(test, twheel_deadline(U64_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_deadline(KTIME_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_LT(test, twheel_deadline(KTIME_MAX / 2), TWHEEL_NEVER);

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(100 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, before);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void largest_deadline_is_accepted(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, KTIME_MAX), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(timer_fires_once_and_on_time),
	KUNIT_CASE(add_of_pending_timer_returns_ebusy),
	KUNIT_CASE(rearm_moves_timer_both_ways),
	KUNIT_CASE(rearm_if_pending_does_not_arm_idle_timer),
	KUNIT_CASE(rearm_if_earlier_keeps_earlier_deadline),
	KUNIT_CASE(rearm_if_later_keeps_later_deadline),
	KUNIT_CASE(rearm_treats_never_as_latest_deadline),
	KUNIT_CASE(cancel_returns_state_of_timer),
	KUNIT_CASE(cancel_of_pending_and_running_timer_returns_one),
	KUNIT_CASE(cancel_sync_waits_for_callback),
	KUNIT_CASE(callback_may_rearm_own_timer),
	KUNIT_CASE(always_due_timer_does_not_starve_others),
	KUNIT_CASE(cancel_sync_stops_timer_that_rearms_itself),
	KUNIT_CASE(shutdown_stops_timer_that_rearms_itself),
	KUNIT_CASE(add_after_shutdown_returns_eshutdown),
	KUNIT_CASE(callback_may_free_own_timer),
	KUNIT_CASE(timer_without_deadline_stays_pending),
	KUNIT_CASE(largest_deadline_is_accepted),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "twheel_timer",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_cases,
};

kunit_test_suite(timer_suite);
