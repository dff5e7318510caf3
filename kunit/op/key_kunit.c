// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: the buckets that hold the first watch of each ring.
 * key_model_kunit.c tests the rings and the look-up during a resize.
 *
 * There are no operations here, and the resize work item is replaced by a stub. The test
 * splits and merges buckets itself and can check the table between any two steps.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "key_probe.h"

static void both_words_identify_key(struct kunit *test)
{
	static const struct twheel_key keys[] = {
		{ .v = { 1, 2 } }, { .v = { 2, 1 } }, { .v = { 1, 1 } }, { .v = { 2, 2 } },
		{ .v = { 0, 0 } }, { .v = { 1ULL << 32, 0 } }, { .v = { 0, 1ULL << 63 } },
	};
	struct twheel_watch watch[ARRAY_SIZE(keys)] = {};
	struct twheel_key_at at;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		watch[i].key = keys[i];
		watch[i].mark = twheel_keys_hash(&key_table, &keys[i]);
		at = twheel_key_lock(&key_table, watch[i].mark);
		KUNIT_EXPECT_PTR_EQ(test, twheel_key_first(&at, &keys[i]), NULL);
		twheel_key_link(&at, &watch[i]);
		twheel_key_unlock(&at);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		at = twheel_key_lock(&key_table, twheel_watch_hash(&watch[i]));
		KUNIT_EXPECT_PTR_EQ(test, twheel_key_first(&at, &keys[i]), &watch[i]);
		twheel_key_unlock(&at);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		key_unwatch(&watch[i]);
}

/* Enough buckets for two levels of nodes */
#define NR_BUCKETS	(BIT(TWHEEL_SEGMENT_SHIFT + TWHEEL_NODE_SHIFT) + 3 * TWHEEL_SEGMENT)

static void expect_masks(struct kunit *test)
{
	struct twheel_key_bucket *bucket;
	u32 i, number, size = key_table.size;

	/* Of a number with all higher bits set, and one with none. */
	for (i = 0; i < key_table.capacity; i++) {
		bucket = twheel_keys_bucket(&key_table, i);
		number = ~bucket->mask | i;
		if (i >= size)
			KUNIT_ASSERT_EQ_MSG(test, bucket->mask, 0, "bucket %u of %u", i, size);
		else if (twheel_keys_index(size, number) != i || twheel_keys_index(size, i) != i)
			KUNIT_FAIL(test, "bucket %u of %u, mask %x", i, size, bucket->mask);
	}
}

/* Each bucket has the mask of the keys that belong to it, and its own memory. */
static void buckets_know_their_keys(struct kunit *test)
{
	u32 step = 0, i;

	while (key_resize_step(test, NR_BUCKETS))
		if (key_table.size < 100 || step++ % 64 == 0)
			expect_masks(test);
	KUNIT_EXPECT_EQ(test, key_table.size, NR_BUCKETS);
	for (i = 0; i < NR_BUCKETS; i++)
		twheel_keys_bucket(&key_table, i)->nr = i;
	for (i = 0; i < NR_BUCKETS; i++) {
		if (twheel_keys_bucket(&key_table, i)->nr != i)
			KUNIT_FAIL(test, "bucket %u has the memory of another one", i);
		twheel_keys_bucket(&key_table, i)->nr = 0;
	}
	while (key_resize_step(test, TWHEEL_SEGMENT))
		if (key_table.size < 100 || step++ % 64 == 0)
			expect_masks(test);
	KUNIT_EXPECT_EQ(test, key_table.size, TWHEEL_SEGMENT);
	expect_bucket_sizes(test, &key_table);
}

/* Buckets are full if there was no memory for some time. */
static void full_buckets_are_split_one_by_one(struct kunit *test)
{
	const unsigned int nr = TWHEEL_SEGMENT * TWHEEL_KEY_MOST;
	struct twheel_watch *watch = kvcalloc(nr, sizeof(*watch), GFP_KERNEL);
	unsigned int i, steps = 0, in[TWHEEL_SEGMENT] = {}, added = 0;
	struct twheel_watch other;
	u64 number;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	for (number = 0; added < nr; number++)
		if (in[key_index(number)]++ < TWHEEL_KEY_MOST)
			key_watch(&watch[added++], number);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), TWHEEL_SEGMENT);
	while (key_resize_step(test, 2 * TWHEEL_SEGMENT)) {
		steps++;
		KUNIT_EXPECT_EQ(test, key_table.size, TWHEEL_SEGMENT + steps);
	}
	KUNIT_EXPECT_EQ(test, steps, TWHEEL_SEGMENT);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), 0);
	/* Two of them have too many keys to be merged. */
	key_watch(&other, number);
	while (key_resize_step(test, TWHEEL_SEGMENT))
		;
	KUNIT_EXPECT_EQ(test, key_table.size, key_index(number) % TWHEEL_SEGMENT +
					      TWHEEL_SEGMENT + 1);
	KUNIT_EXPECT_LE(test, keys_max_per_bucket(&key_table), TWHEEL_KEY_MOST);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr + 1);
	key_unwatch(&other);
	for (i = 0; i < nr; i++)
		key_unwatch(&watch[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), 0);
	kvfree(watch);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(both_words_identify_key),
	KUNIT_CASE(buckets_know_their_keys),
	KUNIT_CASE(full_buckets_are_split_one_by_one),
	{}
};

static struct kunit_suite key_suite = {
	.name		= "twheel_key",
	.init		= key_suite_init,
	.exit		= key_suite_exit,
	.test_cases	= key_cases,
};

kunit_test_suite(key_suite);
