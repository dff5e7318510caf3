/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations that expire next.
 */
#ifndef TWHEELCTL_SOON_H
#define TWHEELCTL_SOON_H

#include <twheel.h>

/* Maximum number of them. */
#define MAX_SOON	32

/**
 * struct soon - the operations that expire next, in order
 * @room: maximum number, up to MAX_SOON
 * @nr: number of entries in @pending
 * @pending: the operations
 */
struct soon {
	unsigned int room;
	unsigned int nr;
	struct twheel_pending pending[MAX_SOON];
};

/* Keeps an operation that is one of them. For list_pending(): @soon is a struct soon. */
void keep_soon(const struct twheel_pending *pending, void *soon);

#endif /* TWHEELCTL_SOON_H */
