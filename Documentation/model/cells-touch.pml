/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second program that touches life 1 twice, and the owner (cells.pmh).
 *
 * Long: OPS=2 TOUCHES=2
 *
 * Holds: exactly_once nothing_missed never_early right_life in_time bounded quota
 * Holds: no_use_after_free ends halts
 *
 * Mutants, and the property that each one violates:
 *
 *	TOUCH_ARMS_IDLE		right_life
 *		a heartbeat does not refuse an idle cell
 *	TOUCH_WITHOUT_LIFE	right_life
 *		a heartbeat does not compare the life
 *	TOUCH_BY_STORE		right_life
 *		a heartbeat stores the word instead of exchanging it
 *	CALL_REREADS		right_life
 *		the call does not compare the word that the program has read
 *	REARM_ALWAYS		in_time
 *		the call queues the timer for its time even if it is queued for an earlier one
 *	REARM_UNLOCKED		in_time
 *		the call does not lock the shard to re-arm the timer
 */
#define START	2
#ifndef OPS
#define OPS	1
#endif
#ifndef TOUCHES
#define TOUCHES	1
#endif
#define PROCESSES	GO_PROGRAM(owner()); GO_PROGRAM(heartbeat(TOUCHES));
#include "cells.pmh"
