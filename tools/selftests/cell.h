/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests of cells: what a program does with the words. */
#ifndef _TWHEEL_CELL_H
#define _TWHEEL_CELL_H

#include "selftest.h"

#define LIFE	(TWHEEL_CELL_TIME + 1)
#define UNIT	65536ULL	/* 2 to the power of TWHEEL_CELL_SHIFT */

/* Unlike __u64, also aligned in 32-bit programs, whose exchanges would be slow otherwise. */
typedef __u64 __attribute__((aligned(8))) cell_t;

/* The unit of a time of CLOCK_MONOTONIC, rounded up. */
static inline __u64 units(__u64 ns)
{
	return (ns + UNIT - 1) / UNIT;
}

static inline __u64 cell_read(cell_t *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

static inline bool cell_exchange(cell_t *cell, __u64 from, __u64 to)
{
	return __atomic_compare_exchange_n(cell, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static inline bool is_armed(__u64 word)
{
	return !(word & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE));
}

/* Raise the time of an armed cell to @ns. Return: false if it is not armed. */
static inline bool cell_touch(cell_t *cell, __u64 ns)
{
	__u64 word, to;

	do {
		word = cell_read(cell);
		if (!is_armed(word))
			return false;
		to = (word & TWHEEL_CELL_LIFE) | units(ns);
	} while (to > word && !cell_exchange(cell, word, to));
	return true;
}

/* Make an armed cell idle. Return: false if it is not armed. */
static inline bool cell_cancel(cell_t *cell)
{
	__u64 word;

	do {
		word = cell_read(cell);
		if (!is_armed(word))
			return false;
	} while (!cell_exchange(cell, word, word | TWHEEL_CELL_IDLE));
	return true;
}

/* The word of the next life of an idle cell. */
static inline __u64 next_life(__u64 word, __u64 ns)
{
	return ((word + LIFE) & TWHEEL_CELL_LIFE) | units(ns);
}

/* Allocate and map at least @nr cells. Return: NULL if that failed, with errno. */
static inline cell_t *map_cells(int fd, __u32 nr)
{
	struct twheel_cells_args args = { .nr = nr };
	cell_t *cells;

	if (call(fd, TWHEEL_IOC_CELLS, &args))
		return NULL;
	cells = mmap(NULL, args.nr * sizeof(*cells), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return cells == MAP_FAILED ? NULL : cells;
}

/* Add an operation that uses cell @nr and watches key @key, unless this is 0. */
static inline __u64 add_cell(int fd, __u32 nr, __u64 delay, __u64 key)
{
	struct twheel_watch_spec spec = spec_of(key, 1);
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_CELL,
		.clock = CLOCK_MONOTONIC,
		.deadline = delay,
		.cookie = nr,
		.cell = nr,
	};

	if (key) {
		args.condition = TWHEEL_COND_ANY;
		args.nr_keys = 1;
		args.keys = address(&spec);
		args.key_size = sizeof(spec);
	}
	return op_add(fd, &args) ? 0 : args.id;
}

/* Change a word by a call. */
static inline int op_exchange(int fd, __u64 id, __u64 from, __u64 to)
{
	struct twheel_exchange_args args = { .id = id, .from = from, .to = to };

	return call(fd, TWHEEL_IOC_EXCHANGE, &args);
}

#endif /* _TWHEEL_CELL_H */
