// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for purgatories: limits, the end of all operations, and signals of many.
 */
#include <linux/time64.h>

#include "../../twheel/op/purgatory.h"
#include "key_probe.h"
#include "op_probe.h"

static void create_with_bad_limits_returns_einval(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(0, 0), ERR_PTR(-EINVAL));
	KUNIT_EXPECT_PTR_EQ(test, probe_purgatory_create(U32_MAX, 0), ERR_PTR(-EINVAL));
}

/* At both sides of the number from which on lists of the purgatory keep unused quota. */
static void limit_is_exact_at_any_size(struct kunit *test)
{
	static const u32 limits[] = { 1, 63, 64, 65, 127, 128, 129, 191, 192, 193, 300 };
	unsigned int i, j, round;
	struct probe *probe;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		probe_limit(test, limits[i], 0);
		for (round = 0; round < 3; round++) {
			for (j = 0; j < limits[i]; j++)
				probe_pending(test, TWHEEL_COND_ANY, 0, 1 + j % 3, 1);
			probe = probe_new(test);
			KUNIT_EXPECT_EQ(test, -ENOSPC, probe_add(probe, 0, TWHEEL_COND_NONE, 0,
								 NULL));
			KUNIT_EXPECT_EQ(test, probe->ended, 0);
			expect_rejected(test, round + 1);
			for (j = 1; j <= 3; j++)
				probe_signal(j, 0);
			expect_counts(test, 0, 0, 0);
		}
	}
}

static u32 hash_of(const struct probe_keys *keys)
{
	return twheel_keys_hash(&probe_purgatory->keys, &keys->spec[0].key);
}

/* Return: a key that a walk visits before another one, or after it. */
static struct probe_keys *key_beside(struct kunit *test, const struct probe_keys *other,
				     bool before)
{
	struct probe_keys *keys;
	u64 number = 2;

	do {
		keys = probe_keys_new(test, number++, 1);
	} while (hash_of(keys) == hash_of(other) || (hash_of(keys) < hash_of(other)) != before);
	return keys;
}

static struct probe *changed;
static struct probe_keys *gained, *lost;

static void change_keys(struct probe *probe)
{
	if (gained)
		twheel_op_watch(&changed->op, gained->spec, changed->watch + 1, 1);
	twheel_op_unwatch(&changed->op, &lost->spec[0].key);
}

/*
 * An operation is where the walk of a drain, or of a call that completes all, has yet to come, and
 * then where it has been: it gets another key, or has no key any more.
 */
static void expect_all_ended(struct kunit *test, bool gains, bool drain)
{
	enum twheel_reason reason = drain ? TWHEEL_REASON_CANCELLED : TWHEEL_REASON_COMPLETED;
	struct probe_keys *keys = probe_keys_new(test, 1, 1);
	struct probe *first = probe_new(test);
	u64 value = drain ? 0 : 7;

	changed = probe_new_predicate(test);
	gained = gains ? key_beside(test, keys, true) : NULL;
	lost = key_beside(test, keys, false);
	first->on_ended = change_keys;
	KUNIT_EXPECT_EQ(test, probe_add(first, NSEC_PER_SEC, TWHEEL_COND_ANY, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, probe_add_predicate(changed, NSEC_PER_SEC, lost), 0);
	if (drain)
		KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(probe_purgatory), 2);
	else
		KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, value, 0), 2);
	expect_ended(test, first, reason, value);
	expect_ended(test, changed, reason, value);
}

static void end_of_all_finds_operation_whose_keys_change(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		probe_limit(test, MAX_PENDING, 0);
		expect_all_ended(test, i & 1, i & 2);
	}
}

#define NR_PREDICATES	1000

static void completions_by_predicates_shrink_the_table(struct kunit *test)
{
	const struct twheel_keys *keys = &probe_purgatory->keys;
	static struct probe *probes[NR_PREDICATES];
	unsigned int i;
	u32 size;

	for (i = 0; i < NR_PREDICATES; i++) {
		probes[i] = probe_new_predicate(test);
		KUNIT_EXPECT_EQ(test, watcher_add(test, probes[i], NSEC_PER_SEC, i, 1), 0);
	}
	size = twheel_key_table_size(keys->table);
	for (i = 0; i < NR_PREDICATES; i++) {
		probes[i]->holds = true;
		KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probes[i]->op), 1);
	}
	KUNIT_EXPECT_LE(test, twheel_key_table_size(keys->table), size / 4);
}

/*
 * Signals of a key with more watches than a chunk has. Callbacks run between two chunks, and change
 * the watches. The results do not depend on the size of a chunk.
 */
#define WATCHERS	150
#define KEY		10

/* Operations with as many keys as possible */
#define NR_WIDE		4

static struct probe *watchers[WATCHERS], *added[WATCHERS], *wide[NR_WIDE];
static struct probe_keys *shared, *wide_keys[NR_WIDE];
static unsigned int nr_added, nr_inner;

static void watch_all(struct kunit *test, u32 need)
{
	unsigned int i;

	nr_added = 0;
	nr_inner = 0;
	shared = probe_keys_new(test, KEY, 1);
	shared->spec[0].need = need;
	for (i = 0; i < NR_WIDE; i++) {
		wide[i] = probe_new(test);
		wide_keys[i] = probe_keys_new(test, 1000 * (i + 1), TWHEEL_MAX_KEYS);
	}
	for (i = 0; i < WATCHERS; i++) {
		added[i] = probe_new(test);
		watchers[i] = probe_new(test);
		KUNIT_ASSERT_EQ(test, probe_add(watchers[i], TWHEEL_NEVER, TWHEEL_COND_ANY, 0,
						shared), 0);
	}
}

static void expect_watchers_ended(struct kunit *test, bool in_order)
{
	unsigned int i;

	for (i = 0; i < WATCHERS; i++) {
		KUNIT_EXPECT_EQ_MSG(test, watchers[i]->ended, 1, "watcher %u", i);
		if (i && in_order)
			KUNIT_EXPECT_GT_MSG(test, watchers[i]->order, watchers[i - 1]->order,
					    "watcher %u", i);
	}
}

static void add_another(struct probe *probe)
{
	shared->spec[0].need = 1;
	nr_added += !probe_add(added[nr_added], TWHEEL_NEVER, TWHEEL_COND_ANY, 0, shared);
}

/* The watches are moved to more buckets, and back. */
static void grow_and_shrink(struct probe *probe)
{
	struct twheel_keys *keys = &probe_purgatory->keys;
	unsigned int i;

	for (i = 0; i < NR_WIDE; i++)
		nr_inner += !probe_add(wide[i], TWHEEL_NEVER, TWHEEL_COND_ANY, 0, wide_keys[i]);
	keys_resize(keys);
	nr_inner += twheel_key_table_size(keys->table);
	for (i = 0; i < NR_WIDE; i++)
		nr_inner -= !twheel_op_cancel(&wide[i]->op);
	keys_resize(keys);
	nr_inner -= twheel_key_table_size(keys->table);
}

static void signal_skips_operations_added_by_callbacks(struct kunit *test)
{
	unsigned int i;

	watch_all(test, 1);
	for (i = 0; i < WATCHERS; i++)
		watchers[i]->on_ended = i == 20 ? grow_and_shrink : add_another;
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), WATCHERS);
	expect_watchers_ended(test, true);
	KUNIT_EXPECT_GT(test, nr_inner, 0);
	expect_counts(test, nr_added, 1, nr_added);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), nr_added);
	expect_counts(test, 0, 0, 0);
}

/* The operation needs fewer signals than the others, and its callback does something. */
static void hurry(unsigned int i, u32 need, void (*on_ended)(struct probe *probe))
{
	watchers[i]->watch[0].need = need;
	watchers[i]->on_ended = on_ended;
}

static void signal_again(struct probe *probe)
{
	nr_inner += probe_signal(KEY, 0);
}

static void nested_signals_visit_each_watcher_once(struct kunit *test)
{
	unsigned int i;

	watch_all(test, 4);
	for (i = 0; i < 3; i++)
		hurry(i, i + 1, signal_again);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0) + nr_inner, WATCHERS);
	expect_watchers_ended(test, false);
	expect_counts(test, 0, 0, 0);
}

static void cancel_all(struct probe *probe)
{
	unsigned int i;

	for (i = 0; i < WATCHERS; i++)
		nr_inner += !twheel_op_cancel(&watchers[i]->op);
	add_another(probe);
}

/* Only the marks keep the key. Then a new operation is linked behind them. */
static void marks_keep_key_without_watchers(struct kunit *test)
{
	watch_all(test, 2);
	hurry(5, 1, cancel_all);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, WATCHERS - 1);
	expect_counts(test, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	expect_counts(test, 0, 0, 0);
}

/* key_kunit.c has the effect. */
static void table_knows_of_a_walk(struct kunit *test)
{
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct twheel_op_iter iter;

	twheel_op_iter_start(&iter, probe_purgatory);
	KUNIT_EXPECT_EQ(test, atomic_read(&keys->walks), 1);
	twheel_op_iter_end(&iter);
	KUNIT_EXPECT_EQ(test, atomic_read(&keys->walks), 0);
	KUNIT_EXPECT_TRUE(test, keys->look);
}

static struct kunit_case purgatory_cases[] = {
	KUNIT_CASE(create_with_bad_limits_returns_einval),
	KUNIT_CASE(limit_is_exact_at_any_size),
	KUNIT_CASE(end_of_all_finds_operation_whose_keys_change),
	KUNIT_CASE(completions_by_predicates_shrink_the_table),
	KUNIT_CASE(signal_skips_operations_added_by_callbacks),
	KUNIT_CASE(nested_signals_visit_each_watcher_once),
	KUNIT_CASE(marks_keep_key_without_watchers),
	KUNIT_CASE(table_knows_of_a_walk),
	{}
};

static struct kunit_suite purgatory_suite = {
	.name		= "twheel_purgatory",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= purgatory_cases,
};

kunit_test_suite(purgatory_suite);
