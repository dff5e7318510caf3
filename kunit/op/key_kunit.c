// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: the buckets that hold the first watch of each ring.
 * key_model_kunit.c tests the rings and the look-up during a resize.
 *
 * There are no operations here. The test moves keys itself and can check the table between any two
 * steps.
 */
#include <linux/minmax.h>
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
		watch[i].hash = twheel_keys_hash(&key_table, &keys[i]);
		at = twheel_key_lock(&key_table, watch[i].hash);
		KUNIT_EXPECT_PTR_EQ(test, twheel_key_first(&at, &keys[i]), NULL);
		twheel_key_link(&at, &watch[i]);
		twheel_key_unlock(&at);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		at = twheel_key_lock(&key_table, watch[i].hash);
		KUNIT_EXPECT_PTR_EQ(test, twheel_key_first(&at, &keys[i]), &watch[i]);
		twheel_key_unlock(&at);
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		key_unwatch(&watch[i]);
}

/* A step moves one full bucket, or as many empty ones as a full one has keys. */
static void full_buckets_are_moved_one_by_one(struct kunit *test)
{
	const unsigned int nr = TWHEEL_KEY_MOST * TWHEEL_KEY_MOST;
	struct twheel_watch *watch = kvcalloc(nr, sizeof(*watch), GFP_KERNEL);
	unsigned int i, steps, in[TWHEEL_KEY_MOST] = {}, added = 0;
	u64 number;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	for (number = 0; added < nr; number++)
		if (in[key_index(number)]++ < TWHEEL_KEY_MOST)
			key_watch(&watch[added++], number);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), TWHEEL_KEY_MOST);
	for (steps = 1; key_resize_step(test, 2 * TWHEEL_KEY_MOST); steps++)
		if (key_table.table->next)
			KUNIT_EXPECT_EQ(test, key_table.table->moved, steps);
	KUNIT_EXPECT_EQ(test, steps - 1, TWHEEL_KEY_MOST);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), 0);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
	for (i = 0; i < nr; i++)
		key_unwatch(&watch[i]);
	for (steps = 0; key_resize_step(test, TWHEEL_KEY_MOST); steps++)
		;
	KUNIT_EXPECT_EQ(test, steps, 2);
	kvfree(watch);
}

/* Buckets are allocated and freed while keys are moved, so there are never two whole tables. */
static void segments_are_allocated_and_freed_during_a_move(struct kunit *test)
{
	const u32 sizes[] = { 4 * TWHEEL_KEY_SEGMENT, 8 * TWHEEL_KEY_SEGMENT, TWHEEL_KEY_SEGMENT };
	struct twheel_key_table *table;
	unsigned int i, n, nr, most, all;
	struct twheel_watch watch;

	key_watch(&watch, 1);
	while (key_resize_step(test, sizes[0]))
		;
	for (i = 1; i < ARRAY_SIZE(sizes); i++) {
		for (most = 0; key_resize_step(test, sizes[i]); most = max(most, nr)) {
			for (nr = 0, table = key_table.table; table; table = table->next) {
				all = twheel_key_table_size(table) / TWHEEL_KEY_SEGMENT;
				for (n = 0; n < all; n++)
					nr += !!table->segment[n];
			}
			KUNIT_EXPECT_PTR_EQ(test, key_first(1), &watch);
			KUNIT_EXPECT_EQ(test, keys_found(&key_table), 1);
		}
		KUNIT_EXPECT_LE(test, most, max(sizes[i - 1], sizes[i]) / TWHEEL_KEY_SEGMENT + 1);
	}
	key_unwatch(&watch);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(both_words_identify_key),
	KUNIT_CASE(full_buckets_are_moved_one_by_one),
	KUNIT_CASE(segments_are_allocated_and_freed_during_a_move),
	{}
};

static struct kunit_suite key_suite = {
	.name		= "twheel_key",
	.init		= key_suite_init,
	.exit		= key_suite_exit,
	.test_cases	= key_cases,
};

kunit_test_suite(key_suite);
