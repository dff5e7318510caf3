// SPDX-License-Identifier: GPL-2.0
/*
 * A torture of layer 4, timers, and of layer 5, operations, in the manner of
 * rcutorture: races need real CPUs, and time.
 *
 * Threads add, re-arm, cancel and shut down timers, on wheels that are made and
 * stopped meanwhile and on those of the system, while the timers fire, CPUs go
 * offline and online, and the wall clock is set.  Loading the module runs it,
 * which ends with one line in the kernel log, SUCCESS or FAILURE.  The load itself
 * succeeds either way: there are programs that try a failed one again.  What is done
 * to operations meanwhile, and promised of them, is told in purgatory.c.
 *
 * The promise above all is that of the fates.  A timer is armed when an add or
 * a re-arm says that it was not pending and now is.  Each arming has exactly
 * one fate:
 *
 *	fired		its function was called
 *	cancelled	a cancel returned 0, of whichever kind
 *	handed back	twheel_stop() called back for it
 *
 * Besides, a timer never fires before the earliest deadline that it may have,
 * nor long after the latest; never while its function is running; and not once
 * a cancel_sync, shutdown_sync or stop that forbids it has returned.  When a
 * wheel ends, twheel_stats() must say exactly what we have counted.
 *
 *	outcome.c	keeps these books; tells how it can while threads race
 *	running.c	judges each call of a timer's function
 *	kinds.c		timers that fire once, that repeat, and that queue work
 *	load.c		what is done to timers, and what their functions do
 *	wheels.c	wheels, made and ended
 *	purgatory*.c	operations and purgatories
 *	disturb.c	CPUs, off and on, and the wall clock, set
 *	threads.c	starts and watches all these threads
 *	report.c	the log
 *
 * It counts whatever happens on the system's wheels as its own: nobody else may
 * use twheel meanwhile, and purgatories are on wheels of their own.  And it does
 * set the clock: it is for machines on which nothing else happens.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "purgatory.h"

#define REPORT_S	10

/* The load is busy or calm for this long. */
#define PHASE	(HZ / 4)

static unsigned int seconds = 60;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long it runs (default 60)");

static unsigned int threads;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "on timers, and as many on operations (default 0: two for each CPU)");

static unsigned int purgatories = 2;
module_param(purgatories, uint, 0444);
MODULE_PARM_DESC(purgatories, "made and ended at a time, up to 16; 0 for no operations (default 2)");

static unsigned int wheels = 3;
module_param(wheels, uint, 0444);
MODULE_PARM_DESC(wheels, "made and ended at a time, beside the system's (default 3)");

unsigned int torture_onoff_ms = 300;
module_param_named(onoff_interval_ms, torture_onoff_ms, uint, 0444);
MODULE_PARM_DESC(onoff_interval_ms, "until the next CPU goes or comes, 0 for never (default 300)");

unsigned int torture_clock_ms = 2000;
module_param_named(clock_interval_ms, torture_clock_ms, uint, 0444);
MODULE_PARM_DESC(clock_interval_ms, "until the wall clock is set, about; 0 for never (default 2000)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of what the threads do; 0, the default, for a new one each time");

bool torture_verbose;
module_param_named(verbose, torture_verbose, bool, 0444);
MODULE_PARM_DESC(verbose, "tell how each wheel ends (default no)");

struct torture_wheel *torture_wheels;
unsigned int torture_nr_wheels;

/* A random number from 0 to @below - 1. */
u32 torture_below(struct rnd_state *rng, u32 below)
{
	return (u64)prandom_u32_state(rng) * below >> 32;
}

/* Dice for one of many, told apart by their numbers. */
void torture_seed(struct rnd_state *rng, u32 number)
{
	prandom_seed_state(rng, seed + ((u64)number << 32));
}

/*
 * In a calm phase threads sleep between calls, timers' functions and callbacks take
 * their time, and reapers go idle and are woken again. In a busy phase all of them
 * work at full speed, most of the time.
 */
static bool calm = true;

/* Return: whether the caller should sleep or spin here, to let others run. */
bool torture_idles(struct rnd_state *rng)
{
	return READ_ONCE(calm) || !torture_below(rng, 256);
}

static int set_up_wheel(struct torture_wheel *w, unsigned int number)
{
	unsigned int i;

	init_rwsem(&w->gate);
	w->number = number;
	w->timer = kvcalloc(TORTURE_TIMERS, sizeof(*w->timer), GFP_KERNEL);
	if (!w->timer)
		return -ENOMEM;
	for (i = 0; i < TORTURE_TIMERS; i++) {
		torture_seed(&w->timer[i].rng, 1000 * (number + 1) + i);
		atomic64_set(&w->timer[i].earliest, U64_MAX);
	}
	return 0;
}

static void tear_down(void)
{
	unsigned int i;

	for (i = 0; i < torture_nr_wheels; i++)
		kvfree(torture_wheels[i].timer);
	kvfree(torture_wheels);
	kinds_tear_down();
	purgatories_tear_down();
}

static int set_up(void)
{
	unsigned int i;
	int err = kinds_set_up();

	if (err)
		return err;
	torture_nr_wheels = 1 + min(wheels, 64U);
	torture_wheels = kvcalloc(torture_nr_wheels, sizeof(*torture_wheels), GFP_KERNEL);
	if (!torture_wheels) {
		kinds_tear_down();
		return -ENOMEM;
	}
	for (i = 0; i < torture_nr_wheels && !err; i++)
		err = set_up_wheel(&torture_wheels[i], i);
	if (!err)
		err = purgatories_set_up(purgatories);
	if (err)
		tear_down();
	return err;
}

/* Until the time is up, a promise was broken, or whoever loads us gives up. */
static void watch(void)
{
	unsigned long begin = jiffies, report = begin + REPORT_S * HZ;
	unsigned long end = begin + seconds * HZ;
	struct rnd_state rng;

	torture_seed(&rng, 3000000);
	while (time_before(jiffies, end) && !torture_failed()) {
		if (schedule_timeout_interruptible(PHASE))
			return;
		WRITE_ONCE(calm, !torture_below(&rng, 8));
		torture_audit();
		torture_stalled();
		if (time_before(jiffies, report))
			continue;
		report += REPORT_S * HZ;
		torture_progress((jiffies - begin) / HZ);
	}
}

static void run(void)
{
	int err = torture_start(threads);

	if (!err)
		watch();
	else
		torture_wrong(WRONG_STALL, NULL, "not all threads could be started");
	/* A thread that hangs can't be stopped, and needs our code: we stay loaded. */
	if (!torture_stop()) {
		torture_verdict();
		__module_get(THIS_MODULE);
		return;
	}
	torture_reset_clock();
	torture_expect_sums();
	torture_verdict();
	tear_down();
}

static int __init torture_init(void)
{
	int err;

	threads = threads ?: 2 * num_online_cpus();
	seed = seed ?: get_random_u32();
	if (!torture_can_unplug())
		torture_onoff_ms = 0;
	err = set_up();
	if (err)
		return err;
	pr_info("seconds=%u threads=%u wheels=%u purgatories=%u onoff_interval_ms=%u clock_interval_ms=%u seed=%lu\n",
		seconds, threads, torture_nr_wheels - 1, torture_nr_purgatories,
		torture_onoff_ms, torture_clock_ms, seed);
	run();
	return 0;
}

static void __exit torture_exit(void)
{
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture of twheel: timers and operations raced from all sides");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
