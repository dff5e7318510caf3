/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects that the module still has after an input, by its own structures.
 */
#ifndef _RIG_FUZZ_STATE_H
#define _RIG_FUZZ_STATE_H

#include <stddef.h>

/* Hold a file for each of these users. The allocations of the first time are the base. */
void fuzz_state_hold(const unsigned int *uids, unsigned int nr);
void fuzz_state_release(void);

/* Describe the objects that are left, or return false if there are none. */
bool fuzz_state_left(char *what, size_t size);

#endif /* _RIG_FUZZ_STATE_H */
