// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the key table: bound on the number of keys of a bucket.
 *
 * New keys are refused if they were chosen to collide in one bucket. Keys that are already watched
 * are not affected. The same without memory for a larger table: see tools/rig/chains.c. The table
 * does not shrink while keys are removed in the order of a walk.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../../twheel/op/purgatory.h"
#include "key_probe.h"
#include "op_probe.h"

struct key_op {
	struct twheel_op	op;
	struct twheel_watch	watch;
	struct twheel_key	key;
	unsigned int		ended;
	bool			pending;
};

static struct key_op *key_ops;
static unsigned int nr_key_ops, nr_pending;

/* The largest number of keys of a bucket, looked for after each so many ends, if not 0 */
static unsigned int longest, look_after;

static void key_op_ended(struct twheel_op *op)
{
	struct key_op *key_op = container_of(op, struct key_op, op);

	key_op->ended++;
	key_op->pending = false;
	nr_pending--;
	if (look_after && !(nr_pending % look_after))
		longest = max(longest, keys_max_per_bucket(&probe_purgatory->keys));
}

static void key_op_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops key_op_ops = {
	.ended		= key_op_ended,
	.release	= key_op_release,
};

static void key_op_init(struct key_op *key_op)
{
	twheel_op_init(&key_op->op, &key_op_ops);
	key_op->ended = 0;
}

static int key_op_add(struct key_op *key_op)
{
	const struct twheel_watch_spec spec = { .key = key_op->key };
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = &key_op->watch,
	};
	int ret = twheel_op_add(probe_purgatory, &key_op->op, &args);

	key_op->pending = !ret;
	nr_pending += !ret;
	return ret;
}

/* Add every operation that is not pending, each with its own key. Return the number refused. */
static unsigned int add_all(struct kunit *test)
{
	unsigned int i, nr_refused = 0;
	int ret;

	for (i = 0; i < nr_key_ops; i++) {
		if (key_ops[i].pending)
			continue;
		ret = key_op_add(&key_ops[i]);
		nr_refused += ret == -ENOMEM;
		if (ret)
			KUNIT_ASSERT_EQ(test, ret, -ENOMEM);
	}
	return nr_refused;
}

static struct key_op *find_key_op(struct kunit *test, bool pending)
{
	unsigned int i;

	for (i = 0; i < nr_key_ops; i++)
		if (key_ops[i].pending == pending)
			return &key_ops[i];
	KUNIT_ASSERT_TRUE(test, false);
	return NULL;
}

/* Check that refused adds left no trace. */
static void expect_clean(struct kunit *test)
{
	struct twheel_purgatory_stats stats;
	unsigned int i;

	twheel_purgatory_get_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, nr_pending);
	KUNIT_EXPECT_EQ(test, stats.keys, nr_pending);
	KUNIT_EXPECT_EQ(test, stats.watches, nr_pending);
	KUNIT_EXPECT_EQ(test, stats.added, nr_pending);
	KUNIT_EXPECT_EQ(test, stats.rejected, 0);
	KUNIT_EXPECT_EQ(test, keys_found(&probe_purgatory->keys), nr_pending);
	for (i = 0; i < nr_key_ops; i++) {
		if (key_ops[i].ended)
			KUNIT_FAIL(test, "operation %u has ended", i);
		if (!key_ops[i].pending && twheel_op_cancel(&key_ops[i].op) != -ENOENT)
			KUNIT_FAIL(test, "refused operation %u is not new", i);
	}
}

/* Keys of a full table can still be signalled and watched. */
static void expect_usable_keys(struct kunit *test)
{
	struct key_op *linked = find_key_op(test, true), *refused = find_key_op(test, false);
	struct probe *probe = probe_new(test), *predicate = probe_new_predicate(test);
	struct twheel_watch_spec specs[2] = { { .key = linked->key }, { .key = refused->key } };
	struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ALL,
		.nr_keys = 2, .specs = specs, .watches = probe->watch,
	};
	struct twheel_op_progress progress;

	/* One new key is enough for the add to fail. Another watch of an existing key succeeds. */
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), -ENOMEM);
	args.nr_keys = 1;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, &specs[1], probe->watch + 1, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, twheel_op_get_progress(&probe->op, &progress, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, progress.nr_keys, 1);
	KUNIT_EXPECT_EQ(test, progress.missing, 1);

	/* The predicate of a refused operation is not evaluated. */
	args.condition = TWHEEL_COND_PREDICATE;
	args.nr_keys = 2;
	args.watches = predicate->watch;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &predicate->op, &args), -ENOMEM);
	KUNIT_EXPECT_EQ(test, predicate->evaluated + predicate->ended, 0);

	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &linked->key, 1, 7), 2);
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 7);
	KUNIT_EXPECT_EQ(test, linked->ended, 1);
	/* Its slot is free again. */
	key_op_init(linked);
	KUNIT_EXPECT_EQ(test, key_op_add(linked), 0);
}

/* The markers of a walk are linked under an existing key, so a full table has space for them. */
static void expect_walks(struct kunit *test)
{
	struct key_op *key_op = find_key_op(test, true);
	const struct twheel_watch_spec spec = { .key = key_op->key };
	struct probe *probes[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		struct twheel_op_args args = {
			.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_SUM, .threshold = 2,
			.nr_keys = 1, .specs = &spec,
		};

		probes[i] = probe_new(test);
		args.watches = probes[i]->watch;
		KUNIT_ASSERT_EQ(test, twheel_op_add(probe_purgatory, &probes[i]->op, &args), 0);
	}
	/* This completes the key's first operation and none of the others. */
	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &spec.key, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &spec.key, 1, 1), ARRAY_SIZE(probes));
	key_op_init(key_op);
}

static void complete_all_ops(struct kunit *test)
{
	twheel_complete_all(probe_purgatory, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, nr_pending, 0);
	expect_counts(test, 0, 0, 0);
}

static void key_ops_alloc(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	key_ops = kvcalloc(nr, sizeof(*key_ops), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, key_ops);
	nr_key_ops = nr;
	for (i = 0; i < nr; i++) {
		key_ops[i].key = key_number(i);
		key_op_init(&key_ops[i]);
	}
}

/* Keys found by brute force to collide in one bucket. The table has memory. */
static void keys_colliding_in_one_bucket_are_refused(struct kunit *test)
{
	struct twheel_keys *keys;
	unsigned int i;
	u64 number = 0;

	key_ops_alloc(test, 2 * TWHEEL_KEY_MOST);
	probe_limit(test, 4 * nr_key_ops, 0);
	keys = &probe_purgatory->keys;
	for (i = 0; i < nr_key_ops; i++) {
		do {
			key_ops[i].key = key_number(number++);
		} while (twheel_keys_hash(keys, &key_ops[i].key) >> 18);
		key_op_add(&key_ops[i]);
	}
	KUNIT_EXPECT_EQ(test, nr_pending, TWHEEL_KEY_MOST);
	KUNIT_EXPECT_EQ(test, keys_max_per_bucket(keys), TWHEEL_KEY_MOST);
	/* A full bucket is no reason to grow. */
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(keys->table), TWHEEL_KEY_MOST);
	expect_clean(test);
	expect_usable_keys(test);
	expect_walks(test);
	/* Keys of other buckets are accepted. */
	for (i = 0; i < nr_key_ops; i++) {
		if (key_ops[i].pending)
			continue;
		do {
			key_ops[i].key = key_number(number++);
		} while (!(twheel_keys_hash(keys, &key_ops[i].key) >> keys->table->shift));
	}
	KUNIT_EXPECT_EQ(test, add_all(test), 0);
	complete_all_ops(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&keys->nr_full), 0);
}

/*
 * The walk comes to a bucket without a key at its first hash. There it finds the last key, which is
 * less than all others.
 */
static void buckets_stay_short_while_all_operations_are_completed(struct kunit *test)
{
	struct twheel_keys *keys;
	struct key_op *first;
	u32 hash;

	key_ops_alloc(test, BIT(16));
	probe_limit(test, nr_key_ops, 0);
	keys = &probe_purgatory->keys;
	first = &key_ops[--nr_key_ops];
	KUNIT_EXPECT_EQ(test, add_all(test), 0);
	first->key = key_number(1);
	do {
		first->key.v[1]++;
		hash = twheel_keys_hash(keys, &first->key);
	} while (hash << (32 - keys->table->shift) || !(hash >> keys->table->shift));
	KUNIT_EXPECT_EQ(test, key_op_add(first), 0);
	KUNIT_EXPECT_GE(test, twheel_key_table_size(keys->table), nr_key_ops / 8);
	look_after = 256;
	complete_all_ops(test);
	KUNIT_EXPECT_GT(test, longest, 0);
	KUNIT_EXPECT_LE(test, longest, TWHEEL_KEY_MOST);
	/* Without keys it is as small as it can be. */
	KUNIT_EXPECT_EQ(test, twheel_key_table_size(keys->table), TWHEEL_KEY_MOST);
}

/* The keys that are left have the same low bits of their hashes. */
static void buckets_stay_short_after_a_walk_that_was_broken_off(struct kunit *test)
{
	const unsigned int nr_left = 6 * TWHEEL_KEY_MOST;
	struct twheel_op_iter iter;
	struct twheel_keys *keys;

	key_ops_alloc(test, BIT(16));
	probe_limit(test, nr_key_ops, 0);
	keys = &probe_purgatory->keys;
	KUNIT_EXPECT_EQ(test, add_all(test), 0);
	twheel_op_iter_start(&iter, probe_purgatory);
	while (nr_pending > nr_left)
		KUNIT_ASSERT_EQ(test, twheel_op_cancel(twheel_op_iter_next(&iter)), 0);
	twheel_op_iter_end(&iter);
	keys_resize(keys);
	KUNIT_EXPECT_LT(test, keys_max_per_bucket(keys), 4 * TWHEEL_KEY_MOST);
	complete_all_ops(test);
}

static int bound_init(struct kunit *test)
{
	longest = 0;
	look_after = 0;
	nr_pending = 0;
	nr_key_ops = 0;
	key_ops = NULL;
	return probe_suite_init(test);
}

static void bound_exit(struct kunit *test)
{
	probe_suite_exit(test);
	kvfree(key_ops);
}

static struct kunit_case bound_cases[] = {
	KUNIT_CASE(keys_colliding_in_one_bucket_are_refused),
	KUNIT_CASE(buckets_stay_short_while_all_operations_are_completed),
	KUNIT_CASE(buckets_stay_short_after_a_walk_that_was_broken_off),
	{}
};

static struct kunit_suite bound_suite = {
	.name		= "twheel_key_bound",
	.init		= bound_init,
	.exit		= bound_exit,
	.test_cases	= bound_cases,
};

kunit_test_suite(bound_suite);
