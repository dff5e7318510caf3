// SPDX-License-Identifier: GPL-2.0
/*
 * Suite wakeups: number of wake-ups of the reapers without timers that are due.
 *
 *	idle	no timer is pending, and none has been for a moment
 *	far	many timers are pending, with delays of 1 h to 24 h
 *	churn	a timer is added with a delay of 20 ms and cancelled, in a loop; it never
 *		fires, unless this thread is kept from running for that long
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>

#include "bench.h"

#define LOOK_NS		(2 * NSEC_PER_SEC)
#define LOOK_QUICK_NS	(NSEC_PER_SEC / 2)

/* Delays of the far timers. */
#define NEAR_NS		(3600 * NSEC_PER_SEC)
#define FAR_NS		(86400 * NSEC_PER_SEC)

/* The timer of the loop, and its iterations between readings of the clock. */
#define CHURN_NS	(20 * NSEC_PER_MSEC)
#define CHURN_TURNS	1000

static void far_fire(struct twheel_timer *timer)
{
	bench_failure("a timer fired an hour early");
}

static void churn_fire(struct twheel_timer *timer)
{
}

static u64 wakeups_of(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.wakeups;
}

static u64 look_ns(const struct bench_config *config)
{
	return config->quick ? LOOK_QUICK_NS : LOOK_NS;
}

static void report_wakeups(const char *variant, u32 nr, u64 wakeups, u64 ns)
{
	bench_sample(variant, "twheel", "per_second", nr, "per_second",
		     div64_u64(wakeups * 1000 * NSEC_PER_SEC, ns));
}

/* Count the wake-ups of the reapers over some time. */
static void count_wakeups(struct twheel *wheel, const char *variant, u32 nr,
			  const struct bench_config *config)
{
	u64 begin = ktime_get_ns(), before = wakeups_of(wheel);

	msleep(div_u64(look_ns(config), NSEC_PER_MSEC));
	report_wakeups(variant, nr, wakeups_of(wheel) - before, ktime_get_ns() - begin);
}

/* Add and cancel a timer, and count the wake-ups. A timer that fires is reported. */
static void churn(struct twheel *wheel, struct twheel_timer *timer,
		  const struct bench_config *config)
{
	u64 begin = ktime_get_ns(), before = wakeups_of(wheel), fired = 0, ns;
	unsigned int i;

	twheel_timer_init(timer, wheel, churn_fire);
	do {
		for (i = 0; i < CHURN_TURNS; i++) {
			twheel_timer_add(timer, twheel_deadline(CHURN_NS));
			fired += twheel_timer_cancel(timer) != 0;
		}
		cond_resched();
		ns = ktime_get_ns() - begin;
	} while (ns < look_ns(config));
	report_wakeups("churn", 1, wakeups_of(wheel) - before, ns);
	bench_sample("churn", "twheel", "fired", 1, "count", fired * 1000);
	twheel_timer_cancel_sync(timer);
}

/* Add the timers, count the wake-ups, and cancel the timers. */
static int many_far(struct twheel *wheel, struct twheel_timer *timer,
		    const struct bench_config *config)
{
	struct rnd_state random;
	u32 i, lost = 0;
	u64 now;

	prandom_seed_state(&random, config->seed);
	now = twheel_now(wheel);
	for (i = 0; i < config->nr; i++) {
		twheel_timer_init(&timer[i], wheel, far_fire);
		twheel_timer_add(&timer[i], now + bench_between(&random, NEAR_NS, FAR_NS));
		if (i % 1024 == 0)
			cond_resched();
	}
	count_wakeups(wheel, "far", config->nr, config);
	for (i = 0; i < config->nr; i++) {
		lost += twheel_timer_cancel(&timer[i]) != 0;
		if (i % 1024 == 0)
			cond_resched();
	}
	return lost ? bench_failure("%u far timers were no longer pending", lost) : 0;
}

/* The reaper is created with the first timer, so add one before counting on an idle wheel. */
static int wheel_run(struct twheel *wheel, const struct bench_config *config)
{
	struct twheel_timer *timer;
	long left;
	int err;

	timer = vcalloc(config->nr, sizeof(*timer));
	if (!timer)
		return -ENOMEM;
	twheel_timer_init(timer, wheel, far_fire);
	twheel_timer_add(timer, twheel_deadline(NEAR_NS));
	msleep(100);
	twheel_timer_cancel(timer);
	count_wakeups(wheel, "idle", 0, config);
	err = many_far(wheel, timer, config);
	if (!err)
		churn(wheel, timer, config);
	left = twheel_stop(wheel, NULL, NULL);
	vfree(timer);
	if (!err && left)
		err = bench_failure("%ld far timers were pending after their cancel", left);
	return err;
}

static int many_run(const struct bench_config *config)
{
	static const struct twheel_config wheel_config = { .name = "tw_bench" };
	struct twheel *wheel = twheel_create(&wheel_config);
	int err;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	err = wheel_run(wheel, config);
	twheel_destroy(wheel);
	return err;
}

int wakeups_suite(const struct bench_config *config)
{
	unsigned int rep;
	int err = 0;

	for (rep = 0; rep < config->reps && !err; rep++)
		err = many_run(config);
	return err;
}
