// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: cells, as far as functions call the kernel. See twheel_cells.h.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "twheel_cells.h"

/* Maximum number of deadlines that one call lowers. */
#define BATCH	32

int twheel_cell_remap(struct twheel_cell_map *map)
{
	struct twheel_cells_args args = { .nr = map->nr };
	twheel_cell_t *cells = twheel_cells(map->fd, &args);

	if (!cells)
		return -1;
	map->cells = cells;
	map->nr = args.nr;
	map->offset[0] = args.monotonic_offset;
	map->offset[1] = args.boottime_offset;
	return 0;
}

void twheel_cell_map_free(struct twheel_cell_map *map)
{
	munmap(map->cells, map->nr * sizeof(*map->cells));
	free(map->slots);
}

int twheel_cell_map_init(struct twheel_cell_map *map, int fd, uint32_t nr)
{
	*map = (struct twheel_cell_map){ .fd = fd, .nr = nr };
	if (twheel_cell_remap(map))
		return -1;
	map->slots = calloc(map->nr, sizeof(*map->slots));
	if (map->slots)
		return 0;
	twheel_cell_map_free(map);
	errno = ENOMEM;
	return -1;
}

void twheel_cell_pool_init(struct twheel_cell_pool *pool, struct twheel_cell_map *map,
			   clockid_t clock)
{
	*pool = (struct twheel_cell_pool){
		.map = map,
		.clock = clock != CLOCK_MONOTONIC,
		.add = { .flags = TWHEEL_ADD_CELL | TWHEEL_ADD_ABSTIME, .clock = clock },
	};
}

/*
 * Move a life, or @begin that of an idle cell, without a call, for which @call is set otherwise.
 * Return: 0; 1 for the call; -1 with ENOENT.
 */
static int try_move(const struct twheel_cell_pool *pool, uint64_t handle, uint64_t deadline,
		    int begin, struct twheel_exchange_args *call)
{
	uint64_t to = (handle & TWHEEL_CELL_LIFE) | twheel_cell_time(pool, deadline), life;
	twheel_cell_t *at = __twheel_cell_at(pool, handle);
	uint64_t word;

	if (!at)
		return -1;
	word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	do {
		/* The next life of an idle cell */
		life = (word + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE;
		if (!__twheel_cell_is(word, handle) &&
		    !(begin && word & TWHEEL_CELL_IDLE && life == (handle & TWHEEL_CELL_LIFE))) {
			errno = ENOENT;
			return -1;
		}
		if ((to & TWHEEL_CELL_TIME) < (word & TWHEEL_CELL_TIME)) {
			*call = (struct twheel_exchange_args){
				.id = pool->map->slots[at - pool->map->cells].id,
				.from = word,
				.to = to,
			};
			return 1;
		}
	} while (!__twheel_cell_cas(at, &word, to));
	return 0;
}

static int begin_or_move(const struct twheel_cell_pool *pool, uint64_t handle, uint64_t deadline,
			 int begin)
{
	struct twheel_exchange_args call;
	int status;

	do {
		status = try_move(pool, handle, deadline, begin, &call);
		if (status > 0)
			status = twheel_exchange(pool->map->fd, call.id, call.from, call.to);
	} while (status && errno == EAGAIN);
	return status;
}

int twheel_cell_move(const struct twheel_cell_pool *pool, uint64_t handle, uint64_t deadline)
{
	return begin_or_move(pool, handle, deadline, 0);
}

unsigned int twheel_cell_move_all(const struct twheel_cell_pool *pool, uint64_t *handles,
				  unsigned int nr, uint64_t deadline)
{
	struct {
		struct twheel_command head;
		struct twheel_exchange_args args;
	} calls[BATCH] = { 0 };
	struct twheel_result results[BATCH];
	unsigned int index[BATCH], i, j, used = 0, failed = 0;
	int status;

	for (i = 0; i < nr; i++) {
		status = 0;
		if (handles[i])
			status = try_move(pool, handles[i], deadline, 0, &calls[used].args);
		if (status < 0) {
			handles[i] = 0;
			failed++;
		} else if (status > 0) {
			calls[used].head.cmd = TWHEEL_IOC_EXCHANGE;
			index[used++] = i;
		}
		if (!used || (used < BATCH && i + 1 < nr))
			continue;
		status = twheel_execute(pool->map->fd, &calls[0].head, used * sizeof(calls[0]),
					results, used, 0);
		for (j = 0; j < used; j++) {
			if ((int)j < status && !results[j].error)
				continue;
			/* Again, for example since the program has touched it meanwhile. */
			if (twheel_cell_move(pool, handles[index[j]], deadline)) {
				handles[index[j]] = 0;
				failed++;
			}
		}
		used = 0;
	}
	return failed;
}

/* The deadline is earlier than that of the idle cell, or the cell has no operation. */
uint64_t twheel_cell_begin(const struct twheel_cell_pool *pool, int cell, uint64_t deadline)
{
	struct twheel_cell_slot *slot = &pool->map->slots[cell];
	uint64_t word = __atomic_load_n(&pool->map->cells[cell], __ATOMIC_ACQUIRE);
	uint64_t handle = ((word + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE) | (cell + 1U);
	struct twheel_add_args add = pool->add;

	if (word & TWHEEL_CELL_IDLE)
		return begin_or_move(pool, handle, deadline, 1) ? 0 : handle;
	if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & TWHEEL_CELL_LIVE) {
		errno = EBUSY;
		return 0;
	}
	add.deadline = twheel_cell_ns(pool, twheel_cell_time(pool, deadline));
	add.cookie = cell;
	add.cell = cell;
	/* First, since another thread may read the event before this one has the id. */
	__atomic_store_n(&slot->state, TWHEEL_CELL_LIVE, __ATOMIC_RELEASE);
	if (twheel_add(pool->map->fd, &add)) {
		__atomic_store_n(&slot->state, 0, __ATOMIC_RELEASE);
		return 0;
	}
	slot->id = add.id;
	return handle;
}
