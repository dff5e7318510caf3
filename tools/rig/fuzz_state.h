/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module still has after an input, which only its own structures can tell.
 */
#ifndef _RIG_FUZZ_STATE_H
#define _RIG_FUZZ_STATE_H

#include <stddef.h>

/* Hold a file for each of these users. What the module has the first time may stay. */
void fuzz_state_hold(const unsigned int *uids, unsigned int nr);
void fuzz_state_release(void);

/* Describe the objects that are left, or return false if there are none. */
bool fuzz_state_left(char *what, size_t size);

#endif /* _RIG_FUZZ_STATE_H */
