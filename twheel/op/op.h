/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the state, and the calls between the files of this folder. See op.c. */
#ifndef _TWHEEL_OP_OP_H
#define _TWHEEL_OP_OP_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <trace/events/twheel.h>

#include "../core/callback.h"
#include "../core/shard.h"
#include "../core/timer.h"
#include "purgatory.h"

/*
 * The state of an operation, in the low bits of op->state. One whose timer the reaper has popped
 * looks PENDING until the function of the timer runs.
 */
enum twheel_op_state {
	OP_NEW,
	OP_PENDING,
	OP_ENDED,
	OP_DONE,
};

#define OP_STATE	GENMASK(1, 0)
#define OP_OWNED	BIT(2)	/* a thread runs the predicate, or the callback after it */
#define OP_RECHECK	BIT(3)	/* the predicate has to run once more */
#define OP_LEFT		BIT(4)	/* ended and unlinked; the owner runs the callback */

/* Stable while the operation is locked, a snapshot otherwise. */
static inline enum twheel_op_state twheel_op_state(const struct twheel_op *op)
{
	return READ_ONCE(op->state) & OP_STATE;
}

/* The shard may change meanwhile, but all shards of its wheel have the same clock. */
static inline enum twheel_clock twheel_op_clock(const struct twheel_op *op)
{
	return twheel_timer_shard(&op->timer)->clock;
}

static __always_inline bool twheel_op_has_cell(const struct twheel_op *op)
{
	return unlikely(READ_ONCE(op->timer.shard_flags) & TWHEEL_TIMER_CELL);
}

static inline bool twheel_op_has_predicate(const struct twheel_op *op)
{
	return op->condition == TWHEEL_COND_PREDICATE;
}

/* Whether a condition counts the signals of each key. */
static inline bool twheel_op_counts_signals(enum twheel_condition condition)
{
	return condition >= TWHEEL_COND_ANY && condition <= TWHEEL_COND_QUORUM;
}

static __always_inline struct twheel_shard *op_lock(struct twheel_op *op, bool may_be_done)
{
	struct twheel_shard *shard;

	for (;;) {
		shard = twheel_timer_predict_shard(&op->timer);
		if (unlikely(!shard || (may_be_done && twheel_op_state(op) == OP_DONE)))
			return NULL;
		spin_lock(&shard->lock);
		if (likely(shard == twheel_timer_shard(&op->timer)))
			break;
		spin_unlock(&shard->lock);
	}
	/* Sparse does not count a lock that is only held in some cases. */
	__release(&shard->lock);
	return shard;
}

/*
 * Lock an operation: its shard. Interrupts are disabled. Return: NULL if it was not added, or is
 * done. Its wheel may have been destroyed in these cases, and is freed after a grace period.
 */
static __always_inline struct twheel_shard *twheel_op_lock(struct twheel_op *op)
{
	return op_lock(op, true);
}

/* Lock an operation with a watch in a locked bucket. Return: NULL if its add links further keys. */
static __always_inline struct twheel_shard *twheel_op_lock_linked(struct twheel_op *op)
{
	return op_lock(op, false);
}

static __always_inline void twheel_op_unlock(struct twheel_shard *shard)
{
	__acquire(&shard->lock);
	spin_unlock(&shard->lock);
}

/* Lock a pending operation and disable interrupts. Return: an ERR_PTR() if it is not pending. */
struct twheel_shard *twheel_op_lock_pending(struct twheel_op *op);

/* These unlock a pending operation, which may be freed, and enable interrupts. */
int twheel_op_end_locked(struct twheel_op *op, enum twheel_reason reason, int error, u64 value);
int twheel_op_rearm_locked(struct twheel_op *op, u64 deadline, u64 slack_ns,
			   enum twheel_rearm mode);

static inline void twheel_op_unlock_irqs(struct twheel_shard *shard)
{
	twheel_op_unlock(shard);
	twheel_irqs_enable();
}

/* op.c */
void twheel_op_arm(struct twheel_op *op, u64 deadline, u64 slack_ns);
void twheel_op_leak(struct twheel_op *op);
void twheel_op_unlink(struct twheel_op *op);
void twheel_op_list(struct twheel_op *op);
void twheel_op_unlist(struct twheel_op *op);
void twheel_op_complete_claimed(struct twheel_op *op, u64 value);
void twheel_op_callback(struct twheel_op *op);
void twheel_op_callback_nested(struct twheel_op *op);
void twheel_op_done(struct twheel_op *op);
void twheel_op_timer_fn(struct twheel_timer *timer);

/* predicate.c */
bool twheel_op_leave(struct twheel_op *op);
bool twheel_op_serve(struct twheel_op *op);

static_assert(TWHEEL_COND_NONE == 0 && TWHEEL_COND_ANY == 1);

/* Whether an add is of the most frequent kinds, with one key or none, whose arguments are valid. */
static __always_inline bool twheel_args_are_simple(const struct twheel_op_args *args)
{
	return args->nr_keys <= 1 && args->condition == args->nr_keys &&
	       !((args->flags & ~TWHEEL_OP_MAY_SLEEP) | args->quorum | args->threshold |
		 (unsigned long)args->wheel) &&
	       (!args->nr_keys || args->specs->need <= TWHEEL_MAX_NEED);
}

/* op_add.c */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags);

/* op_watch.c */
int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition, bool cell);
void twheel_watches_init_rest(struct twheel_op *op, const struct twheel_keys *keys,
			      const struct twheel_watch_spec *specs, struct twheel_watch *watches,
			      u32 nr);
int twheel_op_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr, bool charged);

/* iter.c */
int twheel_op_change_begin(struct twheel_op *op);
void twheel_op_change_end(struct twheel_purgatory *purgatory);

/* op_cell.c */
bool twheel_op_claim_cell(struct twheel_op *op, bool idle);
u64 twheel_op_read_cell(struct twheel_op *op, bool *idle);

/* Drop a reference. Return: true if it was the last one, and the caller has to free @op. */
static __always_inline bool twheel_op_put_last(struct twheel_op *op)
{
	enum twheel_op_state state;

	if (!refcount_dec_and_test(&op->ref))
		return false;
	state = twheel_op_state(op);
	if (likely(state == OP_DONE || state == OP_NEW))
		return true;
	twheel_op_leak(op);
	return false;
}

/* See twheel_op_get_result(). Inlined for the device: 20 instructions less for an event. */
static __always_inline void op_get_result(const struct twheel_op *op,
					  struct twheel_op_result *result)
{
	const struct twheel_outcome *outcome = &op->outcome;
	const struct twheel_watch *watch;
	u64 satisfied = 0;

	WARN_ON_ONCE(twheel_op_state(op) < OP_ENDED);
	result->missing = 0;
	if (likely(op->nr_watches)) {
		outcome = &op->watches->outcome;
		result->missing = op->missing;
		for (watch = op->watches; watch; watch = watch->next)
			if (!watch->need)
				satisfied |= BIT_ULL(watch->bit);
	}
	result->reason = op->reason;
	result->error = op->error;
	result->value = outcome->value;
	result->deadline = op->deadline;
	result->time = outcome->time;
	result->satisfied = satisfied;
}

/* Times past the end of the clock are never. */
static inline u64 twheel_deadline_of(u64 ns)
{
	return unlikely(ns > KTIME_MAX) ? TWHEEL_NEVER : ns;
}

/* Initialise a watch, the last one of some. */
static __always_inline void twheel_watch_init(struct twheel_op *op, const struct twheel_keys *keys,
					      const struct twheel_watch_spec *spec,
					      struct twheel_watch *watch, u32 bit)
{
	const struct twheel_key key = spec->key;

	watch->key_prev = NULL;
	watch->key = key;
	watch->op = op;
	watch->next = NULL;
	watch->need = spec->need + !spec->need;
	watch->bit = bit;
	watch->hash = twheel_keys_hash(keys, &key);
}

/*
 * The depth of the stack, for calls that their consumers can nest.
 *
 * Such a call needs half of the stack of the task. Softirqs, interrupts and NMIs have stacks of
 * their own, of unknown bounds. They do not migrate, so calls on these stacks are counted
 * per CPU. On PREEMPT_RT softirqs run on the stack of a task.
 */

/* Maximum number of nested calls on another stack than that of the task. */
#define TWHEEL_NESTED_MAX	4

/* Half of the locks of a task that lockdep can count. A nested callback has two. */
#define TWHEEL_LOCKS_MAX	24

DECLARE_PER_CPU(unsigned int, twheel_nested);

/* Return: the free part of the stack of the task; at least THREAD_SIZE on another stack. */
static inline unsigned long twheel_stack_left(void)
{
	return (unsigned long)__builtin_frame_address(0) -
	       (unsigned long)task_stack_page(current);
}

static inline bool twheel_on_task_stack(void)
{
	return twheel_stack_left() < THREAD_SIZE;
}

static inline bool twheel_stack_is_deep(void)
{
	if (lockdep_depth(current) > TWHEEL_LOCKS_MAX)
		return true;
	if (unlikely(!twheel_on_task_stack()))
		return this_cpu_read(twheel_nested) >= TWHEEL_NESTED_MAX;
	return twheel_stack_left() < THREAD_SIZE / 2;
}

/*
 * The parts of an end, see op.c. They are inlined into complete, signal and expiry: 45 instructions
 * less for each.
 */

static __always_inline void op_set_ended(struct twheel_op *op)
{
	WRITE_ONCE(op->state, (op->state & OP_OWNED) | OP_ENDED);
}

/* PENDING to ENDED, with the shard locked; after twheel_op_claim_cell() if there is a cell. */
static __always_inline void op_take(struct twheel_shard *shard, struct twheel_op *op)
{
	twheel_timer_remove_pending(shard, &op->timer);
	op_set_ended(op);
}

static __always_inline void op_unlink_watch(struct twheel_keys *keys, struct twheel_watch *watch)
{
	const struct twheel_key_at at = twheel_key_lock_irqs_off(keys, watch->hash);

	if (likely(twheel_watch_is_linked(watch)))
		twheel_key_unlink(&at, watch);
	twheel_key_unlock_irqs_off(&at);
}

/*
 * Remove a claimed operation from its keys or its list. Interrupts are disabled, and enabled
 * between two keys. Nobody attaches, detaches or signals a watch of an operation that is
 * not pending. A call that is linking attached watches finds the state ENDED, with the bucket
 * locked, or has linked them before this locks it.
 */
static __always_inline void op_unlink(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_watch *watch;

	if (unlikely(!op->nr_watches)) {
		twheel_op_unlist(op);
		return;
	}
	for (watch = op->watches;; watch = watch->next) {
		op_unlink_watch(keys, watch);
		if (likely(!watch->next))
			break;
		twheel_irqs_enable();
		twheel_irqs_disable();
	}
}

/* Record the result of a claimed and unlinked operation. */
static __always_inline void op_record(struct twheel_op *op, enum twheel_reason reason, int error,
				      u64 value, u64 time)
{
	struct twheel_purgatory *purgatory = op->purgatory;
	struct twheel_pool __percpu *pools = purgatory->pools;
	struct twheel_outcome *outcome = op->nr_watches ? &op->watches->outcome : &op->outcome;

	outcome->value = value;
	outcome->time = time;
	op->reason = reason;
	op->error = error;
	this_cpu_inc(pools->ended[reason - 1]);
	this_cpu_sub(pools->watches, op->nr_watches);
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
	if (likely(twheel_stack_left() - THREAD_SIZE / 2 < THREAD_SIZE / 2) &&
	    lockdep_depth(current) <= TWHEEL_LOCKS_MAX)
		op_callback_now(op);
	else
		twheel_op_callback_nested(op);
}

#endif /* _TWHEEL_OP_OP_H */
