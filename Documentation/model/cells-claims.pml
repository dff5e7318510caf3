/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two enders of any kind, a cancel by a call or a drain included, and the owner (cells.pmh).
 *
 * Long: OPS=2
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	CLAIM_UNLOCKED		quota
 *		a claimer does not lock the shard from its check of the timer to its claim
 *	CLAIM_UNCHECKED		quota
 *		a claimer does not check if the timer is pending
 *	DRAIN_KEEPS_IDLE	nothing_missed
 *		a program can arm the cell of an operation that was cancelled while it was idle
 *	DRAIN_BY_BITS		nothing_missed
 *		a cancel sets one bit and then clears the other one
 */
#define START	2
#ifndef OPS
#define OPS	1
#endif
#define SIGNAL
#define DRAIN
#define PROCESSES	GO_PROGRAM(owner()); GO(ender(1)); GO(ender(1));
#include "cells.pmh"
