// SPDX-License-Identifier: GPL-2.0
/*
 * Cases of Netty's HashedWheelTimerTest, under their own names. Where Netty's case uses
 * the default parameters, so does this one: a tick of 100 ms and 512 slots.
 * Documentation/cases.rst maps the names.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define MINUTE	(60 * NSEC_PER_SEC)

static void start(struct kunit *test, u64 tick_ms, unsigned int slots, u64 max_pending)
{
	const struct twheel_config config = {
		.name		= "netty",
		.tick_ns	= tick_ms * NSEC_PER_MSEC,
		.slots		= slots,
		.max_pending	= max_pending,
	};

	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
}

/* Replace the wheel that netty_init() created. */
static void start_anew(struct kunit *test, u64 tick_ms, unsigned int slots, u64 max_pending)
{
	twheel_destroy(timer_wheel);
	start(test, tick_ms, slots, max_pending);
}

static int netty_init(struct kunit *test)
{
	start(test, 100, 512, 0);
	return 0;
}

static int add_after(struct timer_probe *probe, u64 delay)
{
	timer_probe_init(probe);
	return timer_probe_add(probe, delay);
}

static void add_all(struct kunit *test, struct timer_probe *probes, unsigned int nr, u64 delay)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, add_after(&probes[i], delay), 0);
}

static void expect_fired(struct kunit *test, const struct timer_probe *probes, unsigned int nr,
			 unsigned int times)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, times);
}

static void schedule_timeout_should_not_run_before_delay(struct kunit *test)
{
	static struct timer_probe probe;

	KUNIT_EXPECT_EQ(test, add_after(&probe, 10 * NSEC_PER_SEC), 0);
	vtime_sleep(3 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&probe.timer));
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
}

static void should_run_after_delay(struct kunit *test)
{
	static struct timer_probe probe;

	KUNIT_EXPECT_EQ(test, add_after(&probe, 2 * NSEC_PER_SEC), 0);
	vtime_sleep(3 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
}

static void stop_timer(struct kunit *test)
{
	static struct timer_probe processed[3], unprocessed[5];

	add_all(test, processed, ARRAY_SIZE(processed), NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	expect_fired(test, processed, ARRAY_SIZE(processed), 1);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);

	start_anew(test, 100, 512, 0);
	add_all(test, unprocessed, ARRAY_SIZE(unprocessed), 5 * NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), ARRAY_SIZE(unprocessed));
}

static void throw_exception_after_shutdown_for_new_timeouts(struct kunit *test)
{
	static struct timer_probe processed[3], late;

	add_all(test, processed, ARRAY_SIZE(processed), NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, add_after(&late, NSEC_PER_MSEC), -ESHUTDOWN);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&late.timer));
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, late.nr_fired, 0);
}

/*
 * The callback re-arms its timer for a second later, through many turns of the wheel:
 * 32 slots are 3.2 s. The callback runs just after the start of a tick and the new
 * deadline is rounded up, so each round takes a second and a tick.
 */
static void timer_overflow_wheel_length(struct kunit *test)
{
	static struct timer_probe probe;

	start_anew(test, 100, 32, 0);
	timer_probe_init(&probe);
	probe.again = UINT_MAX;
	probe.after_ns = NSEC_PER_SEC;
	timer_probe_add(&probe, NSEC_PER_SEC);
	vtime_sleep(3500 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 3);
	vtime_sleep(108 * NSEC_PER_SEC);
	KUNIT_EXPECT_GE(test, probe.nr_fired, 100);
	KUNIT_EXPECT_LE(test, probe.nr_fired, 102);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
}

#define NR_TASKS	100000

struct task {
	struct twheel_timer	timer;
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
};

static void task_fired(struct twheel_timer *timer)
{
	struct task *task = container_of(timer, struct task, timer);

	task->fired = ktime_get_ns();
	task->nr_fired++;
}

/* The timers of one tick fire one after the other, and each takes up to a microsecond. */
static void expect_tasks_on_time(struct kunit *test, const struct task *tasks)
{
	u64 late = twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS + NR_TASKS * NSEC_PER_USEC;
	unsigned int i, early = 0, missed = 0, not_once = 0;

	for (i = 0; i < NR_TASKS; i++) {
		not_once += tasks[i].nr_fired != 1;
		early += tasks[i].fired < tasks[i].deadline;
		missed += tasks[i].fired > tasks[i].deadline + late;
	}
	KUNIT_EXPECT_EQ(test, not_once, 0);
	KUNIT_EXPECT_EQ(test, early, 0);
	KUNIT_EXPECT_EQ(test, missed, 0);
}

static void execution_on_time(struct kunit *test)
{
	struct task *tasks = kvcalloc(NR_TASKS, sizeof(*tasks), GFP_KERNEL);
	unsigned int i, refused = 0;

	KUNIT_ASSERT_NOT_NULL(test, tasks);
	start_anew(test, 200, 512, 0);
	for (i = 0; i < NR_TASKS; i++) {
		twheel_timer_init(&tasks[i].timer, timer_wheel, task_fired);
		tasks[i].deadline = twheel_deadline(125 * NSEC_PER_MSEC);
		refused += !!twheel_timer_add(&tasks[i].timer, tasks[i].deadline);
	}
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, refused, 0);
	expect_tasks_on_time(test, tasks);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	kvfree(tasks);
}

/* A private workqueue takes the place of Netty's task executor. */
static struct work_struct *worked_on;
static bool on_workqueue;
static u64 worked;

static void work_fn(struct work_struct *work)
{
	worked_on = current_work();
	on_workqueue = current->flags & PF_WQ_WORKER;
	worked = ktime_get_ns();
}

static void execution_on_task_executor(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("netty", 0);
	static struct twheel_work work;
	u64 deadline;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	worked_on = NULL;
	start_anew(test, 100, 32, 2);
	twheel_work_init(&work, timer_wheel, wq, work_fn);
	deadline = twheel_deadline(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, twheel_work_add(&work, deadline), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_PTR_EQ(test, worked_on, &work.work);
	KUNIT_EXPECT_TRUE(test, on_workqueue);
	KUNIT_EXPECT_GE(test, worked, deadline);
	KUNIT_EXPECT_LE(test, worked, deadline + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	destroy_workqueue(wq);
}

static void rejected_execution_when_too_many_timeouts(struct kunit *test)
{
	static struct timer_probe probes[2], refused;

	start_anew(test, 100, 32, 2);
	add_all(test, probes, ARRAY_SIZE(probes), 5 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, add_after(&refused, NSEC_PER_MSEC), -ENOSPC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&refused, NSEC_PER_MSEC, TWHEEL_REARM_ALWAYS),
			-ENOSPC);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&refused.timer));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).rejected, 2);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 2);

	/* Re-arming a pending timer needs no further charge. */
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probes[0], NSEC_PER_MSEC, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probes[0].nr_fired, 1);
	KUNIT_EXPECT_EQ(test, refused.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
}

/* In Netty, a cancelled timer counts until the next tick. Here it is uncharged at once. */
static void stop_rejecting_when_cancelled(struct kunit *test)
{
	static struct timer_probe stays, cancelled, next;

	start_anew(test, 100, 32, 2);
	KUNIT_EXPECT_EQ(test, add_after(&stays, 5 * NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, add_after(&cancelled, 5 * NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, add_after(&next, 90 * NSEC_PER_MSEC), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&cancelled.timer), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&next, 90 * NSEC_PER_MSEC), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, next.nr_fired, 1);
	expect_on_time(test, &next);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
}

/* A timer is uncharged before its callback runs, so the callback can re-arm it. */
static void stop_rejecting_when_executed(struct kunit *test)
{
	static struct timer_probe stays, first, second;

	start_anew(test, 25, 4, 2);
	KUNIT_EXPECT_EQ(test, add_after(&stays, 5 * NSEC_PER_SEC), 0);
	timer_probe_init(&first);
	first.again = 1;
	KUNIT_EXPECT_EQ(test, timer_probe_add(&first, 90 * NSEC_PER_MSEC), 0);
	KUNIT_EXPECT_EQ(test, add_after(&second, 90 * NSEC_PER_MSEC), -ENOSPC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, first.nr_fired, 2);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).rejected, 1);

	KUNIT_EXPECT_EQ(test, timer_probe_add(&second, 90 * NSEC_PER_MSEC), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, second.nr_fired, 1);
	expect_on_time(test, &second);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
}

static void report_pending_timeouts(struct kunit *test)
{
	static struct timer_probe far[2], near;

	add_all(test, far, ARRAY_SIZE(far), 100 * MINUTE);
	KUNIT_EXPECT_EQ(test, add_after(&near, 90 * NSEC_PER_MSEC), 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 3);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&far[0].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&far[1].timer), 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, near.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
}

/*
 * The largest possible delay, which means never, and a delay just below the end of the
 * clock.
 */
static void overflow(struct kunit *test)
{
	static struct timer_probe never, last;

	KUNIT_EXPECT_EQ(test, add_after(&never, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, never.deadline, TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, add_after(&last, KTIME_MAX - ktime_get_ns() - NSEC_PER_SEC), 0);
	KUNIT_EXPECT_LE(test, last.deadline, KTIME_MAX);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, never.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, last.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&never.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&last.timer), 0);
}

static void mark_cancelled(struct twheel_timer *timer, void *data)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	if (!twheel_timer_pending(timer))
		probe->cancelled = -ECANCELED;
	++*(unsigned int *)data;
}

static void stop_timer_cancels_pending_tasks(struct kunit *test)
{
	static struct timer_probe probes[5];
	unsigned int i, nr = 0;

	add_all(test, probes, ARRAY_SIZE(probes), 5 * NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, mark_cancelled, &nr), ARRAY_SIZE(probes));
	KUNIT_EXPECT_EQ(test, nr, ARRAY_SIZE(probes));
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i].cancelled, -ECANCELED);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probes[i].timer), -EALREADY);
	}
	vtime_sleep(10 * NSEC_PER_SEC);
	expect_fired(test, probes, ARRAY_SIZE(probes), 0);
}

/* Cancelling a timer calls no callback, but cancelling an operation does. */
static void cancel_will_call_callback(struct kunit *test)
{
	struct probe *probe;

	probe_suite_init(test);
	probe = probe_new(test);
	KUNIT_EXPECT_EQ(test, probe_add(probe, 90 * NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	expect_counts(test, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), 0);
	expect_ended(test, probe, TWHEEL_CANCELLED, 0);
	vtime_sleep(NSEC_PER_SEC);
	expect_ended(test, probe, TWHEEL_CANCELLED, 0);
	probe_suite_exit(test);
}

/*
 * All eleven timers are due in the same tick, and the first is running when the others
 * are cancelled. The order within a tick is not guaranteed.
 */
static void pending_count_when_cancelled_within_goal_tick(struct kunit *test)
{
	u64 deadline = twheel_deadline(200 * NSEC_PER_MSEC);
	unsigned int i, nr_fired = 0, nr_cancelled = 0;
	static struct timer_probe probes[11];

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		probes[i].takes_ns = NSEC_PER_SEC;
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&probes[i].timer, deadline), 0);
	}
	vtime_sleep_until(deadline + NSEC_PER_SEC / 2);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		nr_cancelled += !twheel_timer_cancel(&probes[i].timer);
	KUNIT_EXPECT_EQ(test, nr_cancelled, 10);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		nr_fired += probes[i].nr_fired;
	KUNIT_EXPECT_EQ(test, nr_fired, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
}

static struct kunit_case netty_cases[] = {
	KUNIT_CASE(schedule_timeout_should_not_run_before_delay),
	KUNIT_CASE(should_run_after_delay),
	KUNIT_CASE(stop_timer),
	KUNIT_CASE(throw_exception_after_shutdown_for_new_timeouts),
	KUNIT_CASE(timer_overflow_wheel_length),
	KUNIT_CASE(execution_on_time),
	KUNIT_CASE(execution_on_task_executor),
	KUNIT_CASE(rejected_execution_when_too_many_timeouts),
	KUNIT_CASE(stop_rejecting_when_cancelled),
	KUNIT_CASE(stop_rejecting_when_executed),
	KUNIT_CASE(report_pending_timeouts),
	KUNIT_CASE(overflow),
	KUNIT_CASE(stop_timer_cancels_pending_tasks),
	KUNIT_CASE(cancel_will_call_callback),
	KUNIT_CASE(pending_count_when_cancelled_within_goal_tick),
	{}
};

static struct kunit_suite netty_suite = {
	.name		= "netty_hashed_wheel_timer_test",
	.init		= netty_init,
	.exit		= timer_suite_exit,
	.test_cases	= netty_cases,
};

kunit_test_suite(netty_suite);
