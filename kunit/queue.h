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

/* The number of nodes in a queue. */
static inline size_t queue_nodes(const struct twheel_queue *queue)
{
	const struct twheel_wheel *wheel = &queue->wheel;
	unsigned int level, slot, list;
	struct hlist_node *pos;
	size_t nr = 0;

	hlist_for_each(pos, &queue->due.nodes)
		nr++;
	hlist_for_each(pos, &queue->due.past)
		nr++;
	hlist_for_each(pos, &queue->never)
		nr++;
	for (level = 0; level < wheel->nr_levels; level++)
		for (slot = 0; slot < wheel->slots; slot++)
			for (list = 0; list < 2; list++)
				hlist_for_each(pos, &wheel->level[level][slot].nodes[list])
					nr++;
	return nr;
}

#endif /* _KUNIT_QUEUE_H */
