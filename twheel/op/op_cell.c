// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: cells, see Documentation/cells-protocol.rst.
 *
 * The word of a cell arbitrates between programs and the kernel, the timer between the ends of the
 * kernel: a claim exchanges the word while the timer is pending, with the shard locked, and then
 * takes the timer off the wheel. The reaper does the same when it expires a timer, see
 * core/cell.c. After that the kernel does not use the word.
 *
 * A program that stores anything into the word ends its operation early or late, or keeps signals
 * from it. It cannot keep it from being cancelled.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/stddef.h>

#include "../core/cell.h"
#include "op.h"

/* See twheel_timer_cell(). */
static_assert(offsetof(struct twheel_cell_op, op.timer) == sizeof(struct twheel_cell_part));

/* TWHEEL_CELL_ENDED, counted as bitops do. */
#define ENDED_BIT	(IS_ENABLED(CONFIG_64BIT) || !IS_ENABLED(CONFIG_CPU_BIG_ENDIAN) ? 63 : 31)

static struct twheel_cell_part *op_cell(struct twheel_op *op)
{
	return twheel_timer_cell(&op->timer);
}

/**
 * twheel_op_init_cell - begin a life of the cell of an operation
 * @op: the operation of a &struct twheel_cell_op, initialised and not added
 * @wheel: the wheel of its deadline
 * @word: the cell; must stay as long as the operation is pending. Programs must not store to it
 *        on a machine without cells, see Documentation/cells-protocol.rst
 * @deadline: as in &struct twheel_op_args
 *
 * Call this before twheel_op_add() with TWHEEL_OP_CELL, which fails if @op does not suit a cell.
 *
 * Context: any.
 * Return: the deadline for the add, rounded up to the unit of cells.
 */
u64 twheel_op_init_cell(struct twheel_op *op, struct twheel *wheel, atomic64_t *word,
			u64 deadline)
{
	u64 units = deadline >> TWHEEL_CELL_SHIFT, time, life;
	struct twheel_cell_part *part = op_cell(op);

	units += units << TWHEEL_CELL_SHIFT != deadline;
	time = min_t(u64, units, TWHEEL_CELL_TIME);
	life = atomic64_read(word) + TWHEEL_CELL_TIME + 1;
	part->word = word;
	part->looked = false;
	twheel_cells_begin(wheel);
	atomic64_set(word, (life & TWHEEL_CELL_LIFE) | time);
	return twheel_cell_time(time);
}
EXPORT_SYMBOL_GPL(twheel_op_init_cell);

/*
 * Exchange the word of a pending operation, with the shard locked, to end the operation. An idle
 * one ends only with @idle: this always succeeds, since the operation would be charged for ever.
 */
bool twheel_op_claim_cell(struct twheel_op *op, bool idle)
{
	struct twheel_cell_part *part = op_cell(op);
	unsigned int tries = TWHEEL_CELL_TRIES;
	u64 word;

	if (idle) {
		do {
			word = atomic64_read(part->word);
		} while (!twheel_cell_exchange(part, word, (word & ~TWHEEL_CELL_IDLE) |
							   TWHEEL_CELL_ENDED) && --tries);
		if (!tries)
			word = atomic64_xchg(part->word, TWHEEL_CELL_ENDED);
	} else {
		/* Of an idle cell the bit means nothing. */
		if (test_and_set_bit(ENDED_BIT, (unsigned long *)part->word))
			return false;
		/* A program may have armed the cell before or after that. */
		word = atomic64_read(part->word);
		if ((word & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE)) != TWHEEL_CELL_ENDED)
			return false;
	}
	part->last = word & ~TWHEEL_CELL_ENDED;
	return true;
}

/* The deadline in the cell of a locked, pending operation. */
u64 twheel_op_read_cell(struct twheel_op *op, bool *idle)
{
	u64 word = atomic64_read(op_cell(op)->word);

	*idle = word & TWHEEL_CELL_IDLE;
	return *idle ? TWHEEL_NEVER : twheel_cell_time(word);
}

/**
 * twheel_op_exchange_cell - change the word of a cell, and perhaps lower its deadline
 * @op: the operation; the caller has a reference, and keeps the cell
 * @from: the expected word, not ended
 * @to: the new word, armed
 *
 * Programs raise a deadline without the kernel. This makes the timer follow an earlier one. The
 * word comes first: a look in between queues the timer for @to.
 *
 * Context: as twheel_op_end().
 * Return:
 * * %0         - the cell has the new word
 * * %-EAGAIN   - it had another one
 * * %-EALREADY - the operation has ended
 * * %-ENOENT   - it was not added
 */
int twheel_op_exchange_cell(struct twheel_op *op, u64 from, u64 to)
{
	struct twheel_shard *shard = twheel_op_lock_pending(op);
	int err = -EAGAIN;

	if (IS_ERR(shard))
		return PTR_ERR(shard);
	twheel_op_unlock_irqs(shard);
	rcu_read_lock();
	if (twheel_cell_exchange(op_cell(op), from, to)) {
		err = 0;
		/* The wheel exists: see op.c. */
		if (twheel_op_state(op) != OP_DONE)
			twheel_timer_rearm(&op->timer, twheel_cell_time(to),
					   TWHEEL_REARM_IF_EARLIER | TWHEEL_REARM_IF_PENDING);
	}
	rcu_read_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_exchange_cell);
