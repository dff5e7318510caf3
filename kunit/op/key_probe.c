// SPDX-License-Identifier: GPL-2.0
/*
 * A key table, and watches without operations. See key_probe.h.
 */
#include <linux/minmax.h>
#include <linux/string.h>

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
	int err;

	memset(&key_table, 0, sizeof(key_table));
	err = twheel_keys_init(&key_table, false);
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

u32 key_index(u64 number)
{
	return twheel_keys_index(key_table.size, twheel_key_number(number_hash(number)));
}

static unsigned int bucket_found(struct twheel_keys *keys, u32 i)
{
	struct twheel_key_bucket *bucket = twheel_keys_bucket(keys, i);
	const struct twheel_watch *watch;
	unsigned int slot, nr = 0;
	u8 chained = 0;

	spin_lock_bh(&bucket->lock);
	/* The tag and the pointer of a slot are either both set or both clear. */
	for (slot = 0; slot < TWHEEL_KEY_SLOTS; slot++)
		nr += bucket->tag[slot] || bucket->slot[slot];
	for (watch = bucket->more; watch; watch = watch->chain) {
		nr++;
		chained |= BIT((watch->mark >> 24) % 8);
	}
	if (nr != bucket->nr || chained & ~bucket->chained || !chained != !bucket->chained)
		nr = U16_MAX;
	spin_unlock_bh(&bucket->lock);
	return nr;
}

u64 keys_found(struct twheel_keys *keys)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < keys->size; i++)
		nr += bucket_found(keys, i);
	return nr;
}

unsigned int keys_max_per_bucket(struct twheel_keys *keys)
{
	unsigned int most = 0;
	u32 i;

	for (i = 0; i < keys->size; i++)
		most = max(most, bucket_found(keys, i));
	return most;
}

bool key_resize_step(struct kunit *test, u32 size)
{
	KUNIT_ASSERT_GE(test, size, TWHEEL_SEGMENT);
	if (key_table.size > size)
		return twheel_keys_merge(&key_table, size);
	key_table.target = size;
	if (key_table.size < size)
		KUNIT_ASSERT_TRUE(test, twheel_keys_extend(&key_table, GFP_KERNEL));
	return twheel_keys_split(&key_table);
}

void key_resize(void)
{
	flush_delayed_work(&key_table.resize);
	table_resize(&key_table.resize.work);
}

void expect_bucket_sizes(struct kunit *test, struct twheel_keys *keys)
{
	u64 nr = twheel_keys_count(keys);

	KUNIT_EXPECT_LE(test, nr, 6 * keys->size);
	KUNIT_EXPECT_LE(test, keys->size, max_t(u64, TWHEEL_SEGMENT, 2 * nr + 1));
	KUNIT_EXPECT_GE(test, keys->capacity, keys->size);
	KUNIT_EXPECT_LT(test, keys->capacity, keys->size + 2 * TWHEEL_SEGMENT);
}
