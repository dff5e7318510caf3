// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the reaper: rounding, levels that are missing, and its end. timer_idle_kunit.c
 * counts wakeups, and timer_stall_kunit.c has stalls.
 *
 * The tests use a shard directly, without the timer layer above it. timer_kunit.c tests
 * the locking and the return values of timers.
 */
#include <kunit/test.h>
#include <linux/time64.h>

#include "../../twheel/core/twheel.h"
#include "../vtime.h"

#define TICK_NS	1000000

static struct twheel *wheel;
static struct twheel_shard *shard;

/* A timer that records its expiry. */
struct probe {
	struct twheel_timer	timer;
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
};

static void probe_fired(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe->fired = ktime_get_ns();
	probe->nr_fired++;
}

static void probe_add(struct probe *probe, u64 deadline)
{
	memset(probe, 0, sizeof(*probe));
	twheel_timer_init(&probe->timer, wheel, probe_fired);
	probe->deadline = deadline;
	probe->timer.node.expires = deadline;
	spin_lock_irq(&shard->lock);
	twheel_shard_forward(shard);
	twheel_shard_add(shard, twheel_timer_base(shard, &probe->timer), &probe->timer,
			 twheel_shard_tick(shard, deadline));
	spin_unlock_irq(&shard->lock);
}

static void expect_on_time(struct kunit *test, const struct probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired, probe->deadline + shard->tick_ns + VTIME_SLOP_NS);
}

static int wheel_start(struct kunit *test, u64 tick_ns, unsigned int slots)
{
	const struct twheel_config config = {
		.name = "kunit", .tick_ns = tick_ns, .slots = slots,
	};

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	shard = &wheel->shard[0];
	return 0;
}

static int reaper_init(struct kunit *test)
{
	return wheel_start(test, TICK_NS, 64);
}

static void reaper_exit(struct kunit *test)
{
	twheel_destroy(wheel);
}

static void deadlines_are_rounded_up_to_tick(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, 1), 1);
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, TICK_NS), 1);
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, TICK_NS + 1), 2);
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, KTIME_MAX),
			DIV_ROUND_UP_ULL(KTIME_MAX, TICK_NS));
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, (u64)KTIME_MAX + 1), TWHEEL_TICK_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_shard_tick(shard, U64_MAX), TWHEEL_TICK_NEVER);
}

/*
 * Tick of 100 ms, 512 slots: 51,250 ms fires in the second turn, at 51,300 ms, and a
 * delay of 5 ms that is added at 95 ms fires at 100 ms.
 */
static void coarse_wheel_is_late_by_one_tick_at_most(struct kunit *test)
{
	u64 tick_ns = 100 * NSEC_PER_MSEC, start;
	static struct probe near, far;

	reaper_exit(test);
	wheel_start(test, tick_ns, 512);
	start = (ktime_get_ns() / tick_ns + 1) * tick_ns;
	vtime_sleep_until(start);
	probe_add(&far, start + 51250 * NSEC_PER_MSEC);
	vtime_sleep_until(start + 95 * NSEC_PER_MSEC);
	probe_add(&near, start + 100 * NSEC_PER_MSEC);

	vtime_sleep_until(start + 52 * NSEC_PER_SEC);
	expect_on_time(test, &near);
	KUNIT_EXPECT_EQ(test, near.fired / tick_ns, start / tick_ns + 1);
	expect_on_time(test, &far);
	KUNIT_EXPECT_EQ(test, far.fired / tick_ns, start / tick_ns + 513);
}

static struct twheel_queue *shard_queue(void)
{
	return &shard->base[TWHEEL_BASE_REAPER].queue;
}

/* An earlier add found no memory for levels. The reaper allocates them. */
static void reaper_adds_levels_that_a_wheel_lacks(struct kunit *test)
{
	u64 before = shard->wakeups;
	static struct probe probe;

	probe_add(&probe, ktime_get_ns() + 100 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, shard_queue()->wheel.nr_levels, 1);
	vtime_sleep(101 * NSEC_PER_SEC);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, shard_queue()->wheel.nr_levels, 3);
	KUNIT_EXPECT_LE(test, shard->wakeups, before + 8);
}

static void stopped_reaper_leaves_no_alarm(struct kunit *test)
{
	static struct probe probe;

	/* A cancelled timer leaves its bucket behind, and the alarm for it. */
	probe_add(&probe, ktime_get_ns() + NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_MSEC);
	spin_lock_irq(&shard->lock);
	twheel_queue_del(shard_queue(), &probe.timer.node);
	spin_unlock_irq(&shard->lock);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&shard->alarm));
	reaper_exit(test);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	reaper_init(test);
}

static struct kunit_case reaper_cases[] = {
	KUNIT_CASE(deadlines_are_rounded_up_to_tick),
	KUNIT_CASE(coarse_wheel_is_late_by_one_tick_at_most),
	KUNIT_CASE(reaper_adds_levels_that_a_wheel_lacks),
	KUNIT_CASE(stopped_reaper_leaves_no_alarm),
	{}
};

static struct kunit_suite reaper_suite = {
	.name		= "twheel_reaper",
	.init		= reaper_init,
	.exit		= reaper_exit,
	.test_cases	= reaper_cases,
};

kunit_test_suite(reaper_suite);
