// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5: operations, keys and purgatories.
 *
 * That exactly one of several CPUs wins is for the device's selftests, which
 * have several; here are the outcomes, the counts and the order of things.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "random.h"
#include "vtime.h"

#define MAX_PENDING	2000

static struct twheel *wheel;
static struct twheel_purgatory *purgatory;

/* How many callbacks there were, to number them. */
static unsigned int nr_ended;

struct probe {
	struct twheel_op	op;
	struct twheel_watch	watch[TWHEEL_MAX_KEYS];
	struct twheel_op_result	result;
	unsigned int		ended;		/* how often it was told */
	unsigned int		order;		/* when, among all */
	unsigned int		released;
	u64			takes_ns;	/* how long the callback runs */
	void			(*then)(struct probe *probe);
};

static void probe_ended(struct twheel_op *op)
{
	struct probe *probe = container_of(op, struct probe, op);

	twheel_op_result(op, &probe->result);
	probe->ended++;
	probe->order = ++nr_ended;
	if (probe->then)
		probe->then(probe);
	if (probe->takes_ns)
		vtime_sleep(probe->takes_ns);
}

static void probe_release(struct twheel_op *op)
{
	container_of(op, struct probe, op)->released++;
}

static const struct twheel_op_ops probe_ops = {
	.ended		= probe_ended,
	.release	= probe_release,
};

static struct probe *probe_new(struct kunit *test)
{
	struct probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	twheel_op_init(&probe->op, &probe_ops);
	return probe;
}

/* Keys of small numbers, each needed once. */
struct keys {
	struct twheel_watch_spec	spec[TWHEEL_MAX_KEYS + 1];
	u32				nr;
};

static struct keys keys_from(u64 first, u32 nr)
{
	struct keys keys = { .nr = nr };
	u32 i;

	for (i = 0; i < nr; i++)
		keys.spec[i].key.v[1] = first + i;
	return keys;
}

static int add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	       const struct keys *keys)
{
	const struct twheel_op_args args = {
		.deadline	= twheel_deadline(delay),
		.condition	= condition,
		.quorum		= quorum,
		.nr_keys	= keys ? keys->nr : 0,
		.specs		= keys ? keys->spec : NULL,
		.watches	= probe->watch,
	};

	return twheel_op_add(purgatory, &probe->op, &args, GFP_KERNEL);
}

/* Add an operation that waits for keys @first and following. */
static struct probe *waiting(struct kunit *test, enum twheel_condition condition, u32 quorum,
			     u64 first, u32 nr)
{
	struct probe *probe = probe_new(test);
	struct keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	*keys = keys_from(first, nr);
	KUNIT_ASSERT_EQ(test, add(probe, TWHEEL_NEVER, condition, quorum, keys), 0);
	return probe;
}

static u32 signal(u64 number, u64 value)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_signal(purgatory, &key, value);
}

static void expect_ended(struct kunit *test, const struct probe *probe,
			 enum twheel_reason reason, u64 value)
{
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->result.reason, reason);
	KUNIT_EXPECT_EQ(test, probe->result.value, value);
}

static void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, pending);
	KUNIT_EXPECT_EQ(test, stats.keys, keys);
	KUNIT_EXPECT_EQ(test, stats.watches, watches);
	KUNIT_EXPECT_EQ(test, stats.added, stats.pending + stats.ended[TWHEEL_COMPLETED] +
			stats.ended[TWHEEL_EXPIRED] + stats.ended[TWHEEL_CANCELLED]);
}

static int purgatory_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	purgatory = twheel_purgatory_create(wheel, MAX_PENDING);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, purgatory);
	nr_ended = 0;
	return 0;
}

static void purgatory_exit(struct kunit *test)
{
	twheel_purgatory_drain(purgatory);
	expect_counts(test, 0, 0, 0);
	twheel_purgatory_destroy(purgatory);
	KUNIT_EXPECT_EQ(test, twheel_pending(wheel), 0);
	twheel_destroy(wheel);
}

static void it_expires_at_its_deadline(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, add(probe, NSEC_PER_SEC, TWHEEL_COND_NONE, 0, NULL), 0);
	expect_counts(test, 1, 0, 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_GE(test, probe->result.time, probe->result.deadline);
	KUNIT_EXPECT_LE(test, probe->result.time, probe->result.deadline +
			twheel_tick_ns(wheel) + VTIME_SLOP_NS);
	expect_counts(test, 0, 0, 0);
}

static void any_key_completes_it(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_ANY, 0, 10, 3);

	expect_counts(test, 1, 3, 3);
	KUNIT_EXPECT_EQ(test, signal(9, 1), 0);
	KUNIT_EXPECT_EQ(test, signal(12, 77), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 77);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, signal(10, 1), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
}

static void all_keys_complete_it(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_ALL, 0, 10, 3);

	KUNIT_EXPECT_EQ(test, signal(11, 1), 0);
	KUNIT_EXPECT_EQ(test, signal(11, 2), 0);
	KUNIT_EXPECT_EQ(test, signal(10, 3), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, signal(12, 4), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 4);
}

static void a_quorum_completes_it(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_QUORUM, 2, 10, 3);

	KUNIT_EXPECT_EQ(test, signal(10, 1), 0);
	KUNIT_EXPECT_EQ(test, signal(10, 2), 0);
	KUNIT_EXPECT_EQ(test, signal(12, 3), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 3);
}

static void a_key_is_satisfied_by_as_many_signals_as_it_needs(struct kunit *test)
{
	struct keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	*keys = keys_from(10, 2);
	keys->spec[0].need = 3;
	KUNIT_EXPECT_EQ(test, add(probe, TWHEEL_NEVER, TWHEEL_COND_ALL, 0, keys), 0);
	KUNIT_EXPECT_EQ(test, signal(10, 0) + signal(11, 0) + signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
}

static void a_key_given_twice_counts_once(struct kunit *test)
{
	struct keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	*keys = keys_from(10, 3);
	keys->spec[2] = keys->spec[0];
	KUNIT_EXPECT_EQ(test, add(probe, TWHEEL_NEVER, TWHEEL_COND_QUORUM, 3, keys), -EINVAL);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, add(probe, TWHEEL_NEVER, TWHEEL_COND_ALL, 0, keys), 0);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, signal(10, 0), 0);
	KUNIT_EXPECT_EQ(test, signal(11, 0), 1);
}

static void a_signal_is_not_remembered(struct kunit *test)
{
	struct probe *probe;

	KUNIT_EXPECT_EQ(test, signal(10, 0), 0);
	expect_counts(test, 0, 0, 0);
	probe = waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
}

static void a_signal_tells_every_watcher_in_order(struct kunit *test)
{
	struct probe *probes[100];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = waiting(test, i % 3 ? TWHEEL_COND_ANY : TWHEEL_COND_ALL, 0, 10,
				    i % 3 ? 1 : 2);
	expect_counts(test, 100, 2, 134);
	KUNIT_EXPECT_EQ(test, signal(10, 5), 66);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i]->ended, !!(i % 3));
		if (i % 3)
			KUNIT_EXPECT_EQ(test, probes[i]->order, 1 + i / 3 * 2 + i % 3 - 1);
	}
	expect_counts(test, 34, 2, 68);
	KUNIT_EXPECT_EQ(test, signal(11, 5), 34);
}

static void complete_and_cancel_tell_who_won(struct kunit *test)
{
	struct probe *a = probe_new(test);
	struct probe *b;

	KUNIT_EXPECT_EQ(test, twheel_op_complete(&a->op, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&a->op), -ENOENT);
	KUNIT_EXPECT_EQ(test, add(a, NSEC_PER_SEC, TWHEEL_COND_NONE, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&a->op, 8), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&a->op, 9), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&a->op), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&a->op), -EALREADY);
	expect_ended(test, a, TWHEEL_COMPLETED, 8);

	b = waiting(test, TWHEEL_COND_ANY, 0, 10, 3);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&b->op), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&b->op, 9), -EALREADY);
	expect_ended(test, b, TWHEEL_CANCELLED, 0);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, twheel_pending(wheel), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, a->ended, 1);
}

static void cancel_sync_waits_for_the_callback(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel_sync(&probe->op), -EALREADY);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), probe->result.time + NSEC_PER_SEC);
}

static void it_is_released_once(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_ANY, 0, 10, 1);

	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	signal(10, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->released, 1);

	probe = probe_new(test);
	KUNIT_EXPECT_EQ(test, add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe->released, 0);
	twheel_op_put(&probe->op);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static void put_own(struct probe *probe)
{
	twheel_op_put(&probe->op);
}

static void a_callback_may_drop_the_last_reference(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_ANY, 0, 10, 1);

	probe->then = put_own;
	KUNIT_EXPECT_EQ(test, signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
}

static struct probe *next_probe;

static void add_next(struct probe *probe)
{
	static const struct twheel_watch_spec spec = { .key = { .v = { 0, 10 } } };
	const struct twheel_op_args args = {
		.deadline = TWHEEL_NEVER, .condition = TWHEEL_COND_ANY,
		.nr_keys = 1, .specs = &spec, .watches = next_probe->watch,
	};

	/* All of ours is out of the way by now: see the watches of the old one. */
	if (twheel_op_add(purgatory, &next_probe->op, &args, GFP_ATOMIC))
		return;
	next_probe->then = probe->then;
	signal(11, 0);
}

/* A new watcher under the same key is not told by the same signal. */
static void a_callback_may_add_and_signal(struct kunit *test)
{
	struct probe *first = waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	struct probe *other = waiting(test, TWHEEL_COND_ANY, 0, 11, 1);

	next_probe = probe_new(test);
	first->then = add_next;
	KUNIT_EXPECT_EQ(test, signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, first->ended, 1);
	KUNIT_EXPECT_EQ(test, other->ended, 1);
	KUNIT_EXPECT_EQ(test, next_probe->ended, 0);
	expect_counts(test, 1, 1, 1);
	next_probe->then = NULL;
	KUNIT_EXPECT_EQ(test, signal(10, 0), 1);
}

#define CROWD	100

static struct probe *spare[CROWD];
static unsigned int nr_spare;

static void add_spare(struct probe *probe)
{
	if (!nr_spare)
		return;
	next_probe = spare[--nr_spare];
	add_next(probe);
}

/* More watchers than are told at a time, and each puts another behind them. */
static void a_signal_ends_with_those_who_were_there(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++) {
		waiting(test, TWHEEL_COND_ANY, 0, 10, 1)->then = add_spare;
		spare[i] = probe_new(test);
	}
	nr_spare = CROWD;
	KUNIT_EXPECT_EQ(test, signal(10, 0), CROWD);
	KUNIT_EXPECT_EQ(test, nr_spare, 0);
	expect_counts(test, CROWD, 1, CROWD);
	KUNIT_EXPECT_EQ(test, signal(10, 0), CROWD);
}

static void expect_watch(struct kunit *test, struct probe *probe, u64 first, u32 nr, int ret)
{
	struct keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	struct twheel_watch *watches = kunit_kcalloc(test, nr, sizeof(*watches), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	*keys = keys_from(first, nr);
	KUNIT_EXPECT_EQ(test, twheel_op_watch(&probe->op, keys->spec, watches, nr,
					      GFP_KERNEL), ret);
}

static void further_keys_are_watched(struct kunit *test)
{
	struct probe *any = waiting(test, TWHEEL_COND_ANY, 0, 10, 2);
	struct probe *all = waiting(test, TWHEEL_COND_ALL, 0, 20, 2);

	expect_watch(test, any, 11, 2, 1);
	expect_watch(test, any, 10, 2, 0);
	expect_watch(test, all, 21, 2, 1);
	expect_counts(test, 2, 6, 6);
	KUNIT_EXPECT_EQ(test, signal(12, 0), 1);
	KUNIT_EXPECT_EQ(test, signal(20, 0) + signal(21, 0), 0);
	KUNIT_EXPECT_EQ(test, signal(22, 0), 1);
	KUNIT_EXPECT_EQ(test, any->ended, 1);
	KUNIT_EXPECT_EQ(test, all->ended, 1);
}

static void watching_further_keys_is_all_or_nothing(struct kunit *test)
{
	struct probe *probe = waiting(test, TWHEEL_COND_ANY, 0, 100, 60);
	struct probe *plain = probe_new(test);

	expect_watch(test, probe, 200, 5, -EINVAL);
	expect_counts(test, 1, 60, 60);
	/* Of these, one is watched already. */
	expect_watch(test, probe, 159, 5, 4);
	expect_counts(test, 1, 64, 64);
	expect_watch(test, probe, 100, 0, -EINVAL);

	expect_watch(test, plain, 10, 1, -ENOENT);
	KUNIT_EXPECT_EQ(test, add(plain, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	expect_watch(test, plain, 10, 1, -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&plain->op), 0);
	expect_watch(test, plain, 10, 1, -EALREADY);
	expect_counts(test, 1, 64, 64);
}

static void bad_arguments_leave_nothing(struct kunit *test)
{
	struct keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_NOT_NULL(test, keys);
	*keys = keys_from(10, 3);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_NONE, 0, keys), -EINVAL);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_ANY, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_ANY, 1, keys), -EINVAL);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_QUORUM, 0, keys), -EINVAL);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_QUORUM, 4, keys), -EINVAL);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_QUORUM + 1, 0, keys), -EINVAL);
	keys->spec[2].reserved = 1;
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_ALL, 0, keys), -EINVAL);
	*keys = keys_from(10, TWHEEL_MAX_KEYS + 1);
	KUNIT_EXPECT_EQ(test, add(probe, 0, TWHEEL_COND_ALL, 0, keys), -EINVAL);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);

	*keys = keys_from(10, TWHEEL_MAX_KEYS);
	KUNIT_EXPECT_EQ(test, add(probe, TWHEEL_NEVER, TWHEEL_COND_ALL, 0, keys), 0);
	expect_counts(test, 1, 64, 64);
}

static void bad_limits_make_no_purgatory(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(twheel_purgatory_create(wheel, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(twheel_purgatory_create(wheel, U32_MAX)), -EINVAL);
}

static void a_full_purgatory_refuses_until_one_ends(struct kunit *test)
{
	struct twheel_purgatory *big = purgatory;
	struct twheel_purgatory_stats stats;
	struct probe *a, *b;

	purgatory = twheel_purgatory_create(wheel, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, purgatory);
	a = waiting(test, TWHEEL_COND_ANY, 0, 10, 1);
	b = probe_new(test);
	KUNIT_EXPECT_EQ(test, add(b, 0, TWHEEL_COND_NONE, 0, NULL), -ENOSPC);
	expect_counts(test, 1, 1, 1);
	signal(10, 0);
	KUNIT_EXPECT_EQ(test, a->ended, 1);
	KUNIT_EXPECT_EQ(test, add(b, TWHEEL_NEVER, TWHEEL_COND_NONE, 0, NULL), 0);
	twheel_purgatory_stats(purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.rejected, 1);
	twheel_purgatory_destroy(purgatory);
	expect_ended(test, b, TWHEEL_CANCELLED, 0);
	purgatory = big;
}

static void drain_hands_back_what_waits(struct kunit *test)
{
	struct probe *keyed = waiting(test, TWHEEL_COND_ALL, 0, 10, 5);
	struct probe *plain = probe_new(test), *late = probe_new(test);

	KUNIT_EXPECT_EQ(test, add(plain, NSEC_PER_SEC, TWHEEL_COND_NONE, 0, NULL), 0);
	twheel_purgatory_drain(purgatory);
	expect_ended(test, keyed, TWHEEL_CANCELLED, 0);
	expect_ended(test, plain, TWHEEL_CANCELLED, 0);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, add(late, 0, TWHEEL_COND_NONE, 0, NULL), -ESHUTDOWN);
	expect_counts(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, late->ended, 0);
}

static void drain_waits_for_callbacks(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	probe->takes_ns = NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, add(probe, NSEC_PER_MSEC, TWHEEL_COND_NONE, 0, NULL), 0);
	vtime_sleep(NSEC_PER_SEC / 2);
	twheel_op_put(&probe->op);
	twheel_purgatory_drain(purgatory);
	KUNIT_EXPECT_EQ(test, probe->released, 1);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), probe->result.time + NSEC_PER_SEC);
}

/* The model: what each operation still needs of each of its keys. */
#define MODEL_OPS	100
#define MODEL_KEYS	20
#define MODEL_WATCHES	6

struct model_op {
	struct probe	*probe;
	bool		pending;
	u64		deadline;
	u32		unsatisfied;
	u32		nr;
	u64		key[MODEL_WATCHES];
	u32		need[MODEL_WATCHES];
};

static void model_ended(struct kunit *test, struct model_op *m, enum twheel_reason reason,
			u64 value)
{
	KUNIT_ASSERT_EQ(test, m->probe->ended, 1);
	expect_ended(test, m->probe, reason, value);
	m->pending = false;
}

static void model_add(struct kunit *test, struct model_op *m, struct rnd_state *random)
{
	struct twheel_op_args args;
	static struct keys keys;
	u32 condition, quorum, i, j;

	m->probe = probe_new(test);
	keys = keys_from(0, random_below(random, MODEL_WATCHES + 1));
	m->nr = 0;
	for (i = 0; i < keys.nr; i++) {
		keys.spec[i].key.v[1] = random_below(random, MODEL_KEYS);
		keys.spec[i].need = random_below(random, 3);
		for (j = 0; j < m->nr && m->key[j] != keys.spec[i].key.v[1]; j++)
			;
		if (j < m->nr)
			continue;
		m->key[m->nr] = keys.spec[i].key.v[1];
		m->need[m->nr++] = keys.spec[i].need ?: 1;
	}
	condition = keys.nr ? 1 + random_below(random, 3) : TWHEEL_COND_NONE;
	quorum = condition == TWHEEL_COND_QUORUM ? 1 + random_below(random, m->nr) : 0;
	m->unsatisfied = condition == TWHEEL_COND_ALL ? m->nr : quorum ?: 1;
	m->deadline = random_below(random, 4) ? twheel_deadline(random_magnitude(random, 32)) :
						TWHEEL_NEVER;
	args = (struct twheel_op_args){
		.deadline = m->deadline, .condition = condition, .quorum = quorum,
		.nr_keys = keys.nr, .specs = keys.spec, .watches = m->probe->watch,
	};
	KUNIT_ASSERT_EQ(test, twheel_op_add(purgatory, &m->probe->op, &args, GFP_KERNEL), 0);
	m->pending = true;
}

static void model_signal(struct kunit *test, struct model_op *ops, u64 key, u64 value)
{
	u32 i, j, told = 0, completed = signal(key, value);

	for (i = 0; i < MODEL_OPS; i++) {
		for (j = 0; ops[i].pending && j < ops[i].nr; j++) {
			if (ops[i].key[j] != key || !ops[i].need[j] || --ops[i].need[j])
				continue;
			if (--ops[i].unsatisfied)
				continue;
			model_ended(test, &ops[i], TWHEEL_COMPLETED, value);
			told++;
		}
	}
	KUNIT_ASSERT_EQ(test, completed, told);
}

/* Let time pass, and look at who has expired by now and who has not. */
static void model_sleep(struct kunit *test, struct model_op *ops, u64 ns)
{
	u64 surely, maybe;
	u32 i;

	vtime_sleep(ns);
	maybe = ktime_get_ns();
	surely = maybe - twheel_tick_ns(wheel) - VTIME_SLOP_NS;
	for (i = 0; i < MODEL_OPS; i++) {
		if (!ops[i].pending)
			continue;
		if (ops[i].deadline < surely || ops[i].probe->ended) {
			KUNIT_ASSERT_LE(test, ops[i].deadline, maybe);
			model_ended(test, &ops[i], TWHEEL_EXPIRED, 0);
		}
	}
}

static void model_counts(struct kunit *test, const struct model_op *ops)
{
	u64 pending = 0, watches = 0, keys = 0;
	bool watched[MODEL_KEYS] = {};
	u32 i, j;

	for (i = 0; i < MODEL_OPS; i++) {
		pending += ops[i].pending;
		for (j = 0; ops[i].pending && j < ops[i].nr; j++) {
			watches++;
			keys += !watched[ops[i].key[j]];
			watched[ops[i].key[j]] = true;
		}
	}
	expect_counts(test, pending, keys, watches);
}

static void model_step(struct kunit *test, struct model_op *ops, struct rnd_state *random)
{
	struct model_op *m = &ops[random_below(random, MODEL_OPS)];

	switch (random_below(random, 6)) {
	case 0:
		model_signal(test, ops, random_below(random, MODEL_KEYS),
			     prandom_u32_state(random));
		break;
	case 1:
		if (m->pending) {
			KUNIT_ASSERT_EQ(test, twheel_op_cancel(&m->probe->op), 0);
			model_ended(test, m, TWHEEL_CANCELLED, 0);
		}
		break;
	case 2:
		if (m->pending) {
			KUNIT_ASSERT_EQ(test, twheel_op_complete(&m->probe->op, 5), 0);
			model_ended(test, m, TWHEEL_COMPLETED, 5);
		}
		break;
	default:
		if (!m->pending)
			model_add(test, m, random);
	}
	/* Expiry must not come between a step and the look at it. */
	model_sleep(test, ops, random_below(random, 2 * NSEC_PER_MSEC) + VTIME_SLOP_NS);
	model_counts(test, ops);
}

static void it_does_as_the_model(struct kunit *test)
{
	struct rnd_state random;
	struct model_op *ops;
	u32 i;

	random_start(test, &random);
	ops = kunit_kcalloc(test, MODEL_OPS, sizeof(*ops), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ops);
	for (i = 0; i < 3000; i++)
		model_step(test, ops, &random);
	for (i = 0; i < MODEL_OPS; i++)
		if (ops[i].pending)
			KUNIT_EXPECT_EQ(test, twheel_op_cancel(&ops[i].probe->op), 0);
}

static struct kunit_case purgatory_cases[] = {
	KUNIT_CASE(it_expires_at_its_deadline),
	KUNIT_CASE(any_key_completes_it),
	KUNIT_CASE(all_keys_complete_it),
	KUNIT_CASE(a_quorum_completes_it),
	KUNIT_CASE(a_key_is_satisfied_by_as_many_signals_as_it_needs),
	KUNIT_CASE(a_key_given_twice_counts_once),
	KUNIT_CASE(a_signal_is_not_remembered),
	KUNIT_CASE(a_signal_tells_every_watcher_in_order),
	KUNIT_CASE(complete_and_cancel_tell_who_won),
	KUNIT_CASE(cancel_sync_waits_for_the_callback),
	KUNIT_CASE(it_is_released_once),
	KUNIT_CASE(a_callback_may_drop_the_last_reference),
	KUNIT_CASE(a_callback_may_add_and_signal),
	KUNIT_CASE(a_signal_ends_with_those_who_were_there),
	KUNIT_CASE(further_keys_are_watched),
	KUNIT_CASE(watching_further_keys_is_all_or_nothing),
	KUNIT_CASE(bad_arguments_leave_nothing),
	KUNIT_CASE(bad_limits_make_no_purgatory),
	KUNIT_CASE(a_full_purgatory_refuses_until_one_ends),
	KUNIT_CASE(drain_hands_back_what_waits),
	KUNIT_CASE(drain_waits_for_callbacks),
	KUNIT_CASE(it_does_as_the_model),
	{}
};

static struct kunit_suite purgatory_suite = {
	.name		= "twheel_purgatory",
	.init		= purgatory_init,
	.exit		= purgatory_exit,
	.test_cases	= purgatory_cases,
};

kunit_test_suite(purgatory_suite);
