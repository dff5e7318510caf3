// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, operations with a predicate, while that runs: what others
 * may do meanwhile, and it itself.
 *
 * A predicate must not sleep, since it may be evaluated by anybody. Here it does,
 * where a thread of the test's own is the one that evaluates it, so that
 * others have the time to come.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define HALF_A_SECOND	(NSEC_PER_SEC / 2)

/* One whose predicate, when it is asked after the add, takes a second. */
static struct probe *slowly_asking(struct kunit *test, u64 delay, u64 first, u32 nr)
{
	struct probe *probe = probe_new_asking(test);

	KUNIT_ASSERT_EQ(test, probe_add_asking(probe, delay, probe_keys_new(test, first, nr)), 0);
	probe->asked = 0;
	probe->asked_ns = NSEC_PER_SEC;
	return probe;
}

static int try_complete(struct probe *probe)
{
	return twheel_op_try_complete(&probe->op);
}

static void requests_made_meanwhile_are_one_more_evaluation(struct kunit *test)
{
	struct probe *probe = slowly_asking(test, TWHEEL_NEVER, 10, 2);
	struct task_struct *task = probe_fork(test, try_complete, probe);

	vtime_sleep(HALF_A_SECOND);
	KUNIT_EXPECT_EQ(test, try_complete(probe), 0);
	KUNIT_EXPECT_EQ(test, try_complete(probe), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_check(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 12, 1), 1);
	KUNIT_EXPECT_EQ(test, probe->asked, 1);
	KUNIT_EXPECT_EQ(test, probe_join(task), 0);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe->intruders, 0);
	expect_counts(test, 1, 3, 3);
}

static void what_comes_true_meanwhile_is_not_missed(struct kunit *test)
{
	struct probe *probe = slowly_asking(test, TWHEEL_NEVER, 10, 2);
	struct task_struct *task = probe_fork(test, try_complete, probe);

	vtime_sleep(HALF_A_SECOND);
	probe->holds = true;
	probe->carries = 3;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_join(task), 1);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	expect_ended(test, probe, TWHEEL_COMPLETED, 3);
	expect_counts(test, 0, 0, 0);
}

/* Who is asked by itself is asked again, once, when it has answered. */
static void ask_itself(struct probe *probe)
{
	unsigned int i;

	for (i = 0; i < 3 && probe->asked == 1; i++)
		if (try_complete(probe) || probe_check(10, 0) || probe_signal(10, 0))
			probe->intruders++;
}

static void a_predicate_may_ask_for_itself(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test);

	KUNIT_EXPECT_EQ(test, probe_add_asking(probe, TWHEEL_NEVER, probe_keys_new(test, 10, 1)),
			0);
	probe->asked = 0;
	probe->when_asked = ask_itself;
	KUNIT_EXPECT_EQ(test, try_complete(probe), 0);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	KUNIT_EXPECT_EQ(test, probe->intruders, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

/* The ways in which others, or it itself, may end it meanwhile. */
static int complete_it(struct probe *probe)
{
	return twheel_op_complete(&probe->op, 4);
}

static int complete_it_with_an_error(struct probe *probe)
{
	return twheel_op_complete_error(&probe->op, -ENOLINK);
}

static int cancel_it(struct probe *probe)
{
	return twheel_op_cancel(&probe->op);
}

static int cancel_its_key(struct probe *probe)
{
	const struct twheel_key key = { .v = { 0, 10 } };

	return twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, 0);
}

static int complete_them_all(struct probe *probe)
{
	return twheel_complete_all(probe_purgatory, 0, 4, 0);
}

static int let_it_expire(struct probe *probe)
{
	vtime_sleep(HALF_A_SECOND / 2);
	return 0;
}

static const struct way {
	const char		*name;
	int			(*end)(struct probe *probe);
	int			ret;
	enum twheel_reason	reason;
	int			error;
	u64			value;
} ways[] = {
	{ "complete", complete_it, 0, TWHEEL_COMPLETED, 0, 4 },
	{ "complete with error", complete_it_with_an_error, 0, TWHEEL_COMPLETED, -ENOLINK, 0 },
	{ "cancel", cancel_it, 0, TWHEEL_CANCELLED, 0, 0 },
	{ "cancel for key", cancel_its_key, 1, TWHEEL_CANCELLED, 0, 0 },
	{ "complete all", complete_them_all, 1, TWHEEL_COMPLETED, 0, 4 },
};

static const struct way expiry = { "expire", let_it_expire, 0, TWHEEL_EXPIRED, 0, 0 };

static void way_name(const struct way *way, char *name)
{
	strscpy(name, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(way, ways, way_name);

/* It has left everything, but for the callback that its predicate holds up. */
static void expect_left(struct kunit *test, const struct probe *probe)
{
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

static void expect_way(struct kunit *test, const struct probe *probe, const struct way *way,
		       unsigned int asked)
{
	expect_ended(test, probe, way->reason, way->value);
	KUNIT_EXPECT_EQ(test, probe->result.error, way->error);
	KUNIT_EXPECT_EQ(test, probe->asked, asked);
}

static void ended_meanwhile(struct kunit *test, const struct way *way)
{
	struct probe *probe = slowly_asking(test, HALF_A_SECOND + HALF_A_SECOND / 4, 10, 2);
	struct task_struct *task;

	/* That it holds comes too late. */
	probe->holds = true;
	probe->carries = 99;
	task = probe_fork(test, try_complete, probe);
	vtime_sleep(HALF_A_SECOND);
	KUNIT_EXPECT_EQ(test, way->end(probe), way->ret);
	expect_left(test, probe);
	KUNIT_EXPECT_EQ(test, try_complete(probe), -EALREADY);
	KUNIT_EXPECT_EQ(test, cancel_it(probe), -EALREADY);
	KUNIT_EXPECT_NE(test, probe_join(task), 1);
	expect_way(test, probe, way, 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_way(test, probe, way, 1);
}

static void others_may_end_it_meanwhile(struct kunit *test)
{
	ended_meanwhile(test, test->param_value);
}

static void it_may_expire_meanwhile(struct kunit *test)
{
	ended_meanwhile(test, &expiry);
}

/* The same from within, at the how many-th evaluation, and what is seen there. */
static const struct way *way_within;
static struct kunit *test_within;
static unsigned int when_within;

static void end_itself(struct probe *probe)
{
	if (probe->asked != when_within)
		return;
	KUNIT_EXPECT_EQ(test_within, way_within->end(probe), way_within->ret);
	expect_left(test_within, probe);
	KUNIT_EXPECT_EQ(test_within, try_complete(probe), -EALREADY);
	probe->holds = true;
}

/* An add evaluates it twice, and the third evaluation is another's. */
static void ends_itself(struct kunit *test, const struct way *way, unsigned int when)
{
	struct probe *probe = probe_new_asking(test);

	test_within = test;
	way_within = way;
	when_within = when;
	probe->when_asked = end_itself;
	probe->carries = 99;
	KUNIT_EXPECT_EQ(test, probe_add_asking(probe, NSEC_PER_SEC, probe_keys_new(test, 10, 3)),
			0);
	KUNIT_EXPECT_EQ(test, probe->ended, when <= 2);
	KUNIT_EXPECT_NE(test, try_complete(probe), 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_way(test, probe, way, when);
	expect_counts(test, 0, 0, 0);
}

static void it_may_end_itself(struct kunit *test)
{
	ends_itself(test, test->param_value, 3);
}

static void it_may_end_itself_as_it_begins_to_watch(struct kunit *test)
{
	ends_itself(test, test->param_value, 2);
}

static void it_may_end_itself_before_it_watches(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (ways[i].end != cancel_its_key)
			ends_itself(test, &ways[i], 1);
}

static void a_cancel_that_waits_waits_for_the_predicate(struct kunit *test)
{
	struct probe *probe = slowly_asking(test, TWHEEL_NEVER, 10, 2);
	struct task_struct *task = probe_fork(test, try_complete, probe);

	vtime_sleep(HALF_A_SECOND);
	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&probe->op), 0);
	expect_ended(test, probe, TWHEEL_CANCELLED, 0);
	KUNIT_EXPECT_FALSE(test, probe->busy);
	KUNIT_EXPECT_NE(test, probe_join(task), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&probe->op), -EALREADY);
}

static void a_drain_waits_for_the_predicate(struct kunit *test)
{
	struct probe *probe = slowly_asking(test, TWHEEL_NEVER, 10, 2);
	struct task_struct *task = probe_fork(test, try_complete, probe);

	vtime_sleep(HALF_A_SECOND);
	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), 1);
	expect_ended(test, probe, TWHEEL_CANCELLED, 0);
	KUNIT_EXPECT_FALSE(test, probe->busy);
	KUNIT_EXPECT_EQ(test, probe->asked, 1);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_NE(test, probe_join(task), 1);
}

/* What a predicate does to others. */
static struct probe *others[4];

static void deal_with_others(struct probe *probe)
{
	const struct twheel_op_args args = { .deadline = TWHEEL_NEVER };

	if (probe->asked > 1)
		return;
	if (probe_signal(20, 5) != 1 || twheel_op_cancel(&others[1]->op) ||
	    twheel_op_complete(&others[2]->op, 6) ||
	    twheel_op_add(probe_purgatory, &others[3]->op, &args))
		probe->intruders++;
}

static void a_predicate_may_deal_with_others(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test);
	unsigned int i;

	for (i = 0; i < 3; i++)
		others[i] = probe_waiting(test, TWHEEL_COND_ANY, 0, 20 + i, 1);
	others[3] = probe_new(test);
	probe->when_asked = deal_with_others;
	KUNIT_EXPECT_EQ(test, probe_add_asking(probe, TWHEEL_NEVER, probe_keys_new(test, 20, 4)),
			0);
	expect_ended(test, others[0], TWHEEL_COMPLETED, 5);
	expect_ended(test, others[1], TWHEEL_CANCELLED, 0);
	expect_ended(test, others[2], TWHEEL_COMPLETED, 6);
	KUNIT_EXPECT_EQ(test, others[3]->ended, 0);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	KUNIT_EXPECT_EQ(test, probe->intruders, 0);
	expect_counts(test, 2, 4, 4);
}

/* Each asks the other, which is being asked just then. */
static void ask_the_other(struct probe *probe)
{
	if (probe->asked == 1)
		probe_signal(probe == others[0] ? 11 : 10, 0);
}

static void predicates_may_signal_each_other(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		others[i] = slowly_asking(test, TWHEEL_NEVER, 10 + i, 1);
	for (i = 0; i < 2; i++) {
		others[i]->asked_ns = 0;
		others[i]->when_asked = ask_the_other;
	}
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, others[0]->asked, 2);
	KUNIT_EXPECT_EQ(test, others[1]->asked, 1);
	KUNIT_EXPECT_EQ(test, others[0]->intruders + others[1]->intruders, 0);
}

/* One whose last reference its callback gives back. */
struct lone {
	struct twheel_op	op;
	struct twheel_watch	watch[2];
	unsigned int		left;		/* evaluations until it holds */
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

static void its_callback_may_give_the_last_reference_back(struct kunit *test)
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

static struct kunit_case asked_cases[] = {
	KUNIT_CASE(requests_made_meanwhile_are_one_more_evaluation),
	KUNIT_CASE(what_comes_true_meanwhile_is_not_missed),
	KUNIT_CASE(a_predicate_may_ask_for_itself),
	KUNIT_CASE_PARAM(others_may_end_it_meanwhile, way_gen_params),
	KUNIT_CASE(it_may_expire_meanwhile),
	KUNIT_CASE_PARAM(it_may_end_itself, way_gen_params),
	KUNIT_CASE_PARAM(it_may_end_itself_as_it_begins_to_watch, way_gen_params),
	KUNIT_CASE(it_may_end_itself_before_it_watches),
	KUNIT_CASE(a_cancel_that_waits_waits_for_the_predicate),
	KUNIT_CASE(a_drain_waits_for_the_predicate),
	KUNIT_CASE(a_predicate_may_deal_with_others),
	KUNIT_CASE(predicates_may_signal_each_other),
	KUNIT_CASE(its_callback_may_give_the_last_reference_back),
	{}
};

static struct kunit_suite asked_suite = {
	.name		= "twheel_op_asked",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= asked_cases,
};

kunit_test_suite(asked_suite);
