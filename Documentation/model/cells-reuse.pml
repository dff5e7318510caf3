/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owner adds a second operation in the cell of the first, while a heartbeat of life 1 and a
 * claimer of operation 1 are late (cells.pmh).
 *
 * Long: OPS=1
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	REUSE_SAME_LIFE		right_life
 *		an add does not count the life up
 *	CLAIM_UNCHECKED		quota
 *		a claimer does not check the timer of its operation
 */
#define START	1
#ifndef OPS
#define OPS	0
#endif
#define SIGNAL
#define DRAIN
#define REUSE
#define PROCESSES	GO_PROGRAM(owner()); GO_PROGRAM(heartbeat(1)); GO(ender(1));
#include "cells.pmh"
