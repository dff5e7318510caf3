// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the wheel: the placement of nodes.
 *
 * Levels are counted from 0, as in the code. The worked examples that some cases come
 * from count them from 1.
 */
#include <kunit/test.h>

#include "../../twheel/core/wheel.h"

static struct twheel_wheel wheel;

static void wheel_start(struct kunit *test, unsigned int slots, u64 now)
{
	twheel_wheel_init(&wheel, slots, 1, now);
	KUNIT_ASSERT_EQ(test, twheel_wheel_add_level(&wheel, GFP_KERNEL), 0);
}

static void wheel_end(struct kunit *test)
{
	twheel_wheel_destroy(&wheel);
}

/* Find the bucket for a tick, and set its expiry to the beginning of its slot. */
static struct twheel_bucket *place_without_memory(u64 tick)
{
	struct twheel_bucket *bucket;
	u64 expires;

	bucket = twheel_wheel_find(&wheel, tick, &expires);
	if (bucket)
		bucket->expires = expires;
	return bucket;
}

/* Grow the wheel until it reaches the tick, and find the bucket. */
static struct twheel_bucket *place(struct kunit *test, u64 tick)
{
	while (!twheel_wheel_reaches(&wheel, tick)) {
		KUNIT_ASSERT_LT(test, wheel.nr_levels, TWHEEL_LEVELS_MAX);
		KUNIT_ASSERT_EQ(test, twheel_wheel_add_level(&wheel, GFP_KERNEL), 0);
	}
	return place_without_memory(tick);
}

static void expect_place(struct kunit *test, u64 expires, unsigned int level,
			 unsigned int slot, u64 begins)
{
	struct twheel_bucket *bucket = place(test, expires);

	KUNIT_ASSERT_NOT_NULL(test, bucket);
	KUNIT_EXPECT_EQ(test, bucket->level, level);
	KUNIT_EXPECT_PTR_EQ(test, bucket, &wheel.level[level]->bucket[slot]);
	KUNIT_EXPECT_EQ(test, bucket->expires, begins);
}

static void current_or_passed_tick_is_due(struct kunit *test)
{
	wheel_start(test, 64, 1000);
	KUNIT_EXPECT_NULL(test, place(test, 1000));
	KUNIT_EXPECT_NULL(test, place(test, 999));
	KUNIT_EXPECT_NULL(test, place(test, 0));
	KUNIT_EXPECT_NOT_NULL(test, place(test, 1001));
}

/* Tick of 1 ms, 20 slots. */
static void placement_of_tick_350(struct kunit *test)
{
	wheel_start(test, 20, 0);
	expect_place(test, 350, 1, 17, 340);
}

static void placement_of_tick_450(struct kunit *test)
{
	wheel_start(test, 20, 0);
	expect_place(test, 450, 2, 1, 400);
	wheel.now = 400;
	expect_place(test, 450, 1, 2, 440);
	wheel.now = 440;
	expect_place(test, 450, 0, 10, 450);
	wheel.now = 450;
	KUNIT_EXPECT_NULL(test, place(test, 450));
}

static void placement_of_tick_28(struct kunit *test)
{
	wheel_start(test, 20, 0);
	expect_place(test, 28, 1, 1, 20);
	wheel.now = 20;
	expect_place(test, 28, 0, 8, 28);
}

static void placement_of_tick_237(struct kunit *test)
{
	wheel_start(test, 20, 0);
	expect_place(test, 237, 1, 11, 220);
}

/* A slot less than a turn ahead is on the lowest level, for any current tick. */
static void lowest_level_that_reaches_is_used(struct kunit *test)
{
	wheel_start(test, 64, 63);
	expect_place(test, 63 + 63, 0, 62, 126);
	expect_place(test, 63 + 64, 1, 1, 64);
	wheel.now = 64 * 64 - 1;
	expect_place(test, 64 * 64, 0, 0, 64 * 64);
}

static void levels_are_added_on_demand(struct kunit *test)
{
	wheel_start(test, 64, 0);
	KUNIT_EXPECT_EQ(test, wheel.nr_levels, 1);
	place(test, 63);
	KUNIT_EXPECT_EQ(test, wheel.nr_levels, 1);
	place(test, 64);
	KUNIT_EXPECT_EQ(test, wheel.nr_levels, 2);
	place(test, 64 * 64 * 64);
	KUNIT_EXPECT_EQ(test, wheel.nr_levels, 4);
}

/* Without memory for a level a bucket is never late, and closer to the tick each turn. */
static void tick_beyond_last_level_uses_last_slot(struct kunit *test)
{
	struct twheel_bucket *bucket;
	unsigned int turns = 0;

	wheel_start(test, 64, 5);
	while ((bucket = place_without_memory(1000000))) {
		KUNIT_ASSERT_GT(test, bucket->expires, wheel.now);
		KUNIT_ASSERT_LE(test, bucket->expires, 1000000);
		wheel.now = bucket->expires;
		turns++;
	}
	KUNIT_EXPECT_EQ(test, wheel.now, 1000000);
	KUNIT_EXPECT_EQ(test, turns, DIV_ROUND_UP(1000000 - 5, 63));
}

static const unsigned int slot_counts[] = { 2, 3, 5, 7, 20, 64, 512, 1000, 1024 };

static void slots_desc(const unsigned int *slots, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots", *slots);
}

KUNIT_ARRAY_PARAM(slots, slot_counts, slots_desc);

/* Follow a node down: its bucket is never late, and on a lower level each time. */
static void expect_descent(struct kunit *test, u64 expires)
{
	unsigned int level = TWHEEL_LEVELS_MAX;
	struct twheel_bucket *bucket;

	while ((bucket = place(test, expires))) {
		KUNIT_ASSERT_LT(test, bucket->level, level);
		KUNIT_ASSERT_GT(test, bucket->expires, wheel.now);
		KUNIT_ASSERT_LE(test, bucket->expires, expires);
		level = bucket->level;
		wheel.now = bucket->expires;
	}
	KUNIT_EXPECT_EQ(test, wheel.now, expires);
}

static void every_64_bit_tick_is_reached(struct kunit *test)
{
	const unsigned int *slots = test->param_value;
	unsigned int bit;

	wheel_start(test, *slots, 0);
	for (bit = 0; bit < 64; bit++) {
		wheel.now = 0;
		expect_descent(test, BIT_ULL(bit));
		wheel.now = BIT_ULL(bit) / 3;
		expect_descent(test, BIT_ULL(bit) + BIT_ULL(bit) / 2);
	}
	wheel.now = 12345;
	expect_descent(test, U64_MAX - 1);
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE(current_or_passed_tick_is_due),
	KUNIT_CASE(placement_of_tick_350),
	KUNIT_CASE(placement_of_tick_450),
	KUNIT_CASE(placement_of_tick_28),
	KUNIT_CASE(placement_of_tick_237),
	KUNIT_CASE(lowest_level_that_reaches_is_used),
	KUNIT_CASE(levels_are_added_on_demand),
	KUNIT_CASE(tick_beyond_last_level_uses_last_slot),
	KUNIT_CASE_PARAM(every_64_bit_tick_is_reached, slots_gen_params),
	{}
};

static struct kunit_suite wheel_suite = {
	.name		= "twheel_wheel",
	.exit		= wheel_end,
	.test_cases	= wheel_cases,
};

kunit_test_suite(wheel_suite);
