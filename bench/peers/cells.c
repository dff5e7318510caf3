// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: cells of /dev/twheel by libtwheel. Each item has a cell of its own, which it cancels
 * and arms, as a connection has for its requests.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <twheel_cells.h>
#include <unistd.h>

#include "peers.h"

static struct twheel_cell_map map;
static struct twheel_cell_pool pool;

static int open_cells(struct session *session)
{
	int fd = twheel_open(O_NONBLOCK);

	if (fd < 0 || twheel_cell_map_init(&map, fd, session->nr))
		return -errno;
	twheel_cell_pool_init(&pool, &map, CLOCK_MONOTONIC);
	return 0;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];
		int cell = op->handle ? (int)(uint32_t)op->handle - 1 :
					twheel_cell_acquire(&pool, numbers[i]);

		op->handle = cell < 0 ? 0 : twheel_cell_arm(&pool, cell, op->deadline);
		if (!op->handle)
			return -errno;
	}
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (twheel_cell_cancel(&pool, session->ops[numbers[i]].handle))
			return -errno;
		ended(session, numbers[i]);
	}
	return 0;
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct op *op = &session->ops[numbers[i]];

		if (twheel_cell_touch(&pool, op->handle, op->deadline))
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
			failure("twheel_cells: the cell of an event is idle");
		expired(session, number, now);
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
	.batch = 1,
	.open = open_cells,
	.add = add,
	.cancel = cancel,
	.rearm = rearm,
	.take = take,
	.close = close_cells,
};

const struct peer_traits peer_traits = { .in_kernel = true };
