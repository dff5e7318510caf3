// SPDX-License-Identifier: GPL-2.0
/*
 * Suite scale: throughput of all CPUs compared to one CPU.
 *
 *	add_cancel	a timer is added and cancelled: on the system wheel, as a
 *			timer_list or as an hrtimer. Each thread has its own timers
 *	watch_signal	an operation with 3 keys is added, and the oldest one is
 *			completed by a signal of one of its keys. All threads use one
 *			purgatory
 *
 * The case is cpus1, cpus2, and so on. With the suffix shared_keys, two keys of each
 * operation are taken from a small set that all threads watch.
 *
 * Each thread is bound to its CPU. The threads set up their data, wait for each other,
 * and run for a fixed time, reading the clock once per batch. The figure is the total
 * throughput per second. In each repetition, each contender runs on one CPU and on all
 * CPUs.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "scale.h"

#define SUITE		"scale"

/* Duration of a sample. */
#define SAMPLE_NS	(500 * NSEC_PER_MSEC)
#define SAMPLE_QUICK_NS	(50 * NSEC_PER_MSEC)

/* Maximum number of threads. */
#define THREADS_MAX	64U

static const struct bench_config *scale_config;
static struct scale_thread *thread;
static unsigned int nr_threads;

/* Threads that are ready to start, or could not be created. */
static atomic_t ready;

static void wait_for_others(void)
{
	atomic_inc(&ready);
	while (atomic_read(&ready) < nr_threads) {
		cpu_relax();
		cond_resched();
	}
}

static void measure(struct scale_thread *t)
{
	u64 begin = ktime_get_ns(), now = begin;
	u64 end = begin + (scale_config->quick ? SAMPLE_QUICK_NS : SAMPLE_NS);

	while (now < end && !t->err) {
		if (t->contender->turn(t) != SCALE_BATCH)
			t->err = -EIO;
		t->done += SCALE_BATCH;
		cond_resched();
		now = ktime_get_ns();
	}
	t->ns = now - begin;
}

static int scale_main(void *data)
{
	struct scale_thread *t = data;

	t->err = t->contender->prepare(t);
	wait_for_others();
	if (!t->err)
		measure(t);
	t->contender->clear(t);
	complete(&t->ended);
	return 0;
}

static int thread_start(struct scale_thread *t)
{
	struct task_struct *task = kthread_create(scale_main, t, "twheel_scale/%u", t->cpu);

	if (IS_ERR(task)) {
		t->err = PTR_ERR(task);
		atomic_inc(&ready);
		complete(&t->ended);
		return t->err;
	}
	kthread_bind(task, t->cpu);
	wake_up_process(task);
	return 0;
}

static void threads_init(const struct scale_contender *contender, unsigned int rep)
{
	unsigned int i, cpu = cpumask_first(cpu_online_mask);

	for (i = 0; i < nr_threads; i++) {
		thread[i] = (struct scale_thread) {
			.contender	= contender,
			.index		= i,
			.cpu		= cpu,
			.nr		= max(scale_config->nr / nr_threads, 1U),
		};
		prandom_seed_state(&thread[i].random, scale_config->seed + rep * THREADS_MAX + i);
		init_completion(&thread[i].ended);
		cpu = cpumask_next(cpu, cpu_online_mask);
	}
	atomic_set(&ready, 0);
}

static void report(const struct scale_contender *contender)
{
	char variant[32];
	u64 milli = 0;
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		milli += div64_u64(thread[i].done * 1000 * NSEC_PER_SEC, max(thread[i].ns, 1ULL));
	snprintf(variant, sizeof(variant), "cpus%u%s", nr_threads, contender->suffix);
	bench_sample(SUITE, variant, contender->of, contender->figure, scale_config->nr,
		     "per_second", milli);
}

/* CPU hotplug is disabled until all threads have ended. */
static int threads_run(const struct scale_contender *contender, unsigned int cpus,
		       unsigned int rep)
{
	unsigned int i;
	int err = 0;

	cpus_read_lock();
	nr_threads = min(cpus, num_online_cpus());
	threads_init(contender, rep);
	for (i = 0; i < nr_threads; i++)
		thread_start(&thread[i]);
	for (i = 0; i < nr_threads; i++)
		wait_for_completion(&thread[i].ended);
	cpus_read_unlock();
	for (i = 0; i < nr_threads && !err; i++)
		err = thread[i].err;
	return err;
}

static int contender_run(const struct scale_contender *contender, unsigned int cpus,
			 unsigned int rep)
{
	int err;

	err = contender->start(scale_config);
	if (err)
		return err;
	err = contender->stop(threads_run(contender, cpus, rep));
	if (err)
		return bench_failure("%s %s on %u CPUs: error %d", contender->of,
				     contender->figure, cpus, err);
	report(contender);
	return 0;
}

/* Alternate the order of the two runs, since the CPUs heat up over time. */
static int contender_both(const struct scale_contender *contender, unsigned int cpus,
			  unsigned int rep)
{
	unsigned int first = rep % 2 ? cpus : 1;
	int err;

	err = contender_run(contender, first, rep);
	if (err || cpus == 1)
		return err;
	return contender_run(contender, first == 1 ? cpus : 1, rep);
}

static int contenders(const struct scale_contender *contender, unsigned int nr,
		      unsigned int cpus, unsigned int rep)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = contender_both(&contender[bench_turn(rep, i, nr)], cpus, rep);
	return err;
}

static void skip_two_cpus(const struct scale_contender *contender, unsigned int nr)
{
	char variant[32];
	unsigned int i;

	for (i = 0; i < nr; i++) {
		snprintf(variant, sizeof(variant), "cpus2%s", contender[i].suffix);
		bench_skip(SUITE, variant, contender[i].of, contender[i].figure, scale_config->nr,
			   "one-cpu");
	}
}

static int scale_run(unsigned int cpus)
{
	unsigned int rep;
	int err = 0;

	if (cpus == 1) {
		skip_two_cpus(scale_timers, SCALE_TIMERS);
		skip_two_cpus(scale_ops, SCALE_OPS);
	}
	for (rep = 0; rep < scale_config->reps && !err; rep++)
		err = contenders(scale_timers, SCALE_TIMERS, cpus, rep) ?:
		      contenders(scale_ops, SCALE_OPS, cpus, rep);
	return err;
}

/**
 * scale_suite - run the suite
 * @config: configuration
 *
 * Return: 0 or a negative error number.
 */
int scale_suite(const struct bench_config *config)
{
	int err;

	scale_config = config;
	thread = kcalloc(THREADS_MAX, sizeof(*thread), GFP_KERNEL);
	if (!thread)
		return -ENOMEM;
	err = scale_run(min(num_online_cpus(), THREADS_MAX));
	kfree(thread);
	return err;
}
