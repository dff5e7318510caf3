// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: very many fire once and on time; calls at the time of the callback, waits
 * for it, and what the model of kunit/model/model.h does not have.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../../twheel/core/twheel.h"
#include "../queue.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define VERY_MANY	100000

/* All timers are due within a few ticks. */
static void very_many_timers_fire_once_and_on_time(struct kunit *test)
{
	struct timer_probe *probes = kvcalloc(VERY_MANY, sizeof(*probes), GFP_KERNEL);
	const struct twheel_config config = { .tick_ns = 200 * NSEC_PER_MSEC, .slots = 512 };
	unsigned int i, nr_refused = 0, nr_not_once = 0, nr_early = 0, nr_late = 0;
	u64 late = config.tick_ns + VTIME_SLOP_NS + VERY_MANY * NSEC_PER_USEC;

	KUNIT_ASSERT_NOT_NULL(test, probes);
	timer_suite_restart(test, &config);
	for (i = 0; i < VERY_MANY; i++) {
		timer_probe_init(&probes[i]);
		nr_refused += !!timer_probe_add(&probes[i], 125 * NSEC_PER_MSEC);
	}
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < VERY_MANY; i++) {
		nr_not_once += probes[i].nr_fired != 1;
		nr_early += probes[i].fired < probes[i].deadline;
		nr_late += probes[i].fired > probes[i].deadline + late;
	}
	KUNIT_EXPECT_EQ(test, nr_refused, 0);
	KUNIT_EXPECT_EQ(test, nr_not_once, 0);
	KUNIT_EXPECT_EQ(test, nr_early, 0);
	KUNIT_EXPECT_EQ(test, nr_late, 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	kvfree(probes);
}

static void add_ticks(struct timer_probe *probe, u64 ticks)
{
	probe->deadline = twheel_deadline(ticks * twheel_tick_ns(timer_wheel));
	twheel_timer_rearm(&probe->timer, probe->deadline, TWHEEL_REARM_ALWAYS);
}

/* A heartbeat leaves the timer in its bucket, except on level 0. */
static void later_deadline_does_not_move_timer(struct kunit *test)
{
	static struct timer_probe probes[3];
	struct hlist_node *next, **pprev;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		add_ticks(&probes[i], 300);
	}
	next = probes[1].timer.node.entry.next;
	pprev = probes[1].timer.node.entry.pprev;
	for (i = 301; i < 100000; i += i / 2) {
		add_ticks(&probes[1], i);
		KUNIT_EXPECT_PTR_EQ(test, probes[1].timer.node.entry.next, next);
		KUNIT_EXPECT_PTR_EQ(test, probes[1].timer.node.entry.pprev, pprev);
	}
	add_ticks(&probes[1], 200);
	KUNIT_EXPECT_PTR_NE(test, probes[1].timer.node.entry.pprev, pprev);

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		add_ticks(&probes[i], 30);
	pprev = probes[1].timer.node.entry.pprev;
	add_ticks(&probes[1], 300);
	KUNIT_EXPECT_PTR_NE(test, probes[1].timer.node.entry.pprev, pprev);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_on_time(test, &probes[i]);
}

/* A change of the clock goes by exact deadlines. */
static void conditional_rearm_compares_exact_deadlines(struct kunit *test)
{
	u64 tick_ns = twheel_tick_ns(timer_wheel);
	u64 tick = (twheel_deadline(NSEC_PER_SEC) / tick_ns + 1) * tick_ns;
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, tick - 1), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick, TWHEEL_REARM_IF_EARLIER), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick - 1, TWHEEL_REARM_IF_EARLIER),
			0);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick, TWHEEL_REARM_IF_LATER), 1);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick, TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick - 1, TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer, tick - 1, TWHEEL_REARM_IF_EARLIER),
			1);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

#define NR_MOMENTS	400

/* Cancels from before the deadline until after the callback, which takes 300 us. */
static void either_cancel_or_expiry_wins(struct kunit *test)
{
	unsigned int i, nr_won = 0, nr_running = 0, nr_fired = 0;
	static struct timer_probe probe;
	int ret;

	for (i = 0; i < NR_MOMENTS; i++) {
		timer_probe_init(&probe);
		probe.takes_ns = 300 * NSEC_PER_USEC;
		timer_probe_add(&probe, 5 * NSEC_PER_MSEC);
		vtime_sleep_until(probe.deadline - NSEC_PER_MSEC + i * 10 * NSEC_PER_USEC);
		ret = twheel_timer_cancel(&probe.timer);
		nr_won += ret == 0;
		nr_running += ret == -EINPROGRESS;
		nr_fired += ret == -EALREADY;
		vtime_sleep(5 * NSEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, ret ? 1 : 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	}
	KUNIT_EXPECT_EQ(test, nr_won + nr_running + nr_fired, NR_MOMENTS);
	KUNIT_EXPECT_GT(test, nr_won, 0);
	KUNIT_EXPECT_GT(test, nr_running, 0);
	KUNIT_EXPECT_GT(test, nr_fired, 0);
}

/* One timer is re-armed for the past, until long after the deadline of the other. */
static void always_due_timer_does_not_starve_others(struct kunit *test)
{
	static struct timer_probe greedy, other;

	timer_probe_init(&greedy);
	greedy.after_ns = 0;
	greedy.again = 50000;
	timer_probe_init(&other);
	timer_probe_add(&other, 5 * NSEC_PER_MSEC);
	timer_probe_add(&greedy, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, greedy.nr_fired, 50001);
	KUNIT_EXPECT_GT(test, greedy.fired, other.deadline + 2 * twheel_tick_ns(timer_wheel));
	expect_on_time(test, &other);
}

/*
 * Cancels in steps of 100 us throughout a callback that takes 3 ms and the delay until its
 * next run.
 */
static void cancel_sync_stops_timer_that_rearms_itself(struct kunit *test)
{
	unsigned int i, nr_fired, nr_running = 0, nr_waiting = 0;
	static struct timer_probe probe;
	bool running;

	for (i = 0; i < 100; i++) {
		timer_probe_init(&probe);
		probe.again = UINT_MAX;
		probe.takes_ns = 3 * NSEC_PER_MSEC;
		timer_probe_add(&probe, NSEC_PER_MSEC);
		vtime_sleep(100 * NSEC_PER_MSEC + i * 100 * NSEC_PER_USEC);
		running = probe.running;
		if (running)
			nr_running++;
		else
			nr_waiting++;
		/* The callback cannot arm its timer during the cancel. */
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer),
				running ? -EALREADY : 0);
		KUNIT_EXPECT_FALSE(test, probe.running);
		KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
		nr_fired = probe.nr_fired;
		KUNIT_EXPECT_GT(test, nr_fired, 10);
		vtime_sleep(NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, nr_fired);
	}
	KUNIT_EXPECT_GT(test, nr_running, 0);
	KUNIT_EXPECT_GT(test, nr_waiting, 0);
}

/* The CPU is late, so many buckets that cancels have emptied expire at once, and one other. */
static void emptied_buckets_neither_wake_nor_delay(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .slots = 1024 };
	static struct timer_probe probes[300], first, last;
	unsigned int i;
	u64 wakeups, end;

	timer_suite_restart(test, &config);
	timer_probe_init(&first);
	timer_probe_add(&first, 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
	wakeups = stats_of(timer_wheel).wakeups;
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		timer_probe_init(&probes[i]);
		timer_probe_add(&probes[i], (10 + i) * twheel_tick_ns(timer_wheel));
	}
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probes[i].timer), 0);
	timer_probe_init(&last);
	timer_probe_add(&last, (10 + i) * twheel_tick_ns(timer_wheel));
	local_irq_disable();
	ndelay((9 + i) * twheel_tick_ns(timer_wheel));
	local_irq_enable();
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
	ndelay(3 * twheel_tick_ns(timer_wheel));
	end = ktime_get_ns();
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, last.nr_fired, 1);
	KUNIT_EXPECT_LE(test, last.fired, end + TICK_NSEC);
	KUNIT_EXPECT_EQ(test, wheel_next(timer_wheel), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups + 1);
}

#define NR_WAITERS	100

static struct timer_probe waited_for;
static atomic_t nr_waiters;

static int wait_for_callback(void *data)
{
	unsigned long before = current->nvcsw;

	twheel_timer_cancel_sync(&waited_for.timer);
	*(unsigned long *)data = current->nvcsw - before;
	atomic_dec(&nr_waiters);
	return 0;
}

/* Another callback of the shard is running when the waiters find that theirs has ended. */
static void waiter_is_woken_once(struct kunit *test)
{
	static struct timer_probe other[50];
	static unsigned long sleeps[NR_WAITERS];
	unsigned int i;

	timer_probe_init(&waited_for);
	waited_for.takes_ns = NSEC_PER_SEC;
	timer_probe_add(&waited_for, 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
	atomic_set(&nr_waiters, NR_WAITERS);
	for (i = 0; i < NR_WAITERS; i++)
		kthread_run(wait_for_callback, &sleeps[i], "waiter/%u", i);
	vtime_sleep(100 * NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		timer_probe_init(&other[i]);
		other[i].takes_ns = NSEC_PER_MSEC;
		timer_probe_add(&other[i], (2 + 4 * i) * NSEC_PER_MSEC);
	}
	while (atomic_read(&nr_waiters))
		vtime_sleep(10 * NSEC_PER_MSEC);
	for (i = 0; i < NR_WAITERS; i++)
		KUNIT_EXPECT_LE(test, sleeps[i], 1);
	vtime_sleep(100 * NSEC_PER_MSEC);
}

static struct twheel_timer *freed_timer;

static void free_fired(struct twheel_timer *timer)
{
	freed_timer = timer;
	kfree(timer);
}

static void callback_may_free_own_timer(struct kunit *test)
{
	struct twheel_timer *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, timer);
	freed_timer = NULL;
	twheel_timer_init(timer, timer_wheel, free_fired);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(timer, twheel_deadline(NSEC_PER_MSEC)), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_PTR_EQ(test, freed_timer, timer);
}

/* Work that takes ten seconds. */
static struct {
	struct twheel_work	work;
	unsigned int		nr_runs;
	bool			running;
} slow;

static void slow_work(struct work_struct *work)
{
	slow.running = true;
	slow.nr_runs++;
	vtime_sleep(10ULL * NSEC_PER_SEC);
	slow.running = false;
}

/* A thread that cancels the work and then adds it again. */
static int cancel_and_add(void *unused)
{
	if (twheel_work_cancel_sync(&slow.work) != -EALREADY)
		return -EIO;
	return twheel_work_add(&slow.work, twheel_deadline(NSEC_PER_SEC));
}

/*
 * The thread waits for the work function first, and has a higher priority than this task:
 * it tries to add the work while this task still waits in its own cancel.
 */
static void add_during_cancel_sync_of_work_returns_eshutdown(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_workqueue("twheel_kunit", WQ_UNBOUND, 1);
	struct task_struct *first;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	slow.nr_runs = 0;
	twheel_work_init(&slow.work, timer_wheel, wq, slow_work);
	twheel_work_add(&slow.work, 0);
	vtime_sleep(NSEC_PER_SEC);
	first = kthread_create(cancel_and_add, NULL, "first");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	get_task_struct(first);
	sched_set_fifo(first);
	wake_up_process(first);
	vtime_sleep(NSEC_PER_SEC);

	KUNIT_EXPECT_TRUE(test, slow.running);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(&slow.work), -EALREADY);
	KUNIT_EXPECT_EQ(test, kthread_stop(first), -ESHUTDOWN);
	put_task_struct(first);
	KUNIT_EXPECT_EQ(test, twheel_work_add(&slow.work, twheel_deadline(NSEC_PER_SEC)), 0);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(&slow.work), 0);
	KUNIT_EXPECT_EQ(test, slow.nr_runs, 1);
	destroy_workqueue(wq);
}

/* twheel_stop() hands back each timer that is still pending. A re-arm in its callback fails. */
static void rearm_cancelled(struct twheel_timer *timer, void *data)
{
	struct timer_probe *other = data;

	other->error = timer_probe_rearm(other, 0, TWHEEL_REARM_ALWAYS);
}

static void rearm_during_stop_returns_eshutdown(struct kunit *test)
{
	static struct timer_probe first, second;

	timer_probe_init(&first);
	timer_probe_init(&second);
	timer_probe_add(&first, NSEC_PER_SEC);
	timer_probe_add(&second, 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, rearm_cancelled, &second), 2);
	KUNIT_EXPECT_EQ(test, second.error, -ESHUTDOWN);
}

/* A callback that takes a second makes another timer late. A past deadline is not late. */
static void lateness_is_counted(struct kunit *test)
{
	static struct timer_probe slow, late, past;
	struct twheel_stats stats;
	unsigned int i;
	u64 nr = 0;

	timer_probe_init(&slow);
	timer_probe_init(&late);
	timer_probe_init(&past);
	twheel_timer_add(&past.timer, 0);
	vtime_sleep(NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, stats_of(timer_wheel).latest_ticks, 1);
	slow.takes_ns = NSEC_PER_SEC;
	timer_probe_add(&slow, NSEC_PER_MSEC);
	timer_probe_add(&late, 100 * NSEC_PER_MSEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	stats = stats_of(timer_wheel);
	KUNIT_EXPECT_GE(test, stats.latest_ticks, 850);
	KUNIT_EXPECT_LE(test, stats.latest_ticks, 950);
	KUNIT_EXPECT_EQ(test, stats.late_ns, stats.latest_ticks * twheel_tick_ns(timer_wheel));
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		nr += stats.late[i];
	KUNIT_EXPECT_EQ(test, nr, 2);
	/* 900 ms is between 2^29 and 2^30 ns. */
	KUNIT_EXPECT_EQ(test, stats.late[0], 1);
	KUNIT_EXPECT_EQ(test, stats.late[20], 1);
}

/* Missed deadlines are counted, and those at the end of the clock do not overflow. */
static void forward_advances_by_whole_periods(struct kunit *test)
{
	u64 deadline = 100;

	KUNIT_EXPECT_EQ(test, twheel_forward(&deadline, 99, 10), 0);
	KUNIT_EXPECT_EQ(test, deadline, 100);
	KUNIT_EXPECT_EQ(test, twheel_forward(&deadline, 100, 10), 1);
	KUNIT_EXPECT_EQ(test, deadline, 110);
	KUNIT_EXPECT_EQ(test, twheel_forward(&deadline, 145, 10), 4);
	KUNIT_EXPECT_EQ(test, deadline, 150);
	KUNIT_EXPECT_EQ(test, twheel_forward(&deadline, KTIME_MAX, 7), (KTIME_MAX - 150) / 7 + 1);
	KUNIT_EXPECT_EQ(test, deadline, TWHEEL_NEVER);
	deadline = 0;
	KUNIT_EXPECT_EQ(test, twheel_forward(&deadline, KTIME_MAX, KTIME_MAX), 2);
	KUNIT_EXPECT_EQ(test, deadline, TWHEEL_NEVER);
}

/* A late re-arm of an operation may find a wheel whose levels have been freed. */
static void add_after_stop_allocates_no_level(struct kunit *test)
{
	struct twheel_shard *shard = twheel_local_shard(timer_wheel);
	unsigned int nr_levels = shard->queue.wheel.nr_levels;
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, timer_probe_add_at(&probe, KTIME_MAX), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, shard->queue.wheel.nr_levels, nr_levels);
}

static void bad_configuration_returns_einval(struct kunit *test)
{
	static const struct twheel_config good[] = {
		{ .tick_ns = 1000, .slots = 2, .shards = 1, .max_pending = 1 },
		{ .tick_ns = TWHEEL_TICK_NS_MAX, .slots = TWHEEL_SLOTS_MAX, .shards = 3 },
	}, bad[] = {
		{ .tick_ns = 999 }, { .tick_ns = TWHEEL_TICK_NS_MAX + 1 }, { .slots = 1 },
		{ .slots = TWHEEL_SLOTS_MAX + 1 }, { .shards = 1025 },
		{ .shards = 2, .max_pending = 1 }, { .clock = TWHEEL_CLOCK_REALTIME + 1 },
	};
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		wheel = twheel_create(&good[i]);
		KUNIT_EXPECT_FALSE(test, IS_ERR(wheel));
		KUNIT_EXPECT_EQ(test, twheel_tick_ns(wheel), good[i].tick_ns);
		twheel_destroy(wheel);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_create(&bad[i])), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_system_clock(TWHEEL_CLOCK_REALTIME + 1)), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, twheel_system_clock(TWHEEL_CLOCK_MONOTONIC), twheel_system());
}

#define MAX_WHEELS	64

static void too_many_wheels_return_eusers(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };
	static struct twheel *wheels[MAX_WHEELS];
	unsigned int i, nr = 0;

	while (nr < MAX_WHEELS) {
		wheels[nr] = twheel_create(&config);
		if (IS_ERR(wheels[nr]))
			break;
		nr++;
	}
	/* One wheel belongs to the suite. */
	KUNIT_EXPECT_EQ(test, nr, MAX_WHEELS - 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR(wheels[nr]), -EUSERS);
	KUNIT_EXPECT_FALSE(test, IS_ERR(twheel_system_clock(TWHEEL_CLOCK_BOOTTIME)));
	for (i = 0; i < nr; i++)
		twheel_destroy(wheels[i]);
	wheels[0] = twheel_create(&config);
	KUNIT_EXPECT_FALSE(test, IS_ERR(wheels[0]));
	twheel_destroy(wheels[0]);
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(very_many_timers_fire_once_and_on_time),
	KUNIT_CASE(later_deadline_does_not_move_timer),
	KUNIT_CASE(conditional_rearm_compares_exact_deadlines),
	KUNIT_CASE(either_cancel_or_expiry_wins),
	KUNIT_CASE(always_due_timer_does_not_starve_others),
	KUNIT_CASE(cancel_sync_stops_timer_that_rearms_itself),
	KUNIT_CASE(waiter_is_woken_once),
	KUNIT_CASE(emptied_buckets_neither_wake_nor_delay),
	KUNIT_CASE(callback_may_free_own_timer),
	KUNIT_CASE(add_during_cancel_sync_of_work_returns_eshutdown),
	KUNIT_CASE(rearm_during_stop_returns_eshutdown),
	KUNIT_CASE(add_after_stop_allocates_no_level),
	KUNIT_CASE(lateness_is_counted),
	KUNIT_CASE(forward_advances_by_whole_periods),
	KUNIT_CASE(bad_configuration_returns_einval),
	KUNIT_CASE(too_many_wheels_return_eusers),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "twheel_timer",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_cases,
};

kunit_test_suite(timer_suite);
