// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, walks of more than one chunk: what keeps their place while callbacks
 * add, end, signal and unwatch under the same key.
 *
 * All of it is done by callbacks, on one thread, between two chunks. What must hold does not
 * depend on how large a chunk is; there are only so many watchers that it is several.
 */
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../../twheel/op/purgatory.h"
#include "op_probe.h"

#define NR	150
#define KEY	10

struct walker {
	struct twheel_op	op;
	struct twheel_watch	watch[2];
	unsigned int		ended;
	unsigned int		order;
	unsigned int		evaluated;
	bool			holds;
	void			(*then)(struct walker *walker);
};

static struct walker *walkers, *late;
static unsigned int nr_ended, nr_inner;

static bool walker_try_complete(struct twheel_op *op, u64 *value)
{
	struct walker *walker = container_of(op, struct walker, op);

	walker->evaluated++;
	return walker->holds;
}

static void walker_ended(struct twheel_op *op)
{
	struct walker *walker = container_of(op, struct walker, op);

	walker->ended++;
	walker->order = ++nr_ended;
	if (walker->then)
		walker->then(walker);
}

static void walker_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops walker_ops = {
	.try_complete	= walker_try_complete,
	.ended		= walker_ended,
	.release	= walker_release,
};

/* Under the key that is walked, and maybe under the next one. */
static int walker_add(struct walker *walker, enum twheel_condition condition, u32 need,
		      u32 nr_keys)
{
	const struct twheel_watch_spec specs[2] = {
		{ .key = { .v = { 0, KEY } }, .need = need },
		{ .key = { .v = { 0, KEY + 1 } }, .need = need },
	};
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = condition,
		.nr_keys = nr_keys, .specs = specs, .watches = walker->watch,
	};

	twheel_op_init(&walker->op, &walker_ops);
	return twheel_op_add(probe_purgatory, &walker->op, &args);
}

static void add_all(struct kunit *test, enum twheel_condition condition, u32 need)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, walker_add(&walkers[i], condition, need, 1), 0);
}

/* Let one that waits need so many signals, and then do something. */
static void let_then(struct walker *walker, u32 need, void (*then)(struct walker *walker))
{
	walker->watch[0].need = need;
	walker->then = then;
}

/* How many are in the ring of a key, firsts and marks among them. */
static unsigned int nr_linked(u64 number, unsigned int *nr_firsts, unsigned int *nr_marks)
{
	const struct twheel_key key = { .v = { 0, number } };
	struct twheel_keys *keys = &probe_purgatory->keys;
	struct twheel_key_at at = twheel_key_lock(keys, twheel_keys_hash(keys, &key));
	struct twheel_watch *first = twheel_key_first(&at, &key), *watch = first;
	unsigned int nr = 0;

	if (watch) {
		do {
			nr++;
			*nr_firsts += twheel_watch_is_first(watch);
			*nr_marks += !watch->op;
			watch = list_next_entry(watch, entry);
		} while (watch != first);
	}
	twheel_key_unlock(&at);
	return nr;
}

/* No walk has left a mark behind; so many watch the key. */
static void expect_watched(struct kunit *test, u64 number, unsigned int nr)
{
	unsigned int nr_firsts = 0, nr_marks = 0;

	KUNIT_EXPECT_EQ(test, nr_linked(number, &nr_firsts, &nr_marks), nr);
	KUNIT_EXPECT_EQ(test, nr_firsts, !!nr);
	KUNIT_EXPECT_EQ(test, nr_marks, 0);
}

/* Those up to a number have ended once, the others not at all. */
static void expect_ended_up_to(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ_MSG(test, walkers[i].ended, i < nr, "watcher %u", i);
}

static void expect_order(struct kunit *test)
{
	unsigned int i;

	for (i = 1; i < NR; i++)
		KUNIT_EXPECT_GT_MSG(test, walkers[i].order, walkers[i - 1].order, "watcher %u", i);
}

static void add_one_more(struct walker *walker)
{
	nr_inner += !walker_add(&late[walker - walkers], TWHEEL_COND_ANY, 1, 1);
}

static void a_walk_ends_where_it_began_to(struct kunit *test)
{
	unsigned int i;

	add_all(test, TWHEEL_COND_ANY, 1);
	for (i = 0; i < NR; i++)
		walkers[i].then = add_one_more;
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	expect_ended_up_to(test, NR);
	expect_order(test);
	KUNIT_EXPECT_EQ(test, nr_inner, NR);
	expect_counts(test, NR, 1, NR);
	expect_watched(test, KEY, NR);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ(test, late[i].ended, 1);
	expect_counts(test, 0, 0, 0);
}

/* They stay: the marks move on between those who watch. */
static void a_walk_that_ends_nobody_leaves_all_in_order(struct kunit *test)
{
	unsigned int i;

	add_all(test, TWHEEL_COND_ANY, 4);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 0);
		expect_watched(test, KEY, NR);
	}
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	expect_order(test);
	expect_counts(test, 0, 0, 0);
}

static void a_limit_is_kept_and_the_rest_is_not_told(struct kunit *test)
{
	const struct twheel_key key = { .v = { 0, KEY } };
	u32 limit, nr;

	for (limit = 1; limit <= NR + 1; limit += limit < 40 ? 1 : 13) {
		memset(walkers, 0, NR * sizeof(*walkers));
		nr = min_t(u32, limit, NR);
		add_all(test, TWHEEL_COND_ANY, 2);
		KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 0);
		KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 0, limit, 0), nr);
		expect_ended_up_to(test, nr);
		expect_watched(test, KEY, NR - nr);
		KUNIT_EXPECT_EQ(test, twheel_signal_some(probe_purgatory, &key, 1, 0, NR, 0), NR - nr);
		expect_ended_up_to(test, NR);
		expect_counts(test, 0, 0, 0);
	}
}

static void a_limit_on_predicates_passes_over_those_that_do_not_hold(struct kunit *test)
{
	unsigned int i;
	u32 limit;

	for (limit = 1; limit <= NR / 3; limit += 7) {
		memset(walkers, 0, NR * sizeof(*walkers));
		add_all(test, TWHEEL_COND_PREDICATE, 0);
		for (i = 0; i < NR; i++) {
			walkers[i].holds = i % 3 == 2;
			walkers[i].evaluated = 0;
		}
		KUNIT_EXPECT_EQ(test, probe_check(KEY, limit), limit);
		for (i = 0; i < NR; i++) {
			KUNIT_EXPECT_EQ_MSG(test, walkers[i].ended, i < 3 * limit && i % 3 == 2,
					    "watcher %u", i);
			KUNIT_EXPECT_EQ_MSG(test, walkers[i].evaluated, i < 3 * limit,
					    "watcher %u", i);
		}
		expect_watched(test, KEY, NR - limit);
		KUNIT_EXPECT_EQ(test, twheel_complete_all(probe_purgatory, 0, 0, 0), NR - limit);
		expect_counts(test, 0, 0, 0);
	}
}

static void signal_once_more(struct walker *walker)
{
	nr_inner += probe_signal(KEY, 0);
}

/* The inner walk comes to those whom the outer one has told, and to those that it will tell. */
static void two_walks_of_a_key_do_not_hinder_each_other(struct kunit *test)
{
	u32 outer;

	add_all(test, TWHEEL_COND_ANY, 2);
	let_then(&walkers[0], 1, signal_once_more);
	outer = probe_signal(KEY, 0);
	KUNIT_EXPECT_GT(test, outer, 1);
	KUNIT_EXPECT_GT(test, nr_inner, 0);
	KUNIT_EXPECT_EQ(test, outer + nr_inner, NR);
	expect_ended_up_to(test, NR);
	expect_order(test);
	expect_counts(test, 0, 0, 0);
}

static void walks_within_walks_tell_each_watcher_once_each(struct kunit *test)
{
	unsigned int i, nr = 3;

	/* Each of the first few begins another walk, while all before it stand still. */
	add_all(test, TWHEEL_COND_ANY, nr + 1);
	for (i = 0; i < nr; i++)
		let_then(&walkers[i], i + 1, signal_once_more);
	/* The walk that is number i ends number i: nr + 1 walks. */
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0) + nr_inner, NR);
	expect_ended_up_to(test, NR);
	expect_counts(test, 0, 0, 0);
}

/* Let all go that were visited, so that the mark is first, and some of those to come. */
static void cancel_around_the_mark(struct walker *walker)
{
	unsigned int i;

	for (i = 0; i < NR / 2; i++)
		nr_inner += !twheel_op_cancel(&walkers[i].op);
}

static void a_mark_becomes_the_first_of_its_key(struct kunit *test)
{
	unsigned int i;

	add_all(test, TWHEEL_COND_ANY, 2);
	let_then(&walkers[5], 1, cancel_around_the_mark);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, NR / 2 - 1);
	expect_ended_up_to(test, NR / 2);
	expect_counts(test, NR - NR / 2, 1, NR - NR / 2);
	expect_watched(test, KEY, NR - NR / 2);
	/* The rest was told once. */
	for (i = NR / 2; i < NR; i++)
		KUNIT_EXPECT_EQ(test, walkers[i].watch[0].need, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR - NR / 2);
	expect_counts(test, 0, 0, 0);
}

static void cancel_all(struct walker *walker)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		nr_inner += !twheel_op_cancel(&walkers[i].op);
	nr_inner += !walker_add(&late[0], TWHEEL_COND_ANY, 1, 1);
}

/* A key that nothing but the walk has kept, and then one who comes behind it. */
static void marks_may_be_all_that_is_left(struct kunit *test)
{
	add_all(test, TWHEEL_COND_ANY, 2);
	let_then(&walkers[5], 1, cancel_all);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	KUNIT_EXPECT_EQ(test, nr_inner, NR);
	expect_ended_up_to(test, NR);
	KUNIT_EXPECT_EQ(test, late[0].ended, 0);
	expect_counts(test, 1, 1, 1);
	expect_watched(test, KEY, 1);
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), 1);
	expect_counts(test, 0, 0, 0);
}

static void unwatch_many(struct walker *walker)
{
	const struct twheel_key key = { .v = { 0, KEY } };
	unsigned int i;

	for (i = 0; i < NR; i += 2)
		nr_inner += !IS_ERR(twheel_op_unwatch(&walkers[i].op, &key));
}

static void those_who_watch_no_more_are_not_told(struct kunit *test)
{
	unsigned int i, nr = (NR + 1) / 2;

	for (i = 0; i < NR; i++)
		KUNIT_ASSERT_EQ(test, walker_add(&walkers[i], TWHEEL_COND_ANY, 2, 2), 0);
	let_then(&walkers[5], 1, unwatch_many);
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

static int add_under(struct walker *walker, u64 number)
{
	const struct twheel_watch_spec spec = { .key = { .v = { 0, number } } };
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = walker->watch,
	};

	twheel_op_init(&walker->op, &walker_ops);
	return twheel_op_add(probe_purgatory, &walker->op, &args);
}

/* Keys come, and the buckets with them, while the marks of a walk stand among them. */
static void grow_and_shrink(struct walker *walker)
{
	static struct walker others[300];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		nr_inner += !add_under(&others[i], 1000 + i);
	flush_delayed_work(&probe_purgatory->keys.resize);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		nr_inner -= !twheel_op_cancel(&others[i].op);
	flush_delayed_work(&probe_purgatory->keys.resize);
	nr_ended -= ARRAY_SIZE(others);
}

static void marks_are_moved_to_other_buckets(struct kunit *test)
{
	unsigned int i;

	add_all(test, TWHEEL_COND_ANY, 1);
	for (i = 0; i < NR; i += 10)
		walkers[i].then = grow_and_shrink;
	KUNIT_EXPECT_EQ(test, probe_signal(KEY, 0), NR);
	KUNIT_EXPECT_EQ(test, nr_inner, 0);
	expect_ended_up_to(test, NR);
	expect_order(test);
	expect_counts(test, 0, 0, 0);
}

static int walk_init(struct kunit *test)
{
	walkers = kunit_kcalloc(test, NR, sizeof(*walkers), GFP_KERNEL);
	late = kunit_kcalloc(test, NR, sizeof(*late), GFP_KERNEL);
	nr_ended = 0;
	nr_inner = 0;
	return walkers && late ? probe_suite_init(test) : -ENOMEM;
}

static struct kunit_case walk_cases[] = {
	KUNIT_CASE(a_walk_ends_where_it_began_to),
	KUNIT_CASE(a_walk_that_ends_nobody_leaves_all_in_order),
	KUNIT_CASE(a_limit_is_kept_and_the_rest_is_not_told),
	KUNIT_CASE(a_limit_on_predicates_passes_over_those_that_do_not_hold),
	KUNIT_CASE(two_walks_of_a_key_do_not_hinder_each_other),
	KUNIT_CASE(walks_within_walks_tell_each_watcher_once_each),
	KUNIT_CASE(a_mark_becomes_the_first_of_its_key),
	KUNIT_CASE(marks_may_be_all_that_is_left),
	KUNIT_CASE(those_who_watch_no_more_are_not_told),
	KUNIT_CASE(marks_are_moved_to_other_buckets),
	{}
};

static struct kunit_suite walk_suite = {
	.name		= "twheel_key_signal",
	.init		= walk_init,
	.exit		= probe_suite_exit,
	.test_cases	= walk_cases,
};

kunit_test_suite(walk_suite);
