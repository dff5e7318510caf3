// SPDX-License-Identifier: GPL-2.0
/*
 * The model of a purgatory: an array of operations, each with an array of watches, and their
 * callbacks. All lookups and counts are done by linear search. See op_model.h.
 */
#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../op/op_probe.h"
#include "../vtime.h"
#include "condition.h"
#include "op_model.h"

static bool model_try_complete(struct twheel_op *op, u64 *value)
{
	struct op_model_op *m = container_of(op, struct op_model_op, op);

	/* The value must be ignored if the predicate is false. */
	*value = m->holds_value;
	return m->holds;
}

static void model_ended(struct twheel_op *op)
{
	struct op_model_op *m = container_of(op, struct op_model_op, op);

	m->calls++;
	m->order = ++m->model->calls;
	twheel_op_get_result(op, &m->result);
}

static void model_release(struct twheel_op *op)
{
	container_of(op, struct op_model_op, op)->releases++;
}

static const struct twheel_op_ops model_ops = {
	.try_complete	= model_try_complete,
	.ended		= model_ended,
	.release	= model_release,
};

/* Reset the watches and poison their memory. */
void op_model_clear(struct op_model_op *m)
{
	memset(m->watches, OP_MODEL_POISON, sizeof(m->watches));
	m->nr_used = 0;
	m->nr_watches = 0;
	m->quorum = 0;
	m->threshold = 0;
}

void op_model_begin(struct op_model *model, struct op_model_op *m)
{
	memset(m, 0, sizeof(*m));
	op_model_clear(m);
	m->model = model;
	twheel_op_init(&m->op, &model_ops);
}

/* Drop the last reference, and check that unused watches have not been written to. */
void op_model_finish(struct op_model *model, struct op_model_op *m)
{
	struct op_model_walk *walk;
	u32 i;

	OP_MODEL_EQ(model, m->releases, 0);
	twheel_op_put(&m->op);
	for (walk = model->walk; walk < model->walk + OP_MODEL_WALKS; walk++) {
		if (walk->at != m)
			continue;
		OP_MODEL_EQ(model, m->releases, 0);
		op_model_walk_end(walk);
	}
	OP_MODEL_EQ(model, m->releases, 1);
	for (i = 0; i < OP_MODEL_SLOTS; i++) {
		if (i >= m->nr_used || m->returned & BIT(i))
			KUNIT_ASSERT_NULL(model->test, memchr_inv(&m->watches[i], OP_MODEL_POISON,
								  sizeof(m->watches[i])));
	}
}

/* The number of missing keys, or the missing amount. */
u64 op_model_missing(const struct op_model_op *m)
{
	struct condition_state state = {
		.condition	= m->condition,
		.quorum		= m->quorum,
		.threshold	= m->threshold,
		.nr_keys	= m->nr_watches,
		.amount		= m->amount,
	};
	u32 i;

	for (i = 0; i < m->nr_watches; i++)
		state.nr_satisfied += !m->watch[i].need;
	return condition_missing(&state);
}

struct op_model_watch *op_model_watch_of(struct op_model_op *m, u64 key)
{
	u32 i;

	for (i = 0; i < m->nr_watches; i++)
		if (m->watch[i].key == key)
			return &m->watch[i];
	return NULL;
}

/* Returns true if two of the keys are equal. */
bool op_model_has_equal(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, j;

	for (i = 0; i < nr_keys; i++)
		for (j = 0; j < i; j++)
			if (specs[j].key.v[1] == specs[i].key.v[1])
				return true;
	return false;
}

/* Number of keys that the operation does not watch yet. */
u32 op_model_nr_new(struct op_model_op *m, const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++)
		nr += !op_model_watch_of(m, specs[i].key.v[1]);
	return nr;
}

/* Returns 0 if the limits allow more operations and watches, else -ENOSPC. */
int op_model_admit(struct op_model *model, u32 nr_ops, u32 nr_watches)
{
	u64 pending = nr_ops, watches = nr_watches;
	const struct op_model_op *m;

	for (m = model->op; m < model->op + OP_MODEL_OPS; m++) {
		pending += m->life == OP_MODEL_PENDING;
		watches += m->nr_watches;
	}
	if (pending <= model->max_pending &&
	    (!nr_watches || !model->max_watches || watches <= model->max_watches))
		return 0;
	model->stats.rejected++;
	return -ENOSPC;
}

static u64 op_model_satisfied(const struct op_model_op *m)
{
	u64 satisfied = 0;
	u32 i;

	for (i = 0; i < m->nr_watches; i++)
		satisfied |= (u64)!m->watch[i].need << m->watch[i].bit;
	return satisfied;
}

/* The lowest bit that no watch has. */
static u32 op_model_free_bit(const struct op_model_op *m)
{
	u32 bit = 0, i = 0;

	while (i < m->nr_watches) {
		if (m->watch[i++].bit != bit)
			continue;
		bit++;
		i = 0;
	}
	return bit;
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
		.missing	= op_model_missing(m),
		.satisfied	= op_model_satisfied(m),
	};
	m->latest = now;
	m->end_order = ++model->nr_ended;
	if (model->any_order)
		m->end_order = 0;
	m->nr_watches = 0;
	model->stats.ended[reason]++;
}

/* Evaluate the predicate, if there is one. Returns true if the operation completes. */
bool op_model_evaluate(struct op_model *model, struct op_model_op *m)
{
	if (m->condition != TWHEEL_COND_PREDICATE || !m->holds)
		return false;
	op_model_end(model, m, TWHEEL_REASON_COMPLETED, 0, m->holds_value);
	return true;
}

/* Watch keys that are not watched yet. */
u32 op_model_watch(struct op_model *model, struct op_model_op *m,
		   const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		if (op_model_watch_of(m, specs[i].key.v[1]))
			continue;
		m->watch[m->nr_watches] = (struct op_model_watch) {
			.key	= specs[i].key.v[1],
			.serial	= ++model->nr_serials,
			.need	= specs[i].need ?: 1,
			.bit	= op_model_free_bit(m),
		};
		m->nr_watches++;
		nr++;
	}
	return nr;
}

/* Returns true if the condition can still be satisfied with one key less. */
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
	m->nr_watches--;
	memmove(watch, watch + 1, (m->watch + m->nr_watches - watch) * sizeof(*watch));
	if (m->condition == TWHEEL_COND_ALL && !op_model_missing(m))
		op_model_end(model, m, TWHEEL_REASON_COMPLETED, 0, 0);
	return 0;
}

/* The next watcher of a key, in the order of serial numbers after @serial up to @last. */
static struct op_model_op *next_watcher(struct op_model *model, u64 key, u64 *serial, u64 last)
{
	struct op_model_op *m, *next = NULL;
	struct op_model_watch *watch;
	u64 first = last + 1;

	for (m = model->op; m < model->op + OP_MODEL_OPS; m++) {
		if (m->life != OP_MODEL_PENDING)
			continue;
		watch = op_model_watch_of(m, key);
		if (watch && watch->serial > *serial && watch->serial < first) {
			next = m;
			first = watch->serial;
		}
	}
	*serial = first;
	return next;
}

/* Count a signal. Returns true if the operation completes. */
static bool op_model_count(struct op_model *model, struct op_model_op *m, u64 key, u64 amount,
			   u64 value)
{
	struct op_model_watch *watch = op_model_watch_of(m, key);

	if (m->condition == TWHEEL_COND_PREDICATE)
		return op_model_evaluate(model, m);
	if (m->condition == TWHEEL_COND_SUM)
		m->amount += min(amount, U64_MAX - m->amount);
	else if (watch->need)
		watch->need--;
	if (op_model_missing(m))
		return false;
	op_model_end(model, m, TWHEEL_REASON_COMPLETED, 0, value);
	return true;
}

u32 op_model_signal(struct op_model *model, u64 key, u64 amount, u64 value, u32 limit)
{
	u64 serial = 0, last = model->nr_serials;
	struct op_model_op *m;
	u32 nr = 0;

	while (nr < limit && (m = next_watcher(model, key, &serial, last)))
		nr += op_model_count(model, m, key, amount, value);
	return nr;
}

u32 op_model_check(struct op_model *model, u64 key, u32 limit)
{
	u64 serial = 0, last = model->nr_serials;
	struct op_model_op *m;
	u32 nr = 0;

	while (nr < limit && (m = next_watcher(model, key, &serial, last)))
		nr += op_model_evaluate(model, m);
	return nr;
}

u32 op_model_cancel_key(struct op_model *model, u64 key)
{
	u64 serial = 0, last = model->nr_serials;
	struct op_model_op *m;
	u32 nr = 0;

	while ((m = next_watcher(model, key, &serial, last))) {
		op_model_end(model, m, TWHEEL_REASON_CANCELLED, 0, 0);
		nr++;
	}
	return nr;
}

static void op_model_expire(struct op_model *model, struct op_model_op *m, u64 tick)
{
	u64 due = max(m->deadline, m->armed_at);

	op_model_end(model, m, TWHEEL_REASON_EXPIRED, 0, 0);
	m->end.time = due - min_t(u64, due - m->deadline, VTIME_SLOP_NS);
	m->latest = due + tick + VTIME_SLOP_NS;
	m->end_order = 0;
}

/*
 * Sleep until a time well inside of a tick, so that nothing is due before the next tick.
 * Therefore it is known which operations have expired, and none expires in the next step.
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
		if (m->life == OP_MODEL_PENDING && m->deadline <= now - rest)
			op_model_expire(model, m, tick);
}
