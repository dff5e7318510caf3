// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: an hour in which no timer is processed, because a callback
 * blocks the reaper or the machine stands still. After that hour due timers fire tick by
 * tick, all other timers are exact, and the work is proportional to the number of timers,
 * not to the time that has passed.
 *
 * A case may take only 300 s of virtual time, so the hours pass while a suite is
 * initialised, and the cases check the result.
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
/* Number of these timers that are added during or after the stall. */
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
 * struct stall - a wheel that is stalled
 * @timer_set: its timers
 * @busy: the timer with the callback that blocks the reaper
 * @begin: start of the stall, by the clock of the wheel
 * @end: end of the stall
 * @before: counters at @begin
 * @after: counters when all timers due by @end had fired
 * @stats: counters when all timers had fired
 */
struct stall {
	struct timer_set	timer_set;
	struct twheel_wall_timer busy;
	u64			begin;
	u64			end;
	struct twheel_stats	before;
	struct twheel_stats	after;
	struct twheel_stats	stats;
};

static struct stall stalls[NR_CLOCKS];
static struct rnd_state random;

static void stall_exit(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++)
		timer_set_end(&stalls[i].timer_set);
}

/* Half of the delays are uniform in three hours, the others are usually short. */
static void add(struct stall *stall, unsigned int i)
{
	u64 delay = random_within(&random, 3 * HOUR_NS);

	if (i % 2)
		delay = min(delay, random_magnitude(&random, 44));
	timer_set_add(&stall->timer_set.member[i],
		      twheel_deadline_on(stall->timer_set.wheel, delay), 0, 0);
	/* Let the reapers run if necessary. */
	vtime_sleep(1);
}

/* Add all but LATE timers, and let a minute pass. */
static int stall_init(struct kunit_suite *suite)
{
	struct twheel_config config = { .name = "stall" };
	unsigned int i, n;
	int err = 0;

	random_start_suite(suite, &random);
	memset(stalls, 0, sizeof(stalls));
	for (n = 0; n < NR_CLOCKS; n++) {
		config.clock = clocks[n];
		err = timer_set_start(&stalls[n].timer_set, &config, SIZE);
		if (err)
			break;
		for (i = 0; i < SIZE - LATE; i++)
			add(&stalls[n], i);
	}
	if (err)
		stall_exit(suite);
	else
		vtime_sleep(60 * NSEC_PER_SEC);
	return err;
}

static void stall_begins(struct stall *stall)
{
	stall->before = stats_of(stall->timer_set.wheel);
	stall->begin = twheel_now(stall->timer_set.wheel);
}

static void stall_ends(struct stall *stall)
{
	stall->end = twheel_now(stall->timer_set.wheel);
}

/* Let due timers fire, add the timers from @added on, and let all of them fire. */
static void stall_passes(unsigned int added)
{
	unsigned int i, n;

	vtime_sleep(NR_CLOCKS * timer_set_slop(&stalls[0].timer_set));
	for (n = 0; n < NR_CLOCKS; n++)
		stalls[n].after = stats_of(stalls[n].timer_set.wheel);
	for (i = added; i < SIZE; i++)
		for (n = 0; n < NR_CLOCKS; n++)
			add(&stalls[n], i);
	vtime_sleep(4 * HOUR_NS);
	for (n = 0; n < NR_CLOCKS; n++)
		stalls[n].stats = stats_of(stalls[n].timer_set.wheel);
}

static void block_reaper(struct twheel_timer *timer)
{
	struct stall *stall = container_of(timer, struct stall, busy.timer);

	stall_begins(stall);
	vtime_sleep(HOUR_NS);
	stall_ends(stall);
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
		twheel_wall_timer_init(&stalls[n].busy, stalls[n].timer_set.wheel, block_reaper, 0);
		twheel_timer_add(&stalls[n].busy.timer,
				 twheel_deadline_on(stalls[n].timer_set.wheel, 0));
	}
	for (i = SIZE - LATE; i < SIZE; i++) {
		vtime_sleep(HOUR_NS / LATE / 2);
		for (n = 0; n < NR_CLOCKS; n++)
			add(&stalls[n], i);
	}
	for (n = 0; n < NR_CLOCKS; n++)
		twheel_flush(stalls[n].timer_set.wheel);
	stall_passes(SIZE);
	return 0;
}

/* The last timers are added just after the stall. */
static int paused_init(struct kunit_suite *suite)
{
	unsigned int n;
	int err;

	err = stall_init(suite);
	if (err)
		return err;
	leaps_begin();
	for (n = 0; n < NR_CLOCKS; n++)
		stall_begins(&stalls[n]);
	vtime_leap_until(ktime_get_ns() + HOUR_NS);
	for (n = 0; n < NR_CLOCKS; n++)
		stall_ends(&stalls[n]);
	stall_passes(SIZE - LATE);
	leaps_end();
	return 0;
}

static struct stall *stall_of(struct kunit *test)
{
	const enum twheel_clock *clock = test->param_value;

	return &stalls[clock - clocks];
}

static bool was_delayed(const struct stall *stall, const struct member *member)
{
	return member->latest > stall->begin && member->deadline <= stall->end;
}

static void due_timers_fire_at_once(struct kunit *test)
{
	const struct stall *stall = stall_of(test);
	const struct member *member;
	unsigned int i, nr = 0;

	for (i = 0; i < SIZE; i++) {
		member = &stall->timer_set.member[i];
		if (!was_delayed(stall, member))
			continue;
		nr++;
		KUNIT_ASSERT_EQ_MSG(test, member->nr_fired, 1, "timer %u", i);
		KUNIT_ASSERT_GE_MSG(test, member->fired, member->deadline, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired, max(member->latest, stall->end) +
				    NR_CLOCKS * timer_set_slop(&stall->timer_set), "timer %u", i);
	}
	/* The stall must affect many timers. */
	KUNIT_EXPECT_GT(test, nr, SIZE / 10);
}

static void due_timers_fire_tick_by_tick(struct kunit *test)
{
	const struct stall *stall = stall_of(test);
	const struct member **order;
	u64 tick, last = 0;
	unsigned int i;

	order = kunit_kcalloc(test, SIZE, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);
	for (i = 0; i < SIZE; i++) {
		KUNIT_ASSERT_EQ(test, stall->timer_set.member[i].nr_fired, 1);
		order[stall->timer_set.member[i].rank - 1] = &stall->timer_set.member[i];
	}
	for (i = 0; i < SIZE; i++) {
		if (!was_delayed(stall, order[i]) || order[i]->added > stall->end)
			continue;
		tick = div64_u64(order[i]->deadline - 1, twheel_tick_ns(stall->timer_set.wheel));
		KUNIT_ASSERT_GE_MSG(test, tick, last, "expiry %u", i);
		last = tick;
	}
}

static void other_timers_are_exact(struct kunit *test)
{
	const struct stall *stall = stall_of(test);
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		if (!was_delayed(stall, &stall->timer_set.member[i]))
			expect_exact(test, &stall->timer_set.member[i],
				     timer_set_slop(&stall->timer_set));
}

/* A timer moves at most four times, since three hours are on the fifth level. */
static void work_is_proportional_to_timers(struct kunit *test)
{
	const struct stall *stall = stall_of(test);

	KUNIT_EXPECT_EQ(test, stall->stats.pending, 0);
	KUNIT_EXPECT_LE(test, stall->after.cascaded - stall->before.cascaded, 4 * SIZE);
	KUNIT_EXPECT_LE(test, stall->after.wakeups - stall->before.wakeups, 1);
}

static void lateness_is_reported(struct kunit *test)
{
	const struct stall *stall = stall_of(test);
	u64 tick_ns = twheel_tick_ns(stall->timer_set.wheel);
	u64 hour = div64_u64(HOUR_NS, tick_ns);

	/* Before the stall, other reapers delayed a reaper by at most a jiffy. */
	KUNIT_EXPECT_LE(test, stall->before.latest_ticks, div64_u64(TICK_NSEC, tick_ns) + 1);
	KUNIT_EXPECT_LE(test, stall->stats.latest_ticks, hour + 1);
	KUNIT_EXPECT_GE(test, stall->stats.latest_ticks, hour - hour / 20);
	/* The last bucket has no limit. */
	KUNIT_EXPECT_GT(test, stall->stats.late[TWHEEL_LATE_BUCKETS - 1], SIZE / 10);
}

#define EMPTIED		200

static void record_time(struct twheel_timer *timer)
{
	timer->node.expires = ktime_get_ns();
}

/* The machine stands still while many buckets expire that cancels have emptied, and one other. */
static void emptied_buckets_do_not_delay_a_due_timer(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "kunit", .tick_ns = NSEC_PER_SEC, .slots = 256,
	};
	static struct twheel_timer timers[EMPTIED + 1];
	struct twheel *wheel;
	unsigned int i;
	u64 now, end;

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	now = ktime_get_ns();
	for (i = 0; i <= EMPTIED; i++) {
		twheel_timer_init(&timers[i], wheel, record_time);
		twheel_timer_add(&timers[i], now + (i + 1) * NSEC_PER_SEC);
	}
	for (i = 0; i < EMPTIED; i++)
		twheel_timer_cancel(&timers[i]);
	leaps_begin();
	end = now + (EMPTIED + 2) * NSEC_PER_SEC;
	vtime_leap_until(end);
	vtime_sleep(10 * NSEC_PER_SEC);
	leaps_end();
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&timers[EMPTIED]));
	KUNIT_EXPECT_LE(test, timers[EMPTIED].node.expires, end + 10 * NSEC_PER_MSEC);
	twheel_destroy(wheel);
}

static struct kunit_case busy_cases[] = {
	KUNIT_CASE_PARAM(due_timers_fire_at_once, clock_gen_params),
	KUNIT_CASE_PARAM(due_timers_fire_tick_by_tick, clock_gen_params),
	KUNIT_CASE_PARAM(other_timers_are_exact, clock_gen_params),
	KUNIT_CASE_PARAM(work_is_proportional_to_timers, clock_gen_params),
	KUNIT_CASE_PARAM(lateness_is_reported, clock_gen_params),
	{}
};

static struct kunit_suite busy_suite = {
	.name		= "twheel_timer_busy_for_an_hour",
	.suite_init	= busy_init,
	.suite_exit	= stall_exit,
	.test_cases	= busy_cases,
};

static struct kunit_case paused_cases[] = {
	KUNIT_CASE_PARAM(due_timers_fire_at_once, clock_gen_params),
	KUNIT_CASE_PARAM(due_timers_fire_tick_by_tick, clock_gen_params),
	KUNIT_CASE_PARAM(other_timers_are_exact, clock_gen_params),
	KUNIT_CASE_PARAM(work_is_proportional_to_timers, clock_gen_params),
	KUNIT_CASE_PARAM(lateness_is_reported, clock_gen_params),
	KUNIT_CASE(emptied_buckets_do_not_delay_a_due_timer),
	{}
};

static struct kunit_suite paused_suite = {
	.name		= "twheel_timer_paused_for_an_hour",
	.suite_init	= paused_init,
	.suite_exit	= stall_exit,
	.test_cases	= paused_cases,
};

kunit_test_suites(&busy_suite, &paused_suite);
