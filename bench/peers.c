// SPDX-License-Identifier: GPL-2.0
/*
 * Suite peers: the jobs of bench/peers/jobs.c for twheel inside the kernel. The figures are the
 * same; cpu is the elapsed time of a kernel with one CPU. Timers and operations are in the state
 * of a consumer, and both expire on a single reaper.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "ops.h"

#define OF		"twheel_kernel"

#define KEYS		3
#define DELAY_MIN_NS	(60 * (u64)NSEC_PER_SEC)
#define DELAY_MAX_NS	(600 * (u64)NSEC_PER_SEC)
#define SESSION_NS	(30 * (u64)NSEC_PER_SEC)
#define LATE_NS		(50 * (u64)NSEC_PER_MSEC)

/* Timeouts of 50 ms that have not expired after this time never will. */
#define STUCK_MS	10000

/**
 * struct peers_job - a job
 * @name: name in the output
 * @part: pending items, as a fraction of those of the suite
 * @need: number of signals that complete an operation; 0 for timers
 * @moves: timers get other deadlines and are not cancelled
 */
struct peers_job {
	const char	*name;
	u32		part;
	u32		need;
	bool		moves;
};

static const struct peers_job jobs[] = {
	{ "timeouts",	1 },
	{ "sessions",	100, .moves = true },
	{ "quorum",	10, .need = 2 },
	{ "any",	1, .need = 1 },
};

/*
 * @ids are the numbers of the keys. @late, the lateness in ns of @nr_late of @size_late timeouts of
 * 50 ms, and @early are written by the reaper.
 */
static struct peers_run {
	const struct peers_job	*job;
	struct twheel		*wheel;
	struct rnd_state	random;
	struct twheel_timer	*timers;
	u32			*ids;
	u32			nr;
	u32			next;
	u32			*late;
	u32			nr_late;
	u32			size_late;
	u32			early;
} run;

static void report(const char *figure, const char *unit, u64 milli)
{
	bench_sample(run.job->name, OF, figure, run.nr, unit, milli);
}

static void record(u64 deadline)
{
	u64 now = ktime_get_ns();

	run.early += now < deadline;
	if (run.nr_late < run.size_late)
		run.late[run.nr_late++] = min_t(u64, now - deadline, U32_MAX);
}

/**
 * struct late_timer - a timeout of 50 ms
 * @timer: the timer
 * @deadline: its deadline
 */
struct late_timer {
	struct twheel_timer	timer;
	u64			deadline;
};

static void late_fire(struct twheel_timer *timer)
{
	record(container_of(timer, struct late_timer, timer)->deadline);
}

static void late_ended(struct twheel_op *op)
{
	struct twheel_op_result result;

	twheel_op_get_result(op, &result);
	run.early += result.reason != TWHEEL_REASON_EXPIRED;
	record(result.deadline);
	twheel_op_put(op);
}

static const struct twheel_op_ops late_ops = {
	.ended		= late_ended,
	.release	= ops_release,
};

/* The timers that are pending all the time do not fire. */
static void fire(struct twheel_timer *timer)
{
	run.early++;
}

static u64 next_deadline(void)
{
	if (run.job->moves)
		return twheel_deadline(SESSION_NS);
	return twheel_deadline(bench_between(&run.random, DELAY_MIN_NS, DELAY_MAX_NS));
}

static int add(u32 i)
{
	struct twheel_watch_spec specs[KEYS];

	if (!run.job->need)
		return twheel_timer_add(&run.timers[i], next_deadline());
	run.ids[i] = run.next++;
	ops_unique_keys(specs, KEYS, run.ids[i]);
	return ops_add(NULL, specs, next_deadline());
}

/* Only the last signal completes the operation. */
static int signal_some(u32 id)
{
	u32 i, nr = 0;

	for (i = 0; i < run.job->need && !nr; i++) {
		const struct twheel_key key = { .v = { id, i } };

		nr = twheel_signal(bench_ops.purgatory, &key, 1, 0);
	}
	return nr == 1 && i == run.job->need ? 0 : -EIO;
}

static int step(u32 i)
{
	int err;

	if (run.job->moves)
		return twheel_timer_rearm(&run.timers[i], next_deadline(),
					  TWHEEL_REARM_IF_PENDING) == 1 ? 0 : -EIO;
	err = run.job->need ? signal_some(run.ids[i]) : twheel_timer_cancel(&run.timers[i]);
	return err ?: add(i);
}

static int steps(u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		err = step(bench_between(&run.random, 0, run.nr));
		if (i % 1024 == 0)
			cond_resched();
	}
	return err;
}

static int add_late(struct late_timer *late)
{
	struct twheel_watch_spec specs[KEYS];

	if (!run.job->need) {
		twheel_timer_init(&late->timer, run.wheel, late_fire);
		late->deadline = twheel_deadline(LATE_NS);
		return twheel_timer_add(&late->timer, late->deadline);
	}
	ops_unique_keys(specs, KEYS, run.next++);
	return ops_add_custom(&late_ops, specs, twheel_deadline(LATE_NS));
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Add a timeout of 50 ms each millisecond. */
static int measure_late(struct late_timer *late)
{
	u64 start = ktime_get_ns();
	u32 i, waited;
	int err = 0;

	for (i = 0; i < run.size_late && !err; i++) {
		while (ktime_get_ns() < start + i * (u64)NSEC_PER_MSEC)
			usleep_range(100, 200);
		err = add_late(&late[i]);
	}
	for (waited = 0; READ_ONCE(run.nr_late) < i && waited < STUCK_MS; waited++)
		usleep_range(1000, 1100);
	if (err || run.nr_late < i)
		return bench_failure("peers: error %d, %u of %u expired", err, run.nr_late, i);
	sort(run.late, i, sizeof(*run.late), compare, NULL);
	report("late_p50", "us", run.late[i / 2]);
	report("late_p99", "us", run.late[i * 99 / 100]);
	return 0;
}

static void measure_idle(u32 ms)
{
	struct twheel *wheel = run.job->need ? twheel_system() : run.wheel;
	struct twheel_stats stats;
	u64 before;

	twheel_get_stats(wheel, &stats);
	before = stats.wakeups;
	msleep(ms);
	twheel_get_stats(wheel, &stats);
	report("wakeups", "per_second", div_u64((stats.wakeups - before) * 1000000, ms));
}

static int measure(struct late_timer *late, bool quick)
{
	u32 i, nr = quick ? 20000 : 1000000;
	s64 unused = ops_pages_unused();
	u64 ns;
	int err = 0;

	run.timers = run.job->need ? NULL : vcalloc(run.nr, sizeof(*run.timers));
	if (!run.job->need && !run.timers)
		return -ENOMEM;
	for (i = 0; i < run.nr && !err; i++) {
		if (!run.job->need)
			twheel_timer_init(&run.timers[i], run.wheel, fire);
		err = add(i);
		if (i % 1024 == 0)
			cond_resched();
	}
	if (err)
		return err;
	unused -= ops_pages_unused();
	report("bytes", "bytes", div_u64(max(unused, 0LL) * PAGE_SIZE * 1000, run.nr));

	bench_ops.expected = TWHEEL_REASON_COMPLETED;
	err = steps(nr / 4);
	ns = ktime_get_ns();
	err = err ?: steps(nr);
	ns = ktime_get_ns() - ns;
	if (err)
		return bench_failure("peers: %s: error %d", run.job->name, err);
	bench_sample_ns(run.job->name, OF, "cpu", run.nr, ns, nr);
	err = measure_late(late);
	if (!err)
		measure_idle(run.size_late);
	return err;
}

static int measure_job(struct late_timer *late, const struct bench_config *config)
{
	static const struct twheel_config wheel = { .name = "tw_peers" };
	int err;

	run.nr_late = 0;
	run.early = 0;
	run.next = 0;
	if (run.job->need) {
		err = ops_start(KEYS, config->seed);
		bench_ops.quorum = run.job->need > 1 ? run.job->need : 0;
		if (!err)
			err = ops_stop(measure(late, config->quick));
	} else {
		run.wheel = twheel_create(&wheel);
		if (IS_ERR(run.wheel))
			return PTR_ERR(run.wheel);
		err = measure(late, config->quick);
		if (twheel_stop(run.wheel, NULL, NULL) != run.nr && !err)
			err = bench_failure("peers: %s: timers are lost", run.job->name);
		twheel_destroy(run.wheel);
		vfree(run.timers);
	}
	if (!err && run.early)
		err = bench_failure("peers: %s: %u early", run.job->name, run.early);
	return err;
}

int peers_suite(const struct bench_config *config)
{
	struct late_timer *late;
	unsigned int i;
	int err = 0;

	run.size_late = config->quick ? 200 : 2000;
	run.late = vcalloc(run.size_late, sizeof(*run.late));
	run.ids = vcalloc(config->nr, sizeof(*run.ids));
	late = vcalloc(run.size_late, sizeof(*late));
	prandom_seed_state(&run.random, config->seed);
	if (!run.late || !run.ids || !late)
		err = -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(jobs) && !err; i++) {
		run.job = &jobs[i];
		run.nr = config->nr / run.job->part;
		err = measure_job(late, config);
	}
	vfree(late);
	vfree(run.ids);
	vfree(run.late);
	return err;
}
