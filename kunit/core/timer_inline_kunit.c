// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the context of callbacks: inline in the interrupt of the alarm, and
 * on a workqueue.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

/* An inline timer that records the context of its callback. */
struct inline_probe {
	struct twheel_timer	timer;
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
	unsigned int		again;
	bool			in_interrupt;
};

static void inline_fired(struct twheel_timer *timer)
{
	struct inline_probe *probe = container_of(timer, struct inline_probe, timer);

	probe->fired = ktime_get_ns();
	probe->in_interrupt = in_hardirq();
	probe->nr_fired++;
	if (probe->again) {
		probe->again--;
		probe->deadline = twheel_deadline(NSEC_PER_SEC);
		twheel_timer_add(timer, probe->deadline);
	}
}

static void inline_add(struct inline_probe *probe, u64 deadline)
{
	memset(probe, 0, sizeof(*probe));
	probe->deadline = deadline;
	twheel_timer_init_flags(&probe->timer, timer_wheel, inline_fired, TWHEEL_TIMER_INLINE);
	twheel_timer_add(&probe->timer, deadline);
}

static void expect_inline(struct kunit *test, const struct inline_probe *probe, u64 slop_ns)
{
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_TRUE(test, probe->in_interrupt);
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired,
			probe->deadline + twheel_tick_ns(timer_wheel) + slop_ns);
}

/* Start the reaper and let it sleep again, so that its wakeups can be counted. */
static void settle(void)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	timer_probe_add(&probe, 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
}

static void inline_callback_wakes_no_reaper(struct kunit *test)
{
	static struct inline_probe probe;
	u64 wakeups;

	settle();
	wakeups = stats_of(timer_wheel).wakeups;
	inline_add(&probe, twheel_deadline(5 * NSEC_PER_MSEC));
	vtime_sleep(NSEC_PER_SEC);
	expect_inline(test, &probe, VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 2);
}

/*
 * The alarm also moves inline timers down the levels. The first far timer wakes the
 * reaper, which allocates memory.
 */
static void far_inline_timer_fires_on_time(struct kunit *test)
{
	static struct inline_probe probe;

	settle();
	inline_add(&probe, twheel_deadline(200 * NSEC_PER_SEC));
	vtime_sleep(201 * NSEC_PER_SEC);
	expect_inline(test, &probe, VTIME_SLOP_NS);
}

/* One interrupt runs a limited number of callbacks. The next interrupt follows after a gap. */
static void many_inline_callbacks_take_several_interrupts(struct kunit *test)
{
	static struct inline_probe probes[100];
	unsigned int i, gaps = 0;
	u64 deadline, wakeups;

	settle();
	wakeups = stats_of(timer_wheel).wakeups;
	deadline = twheel_deadline(20 * NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		inline_add(&probes[i], deadline);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		expect_inline(test, &probes[i], NSEC_PER_MSEC);
		if (i)
			gaps += probes[i].fired - probes[i - 1].fired > 20 * NSEC_PER_USEC;
	}
	KUNIT_EXPECT_EQ(test, gaps, ARRAY_SIZE(probes) / 16);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
}

/*
 * Timers that are not due are in one bucket of 4.3 s, and one of them is due two ticks after its
 * beginning.
 */
static void expect_probe_on_time(struct kunit *test, unsigned int flags)
{
	u64 span = 4096 * twheel_tick_ns(timer_wheel), edge;
	struct inline_probe *probes;
	const unsigned int nr = 20000;
	unsigned int i;

	settle();
	probes = kvcalloc(nr + 1, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	edge = (ktime_get_ns() / span + 2) * span;
	for (i = 0; i <= nr; i++) {
		twheel_timer_init_flags(&probes[i].timer, timer_wheel, inline_fired, flags);
		probes[i].deadline = edge + (i < nr ? span / 2 + span / 4 / nr * i :
						      2 * twheel_tick_ns(timer_wheel));
		twheel_timer_add(&probes[i].timer, probes[i].deadline);
	}
	vtime_sleep_until(edge + span);
	for (i = 0; i <= nr; i++) {
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
		KUNIT_EXPECT_LE(test, probes[i].fired, probes[i].deadline +
				twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
	}
	kvfree(probes);
}

static void other_inline_timers_of_bucket_delay_no_inline_timer(struct kunit *test)
{
	expect_probe_on_time(test, TWHEEL_TIMER_INLINE);
}

static void other_timers_of_bucket_delay_no_timer(struct kunit *test)
{
	expect_probe_on_time(test, 0);
}

/* The reaper is kept from running, so the alarm moves the timers of the bucket itself. */
static void alarm_moves_inline_timers_if_reaper_has_no_cpu(struct kunit *test)
{
	u64 span = 64 * twheel_tick_ns(timer_wheel), edge, until;
	static struct inline_probe probes[64];
	unsigned int i;

	settle();
	edge = (ktime_get_ns() / span + 2) * span;
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		inline_add(&probes[i], edge + (2 + i / 4) * twheel_tick_ns(timer_wheel));
	vtime_sleep_until(edge - 2 * NSEC_PER_MSEC);
	until = edge + span / 2;
	preempt_disable();
	while (ktime_get_ns() < until)
		cpu_relax();
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_inline(test, &probes[i], VTIME_SLOP_NS);
	preempt_enable();
}

static void ordinary_timers_do_not_delay_inline_timers(struct kunit *test)
{
	static struct inline_probe first, last;
	static struct timer_probe between;
	u64 deadline;

	settle();
	deadline = twheel_deadline(20 * NSEC_PER_MSEC);
	timer_probe_init(&between);
	inline_add(&first, deadline);
	twheel_timer_add(&between.timer, deadline);
	inline_add(&last, deadline);
	vtime_sleep(NSEC_PER_SEC);
	expect_inline(test, &first, VTIME_SLOP_NS);
	expect_inline(test, &last, VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, between.nr_fired, 1);
}

/* The callback of an ordinary timer takes a second. */
static void busy_reaper_does_not_delay_inline_timers(struct kunit *test)
{
	static struct inline_probe before, during;
	static struct timer_probe busy;

	settle();
	timer_probe_init(&busy);
	busy.takes_ns = NSEC_PER_SEC;
	inline_add(&before, twheel_deadline(NSEC_PER_SEC / 2));
	timer_probe_add(&busy, 20 * NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 4);
	KUNIT_EXPECT_TRUE(test, busy.running);
	inline_add(&during, twheel_deadline(NSEC_PER_SEC / 8));
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_TRUE(test, busy.running);
	expect_inline(test, &before, VTIME_SLOP_NS);
	expect_inline(test, &during, VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&busy.timer), -EALREADY);
}

/* An ordinary timer is due first, and this thread keeps the reaper from running. */
static void reaper_without_cpu_does_not_delay_inline_timers(struct kunit *test)
{
	static struct timer_probe ordinary;
	static struct inline_probe probe;
	u64 until;

	settle();
	timer_probe_init(&ordinary);
	timer_probe_add(&ordinary, 10 * NSEC_PER_MSEC);
	inline_add(&probe, twheel_deadline(20 * NSEC_PER_MSEC));
	until = ktime_get_ns() + 40 * NSEC_PER_MSEC;
	preempt_disable();
	while (ktime_get_ns() < until)
		cpu_relax();
	KUNIT_EXPECT_EQ(test, ordinary.nr_fired, 0);
	preempt_enable();
	expect_inline(test, &probe, VTIME_SLOP_NS);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, ordinary.nr_fired, 1);
}

static struct kunit_case inline_cases[] = {
	KUNIT_CASE(inline_callback_wakes_no_reaper),
	KUNIT_CASE(far_inline_timer_fires_on_time),
	KUNIT_CASE(many_inline_callbacks_take_several_interrupts),
	KUNIT_CASE(other_inline_timers_of_bucket_delay_no_inline_timer),
	KUNIT_CASE(other_timers_of_bucket_delay_no_timer),
	KUNIT_CASE(alarm_moves_inline_timers_if_reaper_has_no_cpu),
	KUNIT_CASE(ordinary_timers_do_not_delay_inline_timers),
	KUNIT_CASE(busy_reaper_does_not_delay_inline_timers),
	KUNIT_CASE(reaper_without_cpu_does_not_delay_inline_timers),
	{}
};

static struct kunit_suite inline_suite = {
	.name		= "twheel_timer_inline",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= inline_cases,
};

kunit_test_suite(inline_suite);

/* Work that records its runs and may take long. */
struct work_probe {
	struct twheel_work	work;
	struct work_struct	*current_work;
	u64			fired;
	unsigned int		nr_fired;
	unsigned int		again;
	u64			takes_ns;
	bool			running;
};

static struct workqueue_struct *wq;

static void work_fired(struct work_struct *work)
{
	struct work_probe *probe = container_of(to_twheel_work(work), struct work_probe, work);

	probe->running = true;
	probe->current_work = current_work();
	probe->fired = ktime_get_ns();
	probe->nr_fired++;
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
	if (probe->again) {
		probe->again--;
		twheel_work_add(&probe->work, twheel_deadline(NSEC_PER_SEC));
	}
	probe->running = false;
}

static void work_probe_init(struct work_probe *probe)
{
	memset(probe, 0, sizeof(*probe));
	twheel_work_init(&probe->work, timer_wheel, wq, work_fired);
}

static int work_suite_init(struct kunit *test)
{
	wq = alloc_workqueue("twheel_kunit", WQ_UNBOUND, 1);
	KUNIT_ASSERT_NOT_NULL(test, wq);
	return timer_suite_init(test);
}

static void work_suite_exit(struct kunit *test)
{
	timer_suite_exit(test);
	destroy_workqueue(wq);
}

static void work_runs_on_time(struct kunit *test)
{
	static struct work_probe probe;
	u64 deadline = twheel_deadline(NSEC_PER_SEC);

	work_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_work_add(&probe.work, deadline), 0);
	KUNIT_EXPECT_EQ(test, twheel_work_add(&probe.work, deadline), -EBUSY);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	/* NULL outside of workqueues. */
	KUNIT_EXPECT_PTR_EQ(test, probe.current_work, &probe.work.work);
	KUNIT_EXPECT_GE(test, probe.fired, deadline);
	KUNIT_EXPECT_LE(test, probe.fired,
			deadline + twheel_tick_ns(timer_wheel) + VTIME_SLOP_NS);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel(&probe.work), -EALREADY);
}

static void slow_work_delays_no_timer(struct kunit *test)
{
	static struct timer_probe timer;
	static struct work_probe probe;

	work_probe_init(&probe);
	timer_probe_init(&timer);
	probe.takes_ns = 100 * NSEC_PER_SEC;
	twheel_work_add(&probe.work, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_TRUE(test, probe.running);
	timer_probe_add(&timer, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, timer.nr_fired, 1);
	expect_on_time(test, &timer);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 0);
	vtime_sleep(100 * NSEC_PER_SEC);
	KUNIT_EXPECT_FALSE(test, probe.running);
}

/* A thread that cancels work and then adds it again. */
static int cancel_and_add(void *data)
{
	struct work_probe *probe = data;

	if (twheel_work_cancel_sync(&probe->work) != -EALREADY)
		return -EIO;
	return twheel_work_add(&probe->work, twheel_deadline(NSEC_PER_SEC));
}

/*
 * The thread waits for the work function first, and has a higher priority than this task:
 * it tries to add the work while this task still waits in its own cancel.
 */
static void add_during_cancel_sync_returns_eshutdown(struct kunit *test)
{
	static struct work_probe probe;
	struct task_struct *first;

	work_probe_init(&probe);
	probe.takes_ns = 10 * NSEC_PER_SEC;
	twheel_work_add(&probe.work, 0);
	vtime_sleep(NSEC_PER_SEC);
	first = kthread_create(cancel_and_add, &probe, "first");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	get_task_struct(first);
	sched_set_fifo(first);
	wake_up_process(first);
	vtime_sleep(NSEC_PER_SEC);

	KUNIT_EXPECT_TRUE(test, probe.running);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(&probe.work), -EALREADY);
	KUNIT_EXPECT_EQ(test, kthread_stop(first), -ESHUTDOWN);
	put_task_struct(first);
	KUNIT_EXPECT_EQ(test, twheel_work_add(&probe.work, twheel_deadline(NSEC_PER_SEC)), 0);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(&probe.work), 0);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static struct kunit_case work_cases[] = {
	KUNIT_CASE(work_runs_on_time),
	KUNIT_CASE(slow_work_delays_no_timer),
	KUNIT_CASE(add_during_cancel_sync_returns_eshutdown),
	{}
};

static struct kunit_suite work_suite = {
	.name		= "twheel_timer_work",
	.init		= work_suite_init,
	.exit		= work_suite_exit,
	.test_cases	= work_cases,
};

kunit_test_suite(work_suite);
