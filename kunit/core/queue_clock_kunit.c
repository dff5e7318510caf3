// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the expiry queue, when the clock is set. No node is lost, early or
 * late, no node is moved unnecessarily, and a step cancels exactly those cancel-on-set
 * nodes that were added before it.
 */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../../twheel/core/wheel.h"
#include "../random.h"

#define SLOTS		8
#define NR_NODES	400
#define START		100000
#define BUDGET		5

static struct twheel_queue queue;
static struct twheel_node *nodes;

static int clock_init(struct kunit *test)
{
	nodes = kunit_kcalloc(test, NR_NODES, sizeof(*nodes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, nodes);
	twheel_queue_init(&queue, SLOTS, true, START);
	do {
		KUNIT_ASSERT_EQ(test, twheel_wheel_add_level(&queue.wheel, GFP_KERNEL), 0);
	} while (!twheel_wheel_reaches(&queue.wheel, 2 * START));
	return 0;
}

static void clock_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue.nr_nodes, 0);
	KUNIT_EXPECT_FALSE(test, twheel_queue_ready(&queue));
	queue.nr_nodes = 0;
	twheel_queue_destroy(&queue);
}

static void add(struct twheel_node *node, u64 expires)
{
	node->expires = expires;
	twheel_queue_add(&queue, node, false);
}

static void add_on_set(struct twheel_node *node, u64 expires)
{
	node->expires = expires;
	twheel_queue_add(&queue, node, true);
}

static struct twheel_node *pop_set(void)
{
	unsigned int budget = BUDGET;
	struct twheel_node *node;

	do {
		budget = BUDGET;
		node = twheel_queue_pop_set(&queue, &budget);
	} while (!node && !budget);
	if (node)
		queue.nr_nodes--;
	return node;
}

/* Advance tick by tick. Each node is due at its tick, or at @from if that tick has passed. */
static unsigned int drain(struct kunit *test, u64 from, u64 to)
{
	struct twheel_node *node;
	unsigned int nr = 0;
	u64 now;

	for (now = from; now <= to; now++) {
		while (twheel_queue_advance(&queue, now, BUDGET)) {
			while ((node = twheel_queue_pop(&queue))) {
				KUNIT_EXPECT_EQ(test, max(node->expires, from), now);
				nr++;
			}
		}
	}
	return nr;
}

static void step_back_moves_no_node(struct kunit *test)
{
	unsigned int i, due = 0, never = 0;
	struct rnd_state random;
	u64 moves;

	random_start(test, &random);
	for (i = 0; i < NR_NODES; i++)
		add(&nodes[i], i % 50 ? START + random_below(&random, 5000) : TWHEEL_TICK_NEVER);
	/* Some nodes become due and stay due, and some cascade to lower levels. */
	twheel_queue_advance(&queue, START + 1000, 30);

	moves = queue.nr_cascaded;
	twheel_queue_rewind(&queue, START - 3000);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START - 3000);
	KUNIT_EXPECT_EQ(test, queue.nr_cascaded, moves);
	while (twheel_queue_pop(&queue))
		due++;
	KUNIT_EXPECT_GT(test, due, 0);
	KUNIT_EXPECT_EQ(test, queue.nr_nodes, NR_NODES - due);
	for (i = 0; i < NR_NODES; i += 50, never++)
		twheel_queue_del(&queue, &nodes[i]);
	KUNIT_EXPECT_EQ(test, drain(test, START - 3000, START + 5000), NR_NODES - due - never);
}

static void step_forward_changes_nothing(struct kunit *test)
{
	add(&nodes[0], START + 10);
	add(&nodes[1], START + 3000);
	twheel_queue_rewind(&queue, START + 2000);
	twheel_queue_set(&queue);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START);
	KUNIT_EXPECT_FALSE(test, twheel_queue_ready(&queue));
	KUNIT_EXPECT_NULL(test, pop_set());
	KUNIT_EXPECT_LE(test, twheel_queue_next(&queue), START + 10);
	KUNIT_EXPECT_EQ(test, drain(test, START + 2000, START + 3000), 2);
}

/* One bucket holds nodes of two turns: ticks START - 5 and START + 3 share a slot. */
static void bucket_holds_two_turns_after_step_back(struct kunit *test)
{
	add(&nodes[0], START + 3);
	twheel_queue_rewind(&queue, START - 8);
	KUNIT_EXPECT_EQ(test, twheel_queue_next(&queue), START + 3);
	add(&nodes[1], START - 5);
	KUNIT_EXPECT_EQ(test, twheel_queue_next(&queue), START - 5);
	KUNIT_EXPECT_EQ(test, drain(test, START - 8, START - 4), 1);
	KUNIT_EXPECT_LE(test, twheel_queue_next(&queue), START + 3);
	KUNIT_EXPECT_EQ(test, drain(test, START - 4, START + 3), 1);
}

static void step_cancels_nodes_added_before(struct kunit *test)
{
	add(&nodes[0], START + 100);
	add_on_set(&nodes[1], START + 100);
	add_on_set(&nodes[2], TWHEEL_TICK_NEVER);
	add_on_set(&nodes[3], START);
	twheel_queue_set(&queue);
	KUNIT_EXPECT_TRUE(test, twheel_queue_ready(&queue));
	/* One node is for the tick of an older one, the other has no deadline. */
	add_on_set(&nodes[4], START + 100);
	add_on_set(&nodes[5], TWHEEL_TICK_NEVER);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[2]);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[1]);
	KUNIT_EXPECT_NULL(test, pop_set());
	/* nodes[3] was due when the clock was set. */
	KUNIT_EXPECT_PTR_EQ(test, twheel_queue_pop(&queue), &nodes[3]);
	KUNIT_EXPECT_FALSE(test, twheel_queue_ready(&queue));

	twheel_queue_set(&queue);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[5]);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[4]);
	KUNIT_EXPECT_NULL(test, pop_set());
	KUNIT_EXPECT_EQ(test, drain(test, START, START + 100), 1);
}

/* A step forward cancels the nodes that it passes, even if they expire before the sweep. */
static void expired_bucket_of_old_generation_is_cancelled(struct kunit *test)
{
	add_on_set(&nodes[0], START + 100);
	twheel_queue_set(&queue);
	KUNIT_EXPECT_TRUE(test, twheel_queue_advance(&queue, START + 100, BUDGET));
	KUNIT_EXPECT_NULL(test, twheel_queue_pop(&queue));
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[0]);
	KUNIT_EXPECT_NULL(test, pop_set());
}

static void sweep_completes_despite_frequent_steps(struct kunit *test)
{
	unsigned int i, budget, nr = 0, steps = 0;
	struct rnd_state random;

	random_start(test, &random);
	for (i = 0; i < NR_NODES; i++)
		add_on_set(&nodes[i], START + 1 + random_below(&random, START));
	while (nr < NR_NODES && steps++ < NR_NODES) {
		twheel_queue_set(&queue);
		budget = BUDGET;
		while (twheel_queue_pop_set(&queue, &budget))
			nr++;
	}
	KUNIT_EXPECT_EQ(test, nr, NR_NODES);
	queue.nr_nodes -= nr;
	KUNIT_EXPECT_NULL(test, pop_set());
}

/* The clock is set back during the sweep, and its next bucket gets a node of an earlier turn. */
static void sweep_continues_after_bucket_moved(struct kunit *test)
{
	add_on_set(&nodes[0], START + 5);
	twheel_queue_set(&queue);
	add_on_set(&nodes[1], START + 3);
	twheel_queue_rewind(&queue, START - SLOTS);
	twheel_queue_set(&queue);
	add_on_set(&nodes[2], START + 5 - SLOTS);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[0]);
	KUNIT_EXPECT_PTR_EQ(test, pop_set(), &nodes[1]);
	KUNIT_EXPECT_NULL(test, pop_set());
	twheel_queue_del(&queue, &nodes[2]);
}

static void emptied_queue_has_no_cancelled_nodes(struct kunit *test)
{
	struct twheel_node *node;
	unsigned int nr = 0;

	add(&nodes[0], START + 10);
	add_on_set(&nodes[1], TWHEEL_TICK_NEVER);
	add_on_set(&nodes[2], START + 10);
	add_on_set(&nodes[3], START + 20);
	twheel_queue_set(&queue);
	add_on_set(&nodes[4], START + 10);
	while (twheel_queue_take(&queue, &node))
		nr += !!node;
	KUNIT_EXPECT_EQ(test, nr, 5);
	KUNIT_EXPECT_TRUE(test, list_empty(&queue.set));
	KUNIT_EXPECT_NULL(test, pop_set());
}

/*
 * The model. For each node: whether it is pending, is a cancel-on-set node, was due at
 * the last step, and was cancelled by a step since it was added.
 */
static struct {
	bool	pending;
	bool	on_set;
	bool	due;
	bool	cancelled;
} *model;

static void model_add(struct rnd_state *random, unsigned int i, u64 now)
{
	u64 range = 1ULL << random_below(random, 14);

	if (model[i].pending) {
		twheel_queue_del(&queue, &nodes[i]);
		model[i].pending = false;
		return;
	}
	model[i].pending = true;
	model[i].on_set = random_below(random, 4) == 0;
	model[i].due = false;
	model[i].cancelled = false;
	nodes[i].expires = random_below(random, 20) ? now + 1 + random_below(random, range) :
						      TWHEEL_TICK_NEVER;
	twheel_queue_forward(&queue, now);
	twheel_queue_add(&queue, &nodes[i], model[i].on_set);
}

static void model_set(u64 now)
{
	struct twheel_node *node;
	unsigned int i;

	list_for_each_entry(node, &queue.due, entry)
		model[node - nodes].due = true;
	twheel_queue_rewind(&queue, now);
	twheel_queue_set(&queue);
	for (i = 0; i < NR_NODES; i++)
		model[i].cancelled |= model[i].pending && model[i].on_set && !model[i].due;
}

static void model_out(struct kunit *test, const struct twheel_node *node, bool cancelled)
{
	unsigned int i = node - nodes;

	KUNIT_EXPECT_TRUE(test, model[i].pending);
	KUNIT_EXPECT_EQ(test, model[i].cancelled, cancelled);
	model[i].pending = false;
}

/* Check that exactly the expired and the cancelled nodes leave the queue. */
static void model_advance(struct kunit *test, u64 now)
{
	struct twheel_node *node;
	unsigned int i;

	while (twheel_queue_advance(&queue, now, BUDGET)) {
		while ((node = twheel_queue_pop(&queue))) {
			KUNIT_EXPECT_TRUE(test, node->expires <= now || model[node - nodes].due);
			model_out(test, node, false);
		}
		while ((node = pop_set()))
			model_out(test, node, true);
	}
	for (i = 0; i < NR_NODES; i++) {
		if (!model[i].pending)
			continue;
		KUNIT_EXPECT_GT(test, nodes[i].expires, now);
		KUNIT_EXPECT_FALSE(test, model[i].cancelled);
		KUNIT_ASSERT_LE(test, twheel_queue_next(&queue), nodes[i].expires);
	}
}

static void random_steps_match_model(struct kunit *test)
{
	struct rnd_state random;
	unsigned int round, i;
	u64 now = START;

	random_start(test, &random);
	model = kunit_kcalloc(test, NR_NODES, sizeof(*model), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, model);
	for (round = 0; round < 3000; round++) {
		for (i = random_below(&random, 30); i; i--)
			model_add(&random, random_below(&random, NR_NODES), now);
		switch (random_below(&random, 8)) {
		case 0:
			now -= random_below(&random, 1ULL << random_below(&random, 16));
			model_set(now);
			break;
		case 1:
			now += random_below(&random, 1ULL << random_below(&random, 16));
			model_set(now);
			break;
		default:
			now += random_below(&random, 1ULL << random_below(&random, 9));
			break;
		}
		/* Sometimes the clock is set while a bucket is partly emptied. */
		if (random_below(&random, 2))
			model_advance(test, now);
		else
			twheel_queue_advance(&queue, now, BUDGET);
		now = max_t(u64, now, START);
	}
	for (i = 0; i < NR_NODES; i++)
		if (model[i].pending)
			twheel_queue_del(&queue, &nodes[i]);
	while (pop_set())
		;
	while (twheel_queue_pop(&queue))
		;
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(step_back_moves_no_node),
	KUNIT_CASE(step_forward_changes_nothing),
	KUNIT_CASE(bucket_holds_two_turns_after_step_back),
	KUNIT_CASE(step_cancels_nodes_added_before),
	KUNIT_CASE(expired_bucket_of_old_generation_is_cancelled),
	KUNIT_CASE(sweep_completes_despite_frequent_steps),
	KUNIT_CASE(sweep_continues_after_bucket_moved),
	KUNIT_CASE(emptied_queue_has_no_cancelled_nodes),
	KUNIT_CASE(random_steps_match_model),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_queue_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
