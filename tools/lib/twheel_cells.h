/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cells: timeouts and heartbeats that a program arms, moves and cancels in mapped memory, without a
 * call. See twheel_cell_arm(3); Documentation/cells-protocol.rst describes the words.
 *
 * A program maps the cells of a descriptor, and acquires one for each connection or request, from
 * a pool for each of its timeouts. Each arming of a cell is a life. A handle names it, so that a
 * late heartbeat does not touch the next one. Deadlines are times of the clock of the pool in ns,
 * as in TWHEEL_ADD_ABSTIME. No function reads a clock.
 *
 * Arming calls the kernel if the cell had a later deadline, or has no operation yet. A released
 * cell keeps its operation, idle. If its deadline passes before it is used again, the kernel parks
 * the operation, and the next arming is a call.
 *
 * A pool is used by one thread at a time, and so is a cell to arm and release it. The functions
 * with handles and twheel_cell_event() may run in all threads. The accesses are those of C11 and
 * C++11, by the names of GCC and clang. Link with -ltwheel. The structures are part of its
 * interface.
 */
#ifndef TWHEEL_CELLS_H
#define TWHEEL_CELLS_H

#include <errno.h>
#include <twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* twheel_cell_slot.state */
#define TWHEEL_CELL_LIVE	1U	/* the event of its operation has not been read */
#define TWHEEL_CELL_RELEASED	2U	/* the event will return the cell */

/**
 * struct twheel_cell_slot - a cell
 * @id: its operation
 * @cookie: from twheel_cell_acquire()
 * @state: TWHEEL_CELL_*
 * @next: next one in a list; the first cell is 1, and 0 ends the list
 */
struct twheel_cell_slot {
	uint64_t id;
	uint64_t cookie;
	uint32_t state;
	uint32_t next;
};

/**
 * struct twheel_cell_map - the mapped cells of a descriptor
 * @fd: the purgatory
 * @nr: number of cells
 * @used: number of cells that were acquired once
 * @ended: released cells without an operation
 * @cells: the words
 * @slots: as many
 * @offset: CLOCK_MONOTONIC and CLOCK_BOOTTIME of the process minus those of the cells
 */
struct twheel_cell_map {
	int fd;
	uint32_t nr;
	uint32_t used;
	uint32_t ended;
	twheel_cell_t *cells;
	struct twheel_cell_slot *slots;
	int64_t offset[2];
};

/**
 * struct twheel_cell_pool - cells with one timeout
 * @map: where they are
 * @free: list of released cells
 * @clock: 0 for CLOCK_MONOTONIC, 1 for CLOCK_BOOTTIME
 * @add: operation of each cell. The program may set condition, keys and nr_keys.
 */
struct twheel_cell_pool {
	struct twheel_cell_map *map;
	uint32_t free;
	uint32_t clock;
	struct twheel_add_args add;
};

/**
 * twheel_cell_map_init() - allocate and map the cells of a descriptor
 * @map: initialised by this
 * @fd: the purgatory; no operation of it has used a cell, also not for an earlier process
 * @nr: number of cells
 *
 * Return: 0; or -1, with EOPNOTSUPP on a machine without cells.
 */
int twheel_cell_map_init(struct twheel_cell_map *map, int fd, uint32_t nr);

/**
 * twheel_cell_remap() - map the cells in a child of fork()
 * @map: its copy of the map
 *
 * Afterwards the functions with handles may be used. Only one process may acquire cells. The child
 * does not know the operations that are added after the fork: twheel_cell_move() of one of them to
 * an earlier deadline fails with ENOENT.
 *
 * Return: 0 or -1.
 */
int twheel_cell_remap(struct twheel_cell_map *map);

/* Unmap the cells. The mapping keeps the descriptor open: close() alone ends no operation. */
void twheel_cell_map_free(struct twheel_cell_map *map);

/* Initialise a pool. @clock: CLOCK_MONOTONIC or CLOCK_BOOTTIME */
void twheel_cell_pool_init(struct twheel_cell_pool *pool, struct twheel_cell_map *map,
			   clockid_t clock);

/*
 * Convert a time of the process, or TWHEEL_NEVER, to that of a word, rounded up. It is not 0: the
 * word of life 0 would be 0, and its event would look like that of an operation without a cell.
 */
static inline uint64_t twheel_cell_time(const struct twheel_cell_pool *pool, uint64_t ns)
{
	int64_t offset = pool->map->offset[pool->clock];

	if (ns > INT64_MAX)
		return TWHEEL_CELL_TIME;
	if ((int64_t)ns <= offset)
		return 1;
	ns = (ns - (uint64_t)offset + (1U << TWHEEL_CELL_SHIFT) - 1) >> TWHEEL_CELL_SHIFT;
	return ns < TWHEEL_CELL_TIME ? ns : TWHEEL_CELL_TIME;
}

/* Convert the time of a word to one of the process, or TWHEEL_NEVER. */
static inline uint64_t twheel_cell_ns(const struct twheel_cell_pool *pool, uint64_t word)
{
	int64_t offset = pool->map->offset[pool->clock];
	int64_t ns = (int64_t)((word & TWHEEL_CELL_TIME) << TWHEEL_CELL_SHIFT) + offset;

	if ((word & TWHEEL_CELL_TIME) == TWHEEL_CELL_TIME)
		return TWHEEL_NEVER;
	return ns > 0 ? (uint64_t)ns : 0;
}

/*
 * A handle has the life of a word, and its number, counted from 1. It may come from elsewhere, and
 * have any value. Return: the word, or NULL with ENOENT.
 */
static inline twheel_cell_t *__twheel_cell_at(const struct twheel_cell_pool *pool, uint64_t handle)
{
	uint32_t cell = (uint32_t)handle - 1;

	if (cell < pool->map->nr)
		return &pool->map->cells[cell];
	errno = ENOENT;
	return NULL;
}

/* Return: true if a word is armed, in the life of a handle. It is 0 before its first life. */
static inline int __twheel_cell_is(uint64_t word, uint64_t handle)
{
	return word && !((word ^ (handle & TWHEEL_CELL_LIFE)) & ~TWHEEL_CELL_TIME);
}

/* The order is for readers of the event and after its end. @word is updated if it fails. */
static inline int __twheel_cell_cas(twheel_cell_t *at, uint64_t *word, uint64_t to)
{
	return __atomic_compare_exchange_n(at, word, to, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/**
 * twheel_cell_move() - move the deadline of a life, also to an earlier one
 *
 * Return: 0; or -1, with ENOENT if the life has ended, and its event comes.
 */
int twheel_cell_move(const struct twheel_cell_pool *pool, uint64_t handle, uint64_t deadline);

/**
 * twheel_cell_move_all() - move lives to a deadline, with few calls
 *
 * Return: the number of lives that could not be moved; their handles are set to 0.
 */
unsigned int twheel_cell_move_all(const struct twheel_cell_pool *pool, uint64_t *handles,
				  unsigned int nr, uint64_t deadline);

/**
 * twheel_cell_touch() - move the deadline of a life, unless it is later already
 *
 * A heartbeat, which is never a call.
 *
 * Return: 0; or -1 with ENOENT if the life has ended, and its event comes.
 */
static inline int twheel_cell_touch(const struct twheel_cell_pool *pool, uint64_t handle,
				    uint64_t deadline)
{
	uint64_t to = (handle & TWHEEL_CELL_LIFE) | twheel_cell_time(pool, deadline);
	twheel_cell_t *at = __twheel_cell_at(pool, handle);
	uint64_t word;

	if (!at)
		return -1;
	word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	do {
		if (!__twheel_cell_is(word, handle)) {
			errno = ENOENT;
			return -1;
		}
	} while (to > word && !__twheel_cell_cas(at, &word, to));
	return 0;
}

/**
 * twheel_cell_cancel() - end a life without an event
 *
 * Return: as twheel_cell_touch().
 */
static inline int twheel_cell_cancel(const struct twheel_cell_pool *pool, uint64_t handle)
{
	twheel_cell_t *at = __twheel_cell_at(pool, handle);
	uint64_t word;

	if (!at)
		return -1;
	word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	do {
		if (!__twheel_cell_is(word, handle)) {
			errno = ENOENT;
			return -1;
		}
	} while (!__twheel_cell_cas(at, &word, word | TWHEEL_CELL_IDLE));
	return 0;
}

/* Return: ns from @now to the deadline of a life, or TWHEEL_NEVER; 0 after it or after its end. */
static inline uint64_t twheel_cell_remaining(const struct twheel_cell_pool *pool, uint64_t handle,
					     uint64_t now)
{
	twheel_cell_t *at = __twheel_cell_at(pool, handle);
	uint64_t word = at ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : TWHEEL_CELL_ENDED;
	uint64_t ns = twheel_cell_ns(pool, word);

	if (!__twheel_cell_is(word, handle) || (ns != TWHEEL_NEVER && ns <= now))
		return 0;
	return ns == TWHEEL_NEVER ? ns : ns - now;
}

/* twheel_cell_arm() with a call. */
uint64_t twheel_cell_begin(const struct twheel_cell_pool *pool, int cell, uint64_t deadline);

/**
 * twheel_cell_arm() - begin a life of an acquired cell, which is not armed
 *
 * If the operation watches keys, check their condition after this.
 *
 * Return: its handle; or 0, with EBUSY if the cell is armed, or the event of its operation has not
 * been read.
 */
static inline uint64_t twheel_cell_arm(const struct twheel_cell_pool *pool, int cell,
				       uint64_t deadline)
{
	twheel_cell_t *at = &pool->map->cells[cell];
	uint64_t word = __atomic_load_n(at, __ATOMIC_ACQUIRE), to;

	do {
		to = ((word + TWHEEL_CELL_TIME + 1) & TWHEEL_CELL_LIFE) |
		     twheel_cell_time(pool, deadline);
		if (!(word & TWHEEL_CELL_IDLE) ||
		    (to & TWHEEL_CELL_TIME) < (word & TWHEEL_CELL_TIME))
			return twheel_cell_begin(pool, cell, deadline);
	} while (!__twheel_cell_cas(at, &word, to));
	if (pool->add.condition)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return (to & TWHEEL_CELL_LIFE) | ((uint32_t)cell + 1);
}

/**
 * twheel_cell_acquire() - acquire a cell
 * @pool: from which
 * @cookie: for twheel_cell_event()
 *
 * Return: its number, or -1 with ENOSPC.
 */
static inline int twheel_cell_acquire(struct twheel_cell_pool *pool, uint64_t cookie)
{
	struct twheel_cell_map *map = pool->map;
	uint32_t cell;

	if (!pool->free && __atomic_load_n(&map->ended, __ATOMIC_RELAXED))
		pool->free = __atomic_exchange_n(&map->ended, 0, __ATOMIC_ACQUIRE);
	cell = pool->free;
	if (cell) {
		pool->free = map->slots[--cell].next;
	} else {
		cell = __atomic_fetch_add(&map->used, 1, __ATOMIC_RELAXED);
		if (cell >= map->nr) {
			__atomic_fetch_sub(&map->used, 1, __ATOMIC_RELAXED);
			errno = ENOSPC;
			return -1;
		}
	}
	map->slots[cell].cookie = cookie;
	return (int)cell;
}

/* Release a cell to the pool of its acquisition. The event of an armed one does not come. */
static inline void twheel_cell_release(struct twheel_cell_pool *pool, int cell)
{
	struct twheel_cell_slot *slot = &pool->map->slots[cell];
	twheel_cell_t *at = &pool->map->cells[cell];
	uint64_t word;

	/* Otherwise the exchange of the next arming would wait for the line. */
	__builtin_prefetch(slot, 1);
	word = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	while (word && !(word & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE)))
		if (__twheel_cell_cas(at, &word, word | TWHEEL_CELL_IDLE))
			word = TWHEEL_CELL_IDLE;
	if (word && !(word & TWHEEL_CELL_IDLE)) {
		/* The event returns it, unless that was read before. */
		if (__atomic_fetch_or(&slot->state, TWHEEL_CELL_RELEASED, __ATOMIC_ACQ_REL))
			return;
		slot->state = 0;
	}
	slot->next = pool->free;
	pool->free = (uint32_t)cell + 1;
}

/**
 * twheel_cell_event() - find the life that an event ends
 * @map: the cells
 * @event: each event of the descriptor
 * @cookie: set to that of the cell, or 0
 *
 * Return: its handle; or 0 for other operations, and if the cell was idle or released.
 */
static inline uint64_t twheel_cell_event(struct twheel_cell_map *map,
					 const struct twheel_event *event, uint64_t *cookie)
{
	uint32_t cell = (uint32_t)event->cookie, first;

	*cookie = 0;
	if (!event->cell || event->cookie >= map->nr)
		return 0;
	*cookie = map->slots[cell].cookie;
	if (__atomic_exchange_n(&map->slots[cell].state, 0, __ATOMIC_ACQ_REL) &
	    TWHEEL_CELL_RELEASED) {
		first = __atomic_load_n(&map->ended, __ATOMIC_RELAXED);
		do {
			map->slots[cell].next = first;
		} while (!__atomic_compare_exchange_n(&map->ended, &first, cell + 1, 1,
						      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
		return 0;
	}
	return event->cell & TWHEEL_CELL_IDLE ? 0 : (event->cell & TWHEEL_CELL_LIFE) | (cell + 1U);
}

#ifdef __cplusplus
}
#endif

#endif /* TWHEEL_CELLS_H */
