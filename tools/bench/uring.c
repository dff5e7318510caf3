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

#include "ring.h"

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
	struct ring			ring;
	unsigned int			at_once;
	struct __kernel_timespec	times[LARGE_BATCH];
};

static uint64_t user_data(uint32_t number, enum kind kind)
{
	return (uint64_t)number * KINDS + kind;
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

static int open_ring(struct session *session)
{
	struct uring *uring = session->data;

	uring->at_once = session->contender == &uring_single ? 1 : session->contender->batch;
	uring->ring.handle = handle;
	return ring_init(&uring->ring, session, 0);
}

static void close_ring(struct session *session)
{
	struct uring *uring = session->data;

	io_uring_queue_exit(&uring->ring.uring);
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
		struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring.uring);

		if (!sqe)
			return -ENOSPC;
		prepare(session, sqe, kind, numbers[i], i);
		queued++;
		if (queued < uring->at_once && i + 1 < nr)
			continue;
		error = ring_submit(session, queued * answers);
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

#define URING(kind, most) {			\
	.name = "io_uring",			\
	.case_name = kind,			\
	.batch = most,				\
	.data_size = sizeof(struct uring),	\
	.open = open_ring,			\
	.add = add,				\
	.cancel = cancel,			\
	.rearm = rearm,				\
	.take = ring_take,			\
	.close = close_ring,			\
}

const struct contender uring_single = URING("single", BATCH);
const struct contender uring_batch = URING("batch64", BATCH);
const struct contender uring_large_batch = URING("batch1024", LARGE_BATCH);
