/* SPDX-License-Identifier: GPL-2.0 */
/* Timers with a cell, see cell.c. */
#ifndef _TWHEEL_CORE_CELL_H
#define _TWHEEL_CORE_CELL_H

#include <linux/twheel.h>
#include <linux/types.h>

#include "wheel.h"

struct twheel_shard;

/* Ticks between two looks at a due timer, if the one before them was short, too. */
#define TWHEEL_CELL_FLOOR	16

/* Compare-and-exchanges of a look or a claim before it gives up */
#define TWHEEL_CELL_TRIES	3

/* What precedes a timer with a cell. */
static inline struct twheel_cell_part *twheel_timer_cell(struct twheel_timer *timer)
{
	return (struct twheel_cell_part *)timer - 1;
}

/* The time of a word in ns; TWHEEL_NEVER without one. */
static inline u64 twheel_cell_time(u64 word)
{
	u64 time = word & TWHEEL_CELL_TIME;

	return time == TWHEEL_CELL_TIME ? TWHEEL_NEVER : time << TWHEEL_CELL_SHIFT;
}

/* Return: true if the exchange succeeded. */
static inline bool twheel_cell_exchange(struct twheel_cell_part *part, u64 from, u64 to)
{
	return (u64)atomic64_cmpxchg(part->word, from, to) == from;
}

void twheel_cells_begin(struct twheel *wheel);
bool twheel_cell_cascade(struct twheel_queue *queue, struct twheel_node *node);
bool twheel_cell_expire(struct twheel_shard *shard, struct twheel_timer *timer);

#endif /* _TWHEEL_CORE_CELL_H */
