// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, keys: the rings of those who watch, and the buckets in which the
 * first of each ring stands.
 *
 * There are no operations here, and nothing is done by a work item unless the test does
 * it: so a stripe can be looked at between any two steps of a move.
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

/* Pointers to the watches of the ring, in the order in which they came. */
static void watch_ring(struct twheel_watch **watches, u64 number)
{
	unsigned int i;

	for (i = 0; i < NR_RING; i++) {
		key_watch(&ring[i], number);
		watches[i] = &ring[i];
	}
}

static void leave(struct twheel_watch **watches, unsigned int *nr, unsigned int which)
{
	key_unwatch(watches[which]);
	--*nr;
	memmove(&watches[which], &watches[which + 1], (*nr - which) * sizeof(*watches));
}

static void they_stand_in_the_order_in_which_they_came(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING];
	unsigned int nr = NR_RING;

	watch_ring(watches, 1);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 1);
	expect_ring(test, 1, watches, nr);
	while (nr) {
		leave(watches, &nr, nr - 1);
		expect_ring(test, 1, watches, nr);
	}
}

static void whoever_leaves_the_others_keep_their_order(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING];
	unsigned int first, second, nr;

	for (first = 0; first < NR_RING; first++) {
		for (second = 0; second < NR_RING - 1; second++) {
			nr = NR_RING;
			watch_ring(watches, 1);
			leave(watches, &nr, first);
			expect_ring(test, 1, watches, nr);
			leave(watches, &nr, second);
			expect_ring(test, 1, watches, nr);
			while (nr)
				leave(watches, &nr, 0);
			expect_ring(test, 1, watches, nr);
		}
	}
}

static void who_comes_again_stands_last(struct kunit *test)
{
	struct twheel_watch *watches[NR_RING], *again;
	unsigned int i, nr = NR_RING;

	watch_ring(watches, 1);
	for (i = 0; i < 2 * NR_RING; i++) {
		again = watches[0];
		leave(watches, &nr, 0);
		KUNIT_EXPECT_FALSE(test, twheel_watch_is_linked(again));
		KUNIT_EXPECT_FALSE(test, twheel_watch_is_first(again));
		key_watch(again, 1);
		watches[nr++] = again;
		expect_ring(test, 1, watches, nr);
	}
	while (nr)
		leave(watches, &nr, 0);
}

static void the_last_takes_the_key_along(struct kunit *test)
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

static void both_words_make_the_key(struct kunit *test)
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

/* Numbers of keys that are in one stripe, and at first in its only bucket. */
static void same_stripe(u64 *numbers, unsigned int nr)
{
	struct twheel_stripe *stripe = key_stripe(0);
	unsigned int i = 0;
	u64 number;

	for (number = 0; i < nr; number++)
		if (key_stripe(number) == stripe)
			numbers[i++] = number;
}

/* Watches @first and following of each key that has any. */
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

/* More keys than a bucket has slots, three watches each; the firsts go one after the other. */
static void the_next_takes_the_place_of_the_first(struct kunit *test)
{
	static struct twheel_watch watch[3][NR_CHAIN];
	unsigned int i, k, start, first[NR_CHAIN];
	u64 numbers[NR_CHAIN];

	same_stripe(numbers, NR_CHAIN);
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

static void buckets_follow_the_number_of_keys(struct kunit *test)
{
	struct twheel_watch *watch = kvcalloc(NR_MANY, sizeof(*watch), GFP_KERNEL);
	struct twheel_watch *watches[1];
	u64 i;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	for (i = 0; i < NR_MANY; i++) {
		key_watch(&watch[i], i);
		if (i % 1000 == 999) {
			key_resize();
			expect_fitting(test, &key_table);
		}
	}
	KUNIT_EXPECT_GT(test, key_nr_asked, 0);
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), NR_MANY);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), NR_MANY);
	for (i = 0; i < NR_MANY; i++) {
		watches[0] = &watch[i];
		expect_ring(test, i, watches, 1);
	}
	key_nr_asked = 0;
	for (i = 0; i < NR_MANY; i++) {
		key_unwatch(&watch[i]);
		if (i % 1000 == 999) {
			key_resize();
			expect_fitting(test, &key_table);
			KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), NR_MANY - 1 - i);
		}
	}
	KUNIT_EXPECT_GT(test, key_nr_asked, 0);
	kvfree(watch);
}

/* Let one more key come and go: nothing is to be asked for. */
static bool asks_for_nothing(struct twheel_watch *watch, u64 number)
{
	flush_delayed_work(&key_table.resize);
	key_nr_asked = 0;
	key_watch(watch, number);
	key_unwatch(watch);
	flush_delayed_work(&key_table.resize);
	return !key_nr_asked;
}

/*
 * A stripe with too few buckets, or too many, has got others; all its keys are looked for
 * between any two steps, and at each one of them comes, goes, or gets an heir.
 */
static void expect_found_while_moved(struct kunit *test, struct twheel_watch (*watch)[2],
				     const u64 *numbers, unsigned int nr)
{
	struct twheel_stripe *stripe = key_stripe(numbers[0]);
	struct twheel_watch *watches[2], other;
	unsigned int i, steps = 0, first = 0;

	KUNIT_ASSERT_EQ(test, twheel_stripe_alloc(&key_table, stripe, GFP_KERNEL), 0);
	do {
		/* Those near both ends, so that some have been moved and some have not. */
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
		KUNIT_EXPECT_TRUE(test, asks_for_nothing(&other, numbers[nr]));
		KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
		KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), nr);
		steps++;
	} while (key_move_on(stripe));
	KUNIT_EXPECT_GE(test, steps, 2);
	for (i = 0; i < nr; i++) {
		watches[0] = &watch[i][first];
		watches[1] = &watch[i][!first];
		expect_ring(test, numbers[i], watches, 2);
	}
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), nr);
	expect_fitting(test, &key_table);
	/* As they were. */
	for (i = 0; first && i < nr; i++) {
		key_unwatch(&watch[i][0]);
		key_unwatch(&watch[i][1]);
		key_watch(&watch[i][0], numbers[i]);
		key_watch(&watch[i][1], numbers[i]);
	}
}

static void keys_are_found_while_they_are_moved(struct kunit *test)
{
	struct twheel_watch (*watch)[2] = kvcalloc(NR_MOVED, sizeof(*watch), GFP_KERNEL);
	u64 *numbers = kvcalloc(NR_MOVED + 1, sizeof(*numbers), GFP_KERNEL);
	unsigned int i, few = NR_MOVED / 20;

	KUNIT_ASSERT_NOT_NULL(test, watch);
	KUNIT_ASSERT_NOT_NULL(test, numbers);
	same_stripe(numbers, NR_MOVED + 1);
	for (i = 0; i < 4 * few; i++)
		key_watch(&watch[i / 2][i % 2], numbers[i / 2]);
	key_resize();
	for (; i < 2 * NR_MOVED; i++)
		key_watch(&watch[i / 2][i % 2], numbers[i / 2]);
	/* From 32 buckets to 512 ... */
	expect_found_while_moved(test, watch, numbers, NR_MOVED);
	for (i = 2 * few; i < 2 * NR_MOVED; i++)
		key_unwatch(&watch[i / 2][i % 2]);
	/* ... and back to 16. */
	expect_found_while_moved(test, watch, numbers, few);
	for (i = 0; i < 2 * few; i++)
		key_unwatch(&watch[i / 2][i % 2]);
	kvfree(numbers);
	kvfree(watch);
}

static void more_operations_get_more_stripes(struct kunit *test)
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

/* However many were chained behind one bucket, since there was no memory for others. */
static void a_long_chain_is_moved_in_bounded_steps(struct kunit *test)
{
	unsigned int i, steps = 0, nr = 20000;
	struct twheel_watch *watch = kvcalloc(nr, sizeof(*watch), GFP_KERNEL);
	u64 *numbers = kvcalloc(nr + 1, sizeof(*numbers), GFP_KERNEL);
	struct twheel_stripe *stripe;

	KUNIT_ASSERT_TRUE(test, watch && numbers);
	same_stripe(numbers, nr);
	stripe = key_stripe(numbers[0]);
	for (i = 0; i < nr; i++)
		key_watch(&watch[i], numbers[i]);
	KUNIT_ASSERT_EQ(test, twheel_stripe_alloc(&key_table, stripe, GFP_KERNEL), 0);
	do {
		/* Of those in between some have moved, and some have not. */
		KUNIT_EXPECT_PTR_EQ(test, key_first(numbers[steps * 20]), &watch[steps * 20]);
		steps++;
	} while (key_move_on(stripe));
	KUNIT_EXPECT_GE(test, steps, nr / 32);
	for (i = 0; i < nr; i++)
		key_unwatch(&watch[i]);
	kvfree(numbers);
	kvfree(watch);
}

static struct kunit_case key_cases[] = {
	KUNIT_CASE(a_long_chain_is_moved_in_bounded_steps),
	KUNIT_CASE(they_stand_in_the_order_in_which_they_came),
	KUNIT_CASE(whoever_leaves_the_others_keep_their_order),
	KUNIT_CASE(who_comes_again_stands_last),
	KUNIT_CASE(the_last_takes_the_key_along),
	KUNIT_CASE(both_words_make_the_key),
	KUNIT_CASE(the_next_takes_the_place_of_the_first),
	KUNIT_CASE(buckets_follow_the_number_of_keys),
	KUNIT_CASE(keys_are_found_while_they_are_moved),
	KUNIT_CASE(more_operations_get_more_stripes),
	{}
};

static struct kunit_suite key_suite = {
	.name		= "twheel_key",
	.init		= key_suite_init,
	.exit		= key_suite_exit,
	.test_cases	= key_cases,
};

kunit_test_suite(key_suite);
