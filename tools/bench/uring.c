// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: io_uring, with one timeout per operation. Timeouts are submitted one by one
 * or in batches of 64 or 1024 ("batch64", "batch1024").
 *
 * A cancel results in two completion entries, one for the cancel and one for the timeout.
 * A re-arm results in one entry. The contender waits for all of them. An add results in
 * no entry before the timeout.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>

#include "bench.h"

/*
 * Maximum size of the completion queue. The kernel keeps further entries in an overflow
 * list.
 */
#define MOST_ENTRIES	65536

/* Type of an entry, in the lowest bits of its user data. The rest is a number. */
enum kind {
	KIND_TIMEOUT,
	KIND_CANCEL,
	KIND_REARM,
};

#define KINDS	4

/**
 * struct uring - a ring
 * @ring: the ring
 * @at_once: entries per submission
 * @times: deadlines of a batch
 */
struct uring {
	struct io_uring			ring;
	unsigned int			at_once;
	struct __kernel_timespec	times[LARGE_BATCH];
};

static uint64_t user_data(uint32_t number, enum kind kind)
{
	return (uint64_t)number * KINDS + kind;
}

/* Use the flags recommended for a single thread, if the kernel supports them. */
static int init_ring(struct io_uring *ring, unsigned int nr, unsigned int batch)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = 2 * nr < MOST_ENTRIES ? 2 * nr : MOST_ENTRIES,
	};
	int error;

	if (params.cq_entries < 4 * batch)
		params.cq_entries = 4 * batch;
	error = io_uring_queue_init_params(2 * batch, ring, &params);
	if (error != -EINVAL)
		return error;
	params.flags = IORING_SETUP_CQSIZE;
	return io_uring_queue_init_params(2 * batch, ring, &params);
}

static int open_ring(struct session *session, unsigned int at_once)
{
	struct uring *uring = calloc(1, sizeof(*uring));
	int error;

	if (!uring)
		return -ENOMEM;
	uring->at_once = at_once;
	error = init_ring(&uring->ring, session->nr, session->contender->batch);
	if (error) {
		free(uring);
		return error;
	}
	session->data = uring;
	return 0;
}

static int open_single(struct session *session)
{
	return open_ring(session, 1);
}

static int open_batch(struct session *session)
{
	return open_ring(session, session->contender->batch);
}

static void close_ring(struct session *session)
{
	struct uring *uring = session->data;

	io_uring_queue_exit(&uring->ring);
	free(uring);
}

static int handle(struct session *session, const struct io_uring_cqe *cqe, uint64_t now)
{
	uint64_t number = cqe->user_data / KINDS;
	enum kind kind = cqe->user_data % KINDS;

	if (kind == KIND_TIMEOUT && cqe->res == -ETIME)
		return expired(session, number, now);
	if (kind == KIND_TIMEOUT && cqe->res == -ECANCELED)
		return ended(session, number);
	if (kind == KIND_TIMEOUT && !cqe->res)
		return -EIO;
	return cqe->res;
}

/* Returns the number of completion entries, or a negative error number. */
static int reap(struct session *session)
{
	struct uring *uring = session->data;
	unsigned int most = 2 * session->contender->batch, nr;
	struct io_uring_cqe *cqes[2 * LARGE_BATCH];
	int error = 0;
	uint64_t now;

	nr = io_uring_peek_batch_cqe(&uring->ring, cqes, most);
	now = nr ? now_ns() : 0;
	for (unsigned int i = 0; i < nr && !error; i++)
		error = handle(session, cqes[i], now);
	io_uring_cq_advance(&uring->ring, nr);
	return error ? error : (int)nr;
}

/* Submit, and wait for the given number of completion entries. */
static int submit(struct session *session, unsigned int entries)
{
	struct uring *uring = session->data;
	int got = io_uring_submit_and_wait(&uring->ring, entries);

	while (got >= 0 && entries) {
		got = reap(session);
		if (got > 0)
			entries -= (unsigned int)got < entries ? (unsigned int)got : entries;
		else if (!got)
			got = io_uring_submit_and_wait(&uring->ring, 1);
	}
	return got < 0 ? got : 0;
}

static struct __kernel_timespec *time_of(struct uring *uring, const struct op *op, unsigned int i)
{
	uring->times[i] = (struct __kernel_timespec){
		.tv_sec = op->deadline / NSEC_PER_SEC,
		.tv_nsec = op->deadline % NSEC_PER_SEC,
	};
	return &uring->times[i];
}

static void prepare(struct session *session, struct io_uring_sqe *sqe, enum kind kind,
		    uint32_t number, unsigned int i)
{
	struct uring *uring = session->data;
	const struct op *op = &session->ops[number];
	uint64_t timeout = user_data(number, KIND_TIMEOUT);

	switch (kind) {
	case KIND_TIMEOUT:
		io_uring_prep_timeout(sqe, time_of(uring, op, i), 0, IORING_TIMEOUT_ABS);
		break;
	case KIND_CANCEL:
		io_uring_prep_timeout_remove(sqe, timeout, 0);
		break;
	case KIND_REARM:
		io_uring_prep_timeout_update(sqe, time_of(uring, op, i), timeout,
					     IORING_TIMEOUT_ABS);
		break;
	}
	io_uring_sqe_set_data64(sqe, user_data(number, kind));
}

/* Each submission results in @answers completion entries. */
static int do_all(struct session *session, const uint32_t *numbers, unsigned int nr,
		  enum kind kind, unsigned int answers)
{
	struct uring *uring = session->data;
	unsigned int queued = 0;
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

		if (!sqe)
			return -ENOSPC;
		prepare(session, sqe, kind, numbers[i], i);
		queued++;
		if (queued < uring->at_once && i + 1 < nr)
			continue;
		error = submit(session, queued * answers);
		queued = 0;
	}
	return error;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	return do_all(session, numbers, nr, KIND_TIMEOUT, 0);
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	return do_all(session, numbers, nr, KIND_CANCEL, 2);
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	return do_all(session, numbers, nr, KIND_REARM, 1);
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct uring *uring = session->data;
	struct __kernel_timespec timeout = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * NSEC_PER_MSEC,
	};
	struct io_uring_cqe *cqe;
	int got = reap(session);

	if (got)
		return got < 0 ? got : 0;
	got = io_uring_submit_and_wait_timeout(&uring->ring, &cqe, 1, &timeout, NULL);
	if (got < 0 && got != -ETIME && got != -EINTR)
		return got;
	got = reap(session);
	return got < 0 ? got : 0;
}

#define URING(open_function, kind, most) {	\
	.name = "io_uring",			\
	.case_name = kind,			\
	.batch = most,				\
	.open = open_function,			\
	.add = add,				\
	.cancel = cancel,			\
	.rearm = rearm,				\
	.take = take,				\
	.close = close_ring,			\
}

const struct contender uring_single = URING(open_single, "single", BATCH);
const struct contender uring_batch = URING(open_batch, "batch64", BATCH);
const struct contender uring_large_batch = URING(open_batch, "batch1024", LARGE_BATCH);
