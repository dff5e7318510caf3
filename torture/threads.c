// SPDX-License-Identifier: GPL-2.0
/*
 * Starts, watches and stops the threads of the torture.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/printk.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "purgatory.h"

static struct torture_thread *threads;
static unsigned int nr_threads, max_threads;

static bool stopping;

bool torture_should_stop(void)
{
	return READ_ONCE(stopping);
}

/* Sleep for up to @ms. torture_stop() wakes the thread. */
void torture_sleep(unsigned int ms)
{
	set_current_state(TASK_IDLE);
	if (!torture_should_stop())
		schedule_timeout(msecs_to_jiffies(ms));
	__set_current_state(TASK_RUNNING);
}

/* Pause between two wheels or purgatories. If the gate was closed, yield to the keeper. */
void torture_pause(struct torture_thread *thread, bool closed)
{
	if (torture_may_delay(&thread->rng) && torture_below(&thread->rng, 4))
		usleep_range(20, 4000);
	else if (closed)
		usleep_range(20, 200);
	cond_resched();
}

static int run(void *data)
{
	struct torture_thread *thread = data;

	thread->fn(thread);
	WRITE_ONCE(thread->done, true);
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static int start(void (*fn)(struct torture_thread *thread), const char *name, unsigned int number)
{
	struct torture_thread *thread = &threads[nr_threads];
	struct task_struct *task;

	if (WARN_ON(nr_threads == max_threads))
		return -ENOSPC;
	torture_seed(&thread->rng, nr_threads);
	thread->fn = fn;
	thread->seen_at = jiffies;
	thread->doing = "start";
	if (fn == torture_keeper)
		thread->wheel = &torture_wheels[number];
	if (fn == purgatory_keeper)
		thread->purgatory = &torture_purgatories[number];
	task = kthread_create(run, thread, "twheel_%s/%u", name, number);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* The report of a stall needs the task even if the thread has died. */
	thread->task = get_task_struct(task);
	nr_threads++;
	wake_up_process(task);
	return 0;
}

/* Start the threads that work on operations. */
static int start_purgatories(unsigned int workers)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < torture_nr_purgatories && !err; i++)
		err = start(purgatory_keeper, "drain", i);
	for (i = 0; torture_nr_purgatories && i < workers && !err; i++)
		err = start(purgatory_worker, "op", i);
	return err;
}

/*
 * Start all threads: @workers for timers, and as many for operations. After an error
 * some threads may be running; torture_stop() stops them.
 */
int torture_start(unsigned int workers)
{
	unsigned int i;
	int err = 0;

	max_threads = torture_nr_wheels + torture_nr_purgatories + 2 * workers + 2;
	threads = kvcalloc(max_threads, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	for (i = 0; i < torture_nr_wheels && !err; i++)
		err = start(torture_keeper, "keep", i);
	for (i = 0; i < workers && !err; i++)
		err = start(torture_worker, "work", i);
	if (!err)
		err = start_purgatories(workers);
	if (!err && torture_onoff_ms)
		err = start(torture_unplugger, "unplug", 0);
	if (!err && torture_clock_ms)
		err = start(torture_clock_setter, "clock", 0);
	return err;
}

/* Whether a thread makes no progress. */
static bool stalled(struct torture_thread *thread)
{
	unsigned long steps = READ_ONCE(thread->steps);

	if (steps != thread->seen) {
		thread->seen = steps;
		thread->seen_at = jiffies;
	}
	return !READ_ONCE(thread->done) &&
	       time_after(jiffies, thread->seen_at + TORTURE_STALL_S * HZ);
}

/* Report stalled threads. Return: true if there are any. */
bool torture_stalled(void)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr_threads; i++) {
		if (!stalled(&threads[i]))
			continue;
		torture_fail(FAIL_STALL, NULL, READ_ONCE(threads[i].doing));
		pr_err("%s made no progress for %d s\n", threads[i].task->comm, TORTURE_STALL_S);
		any = true;
	}
	return any;
}

static bool all_done(void)
{
	unsigned int i;

	for (i = 0; i < nr_threads; i++)
		if (!READ_ONCE(threads[i].done))
			return false;
	return true;
}

/* Stop all threads. Return: false if one has stalled, since it cannot be stopped. */
bool torture_stop(void)
{
	unsigned int i;

	WRITE_ONCE(stopping, true);
	for (i = 0; i < nr_threads; i++)
		wake_up_process(threads[i].task);
	while (!all_done()) {
		if (torture_stalled())
			return false;
		schedule_timeout_idle(HZ / 10);
	}
	while (nr_threads) {
		kthread_stop(threads[--nr_threads].task);
		put_task_struct(threads[nr_threads].task);
	}
	kvfree(threads);
	threads = NULL;
	return true;
}
