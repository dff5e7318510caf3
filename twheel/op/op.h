/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 5: operations. See op.c for their life, op_add.c for its beginning,
 * op.c for the calls that end it, op_deadline.c for its deadline, op.c for its callback.
 */
#ifndef _TWHEEL_OP_OP_H
#define _TWHEEL_OP_OP_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "../core/shard.h"
#include "purgatory.h"

/* The life of an operation, in the low bits of its state word. */
enum twheel_op_state {
	OP_NEW,
	OP_PENDING,
	OP_ENDED,
	OP_UNLINKED,
	OP_DONE,
};

#define OP_STATE		GENMASK(2, 0)
#define OP_OWNED	BIT(3)
#define OP_RECHECK	BIT(4)
#define OP_DEFERRED	BIT(5)
#define OP_ARMED	BIT(6)
#define OP_AWAITED	BIT(7)

/* What is read under the lock is stable; without it, it may have gone on. */
static inline enum twheel_op_state twheel_op_state(const struct twheel_op *op)
{
	return READ_ONCE(op->state) & OP_STATE;
}

static inline struct twheel_op_list *twheel_op_to_list(const struct twheel_op *op)
{
	return &op->purgatory->list[op->list];
}

/* What an operation's deadline is told by; its timer knows. */
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

/* What a call is told that needs an operation which waits. */
static inline int twheel_op_check_pending(const struct twheel_op *op)
{
	enum twheel_op_state life = twheel_op_state(op);

	lockdep_assert_held(&op->lock);
	return life == OP_PENDING ? 0 : life == OP_NEW ? -ENOENT : -EALREADY;
}

/*
 * Our holds of an operation.  All of them together are one reference to it, and one
 * hold of its purgatory, so that what is done to one operation stays with it. The
 * first is that of being parked; others are taken by who has one, or sees it wait.
 */
static inline void twheel_op_hold(struct twheel_op *op)
{
	refcount_inc(&op->holds);
}

static inline void twheel_op_unhold(struct twheel_op *op)
{
	struct twheel_purgatory *purgatory = op->purgatory;

	if (!refcount_dec_and_test(&op->holds))
		return;
	twheel_op_put(op);
	twheel_purgatory_release(purgatory);
}

/* op.c */
void twheel_op_move(struct twheel_op *op, enum twheel_op_state to);
void twheel_op_disown(struct twheel_op *op);
void twheel_op_park(struct twheel_op *op);
bool twheel_op_claim(struct twheel_op *op, enum twheel_reason reason, int error, u64 value);
bool twheel_op_unlink(struct twheel_op *op);
void twheel_op_condition_init(struct twheel_op *op, const struct twheel_op_args *args);
void twheel_op_condition_attach(struct twheel_op *op, u32 nr);
int twheel_op_condition_detach(struct twheel_op *op, const struct twheel_watch *watch);
bool twheel_op_condition_signal(struct twheel_op *op, struct twheel_watch *watch, u64 amount,
				u64 value);
void twheel_op_finish(struct twheel_op *op);
bool twheel_op_serve(struct twheel_op *op);

/* op.c */
void twheel_op_call_back(struct twheel_op *op);
void twheel_op_call_back_now(struct twheel_op *op);
bool twheel_op_take_deferred(struct twheel_op *op);
void twheel_op_wait(struct twheel_op *op);

/* op_deadline.c */
void twheel_op_begin(struct twheel_op *op, struct twheel *wheel,
		     const struct twheel_op_args *args);
bool twheel_op_arm(struct twheel_op *op, u64 slack_ns);
void twheel_op_expired(struct twheel_timer *timer);

/* op_add.c */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags);
int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition);

/* op_watch.c */
u32 twheel_watches_fill(const struct twheel_keys *keys, const struct twheel_watch_spec *specs,
			struct twheel_watch *watches, u32 nr_keys);
void twheel_watches_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr);
void twheel_watches_link(struct twheel_op *op, struct twheel_watch *watches, u32 nr);
int twheel_op_may_watch(struct twheel_op *op);

#endif /* _TWHEEL_OP_OP_H */
