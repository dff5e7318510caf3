/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The meaning of conditions, for all models of operations: the number of missing keys or
 * the missing amount, from the number of satisfied keys and the sum of the amounts.
 * The fuzzer does not use it: its threads do not know the order of their calls.
 */
#ifndef _KUNIT_MODEL_CONDITION_H
#define _KUNIT_MODEL_CONDITION_H

#include <linux/minmax.h>
#include <linux/twheel.h>

/* A condition and the signals so far */
struct condition_state {
	enum twheel_condition	condition;	/* the condition */
	u32			quorum;		/* for TWHEEL_COND_QUORUM */
	u64			threshold;	/* for TWHEEL_COND_SUM */
	u32			nr_keys;	/* number of keys */
	/* number of keys with as many signals as they need */
	u32			nr_satisfied;
	u64			amount;		/* sum of the amounts of the signals */
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
