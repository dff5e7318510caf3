/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations that expire next, out of all that wait.
 */
#ifndef TWHEELCTL_SOON_H
#define TWHEELCTL_SOON_H

#include <twheel.h>

/* The most that are kept. */
#define MAX_SOON	32

/**
 * struct soon - those that expire next, the first of them first
 * @room: how many are kept, up to MAX_SOON
 * @nr: how many there are
 * @pending: these
 */
struct soon {
	unsigned int room;
	unsigned int nr;
	struct twheel_pending pending[MAX_SOON];
};

/* Keeps an operation if it is one of them. For list_pending(): @soon is a struct soon. */
void keep_soon(const struct twheel_pending *pending, void *soon);

#endif /* TWHEELCTL_SOON_H */
