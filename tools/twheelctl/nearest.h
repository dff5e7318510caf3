/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations that expire next.
 */
#ifndef TWHEELCTL_NEAREST_H
#define TWHEELCTL_NEAREST_H

#include <twheel.h>

/* Maximum number of them. */
#define MAX_NEAREST	32

/**
 * struct soon - the operations that expire next, in order
 * @room: maximum number, up to MAX_NEAREST
 * @nr: number of entries in @pending
 * @pending: the operations
 */
struct nearest {
	unsigned int room;
	unsigned int nr;
	struct twheel_pending pending[MAX_NEAREST];
};

/* Keeps an operation that is one of them. For list_pending(): @nearest is a struct soon. */
void keep_nearest(const struct twheel_pending *pending, void *nearest);

#endif /* TWHEELCTL_NEAREST_H */
