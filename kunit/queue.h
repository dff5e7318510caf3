/* SPDX-License-Identifier: GPL-2.0 */
/* The expiry queue, for suites that drive it directly. */
#ifndef _KUNIT_QUEUE_H
#define _KUNIT_QUEUE_H

#include "../twheel/core/wheel.h"

/* twheel_queue_advance() with a budget that nobody looks at afterwards. */
static inline bool queue_advance(struct twheel_queue *queue, u64 now, unsigned int budget)
{
	return twheel_queue_advance(queue, now, &budget);
}

#endif /* _KUNIT_QUEUE_H */
