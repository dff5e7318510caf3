// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, operations with a predicate: who has it evaluated and when,
 * what it carries, and what it may do itself.
 *
 * What others do while it runs is in op_asked_kunit.c.
 */
#include <linux/slab.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "op_probe.h"

/* One that waits under keys @first and following, until its predicate holds. */
static struct probe *asking(struct kunit *test, u64 first, u32 nr)
{
	struct probe *probe = probe_new_asking(test);

	KUNIT_ASSERT_EQ(test, probe_add_asking(probe, TWHEEL_NEVER,
					       probe_keys_new(test, first, nr)), 0);
	probe->asked = 0;
	return probe;
}

static void an_add_completes_what_holds_already(struct kunit *test)
{
	struct probe *keyed = probe_new_asking(test), *plain = probe_new_asking(test);

	keyed->holds = true;
	keyed->carries = 7;
	KUNIT_EXPECT_EQ(test, probe_add_asking(keyed, NSEC_PER_SEC, probe_keys_new(test, 10, 3)),
			1);
	KUNIT_EXPECT_EQ(test, keyed->asked, 1);
	expect_ended(test, keyed, TWHEEL_COMPLETED, 7);

	plain->holds = true;
	KUNIT_EXPECT_EQ(test, probe_add_asking(plain, TWHEEL_NEVER, NULL), 1);
	expect_ended(test, plain, TWHEEL_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, keyed->ended + plain->ended, 2);
}

static void hold_if_asked_twice(struct probe *probe)
{
	probe->holds = probe->asked == 2;
}

static void an_add_evaluates_once_more_when_it_watches(struct kunit *test)
{
	struct probe *late = probe_new_asking(test), *never = probe_new_asking(test);

	late->when_asked = hold_if_asked_twice;
	KUNIT_EXPECT_EQ(test, probe_add_asking(late, TWHEEL_NEVER, probe_keys_new(test, 10, 3)),
			1);
	KUNIT_EXPECT_EQ(test, late->asked, 2);
	expect_ended(test, late, TWHEEL_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);

	KUNIT_EXPECT_EQ(test, probe_add_asking(never, TWHEEL_NEVER, probe_keys_new(test, 10, 3)),
			0);
	KUNIT_EXPECT_EQ(test, never->asked, 2);
	KUNIT_EXPECT_EQ(test, never->ended, 0);
	expect_counts(test, 1, 3, 3);
}

/* What is signalled before it watches is nothing to it; what comes after is. */
static void signal_when_asked_at_first(struct probe *probe)
{
	if (probe->asked == 1)
		probe_signal(10, 0);
}

static void signal_when_asked_again(struct probe *probe)
{
	if (probe->asked == 2)
		probe_signal(10, 0);
}

static void it_watches_between_the_evaluations_of_an_add(struct kunit *test)
{
	struct probe *before = probe_new_asking(test), *after = probe_new_asking(test);

	before->when_asked = signal_when_asked_at_first;
	KUNIT_EXPECT_EQ(test, probe_add_asking(before, TWHEEL_NEVER, probe_keys_new(test, 10, 1)),
			0);
	KUNIT_EXPECT_EQ(test, before->asked, 2);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&before->op), 0);

	after->when_asked = signal_when_asked_again;
	KUNIT_EXPECT_EQ(test, probe_add_asking(after, TWHEEL_NEVER, probe_keys_new(test, 10, 1)),
			0);
	KUNIT_EXPECT_EQ(test, after->asked, 3);
}

static void a_signal_evaluates_those_under_its_key(struct kunit *test)
{
	struct probe *a = asking(test, 10, 2), *b = asking(test, 11, 2);

	a->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(12, 0), 0);
	KUNIT_EXPECT_EQ(test, a->asked, 0);
	KUNIT_EXPECT_EQ(test, b->asked, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 1);
	expect_ended(test, a, TWHEEL_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, b->asked, 2);
	KUNIT_EXPECT_EQ(test, b->ended, 0);
	expect_counts(test, 1, 2, 2);
}

static void a_check_completes_in_order_up_to_its_limit(struct kunit *test)
{
	struct probe *probes[6];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		probes[i] = asking(test, 10, 1);
		probes[i]->holds = i != 1;
	}
	KUNIT_EXPECT_EQ(test, probe_check(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 2), 2);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i]->ended, i == 0 || i == 2);
		KUNIT_EXPECT_EQ(test, probes[i]->asked, i <= 2);
	}
	expect_counts(test, 4, 1, 4);
	/* No limit, and the one that does not hold in the way. */
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 3);
	KUNIT_EXPECT_EQ(test, probes[1]->asked, 2);
	for (i = 2; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i]->order, i);
	expect_counts(test, 1, 1, 1);
}

static void a_check_that_may_sleep_does_the_same(struct kunit *test)
{
	const struct twheel_key key = { .v = { 0, 10 } };
	struct probe *probe = asking(test, 10, 1), *other = asking(test, 10, 1);

	probe->holds = true;
	other->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_check_and_complete(probe_purgatory, &key, 1,
							TWHEEL_MAY_SLEEP), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, twheel_check_and_complete(probe_purgatory, &key, 0,
							TWHEEL_MAY_SLEEP), 1);
	KUNIT_EXPECT_EQ(test, other->ended, 1);
}

static void a_check_is_no_signal(struct kunit *test)
{
	struct probe *any = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *asked = asking(test, 10, 1);

	asked->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 1);
	KUNIT_EXPECT_EQ(test, any->ended, 0);
	expect_counts(test, 1, 1, 1);
}

static void try_complete_tells_what_came_of_it(struct kunit *test)
{
	struct probe *any = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *probe = probe_new_asking(test);

	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -ENOENT);
	KUNIT_EXPECT_EQ(test, probe->asked, 0);
	probe = asking(test, 10, 3);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe->asked, 1);
	probe->holds = true;
	probe->carries = 5;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 5);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);

	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&any->op), 0);
	expect_counts(test, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&any->op), -EALREADY);
}

static void a_declared_condition_is_not_asked(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test);

	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_add(probe, TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 1)), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 6), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 6);
	KUNIT_EXPECT_EQ(test, probe->asked, 0);
}

static void the_value_is_what_the_last_evaluation_set(struct kunit *test)
{
	struct probe *set = asking(test, 10, 1), *unset = asking(test, 11, 1);

	/* Not what one set that did not hold, and not what a signal brings. */
	unset->carries = 8;
	KUNIT_EXPECT_EQ(test, probe_signal(11, 3), 0);
	unset->carries = 0;
	unset->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(11, 4), 1);
	expect_ended(test, unset, TWHEEL_COMPLETED, 0);

	set->carries = 8;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 3), 0);
	set->holds = true;
	set->carries = 9;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 4), 1);
	expect_ended(test, set, TWHEEL_COMPLETED, 9);
}

static void a_further_key_is_a_further_evaluation(struct kunit *test)
{
	struct probe *probe = asking(test, 10, 1), *none = probe_new_asking(test);

	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 10, 2), 1);
	KUNIT_EXPECT_EQ(test, probe->asked, 1);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(11, 0), 0);
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	probe->holds = true;
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 12, 2), 2);
	expect_ended(test, probe, TWHEEL_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, probe, 14, 1), -EALREADY);

	/* One that watched nothing may begin to. */
	KUNIT_EXPECT_EQ(test, probe_add_asking(none, TWHEEL_NEVER, NULL), 0);
	KUNIT_EXPECT_EQ(test, probe_watch(test, none, 10, 1), 1);
	none->holds = true;
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	expect_ended(test, none, TWHEEL_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

static void what_expires_or_is_forced_is_not_asked(struct kunit *test)
{
	struct probe *expires = probe_new_asking(test), *forced = asking(test, 10, 1);

	KUNIT_EXPECT_EQ(test, probe_add_asking(expires, NSEC_PER_SEC,
					       probe_keys_new(test, 10, 2)), 0);
	expires->asked = 0;
	expires->holds = true;
	forced->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_op_complete_error(&forced->op, -EIO), 0);
	expect_ended(test, forced, TWHEEL_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, forced->result.error, -EIO);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_ended(test, expires, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, expires->asked + forced->asked, 0);
	KUNIT_EXPECT_EQ(test, probe_check(10, 0), 0);
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case predicate_cases[] = {
	KUNIT_CASE(an_add_completes_what_holds_already),
	KUNIT_CASE(an_add_evaluates_once_more_when_it_watches),
	KUNIT_CASE(it_watches_between_the_evaluations_of_an_add),
	KUNIT_CASE(a_signal_evaluates_those_under_its_key),
	KUNIT_CASE(a_check_completes_in_order_up_to_its_limit),
	KUNIT_CASE(a_check_that_may_sleep_does_the_same),
	KUNIT_CASE(a_check_is_no_signal),
	KUNIT_CASE(try_complete_tells_what_came_of_it),
	KUNIT_CASE(a_declared_condition_is_not_asked),
	KUNIT_CASE(the_value_is_what_the_last_evaluation_set),
	KUNIT_CASE(a_further_key_is_a_further_evaluation),
	KUNIT_CASE(what_expires_or_is_forced_is_not_asked),
	{}
};

static struct kunit_suite predicate_suite = {
	.name		= "twheel_op_predicate",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= predicate_cases,
};

kunit_test_suite(predicate_suite);
