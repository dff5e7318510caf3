// SPDX-License-Identifier: GPL-2.0
/* KUnit tests for periodic timers. */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define SECOND		((u64)NSEC_PER_SEC)
#define NR_RUNS		64

/* A periodic timer that records its runs. */
struct periodic_probe {
	struct twheel_periodic	periodic;
	unsigned int		nr_runs;
	u64			run[NR_RUNS];
	u64			ended[NR_RUNS];
	u64			overrun[NR_RUNS];
	u64			takes_ns;	/* duration of the next run, not of later ones */
	unsigned int		cancel_at;	/* number of the run that cancels the timer */
	int			cancelled;
	bool			free;		/* that run also frees the timer */
	bool			running;
};

static void probe_run(struct twheel_periodic *periodic)
{
	struct periodic_probe *probe = container_of(periodic, struct periodic_probe, periodic);
	unsigned int i = probe->nr_runs++;
	u64 takes_ns = probe->takes_ns;

	probe->running = true;
	if (i < NR_RUNS) {
		probe->run[i] = ktime_get_ns();
		probe->overrun[i] = twheel_periodic_overrun(periodic);
	}
	probe->takes_ns = 0;
	if (takes_ns)
		vtime_sleep(takes_ns);
	if (i < NR_RUNS)
		probe->ended[i] = ktime_get_ns();
	probe->running = false;
	if (probe->nr_runs == probe->cancel_at) {
		probe->cancelled = twheel_periodic_cancel(periodic);
		if (probe->free)
			kfree(probe);
	}
}

static void periodic_probe_init(struct periodic_probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	twheel_periodic_init(&probe->periodic, timer_wheel, probe_run, 0);
}

static void expect_run(struct kunit *test, const struct periodic_probe *probe, unsigned int i,
		       u64 when)
{
	KUNIT_ASSERT_LT(test, i, probe->nr_runs);
	KUNIT_EXPECT_GE(test, probe->run[i], when);
	KUNIT_EXPECT_LE(test, probe->run[i],
			when + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
}

static void fixed_rate_stays_on_grid(struct kunit *test)
{
	static struct periodic_probe probe;
	u64 start = twheel_deadline(SECOND);
	unsigned int i;

	periodic_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&probe.periodic, start, SECOND / 3, 0,
						    TWHEEL_FIXED_RATE), 0);
	vtime_sleep_until(start + 17 * SECOND + SECOND / 10);
	KUNIT_EXPECT_EQ(test, probe.nr_runs, 52);
	for (i = 0; i < 52; i++) {
		expect_run(test, &probe, i, start + i * (SECOND / 3));
		KUNIT_EXPECT_EQ(test, probe.overrun[i], 0);
	}
	KUNIT_EXPECT_EQ(test, twheel_periodic_cancel(&probe.periodic), 0);
	vtime_sleep(SECOND);
	KUNIT_EXPECT_EQ(test, probe.nr_runs, 52);
}

/*
 * The first run takes 3.5 s: two runs are missed, one is late, and the following runs are
 * on the grid again.
 */
static void fixed_rate_counts_missed_runs(struct kunit *test)
{
	static struct periodic_probe probe;
	u64 start = twheel_deadline(SECOND);

	periodic_probe_init(&probe);
	probe.takes_ns = 7 * SECOND / 2;
	twheel_periodic_start(&probe.periodic, start, SECOND, 0, TWHEEL_FIXED_RATE);
	vtime_sleep_until(start + 11 * SECOND / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_runs, 4);
	expect_run(test, &probe, 0, start);
	KUNIT_EXPECT_EQ(test, probe.overrun[0], 0);
	expect_run(test, &probe, 1, start + 7 * SECOND / 2);
	KUNIT_EXPECT_EQ(test, probe.overrun[1], 2);
	expect_run(test, &probe, 2, start + 4 * SECOND);
	KUNIT_EXPECT_EQ(test, probe.overrun[2], 0);
	expect_run(test, &probe, 3, start + 5 * SECOND);
	KUNIT_EXPECT_EQ(test, probe.overrun[3], 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_cancel_sync(&probe.periodic), 0);
}

static void fixed_delay_begins_after_callback(struct kunit *test)
{
	static struct periodic_probe probe;
	u64 start = twheel_deadline(SECOND);
	unsigned int i;

	periodic_probe_init(&probe);
	probe.takes_ns = 7 * SECOND / 2;
	twheel_periodic_start(&probe.periodic, start, SECOND, 0, TWHEEL_FIXED_DELAY);
	vtime_sleep_until(start + 7 * SECOND);
	KUNIT_EXPECT_EQ(test, probe.nr_runs, 4);
	expect_run(test, &probe, 0, start);
	KUNIT_EXPECT_GE(test, probe.run[1], probe.run[0] + 9 * SECOND / 2);
	for (i = 1; i < 4; i++) {
		expect_run(test, &probe, i, probe.ended[i - 1] + SECOND);
		KUNIT_EXPECT_EQ(test, probe.overrun[i], 0);
	}
	KUNIT_EXPECT_EQ(test, twheel_periodic_cancel(&probe.periodic), 0);
}

static void expect_runs(struct kunit *test, unsigned int runs, unsigned int repeat, u64 takes_ns)
{
	static struct periodic_probe probe;

	periodic_probe_init(&probe);
	probe.takes_ns = takes_ns;
	twheel_periodic_start(&probe.periodic, twheel_deadline(SECOND), SECOND, runs, repeat);
	vtime_sleep(20 * SECOND);
	KUNIT_EXPECT_EQ(test, probe.nr_runs, runs);
	KUNIT_EXPECT_EQ(test, twheel_periodic_cancel(&probe.periodic), -EALREADY);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
}

/* Runs that are missed because the first one takes long do not count. */
static void timer_stops_after_number_of_runs(struct kunit *test)
{
	unsigned int repeat;

	for (repeat = TWHEEL_FIXED_RATE; repeat <= TWHEEL_FIXED_DELAY; repeat++) {
		expect_runs(test, 5, repeat, 0);
		expect_runs(test, 5, repeat, 7 * SECOND / 2);
	}
}

static void callback_may_cancel_own_timer(struct kunit *test)
{
	static struct periodic_probe probe;
	unsigned int repeat;

	for (repeat = TWHEEL_FIXED_RATE; repeat <= TWHEEL_FIXED_DELAY; repeat++) {
		periodic_probe_init(&probe);
		probe.cancel_at = 3;
		twheel_periodic_start(&probe.periodic, 0, SECOND, 0, repeat);
		vtime_sleep(20 * SECOND);
		KUNIT_EXPECT_EQ(test, probe.nr_runs, 3);
		KUNIT_EXPECT_EQ(test, probe.cancelled, -EINPROGRESS);
	}
}

/* KASAN and debugobjects detect a use after free. */
static void callback_may_free_own_timer(struct kunit *test)
{
	struct periodic_probe *probe;
	unsigned int repeat;

	for (repeat = TWHEEL_FIXED_RATE; repeat <= TWHEEL_FIXED_DELAY; repeat++) {
		probe = kmalloc(sizeof(*probe), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, probe);
		periodic_probe_init(probe);
		probe->cancel_at = 3;
		probe->free = true;
		twheel_periodic_start(&probe->periodic, 0, SECOND, 0, repeat);
		vtime_sleep(20 * SECOND);
		KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 3 * (repeat + 1));
	}
}

/*
 * If the next deadline is past the end of the clock, the timer stays pending but never
 * fires.
 */
static void deadline_past_end_of_clock_does_not_fire(struct kunit *test)
{
	static struct periodic_probe probe;
	unsigned int repeat;

	for (repeat = TWHEEL_FIXED_RATE; repeat <= TWHEEL_FIXED_DELAY; repeat++) {
		periodic_probe_init(&probe);
		KUNIT_EXPECT_EQ(test, twheel_periodic_start(&probe.periodic, 1, (u64)KTIME_MAX + 1,
							    0, repeat), -EINVAL);
		twheel_periodic_start(&probe.periodic, 1, KTIME_MAX, 0, repeat);
		vtime_sleep(SECOND);
		KUNIT_EXPECT_EQ(test, probe.nr_runs, 1);
		KUNIT_EXPECT_EQ(test, twheel_timer_remaining(&probe.periodic.timer), TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_periodic_cancel(&probe.periodic), 0);
	}
}

static struct kunit_case periodic_cases[] = {
	KUNIT_CASE(fixed_rate_stays_on_grid),
	KUNIT_CASE(fixed_rate_counts_missed_runs),
	KUNIT_CASE(fixed_delay_begins_after_callback),
	KUNIT_CASE(timer_stops_after_number_of_runs),
	KUNIT_CASE(callback_may_cancel_own_timer),
	KUNIT_CASE(callback_may_free_own_timer),
	KUNIT_CASE(deadline_past_end_of_clock_does_not_fire),
	{}
};

static struct kunit_suite periodic_suite = {
	.name		= "twheel_timer_periodic",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= periodic_cases,
};

kunit_test_suite(periodic_suite);
