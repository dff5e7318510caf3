// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the wheel and its expiry queue, with time supplied by the test: the placement of
 * nodes, the time and order of expiry, and the amount of work. The last cases compare the queue
 * with a trivial model, an array that is searched linearly, up to the last tick: no clock reaches
 * it, but each level that a wheel can have is used.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../queue.h"
#include "../random.h"

#define BUDGET	64
/* The last valid tick. */
#define LAST	(TWHEEL_TICK_NEVER - 1)

static struct twheel_queue queue;

/* Adds find no memory for further levels. */
static bool lacks_memory;

static void queue_start(struct kunit *test, unsigned int slots, u64 now)
{
	twheel_queue_init(&queue, slots, 1, now);
	KUNIT_ASSERT_EQ(test, wheel_add_level(&queue.wheel, GFP_KERNEL), 0);
}

static void queue_end(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 0);
	lacks_memory = false;
	twheel_queue_destroy(&queue);
}

static void add(struct kunit *test, struct twheel_node *node, u64 expires)
{
	bool grow = !lacks_memory && expires != TWHEEL_TICK_NEVER;

	while (grow && !twheel_wheel_reaches(&queue.wheel, expires))
		KUNIT_ASSERT_EQ(test, wheel_add_level(&queue.wheel, GFP_KERNEL), 0);
	node->expires = expires;
	twheel_queue_add(&queue, node, node->expires);
}

/* Advance to @now and remove all due nodes. Return the number of removed nodes. */
static unsigned int drain(struct kunit *test, u64 now)
{
	struct twheel_node *node;
	unsigned int nr = 0;
	u64 last = 0;

	while (queue_advance(&queue, now, BUDGET)) {
		while ((node = twheel_due_pop(&queue.due))) {
			KUNIT_EXPECT_LE(test, node->expires, now);
			KUNIT_EXPECT_GE(test, node->expires, last);
			last = node->expires;
			nr++;
		}
	}
	return nr;
}

/* A timer moves when its slot begins. Levels are counted from 0. */
static const struct example {
	unsigned int	slots;
	u64		tick;
	u64		now;
	unsigned int	level;
	unsigned int	slot;
	u64		begins;
} examples[] = {
	{ 20, 28, 0, 1, 1, 20 },
	{ 20, 28, 20, 0, 8, 28 },
	{ 20, 237, 0, 1, 11, 220 },
	{ 20, 237, 220, 0, 17, 237 },
	{ 20, 350, 0, 1, 17, 340 },
	{ 20, 350, 340, 0, 10, 350 },
	{ 20, 450, 0, 2, 1, 400 },
	{ 20, 450, 400, 1, 2, 440 },
	{ 20, 450, 440, 0, 10, 450 },
	/* Less than a turn ahead, at any current tick. */
	{ 64, 126, 63, 0, 62, 126 },
	{ 64, 127, 63, 1, 1, 64 },
	{ 64, 4096, 4095, 0, 0, 4096 },
};

static void example_desc(const struct example *example, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots, tick %llu at %llu", example->slots,
		 example->tick, example->now);
}

KUNIT_ARRAY_PARAM(example, examples, example_desc);

static void worked_examples_are_placed(struct kunit *test)
{
	const struct example *example = test->param_value;
	struct twheel_node node;
	struct twheel_slot found;

	queue_start(test, example->slots, example->now);
	add(test, &node, example->tick);
	found = twheel_wheel_find(&queue.wheel, example->tick);
	KUNIT_EXPECT_PTR_EQ(test, found.bucket,
			    &queue.wheel.level[example->level][example->slot]);
	KUNIT_EXPECT_EQ(test, found.bucket->level, example->level);
	KUNIT_EXPECT_EQ(test, found.begin, example->begins);
	twheel_node_del(&node);
}

/*
 * A level has up to 1,024 cache lines, so all of them are written when it is allocated, without a
 * lock; the number that it got may be taken meanwhile.
 */
static void level_is_numbered_when_it_is_allocated(struct kunit *test)
{
	struct twheel_bucket *first, *second;
	unsigned int i;

	queue_start(test, TWHEEL_SLOTS_MAX, 0);
	first = twheel_level_alloc(&queue.wheel, GFP_KERNEL);
	second = twheel_level_alloc(&queue.wheel, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, first && second);
	for (i = 0; i < TWHEEL_SLOTS_MAX; i++)
		KUNIT_EXPECT_EQ(test, first[i].level, 1);
	KUNIT_EXPECT_TRUE(test, twheel_wheel_grow(&queue.wheel, first));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_grow(&queue.wheel, second));
	kfree(second);
}

/* Cancels leave empty buckets, which count as nodes do. */
static void emptied_buckets_count(struct kunit *test)
{
	unsigned int budget = BUDGET, i;
	struct twheel_node node;

	queue_start(test, 1024, 0);
	for (i = 1; i <= BUDGET + 1; i++) {
		add(test, &node, i);
		twheel_node_del(&node);
	}
	KUNIT_EXPECT_TRUE(test, twheel_queue_advance(&queue, 1000, &budget));
	KUNIT_EXPECT_EQ(test, budget, 0);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, BUDGET);
	budget = BUDGET;
	KUNIT_EXPECT_FALSE(test, twheel_queue_advance(&queue, 1000, &budget));
	KUNIT_EXPECT_EQ(test, budget, BUDGET - 1);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, 1000);
}

#define NR_MANY	10000

/* All nodes are in one bucket of level 1, and due one tick after it begins. */
static struct twheel_node *many_nodes_start(struct kunit *test)
{
	struct twheel_node *many;
	unsigned int i;

	queue_start(test, 64, 0);
	many = kunit_kcalloc(test, NR_MANY, sizeof(*many), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < NR_MANY; i++)
		add(test, &many[i], 129);
	return many;
}

static void nodes_are_added_and_deleted_between_chunks(struct kunit *test)
{
	struct twheel_node *many = many_nodes_start(test);
	struct twheel_node late, due;
	unsigned int i;

	/* Stop in the middle of the cascade. */
	for (i = 0; i < NR_MANY / BUDGET / 2; i++)
		KUNIT_ASSERT_TRUE(test, queue_advance(&queue, 128, BUDGET));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, 128);
	KUNIT_EXPECT_LE(test, queue.nr_cascaded, NR_MANY / 2);

	twheel_queue_forward(&queue, 200);
	KUNIT_EXPECT_EQ(test, queue.wheel.now, 128);
	for (i = 0; i < NR_MANY; i += 2)
		twheel_node_del(&many[i]);
	add(test, &late, 130);
	add(test, &due, 128);
	KUNIT_EXPECT_EQ(test, drain(test, 128), 1);
	KUNIT_EXPECT_EQ(test, drain(test, 129), NR_MANY / 2);
	KUNIT_EXPECT_EQ(test, drain(test, 130), 1);
}

/* The model: an array with the nodes in the queue. */
#define MODEL_NODES	200

struct model {
	struct twheel_node	node[MODEL_NODES];
	bool			pending[MODEL_NODES];
	u64			now;
	u64			moves;		/* at most, unless levels are missing */
};

static u64 model_earliest(const struct model *model)
{
	u64 earliest = TWHEEL_TICK_NEVER;
	unsigned int i;

	for (i = 0; i < MODEL_NODES; i++)
		if (model->pending[i])
			earliest = min(earliest, model->node[i].expires);
	return earliest;
}

static void model_add(struct kunit *test, struct model *model, unsigned int i, u64 distance)
{
	u64 expires;

	if (model->pending[i])
		twheel_node_del(&model->node[i]);
	if (check_add_overflow(model->now, distance, &expires))
		expires = TWHEEL_TICK_NEVER;
	add(test, &model->node[i], expires);
	if (expires > queue.wheel.now && expires != TWHEEL_TICK_NEVER)
		model->moves += level_of(expires - queue.wheel.now, queue.wheel.slots);
	model->pending[i] = true;
}

static void model_cancel(struct model *model, unsigned int i)
{
	if (model->pending[i])
		twheel_node_del(&model->node[i]);
	model->pending[i] = false;
}

/* Expect that expired nodes were pending and due, and that no remaining node is due. */
static void model_advance(struct kunit *test, struct model *model, u64 now)
{
	struct twheel_node *node;
	u64 last = 0;

	while (queue_advance(&queue, now, 5)) {
		while ((node = twheel_due_pop(&queue.due))) {
			KUNIT_ASSERT_TRUE(test, model->pending[node - model->node]);
			KUNIT_ASSERT_LE(test, node->expires, now);
			/* A node that was late when added is due at once, out of order. */
			if (node->expires > model->now)
				KUNIT_ASSERT_GE(test, node->expires, last);
			last = max(last, node->expires);
			model->pending[node - model->node] = false;
		}
	}
	model->now = now;
	KUNIT_ASSERT_GT(test, model_earliest(model), now);
	/* The next wakeup is in time for the earliest node. */
	KUNIT_ASSERT_LE(test, queue_next(&queue), model_earliest(model));
}

/* Without a bucket, the time moves up to the tick before the next one, and never back. */
static void model_forward(struct kunit *test, struct model *model, u64 now)
{
	u64 before = queue.wheel.now, next = twheel_queue_first(&queue);

	twheel_queue_forward(&queue, now);
	KUNIT_ASSERT_EQ(test, queue.wheel.now, max(before, min(now, next - 1)));
	model->now = max(model->now, queue.wheel.now);
}

/* Each step removes a node, due, pending or never due, or a bucket that deletions left empty. */
static void model_take_all(struct kunit *test, struct model *model)
{
	struct twheel_node *node;
	unsigned int i;

	while (twheel_queue_take(&queue, &node)) {
		if (!node)
			continue;
		KUNIT_ASSERT_TRUE(test, model->pending[node - model->node]);
		model->pending[node - model->node] = false;
	}
	for (i = 0; i < MODEL_NODES; i++)
		KUNIT_ASSERT_FALSE(test, model->pending[i]);
	KUNIT_ASSERT_EQ(test, queue_next(&queue), TWHEEL_TICK_NEVER);
}

/* Any distance; half of the ticks are at the bounds of slots of some level. */
static u64 random_distance(const struct model *model, struct rnd_state *random)
{
	unsigned int level = random_below(random, TWHEEL_LEVELS_MAX);
	u64 distance = random_magnitude(random, 64) - 1, span = 1, tick, rest;

	if (random_below(random, 2) || check_add_overflow(model->now, distance, &tick))
		return distance;
	while (level-- && span < div64_u64(tick, queue.wheel.slots))
		span *= queue.wheel.slots;
	div64_u64_rem(tick, span, &rest);
	return distance < rest ? distance : distance - rest + random_below(random, 2);
}

static u64 model_step(const struct model *model, struct rnd_state *random, unsigned int bits)
{
	u64 earliest = model_earliest(model);
	u64 now;

	/* Without higher levels it takes long to advance by many ticks. */
	if (bits < 40)
		return model->now + random_magnitude(random, bits);
	switch (random_below(random, 3)) {
	case 0:
		return earliest == TWHEEL_TICK_NEVER ? model->now : max(earliest, model->now);
	case 1:
		return max(model->now + 1, min(earliest, LAST)) - 1;
	default:
		if (check_add_overflow(model->now, random_magnitude(random, bits), &now))
			now = model->now;
		return min(now, LAST);
	}
}

static const unsigned int slot_counts[] = { 2, 3, 5, 7, 10, 16, 20, 64, 100, 512, 1000, 1024 };

static void slots_desc(const unsigned int *slots, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u slots", *slots);
}

KUNIT_ARRAY_PARAM(slots, slot_counts, slots_desc);

/* From one tick with work to the next, up to the last node. */
static void model_finish(struct kunit *test, struct model *model)
{
	u64 next, moved;

	while ((next = queue_next(&queue)) != TWHEEL_TICK_NEVER) {
		moved = queue.nr_cascaded;
		if (next > model->now)
			model_advance(test, model, next - 1);
		KUNIT_ASSERT_EQ(test, queue.nr_cascaded, moved);
		KUNIT_ASSERT_EQ(test, queue_next(&queue), next);
		model_advance(test, model, next);
	}
	KUNIT_EXPECT_EQ(test, model_earliest(model), TWHEEL_TICK_NEVER);
	KUNIT_EXPECT_LE(test, queue.nr_cascaded, model->moves);
}

static void model_run(struct kunit *test, bool lack_memory)
{
	const unsigned int *slots = test->param_value;
	unsigned int bits = lack_memory ? 12 : 40;
	struct rnd_state random;
	struct model *model;
	unsigned int round, i;

	random_start(test, &random);
	model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, model);
	/* Mostly where the slots of the levels do not begin together. */
	model->now = random_magnitude(&random, 64) % LAST;
	queue_start(test, *slots, model->now);

	for (round = 0; round < 5000; round++) {
		lacks_memory = lack_memory && random_below(&random, 100);
		i = random_below(&random, MODEL_NODES);
		switch (random_below(&random, 8)) {
		case 0:
			model_advance(test, model, model_step(model, &random, bits));
			break;
		case 1:
			model_cancel(model, i);
			break;
		case 2:
			model_forward(test, model, model_step(model, &random, bits) -
				      random_below(&random, 2));
			break;
		default:
			model_add(test, model, i, random_distance(model, &random));
		}
	}
	if (!lack_memory)
		model_finish(test, model);
	model_take_all(test, model);
}

static void queue_matches_model(struct kunit *test)
{
	model_run(test, false);
}

static void queue_matches_model_with_little_memory(struct kunit *test)
{
	model_run(test, true);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE_PARAM(worked_examples_are_placed, example_gen_params),
	KUNIT_CASE(level_is_numbered_when_it_is_allocated),
	KUNIT_CASE(emptied_buckets_count),
	KUNIT_CASE(nodes_are_added_and_deleted_between_chunks),
	KUNIT_CASE_PARAM(queue_matches_model, slots_gen_params),
	KUNIT_CASE_PARAM(queue_matches_model_with_little_memory, slots_gen_params),
	{}
};

static struct kunit_suite queue_suite = {
	.name		= "twheel_queue",
	.exit		= queue_end,
	.test_cases	= queue_cases,
};

kunit_test_suite(queue_suite);
