// SPDX-License-Identifier: GPL-2.0
/*
 * The model of a purgatory: an array of operations, each with an array of what it
 * watches. Everything is looked up and counted anew each time. See op_model.h.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "../op/op_probe.h"
#include "../vtime.h"
#include "op_model.h"

static u32 nr_satisfied(const struct op_model_op *m)
{
	u32 i, nr = 0;

	for (i = 0; i < m->nr_watches; i++)
		nr += !m->watch[i].need;
	return nr;
}

/* What progress tells: keys, or an amount. */
u64 op_model_missing(const struct op_model_op *m)
{
	switch ((unsigned int)m->condition) {
	case TWHEEL_COND_ANY:
		return !nr_satisfied(m);
	case TWHEEL_COND_ALL:
		return m->nr_watches - nr_satisfied(m);
	case TWHEEL_COND_QUORUM:
		return m->quorum - min(m->quorum, nr_satisfied(m));
	case TWHEEL_COND_SUM:
		return m->threshold - min(m->threshold, m->amount);
	default:
		return 0;
	}
}

struct op_model_watch *op_model_watch_of(struct op_model_op *m, u64 key)
{
	u32 i;

	for (i = 0; i < m->nr_watches; i++)
		if (m->watch[i].key == key)
			return &m->watch[i];
	return NULL;
}

/* How many of some keys are others than those that are watched. */
u32 op_model_nr_new(struct op_model_op *m, const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, j, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		for (j = 0; j < i && specs[j].key.v[1] != specs[i].key.v[1]; j++)
			;
		nr += j == i && !op_model_watch_of(m, specs[i].key.v[1]);
	}
	return nr;
}

/* Whether there is room for so many more; 0, or -ENOSPC. */
int op_model_admit(struct op_model *model, u32 nr_ops, u32 nr_watches)
{
	u64 pending = nr_ops, watches = nr_watches;
	const struct op_model_op *m;

	for (m = model->op; m < model->op + OP_MODEL_OPS; m++) {
		pending += m->life == OP_MODEL_WAITING;
		watches += m->nr_watches;
	}
	if (pending <= model->max_pending &&
	    (!nr_watches || !model->max_watches || watches <= model->max_watches))
		return 0;
	model->stats.rejected++;
	return -ENOSPC;
}

void op_model_end(struct op_model *model, struct op_model_op *m, enum twheel_reason reason,
		  int error, u64 value)
{
	u64 now = ktime_get_ns();

	m->life = OP_MODEL_ENDED;
	m->end = (struct twheel_op_result) {
		.reason		= reason,
		.error		= error,
		.value		= error ? 0 : value,
		.deadline	= m->deadline,
		.time		= now - min_t(u64, now, VTIME_SLOP_NS),
	};
	m->latest = now;
	m->end_order = ++model->nr_ended;
	if (model->any_order)
		m->end_order = 0;
	m->nr_watches = 0;
	model->stats.ended[reason]++;
}

/* Have its predicate evaluated, if it has one; whether that ends it. */
bool op_model_ask(struct op_model *model, struct op_model_op *m)
{
	if (m->condition != TWHEEL_COND_PREDICATE || !m->holds)
		return false;
	op_model_end(model, m, TWHEEL_COMPLETED, 0, m->holds_value);
	return true;
}

/* Watch those of some keys that are not watched, with what the first says of each. */
u32 op_model_watch(struct op_model *model, struct op_model_op *m,
		   const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		if (op_model_watch_of(m, specs[i].key.v[1]))
			continue;
		m->watch[m->nr_watches++] = (struct op_model_watch) {
			.key	= specs[i].key.v[1],
			.turn	= ++model->turns,
			.need	= specs[i].need ?: 1,
		};
		nr++;
	}
	return nr;
}

/* Whether a condition could still hold with one key less. */
static bool can_do_without(const struct op_model_op *m)
{
	if (m->condition == TWHEEL_COND_PREDICATE)
		return true;
	return m->nr_watches > max(m->quorum, 1U);
}

int op_model_unwatch(struct op_model *model, struct op_model_op *m, u64 key)
{
	struct op_model_watch *watch = op_model_watch_of(m, key);

	if (m->condition == TWHEEL_COND_NONE)
		return -EINVAL;
	if (!watch)
		return -ESRCH;
	if (!can_do_without(m))
		return -EINVAL;
	*watch = m->watch[--m->nr_watches];
	if (m->condition == TWHEEL_COND_ALL && !op_model_missing(m))
		op_model_end(model, m, TWHEEL_COMPLETED, 0, 0);
	return 0;
}

/* Who watches a key and came next after @turn, but not after @last. */
static struct op_model_op *next_watcher(struct op_model *model, u64 key, u64 *turn, u64 last)
{
	struct op_model_op *m, *next = NULL;
	struct op_model_watch *watch;
	u64 first = last + 1;

	for (m = model->op; m < model->op + OP_MODEL_OPS; m++) {
		if (m->life != OP_MODEL_WAITING)
			continue;
		watch = op_model_watch_of(m, key);
		if (watch && watch->turn > *turn && watch->turn < first) {
			next = m;
			first = watch->turn;
		}
	}
	*turn = first;
	return next;
}

/* Count a signal; whether that ends it. */
static bool op_model_count(struct op_model *model, struct op_model_op *m, u64 key, u64 amount,
			   u64 value)
{
	struct op_model_watch *watch = op_model_watch_of(m, key);

	if (m->condition == TWHEEL_COND_PREDICATE)
		return op_model_ask(model, m);
	if (m->condition == TWHEEL_COND_SUM)
		m->amount += min(amount, U64_MAX - m->amount);
	else if (watch->need)
		watch->need--;
	if (op_model_missing(m))
		return false;
	op_model_end(model, m, TWHEEL_COMPLETED, 0, value);
	return true;
}

u32 op_model_signal(struct op_model *model, u64 key, u64 amount, u64 value, u32 limit)
{
	u64 turn = 0, last = model->turns;
	struct op_model_op *m;
	u32 nr = 0;

	while (nr < limit && (m = next_watcher(model, key, &turn, last)))
		nr += op_model_count(model, m, key, amount, value);
	return nr;
}

u32 op_model_check(struct op_model *model, u64 key, u32 limit)
{
	u64 turn = 0, last = model->turns;
	struct op_model_op *m;
	u32 nr = 0;

	while (nr < limit && (m = next_watcher(model, key, &turn, last)))
		nr += op_model_ask(model, m);
	return nr;
}

u32 op_model_cancel_key(struct op_model *model, u64 key)
{
	u64 turn = 0, last = model->turns;
	struct op_model_op *m;
	u32 nr = 0;

	while ((m = next_watcher(model, key, &turn, last))) {
		op_model_end(model, m, TWHEEL_CANCELLED, 0, 0);
		nr++;
	}
	return nr;
}

static void op_model_expire(struct op_model *model, struct op_model_op *m, u64 tick)
{
	u64 due = max(m->deadline, m->armed_at);

	op_model_end(model, m, TWHEEL_EXPIRED, 0, 0);
	m->end.time = due - min_t(u64, due - m->deadline, VTIME_SLOP_NS);
	m->latest = due + tick + VTIME_SLOP_NS;
	m->end_order = 0;
}

/*
 * Let time pass, and for as long that it is well within a tick then. Nothing is due
 * before the next, so that what has expired by then is known to the operation, and
 * nothing does in the step that follows.
 */
void op_model_sleep(struct op_model *model, u64 ns)
{
	u64 tick = twheel_tick_ns(probe_wheel), when = ktime_get_ns() + ns, now, rest;
	struct op_model_op *m;

	div64_u64_rem(when, tick, &rest);
	if (rest > tick / 2)
		rest -= tick;
	if ((s64)rest < (s64)(tick / 4))
		when += tick / 4 - rest;
	vtime_sleep_until(when);

	now = ktime_get_ns();
	div64_u64_rem(now, tick, &rest);
	KUNIT_ASSERT_LT(model->test, rest, tick / 2 + VTIME_SLOP_NS);
	for (m = model->op; m < model->op + OP_MODEL_OPS; m++)
		if (m->life == OP_MODEL_WAITING && m->deadline <= now - rest)
			op_model_expire(model, m, tick);
}
