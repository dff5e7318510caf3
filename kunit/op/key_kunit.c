// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: rings of watches, and the buckets that hold
 * the first watch of each ring.
 *
 * There are no operations here, and the resize work item is replaced by a stub. The test
 * moves keys itself and can check a stripe between any two steps of a move.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "../random.h"
#include "key_probe.h"

#define NR_RING		5
#define NR_CHAIN	(TWHEEL_KEY_SLOTS + 4)
#define NR_MANY		20000
#define NR_MOVED	700

static struct twheel_watch ring[NR_RING];

/* Link all watches of the ring and store pointers to them in link order. */
static void watch_ring(struct twheel_watch **watches, u64 number)
{
	unsigned int i;

	for (i = 0; i < NR_RING; i++) {
		key_watch(&ring[i], number);
		watches[i] = &ring[i];
	}
}

static void unlink_nth(struct twheel_watch **watches, unsigned int *nr, unsigned int i)
{
	key_unwatch(watches[i]);
	--*nr;
	memmove(&watches[i], &watches[i + 1], (*nr - i) * sizeof(*watches));
}

static void watches_stay_in_link_order(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING];
	unsigned int nr = NR_RING;

	watch_ring(watches, 1);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 1);
	expect_ring(test, 1, watches, nr);
	while (nr) {
		unlink_nth(watches, &nr, nr - 1);
		expect_ring(test, 1, watches, nr);
	}
}

static void unlink_keeps_order_of_other_watches(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING];
	unsigned int first, second, nr;

	for (first = 0; first < NR_RING; first++) {
		for (second = 0; second < NR_RING - 1; second++) {
			nr = NR_RING;
			watch_ring(watches, 1);
			unlink_nth(watches, &nr, first);
			expect_ring(test, 1, watches, nr);
			unlink_nth(watches, &nr, second);
			expect_ring(test, 1, watches, nr);
			while (nr)
				unlink_nth(watches, &nr, 0);
			expect_ring(test, 1, watches, nr);
		}
	}
}

static void relinked_watch_is_last(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING], *again;
	unsigned int i, nr = NR_RING;

	watch_ring(watches, 1);
	for (i = 0; i < 2 * NR_RING; i++) {
		again = watches[0];
		unlink_nth(watches, &nr, 0);
		KUNIT_EXPECT_FALSE(test, twheel_watch_is_linked(again));
		KUNIT_EXPECT_FALSE(test, twheel_watch_is_first(again));
		key_watch(again, 1);
		watches[nr++] = again;
		expect_ring(test, 1, watches, nr);
	}
	while (nr)
		unlink_nth(watches, &nr, 0);
}

static void last_unlink_removes_key(struct kunit *test)
{
	struct twheel_watch watch[2];

	KUNIT_EXPECT_PTR_EQ(test, key_first(1), NULL);
	key_watch(&watch[0], 1);
	key_watch(&watch[1], 1);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 1);
	key_unwatch(&watch[0]);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 1);
	KUNIT_EXPECT_PTR_EQ(test, key_first(1), &watch[1]);
	key_unwatch(&watch[1]);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 0);
	KUNIT_EXPECT_PTR_EQ(test, key_first(1), NULL);
}

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

/* Find keys that map to the stripe of key 0, which starts with a single bucket. */
static void find_same_stripe(u64 *numbers, unsigned int nr)
{
	struct twheel_stripe *stripe = key_stripe(0);
	unsigned int i = 0;
	u64 number;

	for (number = 0; i < nr; number++)
		if (key_stripe(number) == stripe)
			numbers[i++] = number;
}

/* Check that key k has the watches from @first[k] on. */
static void expect_chain(struct kunit *test, const u64 *numbers,
			 struct twheel_watch (*watch)[NR_CHAIN], const unsigned int *first)
{
	struct twheel_watch *watches[3];
	unsigned int i, k, nr;

	for (k = 0; k < NR_CHAIN; k++) {
		for (i = first[k], nr = 0; i < ARRAY_SIZE(watches); i++)
			watches[nr++] = &watch[i][k];
		expect_ring(test, numbers[k], watches, nr);
	}
}

/* More keys than a bucket has slots, three watches each. The first watches leave in turn. */
static void next_watch_replaces_first(struct kunit *test)
{
	static struct twheel_watch watch[3][NR_CHAIN];
	unsigned int i, k, start, first[NR_CHAIN];
	u64 numbers[NR_CHAIN];

	find_same_stripe(numbers, NR_CHAIN);
	for (start = 0; start < NR_CHAIN; start++) {
		for (k = 0; k < NR_CHAIN; k++)
			first[k] = 0;
		for (i = 0; i < 3; i++)
			for (k = 0; k < NR_CHAIN; k++)
				key_watch(&watch[i][k], numbers[k]);
		expect_chain(test, numbers, watch, first);
		for (i = 0; i < 3 * NR_CHAIN; i++) {
			k = (start + i) % NR_CHAIN;
			key_unwatch(&watch[first[k]++][k]);
			expect_chain(test, numbers, watch, first);
		}
	}
}

static void buckets_scale_with_number_of_keys(struct kunit *test)
{
	struct twheel_watch *watch = kvcalloc(NR_MANY, sizeof(*watch), GFP_KERNEL);
	struct twheel_watch *watches[1];
	u64 i;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	for (i = 0; i < NR_MANY; i++) {
		key_watch(&watch[i], i);
		if (i % 1000 == 999) {
			key_resize();
			expect_bucket_sizes(test, &key_table);
		}
	}
	KUNIT_EXPECT_GT(test, key_nr_requests, 0);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), NR_MANY);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), NR_MANY);
	for (i = 0; i < NR_MANY; i++) {
		watches[0] = &watch[i];
		expect_ring(test, i, watches, 1);
	}
	key_nr_requests = 0;
	for (i = 0; i < NR_MANY; i++) {
		key_unwatch(&watch[i]);
		if (i % 1000 == 999) {
			key_resize();
			expect_bucket_sizes(test, &key_table);
			KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), NR_MANY - 1 - i);
		}
	}
	KUNIT_EXPECT_GT(test, key_nr_requests, 0);
	kvfree(watch);
}

/* Link and unlink one more key. Returns true if the table requested no resize. */
static bool requests_no_resize(struct twheel_watch *watch, u64 number)
{
	flush_delayed_work(&key_table.resize);
	key_nr_requests = 0;
	key_watch(watch, number);
	key_unwatch(watch);
	flush_delayed_work(&key_table.resize);
	return !key_nr_requests;
}

/*
 * Move the keys of a stripe to a larger or smaller bucket array. Between any two steps,
 * look up all keys, and let each key lose its first watch or be removed and added again.
 */
static void expect_found_during_move(struct kunit *test, struct twheel_watch (*watch)[2],
				     const u64 *numbers, unsigned int nr)
{
	struct twheel_stripe *stripe = key_stripe(numbers[0]);
	struct twheel_watch *watches[2], other;
	unsigned int i, steps = 0, first = 0;

	KUNIT_ASSERT_EQ(test, twheel_stripe_alloc(&key_table, stripe, GFP_KERNEL), 0);
	do {
		/* Moved as well as unmoved keys. */
		for (i = 0; i < nr; i++) {
			watches[0] = &watch[i][first];
			watches[1] = &watch[i][!first];
			expect_ring(test, numbers[i], watches, 2);
			key_unwatch(watches[0]);
			expect_ring(test, numbers[i], &watches[1], 1);
			if (i % 3 == 0) {
				key_unwatch(watches[1]);
				expect_ring(test, numbers[i], watches, 0);
				key_watch(watches[1], numbers[i]);
			}
			key_watch(watches[0], numbers[i]);
		}
		first = !first;
		KUNIT_EXPECT_TRUE(test, requests_no_resize(&other, numbers[nr]));
		KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
		KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), nr);
		steps++;
	} while (key_move_step(stripe));
	KUNIT_EXPECT_GE(test, steps, 2);
	for (i = 0; i < nr; i++) {
		watches[0] = &watch[i][first];
		watches[1] = &watch[i][!first];
		expect_ring(test, numbers[i], watches, 2);
	}
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
	expect_bucket_sizes(test, &key_table);
	/* Restore the original order of the watches. */
	for (i = 0; first && i < nr; i++) {
		key_unwatch(&watch[i][0]);
		key_unwatch(&watch[i][1]);
		key_watch(&watch[i][0], numbers[i]);
		key_watch(&watch[i][1], numbers[i]);
	}
}

static void keys_are_found_during_move(struct kunit *test)
{
	struct twheel_watch (*watch)[2] = kvcalloc(NR_MOVED, sizeof(*watch), GFP_KERNEL);
	u64 *numbers = kvcalloc(NR_MOVED + 1, sizeof(*numbers), GFP_KERNEL);
	unsigned int i, few = NR_MOVED / 20;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	KUNIT_ASSERT_NOT_NULL(test, numbers);
	find_same_stripe(numbers, NR_MOVED + 1);
	for (i = 0; i < 4 * few; i++)
		key_watch(&watch[i / 2][i % 2], numbers[i / 2]);
	key_resize();
	for (; i < 2 * NR_MOVED; i++)
		key_watch(&watch[i / 2][i % 2], numbers[i / 2]);
	/* From 32 buckets to 512 ... */
	expect_found_during_move(test, watch, numbers, NR_MOVED);
	for (i = 2 * few; i < 2 * NR_MOVED; i++)
		key_unwatch(&watch[i / 2][i % 2]);
	/* ... and back to 16. */
	expect_found_during_move(test, watch, numbers, few);
	for (i = 0; i < 2 * few; i++)
		key_unwatch(&watch[i / 2][i % 2]);
	kvfree(numbers);
	kvfree(watch);
}

static void stripes_scale_with_max_ops(struct kunit *test)
{
	static struct twheel_keys few, many, most;

	KUNIT_ASSERT_EQ(test, twheel_keys_init(&few, 1, false), 0);
	KUNIT_ASSERT_EQ(test, twheel_keys_init(&many, 1 << 20, false), 0);
	KUNIT_ASSERT_EQ(test, twheel_keys_init(&most, 1 << 30, false), 0);
	KUNIT_EXPECT_EQ(test, few.shift, key_table.shift);
	KUNIT_EXPECT_GT(test, many.shift, few.shift);
	KUNIT_EXPECT_GT(test, most.shift, many.shift);
	KUNIT_EXPECT_LE(test, most.shift, 8);
	twheel_keys_destroy(&few);
	twheel_keys_destroy(&many);
	twheel_keys_destroy(&most);
}

/* Chains may be arbitrarily long if the allocation of buckets has failed. */
static void long_chain_moves_in_bounded_steps(struct kunit *test)
{
	unsigned int i, steps = 0, nr = 20000;
	struct twheel_watch *watch = kvcalloc(nr, sizeof(*watch), GFP_KERNEL);
	u64 *numbers = kvcalloc(nr + 1, sizeof(*numbers), GFP_KERNEL);
	struct twheel_stripe *stripe;

	KUNIT_ASSERT_TRUE(test, watch && numbers);
	find_same_stripe(numbers, nr);
	stripe = key_stripe(numbers[0]);
	for (i = 0; i < nr; i++)
		key_watch(&watch[i], numbers[i]);
	KUNIT_ASSERT_EQ(test, twheel_stripe_alloc(&key_table, stripe, GFP_KERNEL), 0);
	do {
		/* Moved as well as unmoved keys. */
		KUNIT_EXPECT_PTR_EQ(test, key_first(numbers[steps * 20]), &watch[steps * 20]);
		steps++;
	} while (key_move_step(stripe));
	KUNIT_EXPECT_GE(test, steps, nr / 32);
	for (i = 0; i < nr; i++)
		key_unwatch(&watch[i]);
	kvfree(numbers);
	kvfree(watch);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(long_chain_moves_in_bounded_steps),
	KUNIT_CASE(watches_stay_in_link_order),
	KUNIT_CASE(unlink_keeps_order_of_other_watches),
	KUNIT_CASE(relinked_watch_is_last),
	KUNIT_CASE(last_unlink_removes_key),
	KUNIT_CASE(both_words_identify_key),
	KUNIT_CASE(next_watch_replaces_first),
	KUNIT_CASE(buckets_scale_with_number_of_keys),
	KUNIT_CASE(keys_are_found_during_move),
	KUNIT_CASE(stripes_scale_with_max_ops),
	{}
};

static struct kunit_suite key_suite = {
	.name		= "twheel_key",
	.init		= key_suite_init,
	.exit		= key_suite_exit,
	.test_cases	= key_cases,
};

kunit_test_suite(key_suite);
