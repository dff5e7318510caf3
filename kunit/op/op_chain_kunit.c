// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations that end each other in their callbacks: the stack
 * depth is bounded for a chain of any length, and each callback runs once.
 */
#include <linux/minmax.h>
#include <linux/sched/task_stack.h>
#include <linux/thread_info.h>
#include <linux/time64.h>
#include <linux/timer.h>

#include "../vtime.h"
#include "op_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)
#define CHAIN	1000

/* Least free part of the stack of a task in a callback: half of it, but for a few frames. */
#define STACK_LEFT	(THREAD_SIZE / 2 - 1024)

/* Upper bound on nested callbacks on any other stack. */
#define SOFTIRQ_DEEPEST	4

static struct probe *chain[CHAIN];
static atomic_t next_link;
static unsigned int depth, deepest, softirq_deepest;
static unsigned long least_left;

static void end_next(struct probe *probe)
{
	unsigned int next = atomic_inc_return(&next_link);
	unsigned long left = (unsigned long)__builtin_frame_address(0) -
			     (unsigned long)task_stack_page(current);

	depth++;
	deepest = max(deepest, depth);
	if (left < THREAD_SIZE)
		least_left = min(least_left, left);
	else
		softirq_deepest = max(softirq_deepest, depth);
	if (next < CHAIN)
		twheel_op_complete(&chain[next]->op, next);
	depth--;
}

/* The deadlines differ, so that the timers are in various places of the wheel. */
static void chain_init(struct kunit *test)
{
	struct twheel_op_args args = {};
	unsigned int i;

	atomic_set(&next_link, 0);
	depth = 0;
	deepest = 0;
	softirq_deepest = 0;
	least_left = ULONG_MAX;
	for (i = 0; i < CHAIN; i++) {
		chain[i] = probe_new(test);
		chain[i]->on_ended = end_next;
		args.deadline = i % 3 ? twheel_deadline((i + 1) * SECOND) : TWHEEL_NEVER;
		KUNIT_ASSERT_EQ(test, twheel_op_add(probe_purgatory, &chain[i]->op, &args), 0);
	}
}

static void expect_chain(struct kunit *test)
{
	unsigned int i;

	/* Callbacks may run in any thread, so wait for each of them. */
	for (i = 0; i < CHAIN; i++) {
		while (!READ_ONCE(chain[i]->ended))
			vtime_sleep(NSEC_PER_MSEC);
		twheel_op_cancel_sync(&chain[i]->op);
		expect_ended(test, chain[i], TWHEEL_REASON_COMPLETED, i);
		KUNIT_EXPECT_EQ(test, chain[i]->order, chain[0]->order + i);
	}
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_GT(test, deepest, 1);
	KUNIT_EXPECT_LE(test, softirq_deepest, SOFTIRQ_DEEPEST);
	KUNIT_EXPECT_GE(test, least_left, STACK_LEFT);
}

static void long_chain_completes_on_bounded_stack(struct kunit *test)
{
	chain_init(test);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&chain[0]->op, 0), 0);
	expect_chain(test);
	KUNIT_EXPECT_LT(test, deepest, CHAIN);
}

static void end_first(struct timer_list *timer)
{
	twheel_op_complete(&chain[0]->op, 0);
}

static void chain_may_start_in_softirq(struct kunit *test)
{
	static struct timer_list timer;

	chain_init(test);
	timer_setup(&timer, end_first, 0);
	mod_timer(&timer, jiffies + 1);
	expect_chain(test);
	timer_shutdown_sync(&timer);
}

static bool started, waited;

/* Runs on the reaper. */
static void wait_for_chain(struct twheel_timer *timer)
{
	unsigned int i;

	while (!READ_ONCE(started))
		vtime_sleep(NSEC_PER_MSEC);
	for (i = 0; i < CHAIN; i++)
		twheel_op_cancel_sync(&chain[i]->op);
	WRITE_ONCE(waited, true);
}

static void cancel_sync_on_reaper_waits_for_deferred_callbacks(struct kunit *test)
{
	static struct twheel_timer timer;

	chain_init(test);
	started = false;
	waited = false;
	twheel_timer_init(&timer, probe_wheel, wait_for_chain);
	KUNIT_ASSERT_EQ(test, twheel_timer_add(&timer, 0), 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&chain[0]->op, 0), 0);
	WRITE_ONCE(started, true);
	while (!READ_ONCE(waited))
		vtime_sleep(NSEC_PER_MSEC);
	expect_chain(test);
}

static void destroy_waits_for_chain(struct kunit *test)
{
	unsigned int i;

	chain_init(test);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&chain[0]->op, 0), 0);
	KUNIT_EXPECT_LT(test, atomic_read(&next_link), CHAIN);
	/* It destroys the purgatory. */
	probe_limit(test, CHAIN, 0);
	for (i = 0; i < CHAIN; i++)
		KUNIT_EXPECT_EQ(test, chain[i]->ended, 1);
	KUNIT_EXPECT_GE(test, least_left, STACK_LEFT);
}

static struct kunit_case chain_cases[] = {
	KUNIT_CASE(long_chain_completes_on_bounded_stack),
	KUNIT_CASE(chain_may_start_in_softirq),
	KUNIT_CASE(cancel_sync_on_reaper_waits_for_deferred_callbacks),
	KUNIT_CASE(destroy_waits_for_chain),
	{}
};

static struct kunit_suite chain_suite = {
	.name		= "twheel_op_chain",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= chain_cases,
};

kunit_test_suite(chain_suite);
