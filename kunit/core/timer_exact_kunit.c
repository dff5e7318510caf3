// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: very many fire once and on time, and so do those that were moved.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define VERY_MANY	100000

/* All timers are due within a few ticks. */
static void very_many_timers_fire_once_and_on_time(struct kunit *test)
{
	struct timer_probe *probes = kvcalloc(VERY_MANY, sizeof(*probes), GFP_KERNEL);
	const struct twheel_config config = { .tick_ns = 200 * NSEC_PER_MSEC, .slots = 512 };
	unsigned int i, nr_refused = 0, nr_not_once = 0, nr_early = 0, nr_late = 0;
	u64 late = config.tick_ns + VTIME_SLOP_NS + VERY_MANY * NSEC_PER_USEC;

	KUNIT_ASSERT_NOT_NULL(test, probes);
	timer_suite_restart(test, &config);
	for (i = 0; i < VERY_MANY; i++) {
		timer_probe_init(&probes[i]);
		nr_refused += !!timer_probe_add(&probes[i], 125 * NSEC_PER_MSEC);
	}
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < VERY_MANY; i++) {
		nr_not_once += probes[i].nr_fired != 1;
		nr_early += probes[i].fired < probes[i].deadline;
		nr_late += probes[i].fired > probes[i].deadline + late;
	}
	KUNIT_EXPECT_EQ(test, nr_refused, 0);
	KUNIT_EXPECT_EQ(test, nr_not_once, 0);
	KUNIT_EXPECT_EQ(test, nr_early, 0);
	KUNIT_EXPECT_EQ(test, nr_late, 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	kvfree(probes);
}

/* Distances in ticks, at both sides of the bounds of levels. */
static const u64 distances[] = {
	1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 4095, 4096, 4097, 4160, 8192,
};

#define NR_DISTANCES	ARRAY_SIZE(distances)

static void add_ticks(struct timer_probe *probe, u64 ticks)
{
	probe->deadline = twheel_deadline(ticks * twheel_tick_ns(timer_wheel));
	twheel_timer_rearm(&probe->timer, probe->deadline, TWHEEL_REARM_ALWAYS);
}

/* Re-arm a timer from each distance to each longer one, some ticks after the first call. */
static void later_deadlines_are_exact(struct kunit *test)
{
	static const u64 passes[] = { 0, 1, 60, 64, 4000 };
	static struct timer_probe probes[NR_DISTANCES][NR_DISTANCES];
	unsigned int i, j, pass;

	for (pass = 0; pass < ARRAY_SIZE(passes); pass++) {
		for (i = 0; i < NR_DISTANCES; i++) {
			for (j = 0; j < NR_DISTANCES; j++) {
				timer_probe_init(&probes[i][j]);
				add_ticks(&probes[i][j], passes[pass] + 1 + distances[i]);
			}
		}
		vtime_sleep(passes[pass] * twheel_tick_ns(timer_wheel));
		for (i = 0; i < NR_DISTANCES; i++)
			for (j = i; j < NR_DISTANCES; j++)
				add_ticks(&probes[i][j], distances[i] + distances[j]);
		vtime_sleep(20000 * twheel_tick_ns(timer_wheel));
		for (i = 0; i < NR_DISTANCES; i++)
			for (j = 0; j < NR_DISTANCES; j++)
				expect_on_time(test, &probes[i][j]);
	}
}

/* A heartbeat leaves the timer in its bucket, except on level 0. */
static void later_deadline_does_not_move_timer(struct kunit *test)
{
	static struct timer_probe probes[3];
	struct hlist_node *next, **pprev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		add_ticks(&probes[i], 300);
	}
	next = probes[1].timer.node.entry.next;
	pprev = probes[1].timer.node.entry.pprev;
	for (i = 301; i < 100000; i += i / 2) {
		add_ticks(&probes[1], i);
		KUNIT_EXPECT_PTR_EQ(test, probes[1].timer.node.entry.next, next);
		KUNIT_EXPECT_PTR_EQ(test, probes[1].timer.node.entry.pprev, pprev);
	}
	add_ticks(&probes[1], 200);
	KUNIT_EXPECT_PTR_NE(test, probes[1].timer.node.entry.pprev, pprev);

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		add_ticks(&probes[i], 30);
	pprev = probes[1].timer.node.entry.pprev;
	add_ticks(&probes[1], 300);
	KUNIT_EXPECT_PTR_NE(test, probes[1].timer.node.entry.pprev, pprev);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_on_time(test, &probes[i]);
}

static struct kunit_case exact_cases[] = {
	KUNIT_CASE(very_many_timers_fire_once_and_on_time),
	KUNIT_CASE(later_deadlines_are_exact),
	KUNIT_CASE(later_deadline_does_not_move_timer),
	{}
};

static struct kunit_suite exact_suite = {
	.name		= "twheel_timer_exact",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= exact_cases,
};

kunit_test_suite(exact_suite);
