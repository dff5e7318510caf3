/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread stores anything in the word, while an ender comes, and the file is closed; an operation of
 * another user is on the same reaper. It has the promises to the kernel and to others (cells.pmh).
 *
 * Long: STORES=3 TRIES=3
 *
 * Holds: nothing_missed bounded quota no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	RETRY_FOREVER		bounded
 *		a look tries until it succeeds
 *	RETRY_NOW		bounded
 *		a look that gave up comes again in the same tick
 *	CLAIM_UNLOCKED		quota
 *		a claimer does not lock the shard
 */
#define START	1
#ifndef STORES
#define STORES	2
#endif
#ifndef TRIES
#define TRIES	2
#endif
#define SIGNAL
#define DRAIN
#define CLOSE
#define HOSTILE
#define PROCESSES	GO_PROGRAM(writer()); GO(ender(1)); GO(release());
#include "cells.pmh"
