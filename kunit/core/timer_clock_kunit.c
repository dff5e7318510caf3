// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: wheels that use CLOCK_REALTIME or CLOCK_BOOTTIME, and the
 * effect of setting the wall clock.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/processor.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../../twheel/core/step.h"
#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"

/*
 * Maximum delay until a step of the wall clock is noticed: UML has no interrupt for it,
 * and the CPU that sets the clock checks its own hrtimers at the next jiffy.
 */
#define NOTICE_NS	(TICK_NSEC + VTIME_SLOP_NS)

/* A timer that records its expiry by the clock of its wheel. */
struct clock_probe {
	union {
		struct twheel_timer		timer;
		struct twheel_clock_timer	clock_timer;
	};
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
	u64			takes_ns;
	int			error;
};

static struct twheel *wheel;
/* Sum of all steps of the wall clock. */
static s64 moved;

static void clock_fired(struct twheel_timer *timer)
{
	struct clock_probe *probe = container_of(timer, struct clock_probe, timer);

	probe->fired = twheel_now(wheel);
	probe->error = twheel_timer_error(timer);
	probe->nr_fired++;
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
}

static void clock_probe_init(struct clock_probe *probe, unsigned int flags)
{
	memset(probe, 0, sizeof(*probe));
	if (flags & TWHEEL_TIMER_CANCEL_ON_SET)
		twheel_clock_timer_init(&probe->clock_timer, wheel, clock_fired,
					flags & TWHEEL_TIMER_INLINE);
	else
		twheel_timer_init_flags(&probe->timer, wheel, clock_fired, flags);
}

static void add_at(struct kunit *test, struct clock_probe *probe, u64 deadline)
{
	probe->deadline = deadline;
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe->timer, deadline), 0);
}

static void add_in(struct kunit *test, struct clock_probe *probe, u64 delay)
{
	add_at(test, probe, twheel_deadline_on(wheel, delay));
}

static void expect_on_time(struct kunit *test, const struct clock_probe *probe)
{
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe->error, 0);
	KUNIT_EXPECT_GE(test, probe->fired, probe->deadline);
	KUNIT_EXPECT_LE(test, probe->fired,
			probe->deadline + twheel_tick_ns(wheel) + VTIME_SLOP_NS);
}

static void clock_move(struct kunit *test, s64 ns)
{
	moved += ns;
	wall_clock_step(test, ns);
}

static int clock_start(struct kunit *test, enum twheel_clock clock)
{
	const struct twheel_config config = { .name = "kunit", .clock = clock };

	moved = 0;
	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return 0;
}

static int clock_init(struct kunit *test)
{
	/* Far from 1970, so that the clock can be set back. */
	clock_move(test, 2000000000 * NSEC_PER_SEC - ktime_get_real_ns());
	return clock_start(test, TWHEEL_CLOCK_REALTIME);
}

static void clock_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	twheel_destroy(wheel);
	clock_move(test, -moved);
}

/* Only the wheel of the suite is in use. An emptied bucket is still there. */
static void expect_unwatched(struct kunit *test)
{
	vtime_sleep_and_tick(25);
	KUNIT_EXPECT_FALSE(test, twheel_wall.watched);
}

static void idle_wheel_does_not_watch_the_clock(struct kunit *test)
{
	static const s64 steps[] = { -3600 * NSEC_PER_SEC, 7200 * NSEC_PER_SEC };
	static struct clock_probe probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		clock_probe_init(&probe, 0);
		add_in(test, &probe, 1000 * NSEC_PER_SEC);
		vtime_sleep_and_tick(25);
		KUNIT_EXPECT_TRUE(test, twheel_wall.watched);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe.clock_timer.timer), 0);
		expect_unwatched(test);

		clock_move(test, steps[i]);
		clock_probe_init(&probe, TWHEEL_TIMER_CANCEL_ON_SET);
		add_in(test, &probe, NSEC_PER_SEC);
		KUNIT_EXPECT_TRUE(test, twheel_wall.watched);
		vtime_sleep(2 * NSEC_PER_SEC);
		expect_on_time(test, &probe);
		expect_unwatched(test);
	}
	/* A step is noticed at once. */
	clock_probe_init(&probe, TWHEEL_TIMER_CANCEL_ON_SET);
	add_in(test, &probe, NSEC_PER_SEC);
	wall_clock_step_and_undo(test, NSEC_PER_SEC);
	vtime_sleep(NOTICE_NS);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe.error, -ECANCELED);
}

static void sleep_a_second(struct twheel_timer *timer)
{
	vtime_sleep(NSEC_PER_SEC);
}

/* The first of more steps than TWHEEL_WALL_STEPS goes back. The wheel is at 10 s. */
static void step_back_before_many_steps_is_noticed(struct kunit *test)
{
	static struct clock_probe first, between;
	u64 start = twheel_now(wheel);
	unsigned int i;

	clock_probe_init(&first, 0);
	clock_probe_init(&between, 0);
	add_at(test, &first, start + 10 * NSEC_PER_SEC);
	vtime_sleep(11 * NSEC_PER_SEC);
	expect_on_time(test, &first);
	local_irq_disable();
	clock_move(test, -61 * (s64)NSEC_PER_SEC);
	for (i = 0; i < 20; i++)
		clock_move(test, NSEC_PER_MSEC);
	add_at(test, &between, start + 5 * NSEC_PER_SEC);
	local_irq_enable();
	vtime_sleep(60 * NSEC_PER_SEC);
	expect_on_time(test, &between);
}

/*
 * Interrupts are off until many inline timers are due. The alarm runs some of them and
 * leaves the others to its next interrupt. Before that the clock is set back: the others fire
 * nevertheless, as they were due.
 */
static void step_back_between_two_alarms_stops_no_timer(struct kunit *test)
{
	static struct clock_probe probes[50], after;
	unsigned int i, nr_fired = 0;
	u64 until;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		clock_probe_init(&probes[i], TWHEEL_TIMER_INLINE);
		add_in(test, &probes[i], i * twheel_tick_ns(wheel));
	}
	until = ktime_get_ns() + (2 + i) * twheel_tick_ns(wheel);
	local_irq_disable();
	while (ktime_get_ns() < until)
		cpu_relax();
	local_irq_enable();
	vtime_sleep(NSEC_PER_USEC);
	clock_move(test, -60 * (s64)NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		nr_fired += probes[i].nr_fired;
	KUNIT_EXPECT_GT(test, nr_fired, 0);
	KUNIT_EXPECT_LT(test, nr_fired, ARRAY_SIZE(probes));

	clock_probe_init(&after, 0);
	add_in(test, &after, NSEC_PER_SEC);
	vtime_sleep(2 * NOTICE_NS);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_on_time(test, &after);
}

/* The reaper is busy for 50 ms from now on. */
static void keep_busy(struct kunit *test, struct clock_probe *busy)
{
	clock_probe_init(busy, 0);
	busy->takes_ns = 50 * NSEC_PER_MSEC;
	add_at(test, busy, 0);
	vtime_sleep(NSEC_PER_MSEC);
}

/* The alarm is set for the tick after the deadline, and the clock shows the deadline before it. */
static void deadline_in_current_tick_fires_after_step_back(struct kunit *test)
{
	static struct clock_probe probe[2];
	unsigned int i, nr;

	for (nr = 0; nr < 20; nr++) {
		for (i = 0; i < 2; i++) {
			clock_probe_init(&probe[i], i ? TWHEEL_TIMER_INLINE : 0);
			add_at(test, &probe[i], (twheel_now(wheel) / twheel_tick_ns(wheel) + 5) *
			       twheel_tick_ns(wheel) + 1 + nr * 1000);
		}
		preempt_disable();
		while (twheel_now(wheel) < probe[0].deadline)
			cpu_relax();
		clock_move(test, -3600 * (s64)NSEC_PER_SEC);
		preempt_enable();
		vtime_sleep(2 * NOTICE_NS);
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, probe[i].nr_fired, 1);
			twheel_timer_cancel(&probe[i].timer);
		}
		clock_move(test, 3600 * (s64)NSEC_PER_SEC);
		vtime_sleep(2 * NOTICE_NS);
	}
}

/* The time by which the step is noticed late does not count. */
static void late_notice_fires_no_timer_early(struct kunit *test)
{
	static struct clock_probe soon;
	u64 until;

	clock_probe_init(&soon, 0);
	add_in(test, &soon, 10 * NSEC_PER_MSEC);
	until = ktime_get_ns() + 20 * NSEC_PER_MSEC;
	local_irq_disable();
	clock_move(test, -3600 * (s64)NSEC_PER_SEC);
	while (ktime_get_ns() < until)
		cpu_relax();
	local_irq_enable();
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, soon.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&soon.timer), 0);
}

/* A timer that was due by the old time fires normally. */
static void passed_deadline_is_not_cancelled(struct kunit *test)
{
	static struct clock_probe busy, due, ahead;

	keep_busy(test, &busy);
	clock_probe_init(&due, TWHEEL_TIMER_CANCEL_ON_SET);
	clock_probe_init(&ahead, TWHEEL_TIMER_CANCEL_ON_SET);
	add_in(test, &due, 5 * NSEC_PER_MSEC);
	add_in(test, &ahead, 5 * NSEC_PER_MSEC + 2 * twheel_tick_ns(wheel));
	while (twheel_now(wheel) < due.deadline)
		cpu_relax();
	clock_move(test, 3600 * (s64)NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, due.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, due.error, 0);
	KUNIT_EXPECT_EQ(test, ahead.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, ahead.error, -ECANCELED);
}

/* At once, or after the work item has run while the reaper was busy; the timer may be due. */
static void rearm_does_not_hide_step(struct kunit *test)
{
	static const u64 delays[] = { 5 * NSEC_PER_MSEC, 100 * NSEC_PER_SEC, TWHEEL_NEVER };
	static struct clock_probe busy, probe;
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(delays); i++) {
		keep_busy(test, &busy);
		clock_probe_init(&probe, TWHEEL_TIMER_CANCEL_ON_SET);
		add_in(test, &probe, delays[i / 2]);
		vtime_sleep(7 * NSEC_PER_MSEC);
		clock_move(test, i & 1 ? NSEC_PER_SEC : -(s64)NSEC_PER_SEC);
		if (i & 1)
			vtime_sleep(2 * NOTICE_NS);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer,
							 twheel_deadline_on(wheel, NSEC_PER_SEC),
							 TWHEEL_REARM_ALWAYS), -ECANCELED);
		vtime_sleep(60 * NSEC_PER_MSEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, probe.error, i < 2 ? 0 : -ECANCELED);
		/* From now on the step is known. */
		KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer,
							 twheel_deadline_on(wheel, NSEC_PER_SEC),
							 TWHEEL_REARM_ALWAYS), 2);
		KUNIT_EXPECT_EQ(test, twheel_timer_rearm(&probe.timer,
							 twheel_deadline_on(wheel, NSEC_PER_SEC),
							 TWHEEL_REARM_ALWAYS), 1);
		vtime_sleep(2 * NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, probe.nr_fired, 2);
		KUNIT_EXPECT_EQ(test, probe.error, 0);
	}
}

/* A step past the deadline cancels the timer instead of expiring it. */
static void step_cancels_cancel_on_set_timers_at_once(struct kunit *test)
{
	static struct clock_probe done, far, never, plain;
	s64 steps[] = { 1000000, -5000000000LL, 7000000000LL, 200000000000000LL };
	unsigned int i, passed;
	u64 now;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		passed = steps[i] > 100000LL * NSEC_PER_SEC;
		clock_probe_init(&done, TWHEEL_TIMER_CANCEL_ON_SET);
		clock_probe_init(&far, TWHEEL_TIMER_CANCEL_ON_SET);
		clock_probe_init(&never, TWHEEL_TIMER_CANCEL_ON_SET);
		clock_probe_init(&plain, 0);
		add_in(test, &done, NSEC_PER_MSEC);
		add_in(test, &far, 100000 * NSEC_PER_SEC);
		add_at(test, &never, TWHEEL_NEVER);
		add_in(test, &plain, 100000 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, far.nr_fired, 0);
		clock_move(test, steps[i]);
		now = twheel_now(wheel);
		vtime_sleep(2 * NOTICE_NS);
		KUNIT_EXPECT_EQ(test, far.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, far.error, -ECANCELED);
		KUNIT_EXPECT_LE(test, far.fired, now + NOTICE_NS);
		KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&far.timer));
		KUNIT_EXPECT_EQ(test, never.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, never.error, -ECANCELED);
		KUNIT_EXPECT_EQ(test, plain.nr_fired, passed);

		/* Another step does not affect the timers that are not pending. */
		clock_move(test, -steps[i]);
		vtime_sleep(NSEC_PER_SEC);
		KUNIT_EXPECT_EQ(test, far.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, never.nr_fired, 1);
		expect_on_time(test, &done);
		KUNIT_EXPECT_EQ(test, plain.nr_fired, passed);
		KUNIT_EXPECT_EQ(test, plain.error, 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&plain.timer), passed ? -EALREADY : 0);
	}
}

/*
 * As with timerfd, a step cancels timers even if it is undone before the wheel reads the
 * clock.
 */
static void step_undone_at_once_is_noticed(struct kunit *test)
{
	static struct clock_probe far, never, inline_far, plain;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		clock_probe_init(&far, TWHEEL_TIMER_CANCEL_ON_SET);
		clock_probe_init(&never, TWHEEL_TIMER_CANCEL_ON_SET);
		clock_probe_init(&inline_far, TWHEEL_TIMER_CANCEL_ON_SET | TWHEEL_TIMER_INLINE);
		clock_probe_init(&plain, 0);
		add_in(test, &far, 100000 * NSEC_PER_SEC);
		add_at(test, &never, TWHEEL_NEVER);
		add_in(test, &inline_far, 100000 * NSEC_PER_SEC);
		add_in(test, &plain, 100000 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		wall_clock_step_and_undo(test, i % 2 ? NSEC_PER_SEC : -(s64)NSEC_PER_SEC);
		vtime_sleep(2 * NOTICE_NS);
		KUNIT_EXPECT_EQ(test, far.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, far.error, -ECANCELED);
		KUNIT_EXPECT_EQ(test, never.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, never.error, -ECANCELED);
		KUNIT_EXPECT_EQ(test, inline_far.nr_fired, 1);
		KUNIT_EXPECT_EQ(test, inline_far.error, -ECANCELED);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&plain.timer), 0);
	}
}

static u64 sweep_fired;

static void sweep_callback(struct twheel_timer *timer)
{
	sweep_fired = ktime_get_ns();
}

/* Few of the 1024 buckets of a level are in use, so the sweep takes no time. */
static void step_cancels_inline_timer_among_many_slots_at_once(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "kunit", .clock = TWHEEL_CLOCK_REALTIME, .slots = 1024,
	};
	struct twheel *many = twheel_create(&config);
	static struct twheel_clock_timer timer;
	unsigned int i;
	u64 begin;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, many);
	for (i = 0; i < 10; i++) {
		sweep_fired = 0;
		twheel_clock_timer_init(&timer, many, sweep_callback, TWHEEL_TIMER_INLINE);
		twheel_timer_add(&timer.timer,
				 twheel_deadline_on(many, (i + 1) * 3000000 * NSEC_PER_SEC));
		vtime_sleep(NSEC_PER_SEC);
		begin = ktime_get_ns();
		clock_move(test, NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		KUNIT_EXPECT_GE(test, sweep_fired, begin);
		KUNIT_EXPECT_LE(test, sweep_fired, begin + NOTICE_NS);
	}
	twheel_destroy(many);
}

/*
 * A step does not move other timers unless they are due, even after cancel-on-set timers
 * were on the wheel.
 */
static void step_wakes_no_reaper_for_other_timers(struct kunit *test)
{
	static struct clock_probe plain, on_set;
	u64 wakeups, cascaded;
	unsigned int i;

	clock_probe_init(&plain, 0);
	clock_probe_init(&on_set, TWHEEL_TIMER_CANCEL_ON_SET);
	add_in(test, &on_set, 100000 * NSEC_PER_SEC);
	add_in(test, &plain, 100000 * NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	clock_move(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, on_set.error, -ECANCELED);
	wakeups = stats_of(wheel).wakeups;
	cascaded = stats_of(wheel).cascaded;
	for (i = 0; i < 10; i++) {
		clock_move(test, i % 2 ? NSEC_PER_SEC : -(s64)NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_MSEC);
	}
	KUNIT_EXPECT_EQ(test, stats_of(wheel).wakeups, wakeups);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).cascaded, cascaded);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&plain.timer), 0);
}

static unsigned int nr_called;

static void count_call(struct twheel_timer *timer)
{
	struct clock_probe *probe = container_of(timer, struct clock_probe, timer);

	probe->error = twheel_timer_error(timer);
	probe->nr_fired = ++nr_called;
}

/* The timers are due while the reaper is busy, and then the clock is set. */
static void due_timers_fire_before_cancelled_timers(struct kunit *test)
{
	static struct clock_probe due[100], on_set[100];
	static struct twheel_timer busy;
	unsigned int i;

	nr_called = 0;
	twheel_timer_init(&busy, wheel, sleep_a_second);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&busy, 0), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	for (i = 0; i < ARRAY_SIZE(due); i++) {
		clock_probe_init(&due[i], i % 2 ? TWHEEL_TIMER_CANCEL_ON_SET : 0);
		clock_probe_init(&on_set[i], TWHEEL_TIMER_CANCEL_ON_SET);
		due[i].timer.fn = count_call;
		on_set[i].timer.fn = count_call;
		add_in(test, &on_set[i], (1 + i) * NSEC_PER_SEC);
		add_at(test, &due[i], 0);
	}
	clock_move(test, 3600 * NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(due); i++) {
		KUNIT_EXPECT_EQ(test, due[i].error, 0);
		KUNIT_EXPECT_EQ(test, due[i].nr_fired, 1 + i);
		KUNIT_EXPECT_EQ(test, on_set[i].error, -ECANCELED);
		KUNIT_EXPECT_GT(test, on_set[i].nr_fired, ARRAY_SIZE(due));
	}
}

/* Many timers are pending, some of them cancel-on-set timers. */
static void expiry_continues_during_repeated_steps(struct kunit *test)
{
	static struct clock_probe probes[100], far[5000];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		clock_probe_init(&far[i], i % 8 ? 0 : TWHEEL_TIMER_CANCEL_ON_SET);
		add_in(test, &far[i], (1000 + i) * NSEC_PER_SEC);
	}
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		clock_probe_init(&probes[i], 0);
		add_in(test, &probes[i], (2 + i) * NSEC_PER_MSEC);
	}
	for (i = 0; i < ARRAY_SIZE(probes) + 4; i++) {
		clock_move(test, -500 * (s64)NSEC_PER_SEC);
		clock_move(test, 500 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_MSEC);
	}
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
		KUNIT_EXPECT_GE(test, probes[i].fired, probes[i].deadline);
		KUNIT_EXPECT_LE(test, probes[i].fired, probes[i].deadline +
				twheel_tick_ns(wheel) + 2 * NOTICE_NS);
	}
	for (i = 0; i < ARRAY_SIZE(far); i++) {
		KUNIT_EXPECT_EQ(test, far[i].nr_fired, i % 8 ? 0 : 1);
		twheel_timer_cancel(&far[i].timer);
	}
}

/* A cancelled timer may be added again, and the old step does not affect its new deadline. */
static void timer_added_after_cancel_is_not_cancelled(struct kunit *test)
{
	s64 steps[] = { -10000000000LL, 10000000000LL, 1000000000000LL };
	static struct clock_probe probe;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		clock_probe_init(&probe, TWHEEL_TIMER_CANCEL_ON_SET);
		add_in(test, &probe, 100 * NSEC_PER_SEC);
		vtime_sleep(NSEC_PER_SEC);
		clock_move(test, steps[i]);
		vtime_sleep(2 * NOTICE_NS);
		KUNIT_EXPECT_EQ(test, probe.error, -ECANCELED);
		probe.nr_fired = 0;
		add_in(test, &probe, NSEC_PER_SEC);
		vtime_sleep(2 * NSEC_PER_SEC);
		expect_on_time(test, &probe);
	}
}

/* A periodic timer that sets the clock in its first run. */
static struct {
	struct twheel_periodic	periodic;
	struct kunit		*test;
	unsigned int		runs;
	int			error;
} setter;

static void setter_run(struct twheel_periodic *periodic)
{
	setter.error = twheel_timer_error(&periodic->timer);
	if (!setter.runs++)
		clock_move(setter.test, -1000 * (s64)NSEC_PER_SEC);
}

/*
 * While its callback runs, the timer is not on the wheel, so the sweep for cancelled
 * timers does not find it.
 */
static void step_during_callback_cancels_next_run(struct kunit *test)
{
	setter.test = test;
	setter.runs = 0;
	twheel_periodic_init(&setter.periodic, wheel, setter_run, TWHEEL_TIMER_CANCEL_ON_SET);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&setter.periodic,
						    twheel_deadline_on(wheel, NSEC_PER_SEC),
						    NSEC_PER_SEC, 0, TWHEEL_FIXED_RATE), 0);
	vtime_sleep(NSEC_PER_SEC + 2 * NOTICE_NS);
	KUNIT_EXPECT_EQ(test, setter.runs, 2);
	KUNIT_EXPECT_EQ(test, setter.error, -ECANCELED);
	vtime_sleep(200 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, setter.runs, 2);
	twheel_periodic_shutdown_sync(&setter.periodic);
}

static void each_clock_has_a_system_wheel(struct kunit *test)
{
	struct twheel *system[] = {
		twheel_system(),
		twheel_system_clock(TWHEEL_CLOCK_BOOTTIME),
		twheel_system_clock(TWHEEL_CLOCK_REALTIME),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(system); i++)
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, system[i]);
	KUNIT_EXPECT_PTR_EQ(test, twheel_system_clock(TWHEEL_CLOCK_MONOTONIC), system[0]);
	KUNIT_EXPECT_PTR_NE(test, system[0], system[1]);
	KUNIT_EXPECT_PTR_NE(test, system[1], system[2]);
	KUNIT_EXPECT_LE(test, twheel_now(system[2]), ktime_get_real_ns());
	KUNIT_EXPECT_GE(test, twheel_now(system[2]) + NSEC_PER_SEC, ktime_get_real_ns());
	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_system_clock(TWHEEL_CLOCK_REALTIME + 1)), -EINVAL);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(idle_wheel_does_not_watch_the_clock),
	KUNIT_CASE(step_back_before_many_steps_is_noticed),
	KUNIT_CASE(step_back_between_two_alarms_stops_no_timer),
	KUNIT_CASE(deadline_in_current_tick_fires_after_step_back),
	KUNIT_CASE(late_notice_fires_no_timer_early),
	KUNIT_CASE(passed_deadline_is_not_cancelled),
	KUNIT_CASE(rearm_does_not_hide_step),
	KUNIT_CASE(step_cancels_cancel_on_set_timers_at_once),
	KUNIT_CASE(step_undone_at_once_is_noticed),
	KUNIT_CASE(step_cancels_inline_timer_among_many_slots_at_once),
	KUNIT_CASE(step_wakes_no_reaper_for_other_timers),
	KUNIT_CASE(due_timers_fire_before_cancelled_timers),
	KUNIT_CASE(expiry_continues_during_repeated_steps),
	KUNIT_CASE(timer_added_after_cancel_is_not_cancelled),
	KUNIT_CASE(step_during_callback_cancels_next_run),
	KUNIT_CASE(each_clock_has_a_system_wheel),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_timer_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
