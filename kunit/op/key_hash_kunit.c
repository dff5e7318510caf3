// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: hashing of keys chosen by an attacker.
 *
 * The attacker knows everything except the secret of the table. The keys must spread over the
 * buckets as random keys do.
 */
#include <linux/mm.h>
#include <linux/siphash.h>
#include <linux/string.h>

#include "key_probe.h"

#define NR		8192

/*
 * A resized table has at most two keys per bucket on average. With random keys, one table in 10^7
 * has a bucket with more keys than this.
 */
#define LONGEST		18

static struct twheel_watch *watches;

static struct twheel_key sequential(u64 n)
{
	return (struct twheel_key) { .v = { 0, n } };
}

static struct twheel_key same_low_bits(u64 n)
{
	return (struct twheel_key) { .v = { 0, n << 40 } };
}

/* The attacker can add all keys before the table grows, so resize only after the last one. */
static void expect_spread(struct kunit *test, const char *pattern)
{
	struct twheel_key_bucket *bucket = key_table.table->segment[0];
	unsigned int i, mean = NR / TWHEEL_KEY_MOST;

	for (i = 0; i < TWHEEL_KEY_MOST; i++) {
		KUNIT_EXPECT_GT_MSG(test, bucket[i].nr, mean / 2, "%s", pattern);
		KUNIT_EXPECT_LT_MSG(test, bucket[i].nr, mean * 2, "%s", pattern);
	}
	keys_resize(&key_table);
	expect_bucket_sizes(test, &key_table);
	KUNIT_EXPECT_LE_MSG(test, keys_max_per_bucket(&key_table), LONGEST, "%s", pattern);
	/* Removals shrink the table. */
	for (i = 0; i < NR; i++) {
		key_unwatch(&watches[i]);
		twheel_keys_move(&key_table);
	}
	KUNIT_EXPECT_LE(test, twheel_key_table_size(key_table.table), NR / 16);
	keys_resize(&key_table);
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(key_table.table), TWHEEL_KEY_MOST);
}

static const struct pattern {
	const char		*name;
	struct twheel_key	(*key)(u64 n);
} patterns[] = {
	{ "sequential", sequential },
	{ "same low bits", same_low_bits },
};

static void pattern_name(const struct pattern *pattern, char *name)
{
	strscpy(name, pattern->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pattern, patterns, pattern_name);

static void regular_keys_spread(struct kunit *test)
{
	const struct pattern *pattern = test->param_value;
	unsigned int i;

	for (i = 0; i < NR; i++)
		key_watch_key(&watches[i], pattern->key(i));
	expect_spread(test, pattern->name);
}

/* hsiphash() is SipHash-1-3 with 64-bit words, cut to 32 bits. */
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
	unsigned int i, nr_same = 0;

	memset(&other, 0, sizeof(other));
	KUNIT_ASSERT_EQ(test, twheel_keys_init(&other, false), 0);
	for (i = 0; i < NR; i++) {
		const struct twheel_key key = sequential(i);

		nr_same += twheel_keys_hash(&key_table, &key) == twheel_keys_hash(&other, &key);
	}
	KUNIT_EXPECT_LT(test, nr_same, 3);
	KUNIT_EXPECT_NE(test, memcmp(key_table.state, other.state, sizeof(other.state)), 0);
	twheel_keys_destroy(&other);
}

static int key_hash_init(struct kunit *test)
{
	watches = kvcalloc(NR, sizeof(*watches), GFP_KERNEL);
	return watches ? key_suite_init(test) : -ENOMEM;
}

static void key_hash_exit(struct kunit *test)
{
	key_suite_exit(test);
	kvfree(watches);
}

static struct kunit_case key_hash_cases[] = {
	KUNIT_CASE_PARAM(regular_keys_spread, pattern_gen_params),
	KUNIT_CASE(keys_are_hashed_with_siphash),
	KUNIT_CASE(each_table_has_its_own_secret),
	{}
};

static struct kunit_suite key_hash_suite = {
	.name		= "twheel_key_hash",
	.init		= key_hash_init,
	.exit		= key_hash_exit,
	.test_cases	= key_hash_cases,
};

kunit_test_suite(key_hash_suite);
