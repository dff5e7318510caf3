/* SPDX-License-Identifier: GPL-2.0 */
/* The contender of a program, for jobs.c. */
#ifndef TWHEEL_PEERS_H
#define TWHEEL_PEERS_H

#include <stdarg.h>

#include "../../tools/bench/bench.h"

/* @name, @open, @add, @cancel, @settle, @rearm, @take, @close and @batch are used. */
extern const struct contender peer;

/* Items of a call of @add, @cancel and @rearm between two rounds of the event loop. */
extern const unsigned int peer_batch;

extern uint64_t peer_now;

/* The kernel does the work. */
extern const bool peer_in_kernel;

/*
 * Add operations that watch three keys each, the given one and the next two, and complete by @need
 * of them, and signal keys. NULL if the contender has no keys.
 */
extern int (*const peer_watch)(struct session *session, const uint32_t *ops, const uint64_t *keys,
			       unsigned int nr, unsigned int need);
extern int (*const peer_signal)(struct session *session, const uint64_t *keys, unsigned int nr);

#define PEER_WITHOUT_KEYS(in_kernel)					\
	const unsigned int peer_batch = 1;				\
	const bool peer_in_kernel = in_kernel;				\
	int (*const peer_watch)(struct session *session, const uint32_t *ops,	\
				const uint64_t *keys, unsigned int nr,	\
				unsigned int need);			\
	int (*const peer_signal)(struct session *session, const uint64_t *keys, unsigned int nr)

#endif /* TWHEEL_PEERS_H */
