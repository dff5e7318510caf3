// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, keys: how long the chain of a bucket may become.
 *
 * New keys are refused where the table cannot grow, and where keys of one bucket were
 * chosen.  Whatever is watched already stays as it is.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../../twheel/op/purgatory.h"
#include "key_probe.h"
#include "op_probe.h"

/* The first bucket to be full has one key more than the bound: that is how it shows. */
#define FULL		(TWHEEL_KEY_SLOTS + TWHEEL_KEY_CHAIN + 1)

struct lodger {
	struct twheel_op	op;
	struct twheel_watch	watch;
	struct twheel_key	key;
	unsigned int		ended;
	bool			waits;
};

static struct lodger *lodgers;
static unsigned int nr_lodgers, nr_waiting;
static void (*resize)(struct work_struct *work);

static void lodger_ended(struct twheel_op *op)
{
	struct lodger *lodger = container_of(op, struct lodger, op);

	lodger->ended++;
	lodger->waits = false;
	nr_waiting--;
}

static void lodger_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops lodger_ops = {
	.ended		= lodger_ended,
	.release	= lodger_release,
};

static void lodger_init(struct lodger *lodger)
{
	twheel_op_init(&lodger->op, &lodger_ops);
	lodger->ended = 0;
}

static int lodger_add(struct lodger *lodger)
{
	const struct twheel_watch_spec spec = { .key = lodger->key };
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = &lodger->watch,
	};
	int ret = twheel_op_add(probe_purgatory, &lodger->op, &args);

	lodger->waits = !ret;
	nr_waiting += !ret;
	return ret;
}

/* All of them, each under another key; the number of those that were refused. */
static unsigned int add_all(struct kunit *test)
{
	unsigned int i, nr_refused = 0;
	int ret;

	for (i = 0; i < nr_lodgers; i++) {
		if (lodgers[i].waits)
			continue;
		ret = lodger_add(&lodgers[i]);
		nr_refused += ret == -ENOMEM;
		if (ret)
			KUNIT_ASSERT_EQ(test, ret, -ENOMEM);
	}
	return nr_refused;
}

static struct lodger *some_lodger(struct kunit *test, bool waits)
{
	unsigned int i;

	for (i = 0; i < nr_lodgers; i++)
		if (lodgers[i].waits == waits)
			return &lodgers[i];
	KUNIT_ASSERT_TRUE(test, false);
	return NULL;
}

/* What remains of a refused add is nothing. */
static void expect_clean(struct kunit *test)
{
	struct twheel_purgatory_stats stats;
	unsigned int i;

	twheel_purgatory_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, nr_waiting);
	KUNIT_EXPECT_EQ(test, stats.keys, nr_waiting);
	KUNIT_EXPECT_EQ(test, stats.watches, nr_waiting);
	KUNIT_EXPECT_EQ(test, stats.added, nr_waiting);
	KUNIT_EXPECT_EQ(test, stats.rejected, 0);
	KUNIT_EXPECT_EQ(test, keys_found(&probe_purgatory->keys), nr_waiting);
	for (i = 0; i < nr_lodgers; i++) {
		if (lodgers[i].ended)
			KUNIT_FAIL(test, "%u has ended", i);
		if (!lodgers[i].waits && twheel_op_cancel(&lodgers[i].op) != -ENOENT)
			KUNIT_FAIL(test, "%u was refused and is not new", i);
	}
}

/* The keys of a full table can still be signalled and watched. */
static void expect_use(struct kunit *test)
{
	struct lodger *in = some_lodger(test, true), *out = some_lodger(test, false);
	struct probe *probe = probe_new(test), *asking = probe_new_asking(test);
	struct twheel_watch_spec specs[2] = { { .key = in->key }, { .key = out->key } };
	struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ALL,
		.nr_keys = 2, .specs = specs, .watches = probe->watch,
	};
	struct twheel_op_progress progress;

	/* One new key is too many, whatever the others are; another watch of an old one is not. */
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), -ENOMEM);
	args.nr_keys = 1;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, &specs[1], probe->watch + 1, 1), -ENOMEM);
	KUNIT_EXPECT_EQ(test, twheel_op_progress(&probe->op, &progress, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, progress.nr_keys, 1);
	KUNIT_EXPECT_EQ(test, progress.missing, 1);

	/* Nothing is asked of an operation that is refused. */
	args.condition = TWHEEL_COND_PREDICATE;
	args.nr_keys = 2;
	args.watches = asking->watch;
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &asking->op, &args), -ENOMEM);
	KUNIT_EXPECT_EQ(test, asking->asked + asking->ended, 0);

	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &in->key, 1, 7), 2);
	expect_ended(test, probe, TWHEEL_COMPLETED, 7);
	KUNIT_EXPECT_EQ(test, in->ended, 1);
	/* Its place is free again. */
	lodger_init(in);
	KUNIT_EXPECT_EQ(test, lodger_add(in), 0);
}

/* The marks of a walk join a key that is there. */
static void expect_walks(struct kunit *test)
{
	struct lodger *lodger = some_lodger(test, true);
	const struct twheel_watch_spec spec = { .key = lodger->key };
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
	/* It ends the lodger, and none of the others. */
	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &spec.key, 1, 1), 1);
	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &spec.key, 1, 1), ARRAY_SIZE(probes));
	lodger_init(lodger);
}

static void resize_in_vain(struct work_struct *work)
{
	struct twheel_keys *keys = container_of(to_delayed_work(work), struct twheel_keys, resize);

	/* As after an allocation that failed in each stripe. */
	WRITE_ONCE(keys->starved, true);
}

static void resize_not_yet(struct work_struct *work)
{
}

static void end_all(struct kunit *test)
{
	twheel_complete_all(probe_purgatory, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, nr_waiting, 0);
	expect_counts(test, 0, 0, 0);
}

static void lodgers_make(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	lodgers = kvcalloc(nr, sizeof(*lodgers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, lodgers);
	nr_lodgers = nr;
	for (i = 0; i < nr; i++) {
		lodgers[i].key = key_number(i);
		lodger_init(&lodgers[i]);
	}
}

static void without_memory_new_keys_are_refused_and_old_ones_work(struct kunit *test)
{
	unsigned int nr_stripes = 1U << probe_purgatory->keys.shift;
	struct twheel_keys *keys;

	/* Twice as many as all stripes have room for. */
	lodgers_make(test, 2 * FULL * nr_stripes);
	probe_limit(test, 2 * nr_lodgers, 0);
	keys = &probe_purgatory->keys;
	keys->resize.work.func = resize_in_vain;
	resize_in_vain(&keys->resize.work);

	KUNIT_EXPECT_GE(test, add_all(test), nr_lodgers / 2);
	KUNIT_EXPECT_GE(test, nr_waiting, FULL * nr_stripes / 2);
	KUNIT_EXPECT_LE(test, keys_crowding(keys), FULL);
	expect_clean(test);
	expect_use(test);
	expect_walks(test);

	/* There is memory again: another attempt follows by itself, and all find room. */
	keys->resize.work.func = resize;
	resize(&keys->resize.work);
	flush_delayed_work(&keys->resize);
	KUNIT_EXPECT_FALSE(test, keys->starved);
	KUNIT_EXPECT_FALSE(test, keys->crowded);
	KUNIT_EXPECT_EQ(test, add_all(test), 0);
	KUNIT_EXPECT_EQ(test, nr_waiting, nr_lodgers);
	flush_delayed_work(&keys->resize);
	expect_fitting(test, keys);
	end_all(test);
}

/* While reclaim takes its time, others go on adding. */
static void an_allocation_that_takes_long_counts_as_failed(struct kunit *test)
{
	struct twheel_keys *keys;

	lodgers_make(test, 2 * FULL << probe_purgatory->keys.shift);
	probe_limit(test, 2 * nr_lodgers, 0);
	keys = &probe_purgatory->keys;
	keys->resize.work.func = resize_not_yet;
	keys->alloc_since = jiffies - HZ;
	KUNIT_EXPECT_GT(test, add_all(test), 0);
	KUNIT_EXPECT_LE(test, keys_crowding(keys), FULL);
	keys->alloc_since = 0;
	flush_delayed_work(&keys->resize);
	keys->resize.work.func = resize;
	resize(&keys->resize.work);
	flush_delayed_work(&keys->resize);
	KUNIT_EXPECT_EQ(test, add_all(test), 0);
	end_all(test);
}

/* Keys of one bucket that somebody has found by patience, in a table with memory. */
static void keys_of_one_bucket_are_refused(struct kunit *test)
{
	struct twheel_keys *keys;
	unsigned int i;
	u64 number = 0;

	lodgers_make(test, 2 * FULL);
	probe_limit(test, 4 * nr_lodgers, 0);
	keys = &probe_purgatory->keys;
	for (i = 0; i < nr_lodgers; i++) {
		do {
			lodgers[i].key = key_number(number++);
		} while (twheel_keys_hash(keys, &lodgers[i].key) & GENMASK(15, 2));
		lodger_add(&lodgers[i]);
		flush_delayed_work(&keys->resize);
	}
	KUNIT_EXPECT_FALSE(test, keys->starved);
	KUNIT_EXPECT_EQ(test, nr_waiting, FULL);
	KUNIT_EXPECT_EQ(test, keys_crowding(keys), FULL);
	expect_clean(test);
	/* Keys of other buckets are not. */
	for (i = 0; i < nr_lodgers; i++)
		if (!lodgers[i].waits)
			lodgers[i].key = key_number((u64)(i + 1) << 40);
	KUNIT_EXPECT_LE(test, add_all(test), 6);
	end_all(test);
}

static int bound_init(struct kunit *test)
{
	int err = probe_suite_init(test);

	nr_waiting = 0;
	nr_lodgers = 0;
	lodgers = NULL;
	if (!err)
		resize = probe_purgatory->keys.resize.work.func;
	return err;
}

static void bound_exit(struct kunit *test)
{
	probe_suite_exit(test);
	kvfree(lodgers);
}

static struct kunit_case bound_cases[] = {
	KUNIT_CASE(without_memory_new_keys_are_refused_and_old_ones_work),
	KUNIT_CASE(an_allocation_that_takes_long_counts_as_failed),
	KUNIT_CASE(keys_of_one_bucket_are_refused),
	{}
};

static struct kunit_suite bound_suite = {
	.name		= "twheel_key_bound",
	.init		= bound_init,
	.exit		= bound_exit,
	.test_cases	= bound_cases,
};

kunit_test_suite(bound_suite);
