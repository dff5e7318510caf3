// SPDX-License-Identifier: GPL-2.0
/*
 * Operations in the property test: their callbacks, initialisation and
 * release. See op_model.h.
 */
#include <linux/bits.h>
#include <linux/string.h>

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
