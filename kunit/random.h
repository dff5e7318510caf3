/* SPDX-License-Identifier: GPL-2.0 */
/* What the property tests share: random numbers that can be had again. */
#ifndef _KUNIT_RANDOM_H
#define _KUNIT_RANDOM_H

#include <kunit/test.h>
#include <linux/prandom.h>

/* Seeds @state from the module's parameter, or anew, and says with what. */
void random_start(struct kunit *test, struct rnd_state *state);

/* The same for the init of a suite. */
void random_start_suite(struct kunit_suite *suite, struct rnd_state *state);

/* A number from 0 to @below - 1. */
u32 random_below(struct rnd_state *state, u32 below);

/* A number from 1 to @most. */
u64 random_within(struct rnd_state *state, u64 most);

/* A number of any magnitude up to 2^@bits, each magnitude as likely. */
u64 random_magnitude(struct rnd_state *state, unsigned int bits);

#endif /* _KUNIT_RANDOM_H */
