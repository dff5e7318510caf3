// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers with a cell: where the reaper looks at the word, and how often.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "../../twheel/core/cell.h"
#include "../../twheel/core/twheel.h"
#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

#define UNIT	BIT_ULL(TWHEEL_CELL_SHIFT)
#define SECOND	((u64)NSEC_PER_SEC)

static u64 tick_ns;

static struct cell_timer {
	struct twheel_cell_part	part;
	struct twheel_timer	timer;
	atomic64_t		word;
	u64			fired;
	unsigned int		nr_fired;
} cell, plain;

static_assert(offsetof(struct cell_timer, timer) == sizeof(struct twheel_cell_part));

static void cell_fired(struct twheel_timer *timer)
{
	struct cell_timer *c = container_of(timer, struct cell_timer, timer);

	c->nr_fired++;
	c->fired = ktime_get_ns();
}

/* The word of a time, in life 1. Its time is a multiple of a unit. */
static u64 word_at(u64 ns)
{
	return BIT_ULL(42) | DIV_ROUND_UP_ULL(ns, UNIT);
}

static void cell_add(struct kunit *test, u64 delay)
{
	u64 deadline = twheel_deadline(delay);

	twheel_timer_init(&cell.timer, timer_wheel, cell_fired);
	cell.timer.shard_flags |= TWHEEL_TIMER_CELL;
	cell.part.word = &cell.word;
	cell.part.looked = false;
	atomic64_set(&cell.word, word_at(deadline));
	twheel_cells_begin(timer_wheel);
	KUNIT_ASSERT_EQ(test, twheel_timer_add(&cell.timer, round_up(deadline, UNIT)), 0);
}

/* Raise the time of the word, as a program does. */
static u64 cell_touch(u64 delay)
{
	u64 deadline = twheel_deadline(delay);

	atomic64_set(&cell.word, word_at(deadline));
	return round_up(deadline, UNIT);
}

static void expect_fired(struct kunit *test, u64 deadline, u64 late)
{
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 1);
	KUNIT_EXPECT_GE(test, cell.fired, deadline);
	KUNIT_EXPECT_LE(test, cell.fired, deadline + late + VTIME_SLOP_NS);
	KUNIT_EXPECT_TRUE(test, atomic64_read(&cell.word) & TWHEEL_CELL_ENDED);
	KUNIT_EXPECT_EQ(test, cell.part.last | TWHEEL_CELL_ENDED, (u64)atomic64_read(&cell.word));
}

static int cell_init(struct kunit *test)
{
	timer_suite_init(test);
	tick_ns = twheel_tick_ns(timer_wheel);
	memset(&cell, 0, sizeof(cell));
	memset(&plain, 0, sizeof(plain));
	return 0;
}

static void cell_exit(struct kunit *test)
{
	twheel_timer_cancel_sync(&cell.timer);
	timer_suite_exit(test);
}

/* On level 0 there is no cascade. */
static void look_at_due_timer_queues_it_for_later(struct kunit *test)
{
	u64 deadline;

	cell_add(test, 20 * NSEC_PER_MSEC);
	vtime_sleep(10 * NSEC_PER_MSEC);
	deadline = cell_touch(40 * NSEC_PER_MSEC);
	vtime_sleep(30 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 1);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&cell.timer));
	vtime_sleep(SECOND);
	expect_fired(test, deadline, tick_ns);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 2);
}

static void look_in_cascade_queues_timer_for_later(struct kunit *test)
{
	u64 slot = TWHEEL_SLOTS_DEFAULT * tick_ns, now = ktime_get_ns();
	u64 deadline, moves, delay = round_up(now + 2 * SECOND, slot) - slot / 8 - now;

	/* The deadline is near the end of its slot, the cascade at the beginning. */
	cell_add(test, delay);
	vtime_sleep(SECOND / 2);
	moves = stats_of(timer_wheel).cascaded;
	deadline = cell_touch(20 * SECOND);
	vtime_sleep(delay - SECOND / 2 - slot / 4);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 1);
	vtime_sleep(SECOND);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).cascaded, moves + 1);
	vtime_sleep(20 * SECOND);
	expect_fired(test, deadline, tick_ns);
}

static void idle_cell_is_parked(struct kunit *test, u64 delay)
{
	u64 idle, wakeups;

	cell_add(test, delay);
	idle = atomic64_read(&cell.word) | TWHEEL_CELL_IDLE;
	atomic64_set(&cell.word, idle);
	vtime_sleep(2 * delay);
	KUNIT_EXPECT_EQ(test, (u64)atomic64_read(&cell.word), idle | TWHEEL_CELL_TIME);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 1);
	wakeups = stats_of(timer_wheel).wakeups;
	vtime_sleep(100 * SECOND);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	KUNIT_EXPECT_TRUE(test, twheel_timer_pending(&cell.timer));
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&cell.timer), 0);
}

static void idle_cell_is_parked_when_due(struct kunit *test)
{
	idle_cell_is_parked(test, 20 * NSEC_PER_MSEC);
}

static void idle_cell_is_parked_in_cascade(struct kunit *test)
{
	idle_cell_is_parked(test, 20 * SECOND);
}

static void armed_cell_without_time_is_parked(struct kunit *test)
{
	cell_add(test, 20 * NSEC_PER_MSEC);
	atomic64_or(TWHEEL_CELL_TIME, &cell.word);
	vtime_sleep(100 * SECOND);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 1);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&cell.timer), 0);
}

/* A word that a program lowers without a call is late, and one that it ends is on time. */
static void rubbish_fires_once_when_queued(struct kunit *test)
{
	u64 deadline = twheel_deadline(20 * SECOND);

	cell_add(test, 20 * SECOND);
	atomic64_set(&cell.word, 1);
	vtime_sleep(10 * SECOND);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	atomic64_set(&cell.word, TWHEEL_CELL_ENDED | TWHEEL_CELL_TIME);
	vtime_sleep(20 * SECOND);
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 1);
	KUNIT_EXPECT_LE(test, cell.fired, deadline + 2 * tick_ns);
}

/*
 * Store the tick of @store in each tick. Return: the most looks in TWHEEL_CELL_FLOOR ticks. The
 * first due look is at tick 14 of a turn of 64.
 */
static u64 looks_bought(struct kunit *test, u64 (*store)(u64 tick))
{
	u64 seen[TWHEEL_CELL_FLOOR] = {}, first, tick, looks, most = 0;

	first = round_up(div64_u64(ktime_get_ns(), tick_ns) + 64, 64) + 14;
	vtime_sleep_until((first - 2) * tick_ns + tick_ns / 2);
	cell_add(test, tick_ns);
	for (tick = first - 2; tick < first + 640; tick++) {
		/* The reaper has looked at the beginning of the tick. */
		vtime_sleep_until(tick * tick_ns + tick_ns / 2);
		looks = stats_of(timer_wheel).looks;
		most = max(most, looks - seen[tick % TWHEEL_CELL_FLOOR]);
		seen[tick % TWHEEL_CELL_FLOOR] = looks;
		atomic64_set(&cell.word, word_at(store(tick) * tick_ns));
	}
	KUNIT_EXPECT_EQ(test, cell.nr_fired, 0);
	return most;
}

static u64 store_next_tick(u64 tick)
{
	return tick + 2;
}

/* A program that raises its word by a tick for ever buys two looks in TWHEEL_CELL_FLOOR ticks. */
static void short_raises_buy_few_looks(struct kunit *test)
{
	u64 looks = looks_bought(test, store_next_tick);

	KUNIT_EXPECT_LE(test, looks, 2);
	KUNIT_EXPECT_GE(test, looks, 1);
	vtime_sleep(SECOND);
	expect_fired(test, twheel_cell_time(cell.part.last), TWHEEL_CELL_FLOOR * tick_ns);
}

/* Before the due look at tick 63 a tick of the next turn, and then an earlier one. */
static u64 store_around_turns(u64 tick)
{
	return tick % 64 == 62 ? tick + 65 : tick + 2;
}

static void cascade_does_not_undo_the_floor(struct kunit *test)
{
	u64 looks = looks_bought(test, store_around_turns);

	/* One of them is in a cascade. */
	KUNIT_EXPECT_LE(test, looks, 3);
	KUNIT_EXPECT_GE(test, looks, 2);
}

/* Always a bucket of level 1, which expires two ticks later. */
static u64 store_beyond_two_slots(u64 tick)
{
	return round_up(tick, 2) + 3;
}

static void small_wheel_looks_at_due_timers_only(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .slots = 2 };
	u64 looks;

	timer_suite_restart(test, &config);
	looks = looks_bought(test, store_beyond_two_slots);
	KUNIT_EXPECT_LE(test, looks, 2);
	KUNIT_EXPECT_GE(test, looks, 1);
}

/* With 31 ticks from each touch, whenever it comes, the floor is not reached. */
static void timeout_of_two_floors_is_exact(struct kunit *test)
{
	u64 timeout = (2 * TWHEEL_CELL_FLOOR - 1) * tick_ns, deadline;
	unsigned int touches;

	for (touches = 1; touches < 100; touches++) {
		unsigned int i;

		cell.nr_fired = 0;
		cell_add(test, timeout);
		deadline = twheel_cell_time(atomic64_read(&cell.word));
		for (i = 0; i < touches; i++) {
			vtime_sleep((i * 7 + touches) % 29 * tick_ns);
			deadline = cell_touch(timeout);
		}
		vtime_sleep(SECOND / 10);
		expect_fired(test, deadline, tick_ns);
	}
}

/* The same wheel has timers without a cell, which are not looked at. */
static void timer_without_cell_is_not_looked_at(struct kunit *test)
{
	/* It would be parked. */
	plain.part.word = &plain.word;
	atomic64_set(&plain.word, TWHEEL_CELL_IDLE | TWHEEL_CELL_TIME);
	twheel_cells_begin(timer_wheel);
	twheel_timer_init(&plain.timer, timer_wheel, cell_fired);
	KUNIT_ASSERT_EQ(test, twheel_timer_add(&plain.timer, twheel_deadline(20 * SECOND)), 0);
	vtime_sleep(21 * SECOND);
	KUNIT_EXPECT_EQ(test, plain.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).looks, 0);
	cell_add(test, SECOND);
}

static struct kunit_case cell_cases[] = {
	KUNIT_CASE(look_at_due_timer_queues_it_for_later),
	KUNIT_CASE(look_in_cascade_queues_timer_for_later),
	KUNIT_CASE(idle_cell_is_parked_when_due),
	KUNIT_CASE(idle_cell_is_parked_in_cascade),
	KUNIT_CASE(armed_cell_without_time_is_parked),
	KUNIT_CASE(rubbish_fires_once_when_queued),
	KUNIT_CASE(short_raises_buy_few_looks),
	KUNIT_CASE(cascade_does_not_undo_the_floor),
	KUNIT_CASE(small_wheel_looks_at_due_timers_only),
	KUNIT_CASE(timeout_of_two_floors_is_exact),
	KUNIT_CASE(timer_without_cell_is_not_looked_at),
	{}
};

static struct kunit_suite cell_suite = {
	.name		= "twheel_cell",
	.init		= cell_init,
	.exit		= cell_exit,
	.test_cases	= cell_cases,
};

kunit_test_suite(cell_suite);
