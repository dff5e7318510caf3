// SPDX-License-Identifier: GPL-2.0
/*
 * Random numbers for the property tests, and the metadata of the twheel_kunit module.
 *
 * To repeat a failing run, load the module with the seed that the run printed.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>

#include "../twheel/compat.h"
#include "random.h"

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "Seed of the property tests, 0 for a random one (default 0)");

void random_start(struct kunit *test, struct rnd_state *state)
{
	ulong s = seed ?: get_random_u32();

	kunit_info(test, "seed=%lu\n", s);
	prandom_seed_state(state, s);
}

void random_start_suite(struct kunit_suite *suite, struct rnd_state *state)
{
	ulong s = seed ?: get_random_u32();

	kunit_log(KERN_INFO, suite, KUNIT_SUBTEST_INDENT "# %s: seed=%lu\n", suite->name, s);
	prandom_seed_state(state, s);
}

u32 random_below(struct rnd_state *state, u32 below)
{
	return prandom_u32_state(state) % below;
}

enum twheel_rearm random_rearm(struct rnd_state *state)
{
	static const u8 modes[] = {
		TWHEEL_REARM_ALWAYS, TWHEEL_REARM_IF_EARLIER, TWHEEL_REARM_IF_LATER,
		TWHEEL_REARM_IF_PENDING,
	};

	return modes[random_below(state, ARRAY_SIZE(modes))];
}

u64 random_within(struct rnd_state *state, u64 most)
{
	u64 number = (u64)prandom_u32_state(state) << 32 | prandom_u32_state(state);
	u64 rest;

	div64_u64_rem(number, most, &rest);
	return rest + 1;
}

u64 random_magnitude(struct rnd_state *state, unsigned int bits)
{
	u64 number = (u64)prandom_u32_state(state) << 32 | prandom_u32_state(state);

	return number >> (63 - random_below(state, bits));
}

MODULE_DESCRIPTION("KUnit suites of twheel");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
