/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects that the module still has after an input, found in its internal structures.
 */
#ifndef _RIG_FUZZ_STATE_H
#define _RIG_FUZZ_STATE_H

#include <stddef.h>

/* Hold a file for each of these users. The allocations after the first call are the baseline. */
void fuzz_state_hold(const unsigned int *uids, unsigned int nr);
void fuzz_state_release(void);

/* Describe the remaining objects. Return: false if there are none. */
bool fuzz_state_left(char *text, size_t size);

#endif /* _RIG_FUZZ_STATE_H */
