/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two shards with a reaper each. The owner lowers the time by calls, which may move the timer to
 * the other shard, while a signal or a completion that names life 1 comes (cells.pmh).
 *
 * Long: OPS=3
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	SHARD_UNCHECKED		quota
 *		a claimer does not read the shard of the timer again after locking it
 *	TIMER_FIRST		nothing_missed
 *		a call re-arms the timer, and then exchanges the word
 */
#define START	2
#ifndef OPS
#define OPS	2
#endif
#define SHARDS	2
#define SIGNAL
#define PROCESSES	GO_PROGRAM(owner()); GO(ender(1));
#include "cells.pmh"
