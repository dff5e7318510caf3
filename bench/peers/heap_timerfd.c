// SPDX-License-Identifier: GPL-2.0
/* Contender: the heap with one timerfd of twheel_bench. */
#define heap_single peer
#include "../../tools/bench/heap.c"
#include "peers.h"

PEER_WITHOUT_KEYS;
