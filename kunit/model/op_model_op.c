// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of the property test of layer 5: what they do when they are called,
 * their beginning and their end. See op_model.h.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "op_model.h"

static bool model_try_complete(struct twheel_op *op, u64 *value)
{
	struct op_model_op *m = container_of(op, struct op_model_op, op);

	/* If it does not hold, that is for nobody. */
	*value = m->holds_value;
	return m->holds;
}

static void model_ended(struct twheel_op *op)
{
	struct op_model_op *m = container_of(op, struct op_model_op, op);

	m->calls++;
	m->order = ++m->model->calls;
	twheel_op_result(op, &m->result);
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

/* It watches nothing, and nothing of its room is in use. */
void op_model_clear(struct op_model_op *m)
{
	memset(m->room, OP_MODEL_POISON, sizeof(m->room));
	m->nr_room = 0;
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

/* Its memory is ours again, and nobody has used what was ours all the time. */
void op_model_finish(struct op_model *model, struct op_model_op *m)
{
	u32 i;

	OP_MODEL_EQ(model, m->releases, 0);
	twheel_op_put(&m->op);
	OP_MODEL_EQ(model, m->releases, 1);
	for (i = 0; i < OP_MODEL_ROOM; i++) {
		if (i >= m->nr_room || m->back & BIT(i))
			KUNIT_ASSERT_NULL(model->test, memchr_inv(&m->room[i], OP_MODEL_POISON,
								  sizeof(m->room[i])));
	}
}
