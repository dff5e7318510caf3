// SPDX-License-Identifier: GPL-2.0
/*
 * The operations that expire next. See nearest.h.
 */
#include "nearest.h"

void keep_nearest(const struct twheel_pending *pending, void *nearest)
{
	struct nearest *s = nearest;
	unsigned int at;

	if (pending->remaining == TWHEEL_NEVER || !s->max)
		return;
	if (s->nr == s->max) {
		if (pending->remaining >= s->pending[s->nr - 1].remaining)
			return;
		s->nr--;
	}
	for (at = s->nr++; at; at--) {
		if (s->pending[at - 1].remaining <= pending->remaining)
			break;
		s->pending[at] = s->pending[at - 1];
	}
	s->pending[at] = *pending;
}
