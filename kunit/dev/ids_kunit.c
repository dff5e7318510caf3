// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the table of ids, against an array of leaves. twheel_info_test has walks over it.
 */
#include <linux/bitops.h>
#include <linux/rcupdate.h>

#include "../../twheel/dev/ids.h"
#include "../random.h"

#define LEAVES		60
#define STEPS		200000

/* An object, with its id, or 0 if its slot is free, and its latest one. */
struct object {
	u64	id;
	u64	last_id;
};

/* A leaf, in the table while it has objects. */
struct holder {
	struct twheel_leaf	leaf;
	struct object		object[TWHEEL_LEAF_SLOTS];
};

static struct twheel_ids ids;
static struct holder holders[LEAVES];
static struct rnd_state random;

static bool is_empty(const struct holder *holder)
{
	return holder->leaf.free == TWHEEL_LEAF_EMPTY(&holder->leaf);
}

static void remove(struct object *object)
{
	struct holder *holder;
	u32 slot;

	for (holder = holders; object >= holder->object + TWHEEL_LEAF_SLOTS; holder++)
		;
	slot = object - holder->object;
	object->id = 0;
	holder->leaf.free |= BIT(slot);
	if (is_empty(holder))
		twheel_ids_remove(&ids, &holder->leaf);
}

static void remove_all(void)
{
	u32 i;

	for (i = 0; i < LEAVES * TWHEEL_LEAF_SLOTS; i++)
		if (holders[i / TWHEEL_LEAF_SLOTS].object[i % TWHEEL_LEAF_SLOTS].id)
			remove(&holders[i / TWHEEL_LEAF_SLOTS].object[i % TWHEEL_LEAF_SLOTS]);
}

/* Every third leaf is for a single object. */
static int ids_start(struct kunit *test)
{
	u32 i;

	memset(&ids, 0, sizeof(ids));
	memset(holders, 0, sizeof(holders));
	twheel_ids_init(&ids);
	for (i = 0; i < LEAVES; i++) {
		holders[i].leaf.mask = i % 3 ? TWHEEL_LEAF_SLOTS - 1 : 0;
		holders[i].leaf.free = TWHEEL_LEAF_EMPTY(&holders[i].leaf);
		holders[i].leaf.first = offsetof(struct holder, object);
		holders[i].leaf.stride = sizeof(struct object);
	}
	random_start(test, &random);
	return 0;
}

static void ids_end(struct kunit *test)
{
	remove_all();
	KUNIT_EXPECT_EQ(test, ids.nr_used, 0);
	twheel_ids_exit(&ids);
}

static struct object *find(u64 id)
{
	struct object *object;

	rcu_read_lock();
	object = twheel_ids_find(&ids, id);
	rcu_read_unlock();
	return object;
}

/* Add an object to a leaf that is not full. */
static struct object *add(struct kunit *test, struct holder *holder)
{
	bool hidden = random_below(&random, 2);
	struct object *object;
	u32 slot;
	u64 id;

	if (is_empty(holder))
		KUNIT_ASSERT_EQ(test, twheel_ids_add(&ids, &holder->leaf), 0);
	id = twheel_leaf_take(&ids, &holder->leaf, &slot, hidden);
	object = &holder->object[slot];
	KUNIT_ASSERT_EQ(test, object->id, 0);
	KUNIT_ASSERT_EQ(test, !!(id & TWHEEL_ID_HIDDEN), hidden);
	KUNIT_ASSERT_NE(test, id, 0);
	KUNIT_ASSERT_NE(test, id, TWHEEL_NO_ID);
	KUNIT_ASSERT_NE(test, id, object->last_id);
	object->id = id;
	object->last_id = id;
	return object;
}

static struct holder *random_holder(void)
{
	return &holders[random_below(&random, LEAVES)];
}

/* An object is found by its id. By an earlier one, another object, a free slot or none is found. */
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
	struct holder *holder;
	struct object *object;
	u32 i;

	for (i = 0; i < STEPS; i++) {
		holder = random_holder();
		object = &holder->object[random_below(&random, holder->leaf.mask + 1)];
		if (object->id && random_below(&random, 2))
			remove(object);
		else if (holder->leaf.free)
			expect_found(test, add(test, holder));
		holder = random_holder();
		expect_found(test, &holder->object[random_below(&random, holder->leaf.mask + 1)]);
	}
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

/* The generation goes on where the previous leaf of the number has ended. */
static void numbers_are_used_again(struct kunit *test)
{
	u64 id, last = 0;
	u32 i;

	for (i = 0; i < 20; i++) {
		id = twheel_id_plain(&ids, add(test, &holders[i % LEAVES])->id);
		KUNIT_EXPECT_GT(test, id, last);
		last = id;
		remove_all();
	}
	KUNIT_EXPECT_EQ(test, ids.nr_leaves, 1);
}

static struct kunit_case ids_cases[] = {
	KUNIT_CASE(finds_what_a_model_has),
	KUNIT_CASE(hidden_ids_show_nothing),
	KUNIT_CASE(numbers_are_used_again),
	{}
};

static struct kunit_suite ids_suite = {
	.name		= "twheel_ids",
	.init		= ids_start,
	.exit		= ids_end,
	.test_cases	= ids_cases,
};

kunit_test_suite(ids_suite);
