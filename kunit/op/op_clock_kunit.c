// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, clocks: operations that bring a wheel of their own for their
 * deadline, and what setting the wall clock does to them.
 *
 * That a step and the end of an operation may meet on two CPUs is for the torture;
 * here the reaper is held up, so that either comes first.
 */
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "op_probe.h"

#define SECOND		((s64)NSEC_PER_SEC)
#define NR_CLOCKS	(TWHEEL_CLOCK_REALTIME + 1)

/* See timer_clock_kunit.c: for how long a step may go unnoticed. */
#define NOTICE_NS	(TICK_NSEC + VTIME_SLOP_NS)

static struct twheel *wheels[NR_CLOCKS];
#define realtime	(wheels[TWHEEL_CLOCK_REALTIME])

/* How far the tests have moved the wall clock. */
static s64 moved;

static void clock_move(struct kunit *test, s64 ns)
{
	moved += ns;
	wall_clock_step(test, ns);
}

static int clock_init(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit" };

	moved = 0;
	/* Away from 1970, so that there is room to go back. */
	clock_move(test, 2000000000 * SECOND - ktime_get_real_ns());
	for (config.clock = 0; config.clock < NR_CLOCKS; config.clock++) {
		wheels[config.clock] = twheel_create(&config);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheels[config.clock]);
	}
	return probe_suite_init(test);
}

static void clock_exit(struct kunit *test)
{
	unsigned int i;

	probe_suite_exit(test);
	for (i = 0; i < NR_CLOCKS; i++) {
		KUNIT_EXPECT_EQ(test, stats_of(wheels[i]).pending, 0);
		twheel_destroy(wheels[i]);
	}
	clock_move(test, -moved);
}

/* Add an operation that watches key @key, if that is not 0. */
static int add_at(struct kunit *test, struct probe *probe, struct twheel *wheel, u64 deadline,
		  unsigned int flags, u64 key)
{
	struct probe_keys *keys = probe_keys_new(test, key, 1);
	const struct twheel_op_args args = {
		.wheel		= wheel,
		.flags		= flags,
		.deadline	= deadline,
		.condition	= key ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.nr_keys	= key ? 1 : 0,
		.specs		= keys->spec,
		.watches	= probe->watch,
	};

	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

/* One that expires after a delay. */
static struct probe *plain_in(struct kunit *test, struct twheel *wheel, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, add_at(test, probe, wheel, twheel_deadline_on(wheel, delay), 0, 0),
			0);
	return probe;
}

/* One that would rather know when the clock is set. */
static struct probe *wary_in(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, add_at(test, probe, realtime, twheel_deadline_on(realtime, delay),
				     TWHEEL_OP_CANCEL_ON_SET, 10), 0);
	return probe;
}

static void expect_on_time(struct kunit *test, const struct probe *probe, u64 deadline)
{
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, 0);
	KUNIT_EXPECT_EQ(test, probe->result.deadline, deadline);
	KUNIT_EXPECT_GE(test, probe->result.time, deadline);
	KUNIT_EXPECT_LE(test, probe->result.time,
			deadline + twheel_tick_ns(realtime) + VTIME_SLOP_NS);
}

static void expect_cancelled(struct kunit *test, const struct probe *probe)
{
	expect_ended(test, probe, TWHEEL_CANCELLED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, -ECANCELED);
}

static u64 deadline_of(struct probe *probe)
{
	struct twheel_op_progress progress = {};

	twheel_op_progress(&probe->op, &progress, NULL, 0);
	return progress.deadline;
}

static u64 remaining(struct probe *probe)
{
	struct twheel_op_progress progress = {};

	twheel_op_progress(&probe->op, &progress, NULL, 0);
	return progress.remaining;
}

static void it_expires_by_the_clock_of_its_wheel(struct kunit *test)
{
	struct probe *probes[NR_CLOCKS];
	u64 deadlines[NR_CLOCKS];
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++) {
		probes[i] = plain_in(test, wheels[i], 10 * SECOND);
		deadlines[i] = deadline_of(probes[i]);
		KUNIT_EXPECT_EQ(test, stats_of(wheels[i]).pending, 1);
	}
	KUNIT_EXPECT_GE(test, deadlines[TWHEEL_CLOCK_REALTIME], 2000000010 * SECOND);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	vtime_sleep(SECOND);
	for (i = 0; i < NR_CLOCKS; i++) {
		KUNIT_EXPECT_LE(test, remaining(probes[i]), 9 * SECOND);
		KUNIT_EXPECT_GT(test, remaining(probes[i]), 8 * SECOND);
	}
	vtime_sleep(10 * SECOND);
	for (i = 0; i < NR_CLOCKS; i++)
		expect_on_time(test, probes[i], deadlines[i]);
	expect_counts(test, 0, 0, 0);
}

/* However it ends, and where none is brought it is the purgatory's wheel that counts. */
static void the_time_of_its_end_is_by_that_clock(struct kunit *test)
{
	struct probe *none = probe_new(test), *real = probe_new(test);
	u64 now, real_now;

	KUNIT_EXPECT_EQ(test, add_at(test, none, NULL, TWHEEL_NEVER, 0, 10), 0);
	KUNIT_EXPECT_EQ(test, add_at(test, real, realtime, TWHEEL_NEVER, 0, 10), 0);
	vtime_sleep(SECOND);
	clock_move(test, 5000 * SECOND);
	now = ktime_get_ns();
	real_now = ktime_get_real_ns();
	KUNIT_EXPECT_EQ(test, probe_signal(10, 3), 2);
	expect_ended(test, none, TWHEEL_COMPLETED, 3);
	expect_ended(test, real, TWHEEL_COMPLETED, 3);
	KUNIT_EXPECT_GE(test, none->result.time, now);
	KUNIT_EXPECT_LE(test, none->result.time, now + VTIME_SLOP_NS);
	KUNIT_EXPECT_GE(test, real->result.time, real_now);
	KUNIT_EXPECT_LE(test, real->result.time, real_now + VTIME_SLOP_NS);
}

static void a_step_forward_expires_what_it_passes(struct kunit *test)
{
	struct probe *passed = plain_in(test, realtime, 3000 * SECOND);
	struct probe *ahead = plain_in(test, realtime, 3660 * SECOND);
	struct probe *boottime = plain_in(test, wheels[TWHEEL_CLOCK_BOOTTIME], 3000 * SECOND);
	struct probe *monotonic = plain_in(test, probe_wheel, 3000 * SECOND);
	u64 now, deadline = deadline_of(ahead);

	clock_move(test, 3600 * SECOND);
	now = twheel_now(realtime);
	vtime_sleep(2 * NOTICE_NS);
	expect_ended(test, passed, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_LE(test, passed->result.time, now + NOTICE_NS);
	KUNIT_EXPECT_LE(test, remaining(ahead), 60 * SECOND);
	vtime_sleep(61 * SECOND);
	expect_on_time(test, ahead, deadline);
	KUNIT_EXPECT_EQ(test, boottime->ended, 0);
	KUNIT_EXPECT_EQ(test, monotonic->ended, 0);
}

static void a_step_back_puts_off_what_waits(struct kunit *test)
{
	struct probe *probe = plain_in(test, realtime, 10 * SECOND);
	u64 deadline = deadline_of(probe);

	vtime_sleep(9 * SECOND);
	clock_move(test, -60 * SECOND);
	vtime_sleep(60 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_GT(test, remaining(probe), 0);
	vtime_sleep(2 * SECOND);
	expect_on_time(test, probe, deadline);
}

static void who_wants_to_know_of_a_step_is_cancelled(struct kunit *test)
{
	static const s64 steps[] = { 1000000, -5 * SECOND, 7 * SECOND };
	struct probe *far, *never, *past, *plain;
	unsigned int i;
	u64 now;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		far = wary_in(test, 100000 * SECOND);
		never = wary_in(test, TWHEEL_NEVER);
		past = wary_in(test, 6 * SECOND);
		plain = plain_in(test, realtime, 100000 * SECOND);
		vtime_sleep(SECOND);
		clock_move(test, steps[i]);
		now = twheel_now(realtime);
		vtime_sleep(2 * NOTICE_NS);
		expect_cancelled(test, far);
		KUNIT_EXPECT_GE(test, far->result.time, now);
		KUNIT_EXPECT_LE(test, far->result.time, now + NOTICE_NS);
		expect_cancelled(test, never);
		expect_cancelled(test, past);
		expect_counts(test, 1, 0, 0);
		KUNIT_EXPECT_EQ(test, twheel_op_cancel(&plain->op), 0);
		KUNIT_EXPECT_EQ(test, plain->result.error, 0);
	}
}

/* Its deadline, a signal, a cancel: and the step comes after that. */
static void without_a_step_it_ends_as_any_other(struct kunit *test)
{
	struct probe *expires = wary_in(test, SECOND);
	u64 deadline = deadline_of(expires);
	struct probe *completes, *cancelled;

	vtime_sleep(2 * SECOND);
	expect_on_time(test, expires, deadline);
	completes = wary_in(test, TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 5), 1);
	cancelled = wary_in(test, 100 * SECOND);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&cancelled->op), 0);
	KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 0);

	clock_move(test, 1000 * SECOND);
	vtime_sleep(SECOND);
	expect_on_time(test, expires, deadline);
	expect_ended(test, completes, TWHEEL_COMPLETED, 5);
	expect_ended(test, cancelled, TWHEEL_CANCELLED, 0);
	KUNIT_EXPECT_EQ(test, cancelled->result.error, 0);
}

/* The add sees the step itself, before anybody has been told. */
static void added_after_a_step_it_is_not_cancelled(struct kunit *test)
{
	struct probe *before = wary_in(test, 100 * SECOND), *after = probe_new(test);
	struct twheel_op_args args = { .wheel = realtime, .flags = TWHEEL_OP_CANCEL_ON_SET };

	vtime_sleep(SECOND);
	preempt_disable();
	clock_move(test, -50 * SECOND);
	args.deadline = twheel_deadline_on(realtime, SECOND);
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &after->op, &args), 0);
	preempt_enable();
	vtime_sleep(SECOND / 2);
	expect_cancelled(test, before);
	KUNIT_EXPECT_EQ(test, after->ended, 0);
	vtime_sleep(SECOND);
	expect_on_time(test, after, args.deadline);
}

static struct kunit *stepping;

static void step_when_asked(struct probe *probe)
{
	probe->when_asked = NULL;
	clock_move(stepping, 3 * SECOND);
}

/* It waits from before its predicate is run for the first time. */
static void a_step_in_the_middle_of_an_add_counts(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test);
	const struct twheel_op_args args = {
		.wheel		= realtime,
		.flags		= TWHEEL_OP_CANCEL_ON_SET,
		.deadline	= TWHEEL_NEVER,
		.condition	= TWHEEL_COND_PREDICATE,
	};

	stepping = test;
	probe->when_asked = step_when_asked;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	expect_cancelled(test, probe);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 0);
}

/* It is the re-arm that sees the step first. */
static void a_rearm_does_not_hide_a_step(struct kunit *test)
{
	static const u64 to[] = { 1, SECOND, 200 * SECOND, TWHEEL_NEVER };
	u64 deadline, moved_to;
	struct probe *probe;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(to); i++) {
		probe = wary_in(test, 100 * SECOND);
		deadline = deadline_of(probe);
		vtime_sleep(SECOND);
		preempt_disable();
		clock_move(test, i % 2 ? 5 * SECOND : -5 * SECOND);
		moved_to = twheel_deadline_on(realtime, to[i]);
		ret = twheel_op_rearm(&probe->op, moved_to, TWHEEL_REARM_ALWAYS);
		preempt_enable();
		KUNIT_EXPECT_EQ(test, ret, -EALREADY);
		expect_cancelled(test, probe);
		KUNIT_EXPECT_EQ(test, probe->result.deadline, deadline);
		KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 0);
		vtime_sleep(2 * SECOND);
		expect_cancelled(test, probe);
	}
}

static void rearmed_without_a_step_it_is_as_wary_as_before(struct kunit *test)
{
	struct probe *probe = wary_in(test, SECOND), *expires = wary_in(test, SECOND);
	u64 deadline = twheel_deadline_on(realtime, 5 * SECOND);

	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probe->op, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&expires->op, deadline, TWHEEL_REARM_IF_PENDING), 1);
	KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 2);
	vtime_sleep(6 * SECOND);
	expect_on_time(test, expires, deadline);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	clock_move(test, SECOND);
	vtime_sleep(2 * NOTICE_NS);
	expect_cancelled(test, probe);
}

#define CROWD	200

/*
 * The reaper cancels one after the other, each with a callback that sleeps, and
 * meanwhile a signal comes for the rest.
 */
static void a_step_and_a_signal_end_each_once(struct kunit *test)
{
	static struct probe *probes[CROWD];
	unsigned int i, cancelled = 0;
	u32 completed;

	for (i = 0; i < CROWD; i++) {
		probes[i] = wary_in(test, i % 2 ? 100 * SECOND : TWHEEL_NEVER);
		probes[i]->takes_ns = SECOND / 100;
	}
	clock_move(test, 10 * SECOND);
	vtime_sleep(SECOND / 2);
	completed = probe_signal(10, 4);
	vtime_sleep(SECOND * CROWD / 50);
	for (i = 0; i < CROWD; i++) {
		if (probes[i]->result.reason == TWHEEL_CANCELLED) {
			expect_cancelled(test, probes[i]);
			cancelled++;
		} else {
			expect_ended(test, probes[i], TWHEEL_COMPLETED, 4);
		}
	}
	KUNIT_EXPECT_GT(test, cancelled, 0);
	KUNIT_EXPECT_GT(test, completed, 0);
	KUNIT_EXPECT_EQ(test, cancelled + completed, CROWD);
	expect_counts(test, 0, 0, 0);
}

static void a_step_that_is_undone_at_once_cancels(struct kunit *test)
{
	struct probe *wary = wary_in(test, 3600 * SECOND), *beaten = wary_in(test, 3600 * SECOND);
	struct probe *plain = plain_in(test, realtime, 10 * SECOND);
	u64 deadline = deadline_of(plain);

	vtime_sleep(SECOND);
	preempt_disable();
	wall_clock_step_and_undo(test, SECOND);
	/* Before the wheel has looked at the clock. */
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&beaten->op, deadline_of(beaten) + SECOND,
					      TWHEEL_REARM_ALWAYS), -EALREADY);
	preempt_enable();
	expect_cancelled(test, beaten);
	vtime_sleep(2 * NOTICE_NS);
	expect_cancelled(test, wary);
	vtime_sleep(10 * SECOND);
	expect_on_time(test, plain, deadline);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(it_expires_by_the_clock_of_its_wheel),
	KUNIT_CASE(the_time_of_its_end_is_by_that_clock),
	KUNIT_CASE(a_step_forward_expires_what_it_passes),
	KUNIT_CASE(a_step_back_puts_off_what_waits),
	KUNIT_CASE(who_wants_to_know_of_a_step_is_cancelled),
	KUNIT_CASE(a_step_that_is_undone_at_once_cancels),
	KUNIT_CASE(without_a_step_it_ends_as_any_other),
	KUNIT_CASE(added_after_a_step_it_is_not_cancelled),
	KUNIT_CASE(a_step_in_the_middle_of_an_add_counts),
	KUNIT_CASE(a_rearm_does_not_hide_a_step),
	KUNIT_CASE(rearmed_without_a_step_it_is_as_wary_as_before),
	KUNIT_CASE(a_step_and_a_signal_end_each_once),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_op_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
