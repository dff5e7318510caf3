// SPDX-License-Identifier: GPL-2.0
/*
 * The test cases of Kafka's DelayedOperationTest, with the same names.
 * Documentation/cases.rst has the mapping.
 *
 * Kafka has a lock per operation. Here, one thread at a time evaluates the predicate, and
 * requests of other threads cause another evaluation. The predicates sleep in virtual
 * time, which is allowed because only threads of this suite evaluate them.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../random.h"
#include "../vtime.h"

/* Timeout for operations that do not expire during a test. */
#define LONG_NS		(100 * NSEC_PER_SEC)

/* Add an operation that never expires, and expect it to be pending. */
static struct probe *watcher_pending(struct kunit *test, u64 first, u32 nr)
{
	struct probe *watcher = probe_new_predicate(test);

	KUNIT_ASSERT_EQ(test, watcher_add(test, watcher, TWHEEL_NEVER, first, nr), 0);
	expect_pending(test, watcher);
	return watcher;
}

static unsigned int check_evaluation;

/* In the given evaluation, check the key of the operation to see if it is watched. */
static bool check_own_key(struct probe *watcher, u64 *value)
{
	if (watcher->evaluated == check_evaluation)
		probe_check(1, 0);
	return false;
}

static bool true_on_second_eval(struct probe *watcher, u64 *value)
{
	return watcher->evaluated == 2;
}

/* The key is watched only if the first evaluation returns false. Then comes the second. */
static void safe_try_complete_or_else(struct kunit *test)
{
	struct probe *first = probe_new_predicate(test), *later = probe_new_predicate(test);
	struct probe *watched;

	first->holds = true;
	KUNIT_EXPECT_EQ(test, watcher_add(test, first, LONG_NS, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, first->evaluated, 1);
	expect_ended(test, first, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);

	later->predicate = true_on_second_eval;
	KUNIT_EXPECT_EQ(test, watcher_add(test, later, LONG_NS, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, later->evaluated, 2);
	expect_ended(test, later, TWHEEL_REASON_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);

	/* The second evaluation finds the operation under its key, the first does not. */
	for (check_evaluation = 1; check_evaluation <= 2; check_evaluation++) {
		watched = probe_new_predicate(test);
		watched->predicate = check_own_key;
		KUNIT_EXPECT_EQ(test, watcher_add(test, watched, LONG_NS, 1, 1), 0);
		KUNIT_EXPECT_EQ(test, watched->evaluated, 1 + check_evaluation);
		expect_pending(test, watched);
		KUNIT_EXPECT_EQ(test, twheel_op_cancel(&watched->op), 0);
	}
}

static void request_satisfaction(struct kunit *test)
{
	struct probe *r1, *r2;

	KUNIT_EXPECT_EQ(test, probe_check(1, 0), 0);
	r1 = watcher_pending(test, 1, 1);
	KUNIT_EXPECT_EQ(test, probe_check(1, 0), 0);
	r2 = watcher_pending(test, 2, 1);
	KUNIT_EXPECT_EQ(test, probe_check(2, 0), 0);

	r1->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(1, 0), 1);
	KUNIT_EXPECT_EQ(test, probe_check(1, 0), 0);
	expect_ended(test, r1, TWHEEL_REASON_COMPLETED, 0);
	expect_pending(test, r2);
	r2->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(2, 0), 1);
	KUNIT_EXPECT_EQ(test, probe_check(2, 0), 0);
	expect_ended(test, r2, TWHEEL_REASON_COMPLETED, 0);
}

static void request_expiry(struct kunit *test)
{
	struct probe *r1 = probe_new_predicate(test), *r2 = probe_new_predicate(test);
	u64 expiration = 20 * NSEC_PER_MSEC, start = ktime_get_ns();

	KUNIT_EXPECT_EQ(test, watcher_add(test, r1, expiration, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, watcher_add(test, r2, 200 * NSEC_PER_SEC, 2, 1), 0);
	vtime_sleep_until(start + expiration - VTIME_SLOP_NS);
	expect_pending(test, r1);
	vtime_sleep(twheel_tick_ns(probe_wheel) + 3 * VTIME_SLOP_NS);

	expect_ended(test, r1, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_GE(test, r1->result.time, start + expiration);
	KUNIT_EXPECT_GE(test, r1->result.time, r1->result.deadline);
	expect_pending(test, r2);
	expect_counts(test, 1, 1, 1);
}

/* Delayed futures: an operation that completes when both futures are done, and their sum. */

#define NO_RESULT	(-1)

struct future {
	u64	key;
	int	value;
	int	error;
	bool	done;
};

static struct future futures[2];
static int sum;

static bool both_done(struct probe *watcher, u64 *value)
{
	return futures[0].done && futures[1].done;
}

/* Futures that are not done have failed. */
static void add_up(struct probe *watcher)
{
	unsigned int i;

	sum = 0;
	for (i = 0; i < ARRAY_SIZE(futures); i++) {
		if (!futures[i].done)
			futures[i].error = -ETIMEDOUT;
		futures[i].done = true;
		if (!futures[i].error)
			sum += futures[i].value;
	}
}

static u32 future_complete(struct future *future, int value)
{
	future->value = value;
	future->done = true;
	return probe_check(future->key, 0);
}

/* A value of 0 is for a future that is not done yet. */
static struct probe *futures_add(struct kunit *test, u64 delay, int first, int second)
{
	struct probe *watcher = probe_new_predicate(test);

	futures[0] = (struct future){ .key = 1, .value = first, .done = first };
	futures[1] = (struct future){ .key = 2, .value = second, .done = second };
	sum = NO_RESULT;
	watcher->predicate = both_done;
	watcher->on_ended = add_up;
	KUNIT_ASSERT_EQ(test, watcher_add(test, watcher, delay, 1, 2), first && second);
	return watcher;
}

static void delayed_future(struct kunit *test)
{
	struct probe *r;
	u64 start;

	/* Both are done: completed by the caller of the add. */
	r = futures_add(test, LONG_NS, 10, 11);
	expect_ended(test, r, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_PTR_EQ(test, r->ended_by, current);
	KUNIT_EXPECT_EQ(test, sum, 21);

	/* None is done. */
	r = futures_add(test, LONG_NS, 0, 0);
	KUNIT_EXPECT_EQ(test, future_complete(&futures[0], 20), 0);
	expect_pending(test, r);
	KUNIT_EXPECT_EQ(test, sum, NO_RESULT);
	KUNIT_EXPECT_EQ(test, future_complete(&futures[1], 21), 1);
	expect_ended(test, r, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, sum, 41);

	/* One is done. */
	r = futures_add(test, LONG_NS, 0, 31);
	expect_pending(test, r);
	KUNIT_EXPECT_EQ(test, sum, NO_RESULT);
	KUNIT_EXPECT_EQ(test, future_complete(&futures[0], 30), 1);
	expect_ended(test, r, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, sum, 61);

	/* One is done in time, the other is never done. */
	start = ktime_get_ns();
	r = futures_add(test, 2 * NSEC_PER_SEC, 0, 0);
	KUNIT_EXPECT_EQ(test, future_complete(&futures[0], 40), 0);
	vtime_sleep(3 * NSEC_PER_SEC);
	expect_ended(test, r, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_GE(test, r->result.time, start + 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_PTR_NE(test, r->ended_by, current);
	KUNIT_EXPECT_EQ(test, futures[0].error, 0);
	KUNIT_EXPECT_EQ(test, futures[1].error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, sum, 40);
}

/* There is no purge. The counts are exact at once. */
static void request_purge(struct kunit *test)
{
	struct probe *r1 = watcher_pending(test, 1, 1);
	struct probe *r2 = watcher_pending(test, 1, 2);
	struct probe *r3 = watcher_pending(test, 1, 3);

	expect_counts(test, 3, 3, 6);
	r2->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&r2->op), 1);
	expect_counts(test, 2, 3, 4);
	r3->holds = true;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&r3->op), 1);
	expect_counts(test, 1, 1, 1);

	KUNIT_EXPECT_EQ(test, probe_check(1, 0) + probe_check(2, 0) + probe_check(3, 0), 0);
	expect_counts(test, 1, 1, 1);
	expect_pending(test, r1);
	expect_ended(test, r2, TWHEEL_REASON_COMPLETED, 0);
	expect_ended(test, r3, TWHEEL_REASON_COMPLETED, 0);
}

#define NR_CANCELLED	3

struct cancelled {
	struct twheel_op	*op[NR_CANCELLED];
	unsigned int		nr;
	unsigned int		not_ended;	/* operations with an outstanding callback */
};

static void save_cancelled(struct twheel_op *op, void *data)
{
	struct cancelled *cancelled = data;

	if (cancelled->nr < NR_CANCELLED)
		cancelled->op[cancelled->nr] = op;
	cancelled->nr++;
	cancelled->not_ended += !container_of(op, struct probe, op)->ended;
}

static u32 cancel_for_key(u64 number, struct cancelled *cancelled)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_cancel_for_key(probe_purgatory, &key, save_cancelled, cancelled, 0);
}

/* r3 watches a second key, which it leaves as well. */
static void cancel_for_key_returning_cancelled_operations(struct kunit *test)
{
	struct probe *r1 = watcher_pending(test, 1, 1);
	struct probe *r2 = watcher_pending(test, 1, 1);
	struct probe *r3 = watcher_pending(test, 1, 2);
	struct probe *r4 = watcher_pending(test, 2, 1);
	struct cancelled cancelled = {};

	KUNIT_EXPECT_EQ(test, cancel_for_key(1, &cancelled), 3);
	KUNIT_EXPECT_EQ(test, cancelled.nr, 3);
	KUNIT_EXPECT_PTR_EQ(test, cancelled.op[0], &r1->op);
	KUNIT_EXPECT_PTR_EQ(test, cancelled.op[1], &r2->op);
	KUNIT_EXPECT_PTR_EQ(test, cancelled.op[2], &r3->op);
	KUNIT_EXPECT_EQ(test, cancelled.not_ended, 0);
	expect_ended(test, r1, TWHEEL_REASON_CANCELLED, 0);
	expect_ended(test, r2, TWHEEL_REASON_CANCELLED, 0);
	expect_ended(test, r3, TWHEEL_REASON_CANCELLED, 0);
	expect_counts(test, 1, 1, 1);

	r3->holds = true;
	r4->holds = true;
	KUNIT_EXPECT_EQ(test, probe_check(2, 0), 1);
	expect_ended(test, r4, TWHEEL_REASON_COMPLETED, 0);
	KUNIT_EXPECT_EQ(test, r3->ended, 1);
}

static void cancel_for_key_when_key_doesnt_exist(struct kunit *test)
{
	struct probe *other = watcher_pending(test, 1, 2);
	struct cancelled cancelled = {};

	KUNIT_EXPECT_EQ(test, cancel_for_key(3, &cancelled), 0);
	KUNIT_EXPECT_EQ(test, cancelled.nr, 0);
	expect_pending(test, other);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&other->op), 0);
	KUNIT_EXPECT_EQ(test, cancel_for_key(1, &cancelled), 0);
	KUNIT_EXPECT_EQ(test, cancelled.nr, 0);
}

/* Cases with locks or more than one thread. */

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
static void lock_in_try_complete_else_watch(struct kunit *test)
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

static void try_complete_with_multiple_threads(struct kunit *test)
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

static void delayed_operation_lock(struct kunit *test)
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

static struct kunit_case delayed_operation_cases[] = {
	KUNIT_CASE(lock_in_try_complete_else_watch),
	KUNIT_CASE(safe_try_complete_or_else),
	KUNIT_CASE(request_satisfaction),
	KUNIT_CASE(request_expiry),
	KUNIT_CASE(delayed_future),
	KUNIT_CASE(request_purge),
	KUNIT_CASE(cancel_for_key_returning_cancelled_operations),
	KUNIT_CASE(cancel_for_key_when_key_doesnt_exist),
	KUNIT_CASE(try_complete_with_multiple_threads),
	KUNIT_CASE(delayed_operation_lock),
	{}
};

static struct kunit_suite delayed_operation_suite = {
	.name		= "kafka_delayed_operation_test",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= delayed_operation_cases,
};

kunit_test_suite(delayed_operation_suite);
