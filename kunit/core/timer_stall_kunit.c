// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, timers: an hour in which nobody sees to them, because a
 * function keeps the reaper, or because the machine stands still.  After it what
 * is due fires tick by tick, what is not is as exact as ever, and all that takes
 * is in proportion to the timers, whatever time has passed.
 *
 * A case may take 300 seconds of virtual time only, so the hours pass while a suite
 * is set up, and the cases look at what has come of it.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../random.h"
#include "../stats.h"
#include "timer_set.h"
#include "leap.h"

#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define SIZE		750
/* Of which so many are added when others have been held up. */
#define LATE		100

static const enum twheel_clock clocks[] = {
	TWHEEL_CLOCK_MONOTONIC, TWHEEL_CLOCK_BOOTTIME, TWHEEL_CLOCK_REALTIME,
};

#define NR_CLOCKS	ARRAY_SIZE(clocks)

static void clock_desc(const enum twheel_clock *clock, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "clock %u", *clock);
}

KUNIT_ARRAY_PARAM(clock, clocks, clock_desc);

/**
 * struct victim - a wheel that is held up
 * @timer_set: its timers
 * @busy: the one whose function keeps the reaper
 * @begin: when it began to be held up, by its clock
 * @end: when that was over
 * @before: its counts at @begin
 * @after: its counts when all that was due by @end had fired
 * @stats: its counts when everything had
 */
struct victim {
	struct timer_set		timer_set;
	struct twheel_timer	busy;
	u64			begin;
	u64			end;
	struct twheel_stats	before;
	struct twheel_stats	after;
	struct twheel_stats	stats;
};

static struct victim victims[NR_CLOCKS];
static struct rnd_state random;

static void stall_exit(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++)
		timer_set_end(&victims[i].timer_set);
}

/* Half of them anywhere in three hours, and half more likely soon. */
static void add(struct victim *victim, unsigned int i)
{
	u64 delay = random_within(&random, 3 * HOUR_NS);

	if (i % 2)
		delay = min(delay, random_magnitude(&random, 44));
	timer_set_add(&victim->timer_set.member[i], twheel_deadline_on(victim->timer_set.wheel, delay), 0, 0);
	/* Let reapers run, if need be. */
	vtime_sleep(1);
}

/* All but a few timers begin to wait, and a minute passes. */
static int stall_init(struct kunit_suite *suite)
{
	struct twheel_config config = { .name = "stall" };
	unsigned int i, n;
	int err = 0;

	random_start_suite(suite, &random);
	memset(victims, 0, sizeof(victims));
	for (n = 0; n < NR_CLOCKS; n++) {
		config.clock = clocks[n];
		err = timer_set_start(&victims[n].timer_set, &config, SIZE);
		if (err)
			break;
		timer_set_wake(&victims[n].timer_set);
		for (i = 0; i < SIZE - LATE; i++)
			add(&victims[n], i);
	}
	if (err)
		stall_exit(suite);
	else
		vtime_sleep(60 * NSEC_PER_SEC);
	return err;
}

static void stall_begins(struct victim *victim)
{
	victim->before = stats_of(victim->timer_set.wheel);
	victim->begin = twheel_now(victim->timer_set.wheel);
}

static void stall_ends(struct victim *victim)
{
	victim->end = twheel_now(victim->timer_set.wheel);
}

/* What is due fires, and in time everything else. */
static void stall_passes(unsigned int added)
{
	unsigned int i, n;

	vtime_sleep(NR_CLOCKS * timer_set_slop(&victims[0].timer_set));
	for (n = 0; n < NR_CLOCKS; n++)
		victims[n].after = stats_of(victims[n].timer_set.wheel);
	for (i = added; i < SIZE; i++)
		for (n = 0; n < NR_CLOCKS; n++)
			add(&victims[n], i);
	vtime_sleep(4 * HOUR_NS);
	for (n = 0; n < NR_CLOCKS; n++)
		victims[n].stats = stats_of(victims[n].timer_set.wheel);
}

static void keep_the_reaper(struct twheel_timer *timer)
{
	struct victim *victim = container_of(timer, struct victim, busy);

	stall_begins(victim);
	vtime_sleep(HOUR_NS);
	stall_ends(victim);
}

/* The last timers are added while the reapers are busy. */
static int busy_init(struct kunit_suite *suite)
{
	unsigned int i, n;
	int err;

	err = stall_init(suite);
	if (err)
		return err;
	for (n = 0; n < NR_CLOCKS; n++) {
		twheel_timer_init(&victims[n].busy, victims[n].timer_set.wheel, keep_the_reaper);
		twheel_timer_add(&victims[n].busy,
				 twheel_deadline_on(victims[n].timer_set.wheel, 0));
	}
	for (i = SIZE - LATE; i < SIZE; i++) {
		vtime_sleep(HOUR_NS / LATE / 2);
		for (n = 0; n < NR_CLOCKS; n++)
			add(&victims[n], i);
	}
	for (n = 0; n < NR_CLOCKS; n++)
		twheel_flush(victims[n].timer_set.wheel);
	stall_passes(SIZE);
	return 0;
}

/* The last timers are added just after it. */
static int still_init(struct kunit_suite *suite)
{
	unsigned int n;
	int err;

	err = stall_init(suite);
	if (err)
		return err;
	leaps_begin();
	for (n = 0; n < NR_CLOCKS; n++)
		stall_begins(&victims[n]);
	vtime_leap_until(ktime_get_ns() + HOUR_NS);
	for (n = 0; n < NR_CLOCKS; n++)
		stall_ends(&victims[n]);
	stall_passes(SIZE - LATE);
	leaps_end();
	return 0;
}

static struct victim *victim_of(struct kunit *test)
{
	const enum twheel_clock *clock = test->param_value;

	return &victims[clock - clocks];
}

static bool held_up(const struct victim *victim, const struct member *member)
{
	return member->latest > victim->begin && member->deadline <= victim->end;
}

static void what_was_due_fires_at_once(struct kunit *test)
{
	const struct victim *victim = victim_of(test);
	const struct member *member;
	unsigned int i, nr = 0;

	for (i = 0; i < SIZE; i++) {
		member = &victim->timer_set.member[i];
		if (!held_up(victim, member))
			continue;
		nr++;
		KUNIT_ASSERT_EQ_MSG(test, member->nr_fired, 1, "timer %u", i);
		KUNIT_ASSERT_GE_MSG(test, member->fired, member->deadline, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired, NR_CLOCKS * timer_set_slop(&victim->timer_set) +
				    max(member->latest, victim->end), "timer %u", i);
	}
	/* They were to be many. */
	KUNIT_EXPECT_GT(test, nr, SIZE / 10);
}

static void what_was_due_fires_tick_by_tick(struct kunit *test)
{
	const struct victim *victim = victim_of(test);
	const struct member **order;
	u64 tick, last = 0;
	unsigned int i;

	order = kunit_kcalloc(test, SIZE, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);
	for (i = 0; i < SIZE; i++) {
		KUNIT_ASSERT_EQ(test, victim->timer_set.member[i].nr_fired, 1);
		order[victim->timer_set.member[i].rank - 1] = &victim->timer_set.member[i];
	}
	for (i = 0; i < SIZE; i++) {
		if (!held_up(victim, order[i]) || order[i]->added > victim->end)
			continue;
		tick = div64_u64(order[i]->deadline - 1, twheel_tick_ns(victim->timer_set.wheel));
		KUNIT_ASSERT_GE_MSG(test, tick, last, "the %u. to fire", i);
		last = tick;
	}
}

static void what_was_not_is_exact(struct kunit *test)
{
	const struct victim *victim = victim_of(test);
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		if (!held_up(victim, &victim->timer_set.member[i]))
			expect_exact(test, &victim->timer_set.member[i], timer_set_slop(&victim->timer_set));
}

/* A timer moves four times at the most: three hours are on the fifth level. */
static void it_costs_what_is_pending(struct kunit *test)
{
	const struct victim *victim = victim_of(test);

	KUNIT_EXPECT_EQ(test, victim->stats.pending, 0);
	KUNIT_EXPECT_LE(test, victim->after.cascaded - victim->before.cascaded, 4 * SIZE);
	KUNIT_EXPECT_LE(test, victim->after.wakeups - victim->before.wakeups, 1);
}

static void it_is_told_how_late_that_was(struct kunit *test)
{
	const struct victim *victim = victim_of(test);
	u64 tick_ns = twheel_tick_ns(victim->timer_set.wheel);
	u64 hour = div64_u64(HOUR_NS, tick_ns);

	/* Before, a reaper has waited for others at the most, until a tick of the kernel. */
	KUNIT_EXPECT_LE(test, victim->before.latest_ticks, div64_u64(TICK_NSEC, tick_ns) + 1);
	KUNIT_EXPECT_LE(test, victim->stats.latest_ticks, hour + 1);
	KUNIT_EXPECT_GE(test, victim->stats.latest_ticks, hour - hour / 20);
}

static struct kunit_case busy_cases[] = {
	KUNIT_CASE_PARAM(what_was_due_fires_at_once, clock_gen_params),
	KUNIT_CASE_PARAM(what_was_due_fires_tick_by_tick, clock_gen_params),
	KUNIT_CASE_PARAM(what_was_not_is_exact, clock_gen_params),
	KUNIT_CASE_PARAM(it_costs_what_is_pending, clock_gen_params),
	KUNIT_CASE_PARAM(it_is_told_how_late_that_was, clock_gen_params),
	{}
};

static struct kunit_suite busy_suite = {
	.name		= "twheel_timer_busy_for_an_hour",
	.suite_init	= busy_init,
	.suite_exit	= stall_exit,
	.test_cases	= busy_cases,
};

static struct kunit_case still_cases[] = {
	KUNIT_CASE_PARAM(what_was_due_fires_at_once, clock_gen_params),
	KUNIT_CASE_PARAM(what_was_due_fires_tick_by_tick, clock_gen_params),
	KUNIT_CASE_PARAM(what_was_not_is_exact, clock_gen_params),
	KUNIT_CASE_PARAM(it_costs_what_is_pending, clock_gen_params),
	KUNIT_CASE_PARAM(it_is_told_how_late_that_was, clock_gen_params),
	{}
};

static struct kunit_suite still_suite = {
	.name		= "twheel_timer_still_for_an_hour",
	.suite_init	= still_init,
	.suite_exit	= stall_exit,
	.test_cases	= still_cases,
};

kunit_test_suites(&busy_suite, &still_suite);
