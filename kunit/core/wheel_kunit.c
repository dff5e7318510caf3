// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the wheel: the placement of nodes.
 *
 * Levels are counted from 0, as in the code. The worked examples that some cases come
 * from count them from 1.
 */
#include <kunit/test.h>

#include "../queue.h"

static struct twheel_queue queue;
static struct twheel_wheel * const wheel = &queue.wheel;

static void wheel_start(struct kunit *test, unsigned int slots, u64 now)
{
	twheel_queue_init(&queue, slots, 1, now);
	KUNIT_ASSERT_EQ(test, wheel_add_level(wheel, GFP_KERNEL), 0);
}

static void wheel_end(struct kunit *test)
{
	twheel_queue_destroy(&queue);
}

/* Grow the wheel until it reaches the tick, and find its slot. */
static struct twheel_slot place(struct kunit *test, u64 tick)
{
	while (!twheel_wheel_reaches(wheel, tick))
		KUNIT_ASSERT_EQ(test, wheel_add_level(wheel, GFP_KERNEL), 0);
	return twheel_wheel_find(wheel, tick);
}

static void expect_place(struct kunit *test, u64 expires, unsigned int level,
			 unsigned int slot, u64 begins)
{
	struct twheel_slot found = place(test, expires);

	KUNIT_ASSERT_NOT_NULL(test, found.bucket);
	KUNIT_EXPECT_EQ(test, found.bucket->level, level);
	KUNIT_EXPECT_PTR_EQ(test, found.bucket, &wheel->level[level][slot]);
	KUNIT_EXPECT_EQ(test, found.begin, begins);
}

/* Tick of 1 ms, 20 slots. A timer moves when its slot begins. */
static const struct example {
	u64		tick;
	u64		now;
	unsigned int	level;
	unsigned int	slot;
	u64		begins;
} examples[] = {
	{ 28, 0, 1, 1, 20 },
	{ 28, 20, 0, 8, 28 },
	{ 237, 0, 1, 11, 220 },
	{ 237, 220, 0, 17, 237 },
	{ 350, 0, 1, 17, 340 },
	{ 350, 340, 0, 10, 350 },
	{ 450, 0, 2, 1, 400 },
	{ 450, 400, 1, 2, 440 },
	{ 450, 440, 0, 10, 450 },
};

static void example_desc(const struct example *example, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu at %llu", example->tick, example->now);
}

KUNIT_ARRAY_PARAM(example, examples, example_desc);

static void worked_examples_are_placed(struct kunit *test)
{
	const struct example *example = test->param_value;

	wheel_start(test, 20, example->now);
	expect_place(test, example->tick, example->level, example->slot, example->begins);
}

/* A slot less than a turn ahead is on the lowest level, for any current tick. */
static void lowest_level_that_reaches_is_used(struct kunit *test)
{
	wheel_start(test, 64, 63);
	expect_place(test, 63 + 63, 0, 62, 126);
	expect_place(test, 63 + 64, 1, 1, 64);
	wheel->now = 64 * 64 - 1;
	expect_place(test, 64 * 64, 0, 0, 64 * 64);
}

/*
 * A level has up to 1,024 cache lines, so all of them are written when it is allocated, without a
 * lock; the number that it got may be taken meanwhile.
 */
static void level_is_numbered_when_it_is_allocated(struct kunit *test)
{
	struct twheel_bucket *first, *second;
	unsigned int i;

	wheel_start(test, TWHEEL_SLOTS_MAX, 0);
	first = twheel_level_alloc(wheel, GFP_KERNEL);
	second = twheel_level_alloc(wheel, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, second);
	for (i = 0; i < TWHEEL_SLOTS_MAX; i++)
		KUNIT_EXPECT_EQ(test, first[i].level, 1);
	KUNIT_EXPECT_TRUE(test, twheel_wheel_grow(wheel, first));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_grow(wheel, second));
	KUNIT_EXPECT_EQ(test, wheel->nr_levels, 2);
	kfree(second);
}

static struct kunit_case wheel_cases[] = {
	KUNIT_CASE_PARAM(worked_examples_are_placed, example_gen_params),
	KUNIT_CASE(lowest_level_that_reaches_is_used),
	KUNIT_CASE(level_is_numbered_when_it_is_allocated),
	{}
};

static struct kunit_suite wheel_suite = {
	.name		= "twheel_wheel",
	.exit		= wheel_end,
	.test_cases	= wheel_cases,
};

kunit_test_suite(wheel_suite);
