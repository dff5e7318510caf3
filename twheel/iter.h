/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: the operations of a purgatory, one after the other. See iter.c. */
#ifndef _TWHEEL_ITER_H
#define _TWHEEL_ITER_H

#include <linux/list.h>
#include <linux/twheel.h>

#include "purgatory.h"

void __twheel_iters_pass(struct twheel_home *home, struct twheel_op *op);

/* Move those who stand at an operation that is about to leave its home. */
static inline void twheel_iters_pass(struct twheel_home *home, struct twheel_op *op)
{
	if (unlikely(!list_empty(&home->iters)))
		__twheel_iters_pass(home, op);
}

#endif /* _TWHEEL_ITER_H */
