// SPDX-License-Identifier: GPL-2.0
/*
 * Suite lateness: time from the deadline of a timer to the call of its function.
 *
 * On an otherwise idle machine, timers of all contenders and all horizons are armed side
 * by side, one of each at a time, at random intervals. The suite then waits for all of
 * them. The delay of a timer is its horizon plus up to a tenth of that.
 *
 * The lateness of jiffies-based contenders depends on HZ, which is reported as well.
 * Early timers are reported for all contenders, but only early timers of twheel fail the
 * suite.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "../twheel/compat.h"
#include "bench.h"

#define SUITE		"lateness"

/* Timers per contender and horizon in a repetition. */
#define TIMERS		400U
#define TIMERS_QUICK	50U

/* Time to wait after the last deadline. A timer_list may be late by an eighth of its delay. */
#define PATIENCE_SHARE	4
#define PATIENCE_NS	(10 * NSEC_PER_SEC)

/* Average interval between rounds of arming, in us. */
#define APART_US	700

static const struct horizon {
	const char	*name;
	u64		ns;
} horizons[] = {
	{ "10ms",	10 * NSEC_PER_MSEC },
	{ "100ms",	100 * NSEC_PER_MSEC },
	{ "1s",		NSEC_PER_SEC },
	{ "10s",	10 * NSEC_PER_SEC },
};

#define HORIZONS_QUICK	2U

/* @called is the time of the call, 0 before. */
struct late {
	union {
		struct twheel_timer	twheel;
		struct timer_list	timer_list;
		struct hrtimer		hrtimer;
		struct delayed_work	delayed_work;
	};
	u64	deadline;
	u64	called;
};

static struct twheel *wheel;

static void record_call(struct late *late)
{
	WRITE_ONCE(late->called, ktime_get_ns());
}

static void twheel_fire(struct twheel_timer *timer)
{
	record_call(container_of(timer, struct late, twheel));
}

static void list_fire(struct timer_list *timer)
{
	record_call(container_of(timer, struct late, timer_list));
}

static enum hrtimer_restart hrtimer_fire(struct hrtimer *timer)
{
	record_call(container_of(timer, struct late, hrtimer));
	return HRTIMER_NORESTART;
}

static void work_fire(struct work_struct *work)
{
	record_call(container_of(to_delayed_work(work), struct late, delayed_work));
}

/* Round up, and add the current jiffy, which has partly elapsed. */
static unsigned long in_jiffies(u64 delay)
{
	return nsecs_to_jiffies(delay) + 1;
}

static void twheel_arm(struct late *late, u64 delay)
{
	twheel_timer_init(&late->twheel, wheel, twheel_fire);
	twheel_timer_add(&late->twheel, late->deadline);
}

static void list_arm(struct late *late, u64 delay)
{
	timer_setup(&late->timer_list, list_fire, 0);
	mod_timer(&late->timer_list, jiffies + in_jiffies(delay));
}

static void hrtimer_arm(struct late *late, u64 delay)
{
	twheel_hrtimer_setup(&late->hrtimer, hrtimer_fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	hrtimer_start(&late->hrtimer, ns_to_ktime(late->deadline), HRTIMER_MODE_ABS);
}

static void work_arm(struct late *late, u64 delay)
{
	INIT_DELAYED_WORK(&late->delayed_work, work_fire);
	schedule_delayed_work(&late->delayed_work, in_jiffies(delay));
}

static void twheel_disarm(struct late *late)
{
	twheel_timer_cancel_sync(&late->twheel);
}

static void list_disarm(struct late *late)
{
	timer_delete_sync(&late->timer_list);
}

static void hrtimer_disarm(struct late *late)
{
	hrtimer_cancel(&late->hrtimer);
}

static void work_disarm(struct late *late)
{
	cancel_delayed_work_sync(&late->delayed_work);
}

static const struct contender {
	const char	*name;
	void		(*arm)(struct late *late, u64 delay);
	void		(*disarm)(struct late *late);
} contenders[] = {
	{ "twheel",		twheel_arm,	twheel_disarm },
	{ "timer_list",		list_arm,	list_disarm },
	{ "hrtimer",		hrtimer_arm,	hrtimer_disarm },
	{ "delayed_work",	work_arm,	work_disarm },
};

#define CONTENDERS	ARRAY_SIZE(contenders)

/**
 * struct lateness - one repetition
 * @nr: timers per contender and horizon
 * @horizons: number of horizons
 * @late: all timers; see late_of()
 * @ns: lateness of the timers of one contender and horizon
 */
struct lateness {
	u32		nr;
	u32		horizons;
	struct late	*late;
	u64		*ns;
};

static struct late *late_of(const struct lateness *l, u32 contender, u32 horizon, u32 i)
{
	return &l->late[(contender * l->horizons + horizon) * l->nr + i];
}

static void arm_one_of_each(const struct lateness *l, u32 i, struct rnd_state *random)
{
	u32 horizon, contender;
	struct late *late;
	u64 delay;

	for (horizon = 0; horizon < l->horizons; horizon++) {
		delay = horizons[horizon].ns;
		delay += bench_between(random, 0, delay / 10);
		for (contender = 0; contender < CONTENDERS; contender++) {
			u32 c = bench_turn(i, contender, CONTENDERS);

			late = late_of(l, c, horizon, i);
			late->deadline = ktime_get_ns() + delay;
			contenders[c].arm(late, delay);
		}
	}
}

static void arm_all(const struct lateness *l, struct rnd_state *random)
{
	u32 i, us;

	for (i = 0; i < l->nr; i++) {
		arm_one_of_each(l, i, random);
		us = bench_between(random, 1, 2 * APART_US);
		usleep_range(us, us + 10);
	}
}

/* No function runs after this. A timer that was not called counts as lost. */
static void disarm_all(const struct lateness *l)
{
	u32 c, horizon, i;

	for (c = 0; c < CONTENDERS; c++)
		for (horizon = 0; horizon < l->horizons; horizon++)
			for (i = 0; i < l->nr; i++)
				contenders[c].disarm(late_of(l, c, horizon, i));
}

static bool all_called(const struct lateness *l)
{
	u32 i, total = CONTENDERS * l->horizons * l->nr;

	for (i = 0; i < total; i++)
		if (!READ_ONCE(l->late[i].called))
			return false;
	return true;
}

static void wait_for_all(const struct lateness *l)
{
	u64 longest = horizons[l->horizons - 1].ns;
	u64 end = ktime_get_ns() + longest + longest / PATIENCE_SHARE + PATIENCE_NS;

	while (!all_called(l) && ktime_get_ns() < end)
		msleep(100);
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void report_one(const char *variant, const char *of, const char *figure, u64 ns)
{
	/* A nanosecond is a thousandth of the unit. */
	bench_sample(SUITE, variant, of, figure, 0, "us", ns);
	if (!strcmp(of, "twheel"))
		bench_sample(SUITE, variant, of, figure, 0, "ticks",
			     div64_u64(ns * 1000, twheel_tick_ns(wheel)));
}

static void report(const struct lateness *l, u32 contender, u32 horizon)
{
	const char *variant = horizons[horizon].name, *of = contenders[contender].name;

	sort(l->ns, l->nr, sizeof(*l->ns), compare, NULL);
	report_one(variant, of, "p50", l->ns[l->nr / 2]);
	report_one(variant, of, "p99", l->ns[l->nr * 99 / 100]);
	report_one(variant, of, "max", l->ns[l->nr - 1]);
}

/* Check and report the timers of one contender and horizon. */
static int check_one(const struct lateness *l, u32 contender, u32 horizon)
{
	u32 i, lost = 0, early = 0;
	struct late *late;

	for (i = 0; i < l->nr; i++) {
		late = late_of(l, contender, horizon, i);
		lost += !late->called;
		early += late->called && late->called < late->deadline;
		l->ns[i] = late->called > late->deadline ? late->called - late->deadline : 0;
	}
	if (lost || (early && !contender))
		return bench_failure("%s at %s: of %u timers, %u lost, %u early",
				     contenders[contender].name, horizons[horizon].name, l->nr,
				     lost, early);
	report(l, contender, horizon);
	bench_sample(SUITE, horizons[horizon].name, contenders[contender].name, "early", 0,
		     "count", early * 1000);
	return 0;
}

static int check_all(const struct lateness *l)
{
	u32 contender, horizon;
	int err = 0;

	for (contender = 0; contender < CONTENDERS && !err; contender++)
		for (horizon = 0; horizon < l->horizons && !err; horizon++)
			err = check_one(l, contender, horizon);
	return err;
}

static int lateness_rep(struct lateness *l, struct rnd_state *random)
{
	int err = -ENOMEM;

	l->late = vcalloc(CONTENDERS * l->horizons * l->nr, sizeof(*l->late));
	l->ns = vcalloc(l->nr, sizeof(*l->ns));
	if (l->late && l->ns) {
		arm_all(l, random);
		wait_for_all(l);
		disarm_all(l);
		err = check_all(l);
	}
	vfree(l->late);
	vfree(l->ns);
	return err;
}

/**
 * lateness_suite - run the suite
 * @config: configuration
 *
 * Return: 0 or a negative error number.
 */
int lateness_suite(const struct bench_config *config)
{
	static const struct twheel_config wheel_config = { .name = "tw_bench" };
	struct lateness l = {
		.nr		= config->quick ? TIMERS_QUICK : TIMERS,
		.horizons	= config->quick ? HORIZONS_QUICK : ARRAY_SIZE(horizons),
	};
	struct rnd_state random;
	unsigned int rep;
	int err = 0;

	wheel = twheel_create(&wheel_config);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	bench_sample(SUITE, "-", "machine", "hz", 0, "count", HZ * 1000);
	prandom_seed_state(&random, config->seed);
	for (rep = 0; rep < config->reps && !err; rep++)
		err = lateness_rep(&l, &random);
	twheel_stop(wheel, NULL, NULL);
	twheel_destroy(wheel);
	return err;
}
