// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the limits on timers and wheels.
 */
#include <linux/err.h>
#include <linux/time64.h>

#include "../../twheel/core/twheel.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)

static void limited_wheel(struct kunit *test, unsigned int shards, u64 max_pending)
{
	const struct twheel_config config = {
		.name = "kunit", .shards = shards, .max_pending = max_pending,
	};

	timer_suite_restart(test, &config);
}

static void full_wheel_returns_enospc(struct kunit *test)
{
	static struct timer_probe probes[4];
	unsigned int i;

	limited_wheel(test, 2, 3);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		timer_probe_init(&probes[i]);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[i], (i + 1) * SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], NSEC_PER_MSEC), -ENOSPC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probes[3], NSEC_PER_MSEC, TWHEEL_REARM_ALWAYS),
			-ENOSPC);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probes[3].timer));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).rejected, 2);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 3);
	/* A pending timer can still be re-armed. */
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probes[2], SECOND / 2, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(3 * SECOND / 4);
	KUNIT_EXPECT_EQ(test, probes[2].nr_fired, 1);
	expect_on_time(test, &probes[2]);
	KUNIT_EXPECT_EQ(test, probes[3].nr_fired, 0);

	/* A cancelled timer is uncharged at once. */
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[2], 9 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probes[2].timer), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], SECOND), 0);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, probes[3].nr_fired, 1);
	expect_on_time(test, &probes[3]);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[i], 10 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 3);
}

static struct timer_probe follower;

static void add_follower(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	probe->cancelled = timer_probe_add(&follower, 100 * SECOND);
}

/* The callback of one timer adds another timer, and the callback of the next re-arms its own. */
static void timer_is_uncharged_before_its_callback(struct kunit *test)
{
	static struct timer_probe adds, rearms, stays, refused;

	limited_wheel(test, 2, 3);
	timer_probe_init(&follower);
	timer_probe_init(&adds);
	timer_probe_init(&rearms);
	timer_probe_init(&stays);
	timer_probe_init(&refused);
	twheel_timer_init(&adds.timer, timer_wheel, add_follower);
	rearms.again = 1;
	KUNIT_EXPECT_EQ(test, timer_probe_add(&adds, SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&rearms, 2 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&stays, 100 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&refused, SECOND), -ENOSPC);
	vtime_sleep(3 * SECOND / 2);
	KUNIT_EXPECT_EQ(test, adds.cancelled, 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&refused, SECOND), -ENOSPC);
	vtime_sleep(SECOND);
	KUNIT_EXPECT_EQ(test, rearms.nr_fired, 2);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).rejected, 2);

	KUNIT_EXPECT_EQ(test, timer_probe_add(&refused, SECOND), 0);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, refused.nr_fired, 1);
	expect_on_time(test, &refused);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 2);
}

/* The callback fills the wheel up to its limit, but its own timer is still armed again. */
static struct timer_probe greedy[2];

static void take_all(struct twheel_periodic *periodic)
{
	timer_probe_rearm(&greedy[0], 100 * SECOND, TWHEEL_REARM_ALWAYS);
	timer_probe_rearm(&greedy[1], 100 * SECOND, TWHEEL_REARM_ALWAYS);
}

static void periodic_timer_is_rearmed_on_full_wheel(struct kunit *test)
{
	static struct twheel_periodic periodic;

	limited_wheel(test, 1, 2);
	timer_probe_init(&greedy[0]);
	timer_probe_init(&greedy[1]);
	twheel_periodic_init(&periodic, timer_wheel, take_all, 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&periodic, 0, SECOND, 0, TWHEEL_FIXED_RATE), 0);
	vtime_sleep(10 * SECOND);
	KUNIT_EXPECT_GE(test, stats_of(timer_wheel).fired, 9);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 3);
	/* The wheel is one above its limit. Further adds are refused and not charged. */
	timer_probe_init(&follower);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&follower, SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&follower, SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic64_read(&timer_wheel->limit.pending), 3);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 3);
	KUNIT_EXPECT_EQ(test, atomic64_read(&timer_wheel->limit.pending), 0);
}

#define MAX_WHEELS	64

static void too_many_wheels_return_eusers(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };
	static struct twheel *wheels[MAX_WHEELS];
	unsigned int i, nr = 0;

	while (nr < MAX_WHEELS) {
		wheels[nr] = twheel_create(&config);
		if (IS_ERR(wheels[nr]))
			break;
		nr++;
	}
	/* One wheel belongs to the suite. */
	KUNIT_EXPECT_EQ(test, nr, MAX_WHEELS - 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(wheels[nr]), -EUSERS);
	KUNIT_EXPECT_FALSE(test, IS_ERR(twheel_system_clock(TWHEEL_CLOCK_BOOTTIME)));
	for (i = 0; i < nr; i++)
		twheel_destroy(wheels[i]);
	wheels[0] = twheel_create(&config);
	KUNIT_EXPECT_FALSE(test, IS_ERR(wheels[0]));
	twheel_destroy(wheels[0]);
}

static struct kunit_case limit_cases[] = {
	KUNIT_CASE(full_wheel_returns_enospc),
	KUNIT_CASE(timer_is_uncharged_before_its_callback),
	KUNIT_CASE(periodic_timer_is_rearmed_on_full_wheel),
	KUNIT_CASE(too_many_wheels_return_eusers),
	{}
};

static struct kunit_suite limit_suite = {
	.name		= "twheel_timer_limit",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= limit_cases,
};

kunit_test_suite(limit_suite);
