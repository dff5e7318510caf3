/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cell with its owner, and a signal or a completion that names life 1 (cells.pmh).
 *
 * Long: OPS=3
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	COMPLETE_BY_BIT		right_life
 *		a completion that names a life sets the bit instead of exchanging the word
 *	CLAIM_IDLE		exactly_once
 *		setting the bit of an idle cell counts as a claim
 *	CLAIM_FIRST_BIT_ONLY	exactly_once
 *		the claimer does not read the word again after it set the bit
 *	END_IN_FUNCTION		nothing_missed
 *		a due timer is taken off the wheel, and its function exchanges the word
 *	ARM_KEEPS_ENDED		never_early
 *		an arming does not clear the bit that a signal has left in an idle cell
 *	TOUCH_ENDED		right_life
 *		a heartbeat does not refuse an ended cell
 */
#define START	2
#ifndef OPS
#define OPS	2
#endif
#define SIGNAL
#define PROCESSES	GO_PROGRAM(owner()); GO(ender(1));
#include "cells.pmh"
