/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A late canceller of life 1, and the owner (cells.pmh).
 *
 * Long: OPS=3
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	CANCEL_WITHOUT_LIFE	right_life
 *		a cancel does not compare the life
 *	ARM_SAME_LIFE		right_life
 *		an arming does not count the life up
 */
#define START	2
#ifndef OPS
#define OPS	1
#endif
#define PROCESSES	GO_PROGRAM(owner()); GO_PROGRAM(canceller());
#include "cells.pmh"
