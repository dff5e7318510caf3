// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 2, the expiry queue, when time is set back: every node is
 * placed anew, none is lost, and none is due that should not be.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../twheel/queue.h"
#include "random.h"

#define SLOTS		8
#define NR_NODES	400
#define START		100000

static struct twheel_queue queue;
static struct twheel_node *nodes;

static int gather_init(struct kunit *test)
{
	struct twheel_level *level;

	nodes = kunit_kcalloc(test, NR_NODES, sizeof(*nodes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nodes);
	KUNIT_ASSERT_EQ(test, twheel_queue_init(&queue, SLOTS, START), 0);
	while (!twheel_wheel_reaches(&queue.wheel, 2 * START)) {
		level = twheel_level_alloc(SLOTS, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, level);
		twheel_wheel_grow(&queue.wheel, level);
	}
	return 0;
}

static void gather_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue.nr_nodes, 0);
	queue.nr_nodes = 0;
	twheel_queue_destroy(&queue);
}

static void add(struct twheel_node *node, u64 expires)
{
	node->expires = expires;
	twheel_queue_add(&queue, node);
}

/* Place anew what was gathered; how many nodes that is. */
static unsigned int replace_all(void)
{
	struct twheel_node *node;
	unsigned int nr = 0;

	while ((node = twheel_queue_pop_stray(&queue))) {
		twheel_queue_replace(&queue, node);
		nr++;
	}
	return nr;
}

/* Advance tick by tick; each node comes out at its own, or at once if that has passed. */
static unsigned int drain(struct kunit *test, u64 from, u64 to)
{
	struct twheel_node *node;
	unsigned int nr = 0;
	u64 now;

	for (now = from; now <= to; now++) {
		while (twheel_queue_advance(&queue, now, 4)) {
			while ((node = twheel_queue_pop(&queue))) {
				if (node->expires > from)
					KUNIT_EXPECT_EQ(test, node->expires, now);
				else
					KUNIT_EXPECT_EQ(test, now, from);
				nr++;
			}
		}
	}
	return nr;
}

static void time_goes_back_and_all_are_exact(struct kunit *test)
{
	unsigned int i, due = 0, never = 0;
	struct rnd_state random;

	random_start(test, &random);
	for (i = 0; i < NR_NODES; i++)
		add(&nodes[i], i % 50 ? START + random_below(&random, 5000) : TWHEEL_TICK_NEVER);
	/* Some of them are due, and stay so; some are on lower levels by now. */
	twheel_queue_advance(&queue, START + 1000, 30);

	twheel_queue_gather(&queue, START - 3000);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START - 3000);
	KUNIT_EXPECT_EQ(test, twheel_queue_next(&queue), START - 3000);
	twheel_queue_forward(&queue, START);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START - 3000);
	while (twheel_queue_pop(&queue))
		due++;
	KUNIT_EXPECT_GT(test, due, 0);
	KUNIT_EXPECT_EQ(test, replace_all(), NR_NODES - due);
	KUNIT_EXPECT_EQ(test, queue.nr_nodes, NR_NODES - due);
	for (i = 0; i < NR_NODES; i += 50, never++)
		twheel_queue_del(&queue, &nodes[i]);
	KUNIT_EXPECT_EQ(test, drain(test, START - 3000, START + 5000), NR_NODES - due - never);
}

static void a_step_forward_leaves_the_wheel_where_it_is(struct kunit *test)
{
	add(&nodes[0], START + 10);
	add(&nodes[1], START + 3000);
	twheel_queue_gather(&queue, START + 2000);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START);
	KUNIT_EXPECT_EQ(test, replace_all(), 2);
	KUNIT_EXPECT_EQ(test, drain(test, START + 2000, START + 3000), 2);
}

/* Meanwhile nodes come, go, and are gathered once more. */
static void what_is_gathered_may_go(struct kunit *test)
{
	struct twheel_node *node;

	add(&nodes[0], START + 10);
	add(&nodes[1], START + 100);
	add(&nodes[2], START + 1000);
	twheel_queue_gather(&queue, START - 500);
	twheel_queue_del(&queue, &nodes[1]);
	add(&nodes[3], START - 400);
	twheel_queue_gather(&queue, START - 600);
	node = twheel_queue_pop_stray(&queue);
	KUNIT_EXPECT_PTR_EQ(test, node, &nodes[0]);
	twheel_queue_expire(&queue, node);
	KUNIT_EXPECT_PTR_EQ(test, twheel_queue_pop(&queue), &nodes[0]);
	KUNIT_EXPECT_EQ(test, replace_all(), 2);
	KUNIT_EXPECT_EQ(test, drain(test, START - 600, START + 1000), 2);
}

static void an_emptied_queue_has_no_strays(struct kunit *test)
{
	struct twheel_node *node;
	unsigned int nr = 0;

	add(&nodes[0], START + 10);
	add(&nodes[1], TWHEEL_TICK_NEVER);
	twheel_queue_gather(&queue, START - 500);
	while (twheel_queue_take(&queue, &node))
		nr += !!node;
	KUNIT_EXPECT_EQ(test, nr, 2);
	KUNIT_EXPECT_TRUE(test, list_empty(&queue.stray));
}

static struct kunit_case gather_cases[] = {
	KUNIT_CASE(time_goes_back_and_all_are_exact),
	KUNIT_CASE(a_step_forward_leaves_the_wheel_where_it_is),
	KUNIT_CASE(what_is_gathered_may_go),
	KUNIT_CASE(an_emptied_queue_has_no_strays),
	{}
};

static struct kunit_suite gather_suite = {
	.name		= "twheel_queue_gather",
	.init		= gather_init,
	.exit		= gather_exit,
	.test_cases	= gather_cases,
};

kunit_test_suite(gather_suite);
