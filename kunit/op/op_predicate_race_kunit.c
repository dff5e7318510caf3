// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with a predicate: calls made while the predicate
 * runs, by other threads or by the predicate itself.
 *
 * The suite of Kafka's DelayedOperationTest has requests by other threads and by the predicate of
 * another operation.
 *
 * A predicate must not sleep, since any caller may evaluate it. Here it does sleep, but
 * only in threads of the test, so that other threads can run in the meantime.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define HALF_A_SECOND	(NSEC_PER_SEC / 2)

/* Add an operation. From now on its predicate takes a second. */
static struct probe *add_slow_predicate(struct kunit *test, u64 delay, u64 first, u32 nr)
{
	struct probe *probe = probe_new_predicate(test);

	KUNIT_ASSERT_EQ(test, watcher_add(test, probe, delay, first, nr), 0);
	probe->evaluated = 0;
	probe->eval_ns = NSEC_PER_SEC;
	return probe;
}

static int try_complete(struct probe *probe)
{
	return twheel_op_try_complete(&probe->op);
}

/* Calls that end an operation while its predicate runs. */
static int complete_op(struct probe *probe)
{
	return twheel_op_complete(&probe->op, 4);
}

static int complete_op_error(struct probe *probe)
{
	return twheel_op_complete_error(&probe->op, -ENOLINK);
}

static int expire_op(struct probe *probe)
{
	return twheel_op_expire(&probe->op);
}

static int cancel_op(struct probe *probe)
{
	return twheel_op_cancel(&probe->op);
}

static int cancel_key(struct probe *probe)
{
	const struct twheel_key key = { .v = { 0, 10 } };

	return twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, 0);
}

static int complete_all_ops(struct probe *probe)
{
	return twheel_complete_all(probe_purgatory, 0, 4, 0);
}

static int wait_for_expiry(struct probe *probe)
{
	vtime_sleep(HALF_A_SECOND / 2);
	return 0;
}

static const struct end_call {
	const char		*name;
	int			(*end)(struct probe *probe);
	int			ret;
	enum twheel_reason	reason;
	int			error;
	u64			value;
} end_calls[] = {
	{ "complete", complete_op, 0, TWHEEL_REASON_COMPLETED, 0, 4 },
	{ "complete with error", complete_op_error, 0, TWHEEL_REASON_COMPLETED, -ENOLINK, 0 },
	{ "expire", expire_op, 0, TWHEEL_REASON_EXPIRED, 0, 0 },
	{ "cancel", cancel_op, 0, TWHEEL_REASON_CANCELLED, 0, 0 },
	{ "cancel for key", cancel_key, 1, TWHEEL_REASON_CANCELLED, 0, 0 },
	{ "complete all", complete_all_ops, 1, TWHEEL_REASON_COMPLETED, 0, 4 },
	{ "expiry", wait_for_expiry, 0, TWHEEL_REASON_EXPIRED, 0, 0 },
};

static void end_call_name(const struct end_call *end_call, char *name)
{
	strscpy(name, end_call->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(end_call, end_calls, end_call_name);

/* The operation is unlinked, but its callback is delayed until the predicate has returned. */
static void expect_unlinked(struct kunit *test, const struct probe *probe)
{
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

static void expect_end_result(struct kunit *test, const struct probe *probe,
			      const struct end_call *end_call, unsigned int evaluated)
{
	expect_ended(test, probe, end_call->reason, end_call->value);
	KUNIT_EXPECT_EQ(test, probe->result.error, end_call->error);
	KUNIT_EXPECT_EQ(test, probe->evaluated, evaluated);
}

static void op_ended_during_predicate_runs_callback_afterwards(struct kunit *test)
{
	const struct end_call *end_call = test->param_value;
	struct probe *probe = add_slow_predicate(test, HALF_A_SECOND + HALF_A_SECOND / 4, 10, 2);
	struct task_struct *task;

	/* The predicate becomes true too late. */
	probe->holds = true;
	probe->value = 99;
	task = probe_fork(test, try_complete, probe);
	vtime_sleep(HALF_A_SECOND);
	KUNIT_EXPECT_EQ(test, end_call->end(probe), end_call->ret);
	expect_unlinked(test, probe);
	KUNIT_EXPECT_EQ(test, try_complete(probe), -EALREADY);
	KUNIT_EXPECT_EQ(test, cancel_op(probe), -EALREADY);
	KUNIT_EXPECT_NE(test, probe_join(task), 1);
	expect_end_result(test, probe, end_call, 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_end_result(test, probe, end_call, 1);
}

/* The same from inside the predicate, in the given evaluation. */
static const struct end_call *inner_call;
static struct kunit *inner_test;
static unsigned int inner_evaluation;

static void end_self(struct probe *probe)
{
	if (probe->evaluated != inner_evaluation)
		return;
	/* Some of the calls may sleep, as a predicate must not. It does no harm here. */
	non_block_end();
	KUNIT_EXPECT_EQ(inner_test, inner_call->end(probe), inner_call->ret);
	non_block_start();
	expect_unlinked(inner_test, probe);
	KUNIT_EXPECT_EQ(inner_test, try_complete(probe), -EALREADY);
	probe->holds = true;
}

/* Evaluations 1 and 2 are done by the add, evaluation 3 by another call. */
static void end_in_predicate(struct kunit *test, const struct end_call *end_call,
			     unsigned int evaluation)
{
	struct probe *probe = probe_new_predicate(test);

	inner_test = test;
	inner_call = end_call;
	inner_evaluation = evaluation;
	probe->on_eval = end_self;
	probe->value = 99;
	KUNIT_EXPECT_EQ(test, watcher_add(test, probe, NSEC_PER_SEC, 10, 3), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, evaluation <= 2);
	KUNIT_EXPECT_NE(test, try_complete(probe), 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_end_result(test, probe, end_call, evaluation);
	expect_counts(test, 0, 0, 0);
}

/* A key is watched from the second evaluation on. */
static void op_may_end_itself_in_predicate(struct kunit *test)
{
	const struct end_call *end_call = test->param_value;
	unsigned int evaluation = end_call->end == cancel_key ? 2 : 1;

	for (; end_call->end != wait_for_expiry && evaluation <= 3; evaluation++)
		end_in_predicate(test, end_call, evaluation);
}

static void end_during_a_wait(struct kunit *test, bool drain)
{
	struct probe *probe = add_slow_predicate(test, TWHEEL_NEVER, 10, 2);
	struct task_struct *task = probe_fork(test, try_complete, probe);

	vtime_sleep(HALF_A_SECOND);
	probe->takes_ns = NSEC_PER_SEC;
	if (drain)
		KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), 1);
	else
		KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&probe->op), 0);
	expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
	KUNIT_EXPECT_FALSE(test, probe->busy);
	KUNIT_EXPECT_EQ(test, probe->evaluated, 1);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_NE(test, probe_join(task), 1);
}

static void cancel_sync_and_drain_wait_for_predicate(struct kunit *test)
{
	end_during_a_wait(test, false);
	end_during_a_wait(test, true);
}

/* The callback of this operation drops the last reference. */
struct lone {
	struct twheel_op	op;
	struct twheel_watch	watch[2];
	unsigned int		left;		/* evaluations until the predicate is true */
};

static unsigned int nr_freed;

static bool lone_try_complete(struct twheel_op *op, u64 *value)
{
	return !--container_of(op, struct lone, op)->left;
}

static void lone_release(struct twheel_op *op)
{
	nr_freed++;
	kfree(container_of(op, struct lone, op));
}

static const struct twheel_op_ops lone_ops = {
	.try_complete	= lone_try_complete,
	.ended		= twheel_op_put,
	.release	= lone_release,
};

static int lone_add(struct kunit *test, unsigned int left)
{
	struct probe_keys *keys = probe_keys_new(test, 10, 2);
	struct lone *lone = kzalloc(sizeof(*lone), GFP_KERNEL);
	const struct twheel_op_args args = {
		.deadline = twheel_deadline(NSEC_PER_SEC), .condition = TWHEEL_COND_PREDICATE,
		.nr_keys = 2, .specs = keys->spec, .watches = lone->watch,
	};

	KUNIT_ASSERT_NOT_NULL(test, lone);
	twheel_op_init(&lone->op, &lone_ops);
	lone->left = left;
	return twheel_op_add(probe_purgatory, &lone->op, &args);
}

static void callback_may_put_last_reference(struct kunit *test)
{
	nr_freed = 0;
	KUNIT_EXPECT_EQ(test, lone_add(test, 1), 1);
	KUNIT_EXPECT_EQ(test, nr_freed, 1);
	KUNIT_EXPECT_EQ(test, lone_add(test, 2), 1);
	KUNIT_EXPECT_EQ(test, nr_freed, 2);
	KUNIT_EXPECT_EQ(test, lone_add(test, 3), 0);
	KUNIT_EXPECT_EQ(test, nr_freed, 2);
	KUNIT_EXPECT_EQ(test, probe_check(11, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_freed, 3);
	KUNIT_EXPECT_EQ(test, lone_add(test, 3), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, nr_freed, 4);
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE_PARAM(op_ended_during_predicate_runs_callback_afterwards, end_call_gen_params),
	KUNIT_CASE_PARAM(op_may_end_itself_in_predicate, end_call_gen_params),
	KUNIT_CASE(cancel_sync_and_drain_wait_for_predicate),
	KUNIT_CASE(callback_may_put_last_reference),
	{}
};

static struct kunit_suite race_suite = {
	.name		= "twheel_op_predicate_race",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= race_cases,
};

kunit_test_suite(race_suite);
