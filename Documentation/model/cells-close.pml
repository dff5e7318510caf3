/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The owner unmaps and closes the file, or is killed, at any time: the operation is drained and the
 * page freed, while a signal through another file comes (cells.pmh).
 *
 * Long: OPS=3
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	FREE_UNDRAINED		no_use_after_free
 *		the page is freed with the last mapping
 *	FREE_MAPPED		no_use_after_free
 *		a mapping does not hold the file
 *	CLAIM_WORD_FIRST	no_use_after_free
 *		a claimer changes the word before it has locked the shard
 *	DRAIN_SKIPS_IDLE	ends
 *		a drain skips an idle operation, as signals do
 */
#define START	2
#ifndef OPS
#define OPS	1
#endif
#define SIGNAL
#define CLOSE
#define PROCESSES	GO_PROGRAM(owner()); GO(ender(1)); GO(release());
#include "cells.pmh"
