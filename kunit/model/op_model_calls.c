// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of the property test: each is made on the module and on the
 * model, and must return the same. See op_model.h.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../op/op_probe.h"
#include "../random.h"
#include "op_model.h"

static int pending_error(const struct op_model_op *m)
{
	switch (m->life) {
	case OP_MODEL_NEW:
		return -ENOENT;
	case OP_MODEL_PENDING:
		return 0;
	default:
		return -EALREADY;
	}
}

/* Key 0 is used more often than the others. */
static struct twheel_key random_key(struct op_model *model)
{
	u32 number = random_below(&model->random, OP_MODEL_KEYS + 2);

	return (struct twheel_key){ .v = { 0, number < OP_MODEL_KEYS ? number : 0 } };
}

static u64 random_amount(struct op_model *model)
{
	if (random_below(&model->random, 16))
		return random_below(&model->random, 8);
	return random_magnitude(&model->random, 64);
}

static u64 random_deadline(struct op_model *model)
{
	u64 now = ktime_get_ns();

	switch (random_below(&model->random, 8)) {
	case 0:
		return TWHEEL_NEVER;
	case 1:
		return KTIME_MAX + 1ULL + random_magnitude(&model->random, 32);
	case 2:
		return now - min(now, random_magnitude(&model->random, 24));
	case 3:
		return now + random_magnitude(&model->random, 32);
	default:
		return now + random_within(&model->random, 2 * NSEC_PER_SEC);
	}
}

static void arm(struct op_model_op *m, u64 deadline)
{
	m->deadline = deadline > KTIME_MAX ? TWHEEL_NEVER : deadline;
	m->armed_at = ktime_get_ns();
}

/* Usually different keys. */
static void random_specs(struct op_model *model, struct twheel_watch_spec *specs, u32 nr,
			 u32 most)
{
	bool any = !random_below(&model->random, 16);
	u32 i = 0;

	while (i < nr) {
		specs[i] = (struct twheel_watch_spec) {
			.key = random_key(model), .need = random_below(&model->random, most + 1),
		};
		i += any || !op_model_has_equal(specs, i + 1);
	}
}

static enum twheel_condition random_condition(struct op_model *model)
{
	static const enum twheel_condition conditions[] = {
		TWHEEL_COND_NONE, TWHEEL_COND_ANY, TWHEEL_COND_ALL, TWHEEL_COND_QUORUM,
		TWHEEL_COND_SUM, TWHEEL_COND_PREDICATE, TWHEEL_COND_PREDICATE,
	};

	return conditions[random_below(&model->random, ARRAY_SIZE(conditions))];
}

static u32 random_nr_keys(struct op_model *model, enum twheel_condition condition)
{
	if (condition == TWHEEL_COND_NONE)
		return 0;
	if (condition == TWHEEL_COND_PREDICATE)
		return random_below(&model->random, OP_MODEL_SPECS + 1);
	return random_within(&model->random, OP_MODEL_SPECS);
}

static void add_with(struct op_model *model, struct op_model_op *m, u32 nr_keys)
{
	struct twheel_watch_spec specs[OP_MODEL_SPECS];
	struct twheel_op_args args = {
		.deadline = random_deadline(model), .condition = m->condition,
		.nr_keys = nr_keys, .specs = specs, .watches = m->watches,
	};
	int err, ret;

	random_specs(model, specs, nr_keys, op_model_counts_signals(m->condition) ? 2 : 1);
	err = op_model_has_equal(specs, nr_keys) ? -EINVAL : op_model_admit(model, 1, nr_keys);
	m->nr_used = nr_keys;
	op_model_watch(model, m, specs, nr_keys);
	if (m->condition == TWHEEL_COND_QUORUM)
		m->quorum = random_within(&model->random, m->nr_watches);
	if (m->condition == TWHEEL_COND_SUM)
		m->threshold = random_amount(model) ?: U64_MAX;
	m->holds = !random_below(&model->random, 8);
	m->holds_value = prandom_u32_state(&model->random);
	args.quorum = m->quorum;
	args.threshold = m->threshold;

	ret = twheel_op_add(probe_purgatory, &m->op, &args);
	if (err) {
		OP_MODEL_EQ(model, ret, err);
		op_model_clear(m);
		return;
	}
	arm(m, args.deadline);
	m->life = OP_MODEL_PENDING;
	model->stats.added++;
	OP_MODEL_EQ(model, ret, op_model_evaluate(model, m));
}

static void call_add(struct op_model *model, struct op_model_op *m)
{
	/* Adding a pending operation is not allowed. */
	if (m->life == OP_MODEL_PENDING)
		return;
	if (m->life == OP_MODEL_ENDED) {
		op_model_finish(model, m);
		op_model_begin(model, m);
	}
	m->condition = random_condition(model);
	add_with(model, m, random_nr_keys(model, m->condition));
}

static void call_complete(struct op_model *model, struct op_model_op *m)
{
	u64 value = prandom_u32_state(&model->random);
	int err = pending_error(m);

	OP_MODEL_EQ(model, twheel_op_complete(&m->op, value), err);
	if (!err)
		op_model_end(model, m, TWHEEL_REASON_COMPLETED, 0, value);
}

static void call_complete_error(struct op_model *model, struct op_model_op *m)
{
	static const int errors[] = { 1, 0, -1, -EIO, -MAX_ERRNO, -MAX_ERRNO - 1 };
	int error = errors[random_below(&model->random, ARRAY_SIZE(errors))];
	bool bad = error >= 0 || error < -MAX_ERRNO;
	int err = bad ? -EINVAL : pending_error(m);

	OP_MODEL_EQ(model, twheel_op_complete_error(&m->op, error), err);
	if (!err)
		op_model_end(model, m, TWHEEL_REASON_COMPLETED, error, 0);
}

static void call_cancel(struct op_model *model, struct op_model_op *m)
{
	int err = pending_error(m);

	if (random_below(&model->random, 2))
		OP_MODEL_EQ(model, twheel_op_cancel(&m->op), err);
	else
		OP_MODEL_EQ(model, twheel_op_cancel_sync(&m->op), err);
	if (!err)
		op_model_end(model, m, TWHEEL_REASON_CANCELLED, 0, 0);
}

static void call_expire(struct op_model *model, struct op_model_op *m)
{
	int err = pending_error(m);

	OP_MODEL_EQ(model, twheel_op_expire(&m->op), err);
	if (!err)
		op_model_end(model, m, TWHEEL_REASON_EXPIRED, 0, 0);
}

static void call_try_complete(struct op_model *model, struct op_model_op *m)
{
	int ret = twheel_op_try_complete(&m->op);

	OP_MODEL_EQ(model, ret, pending_error(m) ?: op_model_evaluate(model, m));
}

/* Change the condition without notification. */
static void call_change(struct op_model *model, struct op_model_op *m)
{
	m->holds = !m->holds;
	m->holds_value = prandom_u32_state(&model->random);
}

static bool is_moved(u64 from, u64 to, enum twheel_rearm mode)
{
	if (mode == TWHEEL_REARM_IF_EARLIER)
		return to < from;
	if (mode == TWHEEL_REARM_IF_LATER)
		return to > from;
	return true;
}

static void call_rearm(struct op_model *model, struct op_model_op *m)
{
	u64 deadline = random_deadline(model), to = deadline > KTIME_MAX ? TWHEEL_NEVER : deadline;
	enum twheel_rearm mode = random_rearm(&model->random);
	int ret = twheel_op_rearm(&m->op, deadline, mode);

	OP_MODEL_EQ(model, ret, pending_error(m) ?: is_moved(m->deadline, to, mode));
	if (ret > 0)
		arm(m, deadline);
}

/* The expected error of a watch call, if any. */
static int watch_error(struct op_model *model, struct op_model_op *m,
		       const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i;

	if (m->life != OP_MODEL_PENDING)
		return pending_error(m);
	if (m->condition == TWHEEL_COND_NONE || !nr_keys)
		return -EINVAL;
	if (op_model_has_equal(specs, nr_keys))
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].need > 1 && !op_model_counts_signals(m->condition))
			return -EINVAL;
	return op_model_admit(model, 0, op_model_nr_new(m, specs, nr_keys));
}

static void call_watch(struct op_model *model, struct op_model_op *m)
{
	u32 nr_keys = random_below(&model->random, 5);
	struct twheel_watch_spec specs[5];
	struct twheel_watch *watches = m->watches + m->nr_used;
	int ret, expected;

	if (m->nr_used + nr_keys > OP_MODEL_SLOTS || (!nr_keys && m->life != OP_MODEL_PENDING))
		return;
	random_specs(model, specs, nr_keys, random_below(&model->random, 4) ? 1 : 3);
	ret = twheel_op_watch(&m->op, specs, watches, nr_keys);
	expected = watch_error(model, m, specs, nr_keys) ?:
		   op_model_watch(model, m, specs, nr_keys);
	OP_MODEL_EQ(model, ret, expected);
	if (ret > 0) {
		m->nr_used += nr_keys;
		m->steady = 0;
		op_model_evaluate(model, m);
	} else {
		memset(watches, OP_MODEL_POISON, nr_keys * sizeof(*watches));
	}
}

static void call_unwatch(struct op_model *model, struct op_model_op *m)
{
	struct twheel_key key = random_key(model);
	struct twheel_watch *watch;
	int err = pending_error(m);
	unsigned long i;

	if (m->nr_watches && random_below(&model->random, 4))
		key.v[1] = m->watch[random_below(&model->random, m->nr_watches)].key;
	watch = twheel_op_unwatch(&m->op, &key);
	if (!err)
		err = op_model_unwatch(model, m, key.v[1]);
	OP_MODEL_EQ(model, PTR_ERR_OR_ZERO(watch), err);
	if (err)
		return;

	i = watch - m->watches;
	KUNIT_ASSERT_LT(model->test, i, m->nr_used);
	KUNIT_ASSERT_FALSE(model->test, m->returned & BIT(i));
	m->returned |= BIT(i);
	m->steady = 0;
	memset(watch, OP_MODEL_POISON, sizeof(*watch));
}

/* Up to more than one chunk of watches, mostly few. */
static u32 random_limit(struct op_model *model)
{
	return random_below(&model->random, random_below(&model->random, 2) ? 4 : 50);
}

static void call_signal(struct op_model *model, struct op_model_op *m)
{
	u64 amount = random_amount(model), value = prandom_u32_state(&model->random);
	struct twheel_key key = random_key(model);
	u32 nr, limit = U32_MAX;

	switch (random_below(&model->random, 3)) {
	case 0:
		nr = twheel_signal(probe_purgatory, &key, amount, value);
		break;
	case 1:
		nr = twheel_signal_some(probe_purgatory, &key, amount, value,
					0, TWHEEL_MAY_SLEEP);
		break;
	default:
		limit = random_limit(model);
		nr = twheel_signal_some(probe_purgatory, &key, amount, value, limit, 0);
	}
	OP_MODEL_EQ(model, nr, op_model_signal(model, key.v[1], amount ?: 1, value,
					       limit ?: U32_MAX));
}

static void call_check(struct op_model *model, struct op_model_op *m)
{
	struct twheel_key key = random_key(model);
	u32 limit = random_limit(model), nr;

	if (random_below(&model->random, 2))
		nr = twheel_check_and_complete(probe_purgatory, &key, limit, 0);
	else
		nr = twheel_check_and_complete(probe_purgatory, &key, limit, TWHEEL_MAY_SLEEP);
	OP_MODEL_EQ(model, nr, op_model_check(model, key.v[1], limit ?: U32_MAX));
}

/* Called for each operation after its callback, in the same order. */
static void hand_back(struct twheel_op *op, void *data)
{
	struct op_model_op *m = container_of(op, struct op_model_op, op);
	u32 *nr = data;

	*nr += m->calls == 1 && m->order == m->model->calls;
}

static void call_cancel_key(struct op_model *model, struct op_model_op *m)
{
	struct twheel_key key = random_key(model);
	u32 nr, handed = 0;

	if (random_below(&model->random, 2)) {
		nr = twheel_cancel_for_key(probe_purgatory, &key, hand_back, &handed, 0);
		OP_MODEL_EQ(model, handed, nr);
	} else {
		nr = twheel_cancel_for_key(probe_purgatory, &key, NULL, NULL, TWHEEL_MAY_SLEEP);
	}
	OP_MODEL_EQ(model, nr, op_model_cancel_key(model, key.v[1]));
}

static void call_complete_all(struct op_model *model, struct op_model_op *m)
{
	int error = random_below(&model->random, 2) ? -EIO : 0;
	u64 value = prandom_u32_state(&model->random);
	u32 nr = twheel_complete_all(probe_purgatory, error, value, 0), pending = 0, i;

	model->any_order = true;
	for (i = 0; i < OP_MODEL_OPS; i++) {
		if (model->op[i].life != OP_MODEL_PENDING)
			continue;
		op_model_end(model, &model->op[i], TWHEEL_REASON_COMPLETED, error, value);
		pending++;
	}
	model->any_order = false;
	OP_MODEL_EQ(model, nr, pending);
}

static const struct {
	const char	*name;
	void		(*call)(struct op_model *model, struct op_model_op *m);
	unsigned int	weight;
} calls[] = {
	{ "add", call_add, 240 },
	{ "complete", call_complete, 12 },
	{ "complete_error", call_complete_error, 12 },
	{ "cancel", call_cancel, 12 },
	{ "expire", call_expire, 12 },
	{ "try_complete", call_try_complete, 40 },
	{ "change", call_change, 80 },
	{ "rearm", call_rearm, 80 },
	{ "watch", call_watch, 80 },
	{ "unwatch", call_unwatch, 80 },
	{ "signal", call_signal, 100 },
	{ "check", call_check, 80 },
	{ "cancel_for_key", call_cancel_key, 5 },
	{ "complete_all", call_complete_all, 1 },
};

void op_model_start(struct op_model *model)
{
	unsigned int i;

	for (i = 0; i < OP_MODEL_OPS; i++)
		op_model_begin(model, &model->op[i]);
}

void op_model_step(struct op_model *model)
{
	unsigned int i, weight = 0;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		weight += calls[i].weight;
	weight = random_below(&model->random, weight);
	for (i = 0; weight >= calls[i].weight; i++)
		weight -= calls[i].weight;
	model->choice = random_below(&model->random, OP_MODEL_OPS);
	/* Prefer calls on pending operations. */
	if (model->op[model->choice].life != OP_MODEL_PENDING && random_below(&model->random, 4))
		i = 0;
	model->step++;
	model->call_name = calls[i].name;
	calls[i].call(model, &model->op[model->choice]);
}

/* Drain the purgatory, which cancels all pending operations and refuses others. */
void op_model_stop(struct op_model *model)
{
	const struct twheel_op_args args = { .deadline = TWHEEL_NEVER };
	u32 nr, pending = 0, i;

	for (i = 0; i < OP_MODEL_WALKS; i++)
		if (model->walk[i].active)
			op_model_walk_end(&model->walk[i]);
	model->call_name = "drain";
	nr = twheel_purgatory_drain(probe_purgatory);
	model->any_order = true;
	for (i = 0; i < OP_MODEL_OPS; i++) {
		if (model->op[i].life != OP_MODEL_PENDING)
			continue;
		op_model_end(model, &model->op[i], TWHEEL_REASON_CANCELLED, 0, 0);
		pending++;
	}
	OP_MODEL_EQ(model, nr, pending);
	for (i = 0; i < OP_MODEL_OPS; i++)
		op_model_finish(model, &model->op[i]);
	op_model_begin(model, &model->op[0]);
	OP_MODEL_EQ(model, twheel_op_add(probe_purgatory, &model->op[0].op, &args), -ESHUTDOWN);
	OP_MODEL_EQ(model, model->op[0].calls, 0);
}
