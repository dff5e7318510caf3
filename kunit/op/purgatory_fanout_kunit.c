// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5 with a hundred thousand watchers of one key: all that can be
 * done to all of them at once ends in exact counts, and lets others run.
 *
 * These others are a thread that wants to run every millisecond, and uses the
 * same purgatory, wheel and key each time. Callbacks take 10 us each, so that how
 * many there were between two of its turns tells for how long it could not run.
 *
 * What is done under a lock takes no time in virtual time. How much that is at once
 * is seen from the callbacks: how many more have ended, or were told, by then.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define NR		100000
#define KEY		10
#define PAUSE_NS	NSEC_PER_MSEC
#define CALL_NS		(10 * NSEC_PER_USEC)

/* 100 ms: the kernel's scheduler lets who wants to run do so within a few ticks. */
#define MOST_CALLS	10000

/* Far more than are looked at under a lock, and far less than all. */
#define MOST		1000

struct watcher {
	struct twheel_op	op;
	struct twheel_watch	watch[1];
	struct twheel_op_result	result;
	unsigned int		ended;
	unsigned int		order;
	unsigned int		handed;
	bool			holds;
	void			(*then)(struct watcher *watcher);
};

static struct watcher *watchers;
static unsigned int nr_ended;

/* How many, at most, had ended and were still to be called back. */
static unsigned int most_at_once;

static bool watcher_try_complete(struct twheel_op *op, u64 *value)
{
	*value = 3;
	return container_of(op, struct watcher, op)->holds;
}

/* All of them are in the purgatory, or were, and the neighbour at times. */
static void look_who_has_ended(void)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(probe_purgatory, &stats);
	if (stats.pending + nr_ended < NR)
		most_at_once = max_t(unsigned int, most_at_once, NR - stats.pending - nr_ended);
}

static void watcher_ended(struct twheel_op *op)
{
	struct watcher *watcher = container_of(op, struct watcher, op);

	twheel_op_result(op, &watcher->result);
	watcher->ended++;
	watcher->order = ++nr_ended;
	if (nr_ended % (MOST / 2) == 1)
		look_who_has_ended();
	ndelay(CALL_NS);
	if (watcher->then)
		watcher->then(watcher);
}

static void watcher_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops watcher_ops = {
	.try_complete	= watcher_try_complete,
	.ended		= watcher_ended,
	.release	= watcher_release,
};

static int watcher_add(struct watcher *watcher, u64 deadline, enum twheel_condition condition,
		       u32 need)
{
	const struct twheel_watch_spec spec = { .key = { .v = { 0, KEY } }, .need = need };
	const struct twheel_op_args args = {
		.deadline = deadline, .condition = condition,
		.nr_keys = 1, .specs = &spec, .watches = watcher->watch,
	};

	twheel_op_init(&watcher->op, &watcher_ops);
	return twheel_op_add(probe_purgatory, &watcher->op, &args);
}

static void watch_all(struct kunit *test, u64 deadline, enum twheel_condition condition, u32 need)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		if (watcher_add(&watchers[i], deadline, condition, need))
			break;
	KUNIT_ASSERT_EQ(test, i, NR);
	expect_counts(test, NR, 1, NR);
}

/* The other one, and what it does each time. */
static struct probe *neighbour;
static struct probe_keys *neighbour_keys;
static unsigned int nr_turns, nr_troubles, most_calls;

static void take_turn(void)
{
	if (probe_add(neighbour, NSEC_PER_SEC, TWHEEL_COND_ALL, 0, neighbour_keys) ||
	    twheel_op_rearm(&neighbour->op, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS) != 1 ||
	    probe_signal(KEY + 1, 0) || twheel_op_cancel(&neighbour->op))
		nr_troubles++;
	probe_again(neighbour);
}

static int take_turns(void *unused)
{
	unsigned int before = nr_ended;

	while (!kthread_should_stop()) {
		vtime_sleep(PAUSE_NS);
		most_calls = max(most_calls, nr_ended - before);
		before = nr_ended;
		take_turn();
		nr_turns++;
	}
	return 0;
}

static struct task_struct *let_others_run(struct kunit *test)
{
	struct task_struct *task;

	nr_turns = 0;
	nr_troubles = 0;
	most_calls = 0;
	task = kthread_create(take_turns, NULL, "twheel_probe");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	wake_up_process(task);
	vtime_sleep(10 * PAUSE_NS);
	return task;
}

static void expect_others_ran(struct kunit *test, struct task_struct *task)
{
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_GT(test, nr_turns, NR / MOST_CALLS);
	KUNIT_EXPECT_LE(test, most_calls, MOST_CALLS);
	KUNIT_EXPECT_LE(test, most_at_once, MOST);
	KUNIT_EXPECT_EQ(test, nr_troubles, 0);
	KUNIT_EXPECT_EQ(test, neighbour->ended, nr_turns);
	KUNIT_EXPECT_EQ(test, neighbour->released, nr_turns);
}

/* Each once and as it should be, and in the order in which they came. */
static void expect_all_ended(struct kunit *test, const struct twheel_op_result *result,
			     bool ordered)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < NR; i++)
		wrong += watchers[i].ended != 1 ||
			 watchers[i].result.reason != result->reason ||
			 watchers[i].result.error != result->error ||
			 watchers[i].result.value != result->value ||
			 (ordered && watchers[i].order != i + 1);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

static void they_complete_by_one_signal(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 5 };
	struct task_struct *task;

	watch_all(test, TWHEEL_NEVER, TWHEEL_COND_ANY, 1);
	task = let_others_run(test);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 5), NR);
	expect_others_ran(test, task);
	expect_all_ended(test, &result, false);
}

static void they_complete_in_order(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 5 };
	const struct twheel_key key = { .v = { 0, KEY } };

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), TWHEEL_COND_ALL, 1);
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 5,
						 0, TWHEEL_MAY_SLEEP), NR);
	expect_all_ended(test, &result, true);
}

static void they_expire_at_once(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_EXPIRED };
	u64 deadline = twheel_deadline(NSEC_PER_SEC);
	struct task_struct *task;
	unsigned int i, early = 0;

	watch_all(test, deadline, TWHEEL_COND_ANY, 1);
	vtime_sleep_until(deadline - 20 * PAUSE_NS);
	KUNIT_EXPECT_EQ(test, nr_ended, 0);
	task = let_others_run(test);
	vtime_sleep(5 * (u64)NSEC_PER_SEC);
	expect_others_ran(test, task);
	expect_all_ended(test, &result, false);
	for (i = 0; i < NR; i++)
		early += watchers[i].result.time < deadline;
	KUNIT_EXPECT_EQ(test, early, 0);
}

static u32 missing(struct watcher *watcher)
{
	struct twheel_op_progress progress;
	struct twheel_watch_spec spec;

	if (twheel_op_progress(&watcher->op, &progress, &spec, 1))
		return 0;
	return spec.need;
}

static void they_count_a_signal_that_completes_none(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 7 };
	unsigned int i, wrong = 0;

	watch_all(test, TWHEEL_NEVER, TWHEEL_COND_ANY, 2);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 6), 0);
	expect_counts(test, NR, 1, NR);
	for (i = 0; i < NR; i++)
		wrong += watchers[i].ended || missing(&watchers[i]) != 1;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 7), NR);
	expect_all_ended(test, &result, true);
}

/* Those just before it have been told by now, and those far behind it have not. */
static void look_who_was_told(struct watcher *watcher)
{
	if (watcher > watchers && missing(watcher - 1) != 1)
		nr_troubles++;
	if (watcher + MOST < watchers + NR && missing(watcher + MOST - 1) != 2)
		nr_troubles++;
}

static void those_that_remain_are_told_few_at_a_time(struct kunit *test)
{
	struct task_struct *task;
	unsigned int i, left = NR - NR / MOST / 5;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, watcher_add(&watchers[i], TWHEEL_NEVER, TWHEEL_COND_ANY,
						  i % (5 * MOST) ? 2 : 1), 0);
	for (i = 0; i < NR; i += 5 * MOST)
		watchers[i].then = look_who_was_told;
	task = let_others_run(test);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR - left);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, nr_troubles, 0);
	expect_counts(test, left, 1, left);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), left);
}

static void handed(struct twheel_op *op, void *data)
{
	struct watcher *watcher = container_of(op, struct watcher, op);

	/* After its callback, and with what it was called with. */
	watcher->handed += watcher->ended == 1 && data == watchers;
}

static void they_are_cancelled_for_the_key(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_CANCELLED };
	const struct twheel_key key = { .v = { 0, KEY } };
	struct task_struct *task;
	unsigned int i, wrong = 0;

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), TWHEEL_COND_ANY, 1);
	task = let_others_run(test);
	KUNIT_EXPECT_EQ(test, twheel_cancel_for_key(probe_purgatory, &key, handed, watchers, 0), NR);
	expect_others_ran(test, task);
	expect_all_ended(test, &result, false);
	for (i = 0; i < NR; i++)
		wrong += watchers[i].handed != 1;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_for_key(probe_purgatory, &key, handed, watchers, 0), 0);
}

static void their_predicates_come_true(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 3 };
	struct task_struct *task;
	unsigned int i;

	watch_all(test, TWHEEL_NEVER, TWHEEL_COND_PREDICATE, 1);
	KUNIT_EXPECT_EQ(test, probe_check(KEY, 0), 0);
	for (i = 0; i < NR; i++)
		watchers[i].holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(KEY, NR / 4), NR / 4);
	expect_counts(test, NR - NR / 4, 1, NR - NR / 4);
	task = let_others_run(test);
	KUNIT_EXPECT_EQ(test, probe_check(KEY, 0), NR - NR / 4);
	expect_others_ran(test, task);
	expect_all_ended(test, &result, false);
}

static void they_are_complete_when_they_come(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 3 };
	unsigned int i, wrong = 0;

	for (i = 0; i < NR; i++) {
		watchers[i].holds = true;
		wrong += watcher_add(&watchers[i], twheel_deadline(NSEC_PER_SEC),
				     TWHEEL_COND_PREDICATE, 1) != 1;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_all_ended(test, &result, true);
}

static void they_are_overdue_when_they_come(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_EXPIRED };
	unsigned int i, wrong = 0;

	for (i = 0; i < NR; i++)
		wrong += watcher_add(&watchers[i], i % 2 ? 0 : ktime_get_ns(),
				     TWHEEL_COND_PREDICATE, 1) != 0;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	vtime_sleep(5 * (u64)NSEC_PER_SEC);
	expect_all_ended(test, &result, false);
}

static void all_are_completed_with_a_value(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .value = 11 };
	struct task_struct *task;

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), TWHEEL_COND_PREDICATE, 1);
	task = let_others_run(test);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 11, 0), NR);
	expect_others_ran(test, task);
	expect_all_ended(test, &result, false);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 11, 0), 0);
}

static void all_are_completed_with_an_error(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_COMPLETED, .error = -EIO };

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), TWHEEL_COND_ANY, 1);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, -EIO, 11, 0), NR);
	expect_all_ended(test, &result, false);
}

static void all_are_handed_back_by_a_drain(struct kunit *test)
{
	const struct twheel_op_result result = { .reason = TWHEEL_CANCELLED };

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), TWHEEL_COND_ANY, 1);
	KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), NR);
	expect_all_ended(test, &result, false);
}

static int fanout_init(struct kunit *test)
{
	int err = probe_suite_init(test);

	if (err)
		return err;
	probe_limit(test, NR + 1, 0);
	watchers = kvcalloc(NR, sizeof(*watchers), GFP_KERNEL);
	neighbour = probe_new(test);
	neighbour_keys = probe_keys_new(test, KEY, 2);
	neighbour_keys->spec[0].need = 5;
	nr_ended = 0;
	most_at_once = 0;
	return watchers ? 0 : -ENOMEM;
}

static void fanout_exit(struct kunit *test)
{
	probe_suite_exit(test);
	kvfree(watchers);
}

static struct kunit_case fanout_cases[] = {
	KUNIT_CASE(they_complete_by_one_signal),
	KUNIT_CASE(they_complete_in_order),
	KUNIT_CASE(they_expire_at_once),
	KUNIT_CASE(they_count_a_signal_that_completes_none),
	KUNIT_CASE(those_that_remain_are_told_few_at_a_time),
	KUNIT_CASE(they_are_cancelled_for_the_key),
	KUNIT_CASE(their_predicates_come_true),
	KUNIT_CASE(they_are_complete_when_they_come),
	KUNIT_CASE(they_are_overdue_when_they_come),
	KUNIT_CASE(all_are_completed_with_a_value),
	KUNIT_CASE(all_are_completed_with_an_error),
	KUNIT_CASE(all_are_handed_back_by_a_drain),
	{}
};

static struct kunit_suite fanout_suite = {
	.name		= "twheel_purgatory_fanout",
	.init		= fanout_init,
	.exit		= fanout_exit,
	.test_cases	= fanout_cases,
};

kunit_test_suite(fanout_suite);
