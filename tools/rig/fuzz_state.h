/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module still has after an input, which only its own structures can tell.
 */
#ifndef _RIG_FUZZ_STATE_H
#define _RIG_FUZZ_STATE_H

#include <stddef.h>

/* Make what stays for good, and hold a file for each of these users. */
void fuzz_state_init(const unsigned int *uids, unsigned int nr);

/* Say what is left, or return false if nothing is. */
bool fuzz_state_left(char *what, size_t size);

#endif /* _RIG_FUZZ_STATE_H */
