/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the state word, and the calls between the files of this folder. See op.c. */
#ifndef _TWHEEL_OP_OP_H
#define _TWHEEL_OP_OP_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/refcount.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "../core/shard.h"
#include "purgatory.h"

/* The state of an operation, in the low bits of op->state. */
enum twheel_op_state {
	OP_NEW,
	OP_PENDING,
	OP_ENDED,
	OP_UNLINKED,
	OP_DONE,
};

#define OP_STATE	GENMASK(2, 0)
#define OP_OWNED	BIT(3)	/* a thread runs the predicate, or ends the operation */
#define OP_RECHECK	BIT(4)	/* the predicate has to run once more */
#define OP_DEFERRED	BIT(5)	/* the callback is left to the reaper */
#define OP_ARMED	BIT(6)	/* the timer follows the deadline, see op_deadline.c */
#define OP_HANDED_OVER	BIT(7)	/* ended while another thread is the owner */
#define OP_TIMER_HOLD	BIT(8)	/* the callback drops the hold of the timer, too */

/* Stable with op->lock held, a snapshot otherwise. */
static inline enum twheel_op_state twheel_op_state(const struct twheel_op *op)
{
	return READ_ONCE(op->state) & OP_STATE;
}

static inline struct twheel_op_list *twheel_op_to_list(const struct twheel_op *op)
{
	return &op->purgatory->list[op->list];
}

/* The timer may move meanwhile, but all shards of its wheel have the same clock. */
static inline enum twheel_clock twheel_op_clock(const struct twheel_op *op)
{
	return twheel_timer_shard(&op->timer)->clock;
}

static inline u64 twheel_op_now(const struct twheel_op *op)
{
	return twheel_clock_ns(twheel_op_clock(op));
}

static inline bool twheel_op_has_predicate(const struct twheel_op *op)
{
	return op->condition == TWHEEL_COND_PREDICATE;
}

/* Whether a condition counts the signals of each key. */
static inline bool twheel_op_counts_signals(enum twheel_condition condition)
{
	return condition == TWHEEL_COND_ANY || condition == TWHEEL_COND_ALL ||
	       condition == TWHEEL_COND_QUORUM;
}

/* Return: 0 if pending, -ENOENT before that, -EALREADY after that. */
static inline int twheel_op_check_pending(const struct twheel_op *op)
{
	enum twheel_op_state state = twheel_op_state(op);

	lockdep_assert_held(&op->lock);
	return state == OP_PENDING ? 0 : state == OP_NEW ? -ENOENT : -EALREADY;
}

/*
 * Internal references. All holds of an operation together are one reference to it and one
 * hold of its list, so that further holds write to the operation only. The first one is taken
 * by the add and dropped after the callback. Others are taken by a caller that has a
 * hold, by the owner, or while @op is pending under op->lock or list->lock.
 */
static inline void twheel_op_hold(struct twheel_op *op)
{
	refcount_inc(&op->holds);
}

/* The operation and its purgatory may be freed. */
static inline void twheel_op_unhold_many(struct twheel_op *op, int nr)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_op_list *list = twheel_op_to_list(op);

	if (!refcount_sub_and_test(nr, &op->holds))
		return;
	twheel_op_put(op);
	twheel_op_list_release(purgatory, list);
}

static inline void twheel_op_unhold(struct twheel_op *op)
{
	twheel_op_unhold_many(op, 1);
}

/*
 * Let the callback drop a hold of the timer, to save an atomic operation. The caller is the owner
 * of an unlinked operation, so nobody else changes the state. Return: false if the callback drops
 * one already: the timer was armed again while its function ran, and cancelled.
 */
static inline bool twheel_op_leave_timer_hold(struct twheel_op *op)
{
	u16 state = READ_ONCE(op->state);

	WRITE_ONCE(op->state, state | OP_TIMER_HOLD);
	return !(state & OP_TIMER_HOLD);
}

/* op.c */
bool twheel_op_claim(struct twheel_op *op, enum twheel_reason reason, int error, u64 value);
bool twheel_op_unlink(struct twheel_op *op);
void twheel_op_callback(struct twheel_op *op);
void twheel_op_callback_now(struct twheel_op *op);
void twheel_op_finish(struct twheel_op *op);
bool twheel_op_take_deferred(struct twheel_op *op);
bool twheel_op_serve(struct twheel_op *op);
void twheel_op_condition_attach(struct twheel_op *op, u32 nr);
int twheel_op_condition_detach(struct twheel_op *op, const struct twheel_watch *watch);
bool twheel_op_condition_signal(struct twheel_op *op, struct twheel_watch *watch, u64 amount);

/* op_deadline.c */
bool twheel_op_deadline_init(struct twheel_op *op, struct twheel *wheel,
			     const struct twheel_op_args *args);
void twheel_op_start_timer(struct twheel_op *op);
bool twheel_op_arm(struct twheel_op *op, u64 slack_ns);

/* op_add.c */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags);
int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition);
void twheel_watches_fill(const struct twheel_keys *keys, const struct twheel_watch_spec *specs,
			 struct twheel_watch *watches, u32 nr_keys);
void twheel_watches_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr);
void twheel_watches_link(struct twheel_op *op, struct twheel_watch *watches, u32 nr);

#endif /* _TWHEEL_OP_OP_H */
