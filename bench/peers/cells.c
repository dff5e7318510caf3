// SPDX-License-Identifier: GPL-2.0
/* Contender: cells of /dev/twheel by libtwheel, with a pool for each of the two timeouts. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <twheel_cells.h>
#include <unistd.h>

#include "peers.h"

static struct twheel_cell_map map;
/* The second one is for the short timeouts, whose lateness is measured. */
static struct twheel_cell_pool pools[2];

static int open_cells(struct session *session)
{
	int fd = twheel_open(O_NONBLOCK);

	if (fd < 0 || twheel_cell_map_init(&map, fd, session->nr))
		return -errno;
	for (int i = 0; i < 2; i++)
		twheel_cell_pool_init(&pools[i], &map, CLOCK_MONOTONIC);
	return 0;
}

static struct twheel_cell_pool *pool_of(const struct op *op)
{
	return &pools[op->deadline < peer_now + NSEC_PER_SEC];
}

static int cell_of(const struct op *op)
{
	return (uint32_t)op->handle - 1;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];
		struct twheel_cell_pool *pool = pool_of(op);
		int cell = twheel_cell_acquire(pool, numbers[i]);

		op->handle = cell < 0 ? 0 : twheel_cell_arm(pool, cell, op->deadline);
		if (!op->handle)
			return -errno;
	}
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];

		/* This cancels it. */
		twheel_cell_release(pool_of(op), cell_of(op));
		ended(session, numbers[i]);
	}
	return 0;
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];

		if (twheel_cell_touch(pool_of(op), op->handle, op->deadline))
			return -errno;
	}
	return 0;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct pollfd pollfd = { .fd = map.fd, .events = POLLIN };
	struct twheel_event events[BATCH];
	uint64_t now, number;
	ssize_t got;

	if (timeout_ms && poll(&pollfd, 1, timeout_ms) < 0)
		return -errno;
	got = twheel_read_events(map.fd, events, BATCH);
	now = now_ns();
	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	for (ssize_t i = 0; i < got; i++) {
		if (!twheel_cell_event(&map, &events[i], &number))
			failure("twheel_cells: a cancelled timeout ended");
		expired(session, number, now);
		twheel_cell_release(&pools[1], cell_of(&session->ops[number]));
	}
	return 0;
}

static void close_cells(struct session *session)
{
	close(map.fd);
	twheel_cell_map_free(&map);
}

const struct contender peer = {
	.name = "twheel_cells",
	.batch = BATCH,
	.open = open_cells,
	.add = add,
	.cancel = cancel,
	.rearm = rearm,
	.take = take,
	.close = close_cells,
};

const unsigned int peer_batch = 1;
const bool peer_in_kernel = true;
int (*const peer_watch)(struct session *session, const uint32_t *ops, const uint64_t *keys,
			unsigned int nr, unsigned int need);
int (*const peer_signal)(struct session *session, const uint64_t *keys, unsigned int nr);
