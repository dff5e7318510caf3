// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: its hash, the bound on the keys of a bucket, and moves.
 * key_model_kunit.c tests the order of watches and the look-up during a move.
 *
 * There are no operations here. The test moves keys itself and can check the table between any two
 * steps.
 */
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "key_probe.h"

#define NR	8192

static struct twheel_watch *watches;

/*
 * hsiphash() is SipHash-1-3 with 64-bit words, cut to 32 bits. So keys that somebody chooses spread
 * over the buckets as random ones do, unless the secret is known.
 */
static void keys_are_hashed_with_siphash(struct kunit *test)
{
#ifdef CONFIG_64BIT
	const hsiphash_key_t secret = { .key = {
		key_table.state[2] ^ SIPHASH_CONST_2, key_table.state[3] ^ SIPHASH_CONST_3,
	} };
	unsigned int i;

	for (i = 0; i < 64; i++) {
		const struct twheel_key key = { .v = { BIT_ULL(i), ~0ULL << i } };

		KUNIT_EXPECT_EQ(test, twheel_keys_hash(&key_table, &key),
				hsiphash(&key, sizeof(key), &secret));
	}
#else
	kunit_skip(test, "hsiphash() is another function");
#endif
}

/* Keys that collide in one table do not collide in another. */
static void each_table_has_its_own_secret(struct kunit *test)
{
	static struct twheel_keys other;

	memset(&other, 0, sizeof(other));
	KUNIT_ASSERT_EQ(test, twheel_keys_init(&other, false), 0);
	KUNIT_EXPECT_NE(test, key_table.state[0], other.state[0]);
	KUNIT_EXPECT_NE(test, key_table.state[1], other.state[1]);
	twheel_keys_destroy(&other);
}

/* Those that are watched already are not. tools/rig/chains.c has the same for adds. */
static void new_keys_of_a_full_bucket_are_refused(struct kunit *test)
{
	struct twheel_watch *new = &watches[TWHEEL_KEY_MOST];
	unsigned int nr = 0, may_sleep;
	u64 number;

	for (number = 0; nr <= TWHEEL_KEY_MOST; number++)
		if (!key_index(number))
			key_watch_init(&watches[nr++], number);
	for (nr = 0; nr < TWHEEL_KEY_MOST; nr++) {
		KUNIT_EXPECT_EQ(test, twheel_keys_check(&key_table, &watches[nr], 1, true), 0);
		key_watch_link(&watches[nr]);
	}
	for (may_sleep = 0; may_sleep < 2; may_sleep++) {
		KUNIT_EXPECT_EQ(test, twheel_keys_check(&key_table, new, 1, may_sleep), -ENOMEM);
		KUNIT_EXPECT_EQ(test, twheel_keys_check(&key_table, watches, nr, may_sleep), 0);
	}
	/* A full bucket is no reason to grow. */
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(key_table.table), TWHEEL_KEY_MOST);
	key_unwatch(&watches[0]);
	KUNIT_EXPECT_EQ(test, twheel_keys_check(&key_table, new, 1, false), 0);
	while (--nr)
		key_unwatch(&watches[nr]);
}

/* Not during a walk, whose caller may remove keys in their order: the others would get closer. */
static void removals_shrink_the_table_after_a_walk(struct kunit *test)
{
	unsigned int i;
	u32 size;

	for (i = 0; i < NR; i++)
		key_watch(&watches[i], i);
	keys_resize(&key_table);
	expect_bucket_sizes(test, &key_table);
	size = twheel_key_table_size(key_table.table);
	atomic_inc(&key_table.walks);
	for (i = 0; i < NR - NR / 16; i++)
		key_unwatch(&watches[i]);
	keys_resize(&key_table);
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(key_table.table), size);
	atomic_dec(&key_table.walks);
	for (; i < NR; i++) {
		key_unwatch(&watches[i]);
		twheel_keys_move(&key_table);
	}
	KUNIT_EXPECT_LE(test, twheel_key_table_size(key_table.table), NR / 16);
	keys_resize(&key_table);
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(key_table.table), TWHEEL_KEY_MOST);
}

/* A walk was broken off: the keys that are left have the highest hashes. */
static void full_bucket_keeps_the_table_from_shrinking(struct kunit *test)
{
	unsigned int i, nr = 6 * TWHEEL_KEY_MOST, most = 0;
	u64 number = 0;

	while (key_resize_step(test, BIT(14)))
		;
	for (i = 0; i < nr; i++) {
		do {
			key_watch_init(&watches[i], number++);
		} while (watches[i].hash < U32_MAX - U32_MAX / 1400);
		key_watch_link(&watches[i]);
	}
	/* With one bucket for all of them, the table would grow again. */
	while (__twheel_keys_move(&key_table, false))
		if (!key_table.table->next)
			most = max(most, keys_max_per_bucket(&key_table));
	KUNIT_EXPECT_LT(test, most, 4 * TWHEEL_KEY_MOST);
	for (i = 0; i < nr; i++)
		key_unwatch(&watches[i]);
	keys_resize(&key_table);
}

/* A step moves one full bucket, or as many empty ones as a full one has keys. */
static void full_buckets_are_moved_one_by_one(struct kunit *test)
{
	const unsigned int nr = TWHEEL_KEY_MOST * TWHEEL_KEY_MOST;
	unsigned int i, steps, in[TWHEEL_KEY_MOST] = {}, added = 0;
	u64 number;

	for (number = 0; added < nr; number++)
		if (in[key_index(number)]++ < TWHEEL_KEY_MOST)
			key_watch(&watches[added++], number);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), TWHEEL_KEY_MOST);
	for (steps = 1; key_resize_step(test, 2 * TWHEEL_KEY_MOST); steps++)
		if (key_table.table->next)
			KUNIT_EXPECT_EQ(test, key_table.table->moved, steps);
	KUNIT_EXPECT_EQ(test, steps - 1, TWHEEL_KEY_MOST);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), 0);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
	for (i = 0; i < nr; i++)
		key_unwatch(&watches[i]);
	for (steps = 0; key_resize_step(test, TWHEEL_KEY_MOST); steps++)
		;
	KUNIT_EXPECT_EQ(test, steps, 2);
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

static int key_init_suite(struct kunit *test)
{
	watches = kvcalloc(NR, sizeof(*watches), GFP_KERNEL);
	return watches ? key_suite_init(test) : -ENOMEM;
}

static void key_exit_suite(struct kunit *test)
{
	key_suite_exit(test);
	kvfree(watches);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(keys_are_hashed_with_siphash),
	KUNIT_CASE(each_table_has_its_own_secret),
	KUNIT_CASE(new_keys_of_a_full_bucket_are_refused),
	KUNIT_CASE(removals_shrink_the_table_after_a_walk),
	KUNIT_CASE(full_bucket_keeps_the_table_from_shrinking),
	KUNIT_CASE(full_buckets_are_moved_one_by_one),
	KUNIT_CASE(segments_are_allocated_and_freed_during_a_move),
	{}
};

static struct kunit_suite key_suite = {
	.name		= "twheel_key",
	.init		= key_init_suite,
	.exit		= key_exit_suite,
	.test_cases	= key_cases,
};

kunit_test_suite(key_suite);
