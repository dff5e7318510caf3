// SPDX-License-Identifier: GPL-2.0
/*
 * A key table, and watches without operations. See key_probe.h.
 */
#include <linux/minmax.h>
#include <linux/slab.h>

#include "key_probe.h"

struct twheel_keys key_table;
unsigned int key_nr_requests;

static void (*table_resize)(struct work_struct *work);

/* Replaces the resize work item of the table, which would run at any time. */
static void count_resize(struct work_struct *work)
{
	key_nr_requests++;
}

int key_suite_init(struct kunit *test)
{
	int err = twheel_keys_init(&key_table, 1, false);

	if (err)
		return err;
	table_resize = key_table.resize.work.func;
	key_table.resize.work.func = count_resize;
	key_nr_requests = 0;
	return 0;
}

void key_suite_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table), 0);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), 0);
	twheel_keys_destroy(&key_table);
}

struct twheel_key key_number(u64 number)
{
	return (struct twheel_key){ .v = { number / 2, number % 2 } };
}

static u32 number_hash(u64 number)
{
	const struct twheel_key key = key_number(number);

	return twheel_keys_hash(&key_table, &key);
}

void key_watch_key(struct twheel_watch *watch, struct twheel_key key)
{
	struct twheel_key_at at;

	*watch = (struct twheel_watch) {
		.key = key, .mark = twheel_keys_hash(&key_table, &key),
	};
	at = twheel_key_lock(&key_table, watch->mark);
	twheel_key_link(&at, watch);
	twheel_key_unlock(&at);
}

void key_watch(struct twheel_watch *watch, u64 number)
{
	key_watch_key(watch, key_number(number));
}

void key_unwatch(struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(&key_table, twheel_watch_hash(watch));

	twheel_key_unlink(&at, watch);
	twheel_key_unlock(&at);
}

struct twheel_watch *key_first(u64 number)
{
	const struct twheel_key key = key_number(number);
	struct twheel_key_at at = twheel_key_lock(&key_table, number_hash(number));
	struct twheel_watch *first = twheel_key_first(&at, &key);

	twheel_key_unlock(&at);
	return first;
}

struct twheel_stripe *key_stripe(u64 number)
{
	return twheel_keys_stripe(&key_table, number_hash(number));
}

void expect_ring(struct kunit *test, u64 number, struct twheel_watch *const *watches,
		 unsigned int nr)
{
	struct twheel_watch *watch = key_first(number);
	unsigned int i;

	if (!nr) {
		KUNIT_EXPECT_PTR_EQ(test, watch, NULL);
		return;
	}
	for (i = 0; i < nr; i++) {
		KUNIT_ASSERT_PTR_EQ_MSG(test, watch, watches[i], "key %llu, watch %u of %u",
					number, i, nr);
		KUNIT_ASSERT_EQ(test, twheel_watch_is_first(watch), !i);
		KUNIT_ASSERT_TRUE(test, twheel_watch_is_linked(watch));
		watch = list_next_entry(watch, entry);
	}
	KUNIT_ASSERT_PTR_EQ_MSG(test, watch, watches[0], "key %llu, behind all %u", number, nr);
}

static unsigned int bucket_found(const struct twheel_key_bucket *bucket)
{
	const struct twheel_watch *watch;
	unsigned int i, nr = 0;

	/* The tag and the pointer of a slot are either both set or both clear. */
	for (i = 0; i < TWHEEL_KEY_SLOTS; i++)
		nr += bucket->tag[i] || bucket->slot[i];
	for (watch = bucket->more; watch; watch = watch->chain)
		nr++;
	return nr;
}

static u64 buckets_found(const struct twheel_key_buckets *buckets)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; buckets->bucket && i <= buckets->mask; i++)
		nr += bucket_found(&buckets->bucket[i]);
	return nr;
}

u64 keys_found(struct twheel_keys *keys)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < 1U << keys->shift; i++) {
		spin_lock_bh(&keys->stripe[i].lock);
		nr += buckets_found(&keys->stripe[i].now) + buckets_found(&keys->stripe[i].to);
		spin_unlock_bh(&keys->stripe[i].lock);
	}
	return nr;
}

static unsigned int max_per_bucket(const struct twheel_key_buckets *buckets)
{
	unsigned int most = 0;
	u32 i;

	for (i = 0; buckets->bucket && i <= buckets->mask; i++)
		most = max(most, bucket_found(&buckets->bucket[i]));
	return most;
}

unsigned int keys_max_per_bucket(struct twheel_keys *keys)
{
	unsigned int i, most = 0;

	for (i = 0; i < 1U << keys->shift; i++) {
		most = max(most, max_per_bucket(&keys->stripe[i].now));
		most = max(most, max_per_bucket(&keys->stripe[i].to));
	}
	return most;
}

bool key_move_step(struct twheel_stripe *stripe)
{
	return twheel_stripe_move(&key_table, stripe);
}

void key_resize(void)
{
	flush_delayed_work(&key_table.resize);
	table_resize(&key_table.resize.work);
}

void expect_bucket_sizes(struct kunit *test, struct twheel_keys *keys)
{
	const struct twheel_stripe *stripe;
	u32 i, size;

	for (i = 0; i < 1U << keys->shift; i++) {
		stripe = &keys->stripe[i];
		size = stripe->now.mask + 1;
		KUNIT_EXPECT_PTR_EQ(test, stripe->to.bucket, NULL);
		KUNIT_EXPECT_LE_MSG(test, stripe->nr, 4 * size, "stripe %u", i);
		KUNIT_EXPECT_LE_MSG(test, size, max(3U, 2 * stripe->nr + 1), "stripe %u", i);
	}
}
