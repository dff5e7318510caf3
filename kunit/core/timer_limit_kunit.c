// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4: slack, limits, flush, what can be asked of a timer and a
 * wheel, and threads that are made when they are needed.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../../twheel/core/twheel.h"
#include "../random.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)

static void a_wheel_has_no_thread_before_its_first_timer(struct kunit *test)
{
	static struct timer_probe probe;

	vtime_sleep(SECOND);
	KUNIT_EXPECT_NULL(test, timer_wheel->shard[0].task);
	timer_probe_init(&probe);
	timer_probe_add(&probe, 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_NOT_NULL(test, timer_wheel->shard[0].task);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

/* Neither is one made for a wheel that goes while it was about to. */
static void a_wheel_may_end_before_it_has_a_thread(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	preempt_disable();
	timer_probe_add(&probe, SECOND);
	twheel_timer_cancel(&probe.timer);
	preempt_enable();
	twheel_destroy(timer_wheel);
	timer_suite_init(test);
}

static void slack_is_never_early_and_bounded(struct kunit *test)
{
	u64 slacks[] = { 1, NSEC_PER_MSEC, 50 * NSEC_PER_MSEC, SECOND, 100 * SECOND };
	static struct timer_probe probes[ARRAY_SIZE(slacks)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slacks); i++) {
		timer_probe_init(&probes[i]);
		probes[i].deadline = twheel_deadline(10 * SECOND + i * 12345678);
		KUNIT_EXPECT_EQ(test, twheel_timer_add_slack(&probes[i].timer, probes[i].deadline,
							     slacks[i]), 0);
	}
	vtime_sleep(120 * SECOND);
	for (i = 0; i < ARRAY_SIZE(slacks); i++) {
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
		KUNIT_EXPECT_GE(test, probes[i].fired, probes[i].deadline);
		KUNIT_EXPECT_LE(test, probes[i].fired, probes[i].deadline + slacks[i] +
				twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
	}
}

#define MANY	1000

/* A thousand deadlines within 50 seconds, without slack and with. */
static void slack_shares_wakeups_and_spares_moves(struct kunit *test)
{
	struct twheel_stats exact, coarse;
	struct timer_probe *probes;
	struct rnd_state random;
	unsigned int i, round;
	u64 delay;

	random_start(test, &random);
	probes = kunit_kcalloc(test, MANY, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < MANY; i++) {
			delay = 50 * SECOND + random_below(&random, 1000000) * 50000ULL;
			timer_probe_init(&probes[i]);
			probes[i].deadline = twheel_deadline(delay);
			twheel_timer_add_slack(&probes[i].timer, probes[i].deadline,
					       round ? TWHEEL_SLACK_COARSE : 0);
			/* An eighth, give or take a tick of the kernel's. */
			probes[i].after_ns = round ? delay / 8 + NSEC_PER_MSEC : 0;
		}
		vtime_sleep(120 * SECOND);
		if (!round)
			exact = stats_of(timer_wheel);
		for (i = 0; i < MANY; i++) {
			KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
			KUNIT_EXPECT_GE(test, probes[i].fired, probes[i].deadline);
			KUNIT_EXPECT_LE(test, probes[i].fired, probes[i].deadline +
					probes[i].after_ns + twheel_tick_ns(timer_wheel) +
					VTIME_SLOP_NS + MANY * NSEC_PER_USEC);
		}
	}
	coarse = stats_of(timer_wheel);
	KUNIT_EXPECT_LE(test, (coarse.cascaded - exact.cascaded) * 10, exact.cascaded);
	KUNIT_EXPECT_LE(test, (coarse.wakeups - exact.wakeups) * 10, exact.wakeups);
}

static void remaining_goes_down(struct kunit *test)
{
	static struct timer_probe probe;
	u64 tick = twheel_tick_ns(timer_wheel);

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_remaining(&probe.timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_next(timer_wheel), TWHEEL_NEVER);
	timer_probe_add(&probe, 100 * SECOND);
	vtime_sleep(40 * SECOND);
	KUNIT_EXPECT_LE(test, twheel_timer_remaining(&probe.timer), 60 * SECOND + tick);
	KUNIT_EXPECT_GE(test, twheel_timer_remaining(&probe.timer), 60 * SECOND - tick);
	KUNIT_EXPECT_GE(test, twheel_next(timer_wheel), ktime_get_ns());
	KUNIT_EXPECT_LE(test, twheel_next(timer_wheel), probe.deadline + tick);
	timer_probe_rearm(&probe, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS);
	KUNIT_EXPECT_EQ(test, twheel_timer_remaining(&probe.timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void limited_wheel(struct kunit *test, unsigned int shards, u64 max_pending)
{
	const struct twheel_config config = {
		.name = "kunit", .shards = shards, .max_pending = max_pending,
	};

	twheel_destroy(timer_wheel);
	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
}

/* Its function adds another: its own place is free by then. */
static struct timer_probe follower;

static void add_follower(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	probe->cancelled = timer_probe_add(&follower, SECOND);
}

static void a_full_wheel_refuses_and_forgets_at_once(struct kunit *test)
{
	static struct timer_probe probes[4];
	unsigned int i;

	limited_wheel(test, 2, 3);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		timer_probe_init(&probes[i]);
	timer_probe_init(&follower);
	twheel_timer_init(&probes[0].timer, timer_wheel, add_follower);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[i], (i + 1) * SECOND), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probes[3], SECOND, TWHEEL_REARM_ALWAYS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).rejected, 2);
	/* Those that are in may be moved. */
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probes[2], 9 * SECOND, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(3 * SECOND / 2);
	KUNIT_EXPECT_EQ(test, probes[0].cancelled, 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probes[2].timer), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[3], SECOND), 0);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, timer_probe_add(&probes[i], 10 * SECOND), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 3);
}

/* Others take all the places while it runs; it does not lose its own. */
static struct timer_probe greedy[2];

static void take_all(struct twheel_periodic *periodic)
{
	timer_probe_rearm(&greedy[0], 100 * SECOND, TWHEEL_REARM_ALWAYS);
	timer_probe_rearm(&greedy[1], 100 * SECOND, TWHEEL_REARM_ALWAYS);
}

static void a_repeating_timer_keeps_its_place(struct kunit *test)
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
	/* One above the limit: others are refused, and take nothing. */
	timer_probe_init(&follower);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&follower, SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&follower, SECOND), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic64_read(&timer_wheel->limit.pending), 3);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 3);
	KUNIT_EXPECT_EQ(test, atomic64_read(&timer_wheel->limit.pending), 0);
}

static void a_purgatory_wants_a_wheel_without_limit(struct kunit *test)
{
	struct twheel_purgatory_config config = { .max_pending = 1 };

	limited_wheel(test, 1, 2);
	config.wheel = timer_wheel;
	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_purgatory_create(&config)), -EINVAL);
}

#define MAX_WHEELS	64

static void too_many_wheels_are_refused(struct kunit *test)
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
	/* The suite has one. */
	KUNIT_EXPECT_EQ(test, nr, MAX_WHEELS - 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(wheels[nr]), -EUSERS);
	KUNIT_EXPECT_FALSE(test, IS_ERR(twheel_system_clock(TWHEEL_CLOCK_BOOTTIME)));
	for (i = 0; i < nr; i++)
		twheel_destroy(wheels[i]);
	wheels[0] = twheel_create(&config);
	KUNIT_EXPECT_FALSE(test, IS_ERR(wheels[0]));
	twheel_destroy(wheels[0]);
}

static void flush_waits_for_the_function_that_runs(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	probe.takes_ns = 10 * SECOND;
	probe.again = 1;
	probe.after_ns = 100 * SECOND;
	timer_probe_add(&probe, 0);
	vtime_sleep(SECOND);
	KUNIT_EXPECT_TRUE(test, probe.running);
	KUNIT_EXPECT_EQ(test, twheel_flush(timer_wheel), 0);
	KUNIT_EXPECT_FALSE(test, probe.running);
	/* Not for what is pending. */
	KUNIT_EXPECT_EQ(test, twheel_flush(timer_wheel), 0);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void slow_functions_are_counted(struct kunit *test)
{
	static struct timer_probe probes[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		probes[i].takes_ns = i * 600000;
		timer_probe_add(&probes[i], i * SECOND);
	}
	vtime_sleep(5 * SECOND);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 3);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 1);
}

/* The first eight of a spell are timed one by one, and the others eight at a time. */
static void among_very_many_eight_are_timed_together(struct kunit *test)
{
	static struct timer_probe probes[32];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		/* Two of the first eight, one of the second, all of the third and the fourth. */
		if (i == 2 || i == 3 || i == 12)
			probes[i].takes_ns = 2 * NSEC_PER_MSEC;
		else if (i / 8 >= 2)
			probes[i].takes_ns = 150 * NSEC_PER_USEC;
		timer_probe_add(&probes[i], SECOND);
	}
	vtime_sleep(5 * SECOND);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 32);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 5);
}

static struct kunit_case limit_cases[] = {
	KUNIT_CASE(a_wheel_has_no_thread_before_its_first_timer),
	KUNIT_CASE(a_wheel_may_end_before_it_has_a_thread),
	KUNIT_CASE(slack_is_never_early_and_bounded),
	KUNIT_CASE(slack_shares_wakeups_and_spares_moves),
	KUNIT_CASE(remaining_goes_down),
	KUNIT_CASE(a_full_wheel_refuses_and_forgets_at_once),
	KUNIT_CASE(a_repeating_timer_keeps_its_place),
	KUNIT_CASE(a_purgatory_wants_a_wheel_without_limit),
	KUNIT_CASE(too_many_wheels_are_refused),
	KUNIT_CASE(flush_waits_for_the_function_that_runs),
	KUNIT_CASE(slow_functions_are_counted),
	KUNIT_CASE(among_very_many_eight_are_timed_together),
	{}
};

static struct kunit_suite limit_suite = {
	.name		= "twheel_timer_limit",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= limit_cases,
};

kunit_test_suite(limit_suite);
