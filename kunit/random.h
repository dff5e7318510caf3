/* SPDX-License-Identifier: GPL-2.0 */
/* Reproducible random numbers for the property tests. */
#ifndef _KUNIT_RANDOM_H
#define _KUNIT_RANDOM_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/twheel.h>

/* Seed @state from the module parameter, or at random if that is 0, and log the seed. */
void random_start(struct kunit *test, struct rnd_state *state);

/* random_start() for the init function of a suite. */
void random_start_suite(struct kunit_suite *suite, struct rnd_state *state);

/* Return a number from 0 to @below - 1. */
u32 random_below(struct rnd_state *state, u32 below);

/* Return a mode of a re-arm of the kernel interface. */
enum twheel_rearm random_rearm(struct rnd_state *state);

/* Return a number from 1 to @most. */
u64 random_within(struct rnd_state *state, u64 most);

/* Return a number below 2^n, for a random n from 1 to @bits. */
u64 random_magnitude(struct rnd_state *state, unsigned int bits);

#endif /* _KUNIT_RANDOM_H */
