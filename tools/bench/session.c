// SPDX-License-Identifier: GPL-2.0
/*
 * A session: the operations of a contender and their reported ends. A report for an
 * operation that is not pending, or before its deadline, is a failure.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench.h"

/* After this time, pending operations would soon expire. */
#define LONGEST_NS	(40 * NSEC_PER_SEC)

/* Time for RCU to free the objects of an earlier session, where this can be waited for. */
#define QUIET_NS	(200 * NSEC_PER_MSEC)

static void session_free(struct session *session)
{
	free(session->ops);
	free(session->data);
}

int session_open(struct session *session, const struct contender *contender, unsigned int nr)
{
	uint64_t now;
	int error;

	if (exact)
		sleep_until(now_ns() + QUIET_NS);
	now = now_ns();
	*session = (struct session){ .contender = contender, .nr = nr };
	session->ops = malloc(nr * sizeof(*session->ops));
	session->data = calloc(1, contender->data_size);
	if (!session->ops || !session->data) {
		session_free(session);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < nr; i++)
		session->ops[i] = (struct op){ .deadline = mixed_deadline(now) };
	error = contender->open(session);
	if (error)
		session_free(session);
	return error;
}

void session_close(struct session *session)
{
	session->contender->close(session);
	session_free(session);
}

/* Call @function for the operations from @from to @to - 1, in batches. */
static int for_range(struct session *session, unsigned int from, unsigned int to,
		     int (*function)(struct session *, const uint32_t *, unsigned int))
{
	unsigned int batch = session->contender->batch, i, nr;
	uint32_t numbers[LARGE_BATCH];
	uint64_t start = now_ns();
	int error;

	for (i = from; i < to; i += nr) {
		for (nr = 0; nr < batch && i + nr < to; nr++)
			numbers[nr] = i + nr;
		error = function(session, numbers, nr);
		if (error)
			return error;
		if (now_ns() - start > LONGEST_NS)
			return -TOO_LONG;
	}
	return 0;
}

int session_create(struct session *session)
{
	if (!session->contender->create)
		return 0;
	return for_range(session, 0, session->nr, session->contender->create);
}

int session_add(struct session *session, unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		session->ops[i].state = OP_PENDING;
	return for_range(session, from, to, session->contender->add);
}

/* @now is a time at or after the expiry. */
int expired(struct session *session, uint64_t number, uint64_t now)
{
	const char *name = session->contender->name;
	struct op *op = &session->ops[number];

	if (number >= session->nr || op->state != OP_PENDING) {
		failure("%s: operation %llu: expiry while not pending", name,
			(unsigned long long)number);
		return -FAILED;
	}
	if (now < op->deadline) {
		failure("%s: operation %llu: expiry %llu ns early", name,
			(unsigned long long)number, (unsigned long long)(op->deadline - now));
		return -FAILED;
	}
	op->state = OP_EXPIRED;
	session->expired++;
	return 0;
}

int ended(struct session *session, uint64_t number)
{
	if (number >= session->nr || session->ops[number].state != OP_PENDING) {
		failure("%s: operation %llu: end while not pending",
			session->contender->name, (unsigned long long)number);
		return -FAILED;
	}
	session->ops[number].state = OP_IDLE;
	return 0;
}
