// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with a pending SIGKILL: killable calls return early, report the
 * number of ended operations, and leave no trace.
 *
 * A callback sends the signal, so that it arrives between two steps of the call.
 */
#include <linux/sched/signal.h>
#include <linux/signal.h>

#include "op_probe.h"

#define NR	100
#define KILLER	5

static const struct twheel_key key = { .v = { 0, 10 } };
static struct probe *probes[NR];

static void send_sigkill(struct probe *probe)
{
	allow_kernel_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
}

static void clear_sigkill(void)
{
	flush_signals(current);
	disallow_signal(SIGKILL);
}

/* Add operations that watch the same key. The callback of one of them sends SIGKILL. */
static void add_with_killer(struct kunit *test, unsigned int killer)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		probes[i] = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 1);
	probes[killer]->on_ended = send_sigkill;
}

/* Expect @nr operations to have ended. With @in_order, these are the first ones. */
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

/* The call has left no marker, so the key disappears with its last watcher. */
static void expect_no_marker(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		twheel_op_cancel(&probes[i]->op);
	expect_counts(test, 0, 0, 0);
}

static u32 signal(unsigned int flags)
{
	return twheel_signal_some(probe_purgatory, &key, 1, 0, 0, flags);
}

static u32 cancel_for_key(unsigned int flags)
{
	return twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, flags);
}

static u32 complete_all_ops(unsigned int flags)
{
	return twheel_complete_all(probe_purgatory, 0, 0, flags & TWHEEL_KILLABLE);
}

static u32 drain(unsigned int flags)
{
	return twheel_purgatory_drain(probe_purgatory);
}

/* The last one cannot be killed. */
static u32 (* const calls[])(unsigned int flags) = {
	signal, cancel_for_key, complete_all_ops, drain,
};

static void killed_call_returns_early(struct kunit *test)
{
	unsigned int i;
	u32 nr;

	for (i = 0; i < 3; i++) {
		add_with_killer(test, KILLER);
		nr = calls[i](TWHEEL_KILLABLE);
		clear_sigkill();
		expect_some_ended(test, nr, i < 2);
		expect_no_marker(test);
	}
}

/* A signal that arrives when there is no work left does not interrupt the call. */
static void finished_call_is_not_interrupted(struct kunit *test)
{
	add_with_killer(test, NR - 1);
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 0, 0, TWHEEL_KILLABLE),
			NR);
	KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, TWHEEL_KILLABLE), 0);
	clear_sigkill();
	expect_counts(test, 0, 0, 0);
}

static void call_at_its_limit_is_not_interrupted(struct kunit *test)
{
	u32 nr;

	add_with_killer(test, KILLER);
	nr = twheel_signal_some(probe_purgatory, &key, 1, 0, KILLER + 1, TWHEEL_KILLABLE);
	clear_sigkill();
	KUNIT_EXPECT_EQ(test, nr, KILLER + 1);
	expect_some_ended(test, nr, true);
	expect_no_marker(test);
}

/* Kernel users rely on this when they run in the context of a killed process. */
static void other_calls_ignore_sigkill(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		add_with_killer(test, KILLER);
		KUNIT_EXPECT_EQ(test, calls[i](TWHEEL_MAY_SLEEP), NR);
		KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
		clear_sigkill();
	}
	expect_counts(test, 0, 0, 0);
}

static struct kunit_case killed_cases[] = {
	KUNIT_CASE(killed_call_returns_early),
	KUNIT_CASE(finished_call_is_not_interrupted),
	KUNIT_CASE(call_at_its_limit_is_not_interrupted),
	KUNIT_CASE(other_calls_ignore_sigkill),
	{}
};

static struct kunit_suite killed_suite = {
	.name		= "twheel_op_killed",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= killed_cases,
};

kunit_test_suite(killed_suite);
