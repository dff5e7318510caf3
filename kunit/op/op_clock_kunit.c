// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: operations with their own wheel, and steps of the
 * wall clock.
 *
 * Races between a step and the end of an operation on different CPUs are left to the
 * torture test. Here the reaper is kept busy to get either order.
 */
#include <linux/preempt.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "../stats.h"
#include "../vtime.h"
#include "../wall_clock.h"
#include "op_probe.h"

#define SECOND		((s64)NSEC_PER_SEC)
#define NR_CLOCKS	(TWHEEL_CLOCK_REALTIME + 1)

static struct twheel *wheels[NR_CLOCKS];
#define realtime	(wheels[TWHEEL_CLOCK_REALTIME])

/* Sum of all steps, to restore the clock. */
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
	/* Start far from 1970, so that the clock can be set back. */
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

/* Add an operation that watches @key, unless @key is 0. */
static int add_at(struct kunit *test, struct probe *probe, struct twheel *wheel, u64 deadline,
		  unsigned int flags, u64 key)
{
	struct probe_keys *keys = probe_keys_new(test, key, 1);
	const struct twheel_op_args args = {
		.wheel		= wheel,
		.flags		= flags | (wheel == realtime ? TWHEEL_OP_WALL : 0),
		.deadline	= deadline,
		.condition	= key ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.nr_keys	= key ? 1 : 0,
		.specs		= keys->spec,
		.watches	= probe->watch,
	};

	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

/* Add an operation that expires after @delay. */
static struct probe *add_plain(struct kunit *test, struct twheel *wheel, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, add_at(test, probe, wheel, twheel_deadline_on(wheel, delay), 0, 0),
			0);
	return probe;
}

/* Add an operation that is cancelled if the clock is set. */
static struct probe *add_cancel_on_set(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, add_at(test, probe, realtime, twheel_deadline_on(realtime, delay),
				     TWHEEL_OP_CANCEL_ON_SET, 10), 0);
	return probe;
}

static void expect_cancelled(struct kunit *test, const struct probe *probe)
{
	expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, -ECANCELED);
}

static u64 deadline_of(struct probe *probe)
{
	struct twheel_op_progress progress = {};

	twheel_op_get_progress(&probe->op, &progress, NULL, 0);
	return progress.deadline;
}

static u64 remaining(struct probe *probe)
{
	struct twheel_op_progress progress = {};

	twheel_op_get_progress(&probe->op, &progress, NULL, 0);
	return progress.remaining;
}

static void op_expires_by_clock_of_its_wheel(struct kunit *test)
{
	struct probe *probes[NR_CLOCKS];
	u64 deadlines[NR_CLOCKS];
	unsigned int i;

	for (i = 0; i < NR_CLOCKS; i++) {
		probes[i] = add_plain(test, wheels[i], 10 * SECOND);
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
		expect_expired(test, probes[i], deadlines[i], 0);
	expect_counts(test, 0, 0, 0);
}

/*
 * The end time is reported by the clock of the operation's wheel. Without such a wheel,
 * this is the wheel of the purgatory.
 */
static void end_time_uses_clock_of_wheel(struct kunit *test)
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
	expect_ended(test, none, TWHEEL_REASON_COMPLETED, 3);
	expect_ended(test, real, TWHEEL_REASON_COMPLETED, 3);
	KUNIT_EXPECT_GE(test, none->result.time, now);
	KUNIT_EXPECT_LE(test, none->result.time, now + VTIME_SLOP_NS);
	KUNIT_EXPECT_GE(test, real->result.time, real_now);
	KUNIT_EXPECT_LE(test, real->result.time, real_now + VTIME_SLOP_NS);
}

static void step_cancels_ops_with_cancel_on_set(struct kunit *test)
{
	static const s64 steps[] = { 1000000, -5 * SECOND, 7 * SECOND };
	struct probe *far, *never, *past, *plain;
	unsigned int i;
	u64 now;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		far = add_cancel_on_set(test, 100000 * SECOND);
		never = add_cancel_on_set(test, TWHEEL_NEVER);
		past = add_cancel_on_set(test, 6 * SECOND);
		plain = add_plain(test, realtime, 100000 * SECOND);
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

static struct kunit *step_test;

static void step_in_predicate(struct probe *probe)
{
	probe->on_eval = NULL;
	clock_move(step_test, 3 * SECOND);
}

/* The operation is pending before its predicate is first evaluated. */
static void step_during_add_cancels(struct kunit *test)
{
	struct probe *probe = probe_new_predicate(test);
	const struct twheel_op_args args = {
		.wheel		= realtime,
		.flags		= TWHEEL_OP_WALL | TWHEEL_OP_CANCEL_ON_SET,
		.deadline	= TWHEEL_NEVER,
		.condition	= TWHEEL_COND_PREDICATE,
	};

	step_test = test;
	probe->on_eval = step_in_predicate;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	expect_cancelled(test, probe);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 0);
}

/* The re-arm is the first call that sees the step. */
static void rearm_does_not_hide_step(struct kunit *test)
{
	static const u64 to[] = { 1, SECOND, 200 * SECOND, TWHEEL_NEVER };
	u64 deadline, new_deadline;
	struct probe *probe;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(to); i++) {
		probe = add_cancel_on_set(test, 100 * SECOND);
		deadline = deadline_of(probe);
		vtime_sleep(SECOND);
		preempt_disable();
		clock_move(test, i % 2 ? 5 * SECOND : -5 * SECOND);
		new_deadline = twheel_deadline_on(realtime, to[i]);
		ret = twheel_op_rearm(&probe->op, new_deadline, TWHEEL_REARM_ALWAYS);
		preempt_enable();
		KUNIT_EXPECT_EQ(test, ret, -EALREADY);
		expect_cancelled(test, probe);
		KUNIT_EXPECT_EQ(test, probe->result.deadline, deadline);
		KUNIT_EXPECT_EQ(test, stats_of(realtime).pending, 0);
		vtime_sleep(2 * SECOND);
		expect_cancelled(test, probe);
	}
}

#define NR_OPS	200

/*
 * The reaper cancels one operation after another, each with a callback that sleeps. A
 * signal completes the rest in the meantime.
 */
static void step_and_signal_end_each_op_once(struct kunit *test)
{
	static struct probe *probes[NR_OPS];
	unsigned int i, cancelled = 0;
	u32 completed;

	for (i = 0; i < NR_OPS; i++) {
		probes[i] = add_cancel_on_set(test, i % 2 ? 100 * SECOND : TWHEEL_NEVER);
		probes[i]->takes_ns = SECOND / 100;
	}
	clock_move(test, 10 * SECOND);
	vtime_sleep(SECOND / 2);
	completed = probe_signal(10, 4);
	vtime_sleep(SECOND * NR_OPS / 50);
	for (i = 0; i < NR_OPS; i++) {
		if (probes[i]->result.reason == TWHEEL_REASON_CANCELLED) {
			expect_cancelled(test, probes[i]);
			cancelled++;
		} else {
			expect_ended(test, probes[i], TWHEEL_REASON_COMPLETED, 4);
		}
	}
	KUNIT_EXPECT_GT(test, cancelled, 0);
	KUNIT_EXPECT_GT(test, completed, 0);
	KUNIT_EXPECT_EQ(test, cancelled + completed, NR_OPS);
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(op_expires_by_clock_of_its_wheel),
	KUNIT_CASE(end_time_uses_clock_of_wheel),
	KUNIT_CASE(step_cancels_ops_with_cancel_on_set),
	KUNIT_CASE(step_during_add_cancels),
	KUNIT_CASE(rearm_does_not_hide_step),
	KUNIT_CASE(step_and_signal_end_each_op_once),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_op_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
