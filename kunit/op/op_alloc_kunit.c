// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for operations with fault injection (failslab): every allocation of the calls
 * that allocate memory fails once, and the other calls do not allocate.
 *
 * A failing call must return -ENOMEM and leave no trace. The counts are checked after
 * each call, and kmemleak runs after the last suite. The job that loads the suites
 * enables failslab for all allocations.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../../twheel/op/purgatory.h"
#include "../vtime.h"
#include "key_probe.h"
#include "op_probe.h"

/* Upper bound on the allocations of a call, including those of debugging code. */
#define MOST		1000

/**
 * struct attempt - a call that is repeated with failing allocations
 * @make: makes the call and returns its result
 * @undo: reverts a call that has succeeded
 * @probe: operation for the call
 * @keys: keys for the call
 * @purgatory: purgatory created by the call
 * @pending: operations that are pending without the call
 * @watches: watches that exist without the call, each of a different key
 */
struct attempt {
	int				(*make)(struct attempt *attempt);
	void				(*undo)(struct attempt *attempt);
	struct probe			*probe;
	struct probe_keys		*keys;
	struct twheel_purgatory		*purgatory;
	u64				pending;
	u64				watches;
};

#ifdef CONFIG_FAILSLAB
static void let_fail(unsigned int nth)
{
	current->fail_nth = nth;
}

/* Returns true if an allocation has failed since let_fail(). */
static bool has_failed(void)
{
	bool failed = !current->fail_nth;

	current->fail_nth = 0;
	return failed;
}

/* Check that allocations that may sleep can fail, too. */
static bool can_fail(void)
{
	void *memory;

	let_fail(1);
	memory = kmalloc(100, GFP_KERNEL);
	kfree(memory);
	return has_failed() && !memory;
}
#else
static void let_fail(unsigned int nth)
{
}

static bool has_failed(void)
{
	return false;
}

static bool can_fail(void)
{
	return false;
}
#endif

/* Let each allocation of a call fail in turn. Returns the number of failed calls. */
static unsigned int try_each(struct kunit *test, struct attempt *attempt)
{
	unsigned int nth, nr_errors = 0;
	bool failed = true;
	int ret = -ENOMEM;

	for (nth = 1; failed && nth < MOST; nth++) {
		let_fail(nth);
		ret = attempt->make(attempt);
		failed = has_failed();
		if (ret >= 0) {
			attempt->undo(attempt);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, ret, -ENOMEM, "without allocation %u", nth);
			nr_errors++;
		}
		expect_counts(test, attempt->pending, attempt->watches, attempt->watches);
	}
	KUNIT_EXPECT_FALSE(test, failed);
	KUNIT_EXPECT_GE(test, ret, 0);
	return nr_errors;
}

/* Numbers of keys: small ones, the maximum, and some in between. */
static const u32 sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32, 33, 62, 63, TWHEEL_MAX_KEYS };

static int make_purgatory(struct attempt *attempt)
{
	attempt->purgatory = probe_purgatory_create(10, 10);
	return PTR_ERR_OR_ZERO(attempt->purgatory);
}

static void undo_purgatory(struct attempt *attempt)
{
	twheel_purgatory_destroy(attempt->purgatory);
}

static void purgatory_create_without_memory_fails(struct kunit *test)
{
	struct attempt attempt = { .make = make_purgatory, .undo = undo_purgatory };

	/* The purgatory and its key table. */
	KUNIT_EXPECT_EQ(test, try_each(test, &attempt), 2);
}

static int make_add(struct attempt *attempt)
{
	const struct twheel_op_args args = {
		.deadline = twheel_deadline(NSEC_PER_SEC * 3600ULL),
		.condition = TWHEEL_COND_ALL, .nr_keys = attempt->keys->nr,
		.specs = attempt->keys->spec, .watches = attempt->probe->watch,
	};

	return twheel_op_add(probe_purgatory, &attempt->probe->op, &args);
}

static void undo_add(struct attempt *attempt)
{
	twheel_op_cancel(&attempt->probe->op);
	probe_reinit(attempt->probe);
}

static void add_needs_no_memory(struct kunit *test)
{
	struct attempt attempt = { .make = make_add, .undo = undo_add };
	unsigned int i;

	attempt.probe = probe_new(test);
	attempt.keys = probe_keys_new(test, 10, TWHEEL_MAX_KEYS);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		attempt.keys->nr = sizes[i];
		KUNIT_EXPECT_EQ(test, try_each(test, &attempt), 0);
	}
	/* The wheel does without another level if it cannot allocate one. */
	KUNIT_EXPECT_GE(test, attempt.probe->ended, ARRAY_SIZE(sizes));
	KUNIT_EXPECT_EQ(test, attempt.probe->ended, attempt.probe->released);
	KUNIT_EXPECT_EQ(test, attempt.probe->overlaps, 0);
}

static int make_add_predicate(struct attempt *attempt)
{
	return probe_add_predicate(attempt->probe, TWHEEL_NEVER, attempt->keys);
}

static void add_with_predicate_needs_no_memory(struct kunit *test)
{
	struct attempt attempt = { .make = make_add_predicate, .undo = undo_add };

	attempt.probe = probe_new_predicate(test);
	attempt.keys = probe_keys_new(test, 10, 7);
	KUNIT_EXPECT_EQ(test, try_each(test, &attempt), 0);
	KUNIT_EXPECT_GT(test, attempt.probe->evaluated, 1);
	attempt.probe->holds = true;
	KUNIT_EXPECT_EQ(test, try_each(test, &attempt), 0);
	KUNIT_EXPECT_EQ(test, attempt.probe->overlaps, 0);
	KUNIT_EXPECT_GT(test, attempt.probe->ended, 1);
	KUNIT_EXPECT_EQ(test, attempt.probe->ended, attempt.probe->released);
}

/* Memory for the watches of further keys. */
static struct twheel_watch further[TWHEEL_MAX_KEYS];

static int make_watch(struct attempt *attempt)
{
	return twheel_op_watch(&attempt->probe->op, attempt->keys->spec, further,
			       attempt->keys->nr);
}

static void undo_watch(struct attempt *attempt)
{
	u32 i;

	for (i = 0; i < attempt->keys->nr; i++)
		twheel_op_unwatch(&attempt->probe->op, &attempt->keys->spec[i].key);
}

static void watch_needs_no_memory(struct kunit *test)
{
	struct attempt attempt = { .make = make_watch, .undo = undo_watch };
	unsigned int i;

	attempt.probe = probe_pending(test, TWHEEL_COND_ALL, 0, 5, 1);
	attempt.pending = 1;
	attempt.watches = 1;
	attempt.keys = probe_keys_new(test, 10, TWHEEL_MAX_KEYS - 1);
	/* The operation watches one key already. */
	for (i = 0; i < ARRAY_SIZE(sizes) - 1; i++) {
		attempt.keys->nr = sizes[i];
		KUNIT_EXPECT_EQ(test, try_each(test, &attempt), 0);
	}
	KUNIT_EXPECT_EQ(test, attempt.probe->ended, 0);
	KUNIT_EXPECT_EQ(test, probe_signal(5, 1), 1);
	expect_ended(test, attempt.probe, TWHEEL_REASON_COMPLETED, 1);
}

/* Calls that do not allocate, on an operation that watches 20 keys from 10 on. */
static int by_signal(struct probe *probe)
{
	return probe_signal(11, 0) - 1;
}

static int by_complete(struct probe *probe)
{
	return twheel_op_complete(&probe->op, 0);
}

static int by_cancel(struct probe *probe)
{
	return twheel_op_cancel(&probe->op);
}

static int by_cancel_for_key(struct probe *probe)
{
	const struct twheel_key key = { .v = { 0, 10 } };

	return twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, 0) - 1;
}

static int by_complete_all(struct probe *probe)
{
	return twheel_complete_all(probe_purgatory, -EIO, 0, 0) - 1;
}

/* The second deadline needs levels that the wheel does not have yet. */
static int by_expiry(struct probe *probe)
{
	int ret = twheel_op_rearm(&probe->op, twheel_deadline(40 * 86400 * (u64)NSEC_PER_SEC),
				  TWHEEL_REARM_ALWAYS) - 1;

	ret = ret ?: twheel_op_rearm(&probe->op, twheel_deadline(NSEC_PER_MSEC),
				     TWHEEL_REARM_IF_EARLIER) - 1;
	vtime_sleep(NSEC_PER_SEC);
	return ret;
}

static void end_needs_no_memory(struct kunit *test)
{
	static int (*const calls[])(struct probe *probe) = {
		by_signal, by_complete, by_cancel, by_cancel_for_key, by_complete_all,
		by_expiry,
	};
	unsigned int i, nth;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		for (nth = 1; nth < 10; nth++) {
			struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, 10, 20);

			let_fail(nth);
			KUNIT_EXPECT_EQ(test, calls[i](probe), 0);
			has_failed();
			KUNIT_EXPECT_EQ(test, probe->ended, 1);
			expect_counts(test, 0, 0, 0);
		}
	}
}

/* The work function that resizes the key table */
static void (*resize)(struct work_struct *work);

static void resize_noop(struct work_struct *work)
{
}

/*
 * Number of operations. With TWHEEL_MAX_KEYS keys each, the table needs more buckets, and no
 * bucket is full without them.
 */
#define NR_FULL		3

static void add_with_many_keys(struct kunit *test, struct probe **probes)
{
	unsigned int i;

	for (i = 0; i < NR_FULL; i++)
		probes[i] = probe_pending(test, TWHEEL_COND_ALL, 0, i * TWHEEL_MAX_KEYS,
					  TWHEEL_MAX_KEYS);
	expect_counts(test, NR_FULL, NR_FULL * TWHEEL_MAX_KEYS, NR_FULL * TWHEEL_MAX_KEYS);
}

/* Complete some of the operations by signalling all of their keys. */
static void complete_by_signals(struct kunit *test, struct probe **probes, unsigned int from,
				unsigned int to)
{
	unsigned int i, nr = 0;

	for (i = from * TWHEEL_MAX_KEYS; i < to * TWHEEL_MAX_KEYS; i++)
		nr += probe_signal(i, 3);
	KUNIT_EXPECT_EQ(test, nr, to - from);
	for (i = from; i < to; i++)
		expect_ended(test, probes[i], TWHEEL_REASON_COMPLETED, 3);
}

static void without_memory_for_buckets_chains_grow(struct kunit *test)
{
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct probe *probes[NR_FULL];

	resize = keys->resize.work.func;
	keys->resize.work.func = resize_noop;
	keys_get_no_memory(keys);
	add_with_many_keys(test, probes);
	KUNIT_EXPECT_EQ(test, keys->size, TWHEEL_SEGMENT);
	KUNIT_EXPECT_GT(test, keys->target, TWHEEL_SEGMENT);
	complete_by_signals(test, probes, 0, 1);

	/* The next add makes the table grow. */
	keys_get_memory(keys);
	probe_pending(test, TWHEEL_COND_ALL, 0, 0, TWHEEL_MAX_KEYS);
	KUNIT_EXPECT_GT(test, keys->size, TWHEEL_SEGMENT);
	expect_bucket_sizes(test, keys);

	/* Removing keys needs no new buckets either. */
	keys_get_no_memory(keys);
	complete_by_signals(test, probes, 1, NR_FULL);
	KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), 1);
	expect_counts(test, 0, 0, 0);
	flush_delayed_work(&keys->resize);
	keys->resize.work.func = resize;
}

/* The allocation of the work item fails. It retries later. */
static void table_without_memory_is_resized_later(struct kunit *test)
{
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct probe *probes[NR_FULL];

	resize = keys->resize.work.func;
	keys_get_no_memory(keys);
	add_with_many_keys(test, probes);
	KUNIT_EXPECT_EQ(test, keys->size, TWHEEL_SEGMENT);
	let_fail(1);
	resize(&keys->resize.work);
	KUNIT_EXPECT_TRUE(test, has_failed());
	KUNIT_EXPECT_EQ(test, keys->size, TWHEEL_SEGMENT);
	vtime_sleep(NSEC_PER_SEC);
	flush_delayed_work(&keys->resize);
	KUNIT_EXPECT_GT(test, keys->size, TWHEEL_SEGMENT);
	expect_bucket_sizes(test, keys);
	complete_by_signals(test, probes, 0, NR_FULL);
}

/* The allocation of an add fails. The add succeeds, and the work item does it. */
static void failed_growth_of_add_is_left_to_work(struct kunit *test)
{
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct probe *probes[NR_FULL], *probe = probe_new(test);
	struct twheel_watch_spec spec = { .key.v[1] = U32_MAX };
	struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = probe->watch,
	};

	keys_get_no_memory(keys);
	add_with_many_keys(test, probes);
	keys_get_memory(keys);
	let_fail(1);
	KUNIT_EXPECT_EQ(test, twheel_op_add(probe_purgatory, &probe->op, &args), 0);
	KUNIT_EXPECT_TRUE(test, has_failed());
	KUNIT_EXPECT_EQ(test, keys->size, TWHEEL_SEGMENT);
	flush_delayed_work(&keys->resize);
	KUNIT_EXPECT_GT(test, keys->size, TWHEEL_SEGMENT);
	expect_bucket_sizes(test, keys);
	KUNIT_EXPECT_EQ(test, twheel_signal(probe_purgatory, &spec.key, 1, 3), 1);
	complete_by_signals(test, probes, 0, NR_FULL);
}

static int alloc_suite_init(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_FAILSLAB))
		kunit_skip(test, "the kernel was built without CONFIG_FAILSLAB");
	KUNIT_ASSERT_TRUE_MSG(test, can_fail(), "failslab/ignore-gfp-wait is set");
	return probe_suite_init(test);
}

static void alloc_suite_exit(struct kunit *test)
{
	if (probe_purgatory)
		probe_suite_exit(test);
}

static struct kunit_case alloc_cases[] = {
	KUNIT_CASE(purgatory_create_without_memory_fails),
	KUNIT_CASE(add_needs_no_memory),
	KUNIT_CASE(add_with_predicate_needs_no_memory),
	KUNIT_CASE(watch_needs_no_memory),
	KUNIT_CASE(end_needs_no_memory),
	KUNIT_CASE(without_memory_for_buckets_chains_grow),
	KUNIT_CASE(table_without_memory_is_resized_later),
	KUNIT_CASE(failed_growth_of_add_is_left_to_work),
	{}
};

static struct kunit_suite alloc_suite = {
	.name		= "twheel_op_alloc",
	.init		= alloc_suite_init,
	.exit		= alloc_suite_exit,
	.test_cases	= alloc_cases,
};

kunit_test_suite(alloc_suite);
