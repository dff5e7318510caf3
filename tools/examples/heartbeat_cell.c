// SPDX-License-Identifier: GPL-2.0
/* Sessions that end when their client has been silent for too long. */
#include <stdio.h>
#include <time.h>
#include <twheel_cells.h>

#define MS		1000000ULL
#define MAX_SESSIONS	10000

struct session {
	int cell;
	uint64_t life;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int begin(struct twheel_cell_pool *pool, struct session *session, uint64_t client,
		 uint64_t timeout)
{
	session->cell = twheel_cell_acquire(pool, client);
	if (session->cell < 0)
		return -1;
	session->life = twheel_cell_arm(pool, session->cell, now() + timeout);
	return session->life ? 0 : -1;
}

/* The client has ended its session: there is no event. */
static int log_out(struct twheel_cell_pool *pool, const struct session *session)
{
	if (twheel_cell_cancel(pool, session->life))
		return -1;
	twheel_cell_release(pool, session->cell);
	return 0;
}

static int end_one(struct twheel_cell_pool *pool, const struct session *session)
{
	struct twheel_event event;
	uint64_t client = 0;

	if (twheel_read_events(pool->map->fd, &event, 1) != 1)
		return -1;
	if (twheel_cell_event(pool->map, &event, &client) != session->life)
		return -1;
	printf("client %llu is silent\n", (unsigned long long)client);
	twheel_cell_release(pool, session->cell);
	return 0;
}

int main(void)
{
	struct twheel_cell_pool minutes, moments;
	struct session alive, silent;
	struct twheel_cell_map map;
	int fd = twheel_open(0);

	if (fd < 0 || twheel_cell_map_init(&map, fd, MAX_SESSIONS))
		goto failed;
	twheel_cell_pool_init(&minutes, &map, CLOCK_MONOTONIC);
	twheel_cell_pool_init(&moments, &map, CLOCK_MONOTONIC);
	if (begin(&minutes, &alive, 1, 60000 * MS) || begin(&moments, &silent, 2, 100 * MS))
		goto failed;
	for (int i = 0; i < 1000000; i++) {
		/* A heartbeat: it fails if the session has ended, and its event comes. */
		if (twheel_cell_touch(&minutes, alive.life, now() + 60000 * MS))
			goto failed;
	}
	if (end_one(&moments, &silent) || log_out(&minutes, &alive))
		goto failed;
	twheel_cell_map_free(&map);
	return 0;
failed:
	perror("heartbeat_cell");
	return 1;
}
