// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, timers: the calls that other modules use, their outcomes,
 * and that what fires does so once and on time.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "random.h"
#include "vtime.h"

static struct twheel *wheel;

struct probe {
	struct twheel_timer	timer;
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
	unsigned int		again;		/* how often its function re-arms it */
	u64			after_ns;	/* and how far ahead; 0 for the past */
	u64			takes_ns;	/* how long its function runs */
	bool			running;
	int			cancelled;	/* what cancel says from within */
};

static void probe_fired(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe->running = true;
	probe->fired = ktime_get_ns();
	probe->nr_fired++;
	probe->cancelled = twheel_timer_cancel(timer);
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
	if (probe->again) {
		probe->again--;
		probe->deadline = probe->after_ns ? twheel_deadline(probe->after_ns) : 0;
		twheel_timer_rearm(timer, probe->deadline);
	}
	probe->running = false;
}

static void probe_init(struct probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	probe->after_ns = NSEC_PER_MSEC;
	twheel_timer_init(&probe->timer, wheel, probe_fired);
}

static int probe_add(struct probe *probe, u64 delay)
{
	probe->deadline = twheel_deadline(delay);
	return twheel_timer_add(&probe->timer, probe->deadline);
}

static void expect_on_time(struct kunit *test, const struct probe *probe)
{
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired,
			probe->deadline + twheel_tick_ns(wheel) + VTIME_SLOP_NS);
}

static int timer_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return 0;
}

static void timer_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, twheel_pending(wheel), 0);
	twheel_destroy(wheel);
}

static void a_timer_fires_once_and_on_time(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	KUNIT_EXPECT_EQ(test, probe_add(&probe, 50 * NSEC_PER_MSEC), 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&probe.timer));
	KUNIT_EXPECT_EQ(test, twheel_pending(wheel), 1);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	expect_on_time(test, &probe);
}

static void add_refuses_a_pending_timer(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	KUNIT_EXPECT_EQ(test, probe_add(&probe, NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, 0), -EBUSY);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe_add(&probe, NSEC_PER_MSEC), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 2);
}

static void rearm_moves_it_both_ways(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	KUNIT_EXPECT_FALSE(test, twheel_timer_rearm(&probe.timer, twheel_deadline(NSEC_PER_SEC)));
	probe.deadline = twheel_deadline(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_TRUE(test, twheel_timer_rearm(&probe.timer, probe.deadline));
	vtime_sleep(3 * NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	probe.deadline = twheel_deadline(NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, twheel_timer_rearm(&probe.timer, probe.deadline));
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_FALSE(test, twheel_timer_rearm(&probe.timer, twheel_deadline(NSEC_PER_SEC)));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void cancel_tells_its_outcomes_apart(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	probe_add(&probe, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);

	probe.takes_ns = NSEC_PER_SEC;
	probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EINPROGRESS);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe.cancelled, -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void cancel_sync_waits_for_the_function(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	probe_add(&probe, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), -EALREADY);

	probe.takes_ns = NSEC_PER_SEC;
	probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_TRUE(test, probe.running);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), -EALREADY);
	KUNIT_EXPECT_FALSE(test, probe.running);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void a_function_may_arm_its_own_timer(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	probe.again = 9;
	probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 10);
	expect_on_time(test, &probe);
}

/* Armed for the past again and again, until long after the other's deadline. */
static void a_timer_that_is_always_due_starves_nobody(struct kunit *test)
{
	struct probe greedy, other;

	probe_init(&greedy);
	greedy.after_ns = 0;
	greedy.again = 50000;
	probe_init(&other);
	probe_add(&other, 5 * NSEC_PER_MSEC);
	probe_add(&greedy, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, greedy.nr_fired, 50001);
	KUNIT_EXPECT_GT(test, greedy.fired, other.deadline + 2 * twheel_tick_ns(wheel));
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
	expect_on_time(test, &other);
}

static void cancel_sync_ends_a_timer_that_arms_itself(struct kunit *test)
{
	unsigned int nr_fired;
	struct probe probe;

	probe_init(&probe);
	probe.again = UINT_MAX;
	probe.takes_ns = 10 * NSEC_PER_MSEC;
	probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), 0);
	nr_fired = probe.nr_fired;
	KUNIT_EXPECT_GT(test, nr_fired, 10);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, nr_fired);
}

static struct twheel_timer *freed_timer;

static void free_fired(struct twheel_timer *timer)
{
	freed_timer = timer;
	kfree(timer);
}

static void a_function_may_free_its_own_timer(struct kunit *test)
{
	struct twheel_timer *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, timer);
	freed_timer = NULL;
	twheel_timer_init(timer, wheel, free_fired);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(timer, twheel_deadline(NSEC_PER_MSEC)), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_PTR_EQ(test, freed_timer, timer);
}

static void never_is_pending_and_never_fires(struct kunit *test)
{
	u64 before = twheel_wakeups(wheel);
	struct probe probe;

	KUNIT_EXPECT_EQ(test, twheel_deadline(U64_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_deadline(KTIME_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_LT(test, twheel_deadline(KTIME_MAX / 2), TWHEEL_NEVER);

	probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, twheel_pending(wheel), 1);
	vtime_sleep(100 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_wakeups(wheel), before);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void the_largest_deadline_can_be_waited_for(struct kunit *test)
{
	struct probe probe;

	probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, KTIME_MAX), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void bad_figures_make_no_wheel(struct kunit *test)
{
	static const struct twheel_config bad[] = {
		{ .tick_ns = 999 },
		{ .tick_ns = 10 * NSEC_PER_SEC + 1 },
		{ .slots = 1 },
		{ .slots = 1025 },
		{ .shards = 1025 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(twheel_create(&bad[i])), -EINVAL);
}

struct shape {
	u64		tick_ns;
	unsigned int	slots;
	unsigned int	shards;
};

static const struct shape shapes[] = {
	{ 0, 0, 0 }, { 1000000, 20, 1 }, { 1000, 2, 1 }, { 100000000, 512, 1 }, { 333333, 7, 3 },
};

static void shape_desc(const struct shape *shape, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu ns slots %u shards %u",
		 shape->tick_ns, shape->slots, shape->shards);
}

KUNIT_ARRAY_PARAM(shape, shapes, shape_desc);

#define MANY	1000

/* Up to four minutes ahead, each with a few changes of mind before it fires. */
static void many_timers_fire_once_and_on_time(struct kunit *test)
{
	const struct shape *shape = test->param_value;
	const struct twheel_config config = {
		.tick_ns = shape->tick_ns, .slots = shape->slots, .shards = shape->shards,
	};
	struct rnd_state random;
	struct probe *probes;
	unsigned int i, round;

	random_start(test, &random);
	twheel_destroy(wheel);
	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	probes = kunit_kcalloc(test, MANY, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (i = 0; i < MANY; i++)
		probe_init(&probes[i]);

	for (round = 0; round < 3 * MANY; round++) {
		struct probe *probe = &probes[random_below(&random, MANY)];

		probe->nr_fired = 0;
		probe->deadline = twheel_deadline(random_magnitude(&random, 38) % 240000000000ULL);
		twheel_timer_rearm(&probe->timer, probe->deadline);
	}
	for (i = 0; i < MANY; i += 10) {
		twheel_timer_cancel_sync(&probes[i].timer);
		probes[i].deadline = 0;
		probes[i].nr_fired = 0;
	}
	vtime_sleep(250 * NSEC_PER_SEC);
	for (i = 0; i < MANY; i++) {
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, !!probes[i].deadline);
		if (!probes[i].deadline)
			continue;
		/* Those of one tick wait for each other. */
		KUNIT_EXPECT_GE(test, probes[i].fired, probes[i].deadline);
		KUNIT_EXPECT_LE(test, probes[i].fired, probes[i].deadline +
				twheel_tick_ns(wheel) + VTIME_SLOP_NS + MANY * NSEC_PER_USEC);
	}
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(a_timer_fires_once_and_on_time),
	KUNIT_CASE(add_refuses_a_pending_timer),
	KUNIT_CASE(rearm_moves_it_both_ways),
	KUNIT_CASE(cancel_tells_its_outcomes_apart),
	KUNIT_CASE(cancel_sync_waits_for_the_function),
	KUNIT_CASE(a_function_may_arm_its_own_timer),
	KUNIT_CASE(a_timer_that_is_always_due_starves_nobody),
	KUNIT_CASE(cancel_sync_ends_a_timer_that_arms_itself),
	KUNIT_CASE(a_function_may_free_its_own_timer),
	KUNIT_CASE(never_is_pending_and_never_fires),
	KUNIT_CASE(the_largest_deadline_can_be_waited_for),
	KUNIT_CASE(bad_figures_make_no_wheel),
	KUNIT_CASE_PARAM(many_timers_fire_once_and_on_time, shape_gen_params),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "twheel_timer",
	.init		= timer_init,
	.exit		= timer_exit,
	.test_cases	= timer_cases,
};

kunit_test_suite(timer_suite);

/*
 * A day ahead. A case may take 300 seconds of virtual time, so the day passes
 * while the suite is set up, and the case looks at what has come of it.
 */
static struct probe day_probe;
static u64 day_wakeups;

static int day_init(struct kunit_suite *suite)
{
	const struct twheel_config config = { .name = "kunit" };

	wheel = twheel_create(&config);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	probe_init(&day_probe);
	vtime_sleep(NSEC_PER_MSEC);
	day_wakeups = twheel_wakeups(wheel);
	probe_add(&day_probe, 24 * 3600 * NSEC_PER_SEC);
	vtime_sleep_until(day_probe.deadline + NSEC_PER_SEC);
	day_wakeups = twheel_wakeups(wheel) - day_wakeups;
	return 0;
}

static void day_exit(struct kunit_suite *suite)
{
	twheel_destroy(wheel);
}

static void it_fires_on_time(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, day_probe.nr_fired, 1);
	expect_on_time(test, &day_probe);
}

/* 64 slots of 2^20 ns: a day is on the fifth level. */
static void it_costs_one_wakeup_a_level(struct kunit *test)
{
	KUNIT_EXPECT_LE(test, day_wakeups, 5);
	KUNIT_EXPECT_GE(test, day_wakeups, 1);
}

static struct kunit_case day_cases[] = {
	KUNIT_CASE(it_fires_on_time),
	KUNIT_CASE(it_costs_one_wakeup_a_level),
	{}
};

static struct kunit_suite day_suite = {
	.name		= "twheel_timer_a_day_ahead",
	.suite_init	= day_init,
	.suite_exit	= day_exit,
	.test_cases	= day_cases,
};

kunit_test_suite(day_suite);
