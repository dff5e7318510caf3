/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations that expire next.
 */
#ifndef TWHEELCTL_NEAREST_H
#define TWHEELCTL_NEAREST_H

#include <twheel.h>

/* Maximum number of operations. */
#define MAX_NEAREST	32

/**
 * struct nearest - the operations that expire next, sorted by deadline
 * @max: maximum number of operations, up to MAX_NEAREST
 * @nr: number of entries in @pending
 * @pending: the operations
 */
struct nearest {
	unsigned int max;
	unsigned int nr;
	struct twheel_pending pending[MAX_NEAREST];
};

/* For list_pending(): keeps an operation that expires next. @nearest is a struct nearest. */
void keep_nearest(const struct twheel_pending *pending, void *nearest);

#endif /* TWHEELCTL_NEAREST_H */
