// SPDX-License-Identifier: GPL-2.0
/*
 * Suite lateness: lateness of operations with a deadline of 50 ms. 10,000 of them are
 * added per second, beside a given number of other operations that are pending in the
 * same purgatory during the whole run.
 *
 * Each operation watches 3 keys that no other operation watches. Every other one is
 * completed by a signal of one of its keys at half of its time; the rest expire. The
 * ended() callback reads the clock to determine the lateness.
 *
 * At the same time, a thread is woken by an hrtimer 1,000 times per second. Its lateness
 * is the share of the machine. Operations may exceed it by at most a tick of the wheel.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "late_op.h"
#include "ops.h"

#define VARIANT		"50ms"

#define KEYS		3
#define DELAY_NS	(50 * NSEC_PER_MSEC)
#define COMPLETE_NS	(25 * NSEC_PER_MSEC)

/* Interval between adds, and duration of a run. */
#define INTERVAL_NS	(100 * NSEC_PER_USEC)
#define SECONDS		5
#define SECONDS_QUICK	1

/* Operations that have not expired after this time never will. */
#define STUCK_NS	(60 * (u64)NSEC_PER_SEC)

/*
 * Members updated on expiry are written by the only reaper, those updated on completion by the
 * signalling thread.
 */
static struct late_run {
	const struct bench_config *config;
	struct late	late;
	struct late	wakeups;
	u32		total;
	u32		added;
	u32		visited;
	u32		completed;
	u32		expired;
	u32		early;
} run;

static void late_ended(struct twheel_op *op)
{
	struct twheel_op_result result;
	u64 now = ktime_get_ns();

	twheel_op_get_result(op, &result);
	if (result.reason == TWHEEL_REASON_EXPIRED) {
		run.early += now < result.deadline;
		late_record(&run.late, now - min(result.deadline, now));
		WRITE_ONCE(run.expired, run.expired + 1);
	} else {
		run.completed++;
	}
	twheel_op_put(op);
}

static const struct twheel_op_ops late_ops = {
	.ended		= late_ended,
	.release	= ops_release,
};

/* The keys differ from those of the other operations. */
static int add_one(u32 id)
{
	struct twheel_watch_spec specs[KEYS];

	ops_unique_keys(specs, KEYS, run.config->nr + id);
	return ops_add_custom(&late_ops, specs, twheel_deadline(DELAY_NS));
}

/* A late signal may find it expired. */
static void complete_one(u32 id)
{
	const struct twheel_key key = { .v = { run.config->nr + id, id % KEYS } };

	if (id % 2)
		twheel_signal(bench_ops.purgatory, &key, 1, 0);
}

/* Add and signal all operations that are due. */
static int catch_up(u64 begin)
{
	u64 now = ktime_get_ns();
	int err = 0;

	while (run.added < run.total && begin + run.added * INTERVAL_NS <= now && !err)
		err = add_one(run.added++);
	while (run.visited < run.added && begin + run.visited * INTERVAL_NS + COMPLETE_NS <= now)
		complete_one(run.visited++);
	return err;
}

static int all_ended(void)
{
	u64 stuck = ktime_get_ns() + STUCK_NS;

	while (run.completed + READ_ONCE(run.expired) < run.total) {
		if (ktime_get_ns() > stuck)
			return -ETIMEDOUT;
		usleep_range(500, 1000);
	}
	return 0;
}

static int generate_load(void)
{
	u64 begin = ktime_get_ns();
	int err = 0;

	while (run.visited < run.total && !err) {
		err = catch_up(begin);
		usleep_range(300, 600);
	}
	return err ?: all_ended();
}

static int check(int err)
{
	if (!err && !run.early && run.completed + run.expired == run.total)
		return 0;
	return bench_failure("lateness: error %d; of %u, %u completed, %u expired, %u early",
			     err, run.total, run.completed, run.expired, run.early);
}

/* Generate the load while the thread runs. */
static int with_others(void)
{
	int err = late_wakeups_start(&run.wakeups);

	if (err)
		return err;
	err = generate_load();
	return late_wakeups_stop() ?: err;
}

static int measure_once(struct twheel *wheel)
{
	int err;

	run.added = 0;
	run.visited = 0;
	run.completed = 0;
	run.expired = 0;
	err = check(with_others());
	if (err)
		return err;
	late_report(&run.late, VARIANT, "twheel_op", "", run.config->nr);
	late_report(&run.wakeups, VARIANT, "wakeup", "", run.config->nr);
	return 0;
}

static int measure_all(struct twheel *wheel)
{
	struct twheel_watch_spec specs[KEYS];
	unsigned int rep;
	int err = 0;
	u32 id;

	for (id = 0; id < run.config->nr && !err; id++) {
		ops_unique_keys(specs, KEYS, id);
		err = ops_add(NULL, specs, ops_far_deadline());
		if (id % 1024 == 0)
			cond_resched();
	}
	for (rep = 0; rep < run.config->reps && !err; rep++)
		err = measure_once(wheel);
	return err;
}

int late_op_suite(const struct bench_config *config)
{
	unsigned int seconds = config->quick ? SECONDS_QUICK : SECONDS;
	struct twheel *wheel = twheel_system();
	int err;

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	bench_sample(VARIANT, "twheel_op", "tick", config->nr, "us", twheel_tick_ns(wheel));
	run.config = config;
	run.total = seconds * (NSEC_PER_SEC / INTERVAL_NS);
	err = late_alloc(&run.late, run.total) ?:
	      late_alloc(&run.wakeups, 2 * seconds * MSEC_PER_SEC);
	err = err ?: ops_start(KEYS, config->seed);
	if (!err)
		err = ops_stop(measure_all(wheel));
	late_free(&run.late);
	late_free(&run.wakeups);
	return err;
}
