/* SPDX-License-Identifier: GPL-2.0 */
/* A ring of io_uring: what its contenders share, see ring.c. */
#ifndef TWHEEL_BENCH_RING_H
#define TWHEEL_BENCH_RING_H

#include <liburing.h>

#include "bench.h"

/**
 * struct ring - a ring, the first member of the data of a session
 * @uring: the ring
 * @handle: called for each completion entry, with the time at which it was found. Returns 0 or a
 *	negative error number
 */
struct ring {
	struct io_uring uring;
	int (*handle)(struct session *session, const struct io_uring_cqe *cqe, uint64_t now);
};

int ring_init(struct ring *ring, const struct session *session, unsigned int flags);
int ring_submit(struct session *session, unsigned int entries);
int ring_take(struct session *session, unsigned int timeout_ms);

#endif /* TWHEEL_BENCH_RING_H */
