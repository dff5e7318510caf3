// SPDX-License-Identifier: GPL-2.0
/* A worker with three requests. Two of them are answered, one of these too late. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <twheel_cells.h>

#define MS		1000000ULL
#define MAX_REQUESTS	1000

struct request {
	int cell;
	uint64_t timeout;	/* the handle of its timeout */
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Begins the timeout of a request. @number tells it from others. */
static int begin(struct twheel_cell_pool *pool, struct request *request, uint64_t number,
		 uint64_t timeout)
{
	request->cell = twheel_cell_acquire(pool, number);
	if (request->cell < 0)
		return -1;
	request->timeout = twheel_cell_arm(pool, request->cell, now() + timeout);
	if (request->timeout)
		return 0;
	twheel_cell_release(pool, request->cell);
	return -1;
}

/* An answer has arrived. If the request has timed out before, its event decides. */
static void answered(struct twheel_cell_pool *pool, const struct request *request, int answer)
{
	if (twheel_cell_cancel(pool, request->timeout)) {
		printf("answer %d is too late\n", answer);
		return;
	}
	printf("answer %d\n", answer);
	twheel_cell_release(pool, request->cell);
}

/* Reads one event. A program with an event loop waits for POLLIN before that. */
static int time_out(struct twheel_cell_pool *pool, const struct request *requests)
{
	struct twheel_event event;
	uint64_t number;

	if (twheel_read_events(pool->map->fd, &event, 1) != 1)
		return -1;
	if (!twheel_cell_event(pool->map, &event, &number))
		return 0;
	printf("request %llu: timeout\n", (unsigned long long)number);
	twheel_cell_release(pool, requests[number].cell);
	return 0;
}

int main(void)
{
	struct request requests[4];
	struct twheel_cell_pool quick, slow;
	struct twheel_cell_map map;
	int fd = twheel_open(0);

	if (fd < 0 || twheel_cell_map_init(&map, fd, MAX_REQUESTS))
		goto failed;
	twheel_cell_pool_init(&quick, &map, CLOCK_MONOTONIC);
	twheel_cell_pool_init(&slow, &map, CLOCK_MONOTONIC);
	if (begin(&slow, &requests[1], 1, 60000 * MS) || begin(&quick, &requests[2], 2, 50 * MS) ||
	    begin(&quick, &requests[3], 3, 100 * MS))
		goto failed;
	answered(&slow, &requests[1], 111);
	if (time_out(&quick, requests))
		goto failed;
	answered(&quick, &requests[2], 222);
	if (time_out(&quick, requests))
		goto failed;
	twheel_cell_map_free(&map);
	return 0;
failed:
	perror("timeout_cell");
	return 1;
}
