// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: the calls of the kernel interface, their return values, and
 * callbacks that use them. timer_exact_kunit.c tests that many timers are on time.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

static void timer_fires_once_and_on_time(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 50 * NSEC_PER_MSEC), 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&probe.timer));
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(45 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&probe.timer));
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	expect_on_time(test, &probe);
}

static int rearm_in_callback;

static void rearm_if_pending(struct twheel_timer *timer)
{
	rearm_in_callback = twheel_timer_rearm(timer, 0, TWHEEL_REARM_IF_PENDING);
}

static void rearm_if_pending_does_not_arm_idle_timer(struct kunit *test)
{
	static struct timer_probe probe, own;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	timer_probe_add(&probe, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 1);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, NSEC_PER_SEC, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));

	/* A timer is not pending while its callback runs. */
	rearm_in_callback = -1;
	timer_probe_init(&own);
	twheel_timer_init(&own.timer, timer_wheel, rearm_if_pending);
	timer_probe_add(&own, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rearm_in_callback, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 2);
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

static void rearm_and_sleep(struct twheel_timer *timer)
{
	twheel_timer_rearm(timer, twheel_deadline(10 * NSEC_PER_SEC), TWHEEL_REARM_ALWAYS);
	vtime_sleep(NSEC_PER_SEC);
}

/* The timer is pending and running at once, so it must not be freed after the first cancel. */
static void cancel_of_pending_and_running_timer_returns_one(struct kunit *test)
{
	static struct twheel_timer timer;

	twheel_timer_init(&timer, timer_wheel, rearm_and_sleep);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer, 0), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), 1);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), -EINPROGRESS);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer, twheel_deadline(NSEC_PER_SEC)), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), 0);
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

/* All timers are due in the same tick. The order within a tick is not guaranteed. */
static void due_timers_can_be_cancelled_during_callback(struct kunit *test)
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

#define NR_PEERS	30

static struct timer_probe peers[NR_PEERS];
static int peer_cancelled[NR_PEERS];

static void cancel_peer(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);
	unsigned int peer = (probe - peers + 2) % NR_PEERS;

	probe->nr_fired++;
	peer_cancelled[peer] = twheel_timer_cancel(&peers[peer].timer);
}

/* All timers are due in the same tick, and each callback cancels the next timer but one. */
static void callback_may_cancel_due_timers(struct kunit *test)
{
	u64 deadline = twheel_deadline(10 * NSEC_PER_MSEC);
	unsigned int i, nr_fired = 0, nr_cancelled = 0;

	for (i = 0; i < NR_PEERS; i++) {
		peer_cancelled[i] = -EALREADY;
		timer_probe_init(&peers[i]);
		twheel_timer_init(&peers[i].timer, timer_wheel, cancel_peer);
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&peers[i].timer, deadline), 0);
	}
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < NR_PEERS; i++) {
		KUNIT_EXPECT_EQ(test, peers[i].nr_fired, peer_cancelled[i] ? 1 : 0);
		nr_fired += peers[i].nr_fired;
		nr_cancelled += !peer_cancelled[i];
	}
	KUNIT_EXPECT_EQ(test, nr_fired + nr_cancelled, NR_PEERS);
	KUNIT_EXPECT_GT(test, nr_cancelled, 0);
}

/*
 * A turn of the wheel takes 3.2 s. The callback runs just after the start of a tick, and
 * the new deadline is rounded up, so that each round takes a second and a tick.
 */
static void callback_may_rearm_own_timer_for_many_turns(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * NSEC_PER_MSEC, .slots = 32 };
	static struct timer_probe probe;

	timer_suite_restart(test, &config);
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

/* The timer that a callback adds, its delay, and the number of pending timers afterwards. */
static struct timer_probe added;
static u64 added_delay, pending_after_add;

static void add_another(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);

	probe->fired = ktime_get_ns();
	probe->nr_fired++;
	timer_probe_add(&added, added_delay);
	pending_after_add = stats_of(timer_wheel).pending;
}

static void expect_both_on_time(struct kunit *test, u64 delay, u64 further_delay)
{
	static struct timer_probe adds;

	added_delay = further_delay;
	timer_probe_init(&added);
	timer_probe_init(&adds);
	twheel_timer_init(&adds.timer, timer_wheel, add_another);
	timer_probe_add(&adds, delay);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(delay + further_delay + 10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, adds.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, added.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, pending_after_add, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 0);
	expect_on_time(test, &adds);
	expect_on_time(test, &added);
}

/*
 * The callback runs half a turn of the wheel or two turns ahead. The delay of the other
 * timer is 0, a tick, or about a turn.
 */
static void callback_may_add_another_timer(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = NSEC_PER_MSEC, .slots = 256 };
	static const unsigned int delays_ms[] = { 0, 1, 255, 256, 257 };
	unsigned int i;

	timer_suite_restart(test, &config);
	for (i = 0; i < ARRAY_SIZE(delays_ms); i++) {
		expect_both_on_time(test, 128 * NSEC_PER_MSEC, delays_ms[i] * NSEC_PER_MSEC);
		expect_both_on_time(test, 500 * NSEC_PER_MSEC, delays_ms[i] * NSEC_PER_MSEC);
	}
}

/*
 * A callback in which everything fails: it adds a pending timer, adds a timer that was
 * shut down, and takes too long.
 */
static struct timer_probe pending_probe, shut_probe;
static int add_pending, add_shut;

static void failing_callback(struct twheel_timer *timer)
{
	add_pending = timer_probe_add(&pending_probe, 0);
	add_shut = timer_probe_add(&shut_probe, 0);
	vtime_sleep(NSEC_PER_SEC);
}

static void failing_callback_does_not_affect_other_timers(struct kunit *test)
{
	static struct timer_probe failing, due, later;
	u64 deadline = twheel_deadline(10 * NSEC_PER_MSEC);

	timer_probe_init(&pending_probe);
	timer_probe_init(&shut_probe);
	timer_probe_init(&failing);
	timer_probe_init(&due);
	timer_probe_init(&later);
	twheel_timer_init(&failing.timer, timer_wheel, failing_callback);
	timer_probe_add(&pending_probe, 100 * NSEC_PER_SEC);
	twheel_timer_shutdown_sync(&shut_probe.timer);
	twheel_timer_add(&failing.timer, deadline);
	twheel_timer_add(&due.timer, deadline);
	timer_probe_add(&later, 5 * NSEC_PER_SEC);

	vtime_sleep(10 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, add_pending, -EBUSY);
	KUNIT_EXPECT_EQ(test, add_shut, -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, due.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, later.nr_fired, 1);
	expect_on_time(test, &later);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 1);

	/* The timer itself can be added again, too. */
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&failing.timer, 0), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).slow, 2);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&pending_probe.timer), 0);
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
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
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

static void expect_refused(struct kunit *test, struct timer_probe *probe)
{
	KUNIT_EXPECT_EQ(test, timer_probe_add(probe, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_timer_add_slack(&probe->timer, 0, NSEC_PER_SEC), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(probe, 0, TWHEEL_REARM_ALWAYS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(probe, 0, TWHEEL_REARM_IF_EARLIER), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(probe, 0, TWHEEL_REARM_IF_LATER), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(probe, 0, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe->timer));
}

/* The callback arms its timer for the past as its last act: it is due again at once. */
static void cancel_sync_ends_after_present_run(struct kunit *test)
{
	static struct timer_probe probe;
	unsigned int before;

	timer_probe_init(&probe);
	probe.takes_ns = NSEC_PER_MSEC;
	probe.again = UINT_MAX;
	probe.after_ns = 0;
	timer_probe_add(&probe, 0);
	vtime_sleep(10 * NSEC_PER_MSEC + NSEC_PER_MSEC / 3);
	KUNIT_EXPECT_TRUE(test, probe.running);
	before = probe.nr_fired;
	twheel_timer_cancel_sync(&probe.timer);
	KUNIT_EXPECT_FALSE(test, probe.running);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, before);
	/* The timer can be armed again. */
	probe.again = 0;
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 0), 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, before + 1);
}

/* The CPU is late, so many buckets that cancels have emptied expire at once. */
static void cancelled_timers_of_many_ticks_wake_no_reaper(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .slots = 1024 };
	static struct timer_probe probes[300], first;
	unsigned int i;
	u64 wakeups;

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
	local_irq_disable();
	ndelay((20 + i) * twheel_tick_ns(timer_wheel));
	local_irq_enable();
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_next(timer_wheel), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
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

static void empty_callback(struct twheel_timer *timer)
{
}

/* Other callbacks of the shard end meanwhile, inline ones and, later, ordinary ones. */
static void waiter_is_woken_once(struct kunit *test)
{
	static struct twheel_timer other[50];
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
		twheel_timer_init_flags(&other[i], timer_wheel, empty_callback,
					i % 2 ? TWHEEL_TIMER_INLINE : 0);
		twheel_timer_add(&other[i], twheel_deadline((2 + 4 * i) * NSEC_PER_MSEC));
	}
	while (atomic_read(&nr_waiters))
		vtime_sleep(10 * NSEC_PER_MSEC);
	for (i = 0; i < NR_WAITERS; i++)
		KUNIT_EXPECT_LE(test, sleeps[i], 1);
	vtime_sleep(100 * NSEC_PER_MSEC);
}

static void shutdown_stops_timer_that_rearms_itself(struct kunit *test)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	probe.again = UINT_MAX;
	probe.takes_ns = 10 * NSEC_PER_MSEC;
	timer_probe_add(&probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC / 200);
	KUNIT_EXPECT_TRUE(test, probe.running);
	/* The callback is running, and its re-arm fails. */
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&probe.timer), -EALREADY);
	KUNIT_EXPECT_FALSE(test, probe.running);
	expect_refused(test, &probe);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

static void add_after_shutdown_returns_eshutdown(struct kunit *test)
{
	static struct timer_probe idle, probe;

	timer_probe_init(&idle);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&idle.timer), -EALREADY);
	timer_probe_init(&probe);
	timer_probe_add(&probe, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&probe.timer), 0);
	expect_refused(test, &idle);
	expect_refused(test, &probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, idle.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&probe, 0), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
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

static void timer_without_deadline_stays_pending(struct kunit *test)
{
	u64 before = stats_of(timer_wheel).wakeups;
	static struct timer_probe probe;

	KUNIT_EXPECT_EQ(test, twheel_deadline(U64_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_deadline(KTIME_MAX), TWHEEL_NEVER);
	KUNIT_EXPECT_LT(test, twheel_deadline(KTIME_MAX / 2), TWHEEL_NEVER);

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).pending, 1);
	vtime_sleep(100 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, before);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), 0);
}

static void largest_deadline_is_accepted(struct kunit *test)
{
	static struct timer_probe last, before;

	timer_probe_init(&last);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&last.timer, KTIME_MAX), 0);
	timer_probe_init(&before);
	KUNIT_EXPECT_EQ(test, timer_probe_add(&before,
					      KTIME_MAX - ktime_get_ns() - NSEC_PER_SEC), 0);
	KUNIT_EXPECT_LE(test, before.deadline, KTIME_MAX);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, last.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, before.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&last.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&before.timer), 0);
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(timer_fires_once_and_on_time),
	KUNIT_CASE(rearm_if_pending_does_not_arm_idle_timer),
	KUNIT_CASE(conditional_rearm_compares_exact_deadlines),
	KUNIT_CASE(cancel_of_pending_and_running_timer_returns_one),
	KUNIT_CASE(either_cancel_or_expiry_wins),
	KUNIT_CASE(due_timers_can_be_cancelled_during_callback),
	KUNIT_CASE(callback_may_cancel_due_timers),
	KUNIT_CASE(callback_may_rearm_own_timer_for_many_turns),
	KUNIT_CASE(callback_may_add_another_timer),
	KUNIT_CASE(failing_callback_does_not_affect_other_timers),
	KUNIT_CASE(always_due_timer_does_not_starve_others),
	KUNIT_CASE(cancel_sync_stops_timer_that_rearms_itself),
	KUNIT_CASE(cancel_sync_ends_after_present_run),
	KUNIT_CASE(waiter_is_woken_once),
	KUNIT_CASE(cancelled_timers_of_many_ticks_wake_no_reaper),
	KUNIT_CASE(shutdown_stops_timer_that_rearms_itself),
	KUNIT_CASE(add_after_shutdown_returns_eshutdown),
	KUNIT_CASE(callback_may_free_own_timer),
	KUNIT_CASE(timer_without_deadline_stays_pending),
	KUNIT_CASE(largest_deadline_is_accepted),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "twheel_timer",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_cases,
};

kunit_test_suite(timer_suite);
