/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: operations. See op.c for their life, op_add.c for its beginning. */
#ifndef _TWHEEL_OP_H
#define _TWHEEL_OP_H

#include <linux/compiler.h>
#include <linux/twheel.h>

#include "purgatory.h"

enum twheel_op_state {
	OP_NEW,
	OP_WAITING,
	OP_ENDED,
	OP_DONE,
};

/* What is read under the lock is stable, but for ENDED, which may be DONE. */
static inline enum twheel_op_state twheel_op_state(const struct twheel_op *op)
{
	return READ_ONCE(op->state);
}

static inline struct twheel_home *twheel_op_home(const struct twheel_op *op)
{
	return &op->purgatory->home[op->home];
}

/* A reference of ours, and what keeps the purgatory there for it. */
static inline void twheel_op_hold(struct twheel_op *op)
{
	twheel_purgatory_hold(op->purgatory);
	twheel_op_get(op);
}

static inline void twheel_op_unhold(struct twheel_op *op)
{
	struct twheel_purgatory *purgatory = op->purgatory;

	twheel_op_put(op);
	twheel_purgatory_release(purgatory);
}

void twheel_op_expired(struct twheel_timer *timer);
bool twheel_op_signal(struct twheel_op *op, struct twheel_watch *watch, u64 value);
void twheel_op_finish(struct twheel_op *op);

#endif /* _TWHEEL_OP_H */
