// SPDX-License-Identifier: GPL-2.0
/*
 * Stress test of timers and operations in the manner of
 * rcutorture: races need real CPUs, and time.
 *
 * Threads add, re-arm, cancel and shut down timers, on the system wheels and on wheels
 * that are created and stopped concurrently, while timers fire, CPUs go offline and
 * online, and the wall clock is set. The test runs when the module is loaded and ends
 * with one line in the kernel log, SUCCESS or FAILURE. The load itself succeeds in
 * either case, because some programs retry a failed load.  purgatory.c describes the
 * test of operations.
 *
 * The main invariant concerns armings. An add or a re-arm arms a timer if it reports
 * that the timer was not pending before and is pending now. Each arming has exactly
 * one outcome:
 *
 *	fired		the timer function was called
 *	cancelled	a cancel function returned 0 or 1
 *	handed back	twheel_stop() passed the timer to its callback
 *
 * In addition, a timer must not fire before its earliest possible deadline, nor long
 * after the latest one, nor while its function is running, nor after the return of a
 * cancel_sync, shutdown_sync or stop that rules it out. At the end of each round the
 * counts in twheel_get_stats() must match those of the test exactly.
 *
 *	outcome.c	accounts for armings and their outcomes
 *	running.c	checks each call of a timer function
 *	kinds.c		plain timers, periodic timers and work behind one interface
 *	load.c		random calls on timers, from threads and from timer functions
 *	wheels.c	creates and ends wheels
 *	purgatory*.c	operations and purgatories
 *	disturb.c	takes CPUs offline and online, sets the wall clock
 *	threads.c	starts and watches the threads
 *	report.c	counters and log messages
 *
 * The test attributes all timers on the system wheels to itself, so there must be no
 * other user of twheel; purgatories get separate wheels. It also sets the clock. Run
 * it only on a dedicated machine.
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

/* Length of a busy or calm phase. */
#define PHASE	(HZ / 4)

static unsigned int seconds = 60;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "duration in seconds (default 60)");

static unsigned int threads;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads,
		 "threads for timers, and as many for operations (default 0: two per CPU)");

static unsigned int purgatories = 2;
module_param(purgatories, uint, 0444);
MODULE_PARM_DESC(purgatories,
		 "concurrent purgatories, at most 16; 0 tests no operations (default 2)");

static unsigned int operations = 24;
module_param(operations, uint, 0444);
MODULE_PARM_DESC(operations,
		 "operations of a purgatory that all threads share, 2 to 10000 (default 24)");

static unsigned int wheels = 3;
module_param(wheels, uint, 0444);
MODULE_PARM_DESC(wheels, "concurrent wheels, in addition to the system wheels (default 3)");

unsigned int torture_onoff_ms = 300;
module_param_named(onoff_interval_ms, torture_onoff_ms, uint, 0444);
MODULE_PARM_DESC(onoff_interval_ms,
		 "interval between CPU hotplug operations, 0 for none (default 300)");

unsigned int torture_clock_ms = 2000;
module_param_named(clock_interval_ms, torture_clock_ms, uint, 0444);
MODULE_PARM_DESC(clock_interval_ms,
		 "mean interval between changes of the wall clock, 0 for none (default 2000)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "seed of the random numbers, 0 for a random seed (default 0)");

struct torture_wheel *torture_wheels;
unsigned int torture_nr_wheels;

/* Return: a random number less than @below. */
u32 torture_below(struct rnd_state *rng, u32 below)
{
	return (u64)prandom_u32_state(rng) * below >> 32;
}

/* Seed a generator. @number differs between the generators of a run. */
void torture_seed(struct rnd_state *rng, u32 number)
{
	prandom_seed_state(rng, seed + ((u64)number << 32));
}

/*
 * In a calm phase threads sleep between calls, timer functions and callbacks take
 * longer, and reapers go idle and are woken again. In a busy phase such delays are rare.
 */
static bool calm = true;

/* Return: true if the caller may sleep or spin here, to let other threads run. */
bool torture_may_delay(struct rnd_state *rng)
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
		err = purgatories_set_up(purgatories, operations);
	if (err)
		tear_down();
	return err;
}

/* Runs until the time is up, a check fails or a signal interrupts the loading task. */
static void monitor(void)
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
		monitor();
	else
		torture_fail(FAIL_STALL, NULL, "cannot start all threads");
	/* A stalled thread cannot be stopped and still needs this code: pin the module. */
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
	pr_info("seconds=%u threads=%u wheels=%u purgatories=%u operations=%u onoff_interval_ms=%u clock_interval_ms=%u seed=%lu\n",
		seconds, threads, torture_nr_wheels - 1, torture_nr_purgatories,
		torture_nr_slots, torture_onoff_ms, torture_clock_ms, seed);
	run();
	return 0;
}

static void __exit torture_exit(void)
{
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_DESCRIPTION("Stress test of twheel timers and operations");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
