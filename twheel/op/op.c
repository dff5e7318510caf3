// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the life of an operation, its condition, its callbacks.
 *
 *
 * Overview
 * --------
 *
 * An operation is added to a purgatory (op_add.c), may watch keys (op_watch.c, signal.c) and
 * has a deadline (op_deadline.c). Its life is one state word, op->state:
 *
 *	NEW -----> PENDING -----> ENDED -----> UNLINKED -----> DONE
 *	     park          claim        unlink         callback
 *
 * Each state is entered at most once. Every end has the same three steps:
 *
 *   claim	twheel_op_claim(), with op->lock held: PENDING to ENDED. Exactly one caller
 *		succeeds; the others fail with -EALREADY. Removes the operation from the list of
 *		its purgatory, uncharges it, records the result, and takes ownership if the
 *		operation has no owner.
 *   unlink	twheel_op_unlink(), by the caller that claimed it, with no lock held: cancels the
 *		timer and unlinks the watches.
 *   callback	twheel_op_callback(), by the owner, with no lock held: calls ->ended(), drops
 *		ownership and the first hold.
 *
 * twheel_op_finish() is unlink and callback. A signal, a predicate that returns true,
 * complete, cancel, expiry and drain all end in these steps. UNLINKED is skipped if the
 * caller of the claim became the owner.
 *
 *
 * Ownership
 * ---------
 *
 * Callbacks of the consumer for one operation run one at a time, by the thread that set
 * OP_OWNED, with no lock held. Another thread that finds OP_OWNED set does not wait. It sets
 * OP_RECHECK to have the predicate run once more, or OP_HANDED_OVER and then UNLINKED to have
 * the callback run. The owner of a pending operation clears OP_OWNED only with op->lock held
 * and after checking for both, so no request is lost:
 *
 *	owner (twheel_op_serve)            another thread
 *	-----------------------            --------------
 *	lock; clear RECHECK; unlock
 *	run the predicate                  lock; OWNED: set RECHECK (or UNLINKED); unlock
 *	lock; RECHECK (or UNLINKED) set:
 *	  repeat (or run the callback)
 *	else clear OWNED; unlock
 *	                                   lock; not OWNED: set OWNED; unlock; serve
 *
 * If the owner finds the state ENDED, the claimant has not finished unlinking. The owner
 * clears OP_OWNED, and the claimant becomes the owner in twheel_op_unlink().
 *
 * The owner of an ended and unlinked operation is the only thread that changes its state, so it
 * sets OP_TIMER_HOLD and enters DONE without op->lock.
 *
 * A thread that failed to take a lock of the operation and went away would lose the check that it
 * had wanted. Threads that waited for such a lock, or ran callbacks with it held, would deadlock
 * with the locks of the callbacks. Here only calls that are documented to wait (cancel_sync,
 * drain) wait for another thread, and callbacks run without locks.
 *
 * A thread that makes the predicate true and then calls twheel_op_try_complete() does both
 * before or both after the owner tests OP_RECHECK. Before: the owner runs the predicate
 * after that, and op->lock orders the change before it. After: the owner runs it once more.
 * See op_add.c for a thread that looks up the operation by its key instead.
 *
 *
 * References
 * ----------
 *
 * The reference of twheel_op_init() belongs to the consumer. The module has one while
 * op->holds is not zero. Holds are kept from park until DONE, while the timer is armed or
 * its function runs, during an add, for the operations that a signal collected, and by an
 * iterator. A hold of the timer may be dropped together with the first one (OP_TIMER_HOLD). The
 * last hold drops the reference and then a hold of the list, and the last hold of a list drops one
 * of the purgatory. So the end of a purgatory waits for all of these, and no callback runs after
 * it.
 *
 *
 * Locking
 * -------
 *
 * From outer to inner; none of them is held during a callback:
 *
 *	bucket->lock	linked watches, to signal and to link; inside of keys->lock (key.c)
 *	  op->lock	state and owner until the end, deadline, missing, watches, nr_watches,
 *			result
 *	    list->lock	(purgatory.h)
 *	    shard->lock	in the calls of the timer (shard.h)
 *
 * The locks of this layer are taken in process and softirq context only, and so are all calls on
 * operations except init, get, put and result. On PREEMPT_RT they are sleeping locks.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>
#include <trace/events/twheel.h>

#include "../core/callback.h"
#include "../core/timer.h"
#include "op.h"
#include "purgatory.h"
#include "stack.h"

/* Two cache lines, and one for a watch, unless debugging makes locks larger. */
static_assert(sizeof(struct twheel_op) <= 128 || sizeof(spinlock_t) > sizeof(u32));
static_assert(sizeof(struct twheel_watch) <= 56);

/* Number of keys whose buckets are prefetched at the end of an operation. */
#define PREFETCH_KEYS	4U

/**
 * twheel_op_init - initialise an operation
 * @op: the operation
 * @ops: callbacks of the consumer
 *
 * The caller has the first reference. An operation is added once; to reuse the memory, wait
 * for ->release() and initialise it again.
 *
 * Context: any.
 */
void twheel_op_init(struct twheel_op *op, const struct twheel_op_ops *ops)
{
	/*
	 * Member by member, since memset() is a call, and since the reference count may be valid in
	 * the memory of an earlier operation.
	 */
	op->timer = (struct twheel_timer) {};
	op->purgatory = NULL;
	op->ops = ops;
	/* And @watches; it stays zero without any. */
	op->satisfied = 0;
	op->deadline = 0;
	op->missing = 0;
	refcount_set(&op->holds, 0);
	spin_lock_init(&op->lock);
	op->owner = 0;
	op->state = OP_NEW;
	op->error = 0;
	op->list = 0;
	op->nr_watches = 0;
	op->condition = TWHEEL_COND_NONE;
	op->reason = 0;
	op->awaited = false;
	kref_init(&op->ref);
}
EXPORT_SYMBOL_GPL(twheel_op_init);

/**
 * twheel_op_get - take a reference
 * @op: the operation, which must have a reference already
 *
 * Context: any.
 */
void twheel_op_get(struct twheel_op *op)
{
	kref_get(&op->ref);
}
EXPORT_SYMBOL_GPL(twheel_op_get);

/* Another user of the operation has dropped the reference of the module: keep the memory. */
static noinline void op_leak(struct twheel_op *op)
{
	WARN_ONCE(1, "twheel: surplus put of a pending operation, leaked; its callback is %ps\n",
		  op->ops->ended);
	/* The puts that follow must not release it either. */
	refcount_set(&op->ref.refcount, INT_MAX / 2);
}

/* Drop a reference. Return: true if it was the last one, and the caller has to free @op. */
bool twheel_op_put_last(struct twheel_op *op)
{
	if (!refcount_dec_and_test(&op->ref.refcount))
		return false;
	if (likely(!refcount_read(&op->holds)))
		return true;
	op_leak(op);
	return false;
}

/**
 * twheel_op_put - drop a reference
 * @op: the operation; the last put calls ->release()
 *
 * Context: any in which ->release() may run.
 */
void twheel_op_put(struct twheel_op *op)
{
	if (twheel_op_put_last(op))
		op->ops->release(op);
}
EXPORT_SYMBOL_GPL(twheel_op_put);

static void op_set_state(struct twheel_op *op, enum twheel_op_state state)
{
	lockdep_assert_held(&op->lock);
	WARN_ON_ONCE(twheel_op_state(op) != state - 1);
	WRITE_ONCE(op->state, (op->state & ~OP_STATE) | state);
}

/* Return: true if the caller became the owner. */
static bool op_own(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (op->state & OP_OWNED)
		return false;
	WRITE_ONCE(op->state, op->state | OP_OWNED);
	WRITE_ONCE(op->owner, current->pid);
	return true;
}

static void op_disown(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	WARN_ON_ONCE(!(op->state & OP_OWNED));
	WRITE_ONCE(op->owner, 0);
	WRITE_ONCE(op->state, op->state & ~OP_OWNED);
}

/*
 * The condition
 *
 * @missing is the number of keys yet to be satisfied, or for TWHEEL_COND_SUM the missing
 * amount. The operation completes when a signal brings it to zero. For TWHEEL_COND_ALL it
 * grows and shrinks with the watches. A predicate does not use it.
 */

/* Account for @nr further watches. */
void twheel_op_condition_attach(struct twheel_op *op, u32 nr)
{
	lockdep_assert_held(&op->lock);
	if (op->condition == TWHEEL_COND_ALL)
		op->missing += nr;
}

/*
 * Account for a watch that is about to be detached. Return: 0, or -EINVAL if the condition
 * could not hold without it.
 */
int twheel_op_condition_detach(struct twheel_op *op, const struct twheel_watch *watch)
{
	const struct twheel_watch *other;
	u64 missing = op->missing;
	u32 unsatisfied = 0;

	lockdep_assert_held(&op->lock);
	if (twheel_op_has_predicate(op))
		return 0;
	for (other = op->watches; other; other = other->next)
		unsatisfied += other != watch && other->need;
	if (op->condition == TWHEEL_COND_ALL)
		missing = unsatisfied;
	if (op->condition == TWHEEL_COND_QUORUM)
		missing += !watch->need;
	if (op->nr_watches == 1 ||
	    (twheel_op_counts_signals(op->condition) && missing > unsatisfied))
		return -EINVAL;
	op->missing = missing;
	return 0;
}

/*
 * Count a signal, with the lock of the watch's bucket held. Return: true if it completes the
 * operation, which the caller has to claim.
 */
bool twheel_op_condition_signal(struct twheel_op *op, struct twheel_watch *watch, u64 amount)
{
	u64 counts = amount;

	lockdep_assert_held(&op->lock);
	if (op->condition != TWHEEL_COND_SUM) {
		counts = watch->need == 1;
		watch->need -= !!watch->need;
	}
	op->missing -= min(counts, op->missing);
	trace_twheel_op_signal(op, &watch->key);
	return !op->missing;
}

/* The end: claim, unlink, callback */

/* The next node and the pointer to the timer's own one. */
static inline void prefetch_timer(const struct hlist_node *entry)
{
	/* Without the lock of the shard: a stale pointer costs a cache miss. */
	const struct hlist_node at = data_race(*entry);

	prefetchw(at.next);
	prefetchw(at.pprev);
}

static inline void prefetch_neighbours(const struct list_head *entry)
{
	/* Without the lock of the list: a stale pointer costs a cache miss. */
	const struct list_head at = data_race(*entry);

	prefetchw(at.next);
	prefetchw(at.prev);
}

/*
 * Prefetch the lines that the end of an operation touches: its neighbours on the wheel and
 * in its list, and the buckets of its first linked keys; a signal has unlinked its own. With a
 * million operations none of them is cached, and these misses in sequence dominate the cost of an
 * end. Only a few keys, since a signal does this for each operation of a chunk with the lock of a
 * bucket held.
 */
static __always_inline void op_prefetch(const struct twheel_op *op)
{
	const struct twheel_watch *watch;
	unsigned int nr = PREFETCH_KEYS;

	prefetch_timer(&op->timer.node.entry);
	prefetch_neighbours(&op->parked);
	for (watch = op->watches; watch && nr--; watch = watch->next)
		if (twheel_watch_is_linked(watch))
			twheel_keys_prefetch(&op->purgatory->keys, watch->hash);
}

/* PENDING to ENDED. The caller becomes the owner, unless another thread is. */
static __always_inline void op_set_ended(struct twheel_op *op)
{
	u16 state = op->state ^ OP_PENDING ^ OP_ENDED;

	lockdep_assert_held(&op->lock);
	if (unlikely(state & OP_OWNED)) {
		WRITE_ONCE(op->state, state | OP_HANDED_OVER);
		return;
	}
	WRITE_ONCE(op->state, state | OP_OWNED);
	WRITE_ONCE(op->owner, current->pid);
}

static __always_inline bool op_claim(struct twheel_op *op, enum twheel_reason reason, int error,
				     u64 value)
{
	struct twheel_op_list *list;

	lockdep_assert_held(&op->lock);
	if (twheel_op_state(op) != OP_PENDING)
		return false;

	op_prefetch(op);
	op_set_ended(op);
	list = twheel_op_to_list(op);
	spin_lock(&list->lock);
	twheel_iters_skip(list, op);
	/* Not list_del(): the memory is that of @value and @time from now on. */
	__list_del_entry(&op->parked);
	list->watches -= op->nr_watches;
	list->ended[reason]++;
	twheel_purgatory_uncharge(op->purgatory, list);
	spin_unlock(&list->lock);

	op->reason = reason;
	op->error = error;
	op->value = value;
	op->time = twheel_op_now(op);
	twheel_purgatory_uncharge_watches(op->purgatory, op->nr_watches);
	trace_twheel_op_end(op);
	return true;
}

/*
 * Return: true if this call ended the operation. The caller then drops its locks and calls
 * twheel_op_finish(), or twheel_op_unlink() and twheel_op_callback().
 */
bool twheel_op_claim(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	return op_claim(op, reason, error, value);
}

static noinline void op_unlink_keys(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_watch *watch, *next;
	struct twheel_key_at at;
	u64 satisfied = 0;

	/* Without op->lock: watches are not attached, linked or signalled after the claim. */
	for (watch = op->watches; watch; watch = next) {
		next = watch->next;
		if (!watch->need)
			satisfied |= BIT_ULL(watch->bit);
		if (!twheel_watch_is_linked(watch))
			continue;
		at = twheel_key_lock(keys, watch->hash);
		twheel_key_unlink(&at, watch);
		twheel_key_unlock(&at);
	}
	/* The lines of the watches are at hand here, not when the result is read. */
	op->satisfied = satisfied;
	twheel_keys_move(keys);
}

/* Another thread was the owner at the claim. Return: true if the caller became the owner. */
static bool op_hand_over(struct twheel_op *op)
{
	bool owned;

	spin_lock_bh(&op->lock);
	op_set_state(op, OP_UNLINKED);
	owned = op_own(op);
	spin_unlock_bh(&op->lock);
	return owned;
}

/* The common parts of an end are inlined, into several callers. */
static __always_inline bool op_unlink(struct twheel_op *op)
{
	/*
	 * Nothing arms the timer after the claim, so one that does not look pending is not.
	 * If its function is running, the function drops the hold of the timer.
	 */
	bool cancelled = twheel_timer_pending(&op->timer) && twheel_timer_cancel(&op->timer) >= 0;

	/* Without watches, none is satisfied. */
	if (op->watches)
		op_unlink_keys(op);
	/* Set by this thread, in op_set_ended(). */
	if (likely(!(READ_ONCE(op->state) & OP_HANDED_OVER))) {
		if (cancelled)
			twheel_op_leave_timer_hold(op);
		return true;
	}
	if (cancelled)
		twheel_op_unhold(op);
	return op_hand_over(op);
}

/*
 * Remove a claimed operation from its wheel and its keys, with no lock held. Return: true if
 * the caller is the owner and has to run the callback. Otherwise the owner does, and the
 * operation may be freed at once.
 */
bool twheel_op_unlink(struct twheel_op *op)
{
	return op_unlink(op);
}

/*
 * Nested callbacks
 *
 * A callback may end another operation, the callback of that one runs on top of it and may
 * end a third one, and so on. Consumers decide the depth, so the stack has to be protected.
 * With less than half of it left (stack.h), the callback is deferred to the reaper: the timer of an
 * unlinked operation is free, and armed to expire at once it brings the operation to a
 * thread with an empty stack.
 */

DEFINE_PER_CPU(unsigned int, twheel_nested);

/* Wake the callers of twheel_op_cancel_sync() after a change of the state. */
static void op_wake(struct twheel_op *op)
{
	/*
	 * Pairs with the barrier in wait_var_event(): the waiter sees the state, or this sees
	 * @awaited and the waiter.
	 */
	smp_mb();
	if (unlikely(READ_ONCE(op->awaited)))
		wake_up_var(&op->state);
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

static __always_inline void op_call_ended(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->ended;
	struct twheel_callback callback;
	bool counted = twheel_stack_enter();

	op_callback_begin(op, &callback, fn);
	op->ops->ended(op);
	op_callback_end(op, &callback, fn);
	twheel_stack_leave(counted);
}

static __always_inline void op_callback_now(struct twheel_op *op)
{
	/* Set by the owner, which is the caller. */
	int holds = 1 + !!(READ_ONCE(op->state) & OP_TIMER_HOLD);

	WRITE_ONCE(op->owner, current->pid);
	op_call_ended(op);
	WARN_ON_ONCE(!(op->state & OP_OWNED));
	WRITE_ONCE(op->owner, 0);
	/* Pairs with the acquire in op_is_done(), which sees all accesses of the callback. */
	smp_store_release(&op->state, OP_DONE);
	op_wake(op);
	trace_twheel_op_done(op);
	twheel_op_unhold_many(op, holds);
}

/* Run the callback at any stack depth. The caller is the owner; @op may be freed. */
void twheel_op_callback_now(struct twheel_op *op)
{
	op_callback_now(op);
}

static noinline void op_defer_callback(struct twheel_op *op)
{
	spin_lock_bh(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_DEFERRED);
	/* Still OP_OWNED; clear ->owner so that the -EDEADLK check cannot match. */
	WRITE_ONCE(op->owner, 0);
	twheel_op_hold(op);
	/* Cannot fail: the timer is not pending, and the wheel has no limit and is not stopped. */
	WARN_ON_ONCE(twheel_timer_rearm(&op->timer, 0, TWHEEL_REARM_ALWAYS) != 2);
	/* With the lock held: the thread that takes the callback may free the operation. */
	op_wake(op);
	spin_unlock_bh(&op->lock);
}

static __always_inline void op_callback(struct twheel_op *op)
{
	if (likely(!twheel_stack_is_deep()))
		op_callback_now(op);
	else
		op_defer_callback(op);
}

/* Run the callback, or defer it to the reaper. The caller is the owner; @op may be freed. */
void twheel_op_callback(struct twheel_op *op)
{
	op_callback(op);
}

/*
 * Return: true if the callback was deferred, and the caller has to call
 * twheel_op_callback_now(). Only one caller gets true.
 */
bool twheel_op_take_deferred(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (!(READ_ONCE(op->state) & OP_DEFERRED))
		return false;
	WRITE_ONCE(op->state, op->state & ~OP_DEFERRED);
	return true;
}

/* Unlink a claimed operation and run its callback, with no lock held. @op may be freed. */
void twheel_op_finish(struct twheel_op *op)
{
	if (op_unlink(op))
		op_callback(op);
}

/* The predicate */

/* Run the predicate as the owner. Return: true if it completed the operation. */
static bool op_evaluate(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->try_complete;
	struct twheel_callback callback;
	bool complete, claimed;
	u64 value = 0;

	op_callback_begin(op, &callback, fn);
	complete = op->ops->try_complete(op, &value);
	op_callback_end(op, &callback, fn);
	trace_twheel_op_try_complete(op, complete);
	if (!complete)
		return false;
	spin_lock_bh(&op->lock);
	claimed = twheel_op_claim(op, TWHEEL_REASON_COMPLETED, 0, value);
	spin_unlock_bh(&op->lock);
	/* The caller is the owner already. */
	if (claimed)
		twheel_op_unlink(op);
	return claimed;
}

static bool op_test_clear_recheck(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (twheel_op_state(op) != OP_PENDING || !(op->state & OP_RECHECK))
		return false;
	WRITE_ONCE(op->state, op->state & ~OP_RECHECK);
	return true;
}

/*
 * Serve all requests as the owner, with no lock held, and drop ownership. Without a
 * reference of the caller @op may be freed. Return: true if the predicate completed the
 * operation.
 */
bool twheel_op_serve(struct twheel_op *op)
{
	bool completed = false, unlinked;

	spin_lock_bh(&op->lock);
	while (op_test_clear_recheck(op)) {
		spin_unlock_bh(&op->lock);
		completed = op_evaluate(op);
		spin_lock_bh(&op->lock);
	}
	unlinked = twheel_op_state(op) == OP_UNLINKED;
	if (!unlinked)
		op_disown(op);
	spin_unlock_bh(&op->lock);
	if (unlinked)
		twheel_op_callback(op);
	return completed;
}

/**
 * twheel_op_try_complete - run the predicate of an operation
 * @op: the operation; the caller has a reference
 *
 * If another thread is running the predicate, that thread runs it once more.
 *
 * Context: process or softirq, with interrupts enabled and without locks that its predicate
 * or its callback takes.
 * Return:
 * * %1         - the predicate completed the operation; its callback has returned, with the
 *   exceptions listed at &struct twheel_op_ops
 * * %0         - the predicate returned false, another thread runs it once more, or there is
 *   no predicate
 * * %-EALREADY - the operation has ended
 * * %-ENOENT   - it was not added
 */
int twheel_op_try_complete(struct twheel_op *op)
{
	bool owned = false;
	int err;

	spin_lock_bh(&op->lock);
	err = twheel_op_check_pending(op);
	if (!err && twheel_op_has_predicate(op)) {
		WRITE_ONCE(op->state, op->state | OP_RECHECK);
		owned = op_own(op);
	}
	spin_unlock_bh(&op->lock);
	if (owned)
		return twheel_op_serve(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_try_complete);

/* Calls that end an operation, and its result */

/**
 * twheel_op_end - end an operation
 * @op: the operation; the caller has a reference
 * @reason: completed, expired or cancelled
 * @error: 0 or a negative error number, for its result
 * @value: value for its result
 *
 * Context: process or softirq, with interrupts enabled and without locks that its callback
 * takes.
 * Return:
 * * %0         - this call ended it. The operation has been removed from its wheel and its
 *   keys, and its callback has returned, with the exceptions listed at &struct
 *   twheel_op_ops
 * * %-EALREADY - it had ended; its callback may be running
 * * %-ENOENT   - it was not added
 * * %-EINVAL   - @reason is none of the three, or @error is neither 0 nor a negative error
 *   number
 */
int twheel_op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	int err;

	if (reason < TWHEEL_REASON_COMPLETED || reason > TWHEEL_REASON_CANCELLED)
		return -EINVAL;
	if (error > 0 || error < -MAX_ERRNO)
		return -EINVAL;
	spin_lock_bh(&op->lock);
	err = twheel_op_check_pending(op);
	if (!err)
		op_claim(op, reason, error, value);
	spin_unlock_bh(&op->lock);

	if (!err)
		twheel_op_finish(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_end);

static bool op_is_done(const struct twheel_op *op)
{
	/* Pairs with the release in op_callback_now(). */
	return (smp_load_acquire(&op->state) & OP_STATE) == OP_DONE;
}

/* Run a deferred callback unless the reaper does. */
static void op_run_deferred(struct twheel_op *op)
{
	bool deferred;

	spin_lock_bh(&op->lock);
	deferred = twheel_op_take_deferred(op);
	spin_unlock_bh(&op->lock);
	if (!deferred)
		return;
	if (twheel_timer_cancel(&op->timer) >= 0)
		twheel_op_unhold(op);
	twheel_op_callback_now(op);
}

/*
 * Wait for the callback of an ended operation. A deferred one is run here, since the reaper
 * may be waiting for the caller, or be the caller.
 */
static void op_wait(struct twheel_op *op)
{
	twheel_callback_wait((unsigned long)op->ops->ended);
	if (op->ops->try_complete)
		twheel_callback_wait((unsigned long)op->ops->try_complete);
	/* Before the barrier in wait_var_event(); see op_wake(). */
	WRITE_ONCE(op->awaited, true);
	for (;;) {
		wait_var_event(&op->state, op_is_done(op) || READ_ONCE(op->state) & OP_DEFERRED);
		if (op_is_done(op))
			return;
		op_run_deferred(op);
	}
}

/**
 * twheel_op_cancel_sync - cancel an operation and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, the callback has returned, however the operation ended, and the
 * predicate does not run any more.
 *
 * Context: process; may sleep. Not from the predicate or the callback of @op.
 * Return: as twheel_op_cancel(), or -EDEADLK with a warning from its own predicate or
 * callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	/* A thread sees its own store; that of another one does not match. */
	if (WARN_ON_ONCE(READ_ONCE(op->owner) == current->pid))
		return -EDEADLK;
	might_sleep();
	err = twheel_op_cancel(op);
	if (err != -ENOENT)
		op_wait(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_cancel_sync);

/**
 * twheel_op_get_result - get the result of an ended operation
 * @op: the operation, in or after its callback
 * @result: filled in
 *
 * Context: any.
 */
void twheel_op_get_result(const struct twheel_op *op, struct twheel_op_result *result)
{
	WARN_ON_ONCE(twheel_op_state(op) < OP_ENDED);
	result->reason = op->reason;
	result->error = op->error;
	result->value = op->value;
	result->deadline = op->deadline;
	result->time = op->time;
	result->missing = op->missing;
	result->satisfied = op->satisfied;
}
EXPORT_SYMBOL_GPL(twheel_op_get_result);
