// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the expiry queue: exact expiry up to the end of the 64-bit range, on
 * every level that a wheel can have. The test supplies the time, so it reaches ticks that
 * no clock ever reaches.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "../queue.h"
#include "../random.h"
#include "timer_set.h"

#define BUDGET		64
/* The last valid tick. */
#define LAST		(TWHEEL_TICK_NEVER - 1)
/* Nodes per level. */
#define EACH		40

/**
 * struct range_test - a queue that advances through the whole range of ticks
 * @queue: the queue
 * @random: state of the random number generator
 * @now: the current tick
 * @horizon: maximum distances of nodes: the range of each level, and the last tick
 * @nr_horizons: number of entries of @horizon
 * @node: the nodes
 * @nr_nodes: number of used nodes
 * @nr_added: number of added nodes
 * @nr_popped: number of expired nodes
 * @max_cascaded: maximum number of moves of the added nodes
 */
struct range_test {
	struct twheel_queue	queue;
	struct rnd_state	random;
	u64			now;
	u64			horizon[TWHEEL_LEVELS_MAX + 1];
	unsigned int		nr_horizons;
	struct twheel_node	node[(TWHEEL_LEVELS_MAX + 1) * EACH];
	unsigned int		nr_nodes;
	unsigned int		nr_added;
	unsigned int		nr_popped;
	u64			max_cascaded;
};

static struct range_test *range;

static void range_start(struct kunit *test, bool random_start_tick)
{
	const unsigned int *slots = test->param_value;
	u64 horizon = 1;

	range = kunit_kzalloc(test, sizeof(*range), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, range);
	random_start(test, &range->random);
	range->now = random_start_tick ? random_magnitude(&range->random, 64) % LAST : 0;
	do {
		range->horizon[range->nr_horizons++] = horizon;
	} while (!check_mul_overflow(horizon, (u64)*slots, &horizon));
	range->horizon[range->nr_horizons++] = LAST;
	range->nr_nodes = range->nr_horizons * EACH;
	twheel_queue_init(&range->queue, *slots, 1, range->now);
}

static void range_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue_nodes(&range->queue), 0);
	twheel_queue_destroy(&range->queue);
}

/* Return a tick within a horizon or next to its end, but not past the last tick. */
static u64 random_tick(u64 horizon)
{
	u64 left = LAST - range->now;
	u64 ahead = min(horizon, left);

	if (random_below(&range->random, 2) && ahead)
		ahead = random_within(&range->random, ahead);
	else
		ahead = min(ahead - min(ahead, 1ULL) + random_below(&range->random, 3), left);
	return range->now + ahead;
}

static void add(struct kunit *test)
{
	struct twheel_node *node = &range->node[range->nr_added];
	struct twheel_wheel *wheel = &range->queue.wheel;

	node->expires = random_tick(range->horizon[range->nr_added++ % range->nr_horizons]);
	while (!twheel_wheel_reaches(wheel, node->expires)) {
		KUNIT_ASSERT_LT(test, wheel->nr_levels, TWHEEL_LEVELS_MAX);
		KUNIT_ASSERT_EQ(test, wheel_add_level(wheel, GFP_KERNEL), 0);
	}
	twheel_queue_add(&range->queue, node, node->expires);
	range->max_cascaded += level_of(node->expires - wheel->now, wheel->slots);
}

/* Advance to @now. Nodes must expire exactly at their tick. */
static void advance(struct kunit *test, u64 now)
{
	struct twheel_node *node;

	range->now = now;
	while (queue_advance(&range->queue, now, BUDGET)) {
		while ((node = twheel_due_pop(&range->queue.due))) {
			KUNIT_ASSERT_EQ(test, node->expires, now);
			range->nr_popped++;
		}
	}
}

/* Return the number of expired nodes and moves so far. */
static u64 work(void)
{
	return range->nr_popped + range->queue.nr_cascaded;
}

/* Advance to the next expiry, with a stop on the way at which nothing is due. */
static void step(struct kunit *test, u64 next)
{
	u64 done = work();

	if (next > range->now) {
		advance(test, next - random_within(&range->random, next - range->now));
		KUNIT_ASSERT_EQ(test, work(), done);
		KUNIT_ASSERT_EQ(test, queue_next(&range->queue), next);
	}
	advance(test, next);
	KUNIT_ASSERT_GT(test, work(), done);
}

/* Half of the nodes are added at the start, the others during the advance. */
static void expect_exact_expiry(struct kunit *test)
{
	u64 next;

	while (range->nr_added < range->nr_nodes / 2)
		add(test);
	while ((next = queue_next(&range->queue)) != TWHEEL_TICK_NEVER) {
		step(test, next);
		KUNIT_ASSERT_LE(test, range->queue.nr_cascaded, range->max_cascaded);
		if (range->nr_added < range->nr_nodes && !random_below(&range->random, 4))
			add(test);
	}
	KUNIT_EXPECT_EQ(test, range->nr_popped, range->nr_added);
}

static const unsigned int slot_counts[] = { 2, 3, 5, 7, 10, 16, 20, 64, 100, 512, 1000, 1024 };

static void slots_desc(const unsigned int *slots, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots", *slots);
}

KUNIT_ARRAY_PARAM(slots, slot_counts, slots_desc);

static void expiry_is_exact_from_first_tick_to_last(struct kunit *test)
{
	range_start(test, false);
	expect_exact_expiry(test);
}

/* Start at a tick where the slots of the levels do not begin together. */
static void expiry_is_exact_from_random_tick_to_last(struct kunit *test)
{
	range_start(test, true);
	expect_exact_expiry(test);
}

static struct kunit_case range_cases[] = {
	KUNIT_CASE_PARAM(expiry_is_exact_from_first_tick_to_last, slots_gen_params),
	KUNIT_CASE_PARAM(expiry_is_exact_from_random_tick_to_last, slots_gen_params),
	{}
};

static struct kunit_suite range_suite = {
	.name		= "twheel_queue_range",
	.exit		= range_end,
	.test_cases	= range_cases,
};

kunit_test_suite(range_suite);
