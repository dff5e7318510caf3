// SPDX-License-Identifier: GPL-2.0
/*
 * The cases of Kafka's DelayedOperationTest that are about its locks and about
 * more than one thread.
 *
 * Where Kafka has a lock for each operation, we let one thread at a time
 * evaluate its condition; who comes meanwhile asks for another look. Predicates
 * sleep here, in virtual time: nobody but the suite evaluates them.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../random.h"
#include "../vtime.h"
#include "kafka_delayed_operation.h"
#include "watcher.h"

/* Asks for itself from within, the first time: it is told that it is not complete. */
static bool ask_from_within(struct watcher *watcher, u64 *value)
{
	if (watcher->evaluated == 1)
		watcher->overlapped += twheel_op_try_complete(&watcher->op) != 0;
	return false;
}

/* Takes a while, the first time, for another thread to ask. */
static bool take_a_while(struct watcher *watcher, u64 *value)
{
	if (watcher->evaluated == 1)
		vtime_sleep(10 * NSEC_PER_MSEC);
	return false;
}

static void ask_meanwhile(struct racer *racer)
{
	vtime_sleep(5 * NSEC_PER_MSEC);
	racer->completed = twheel_op_try_complete(&racer->watcher->op);
}

/* To be asked while it is evaluated makes for one more look, after that. */
void lock_in_try_complete_else_watch(struct kunit *test)
{
	struct watcher *within = watcher_new(test), *slow = watcher_new(test);
	static struct racer racer;

	within->holds = ask_from_within;
	KUNIT_EXPECT_EQ(test, watcher_add(within, LONG_NS, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, within->evaluated, 3);
	expect_waits(test, within);

	slow->holds = take_a_while;
	racer.run = ask_meanwhile;
	racer.watcher = slow;
	racer_start(test, &racer);
	KUNIT_EXPECT_EQ(test, watcher_add(slow, LONG_NS, 1, 1), 0);
	racer_join(&racer);
	KUNIT_EXPECT_EQ(test, racer.completed, 0);
	KUNIT_EXPECT_EQ(test, slow->evaluated, 3);
	expect_waits(test, slow);
}

/* 20 threads make 20 attempts at each of 100 operations. */
#define NR_OPS		100
#define ATTEMPTS	20
#define NR_THREADS	20
#define MOST_NS		(10 * NSEC_PER_MSEC)

struct attempted {
	struct watcher		watcher;
	struct rnd_state	random;
	atomic_t		attempts;	/* left */
};

static struct attempted *attempted;

/* At which operation each attempt is, and how many were made. */
static u8 attempt_at[NR_OPS * ATTEMPTS];
static atomic_t nr_attempts;

/* In any order, so that several come to the same operation at a time. */
static void shuffle_attempts(struct rnd_state *random)
{
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(attempt_at); i++) {
		j = random_below(random, i + 1);
		attempt_at[i] = attempt_at[j];
		attempt_at[j] = i % NR_OPS;
	}
	atomic_set(&nr_attempts, 0);
}

/* What it says is what held before it took its time. */
static bool slowly_say(struct watcher *watcher, u64 *value)
{
	struct attempted *a = container_of(watcher, struct attempted, watcher);
	bool completable = READ_ONCE(watcher->completable);

	vtime_sleep(random_below(&a->random, MOST_NS));
	return completable;
}

/* Only the last attempt at an operation makes it completable. */
static void attempt(struct racer *racer)
{
	struct rnd_state random;
	unsigned int i;

	while ((i = atomic_fetch_inc(&nr_attempts)) < ARRAY_SIZE(attempt_at)) {
		prandom_seed_state(&random, i);
		vtime_sleep(random_below(&random, MOST_NS));
		i = attempt_at[i];
		if (atomic_dec_and_test(&attempted[i].attempts))
			WRITE_ONCE(attempted[i].watcher.completable, true);
		racer->completed += watcher_check(i);
	}
}

void try_complete_with_multiple_threads(struct kunit *test)
{
	static struct racer racers[NR_THREADS];
	struct rnd_state random;
	u32 i, completed = 0;

	random_start(test, &random);
	attempted = kunit_kcalloc(test, NR_OPS, sizeof(*attempted), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attempted);
	shuffle_attempts(&random);
	for (i = 0; i < NR_OPS; i++) {
		prandom_seed_state(&attempted[i].random, prandom_u32_state(&random));
		atomic_set(&attempted[i].attempts, ATTEMPTS);
		watcher_init(&attempted[i].watcher);
		attempted[i].watcher.holds = slowly_say;
		KUNIT_ASSERT_EQ(test, watcher_add(&attempted[i].watcher, TWHEEL_NEVER, i, 1), 0);
	}
	for (i = 0; i < NR_THREADS; i++) {
		racers[i].run = attempt;
		racer_start(test, &racers[i]);
	}
	for (i = 0; i < NR_THREADS; i++) {
		racer_join(&racers[i]);
		completed += racers[i].completed;
	}

	KUNIT_EXPECT_EQ(test, completed, NR_OPS);
	for (i = 0; i < NR_OPS; i++)
		expect_done(test, &attempted[i].watcher, TWHEEL_COMPLETED, 0);
	expect_counts(test, 0, 0, 0);
}

static void watch_two(struct kunit *test, struct watcher *ops[2])
{
	ops[0] = watcher_waiting(test, 1, 1);
	ops[1] = watcher_waiting(test, 1, 1);
}

static void check_and_complete(struct kunit *test, struct watcher *ops[2], u32 completed)
{
	ops[0]->completable = true;
	ops[1]->completable = true;
	KUNIT_EXPECT_EQ(test, watcher_check(1), completed);
}

static u32 completed_within;

/* Who evaluates this one makes both completable, and looks under the key. */
static bool check_within(struct watcher *watcher, u64 *value)
{
	if (!watcher->completable) {
		watcher->completable = true;
		completed_within = watcher_check(1);
		return false;
	}
	return true;
}

static struct completion evaluating, go_on;

/* Once it has begun, it stays here until told; what held then is what it says. */
static bool stay_here(struct watcher *watcher, u64 *value)
{
	bool completable = watcher->completable;

	if (!completable) {
		complete(&evaluating);
		wait_for_completion(&go_on);
	}
	return completable;
}

static void evaluate(struct racer *racer)
{
	racer->completed = twheel_op_try_complete(&racer->watcher->op);
}

static void hold_by_another(struct kunit *test, struct watcher *ops[2])
{
	static struct racer racer;

	init_completion(&evaluating);
	init_completion(&go_on);
	watch_two(test, ops);
	ops[0]->holds = stay_here;
	racer.run = evaluate;
	racer.watcher = ops[0];
	racer_start(test, &racer);
	wait_for_completion(&evaluating);

	/* Nobody waits for it, and it is not forgotten. */
	check_and_complete(test, ops, 1);
	expect_waits(test, ops[0]);
	expect_done(test, ops[1], TWHEEL_COMPLETED, 0);
	complete(&go_on);
	racer_join(&racer);
	KUNIT_EXPECT_EQ(test, racer.completed, 1);
	expect_done(test, ops[0], TWHEEL_COMPLETED, 0);
}

void delayed_operation_lock(struct kunit *test)
{
	struct watcher *ops[2];
	unsigned int i;

	/* Free: both complete. */
	watch_two(test, ops);
	check_and_complete(test, ops, 2);
	expect_done(test, ops[0], TWHEEL_COMPLETED, 0);
	expect_done(test, ops[1], TWHEEL_COMPLETED, 0);

	/* Held by me: the other completes at once, this one when it is let go of. */
	watch_two(test, ops);
	ops[0]->completable = true;
	ops[1]->holds = check_within;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&ops[1]->op), 1);
	KUNIT_EXPECT_EQ(test, completed_within, 1);
	expect_done(test, ops[0], TWHEEL_COMPLETED, 0);
	expect_done(test, ops[1], TWHEEL_COMPLETED, 0);

	hold_by_another(test, ops);

	/* Completable at once: nobody ever waits. */
	for (i = 0; i < 2; i++) {
		ops[i] = watcher_new(test);
		ops[i]->completable = true;
		KUNIT_EXPECT_EQ(test, watcher_add(ops[i], LONG_NS, 1, 1), 1);
		KUNIT_EXPECT_EQ(test, ops[i]->evaluated, 1);
		expect_done(test, ops[i], TWHEEL_COMPLETED, 0);
	}
	expect_counts(test, 0, 0, 0);
}
