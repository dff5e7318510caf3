/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects that the module still has after an input, found in its internal structures.
 */
#ifndef _RIG_FUZZ_STATE_H
#define _RIG_FUZZ_STATE_H

#include <stddef.h>

/*
 * Hold a file for each of these users: root, and another one. The allocations after the first call
 * are the baseline.
 */
void fuzz_state_hold(const unsigned int *uids, unsigned int nr);
void fuzz_state_release(void);

/* The user namespace of the calling thread, if it is not root's */
enum fuzz_namespace {
	FUZZ_INITIAL,
	FUZZ_OF_USER,	/* of the other user */
	FUZZ_OF_ROOT,
};

void fuzz_state_namespace(enum fuzz_namespace kind);

/* Describe the remaining objects. Return: false if there are none. */
bool fuzz_state_left(char *text, size_t size);

#endif /* _RIG_FUZZ_STATE_H */
