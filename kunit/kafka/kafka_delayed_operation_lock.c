// SPDX-License-Identifier: GPL-2.0
/*
 * The test cases of Kafka's DelayedOperationTest with locks or more than one thread.
 *
 * Kafka has a lock per operation. Here, one thread at a time evaluates the predicate, and
 * requests of other threads cause another evaluation. The predicates sleep in virtual
 * time, which is allowed because only threads of this suite evaluate them.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/time64.h>

#include "../random.h"
#include "../vtime.h"
#include "kafka_delayed_operation.h"
#include "watcher.h"

/* In the first evaluation, request another one. The request must return 0. */
static bool request_in_predicate(struct probe *watcher, u64 *value)
{
	if (watcher->evaluated == 1)
		watcher->overlaps += twheel_op_try_complete(&watcher->op) != 0;
	return false;
}

/* Sleep in the first evaluation, so that another thread can request the next one. */
static bool sleep_once(struct probe *watcher, u64 *value)
{
	if (watcher->evaluated == 1)
		vtime_sleep_in_callback(10 * NSEC_PER_MSEC);
	return false;
}

static int request_later(struct probe *watcher)
{
	vtime_sleep(5 * NSEC_PER_MSEC);
	return twheel_op_try_complete(&watcher->op);
}

/* A request during an evaluation causes one more evaluation afterwards. */
void lock_in_try_complete_else_watch(struct kunit *test)
{
	struct probe *within = probe_new_predicate(test), *slow = probe_new_predicate(test);
	struct task_struct *task;

	within->predicate = request_in_predicate;
	KUNIT_EXPECT_EQ(test, watcher_add(test, within, LONG_NS, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, within->evaluated, 3);
	expect_pending(test, within);

	slow->predicate = sleep_once;
	task = probe_fork(test, request_later, slow);
	KUNIT_EXPECT_EQ(test, watcher_add(test, slow, LONG_NS, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, probe_join(task), 0);
	KUNIT_EXPECT_EQ(test, slow->evaluated, 3);
	expect_pending(test, slow);
}

/* 20 threads make 20 attempts at each of 100 operations. */
#define NR_OPS		100
#define ATTEMPTS	20
#define NR_THREADS	20
#define MAX_NS		(10 * NSEC_PER_MSEC)

struct attempted {
	struct probe		watcher;
	struct rnd_state	random;
	atomic_t		attempts;	/* remaining attempts */
};

static struct attempted *attempted;

/* Operation of each attempt, and the number of attempts made. */
static u8 attempt_op[NR_OPS * ATTEMPTS];
static atomic_t nr_attempts;

/* Random order, so that several threads try the same operation at the same time. */
static void shuffle_attempts(struct rnd_state *random)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(attempt_op); i++) {
		j = random_below(random, i + 1);
		attempt_op[i] = attempt_op[j];
		attempt_op[j] = i % NR_OPS;
	}
	atomic_set(&nr_attempts, 0);
}

/* Return the condition as it was before the sleep. */
static bool slow_predicate(struct probe *watcher, u64 *value)
{
	struct attempted *a = container_of(watcher, struct attempted, watcher);
	bool completable = READ_ONCE(watcher->holds);

	vtime_sleep_in_callback(random_below(&a->random, MAX_NS));
	return completable;
}

/* The last attempt at an operation makes it completable. Returns the number of completed ones. */
static int attempt(struct probe *unused)
{
	struct rnd_state random;
	unsigned int i;
	int completed = 0;

	while ((i = atomic_fetch_inc(&nr_attempts)) < ARRAY_SIZE(attempt_op)) {
		prandom_seed_state(&random, i);
		vtime_sleep(random_below(&random, MAX_NS));
		i = attempt_op[i];
		if (atomic_dec_and_test(&attempted[i].attempts))
			WRITE_ONCE(attempted[i].watcher.holds, true);
		completed += probe_check(i, 0);
	}
	return completed;
}

void try_complete_with_multiple_threads(struct kunit *test)
{
	struct task_struct *tasks[NR_THREADS];
	struct rnd_state random;
	u32 i, completed = 0;

	random_start(test, &random);
	attempted = kunit_kcalloc(test, NR_OPS, sizeof(*attempted), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attempted);
	shuffle_attempts(&random);
	for (i = 0; i < NR_OPS; i++) {
		prandom_seed_state(&attempted[i].random, prandom_u32_state(&random));
		atomic_set(&attempted[i].attempts, ATTEMPTS);
		probe_init_predicate(&attempted[i].watcher);
		attempted[i].watcher.predicate = slow_predicate;
		KUNIT_ASSERT_EQ(test, watcher_add(test, &attempted[i].watcher, TWHEEL_NEVER, i, 1),
				0);
	}
	for (i = 0; i < NR_THREADS; i++)
		tasks[i] = probe_fork(test, attempt, NULL);
	for (i = 0; i < NR_THREADS; i++)
		completed += probe_join(tasks[i]);

	KUNIT_EXPECT_EQ(test, completed, NR_OPS);
	for (i = 0; i < NR_OPS; i++)
		expect_ended(test, &attempted[i].watcher, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

static void watch_two(struct kunit *test, struct probe *ops[2])
{
	ops[0] = watcher_pending(test, 1, 1);
	ops[1] = watcher_pending(test, 1, 1);
}

static void check_and_complete(struct kunit *test, struct probe *ops[2], u32 completed)
{
	ops[0]->holds = true;
	ops[1]->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(1, 0), completed);
}

static u32 completed_in_predicate;

/* Make both operations completable and check their key. */
static bool check_in_predicate(struct probe *watcher, u64 *value)
{
	if (!watcher->holds) {
		watcher->holds = true;
		completed_in_predicate = probe_check(1, 0);
		return false;
	}
	return true;
}

static struct completion evaluating, go_on;

/* Block the first evaluation. It returns the condition as it was on entry. */
static bool block_once(struct probe *watcher, u64 *value)
{
	bool completable = watcher->holds;

	if (!completable) {
		complete(&evaluating);
		non_block_end();
		wait_for_completion(&go_on);
		non_block_start();
	}
	return completable;
}

static int evaluate(struct probe *watcher)
{
	return twheel_op_try_complete(&watcher->op);
}

static void hold_by_other_thread(struct kunit *test, struct probe *ops[2])
{
	struct task_struct *task;

	init_completion(&evaluating);
	init_completion(&go_on);
	watch_two(test, ops);
	ops[0]->predicate = block_once;
	task = probe_fork(test, evaluate, ops[0]);
	wait_for_completion(&evaluating);

	/* The check does not block, and the owner evaluates the predicate again. */
	check_and_complete(test, ops, 1);
	expect_pending(test, ops[0]);
	expect_ended(test, ops[1], TWHEEL_REASON_COMPLETED, 0);
	complete(&go_on);
	KUNIT_EXPECT_EQ(test, probe_join(task), 1);
	expect_ended(test, ops[0], TWHEEL_REASON_COMPLETED, 0);
}

void delayed_operation_lock(struct kunit *test)
{
	struct probe *ops[2];
	unsigned int i;

	/* No thread owns the operations, so both complete. */
	watch_two(test, ops);
	check_and_complete(test, ops, 2);
	expect_ended(test, ops[0], TWHEEL_REASON_COMPLETED, 0);
	expect_ended(test, ops[1], TWHEEL_REASON_COMPLETED, 0);

	/* The current thread owns ops[1]. ops[0] completes at once, ops[1] after its evaluation. */
	watch_two(test, ops);
	ops[0]->holds = true;
	ops[1]->predicate = check_in_predicate;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&ops[1]->op), 1);
	KUNIT_EXPECT_EQ(test, completed_in_predicate, 1);
	expect_ended(test, ops[0], TWHEEL_REASON_COMPLETED, 0);
	expect_ended(test, ops[1], TWHEEL_REASON_COMPLETED, 0);

	hold_by_other_thread(test, ops);

	/* Completable when added, so the operations never become pending. */
	for (i = 0; i < 2; i++) {
		ops[i] = probe_new_predicate(test);
		ops[i]->holds = true;
		KUNIT_EXPECT_EQ(test, watcher_add(test, ops[i], LONG_NS, 1, 1), 1);
		KUNIT_EXPECT_EQ(test, ops[i]->evaluated, 1);
		expect_ended(test, ops[i], TWHEEL_REASON_COMPLETED, 0);
	}
	expect_counts(test, 0, 0, 0);
}
