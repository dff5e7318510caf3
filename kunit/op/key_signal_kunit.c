// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for signals that visit the watches of a key in more than one chunk: a signal
 * keeps its position while callbacks add, end, signal and unwatch operations under the same
 * key.
 *
 * Callbacks do all of this between two chunks, in a single thread. The expected results
 * do not depend on the chunk size. The number of watchers only ensures several chunks.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../../twheel/op/purgatory.h"
#include "key_probe.h"
#include "op_probe.h"

#define NR	150
#define KEY	10

struct watcher {
	struct twheel_op	op;
	struct twheel_watch	watch[2];
	unsigned int		ended;
	unsigned int		order;
	void			(*on_ended)(struct watcher *watcher);
};

static struct watcher *watchers, *added;
static unsigned int nr_ended, nr_inner;

static void watcher_ended(struct twheel_op *op)
{
	struct watcher *watcher = container_of(op, struct watcher, op);

	watcher->ended++;
	watcher->order = ++nr_ended;
	if (watcher->on_ended)
		watcher->on_ended(watcher);
}

static void watcher_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops watcher_ops = {
	.ended		= watcher_ended,
	.release	= watcher_release,
};

/* Add an operation that watches @nr_keys keys, one or two, and needs @need signals of a key. */
static int watcher_add(struct watcher *watcher, u64 number, u32 need, u32 nr_keys)
{
	const struct twheel_watch_spec specs[2] = {
		{ .key = { .v = { 0, number } }, .need = need },
		{ .key = { .v = { 0, number + 1 } }, .need = need },
	};
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = nr_keys, .specs = specs, .watches = watcher->watch,
	};

	twheel_op_init(&watcher->op, &watcher_ops);
	return twheel_op_add(probe_purgatory, &watcher->op, &args);
}

static void add_all(struct kunit *test, u32 need)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, watcher_add(&watchers[i], KEY, need, 1), 0);
}

/* Set the remaining need of a pending operation, and the function called when it ends. */
static void set_on_ended(struct watcher *watcher, u32 need,
			 void (*on_ended)(struct watcher *watcher))
{
	watcher->watch[0].need = need;
	watcher->on_ended = on_ended;
}

/* Count the watches in the ring of a key, and the first watches and markers among them. */
static unsigned int nr_linked(u64 number, unsigned int *nr_first, unsigned int *nr_markers)
{
	const struct twheel_key key = { .v = { 0, number } };
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct twheel_key_at at = twheel_key_lock(keys, twheel_keys_hash(keys, &key));
	struct twheel_watch *first = twheel_key_first(&at, &key), *watch = first;
	unsigned int nr = 0;

	if (watch) {
		do {
			nr++;
			*nr_first += watch->key_prev->key_next != watch;
			*nr_markers += !watch->op;
			watch = watch->key_next;
		} while (watch && watch != first->key_prev->key_next);
	}
	twheel_key_unlock(&at);
	return nr;
}

/* Expect @nr watches under the key and no marker of a walk. */
static void expect_watched(struct kunit *test, u64 number, unsigned int nr)
{
	unsigned int nr_first = 0, nr_markers = 0;

	KUNIT_EXPECT_EQ(test, nr_linked(number, &nr_first, &nr_markers), nr);
	KUNIT_EXPECT_EQ(test, nr_first, !!nr);
	KUNIT_EXPECT_EQ(test, nr_markers, 0);
}

/* Expect operations 0 to @nr - 1 to have ended exactly once, and the others not at all. */
static void expect_ended_up_to(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ_MSG(test, watchers[i].ended, i < nr, "watcher %u", i);
}

static void expect_order(struct kunit *test)
{
	unsigned int i;

	for (i = 1; i < NR; i++)
		KUNIT_EXPECT_GT_MSG(test, watchers[i].order, watchers[i - 1].order,
				    "watcher %u", i);
}

static void add_another(struct watcher *watcher)
{
	nr_inner += !watcher_add(&added[watcher - watchers], KEY, 1, 1);
}

static void walk_skips_operations_added_by_callbacks(struct kunit *test)
{
	unsigned int i;

	add_all(test, 1);
	for (i = 0; i < NR; i++)
		watchers[i].on_ended = add_another;
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	expect_ended_up_to(test, NR);
	expect_order(test);
	KUNIT_EXPECT_EQ(test, nr_inner, NR);
	expect_counts(test, NR, 1, NR);
	expect_watched(test, KEY, NR);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, added[i].ended, 1);
	expect_counts(test, 0, 0, 0);
}

static void signal_again(struct watcher *watcher)
{
	nr_inner += probe_signal(KEY, 0);
}

static void nested_walks_visit_each_watcher_once(struct kunit *test)
{
	unsigned int i, nr = 3;

	/* Each of the first operations starts another walk while the outer walks are suspended. */
	add_all(test, nr + 1);
	for (i = 0; i < nr; i++)
		set_on_ended(&watchers[i], i + 1, signal_again);
	/* Walk i completes operation i, so there are nr + 1 walks. */
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0) + nr_inner, NR);
	expect_ended_up_to(test, NR);
	expect_counts(test, 0, 0, 0);
}

/* Cancel all visited operations, which makes the marker first, and some that come next. */
static void cancel_around_the_mark(struct watcher *watcher)
{
	unsigned int i;

	for (i = 0; i < NR / 2; i++)
		nr_inner += !twheel_op_cancel(&watchers[i].op);
}

static void marker_becomes_first_of_its_key(struct kunit *test)
{
	unsigned int i;

	add_all(test, 2);
	set_on_ended(&watchers[5], 1, cancel_around_the_mark);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, NR / 2 - 1);
	expect_ended_up_to(test, NR / 2);
	expect_counts(test, NR - NR / 2, 1, NR - NR / 2);
	expect_watched(test, KEY, NR - NR / 2);
	/* The remaining operations were signalled once. */
	for (i = NR / 2; i < NR; i++)
		KUNIT_EXPECT_EQ(test, (u32)watchers[i].watch[0].need, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR - NR / 2);
	expect_counts(test, 0, 0, 0);
}

static void cancel_all(struct watcher *watcher)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		nr_inner += !twheel_op_cancel(&watchers[i].op);
	nr_inner += !watcher_add(&added[0], KEY, 1, 1);
}

/* Only the markers keep the key alive. Then a new operation is linked behind them. */
static void markers_keep_key_without_watchers(struct kunit *test)
{
	add_all(test, 2);
	set_on_ended(&watchers[5], 1, cancel_all);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, NR);
	expect_ended_up_to(test, NR);
	KUNIT_EXPECT_EQ(test, added[0].ended, 0);
	expect_counts(test, 1, 1, 1);
	expect_watched(test, KEY, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	expect_counts(test, 0, 0, 0);
}

static void unwatch_many(struct watcher *watcher)
{
	const struct twheel_key key = { .v = { 0, KEY } };
	unsigned int i;

	for (i = 0; i < NR; i += 2)
		nr_inner += !IS_ERR(twheel_op_unwatch(&watchers[i].op, &key));
}

static void unwatched_operations_are_not_signalled(struct kunit *test)
{
	unsigned int i, nr = (NR + 1) / 2;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, watcher_add(&watchers[i], KEY, 2, 2), 0);
	set_on_ended(&watchers[5], 1, unwatch_many);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, nr);
	expect_watched(test, KEY, NR - nr - 1);
	expect_watched(test, KEY + 1, NR - 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR - nr - 1);
	expect_counts(test, nr, 1, nr);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY + 1, 0), 0);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY + 1, 0), nr);
	expect_counts(test, 0, 0, 0);
}

/* Add and remove keys, so that buckets are replaced while the markers of a walk are linked. */
static void grow_and_shrink(struct watcher *watcher)
{
	static struct watcher others[300];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		nr_inner += !watcher_add(&others[i], 1000 + i, 1, 1);
	keys_resize(&probe_purgatory->keys);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		nr_inner -= !twheel_op_cancel(&others[i].op);
	keys_resize(&probe_purgatory->keys);
	nr_ended -= ARRAY_SIZE(others);
}

static void markers_survive_resize(struct kunit *test)
{
	unsigned int i;

	add_all(test, 1);
	for (i = 0; i < NR; i += 10)
		watchers[i].on_ended = grow_and_shrink;
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	KUNIT_EXPECT_EQ(test, nr_inner, 0);
	expect_ended_up_to(test, NR);
	expect_order(test);
	expect_counts(test, 0, 0, 0);
}

static int walk_init(struct kunit *test)
{
	watchers = kunit_kcalloc(test, NR, sizeof(*watchers), GFP_KERNEL);
	added = kunit_kcalloc(test, NR, sizeof(*added), GFP_KERNEL);
	nr_ended = 0;
	nr_inner = 0;
	return watchers && added ? probe_suite_init(test) : -ENOMEM;
}

static struct kunit_case walk_cases[] = {
	KUNIT_CASE(walk_skips_operations_added_by_callbacks),
	KUNIT_CASE(nested_walks_visit_each_watcher_once),
	KUNIT_CASE(marker_becomes_first_of_its_key),
	KUNIT_CASE(markers_keep_key_without_watchers),
	KUNIT_CASE(unwatched_operations_are_not_signalled),
	KUNIT_CASE(markers_survive_resize),
	{}
};

static struct kunit_suite walk_suite = {
	.name		= "twheel_key_signal",
	.init		= walk_init,
	.exit		= probe_suite_exit,
	.test_cases	= walk_cases,
};

kunit_test_suite(walk_suite);
