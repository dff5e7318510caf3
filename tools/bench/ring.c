// SPDX-License-Identifier: GPL-2.0
/*
 * A ring of io_uring, for timeouts and for commands of the device.
 */
#include <errno.h>

#include "ring.h"

/* Maximum size of the completion queue. The kernel keeps further entries in an overflow list. */
#define MOST_ENTRIES	65536

/* Use further flags as recommended for a single thread, if the kernel supports them. */
int ring_init(struct ring *ring, const struct session *session, unsigned int flags)
{
	unsigned int batch = session->contender->batch;
	struct io_uring_params params = {
		.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = 2 * session->nr < MOST_ENTRIES ? 2 * session->nr : MOST_ENTRIES,
	};
	int error;

	if (params.cq_entries < 4 * batch)
		params.cq_entries = 4 * batch;
	error = io_uring_queue_init_params(2 * batch, &ring->uring, &params);
	if (error != -EINVAL)
		return error;
	params.flags = flags | IORING_SETUP_CQSIZE;
	return io_uring_queue_init_params(2 * batch, &ring->uring, &params);
}

/* Returns the number of completion entries, or a negative error number. */
static int reap(struct session *session)
{
	struct ring *ring = session->data;
	unsigned int most = 2 * session->contender->batch, nr;
	struct io_uring_cqe *cqes[2 * LARGE_BATCH];
	int error = 0;
	uint64_t now;

	nr = io_uring_peek_batch_cqe(&ring->uring, cqes, most);
	now = nr ? now_ns() : 0;
	for (unsigned int i = 0; i < nr && !error; i++)
		error = ring->handle(session, cqes[i], now);
	io_uring_cq_advance(&ring->uring, nr);
	return error ? error : (int)nr;
}

/* Submit, and wait for the given number of completion entries. */
int ring_submit(struct session *session, unsigned int entries)
{
	struct ring *ring = session->data;
	int got = io_uring_submit_and_wait(&ring->uring, entries);

	while (got >= 0 && entries) {
		got = reap(session);
		if (got > 0)
			entries -= (unsigned int)got < entries ? (unsigned int)got : entries;
		else if (!got)
			got = io_uring_submit_and_wait(&ring->uring, 1);
	}
	return got < 0 ? got : 0;
}

/* The function take() of the contenders. */
int ring_take(struct session *session, unsigned int timeout_ms)
{
	struct ring *ring = session->data;
	struct __kernel_timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * NSEC_PER_MSEC,
	};
	struct io_uring_cqe *cqe;
	int got = reap(session);

	if (got)
		return got < 0 ? got : 0;
	got = io_uring_submit_and_wait_timeout(&ring->uring, &cqe, 1, &timeout, NULL);
	if (got < 0 && got != -ETIME && got != -EINTR)
		return got;
	got = reap(session);
	return got < 0 ? got : 0;
}
