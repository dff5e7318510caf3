// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with a cell: the transitions of Documentation/cells-protocol.rst. The
 * suite plays the program. twheel_cell_test tests requests and refusals, and twheel_cell_race_test,
 * on the rig, races on several CPUs.
 */
#include <linux/atomic.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)
#define LIFE	BIT_ULL(42)
#define KEY	7

static atomic64_t cell;

static u64 word(void)
{
	return atomic64_read(&cell);
}

static u64 time_of(u64 word)
{
	return (word & TWHEEL_CELL_TIME) << TWHEEL_CELL_SHIFT;
}

/* The part of a word for a time, rounded up. */
static u64 time_in(u64 delay)
{
	return DIV_ROUND_UP_ULL(twheel_deadline(delay), 1ULL << TWHEEL_CELL_SHIFT);
}

static int add(struct probe *probe, u64 delay, struct probe_keys *keys,
	       struct twheel_op_args args)
{
	args.flags |= TWHEEL_OP_CELL;
	args.deadline = twheel_op_init_cell(&probe->op, probe_wheel, &cell, twheel_deadline(delay));
	args.nr_keys = keys ? keys->nr : 0;
	args.specs = keys ? keys->spec : NULL;
	args.watches = probe->watch;
	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

/* An operation that watches KEY and expires after @delay. */
static struct probe *add_watching(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);
	struct probe_keys *keys = probe_keys_new(test, KEY, 1);

	KUNIT_ASSERT_EQ(test, add(probe, delay, keys,
				  (struct twheel_op_args) { .condition = TWHEEL_COND_ANY }), 0);
	return probe;
}

/* What a program does: a touch of the present life, a cancel, and the next life. */
static void touch(struct kunit *test, u64 delay)
{
	u64 old = word(), new = (old & ~TWHEEL_CELL_TIME) | time_in(delay);

	KUNIT_EXPECT_FALSE(test, old & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE));
	KUNIT_EXPECT_EQ(test, (u64)atomic64_cmpxchg(&cell, old, new), old);
}

static void cancel(void)
{
	atomic64_or(TWHEEL_CELL_IDLE, &cell);
}

static u64 next_life(u64 word, u64 time)
{
	return ((word & TWHEEL_CELL_LIFE) + LIFE) | time;
}

static u64 last_word(struct probe *probe)
{
	return container_of(&probe->op, struct twheel_cell_op, op)->part.last;
}

/* Expect a single expiry at the time of the last word, and late by a tick at most. */
static void expect_cell_expired(struct kunit *test, struct probe *probe, u64 time)
{
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, time_of(last_word(probe)), time);
	KUNIT_EXPECT_GE(test, probe->result.time, time);
	KUNIT_EXPECT_LE(test, probe->result.time,
			time + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
}

static void add_begins_a_life(struct kunit *test)
{
	struct probe *first = probe_new(test), *second = probe_new(test);
	u64 from = time_in(SECOND);

	atomic64_set(&cell, TWHEEL_CELL_LIFE | TWHEEL_CELL_ENDED | 5);
	KUNIT_EXPECT_EQ(test, add(first, SECOND, NULL, (struct twheel_op_args){}), 0);
	KUNIT_EXPECT_EQ(test, word() & ~TWHEEL_CELL_TIME, 0);
	KUNIT_EXPECT_GE(test, word(), from);
	KUNIT_EXPECT_LE(test, word(), time_in(SECOND));
	vtime_sleep(2 * SECOND);
	expect_cell_expired(test, first, time_of(last_word(first)));
	KUNIT_EXPECT_EQ(test, word(), last_word(first) | TWHEEL_CELL_ENDED);
	KUNIT_EXPECT_EQ(test, add(second, TWHEEL_NEVER, NULL, (struct twheel_op_args){}), 0);
	KUNIT_EXPECT_EQ(test, word(), LIFE | TWHEEL_CELL_TIME);
}

/* 39,000 looks a second at a million cells. */
static void op_with_a_timeout_of_30_s_is_looked_at_each_26_s(struct kunit *test)
{
	struct probe *probe = add_watching(test, 30 * SECOND);
	unsigned int i;

	for (i = 0; i < 260; i++) {
		vtime_sleep(SECOND);
		touch(test, 30 * SECOND);
	}
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_LE(test, stats_of(probe_wheel).looks, 10);
	vtime_sleep(31 * SECOND);
	expect_cell_expired(test, probe, time_of(word()));
	KUNIT_EXPECT_EQ(test, word() & ~TWHEEL_CELL_TIME, LIFE | TWHEEL_CELL_ENDED);
}

/* A call that is overtaken by another one between its word and its timer changes nothing. */
static void later_call_does_not_raise_the_timer(struct kunit *test)
{
	struct probe *probe = add_watching(test, 100 * SECOND);
	u64 first = LIFE | time_in(SECOND), last = LIFE | time_in(50 * SECOND);

	KUNIT_EXPECT_EQ(test, twheel_op_exchange_cell(&probe->op, word(), first), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_exchange_cell(&probe->op, first, last), 0);
	/* The timer still is at the first time: a store that lowers the word is in time there. */
	atomic64_set(&cell, first);
	vtime_sleep(2 * SECOND);
	expect_cell_expired(test, probe, time_of(first));
}

static void parked_op_is_armed_by_a_call(struct kunit *test)
{
	struct probe *probe = add_watching(test, SECOND);
	u64 idle, to;

	cancel();
	vtime_sleep(10 * SECOND);
	idle = word();
	KUNIT_EXPECT_EQ(test, idle, LIFE | TWHEEL_CELL_IDLE | TWHEEL_CELL_TIME);
	to = next_life(idle, time_in(SECOND));
	KUNIT_EXPECT_EQ(test, twheel_op_exchange_cell(&probe->op, idle, to), 0);
	vtime_sleep(2 * SECOND);
	expect_cell_expired(test, probe, time_of(to));
	KUNIT_EXPECT_EQ(test, last_word(probe), to);
}

static void signal_ends_armed_and_skips_idle_op(struct kunit *test)
{
	struct probe *probe = add_watching(test, 10 * SECOND), *behind = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add(behind, SECOND, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, KEY, 1)), 0);
	cancel();
	KUNIT_EXPECT_EQ(test, probe_check(KEY, 0), 0);
	KUNIT_EXPECT_FALSE(test, word() & TWHEEL_CELL_ENDED);
	/* It does not count for a limit. */
	KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory,
						 &(struct twheel_key) { .v = { 0, KEY } },
						 1, 3, 1, 0), 1);
	expect_ended(test, behind, TWHEEL_REASON_COMPLETED, 3);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 4), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	/* What a signal has left in an idle cell means nothing. */
	atomic64_set(&cell, next_life(word(), word() & TWHEEL_CELL_TIME));
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 5), 1);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 5);
	KUNIT_EXPECT_EQ(test, probe->result.satisfied, 1);
	KUNIT_EXPECT_EQ(test, word(), last_word(probe) | TWHEEL_CELL_ENDED);
	KUNIT_EXPECT_EQ(test, last_word(probe) & TWHEEL_CELL_LIFE, 2 * LIFE);
}

static void complete_refuses_and_cancel_ends_idle_op(struct kunit *test)
{
	const struct twheel_key key = { .v = { 0, KEY } };
	struct probe *probe;
	unsigned int by_key;

	for (by_key = 0; by_key < 2; by_key++) {
		atomic64_set(&cell, 0);
		probe = add_watching(test, 10 * SECOND);
		cancel();
		KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 1), -EAGAIN);
		KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), 0);
		KUNIT_EXPECT_EQ(test, probe->ended, 0);
		if (by_key)
			KUNIT_EXPECT_EQ(test, twheel_cancel_for_key(probe_purgatory, &key, NULL,
								    NULL, 0), 1);
		else
			KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), 0);
		expect_ended(test, probe, TWHEEL_REASON_CANCELLED, 0);
		KUNIT_EXPECT_TRUE(test, last_word(probe) & TWHEEL_CELL_IDLE);
		KUNIT_EXPECT_EQ(test, word() & ~TWHEEL_CELL_TIME, LIFE | TWHEEL_CELL_ENDED);
		KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), -EALREADY);
	}
}

/* A caller names the operation, not the life that it has seen. */
static void calls_end_the_present_life(struct kunit *test)
{
	enum twheel_reason reason;

	for (reason = TWHEEL_REASON_COMPLETED; reason <= TWHEEL_REASON_CANCELLED; reason++) {
		struct probe *probe = add_watching(test, 10 * SECOND);
		u64 first = word(), present;

		cancel();
		atomic64_set(&cell, next_life(first, time_in(20 * SECOND)));
		present = word();
		KUNIT_EXPECT_EQ(test, present & ~TWHEEL_CELL_TIME,
				(first & TWHEEL_CELL_LIFE) + LIFE);
		KUNIT_EXPECT_EQ(test, twheel_op_end(&probe->op, reason, 0, 9), 0);
		expect_ended(test, probe, reason, 9);
		KUNIT_EXPECT_EQ(test, last_word(probe), present);
		KUNIT_EXPECT_EQ(test, word(), present | TWHEEL_CELL_ENDED);
	}
}

/* After the end the word may be that of the next operation. */
static void ended_op_leaves_the_word_alone(struct kunit *test)
{
	struct probe *probe = add_watching(test, SECOND);

	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, twheel_op_exchange_cell(&probe->op, word(), LIFE), -EALREADY);
	atomic64_set(&cell, 5);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&probe->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&probe->op, 1), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 1), 0);
	vtime_sleep(100 * SECOND);
	KUNIT_EXPECT_EQ(test, word(), 5);
}

/* Of two operations in one cell, each ends once. */
static void two_ops_in_a_cell_end_once(struct kunit *test)
{
	struct probe *first = add_watching(test, SECOND), *second = add_watching(test, 2 * SECOND);

	vtime_sleep(100 * SECOND);
	KUNIT_EXPECT_EQ(test, first->ended, 1);
	KUNIT_EXPECT_EQ(test, second->ended, 1);
	expect_counts(test, 0, 0, 0);
}

static struct probe *idle_probe;
static struct twheel_watch *unwatched;
static int watched;

/* The callback of another operation, while a call completes all. */
static void change_keys_of_idle_op(struct probe *probe)
{
	const struct twheel_watch_spec spec = { .key.v = { 0, KEY + 1 } };

	watched = twheel_op_watch(&idle_probe->op, &spec, &idle_probe->watch[1], 1);
	unwatched = twheel_op_unwatch(&idle_probe->op, &idle_probe->watch[0].key);
}

static void idle_op_is_pending_while_all_are_completed(struct kunit *test)
{
	idle_probe = add_watching(test, 10 * SECOND);
	cancel();
	probe_pending(test, TWHEEL_COND_ANY, 0, 1, 1)->on_ended = change_keys_of_idle_op;
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), 1);
	KUNIT_EXPECT_EQ(test, watched, -EAGAIN);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(unwatched), -EAGAIN);
	KUNIT_EXPECT_EQ(test, idle_probe->ended, 0);
}

static int cell_init(struct kunit *test)
{
	atomic64_set(&cell, 0);
	return probe_suite_init(test);
}

static struct kunit_case cell_cases[] = {
	KUNIT_CASE(add_begins_a_life),
	KUNIT_CASE(op_with_a_timeout_of_30_s_is_looked_at_each_26_s),
	KUNIT_CASE(later_call_does_not_raise_the_timer),
	KUNIT_CASE(parked_op_is_armed_by_a_call),
	KUNIT_CASE(signal_ends_armed_and_skips_idle_op),
	KUNIT_CASE(complete_refuses_and_cancel_ends_idle_op),
	KUNIT_CASE(calls_end_the_present_life),
	KUNIT_CASE(ended_op_leaves_the_word_alone),
	KUNIT_CASE(two_ops_in_a_cell_end_once),
	KUNIT_CASE(idle_op_is_pending_while_all_are_completed),
	{}
};

static struct kunit_suite cell_suite = {
	.name		= "twheel_op_cell",
	.init		= cell_init,
	.exit		= probe_suite_exit,
	.test_cases	= cell_cases,
};

kunit_test_suite(cell_suite);
