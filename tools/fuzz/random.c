// SPDX-License-Identifier: GPL-2.0
/*
 * Random decisions of the fuzzer.
 *
 * Sequences are created by a thread's own generator. The effect of a step depends only on
 * the step: first on its bytes, so that changing one of them changes one decision, then on a
 * generator initialized by its seed.
 */

#include "fuzz.h"

__u64 next_random(struct random *random)
{
	__u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

__u64 random_below(struct random *random, __u64 n)
{
	return n ? next_random(random) % n : 0;
}

/* One of @n decisions, at most 256, by the step. */
unsigned int draw(struct thread *t, unsigned int n)
{
	if (t->used < sizeof(t->step->arg))
		return t->step->arg[t->used++] % n;
	return random_below(&t->detail, n);
}

/* Rare decisions must not consume the bytes of the step. */
bool one_in(struct thread *t, unsigned int n)
{
	return !random_below(&t->detail, n);
}

/* A number typical for wrong programs: small, near a power of two, or any. */
__u64 draw_wide(struct thread *t)
{
	__u64 bit = 1ULL << random_below(&t->detail, 64);

	switch (random_below(&t->detail, 6)) {
	case 0:
		return random_below(&t->detail, 8);
	case 1:
		return bit;
	case 2:
		return bit - 1;
	case 3:
		return -bit;
	case 4:
		return ~0ULL;
	default:
		return next_random(&t->detail);
	}
}
