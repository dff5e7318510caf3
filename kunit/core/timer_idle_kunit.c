// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: wakeups of the reapers during an hour with little or no
 * activity.
 *
 * A case may take only 300 s of virtual time, so the hour passes while the suite is
 * initialised, for all wheels at once, and the cases check the result. timer_due_kunit.c tests that
 * timers are on time.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/time64.h>

#include "../queue.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_set.h"

#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define SIZE		200
/* An hour and a minute, so that timers due at the end of the hour have fired. */
#define MINUTES		61

/**
 * struct quiet - a wheel with little or no activity
 * @desc: description
 * @tick_ns: tick of the wheel; 0 for the default
 * @slots: slots of the wheel; 0 for the default
 * @delay: delay of the timers; 0 for no timers
 * @all: there are SIZE timers, all due at once, instead of one
 * @cancel: the timers are cancelled again
 * @max: maximum number of wakeups; ONE_PER_LEVEL for one per level
 */
struct quiet {
	const char	*desc;
	u64		tick_ns;
	unsigned int	slots;
	u64		delay;
	bool		all;
	bool		cancel;
	int		max;
};

#define ONE_PER_LEVEL	(-1)
#define YEAR_NS		(365 * 24 * HOUR_NS)

static const struct quiet quiets[] = {
	{ "unused", .max = 0 },
	{ "timers that are never due", .delay = TWHEEL_NEVER, .all = true, .max = 0 },
	{ "timers due in a year", .delay = YEAR_NS, .all = true, .max = 0 },
	{ "one cancelled timer", .delay = HOUR_NS / 2, .cancel = true, .max = 1 },
	{ "many cancelled timers", .delay = HOUR_NS / 2, .all = true, .cancel = true, .max = 1 },
	{ "one timer in an hour", .delay = HOUR_NS, .max = ONE_PER_LEVEL },
	{ "many timers in an hour", .delay = HOUR_NS, .all = true, .max = ONE_PER_LEVEL },
	{ "one timer in 50 ms", .delay = 50 * NSEC_PER_MSEC, .max = ONE_PER_LEVEL },
	{ "one timer in 3 s", .delay = 3 * NSEC_PER_SEC, .max = ONE_PER_LEVEL },
	{ "one timer in 200 s", .delay = 200 * NSEC_PER_SEC, .max = ONE_PER_LEVEL },
	{ "1 ms, 20 slots", 1000000, 20, HOUR_NS, .max = ONE_PER_LEVEL },
	{ "1 us, 2 slots", 1000, 2, HOUR_NS, .max = ONE_PER_LEVEL },
	{ "1 us, 1024 slots", 1000, 1024, HOUR_NS, .max = ONE_PER_LEVEL },
	{ "10 s, 2 slots", 10000000000, 2, HOUR_NS, .max = ONE_PER_LEVEL },
};

#define NR_QUIET	ARRAY_SIZE(quiets)

static void quiet_desc(const struct quiet *quiet, char *desc)
{
	strscpy(desc, quiet->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(quiet, quiets, quiet_desc);

static const enum twheel_clock clocks[] = {
	TWHEEL_CLOCK_MONOTONIC, TWHEEL_CLOCK_BOOTTIME, TWHEEL_CLOCK_REALTIME,
};

#define NR_CLOCKS	ARRAY_SIZE(clocks)

static struct timer_set timer_sets[NR_QUIET];
static u64 wakeups[NR_QUIET];
/* Wakeups of the system wheels in this hour, after a timer started the reaper. */
static struct twheel *system_wheels[NR_CLOCKS];
static u64 system_wakeups[NR_CLOCKS];
/* A timer that is re-armed each minute, for half an hour later. */
static struct timer_set rearmed;
static u64 rearmed_wakeups;

static int quiet_start(struct timer_set *timer_set, const struct quiet *quiet)
{
	const struct twheel_config config = {
		.name = quiet->delay ? "quiet" : "unused",
		.tick_ns = quiet->tick_ns, .slots = quiet->slots,
	};

	return timer_set_start(timer_set, &config, quiet->all ? SIZE : 1);
}

static void quiet_add(struct timer_set *timer_set, const struct quiet *quiet)
{
	u64 deadline = twheel_deadline_on(timer_set->wheel, quiet->delay);
	unsigned int i;

	for (i = 0; i < timer_set->size && quiet->delay; i++)
		timer_set_add(&timer_set->member[i], deadline, 0);
	for (i = 0; i < timer_set->size && quiet->cancel; i++)
		twheel_timer_cancel(&timer_set->member[i].timer);
}

/* Wait until the buckets of timers that other suites cancelled have expired, too. */
static void wait_until_idle(struct twheel *wheel)
{
	u64 next, now;

	while ((next = wheel_next(wheel)) != TWHEEL_NEVER) {
		now = twheel_now(wheel);
		if (next > now + 2 * HOUR_NS)
			break;
		vtime_sleep(next > now ? next - now : NSEC_PER_MSEC);
	}
}

static void empty_callback(struct twheel_timer *timer)
{
}

static void use(struct twheel *wheel)
{
	static struct twheel_wall_timer timer;

	twheel_wall_timer_init(&timer, wheel, empty_callback, 0);
	twheel_timer_add(&timer.timer, 0);
	while (twheel_timer_pending(&timer.timer))
		vtime_sleep(NSEC_PER_USEC);
	twheel_timer_cancel_sync(&timer.timer);
}

static int idle_start(void)
{
	const struct twheel_config config = { .name = "rearmed" };
	unsigned int i;
	int err;

	for (i = 0; i < NR_CLOCKS; i++) {
		system_wheels[i] = twheel_system_clock(clocks[i]);
		if (IS_ERR(system_wheels[i]))
			return PTR_ERR(system_wheels[i]);
		use(system_wheels[i]);
	}
	for (i = 0; i < NR_CLOCKS; i++)
		wait_until_idle(system_wheels[i]);
	for (i = 0; i < NR_QUIET; i++) {
		err = quiet_start(&timer_sets[i], &quiets[i]);
		if (err)
			return err;
	}
	return timer_set_start(&rearmed, &config, 1);
}

/* Count the wakeups since the last call. */
static void count_wakeups(void)
{
	unsigned int i;

	for (i = 0; i < NR_QUIET; i++)
		wakeups[i] = stats_of(timer_sets[i].wheel).wakeups - wakeups[i];
	for (i = 0; i < NR_CLOCKS; i++)
		system_wakeups[i] = stats_of(system_wheels[i]).wakeups - system_wakeups[i];
	rearmed_wakeups = stats_of(rearmed.wheel).wakeups - rearmed_wakeups;
}

static void idle_exit(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < NR_QUIET; i++)
		timer_set_end(&timer_sets[i]);
	timer_set_end(&rearmed);
}

static int idle_init(struct kunit_suite *suite)
{
	unsigned int i;
	int err;

	err = idle_start();
	if (err) {
		idle_exit(suite);
		return err;
	}
	count_wakeups();
	for (i = 0; i < NR_QUIET; i++)
		quiet_add(&timer_sets[i], &quiets[i]);
	timer_set_add(&rearmed.member[0], twheel_deadline(HOUR_NS / 2), 0);
	for (i = 0; i < MINUTES; i++) {
		vtime_sleep(60 * NSEC_PER_SEC);
		twheel_timer_rearm(&rearmed.member[0].timer, twheel_deadline(HOUR_NS / 2),
				   TWHEEL_REARM_ALWAYS);
	}
	count_wakeups();
	return 0;
}

static unsigned int quiet_of(struct kunit *test)
{
	return (const struct quiet *)test->param_value - quiets;
}

static void system_wheels_do_not_wake_up(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++)
		KUNIT_EXPECT_EQ(test, system_wakeups[i], 0);
}

static void wakeups_do_not_exceed_maximum(struct kunit *test)
{
	const struct quiet *quiet = test->param_value;
	unsigned int n = quiet_of(test), limit = quiet->max;

	if (quiet->max == ONE_PER_LEVEL)
		limit = 1 + level_of_delay(timer_sets[n].wheel, quiet->slots ?: 64, quiet->delay);
	KUNIT_EXPECT_LE(test, wakeups[n], limit);
}

/* The buckets that the timer left are empty, and the alarm handles their expiry. */
static void rearmed_timer_wakes_no_reaper(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rearmed.member[0].nr_fired, 0);
	KUNIT_EXPECT_EQ(test, rearmed_wakeups, 0);
}

static struct kunit_case idle_cases[] = {
	KUNIT_CASE(system_wheels_do_not_wake_up),
	KUNIT_CASE_PARAM(wakeups_do_not_exceed_maximum, quiet_gen_params),
	KUNIT_CASE(rearmed_timer_wakes_no_reaper),
	{}
};

static struct kunit_suite idle_suite = {
	.name		= "twheel_timer_idle_hour",
	.suite_init	= idle_init,
	.suite_exit	= idle_exit,
	.test_cases	= idle_cases,
};

kunit_test_suite(idle_suite);
