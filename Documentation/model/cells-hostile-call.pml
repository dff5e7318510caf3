/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread stores anything in the word, while another one calls with anything; an operation of
 * another user is on the same reaper (cells.pmh).
 *
 * Long: STORES=2
 *
 * Holds: nothing_missed bounded quota no_use_after_free ends halts
 */
#define START	1
#ifndef STORES
#define STORES	1
#endif
#define HOSTILE
#define PROCESSES	GO_PROGRAM(writer()); GO_PROGRAM(caller());
#include "cells.pmh"
