// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the table of ids, against an array of objects.
 */
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>

#include "../../twheel/dev/ids.h"
#include "../random.h"

#define OBJECTS		1000
#define STEPS		200000

/* An object, with its id, or 0 if it is not in the table. Zeroed ones have never been in it. */
struct object {
	u64	id;
	u64	last_id;
};

static struct twheel_ids ids;
static struct object objects[OBJECTS];
static struct rnd_state random;

static int ids_start(struct kunit *test)
{
	memset(&ids, 0, sizeof(ids));
	memset(objects, 0, sizeof(objects));
	twheel_ids_init(&ids);
	twheel_ids_set_secret(&ids);
	random_start(test, &random);
	return 0;
}

static void ids_end(struct kunit *test)
{
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		if (objects[i].id)
			twheel_ids_remove(&ids, &objects[i].id, 1);
	twheel_ids_exit(&ids);
}

static void *find(u64 id)
{
	void *object;

	rcu_read_lock();
	object = twheel_ids_find(&ids, id);
	rcu_read_unlock();
	return object;
}

static void add(struct kunit *test, struct object *object)
{
	u32 shard = random_below(&random, TWHEEL_ID_SHARDS);

	bool hidden = random_below(&random, 2);

	KUNIT_ASSERT_EQ(test, twheel_ids_add(&ids, shard, object, hidden, &object->id), 0);
	KUNIT_ASSERT_EQ(test, !!(object->id & TWHEEL_ID_HIDDEN), hidden);
	KUNIT_ASSERT_NE(test, object->id, 0);
	KUNIT_ASSERT_NE(test, object->id, TWHEEL_NO_ID);
	KUNIT_ASSERT_NE(test, object->id, object->last_id);
	object->last_id = object->id;
}

static void remove(struct object *object)
{
	twheel_ids_remove(&ids, &object->id, 1);
	object->id = 0;
}

/* An object is found by its id. By an earlier one, another object or none is found. */
static void expect_found(struct kunit *test, struct object *object)
{
	struct object *found = find(object->last_id);

	if (object->id)
		KUNIT_ASSERT_PTR_EQ(test, found, object);
	else if (found)
		KUNIT_ASSERT_NE(test, found->id, object->last_id);
}

static void finds_what_a_model_has(struct kunit *test)
{
	struct object *object;
	u32 i;

	for (i = 0; i < STEPS; i++) {
		object = &objects[random_below(&random, OBJECTS)];
		if (!object->id)
			add(test, object);
		else if (random_below(&random, 3))
			remove(object);
		expect_found(test, &objects[random_below(&random, OBJECTS)]);
	}
}

static void lists_each_object_once(struct kunit *test)
{
	unsigned long index = 0;
	struct object *object;
	u32 i, nr = 0;

	for (i = 0; i < OBJECTS; i++)
		add(test, &objects[i]);
	for (i = 0; i < OBJECTS; i++)
		if (random_below(&random, 4))
			remove(&objects[i]);
	rcu_read_lock();
	while (index < TWHEEL_INDEX_END) {
		object = twheel_ids_next(&ids, &index);
		if (!object)
			continue;
		KUNIT_EXPECT_EQ(test, twheel_id_index(&ids, object->id), index);
		index++;
		nr++;
	}
	rcu_read_unlock();
	for (i = 0; i < OBJECTS; i++)
		nr -= !!objects[i].id;
	KUNIT_EXPECT_EQ(test, nr, 0);
}

static void unknown_ids_are_not_found(struct kunit *test)
{
	struct object *object = &objects[0];

	KUNIT_EXPECT_NULL(test, find(1ULL << TWHEEL_INDEX_BITS | 1));
	KUNIT_ASSERT_EQ(test, twheel_ids_add(&ids, 0, object, false, &object->id), 0);
	KUNIT_EXPECT_NULL(test, find(object->id | TWHEEL_INDEX_MASK));
	KUNIT_EXPECT_NULL(test, find(0));
	KUNIT_EXPECT_NULL(test, find(U64_MAX));
	KUNIT_EXPECT_NULL(test, find(TWHEEL_NO_ID));
}

/* An encrypted id has half of the bits in common with the next one, and all can be decrypted. */
static void hidden_ids_show_nothing(struct kunit *test)
{
	u64 plain = random_below(&random, U32_MAX), hidden, last = twheel_id_hide(&ids, plain - 1);
	u32 differ = 0, i;

	for (i = 0; i < STEPS; i++, plain++) {
		hidden = twheel_id_hide(&ids, plain);
		KUNIT_ASSERT_TRUE(test, hidden & TWHEEL_ID_HIDDEN);
		KUNIT_ASSERT_EQ(test, twheel_id_plain(&ids, hidden), plain);
		differ += hweight64(hidden ^ last);
		last = hidden;
	}
	/* The deviation is 1,775. */
	KUNIT_EXPECT_GE(test, differ, 63 * STEPS / 2 - 10 * 1775);
	KUNIT_EXPECT_LE(test, differ, 63 * STEPS / 2 + 10 * 1775);
}

/* As long as no file is restricted, a hidden id is a guess. */
static void hidden_ids_need_a_secret(struct kunit *test)
{
	u64 hidden;

	add(test, &objects[0]);
	hidden = twheel_id_hide(&ids, twheel_id_plain(&ids, objects[0].id));
	KUNIT_EXPECT_PTR_EQ(test, find(hidden), &objects[0]);
	ids.has_secret = false;
	KUNIT_EXPECT_NULL(test, find(hidden));
	KUNIT_EXPECT_EQ(test, twheel_id_plain(&ids, hidden), 0);
	ids.has_secret = true;
}

static u32 leaves_with_slots(void)
{
	u32 leaf, block, nr = 0;

	for (leaf = 1; leaf <= ids.nr_leaves; leaf++) {
		block = ilog2(leaf);
		nr += !!ids.block[block][leaf - BIT(block)].slots;
	}
	return nr;
}

/* In the order in which they were added, and in the reverse order. */
static void empty_leaves_have_no_slots(struct kunit *test)
{
	u32 round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < OBJECTS; i++)
			add(test, &objects[i]);
		KUNIT_EXPECT_GE(test, leaves_with_slots(), OBJECTS / TWHEEL_LEAF_SLOTS);
		for (i = 0; i < OBJECTS; i++)
			remove(&objects[round ? OBJECTS - 1 - i : i]);
		KUNIT_EXPECT_LE(test, leaves_with_slots(), TWHEEL_ID_SHARDS);
	}
}

/* The number of leaves follows the number of objects. */
static void leaves_are_used_again(struct kunit *test)
{
	u32 round, leaves = 0, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < OBJECTS; i++)
			add(test, &objects[i]);
		leaves = leaves ?: ids.nr_leaves;
		for (i = 0; i < OBJECTS; i++)
			remove(&objects[i]);
	}
	KUNIT_EXPECT_GE(test, leaves, OBJECTS / TWHEEL_LEAF_SLOTS);
	/* Another round may have more objects in a shard, but not many more. */
	KUNIT_EXPECT_LE(test, ids.nr_leaves, 2 * leaves);
}

static struct kunit_case ids_cases[] = {
	KUNIT_CASE(finds_what_a_model_has),
	KUNIT_CASE(lists_each_object_once),
	KUNIT_CASE(unknown_ids_are_not_found),
	KUNIT_CASE(hidden_ids_show_nothing),
	KUNIT_CASE(hidden_ids_need_a_secret),
	KUNIT_CASE(empty_leaves_have_no_slots),
	KUNIT_CASE(leaves_are_used_again),
	{}
};

static struct kunit_suite ids_suite = {
	.name		= "twheel_ids",
	.init		= ids_start,
	.exit		= ids_end,
	.test_cases	= ids_cases,
};

kunit_test_suite(ids_suite);
