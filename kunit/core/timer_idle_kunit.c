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
#include <linux/string.h>
#include <linux/time64.h>

#include "../queue.h"
#include "../stats.h"
#include "../vtime.h"

#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define SIZE		200
/* An hour and a minute, so that timers due at the end of the hour have fired. */
#define MINUTES		61

/* A wheel with little or no activity */
struct quiet {
	const char	*desc;		/* description */
	u64		tick_ns;	/* tick of the wheel; 0 for the default */
	unsigned int	slots;		/* slots of the wheel; 0 for the default */
	u64		delay;		/* delay of the timers; 0 for no timers */
	bool		all;		/* there are SIZE timers, all due at once, instead of one */
	bool		cancel;		/* the timers are cancelled again */
	/* maximum number of wakeups; ONE_PER_LEVEL for one per level */
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

/* The last one has a timer that is re-armed each minute, for half an hour later. */
static struct idle {
	struct twheel		*wheel;
	struct twheel_timer	timer[SIZE];
	u64			wakeups;
} idles[NR_QUIET + 1];

#define REARMED		(&idles[NR_QUIET])

static unsigned int nr_early;

/* Wakeups of the system wheels in this hour, after a timer started the reaper. */
static struct twheel *system_wheels[NR_CLOCKS];
static u64 system_wakeups[NR_CLOCKS];
static void count(struct twheel_timer *timer)
{
	nr_early += timer == &REARMED->timer[0];
}

static void quiet_add(struct idle *idle, const struct quiet *quiet)
{
	u64 deadline = twheel_deadline_on(idle->wheel, quiet->delay);
	unsigned int i, size = quiet->all ? SIZE : 1;

	for (i = 0; i < size && quiet->delay; i++) {
		twheel_timer_init(&idle->timer[i], idle->wheel, count);
		twheel_timer_add(&idle->timer[i], deadline);
	}
	for (i = 0; i < size && quiet->cancel; i++)
		twheel_timer_cancel(&idle->timer[i]);
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

static void use(struct twheel *wheel)
{
	static struct twheel_wall_timer timer;

	twheel_wall_timer_init(&timer, wheel, count, 0);
	twheel_timer_add(&timer.timer, 0);
	while (twheel_timer_pending(&timer.timer))
		vtime_sleep(NSEC_PER_USEC);
	twheel_timer_cancel_sync(&timer.timer);
}

static int idle_start(void)
{
	struct twheel_config config;
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++) {
		system_wheels[i] = twheel_system_clock(clocks[i]);
		if (IS_ERR(system_wheels[i]))
			return PTR_ERR(system_wheels[i]);
		use(system_wheels[i]);
	}
	for (i = 0; i < NR_CLOCKS; i++)
		wait_until_idle(system_wheels[i]);
	memset(idles, 0, sizeof(idles));
	for (i = 0; i <= NR_QUIET; i++) {
		config = (struct twheel_config) { .name = "quiet" };
		if (i < NR_QUIET) {
			config.tick_ns = quiets[i].tick_ns;
			config.slots = quiets[i].slots;
		}
		idles[i].wheel = twheel_create(&config);
		if (IS_ERR(idles[i].wheel))
			return PTR_ERR(idles[i].wheel);
	}
	return 0;
}

/* Count the wakeups since the last call. */
static void count_wakeups(void)
{
	unsigned int i;

	for (i = 0; i <= NR_QUIET; i++)
		idles[i].wakeups = stats_of(idles[i].wheel).wakeups - idles[i].wakeups;
	for (i = 0; i < NR_CLOCKS; i++)
		system_wakeups[i] = stats_of(system_wheels[i]).wakeups - system_wakeups[i];
}

static void idle_exit(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i <= NR_QUIET; i++) {
		if (IS_ERR_OR_NULL(idles[i].wheel))
			break;
		twheel_stop(idles[i].wheel, NULL, NULL);
		twheel_destroy(idles[i].wheel);
	}
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
	nr_early = 0;
	count_wakeups();
	for (i = 0; i < NR_QUIET; i++)
		quiet_add(&idles[i], &quiets[i]);
	twheel_timer_init(&REARMED->timer[0], REARMED->wheel, count);
	for (i = 0; i <= MINUTES; i++) {
		twheel_timer_rearm(&REARMED->timer[0], twheel_deadline(HOUR_NS / 2),
				   TWHEEL_REARM_ALWAYS);
		vtime_sleep(60 * NSEC_PER_SEC);
	}
	count_wakeups();
	return 0;
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
	const struct idle *idle = &idles[quiet - quiets];
	unsigned int limit = quiet->max;

	if (quiet->max == ONE_PER_LEVEL)
		limit = 1 + level_of_delay(idle->wheel, quiet->slots ?: 64, quiet->delay);
	KUNIT_EXPECT_LE(test, idle->wakeups, limit);
}

/* The buckets that the timer left are empty, and the alarm handles their expiry. */
static void rearmed_timer_wakes_no_reaper(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, nr_early, 0);
	KUNIT_EXPECT_EQ(test, REARMED->wakeups, 0);
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
