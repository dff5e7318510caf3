// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5 while the caller is being killed: calls that may take long end early if
 * they are to, say how far they came, and leave nothing behind.
 *
 * A callback sends the signal, so that it comes between two steps of the call.
 */
#include <linux/errno.h>
#include <linux/sched/signal.h>

#include "op_probe.h"

#define NR	100
#define KILLER	5

static const struct twheel_key key = { .v = { 0, 10 } };
static struct probe *probes[NR];

static void die(struct probe *probe)
{
	probe_die();
}

/* All wait under one key; the callback of one of them kills the caller. */
static void wait_for_death(struct kunit *test, unsigned int killer)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		probes[i] = probe_waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	probes[killer]->then = die;
}

/* So many have ended, and those are the first to come if they should be. */
static void expect_some_ended(struct kunit *test, u32 nr, bool in_order)
{
	unsigned int i, nr_ended = 0;

	for (i = 0; i < NR; i++) {
		nr_ended += probes[i]->ended;
		if (in_order)
			KUNIT_EXPECT_EQ_MSG(test, probes[i]->ended, i < nr, "watcher %u", i);
	}
	KUNIT_EXPECT_EQ(test, nr_ended, nr);
	KUNIT_EXPECT_GT(test, nr, 0);
	KUNIT_EXPECT_LT(test, nr, NR);
	expect_counts(test, NR - nr, 1, NR - nr);
}

/* No mark of the call has stayed: with the last watcher the key is gone. */
static void expect_no_mark(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		twheel_op_cancel(&probes[i]->op);
	expect_counts(test, 0, 0, 0);
}

static void a_signal_ends_early(struct kunit *test)
{
	u32 nr;

	wait_for_death(test, KILLER);
	nr = twheel_signal_some(probe_purgatory, &key, 1, 7, 0, TWHEEL_KILLABLE);
	probe_revive();
	expect_some_ended(test, nr, true);
	expect_ended(test, probes[nr - 1], TWHEEL_COMPLETED, 7);
	expect_no_mark(test);
}

static void a_cancel_for_a_key_ends_early(struct kunit *test)
{
	u32 nr;

	wait_for_death(test, KILLER);
	nr = twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, TWHEEL_KILLABLE);
	probe_revive();
	expect_some_ended(test, nr, true);
	expect_ended(test, probes[nr - 1], TWHEEL_CANCELLED, 0);
	expect_no_mark(test);
}

static void a_completion_of_all_ends_early(struct kunit *test)
{
	u32 nr;

	wait_for_death(test, KILLER);
	nr = twheel_complete_all(probe_purgatory, -EIO, 0, TWHEEL_KILLABLE);
	probe_revive();
	expect_some_ended(test, nr, false);
	expect_no_mark(test);
}

static void fatal_signal_after_last_watcher_changes_nothing(struct kunit *test)
{
	wait_for_death(test, NR - 1);
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 0, 0, TWHEEL_KILLABLE),
			NR);
	KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, TWHEEL_KILLABLE), 0);
	probe_revive();
	expect_counts(test, 0, 0, 0);
}

static void a_limit_that_is_reached_is_no_interruption(struct kunit *test)
{
	u32 nr;

	wait_for_death(test, KILLER);
	nr = twheel_signal_some(probe_purgatory, &key, 1, 0, KILLER + 1, TWHEEL_KILLABLE);
	probe_revive();
	KUNIT_EXPECT_EQ(test, nr, KILLER + 1);
	expect_some_ended(test, nr, true);
	expect_no_mark(test);
}

/* A kernel consumer relies on it, whatever process it runs in. */
static void other_calls_are_complete_though_the_caller_is_killed(struct kunit *test)
{
	wait_for_death(test, KILLER);
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 0,
						 0, TWHEEL_MAY_SLEEP), NR);
	wait_for_death(test, KILLER);
	KUNIT_EXPECT_EQ(test, twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL,
						    TWHEEL_MAY_SLEEP),
			NR);
	wait_for_death(test, KILLER);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), NR);
	wait_for_death(test, KILLER);
	KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), NR);
	KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
	probe_revive();
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case killed_cases[] = {
	KUNIT_CASE(a_signal_ends_early),
	KUNIT_CASE(a_cancel_for_a_key_ends_early),
	KUNIT_CASE(a_completion_of_all_ends_early),
	KUNIT_CASE(fatal_signal_after_last_watcher_changes_nothing),
	KUNIT_CASE(a_limit_that_is_reached_is_no_interruption),
	KUNIT_CASE(other_calls_are_complete_though_the_caller_is_killed),
	{}
};

static struct kunit_suite killed_suite = {
	.name		= "twheel_op_killed",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= killed_cases,
};

kunit_test_suite(killed_suite);
