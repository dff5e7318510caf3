/* SPDX-License-Identifier: GPL-2.0 */
/* The contender of a program, for jobs.c. */
#ifndef TWHEEL_PEERS_H
#define TWHEEL_PEERS_H

#include <stdarg.h>

#include "../../tools/bench/bench.h"

/*
 * @name, @open, @add, @cancel, @settle, @rearm, @take and @close are used, and @batch: items of a
 * call of @add, @cancel and @rearm between two rounds of the event loop.
 */
extern const struct contender peer;

extern uint64_t peer_now;

/**
 * struct peer_traits - what struct contender does not have
 * @in_kernel: the kernel does the work
 * @watch: adds operations that watch three keys each, the given one and the next two, and complete
 *	by @need of them; NULL if the contender has no keys
 * @signal: signals keys
 */
struct peer_traits {
	bool	in_kernel;
	int	(*watch)(struct session *session, const uint32_t *ops, const uint64_t *keys,
			 unsigned int nr, unsigned int need);
	int	(*signal)(struct session *session, const uint64_t *keys, unsigned int nr);
};

extern const struct peer_traits peer_traits;

#endif /* TWHEEL_PEERS_H */
