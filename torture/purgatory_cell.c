// SPDX-License-Identifier: GPL-2.0
/*
 * Operations with their deadline in a cell: callers play the program that maps it.
 *
 * They raise the deadline, cancel a life and arm the next one by a compare-and-exchange, and lower
 * the deadline of half of the operations by a call. An operation that has expired or was completed
 * names an armed word, the last one that a program has exchanged. One in eight is hostile: random
 * words are stored, and only the number of its ends is checked.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>

#include "purgatory.h"

#define NEXT_LIFE	(TWHEEL_CELL_TIME + 1)
#define LIFE_AND_TIME	(TWHEEL_CELL_LIFE | TWHEEL_CELL_TIME)

static_assert(sizeof(struct twheel_cell_part) <= sizeof(struct twheel_wall_part));

/* Not the first unit, which is the time of an immediate deadline. */
#define LATER_TIME	(TWHEEL_CELL_TIME - 1)

static u64 word_at_end(struct torture_op *o)
{
	return container_of(&o->op, struct twheel_cell_op, op)->part.last;
}

static u64 word_deadline(u64 word)
{
	u64 time = word & TWHEEL_CELL_TIME;

	return time == TWHEEL_CELL_TIME ? TWHEEL_NEVER : time << TWHEEL_CELL_SHIFT;
}

/* Prepare the add of an operation, which no call has added yet. */
void op_begin_life(struct torture_op *o)
{
	u64 before = atomic64_read(&o->cell) & TWHEEL_CELL_LIFE;

	o->deadline = twheel_op_init_cell(&o->op, o->p->wheel[o->wheel], &o->cell, o->deadline);
	o->next_deadline = o->deadline;
	if (!o->hostile && (atomic64_read(&o->cell) & TWHEEL_CELL_LIFE) <= before)
		op_fail(FAIL_RESULT, o, "added in a life that its cell has had");
}

/* The order of words: an idle one is followed by those of the next life. */
static u64 order_of(u64 word)
{
	return word & TWHEEL_CELL_IDLE ? (word & TWHEEL_CELL_LIFE) + NEXT_LIFE :
					 word & LIFE_AND_TIME;
}

/* A program has exchanged its word: the operation does not end with an earlier one. */
static void exchanged(struct torture_op *o, u64 word)
{
	outcome_raise(&o->least_word, order_of(word) & (o->lowered ? TWHEEL_CELL_LIFE : ~0ULL));
}

/* The next word that a program wants; without TWHEEL_CELL_IDLE, also one that is earlier. */
static u64 next_word(u64 word, struct rnd_state *rng, u64 deadline)
{
	if (!(word & TWHEEL_CELL_IDLE) && !torture_below(rng, 4))
		return word | TWHEEL_CELL_IDLE;
	if (word & TWHEEL_CELL_IDLE)
		word = (word + NEXT_LIFE) & LIFE_AND_TIME;
	return (word & ~TWHEEL_CELL_TIME) |
	       min_t(u64, (deadline >> TWHEEL_CELL_SHIFT) + 1, TWHEEL_CELL_TIME);
}

static void exchange(struct torture_op *o, u64 from, u64 to)
{
	bool added = smp_load_acquire(&o->added);	/* rules out -ENOENT */
	bool ended = READ_ONCE(o->known_ended);

	switch (twheel_op_exchange_cell(&o->op, from, to)) {
	case 0:
		if (ended)
			op_fail(FAIL_TWICE, o, "its cell was exchanged after the end");
		break;
	case -EAGAIN:
	case -EALREADY:
		break;
	case -ENOENT:
		if (!added)
			break;
		fallthrough;
	default:
		op_fail(FAIL_RESULT, o, "unexpected result of exchange_cell");
	}
}

/* What a program does with a cell. */
void op_use_cell(struct torture_op *o, struct rnd_state *rng)
{
	u64 word = atomic64_read(&o->cell), to;

	if (o->hostile && torture_below(rng, 4)) {
		to = (u64)prandom_u32_state(rng) << 32 | prandom_u32_state(rng);
		atomic64_set(&o->cell, to);
		return;
	}
	if ((word & (TWHEEL_CELL_ENDED | TWHEEL_CELL_IDLE)) == TWHEEL_CELL_ENDED)
		return;
	to = next_word(word, rng, torture_deadline(rng, o->p->wheel[o->wheel]));
	if ((to & TWHEEL_CELL_TIME) < (word & TWHEEL_CELL_TIME)) {
		if (o->lowered)
			exchange(o, word, to);
		return;
	}
	/* The add stores the first word, whatever was there. */
	if (!smp_load_acquire(&o->added))
		return;
	if (to & TWHEEL_CELL_IDLE)
		WRITE_ONCE(o->idled, true);	/* ordered by the exchange */
	if ((u64)atomic64_cmpxchg(&o->cell, word, to) == word)
		exchanged(o, to);
}

/* Cancel what twheel_complete_all() may leave pending. No other calls are in progress. */
void purgatory_cancel_idle(struct torture_purgatory *p)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;

	twheel_op_iter_start(&iter, p->purgatory);
	while ((op = twheel_op_iter_next(&iter)))
		if (op_may_be_idle(container_of(op, struct torture_op, op)))
			op_cancel(container_of(op, struct torture_op, op));
	twheel_op_iter_end(&iter);
}

/* Check the word of an operation that has ended. */
void op_check_word(struct torture_op *o, const struct twheel_op_result *result)
{
	u64 word = word_at_end(o), deadline = word_deadline(word);

	if (o->hostile)
		return;
	o->last_word = word;
	if (word & TWHEEL_CELL_ENDED ||
	    (word & TWHEEL_CELL_IDLE && result->reason != TWHEEL_REASON_CANCELLED))
		op_fail(FAIL_EARLY, o, "expired or completed while its cell was idle");
	if (result->reason != TWHEEL_REASON_EXPIRED || READ_ONCE(o->expire_called))
		return;
	if (result->time < deadline)
		op_fail(FAIL_EARLY, o, "expired before the deadline in its cell");
	else if (result->time - deadline > TORTURE_LOST_NS && word & LATER_TIME)
		op_fail(FAIL_LOST, o, "expired long after the deadline in its cell");
}

/* Check it again when no program uses the cell. */
void op_check_last_word(struct torture_op *o)
{
	if (o->has_cell && !o->hostile && o->added &&
	    order_of(o->last_word) < (u64)atomic64_read(&o->least_word))
		op_fail(FAIL_LOST, o, "a change of its cell was lost");
}
