// SPDX-License-Identifier: GPL-2.0
/*
 * What can be seen of a purgatory, held against the model: how operations have
 * ended, how far the others have come, which wait, and all counts. See op_model.h.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "../op/op_probe.h"
#include "../stats.h"
#include "op_model.h"

static void look_ended(struct op_model *model, const struct op_model_op *m)
{
	OP_MODEL_EQ(model, m->calls, m->life == OP_MODEL_ENDED);
	OP_MODEL_EQ(model, m->releases, 0);
	if (m->life != OP_MODEL_ENDED)
		return;
	OP_MODEL_EQ(model, m->result.reason, m->end.reason);
	OP_MODEL_EQ(model, m->result.error, m->end.error);
	OP_MODEL_EQ(model, m->result.value, m->end.value);
	OP_MODEL_EQ(model, m->result.deadline, m->end.deadline);
	if (m->end_order)
		OP_MODEL_EQ(model, m->order, m->end_order);
	KUNIT_ASSERT_GE(model->test, m->result.time, m->end.time);
	KUNIT_ASSERT_LE(model->test, m->result.time, m->latest);
}

static u64 until(u64 deadline, u64 now)
{
	return deadline == TWHEEL_NEVER ? TWHEEL_NEVER : deadline - min(now, deadline);
}

static void look_keys(struct op_model *model, struct op_model_op *m,
		      const struct twheel_watch_spec *keys, u32 nr)
{
	struct op_model_watch *watch;
	bool seen[OP_MODEL_KEYS] = {};
	u32 i;

	for (i = 0; i < nr; i++) {
		watch = op_model_watch_of(m, keys[i].key.v[1]);
		KUNIT_ASSERT_NOT_NULL(model->test, watch);
		OP_MODEL_EQ(model, keys[i].need, watch->need);
		OP_MODEL_EQ(model, seen[watch->key], false);
		seen[watch->key] = true;
	}
}

static void look_progress(struct op_model *model, struct op_model_op *m)
{
	/* At times there is room for one only. */
	u32 room = model->step % 4 ? OP_MODEL_KEYS : 1;
	struct twheel_watch_spec keys[OP_MODEL_KEYS];
	struct twheel_op_progress progress;
	u64 now = ktime_get_ns();
	int ret;

	ret = twheel_op_progress(&m->op, &progress, keys, room);
	if (m->life != OP_MODEL_WAITING) {
		OP_MODEL_EQ(model, ret, m->life == OP_MODEL_NEW ? -ENOENT : -EALREADY);
		return;
	}
	OP_MODEL_EQ(model, ret, 0);
	OP_MODEL_EQ(model, progress.deadline, m->deadline);
	KUNIT_ASSERT_LE(model->test, progress.remaining, until(m->deadline, now));
	KUNIT_ASSERT_GE(model->test, progress.remaining, until(m->deadline, ktime_get_ns()));
	OP_MODEL_EQ(model, progress.condition, m->condition);
	OP_MODEL_EQ(model, progress.missing, op_model_missing(m));
	OP_MODEL_EQ(model, progress.nr_keys, m->nr_watches);
	look_keys(model, m, keys, min(room, m->nr_watches));
}

/* Exactly those that wait are met, each of them once. */
static void look_around(struct op_model *model)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;
	u32 i;

	for (i = 0; i < OP_MODEL_OPS; i++)
		model->op[i].met = 0;
	twheel_op_iter_start(&iter, probe_purgatory);
	while ((op = twheel_op_iter_next(&iter)))
		container_of(op, struct op_model_op, op)->met++;
	twheel_op_iter_end(&iter);
	for (i = 0; i < OP_MODEL_OPS; i++)
		OP_MODEL_EQ(model, model->op[i].met, model->op[i].life == OP_MODEL_WAITING);
}

/* Counted anew, but for what has been. */
static void look_counts(struct op_model *model)
{
	struct twheel_purgatory_stats stats, *expected = &model->stats;
	bool watched[OP_MODEL_KEYS] = {};
	u64 armed = 0;
	u32 i, j;

	expected->pending = 0;
	expected->watches = 0;
	expected->keys = 0;
	for (i = 0; i < OP_MODEL_OPS; i++) {
		struct op_model_op *m = &model->op[i];

		expected->pending += m->life == OP_MODEL_WAITING;
		armed += m->life == OP_MODEL_WAITING && m->deadline != TWHEEL_NEVER;
		for (j = 0; j < m->nr_watches; j++) {
			expected->watches++;
			expected->keys += !watched[m->watch[j].key];
			watched[m->watch[j].key] = true;
		}
	}
	twheel_purgatory_stats(probe_purgatory, &stats);
	OP_MODEL_EQ(model, stats.pending, expected->pending);
	OP_MODEL_EQ(model, stats.keys, expected->keys);
	OP_MODEL_EQ(model, stats.watches, expected->watches);
	OP_MODEL_EQ(model, stats.added, expected->added);
	OP_MODEL_EQ(model, stats.rejected, expected->rejected);
	for (i = 0; i < ARRAY_SIZE(stats.ended); i++)
		OP_MODEL_EQ(model, stats.ended[i], expected->ended[i]);
	OP_MODEL_EQ(model, stats_of(probe_wheel).pending, armed);
}

void op_model_look(struct op_model *model)
{
	u32 i;

	for (i = 0; i < OP_MODEL_OPS; i++) {
		look_ended(model, &model->op[i]);
		look_progress(model, &model->op[i]);
	}
	look_around(model);
	look_counts(model);
}
