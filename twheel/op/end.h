/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations: the parts of an end, see op.c. They are inlined into complete, signal and expiry: 45
 * instructions less for each. Others call the functions of op.h.
 */
#ifndef _TWHEEL_OP_END_H
#define _TWHEEL_OP_END_H

#include <linux/atomic.h>
#include <linux/sched.h>
#include <trace/events/twheel.h>

#include "../core/callback.h"
#include "op.h"
#include "stack.h"

void twheel_op_done(struct twheel_op *op);
void twheel_op_callback_nested(struct twheel_op *op);

static __always_inline void op_set_ended(struct twheel_op *op)
{
	WRITE_ONCE(op->state, (op->state & OP_OWNED) | OP_ENDED);
}

/*
 * PENDING to ENDED, with the shard locked; after twheel_op_claim_cell() if there is a cell. Return:
 * true if this call ended the operation.
 */
static __always_inline bool op_take(struct twheel_shard *shard, struct twheel_op *op)
{
	if (!twheel_timer_remove(shard, &op->timer))
		return false;
	op_set_ended(op);
	return true;
}

static __always_inline void op_unlink_watch(struct twheel_keys *keys, struct twheel_watch *watch)
{
	const struct twheel_key_at at = twheel_key_lock_irqs_off(keys, watch->hash);

	if (likely(twheel_watch_is_linked(watch)))
		twheel_key_unlink(&at, watch);
	twheel_key_unlock_irqs_off(&at);
}

/*
 * Remove a claimed operation from its keys or its list. Interrupts are disabled, and enabled in
 * between if there are many. Nobody attaches, detaches or signals a watch of an operation that is
 * not pending. A call that is linking attached watches finds the state ENDED, with the bucket
 * locked, or has linked them before this locks it.
 */
static __always_inline void op_unlink(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	unsigned int budget = TWHEEL_LINK_CHUNK;
	struct twheel_watch *watch;

	if (unlikely(!op->nr_watches)) {
		twheel_op_unlist(op);
		return;
	}
	for (watch = op->watches;; watch = watch->next) {
		op_unlink_watch(keys, watch);
		if (likely(!watch->next))
			break;
		if (unlikely(!--budget)) {
			twheel_irqs_enable();
			budget = TWHEEL_LINK_CHUNK;
			twheel_irqs_disable();
		}
	}
}

static __always_inline struct twheel_outcome *op_outcome(struct twheel_op *op)
{
	return op->nr_watches ? &op->watches->outcome : &op->outcome;
}

/* Record the result of a claimed and unlinked operation. */
static __always_inline void op_record(struct twheel_op *op, enum twheel_reason reason, int error,
				      u64 value, u64 time)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_outcome *outcome = op_outcome(op);

	outcome->value = value;
	outcome->time = time;
	op->reason = reason;
	op->error = error;
	this_cpu_inc(purgatory->pools->ended[reason - 1]);
	this_cpu_sub(purgatory->pools->watches, op->nr_watches);
	twheel_purgatory_uncharge_watches(purgatory, op->nr_watches);
	trace_twheel_op_end(op);
}

/*
 * Callbacks must not sleep, which is reported if they do, except on PREEMPT_RT, where spinlocks
 * sleep. The map is that of drain, which waits for all callbacks of the purgatory.
 */
static inline void op_callback_begin(struct twheel_op *op, struct twheel_callback *callback,
				     unsigned long fn)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		non_block_start();
	lock_map_acquire_read(&op->purgatory->map);
	twheel_callback_begin(callback, fn);
}

static inline void op_callback_end(struct twheel_op *op, struct twheel_callback *callback,
				   unsigned long fn)
{
	twheel_callback_end(callback, fn);
	lock_map_release(&op->purgatory->map);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		non_block_end();
}

/*
 * Whether the caller has the only reference. No other holder can take another, unless the
 * operation is looked up in a table.
 */
static __always_inline bool op_is_sole(const struct twheel_op *op)
{
	/* Pairs with the release in refcount_dec_and_test() of those that have dropped theirs. */
	return likely(!op->ops->looked_up) && atomic_read_acquire(&op->ref.refs) == 1;
}

/* Run the callback at any stack depth. @op and its purgatory may be freed. */
static __always_inline void op_callback_now(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->ended;
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_callback callback;

	WRITE_ONCE(op->owner, current->pid);
	op_callback_begin(op, &callback, fn);
	op->ops->ended(op);
	op_callback_end(op, &callback, fn);
	trace_twheel_op_done(op);
	if (likely(op_is_sole(op))) {
		/* Nobody waits, since a waiter has a reference. */
		op->state = OP_DONE;
		op->ops->release(op);
	} else {
		twheel_op_done(op);
	}
	twheel_purgatory_uncharge(purgatory);
}

static __always_inline void op_callback(struct twheel_op *op)
{
	/* From half of the stack on. */
	if (likely(twheel_stack_left() - THREAD_SIZE / 2 < THREAD_SIZE / 2))
		op_callback_now(op);
	else
		twheel_op_callback_nested(op);
}

#endif /* _TWHEEL_OP_END_H */
