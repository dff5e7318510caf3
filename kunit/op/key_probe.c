// SPDX-License-Identifier: GPL-2.0
/*
 * A key table, and watches without operations. See key_probe.h.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "key_probe.h"

struct twheel_keys key_table;

int key_suite_init(struct kunit *test)
{
	memset(&key_table, 0, sizeof(key_table));
	return twheel_keys_init(&key_table, false);
}

void key_suite_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, twheel_keys_count(&key_table, true), 0);
	KUNIT_EXPECT_EQ(test, keys_found(&key_table), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&key_table.nr_full), 0);
	twheel_keys_destroy(&key_table);
}

struct twheel_key key_number(u64 number)
{
	return (struct twheel_key){ .v = { number / 2 << 28, number << 63 } };
}

static u32 number_hash(u64 number)
{
	const struct twheel_key key = key_number(number);

	return twheel_keys_hash(&key_table, &key);
}

void key_watch_init(struct twheel_watch *watch, u64 number)
{
	*watch = (struct twheel_watch) {
		.key = key_number(number), .hash = number_hash(number),
	};
}

void key_watch_link(struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(&key_table, watch->hash);

	twheel_key_link(&at, watch);
	twheel_key_unlock(&at);
}

void key_watch(struct twheel_watch *watch, u64 number)
{
	key_watch_init(watch, number);
	key_watch_link(watch);
}

void key_unwatch(struct twheel_watch *watch)
{
	struct twheel_key_at at = twheel_key_lock(&key_table, watch->hash);

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
	return number_hash(number) >> key_table.table->shift;
}

/* Whether a bucket is that of a hash: the first one with it that is not MOVED. */
static bool bucket_has(const struct twheel_key_at *at, u32 hash)
{
	const struct twheel_key_table *table = at->keys->table;
	const struct twheel_key_bucket *bucket;

	for (;; table = table->next) {
		bucket = twheel_key_segment(table, hash);
		if (!bucket)
			continue;
		bucket += (hash >> table->shift) % TWHEEL_KEY_SEGMENT;
		if (bucket->nr != TWHEEL_KEY_MOVED)
			return bucket == at->bucket;
	}
}

/* Count the keys of a bucket that a walk visits, and all of its keys. */
static unsigned int bucket_found(const struct twheel_key_at *at, u64 *visited)
{
	const struct twheel_key_bucket *bucket = at->bucket;
	const struct twheel_watch *watch;
	unsigned int slot, nr = 0;
	bool wrong = false;

	for (slot = 0; slot < TWHEEL_KEY_SLOTS; slot++) {
		watch = bucket->slot[slot];
		/* Keys follow that of the last slot only. The slots are used in their order. */
		wrong |= watch && bucket->tag[slot] != twheel_key_tag(watch->hash);
		wrong |= slot < TWHEEL_KEY_SLOTS - 1 && watch && watch->key_prev->key_next;
		wrong |= !watch != (slot >= bucket->nr);
		for (; watch; watch = watch->key_prev->key_next) {
			nr++;
			wrong |= !bucket_has(at, watch->hash);
			*visited += watch->hash >= at->hash && watch->hash <= at->last;
		}
	}
	return wrong ? U16_MAX : nr;
}

/* Walk over all keys. Return: their number, and in @most the largest number in a bucket. */
static u64 keys_walk(struct twheel_keys *keys, unsigned int *most)
{
	struct twheel_key_at at;
	unsigned int nr;
	u64 visited = 0;
	u32 hash = 0;

	*most = 0;
	do {
		at = twheel_key_lock(keys, hash);
		nr = bucket_found(&at, &visited);
		if (nr != at.bucket->nr)
			visited += U16_MAX;
		*most = max(*most, nr);
		twheel_key_unlock(&at);
		hash = at.last + 1;
	} while (hash);
	return visited;
}

u64 keys_found(struct twheel_keys *keys)
{
	unsigned int most;

	return keys_walk(keys, &most);
}

unsigned int keys_max_per_bucket(struct twheel_keys *keys)
{
	unsigned int most;

	keys_walk(keys, &most);
	return most;
}

bool key_resize_step(struct kunit *test, u32 size)
{
	struct twheel_key_table *table = key_table.table, *next;
	u32 now = twheel_key_table_size(table);

	KUNIT_ASSERT_GE(test, size, TWHEEL_KEY_MOST);
	if (!table->next && now == size)
		return false;
	if (!table->next) {
		next = kzalloc(struct_size(next, segment, 1 + 2 * now / TWHEEL_KEY_SEGMENT),
			       GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, next);
		next->shift = now < size ? table->shift - 1 : table->shift + 1;
		table->next = next;
	}
	KUNIT_ASSERT_TRUE(test, __twheel_keys_move(&key_table, true));
	return true;
}

void keys_resize(struct twheel_keys *keys)
{
	while (__twheel_keys_move(keys, false))
		;
}

void expect_bucket_sizes(struct kunit *test, struct twheel_keys *keys)
{
	u64 nr = twheel_keys_count(keys, true);
	u32 size = twheel_key_table_size(keys->table);

	KUNIT_EXPECT_NULL(test, keys->table->next);
	KUNIT_EXPECT_LE(test, nr, 5 * size);
	KUNIT_EXPECT_LE(test, size, max_t(u64, 4 * TWHEEL_KEY_MOST, 12 * nr));
}
