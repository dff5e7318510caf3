/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The meaning of conditions, for all models of operations: the number of missing keys or
 * the missing amount, from the number of satisfied keys and the sum of the amounts.
 *
 * Two programs of user space do not use it. The fuzzer's threads signal keys of operations
 * that other threads add, and do not know the order of these calls. A script of the player
 * lists the expected events itself.
 */
#ifndef _KUNIT_MODEL_CONDITION_H
#define _KUNIT_MODEL_CONDITION_H

#include <linux/minmax.h>
#include <linux/twheel.h>

/**
 * struct condition_state - a condition and the signals so far
 * @condition: the condition
 * @quorum: for TWHEEL_COND_QUORUM
 * @threshold: for TWHEEL_COND_SUM
 * @nr_keys: number of keys
 * @nr_satisfied: number of keys with as many signals as they need
 * @amount: sum of the amounts of the signals
 */
struct condition_state {
	enum twheel_condition	condition;
	u32			quorum;
	u64			threshold;
	u32			nr_keys;
	u32			nr_satisfied;
	u64			amount;
};

static inline bool condition_needs_signals(enum twheel_condition condition)
{
	return condition != TWHEEL_COND_NONE && condition != TWHEEL_COND_PREDICATE;
}

static inline u64 condition_missing(const struct condition_state *state)
{
	switch ((unsigned int)state->condition) {
	case TWHEEL_COND_ANY:
		return !state->nr_satisfied;
	case TWHEEL_COND_ALL:
		return state->nr_keys - state->nr_satisfied;
	case TWHEEL_COND_QUORUM:
		return state->quorum - min(state->quorum, state->nr_satisfied);
	case TWHEEL_COND_SUM:
		return state->threshold - min(state->threshold, state->amount);
	default:
		return 0;
	}
}

#endif /* _KUNIT_MODEL_CONDITION_H */
