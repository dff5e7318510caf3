// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for wheels: creation, counters and stop.
 */
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

static void count_cancelled(struct twheel_timer *timer, void *data)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);
	unsigned int *nr = data;

	if (!twheel_timer_pending(timer))
		probe->cancelled = -ECANCELED;
	(*nr)++;
}

static void stop_hands_back_pending_timers(struct kunit *test)
{
	static const u64 delays[] = {
		NSEC_PER_SEC, 5 * NSEC_PER_SEC, 100000 * NSEC_PER_SEC, TWHEEL_NEVER,
	};
	static struct timer_probe fired, probes[ARRAY_SIZE(delays)];
	unsigned int i, nr = 0;

	timer_probe_init(&fired);
	timer_probe_add(&fired, NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		timer_probe_add(&probes[i], delays[i]);
	}
	vtime_sleep(NSEC_PER_SEC / 2);

	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, count_cancelled, &nr), ARRAY_SIZE(probes));
	KUNIT_EXPECT_EQ(test, nr, ARRAY_SIZE(probes));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i].cancelled, -ECANCELED);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probes[i].timer), -EALREADY);
	}
	vtime_sleep(10 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, fired.nr_fired, 1);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, count_cancelled, &nr), 0);
}

/* The wheel has no pending timer. */
static void expect_refusal_after_stop(struct kunit *test)
{
	static struct timer_probe probe;

	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 0, TWHEEL_REARM_ALWAYS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 0, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
}

/* The wheel is stopped before its first timer, and after its last one has fired. */
static void stopped_wheel_refuses_timers(struct kunit *test)
{
	const struct twheel_config config = {};
	static struct timer_probe fired;

	expect_refusal_after_stop(test);
	timer_suite_restart(test, &config);
	timer_probe_init(&fired);
	timer_probe_add(&fired, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, fired.nr_fired, 1);
	expect_refusal_after_stop(test);
}

/* twheel_stop() hands back each timer that is still pending. A re-arm in its callback fails. */
static void rearm_cancelled(struct twheel_timer *timer, void *data)
{
	struct timer_probe *other = data;

	other->cancelled = timer_probe_rearm(other, 0, TWHEEL_REARM_ALWAYS);
}

static void rearm_during_stop_returns_eshutdown(struct kunit *test)
{
	static struct timer_probe first, second;

	timer_probe_init(&first);
	timer_probe_init(&second);
	timer_probe_add(&first, NSEC_PER_SEC);
	timer_probe_add(&second, 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, rearm_cancelled, &second), 2);
	KUNIT_EXPECT_EQ(test, second.cancelled, -ESHUTDOWN);
}

static void counters_add_up(struct kunit *test)
{
	static struct timer_probe fires, far, never;
	struct twheel_stats stats;

	timer_probe_init(&fires);
	timer_probe_init(&far);
	timer_probe_init(&never);
	timer_probe_add(&fires, 0);
	vtime_sleep(NSEC_PER_SEC);
	/* One timer is added again, one is armed and re-armed, and one is cancelled. */
	timer_probe_add(&fires, 5 * NSEC_PER_SEC);
	timer_probe_rearm(&far, 1000 * NSEC_PER_SEC, TWHEEL_REARM_ALWAYS);
	timer_probe_rearm(&far, 2000 * NSEC_PER_SEC, TWHEEL_REARM_IF_LATER);
	timer_probe_rearm(&far, 1000 * NSEC_PER_SEC, TWHEEL_REARM_IF_LATER);
	timer_probe_add(&never, TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 3);
	twheel_timer_cancel(&never.timer);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 2);
	vtime_sleep(10 * NSEC_PER_SEC);

	stats = stats_of(timer_wheel);
	KUNIT_EXPECT_EQ(test, stats.added, 4);
	KUNIT_EXPECT_EQ(test, stats.rearmed, 1);
	KUNIT_EXPECT_EQ(test, stats.fired, 2);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 1);
	KUNIT_EXPECT_EQ(test, stats.pending, 1);
	/* A delay of five seconds is on the third level: at most two moves. */
	KUNIT_EXPECT_GE(test, stats.cascaded, 1);
	KUNIT_EXPECT_LE(test, stats.cascaded, 2);
	KUNIT_EXPECT_EQ(test, stats.latest_ticks, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&far.timer), 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cancelled, 2);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
}

/* A callback that takes a second makes another timer late. A past deadline is not late. */
static void lateness_is_counted(struct kunit *test)
{
	static struct timer_probe slow, late, past;
	struct twheel_stats stats;
	unsigned int i;
	u64 nr = 0;

	timer_probe_init(&slow);
	timer_probe_init(&late);
	timer_probe_init(&past);
	twheel_timer_add(&past.timer, 0);
	vtime_sleep(NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, stats_of(timer_wheel).latest_ticks, 1);
	slow.takes_ns = NSEC_PER_SEC;
	timer_probe_add(&slow, NSEC_PER_MSEC);
	timer_probe_add(&late, 100 * NSEC_PER_MSEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	stats = stats_of(timer_wheel);
	KUNIT_EXPECT_GE(test, stats.latest_ticks, 850);
	KUNIT_EXPECT_LE(test, stats.latest_ticks, 950);
	KUNIT_EXPECT_EQ(test, stats.late_ns, stats.latest_ticks * twheel_tick_ns(timer_wheel));
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		nr += stats.late[i];
	KUNIT_EXPECT_EQ(test, nr, 2);
	/* 900 ms is between 2^29 and 2^30 ns. */
	KUNIT_EXPECT_EQ(test, stats.late[0], 1);
	KUNIT_EXPECT_EQ(test, stats.late[20], 1);
}

/* The last bucket has no limit. */
static void lateness_of_half_a_minute_is_counted(struct kunit *test)
{
	static struct timer_probe slow, late;

	timer_probe_init(&slow);
	timer_probe_init(&late);
	slow.takes_ns = 30 * NSEC_PER_SEC;
	timer_probe_add(&slow, NSEC_PER_MSEC);
	timer_probe_add(&late, 100 * NSEC_PER_MSEC);
	vtime_sleep(31 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).late[TWHEEL_LATE_BUCKETS - 1], 1);
}

static struct kunit_case shards_cases[] = {
	KUNIT_CASE(stop_hands_back_pending_timers),
	KUNIT_CASE(stopped_wheel_refuses_timers),
	KUNIT_CASE(rearm_during_stop_returns_eshutdown),
	KUNIT_CASE(counters_add_up),
	KUNIT_CASE(lateness_is_counted),
	KUNIT_CASE(lateness_of_half_a_minute_is_counted),
	{}
};

static struct kunit_suite shards_suite = {
	.name		= "twheel_shards",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= shards_cases,
};

kunit_test_suite(shards_suite);
