// SPDX-License-Identifier: GPL-2.0
/*
 * Property test of layer 5: random operations, signals and sleeps, held
 * against a model that keeps for each operation what it still needs.
 */
#include <linux/slab.h>
#include <linux/time64.h>

#include "op_probe.h"
#include "random.h"
#include "vtime.h"

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
	struct probe_keys *keys;
	u32 condition, quorum, i, j;

	m->probe = probe_new(test);
	keys = probe_keys_new(test, 0, random_below(random, MODEL_WATCHES + 1));
	m->nr = 0;
	for (i = 0; i < keys->nr; i++) {
		keys->spec[i].key.v[1] = random_below(random, MODEL_KEYS);
		keys->spec[i].need = random_below(random, 3);
		for (j = 0; j < m->nr && m->key[j] != keys->spec[i].key.v[1]; j++)
			;
		if (j < m->nr)
			continue;
		m->key[m->nr] = keys->spec[i].key.v[1];
		m->need[m->nr++] = keys->spec[i].need ?: 1;
	}
	condition = keys->nr ? 1 + random_below(random, 3) : TWHEEL_COND_NONE;
	quorum = condition == TWHEEL_COND_QUORUM ? 1 + random_below(random, m->nr) : 0;
	m->unsatisfied = condition == TWHEEL_COND_ALL ? m->nr : quorum ?: 1;
	m->deadline = random_below(random, 4) ? twheel_deadline(random_magnitude(random, 32)) :
						TWHEEL_NEVER;
	args = (struct twheel_op_args){
		.deadline = m->deadline, .condition = condition, .quorum = quorum,
		.nr_keys = keys->nr, .specs = keys->spec, .watches = m->probe->watch,
	};
	KUNIT_ASSERT_EQ(test, twheel_op_add(probe_purgatory, &m->probe->op, &args, GFP_KERNEL), 0);
	m->pending = true;
}

static void model_signal(struct kunit *test, struct model_op *ops, u64 key, u64 value)
{
	u32 i, j, told = 0, completed = probe_signal(key, value);

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
	surely = maybe - twheel_tick_ns(probe_wheel) - VTIME_SLOP_NS;
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

static struct kunit_case model_cases[] = {
	KUNIT_CASE(it_does_as_the_model),
	{}
};

static struct kunit_suite model_suite = {
	.name		= "twheel_purgatory_model",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= model_cases,
};

kunit_test_suite(model_suite);
