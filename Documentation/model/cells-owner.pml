/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cell with its owner, which touches, cancels and arms, against the kernel's looks (cells.pmh).
 *
 * Long: OPS=4
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	STORE_EARLIER		nothing_missed
 *		the program lowers the time without a call
 *	WORD_BEFORE_CALL	nothing_missed
 *		the program lowers the word, then calls, and is killed in between
 *	LOOK_UNLOCKED		nothing_missed
 *		a look does not lock the shard
 *	PARK_KEEPS_TIME		nothing_missed
 *		an idle cell is parked without raising its time to NEVER
 *	PARK_NOT		halts
 *		a look at a due timer leaves an idle cell on the wheel
 *	PARK_BY_STORE		nothing_missed
 *		a look raises that by a store
 *	QUEUE_OLD_TIME		bounded
 *		a look does not queue the timer for the time that it has read
 *	END_BY_BIT		never_early
 *		a look sets the bit instead of exchanging the word
 */
#define START	2
#ifndef OPS
#define OPS	3
#endif
#define PROCESSES	GO_PROGRAM(owner());
#include "cells.pmh"
