// SPDX-License-Identifier: GPL-2.0
/*
 * The test cases of Kafka's TimingWheelTest, with the same names, on the wheel and its
 * expiry queue: a tick of 10 ms, 5 slots, and a clock that starts at 1000 ms.
 * Documentation/cases.rst has the mapping.
 */
#include <kunit/test.h>
#include <linux/math64.h>

#include "../queue.h"

#define TICK_MS		10
#define SLOTS		5
#define START_MS	1000
#define TURN_MS		(TICK_MS * SLOTS)
#define BUDGET		64

static struct twheel_queue queue;

/* Round deadlines up to a tick, as timer adds do. The clock is rounded down. */
static u64 tick_of(u64 deadline_ms)
{
	return DIV_ROUND_UP_ULL(deadline_ms, TICK_MS);
}

static void add(struct kunit *test, struct twheel_node *node, u64 deadline_ms)
{
	node->expires = tick_of(deadline_ms);
	while (!twheel_wheel_reaches(&queue.wheel, node->expires))
		KUNIT_ASSERT_EQ(test, wheel_add_level(&queue.wheel, GFP_KERNEL), 0);
	twheel_queue_add(&queue, node, node->expires);
}

/* Returns true if a node is due. */
static bool advance(u64 now_ms)
{
	return queue_advance(&queue, div_u64(now_ms, TICK_MS), BUDGET);
}

static int timing_wheel_init(struct kunit *test)
{
	twheel_queue_init(&queue, SLOTS, 1, START_MS / TICK_MS);
	return wheel_add_level(&queue.wheel, GFP_KERNEL);
}

static void timing_wheel_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 0);
	twheel_queue_destroy(&queue);
}

static void add_valid_task(struct kunit *test)
{
	struct twheel_node node;

	add(test, &node, START_MS + 2 * TICK_MS);
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 1);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), tick_of(START_MS + 2 * TICK_MS));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + 2 * TICK_MS - 1));
	KUNIT_EXPECT_TRUE(test, advance(START_MS + 2 * TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

/* The node is due at once and is not put into a bucket. */
static void add_expired_task(struct kunit *test)
{
	struct twheel_node node;

	add(test, &node, START_MS - 1);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), START_MS / TICK_MS);
	KUNIT_EXPECT_TRUE(test, advance(START_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

static void add_cancelled_task(struct kunit *test)
{
	struct twheel_node node;

	add(test, &node, START_MS + 2 * TICK_MS);
	twheel_node_del(&node);
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 0);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&node.entry));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TURN_MS));
	KUNIT_EXPECT_NULL(test, twheel_due_pop(&queue.due));
}

/* Kafka's task is due at once, up to a tick early. Here it is due at the end of the tick. */
static void add_task_in_current_bucket(struct kunit *test)
{
	struct twheel_node node;

	add(test, &node, START_MS + 5);
	KUNIT_EXPECT_FALSE(test, advance(START_MS));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TICK_MS - 1));
	KUNIT_EXPECT_TRUE(test, advance(START_MS + TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

static void advance_clock_within_tick(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, advance(START_MS + 5));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START_MS / TICK_MS);
}

static void advance_clock_to_next_tick(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TICK_MS));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START_MS / TICK_MS + 1);
}

static void overflow_wheel_creation(struct kunit *test)
{
	struct twheel_node within, first, second;
	struct twheel_bucket *overflow;

	add(test, &within, START_MS + TURN_MS - TICK_MS);
	KUNIT_EXPECT_EQ(test, queue.wheel.nr_levels, 1);

	add(test, &first, START_MS + TURN_MS + TICK_MS);
	KUNIT_ASSERT_EQ(test, queue.wheel.nr_levels, 2);
	overflow = queue.wheel.level[1];

	add(test, &second, START_MS + TURN_MS + TICK_MS + 1);
	KUNIT_EXPECT_EQ(test, queue.wheel.nr_levels, 2);
	KUNIT_EXPECT_PTR_EQ(test, queue.wheel.level[1], overflow);

	twheel_node_del(&within);
	twheel_node_del(&first);
	twheel_node_del(&second);
}

/* All levels use one clock, so the second level reaches one slot further, too. */
static void advance_clock_with_overflow_wheel(struct kunit *test)
{
	u64 far = tick_of(START_MS + TURN_MS * SLOTS);
	struct twheel_node node;

	add(test, &node, START_MS + TURN_MS + TICK_MS);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), tick_of(START_MS + TURN_MS));
	KUNIT_EXPECT_TRUE(test, twheel_wheel_reaches(&queue.wheel, far - 1));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_reaches(&queue.wheel, far));

	KUNIT_EXPECT_TRUE(test, advance(START_MS + TURN_MS + TICK_MS));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, tick_of(START_MS + TURN_MS + TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
	KUNIT_EXPECT_TRUE(test, twheel_wheel_reaches(&queue.wheel, far + SLOTS - 1));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_reaches(&queue.wheel, far + SLOTS));
}

static struct kunit_case timing_wheel_cases[] = {
	KUNIT_CASE(add_valid_task),
	KUNIT_CASE(add_expired_task),
	KUNIT_CASE(add_cancelled_task),
	KUNIT_CASE(add_task_in_current_bucket),
	KUNIT_CASE(advance_clock_within_tick),
	KUNIT_CASE(advance_clock_to_next_tick),
	KUNIT_CASE(overflow_wheel_creation),
	KUNIT_CASE(advance_clock_with_overflow_wheel),
	{}
};

static struct kunit_suite timing_wheel_suite = {
	.name		= "kafka_timing_wheel_test",
	.init		= timing_wheel_init,
	.exit		= timing_wheel_exit,
	.test_cases	= timing_wheel_cases,
};

kunit_test_suite(timing_wheel_suite);
