// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with 100,000 watchers of one key: calls that affect all of them
 * keep exact counts and let other threads run.
 *
 * The other thread (the neighbour) runs every millisecond and uses the same purgatory,
 * wheel and key. Each callback takes 10 us, so the number of callbacks between two of its
 * runs measures the time for which it could not run.
 *
 * Work done under a lock takes no virtual time. The callbacks measure the amount of such
 * work by the number of other operations that have ended or have been signalled.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
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

/* 100 ms. The scheduler runs a runnable thread within a few ticks. */
#define MAX_CALLS	10000

/* Much more than one chunk under a lock, and much less than all. */
#define MAX_AT_ONCE	1000

struct watcher {
	struct twheel_op	op;
	struct twheel_watch	watch[1];
	struct twheel_op_result	result;
	unsigned int		ended;
	bool			holds;
	void			(*on_ended)(struct watcher *watcher);
};

static struct watcher *watchers;
static unsigned int nr_ended;

/* Maximum number of ended operations with an outstanding callback. */
static unsigned int max_at_once;

static bool watcher_try_complete(struct twheel_op *op, u64 *value)
{
	*value = 3;
	return container_of(op, struct watcher, op)->holds;
}

/* All watchers have been added. The neighbour may be pending as well. */
static void sample_ended(void)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(probe_purgatory, &stats);
	if (stats.pending + nr_ended < NR)
		max_at_once = max_t(unsigned int, max_at_once, NR - stats.pending - nr_ended);
}

static void watcher_ended(struct twheel_op *op)
{
	struct watcher *watcher = container_of(op, struct watcher, op);

	twheel_op_get_result(op, &watcher->result);
	watcher->ended++;
	if (++nr_ended % (MAX_AT_ONCE / 2) == 1)
		sample_ended();
	ndelay(CALL_NS);
	if (watcher->on_ended)
		watcher->on_ended(watcher);
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

/* The operation of the neighbour thread, and its work. */
static struct probe *neighbour;
static struct probe_keys *neighbour_keys;
static unsigned int nr_runs, nr_errors, max_calls;

static void neighbour_run(void)
{
	if (probe_add(neighbour, NSEC_PER_SEC, TWHEEL_COND_ALL, 0, neighbour_keys) ||
	    twheel_op_rearm(&neighbour->op, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS) != 1 ||
	    probe_signal(KEY + 1, 0) || twheel_op_cancel(&neighbour->op))
		nr_errors++;
	twheel_op_put(&neighbour->op);
	twheel_op_init(&neighbour->op, neighbour->ops);
	neighbour->done = false;
}

static int neighbour_thread(void *unused)
{
	unsigned int before = nr_ended;

	while (!kthread_should_stop()) {
		vtime_sleep(PAUSE_NS);
		max_calls = max(max_calls, nr_ended - before);
		before = nr_ended;
		neighbour_run();
		nr_runs++;
	}
	return 0;
}

static struct task_struct *start_neighbour(struct kunit *test)
{
	struct task_struct *task;

	nr_runs = 0;
	nr_errors = 0;
	max_calls = 0;
	task = kthread_create(neighbour_thread, NULL, "twheel_probe");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	wake_up_process(task);
	vtime_sleep(10 * PAUSE_NS);
	return task;
}

static void expect_neighbour_ran(struct kunit *test, struct task_struct *task)
{
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_GT(test, nr_runs, NR / MAX_CALLS);
	KUNIT_EXPECT_LE(test, max_calls, MAX_CALLS);
	KUNIT_EXPECT_LE(test, max_at_once, MAX_AT_ONCE);
	KUNIT_EXPECT_EQ(test, nr_errors, 0);
	KUNIT_EXPECT_EQ(test, neighbour->ended, nr_runs);
	KUNIT_EXPECT_EQ(test, neighbour->released, nr_runs);
}

/* Each operation ended once with the given result. */
static void expect_all_ended(struct kunit *test, enum twheel_reason reason, u64 value)
{
	unsigned int i, wrong = 0;

	for (i = 0; i < NR; i++)
		wrong += watchers[i].ended != 1 ||
			 watchers[i].result.reason != reason ||
			 watchers[i].result.error ||
			 watchers[i].result.value != value;
	KUNIT_EXPECT_EQ(test, wrong, 0);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

static void all_expire_at_same_deadline(struct kunit *test)
{
	u64 deadline = twheel_deadline(NSEC_PER_SEC);
	struct task_struct *task;
	unsigned int i, early = 0;

	watch_all(test, deadline, TWHEEL_COND_ANY, 1);
	vtime_sleep_until(deadline - 20 * PAUSE_NS);
	KUNIT_EXPECT_EQ(test, nr_ended, 0);
	task = start_neighbour(test);
	vtime_sleep(5 * (u64)NSEC_PER_SEC);
	expect_neighbour_ran(test, task);
	expect_all_ended(test, TWHEEL_REASON_EXPIRED, 0);
	for (i = 0; i < NR; i++)
		early += watchers[i].result.time < deadline;
	KUNIT_EXPECT_EQ(test, early, 0);
}

static u32 missing(struct watcher *watcher)
{
	struct twheel_op_progress progress;
	struct twheel_watch_spec spec;

	if (twheel_op_get_progress(&watcher->op, &progress, &spec, 1))
		return 0;
	return spec.need;
}

/* The preceding watchers have been signalled, and those far behind have not. */
static void check_signalled(struct watcher *watcher)
{
	if (watcher > watchers && missing(watcher - 1) != 1)
		nr_errors++;
	if (watcher + MAX_AT_ONCE < watchers + NR && missing(watcher + MAX_AT_ONCE - 1) != 2)
		nr_errors++;
}

static void remaining_watchers_are_signalled_in_chunks(struct kunit *test)
{
	struct task_struct *task;
	unsigned int i, left = NR - NR / MAX_AT_ONCE / 5;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, watcher_add(&watchers[i], TWHEEL_NEVER, TWHEEL_COND_ANY,
						  i % (5 * MAX_AT_ONCE) ? 2 : 1), 0);
	for (i = 0; i < NR; i += 5 * MAX_AT_ONCE)
		watchers[i].on_ended = check_signalled;
	task = start_neighbour(test);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR - left);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, nr_errors, 0);
	expect_counts(test, left, 1, left);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), left);
}

static const struct twheel_key key = { .v = { 0, KEY } };
static u32 nr_handed;

static void hand_back(struct twheel_op *op, void *data)
{
	/* Count only calls made after the callback and with the right argument. */
	nr_handed += container_of(op, struct watcher, op)->ended == 1 && data == watchers;
}

static u32 cancel_for_key(void)
{
	u32 nr;

	nr_handed = 0;
	nr = twheel_cancel_for_key(probe_purgatory, &key, hand_back, watchers, 0);
	return nr == nr_handed ? nr : U32_MAX;
}

static u32 signal(void)
{
	return probe_signal(KEY, 5);
}

static u32 check(void)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		watchers[i].holds = true;
	return probe_check(KEY, 0);
}

static u32 complete_all_ops(void)
{
	return twheel_complete_all(probe_purgatory, 0, 11, 0);
}

/* Calls that end all operations, with their result. */
static const struct end {
	const char		*name;
	enum twheel_condition	condition;
	u32			(*call)(void);
	enum twheel_reason	reason;
	u64			value;
} ends[] = {
	{ "signal", TWHEEL_COND_ANY, signal, TWHEEL_REASON_COMPLETED, 5 },
	{ "check", TWHEEL_COND_PREDICATE, check, TWHEEL_REASON_COMPLETED, 3 },
	{ "cancel for key", TWHEEL_COND_ANY, cancel_for_key, TWHEEL_REASON_CANCELLED, 0 },
	{ "complete all", TWHEEL_COND_PREDICATE, complete_all_ops, TWHEEL_REASON_COMPLETED, 11 },
};

static void end_desc(const struct end *end, char *desc)
{
	strscpy(desc, end->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(end, ends, end_desc);

static void one_call_ends_all(struct kunit *test)
{
	const struct end *end = test->param_value;
	struct task_struct *task;

	watch_all(test, twheel_deadline(200 * (u64)NSEC_PER_SEC), end->condition, 1);
	task = start_neighbour(test);
	KUNIT_EXPECT_EQ(test, end->call(), NR);
	expect_neighbour_ran(test, task);
	expect_all_ended(test, end->reason, end->value);
	KUNIT_EXPECT_EQ(test, end->call(), 0);
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
	max_at_once = 0;
	return watchers ? 0 : -ENOMEM;
}

static void fanout_exit(struct kunit *test)
{
	probe_suite_exit(test);
	kvfree(watchers);
}

static struct kunit_case fanout_cases[] = {
	KUNIT_CASE(all_expire_at_same_deadline),
	KUNIT_CASE(remaining_watchers_are_signalled_in_chunks),
	KUNIT_CASE_PARAM(one_call_ends_all, end_gen_params),
	{}
};

static struct kunit_suite fanout_suite = {
	.name		= "twheel_purgatory_fanout",
	.init		= fanout_init,
	.exit		= fanout_exit,
	.test_cases	= fanout_cases,
};

kunit_test_suite(fanout_suite);
