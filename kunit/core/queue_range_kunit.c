// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 2, the expiry queue: exact to the end of the 64-bit range, for
 * every level that a wheel can have.  The queue is told the time, so nothing
 * keeps us from the ticks that no clock will ever show.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../../twheel/core/wheel.h"
#include "../random.h"
#include "timer_set.h"

#define BUDGET		64
/* The last tick that comes. */
#define LAST		(TWHEEL_TICK_NEVER - 1)
/* How many nodes for each level. */
#define EACH		40

/**
 * struct journey - a queue on its way through all ticks
 * @queue: the queue
 * @random: where random numbers come from
 * @now: the tick it is
 * @horizon: how far ahead nodes may lie: each level's, and the last tick
 * @nr_horizons: how many these are
 * @node: the nodes
 * @nr_nodes: how many of them are used
 * @nr_added: how many of these have been added
 * @nr_popped: how many have come out
 * @most_cascaded: how many moves that may have taken
 */
struct journey {
	struct twheel_queue	queue;
	struct rnd_state	random;
	u64			now;
	u64			horizon[TWHEEL_LEVELS_MAX + 1];
	unsigned int		nr_horizons;
	struct twheel_node	node[(TWHEEL_LEVELS_MAX + 1) * EACH];
	unsigned int		nr_nodes;
	unsigned int		nr_added;
	unsigned int		nr_popped;
	u64			most_cascaded;
};

static struct journey *journey;

static void journey_start(struct kunit *test, bool anywhere)
{
	const unsigned int *slots = test->param_value;
	u64 horizon = 1;

	journey = kunit_kzalloc(test, sizeof(*journey), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, journey);
	random_start(test, &journey->random);
	journey->now = anywhere ? random_magnitude(&journey->random, 64) % LAST : 0;
	do {
		journey->horizon[journey->nr_horizons++] = horizon;
	} while (!check_mul_overflow(horizon, (u64)*slots, &horizon));
	journey->horizon[journey->nr_horizons++] = LAST;
	journey->nr_nodes = journey->nr_horizons * EACH;
	twheel_queue_init(&journey->queue, *slots, false, journey->now);
}

static void journey_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, journey->queue.nr_nodes, 0);
	journey->queue.nr_nodes = 0;
	twheel_queue_destroy(&journey->queue);
}

/* Somewhere within a horizon, or next to its end; but not past the last tick. */
static u64 random_tick(u64 horizon)
{
	u64 left = LAST - journey->now;
	u64 ahead = min(horizon, left);

	if (random_below(&journey->random, 2) && ahead)
		ahead = random_within(&journey->random, ahead);
	else
		ahead = min(ahead - min(ahead, 1ULL) + random_below(&journey->random, 3), left);
	return journey->now + ahead;
}

/* Add the next node. */
static void add(struct kunit *test)
{
	struct twheel_node *node = &journey->node[journey->nr_added];
	struct twheel_wheel *wheel = &journey->queue.wheel;

	node->expires = random_tick(journey->horizon[journey->nr_added++ % journey->nr_horizons]);
	while (!twheel_wheel_reaches(wheel, node->expires)) {
		KUNIT_ASSERT_LT(test, wheel->nr_levels, TWHEEL_LEVELS_MAX);
		KUNIT_ASSERT_EQ(test, twheel_wheel_add_level(wheel, GFP_KERNEL), 0);
	}
	twheel_queue_add(&journey->queue, node, false);
	journey->most_cascaded += level_of(node->expires - wheel->now, wheel->slots);
}

/* Advance, and see that what comes out does so at its very tick. */
static void advance(struct kunit *test, u64 now)
{
	struct twheel_node *node;

	journey->now = now;
	while (twheel_queue_advance(&journey->queue, now, BUDGET)) {
		while ((node = twheel_queue_pop(&journey->queue))) {
			KUNIT_ASSERT_EQ(test, node->expires, now);
			journey->nr_popped++;
		}
	}
}

/* What there has been to do so far. */
static u64 work(void)
{
	return journey->nr_popped + journey->queue.nr_cascaded;
}

/* To where there is something to do, with a stop on the way at which there is nothing. */
static void step(struct kunit *test, u64 next)
{
	u64 done = work();

	if (next > journey->now) {
		advance(test, next - random_within(&journey->random, next - journey->now));
		KUNIT_ASSERT_EQ(test, work(), done);
		KUNIT_ASSERT_EQ(test, twheel_queue_next(&journey->queue), next);
	}
	advance(test, next);
	KUNIT_ASSERT_GT(test, work(), done);
}

/* Half of the nodes are added at the start, the others on the way. */
static void each_comes_at_its_very_tick(struct kunit *test)
{
	u64 next;

	while (journey->nr_added < journey->nr_nodes / 2)
		add(test);
	while ((next = twheel_queue_next(&journey->queue)) != TWHEEL_TICK_NEVER) {
		step(test, next);
		KUNIT_ASSERT_LE(test, journey->queue.nr_cascaded, journey->most_cascaded);
		if (journey->nr_added < journey->nr_nodes && !random_below(&journey->random, 4))
			add(test);
	}
	KUNIT_EXPECT_EQ(test, journey->nr_popped, journey->nr_added);
}

static const unsigned int slot_counts[] = { 2, 3, 5, 7, 10, 16, 20, 64, 100, 512, 1000, 1024 };

static void slots_desc(const unsigned int *slots, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots", *slots);
}

KUNIT_ARRAY_PARAM(slots, slot_counts, slots_desc);

static void from_the_first_tick_to_the_last(struct kunit *test)
{
	journey_start(test, false);
	each_comes_at_its_very_tick(test);
}

/* Where no level's slots begin together. */
static void from_any_tick_to_the_last(struct kunit *test)
{
	journey_start(test, true);
	each_comes_at_its_very_tick(test);
}

static struct kunit_case range_cases[] = {
	KUNIT_CASE_PARAM(from_the_first_tick_to_the_last, slots_gen_params),
	KUNIT_CASE_PARAM(from_any_tick_to_the_last, slots_gen_params),
	{}
};

static struct kunit_suite range_suite = {
	.name		= "twheel_queue_range",
	.exit		= journey_end,
	.test_cases	= range_cases,
};

kunit_test_suite(range_suite);
