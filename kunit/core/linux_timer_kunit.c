// SPDX-License-Identifier: GPL-2.0
/*
 * Guarantees of the kernel's own timers: timer_list, timerfd, and the timeouts of
 * io_uring. The kernel has no named tests of them, so each case is named after the
 * guarantee. Documentation/cases.rst lists them.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "timer_probe.h"

/* timer_list */

/*
 * Like mod_timer_pending(), also in the timer's own callback, where the timer is not
 * pending.
 */
static int rearmed_from_within;

static void rearm_if_pending(struct twheel_timer *timer)
{
	rearmed_from_within = twheel_timer_rearm(timer, 0, TWHEEL_REARM_IF_PENDING);
}

static void modify_only_if_pending(struct kunit *test)
{
	static struct timer_probe probe, own;

	timer_probe_init(&probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 0, TWHEEL_REARM_IF_PENDING), 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
	timer_probe_add(&probe, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 3 * NSEC_PER_SEC,
						TWHEEL_REARM_IF_PENDING), 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	expect_on_time(test, &probe);
	KUNIT_EXPECT_EQ(test, timer_probe_rearm(&probe, 0, TWHEEL_REARM_IF_PENDING), 0);

	rearmed_from_within = -1;
	timer_probe_init(&own);
	twheel_timer_init(&own.timer, timer_wheel, rearm_if_pending);
	timer_probe_add(&own, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, rearmed_from_within, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 2);
}

/*
 * Like timer_delete_sync(), called in steps of 100 us throughout a callback that takes
 * 3 ms and the delay until its next run. The callback always re-arms its timer, but after
 * the call the timer is neither pending nor running.
 */
static void delete_sync_against_a_callback_that_arms_itself(struct kunit *test)
{
	unsigned int i, nr_fired, caught_running = 0, caught_waiting = 0;
	static struct timer_probe probe;

	for (i = 0; i < 100; i++) {
		timer_probe_init(&probe);
		probe.again = UINT_MAX;
		probe.takes_ns = 3 * NSEC_PER_MSEC;
		timer_probe_add(&probe, NSEC_PER_MSEC);
		vtime_sleep(20 * NSEC_PER_MSEC + i * 100 * NSEC_PER_USEC);
		if (probe.running)
			caught_running++;
		else
			caught_waiting++;
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), 0);
		KUNIT_EXPECT_FALSE(test, probe.running);
		KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));
		nr_fired = probe.nr_fired;
		vtime_sleep(20 * NSEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, nr_fired);
	}
	KUNIT_EXPECT_GT(test, caught_running, 0);
	KUNIT_EXPECT_GT(test, caught_waiting, 0);
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

/* Like timer_shutdown_sync(), for a pending, a running and an idle timer. */
static void shutdown_forbids_rearm(struct kunit *test)
{
	static struct timer_probe idle, pending, running;

	timer_probe_init(&idle);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&idle.timer), -EALREADY);
	timer_probe_init(&pending);
	timer_probe_add(&pending, NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&pending.timer), 0);
	timer_probe_init(&running);
	running.again = UINT_MAX;
	running.takes_ns = 10 * NSEC_PER_MSEC;
	timer_probe_add(&running, 0);
	vtime_sleep(5 * NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, running.running);
	KUNIT_EXPECT_EQ(test, twheel_timer_shutdown_sync(&running.timer), -EALREADY);
	KUNIT_EXPECT_FALSE(test, running.running);

	expect_refused(test, &idle);
	expect_refused(test, &pending);
	expect_refused(test, &running);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, idle.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, pending.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, running.nr_fired, 1);
}

static struct kunit_case timer_list_cases[] = {
	KUNIT_CASE(modify_only_if_pending),
	KUNIT_CASE(delete_sync_against_a_callback_that_arms_itself),
	KUNIT_CASE(shutdown_forbids_rearm),
	{}
};

static struct kunit_suite timer_list_suite = {
	.name		= "linux_timer_list",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_list_cases,
};

/* timerfd: a timer that is cancelled when the wall clock is set */

struct set_probe {
	struct twheel_timer	timer;
	unsigned int		nr_fired;
	int			error;
	u64			fired;
};

static void set_probe_fired(struct twheel_timer *timer)
{
	struct set_probe *probe = container_of(timer, struct set_probe, timer);

	probe->nr_fired++;
	probe->error = twheel_timer_error(timer);
	probe->fired = ktime_get_ns();
}

static void set_probe_add(struct kunit *test, struct set_probe *probe, unsigned int flags,
			  u64 delay)
{
	memset(probe, 0, sizeof(*probe));
	twheel_timer_init_flags(&probe->timer, timer_wheel, set_probe_fired, flags);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe->timer,
					       twheel_deadline_on(timer_wheel, delay)), 0);
}

static int timerfd_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "timerfd", .clock = TWHEEL_CLOCK_REALTIME };

	timer_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, timer_wheel);
	return 0;
}

#define FAR	(1000LL * NSEC_PER_SEC)

/* Maximum delay of the cancellation: UML has no interrupt for it, so it takes a jiffy. */
#define NOTICE_NS	(TICK_NSEC + VTIME_SLOP_NS)

/* Step the clock by @step and back, which is a second step. */
static void expect_cancelled_by(struct kunit *test, s64 step)
{
	static struct set_probe probe, keeps, done;
	unsigned int passed = step > FAR;
	u64 set;

	set_probe_add(test, &done, TWHEEL_TIMER_CANCEL_ON_SET, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	set_probe_add(test, &probe, TWHEEL_TIMER_CANCEL_ON_SET, FAR);
	set_probe_add(test, &keeps, 0, FAR);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);

	set = ktime_get_ns();
	wall_clock_step(test, step);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe.error, -ECANCELED);
	KUNIT_EXPECT_LE(test, probe.fired, set + NOTICE_NS);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe.timer));

	/*
	 * Only the first step cancelled the timer, and neither step cancelled the other
	 * timers.
	 */
	wall_clock_step(test, -step);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, keeps.nr_fired, passed);
	KUNIT_EXPECT_EQ(test, keeps.error, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&keeps.timer), passed ? -EALREADY : 0);
	KUNIT_EXPECT_EQ(test, done.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, done.error, 0);

	/* The timer can be added again, and then expires normally. */
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe.timer,
					       twheel_deadline_on(timer_wheel, NSEC_PER_SEC)), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 2);
	KUNIT_EXPECT_EQ(test, probe.error, 0);
}

static void cancel_on_set(struct kunit *test)
{
	expect_cancelled_by(test, 10 * NSEC_PER_SEC);
	expect_cancelled_by(test, -10LL * NSEC_PER_SEC);
	/* A step past the deadline cancels the timer instead of expiring it. */
	expect_cancelled_by(test, 5 * FAR);
}

static struct kunit_case timerfd_cases[] = {
	KUNIT_CASE(cancel_on_set),
	{}
};

static struct kunit_suite timerfd_suite = {
	.name		= "linux_timerfd",
	.init		= timerfd_init,
	.exit		= timer_suite_exit,
	.test_cases	= timerfd_cases,
};

/* io_uring: a cancel races with a firing timeout, with exactly one event */

struct outcomes {
	unsigned int	won;
	unsigned int	firing;
	unsigned int	too_late;
};

static void count_outcome(struct kunit *test, struct outcomes *outcomes, int outcome)
{
	switch (outcome) {
	case 0:
		outcomes->won++;
		break;
	case -EINPROGRESS:
		outcomes->firing++;
		break;
	case -EALREADY:
		outcomes->too_late++;
		break;
	default:
		KUNIT_FAIL(test, "cancel returned %d", outcome);
	}
}

/* Moments from before the deadline until after the callback, which takes 300 us. */
#define NR_MOMENTS	400

static u64 moment(u64 deadline, unsigned int i)
{
	return deadline - NSEC_PER_MSEC + i * 10 * NSEC_PER_USEC;
}

static void cancel_against_a_firing_timer(struct kunit *test)
{
	static struct timer_probe probe;
	struct outcomes outcomes = {};
	unsigned int i;
	int outcome;

	for (i = 0; i < NR_MOMENTS; i++) {
		timer_probe_init(&probe);
		probe.takes_ns = 300 * NSEC_PER_USEC;
		timer_probe_add(&probe, 5 * NSEC_PER_MSEC);
		vtime_sleep_until(moment(probe.deadline, i));
		outcome = twheel_timer_cancel(&probe.timer);
		count_outcome(test, &outcomes, outcome);
		vtime_sleep(5 * NSEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, outcome ? 1 : 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.timer), -EALREADY);
	}
	KUNIT_EXPECT_GT(test, outcomes.won, 0);
	KUNIT_EXPECT_GT(test, outcomes.firing, 0);
	KUNIT_EXPECT_GT(test, outcomes.too_late, 0);
}

/* All timers are due in one tick, and each callback cancels the next timer but one. */
#define NR_PEERS	30

static struct timer_probe peers[NR_PEERS];
static int peer_outcome[NR_PEERS];

static void cancel_peer(struct twheel_timer *timer)
{
	struct timer_probe *probe = container_of(timer, struct timer_probe, timer);
	unsigned int peer = (probe - peers + 2) % NR_PEERS;

	probe->nr_fired++;
	peer_outcome[peer] = twheel_timer_cancel(&peers[peer].timer);
}

static void cancel_against_timers_of_one_tick(struct kunit *test)
{
	u64 deadline = twheel_deadline(10 * NSEC_PER_MSEC);
	unsigned int i, nr_fired = 0, nr_won = 0;

	for (i = 0; i < NR_PEERS; i++) {
		peer_outcome[i] = -EALREADY;
		timer_probe_init(&peers[i]);
		twheel_timer_init(&peers[i].timer, timer_wheel, cancel_peer);
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&peers[i].timer, deadline), 0);
	}
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < NR_PEERS; i++) {
		KUNIT_EXPECT_EQ(test, peers[i].nr_fired, peer_outcome[i] ? 1 : 0);
		nr_fired += peers[i].nr_fired;
		nr_won += !peer_outcome[i];
	}
	KUNIT_EXPECT_EQ(test, nr_fired + nr_won, NR_PEERS);
	KUNIT_EXPECT_GT(test, nr_won, 0);
}

/* An operation has an event: exactly one, with the reason given by the winner. */
static void cancel_against_an_expiring_operation(struct kunit *test)
{
	struct outcomes outcomes = {};
	struct probe *probe;
	unsigned int i;
	int outcome;

	for (i = 0; i < NR_MOMENTS; i++) {
		probe = probe_new(test);
		probe->takes_ns = 300 * NSEC_PER_USEC;
		KUNIT_ASSERT_EQ(test, probe_add(probe, 5 * NSEC_PER_MSEC, TWHEEL_COND_NONE, 0,
						NULL), 0);
		vtime_sleep_until(moment(ktime_get_ns() + 5 * NSEC_PER_MSEC, i));
		outcome = twheel_op_cancel(&probe->op);
		count_outcome(test, &outcomes, outcome);
		vtime_sleep(5 * NSEC_PER_MSEC);
		expect_ended(test, probe, outcome ? TWHEEL_EXPIRED : TWHEEL_CANCELLED, 0);
	}
	KUNIT_EXPECT_GT(test, outcomes.won, 0);
	KUNIT_EXPECT_GT(test, outcomes.too_late, 0);
}

static void cancel_against_a_firing_timeout(struct kunit *test)
{
	timer_suite_init(test);
	cancel_against_a_firing_timer(test);
	cancel_against_timers_of_one_tick(test);
	timer_suite_exit(test);

	probe_suite_init(test);
	cancel_against_an_expiring_operation(test);
	probe_suite_exit(test);
}

static struct kunit_case io_uring_cases[] = {
	KUNIT_CASE(cancel_against_a_firing_timeout),
	{}
};

static struct kunit_suite io_uring_suite = {
	.name		= "linux_io_uring",
	.test_cases	= io_uring_cases,
};

kunit_test_suites(&timer_list_suite, &timerfd_suite, &io_uring_suite);
