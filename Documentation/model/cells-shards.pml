/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two shards with a reaper each. The owner and a heartbeat move the time by calls, which may
 * move the timer to the other shard (cells.pmh).
 *
 * Long: CALLS=1
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	TIMER_FIRST		nothing_missed
 *		a call re-arms the timer, and then exchanges the word
 */
#define START	2
#ifndef OPS
#define OPS	1
#endif
#ifndef TOUCHES
#define TOUCHES	1
#endif
#define SHARDS	2
#define PROCESSES	GO_PROGRAM(owner()); GO_PROGRAM(heartbeat(TOUCHES));
#include "cells.pmh"
