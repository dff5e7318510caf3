// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the life of one operation, which is one state word.
 *
 *	NEW -----> WAITING -----> ENDED -----> LEFT -----> DONE
 *	     park          claim         leave       call back
 *
 * Each is reached once, and moved to under the lock of the operation: by the
 * adder (park), by whoever ends it (claim), by that one alone (leave), and by
 * the owner (call back).  Five bits beside them:
 *
 *	OWNED		somebody runs its predicate, or its callback
 *	AGAIN		somebody has asked for the predicate since the owner last looked
 *	DEFERRED	the callback is left to the reaper, see op.c
 *	ARMED		its timer follows its deadline, see op_deadline.c
 *	AWAITED		somebody waits for its callback, see op.c
 *
 * Exactly once.  Whoever moves it from WAITING to ENDED has won; all others are
 * told -EALREADY.  A signal, a predicate that holds, complete, cancel, expiry and
 * drain all come down to twheel_op_claim().  The winner takes the operation
 * off the wheel and off its keys, before anything else is done about its end.
 *
 * One at a time.  Consumers' code for an operation is run by its owner only, and
 * with no lock held.  Whoever wants it run and finds it OWNED does not wait,
 * but leaves word in the state: AGAIN for the predicate, LEFT for the callback.
 * The owner gives OWNED up only under the lock, having seen that there is no
 * word left, so that none is lost:
 *
 *	owner (serve)                      another (ask, or finish)
 *	-------------                      ------------------------
 *	lock; clear AGAIN; unlock
 *	run the predicate                  lock; OWNED: set AGAIN (or LEFT); unlock
 *	lock; AGAIN (or LEFT) is set:
 *	  go round (or call back)
 *	else clear OWNED; unlock
 *	                                   lock; not OWNED: own it; unlock; serve
 *
 * If the winner is still leaving when the owner looks, the state is ENDED: the
 * owner has nothing to do and gives up, and the winner will find it free.
 *
 * This is where Kafka's purgatory went wrong.  There, who did not get an
 * operation's lock went away, and nobody looked again (KAFKA-6653); who waited
 * for it, or was called back with it held, brought its locks and those of the
 * callbacks into a circle (KAFKA-3994, 7697, 8334).  Here nobody waits for anybody
 * but who asks to (cancel_sync, drain), and nothing of ours is held when
 * consumers' code runs.
 *
 * What the predicate sees.  Whoever makes it true and then asks does both before
 * or both after the owner's look at AGAIN under the lock.  Before: the owner runs
 * the predicate after that, and the lock makes it see the change.  After: the
 * owner comes back to it.  For those who don't have the operation, but look for
 * it under a key, see signal.c.
 *
 * References.  The one of twheel_op_init() is the consumer's.  We have one as long as
 * we hold the operation: while it is parked (until DONE), while its timer is armed
 * or its timer's function runs, during an add, and where a walk or an iterator
 * stands.  With the last hold we give up our reference, and after that
 * the purgatory, so that the end of a purgatory waits for all of that, and no
 * callback of a consumer runs after it.
 *
 * Locks, from the outside in, none of them held during a callback:
 *
 *	stripe->lock, to signal and to link	(key.h)
 *	op->lock				state, owner, deadline, missing, watches
 *						and nr_watches, and how it ended
 *	home->lock				(purgatory.h)
 *	shard->lock, in the timer calls		(shard.h)
 *
 * They are taken in process and softirq context, and so is all of layer 5 but for
 * init, get, put and result.  On PREEMPT_RT all of them are sleeping locks.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/wait_bit.h>
#include <trace/events/twheel.h>

#include "../core/timer.h"
#include "op.h"
#include "purgatory.h"

/* Two cache lines and one, unless locks are larger than they have to be. */
static_assert(sizeof(struct twheel_op) <= 128 || sizeof(spinlock_t) > sizeof(u32));
static_assert(sizeof(struct twheel_watch) <= 64);

/**
 * twheel_op_init - make an operation ready to be added
 * @op: the operation
 * @ops: what its consumer does about it
 *
 * The caller has the first reference. An operation is added once in its life:
 * to use the memory again, wait for its release and init it anew.
 *
 * Context: any.
 */
void twheel_op_init(struct twheel_op *op, const struct twheel_op_ops *ops)
{
	memset(op, 0, sizeof(*op));
	op->ops = ops;
	op->state = OP_NEW;
	kref_init(&op->ref);
	spin_lock_init(&op->lock);
}
EXPORT_SYMBOL_GPL(twheel_op_init);

/**
 * twheel_op_get - take a reference
 * @op: the operation, to which the caller has a reference or a sure way
 *
 * Context: any.
 */
void twheel_op_get(struct twheel_op *op)
{
	kref_get(&op->ref);
}
EXPORT_SYMBOL_GPL(twheel_op_get);

static void op_release(struct kref *ref)
{
	struct twheel_op *op = container_of(ref, struct twheel_op, ref);

	op->ops->release(op);
}

/**
 * twheel_op_put - give a reference back
 * @op: the operation; with the last reference its release is called
 *
 * Context: any in which the consumer's release may run.
 */
void twheel_op_put(struct twheel_op *op)
{
	kref_put(&op->ref, op_release);
}
EXPORT_SYMBOL_GPL(twheel_op_put);

/**
 * twheel_op_move - let an operation's life go on by a step
 * @op: the operation, with its lock held
 * @to: the step
 */
void twheel_op_move(struct twheel_op *op, enum twheel_op_state to)
{
	lockdep_assert_held(&op->lock);
	WARN_ON_ONCE(twheel_op_state(op) != to - 1);
	/* Pairs with the acquire of who waits for DONE: all that was done before it. */
	smp_store_release(&op->state, (op->state & ~OP_STATE) | to);
}

/* Own an operation, if nobody does. */
static bool op_own(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (op->state & OP_OWNED)
		return false;
	WRITE_ONCE(op->state, op->state | OP_OWNED);
	WRITE_ONCE(op->owner, current->pid);
	return true;
}

/**
 * twheel_op_disown - give up ownership of an operation
 * @op: the operation, of the caller's, with its lock held
 */
void twheel_op_disown(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	WARN_ON_ONCE(!(op->state & OP_OWNED));
	WRITE_ONCE(op->owner, 0);
	WRITE_ONCE(op->state, op->state & ~OP_OWNED);
}

/**
 * twheel_op_park - let an operation wait from now on
 * @op: the operation, new, with the locks of it and of its home held
 *
 * One with a predicate is left to the caller to serve.
 */
void twheel_op_park(struct twheel_op *op)
{
	struct twheel_op_list *list = twheel_op_to_list(op);

	lockdep_assert_held(&list->lock);
	twheel_purgatory_hold(op->purgatory);
	twheel_op_get(op);
	refcount_set(&op->holds, 1);
	list->added++;
	list->watches += op->nr_watches;
	list_add_tail(&op->parked, &list->ops);
	twheel_op_move(op, OP_PENDING);
	if (twheel_op_has_predicate(op)) {
		WRITE_ONCE(op->state, op->state | OP_RECHECK);
		op_own(op);
	}
	trace_twheel_op_add(op, twheel_op_clock(op));
}

static void prefetch_neighbours(const struct list_head *entry)
{
	/* Without the list's lock: a stale pointer costs a cache miss, no more. */
	const struct list_head at = data_race(*entry);

	prefetchw(at.next);
	prefetchw(at.prev);
}

/*
 * Have all fetched that the end of an operation is about to touch: its neighbours on the
 * wheel and in its home, and the buckets of its keys. With a million operations they are
 * in no cache, and one after the other they would be what an end mostly waits for.
 */
static void op_prefetch(const struct twheel_op *op)
{
	const struct twheel_watch *watch;

	prefetch_neighbours(&op->timer.node.entry);
	prefetch_neighbours(&op->parked);
	for (watch = op->watches; watch; watch = watch->next)
		twheel_keys_prefetch(&op->purgatory->keys, twheel_watch_hash(watch));
}

/**
 * twheel_op_claim - the one way to end
 * @op: the operation, with its lock held
 * @reason: how
 * @error: with what error
 * @value: with what value
 *
 * Return: true if it was this call that ended the operation; then the caller
 * has to call twheel_op_finish(), once it holds no lock.
 */
bool twheel_op_claim(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	struct twheel_op_list *list;

	lockdep_assert_held(&op->lock);
	if (twheel_op_state(op) != OP_PENDING)
		return false;

	op_prefetch(op);
	twheel_op_move(op, OP_ENDED);
	list = twheel_op_to_list(op);
	spin_lock(&list->lock);
	twheel_iters_pass(list, op);
	list_del(&op->parked);
	list->watches -= op->nr_watches;
	list->ended[reason]++;
	spin_unlock(&list->lock);

	op->reason = reason;
	op->error = error;
	/* In the place of @parked. */
	op->value = value;
	op->time = twheel_op_now(op);
	twheel_purgatory_uncharge(op->purgatory, op->nr_watches);
	trace_twheel_op_end(op);
	return true;
}

/*
 * The condition.
 *
 * @missing is the number of keys yet to be satisfied, or for TWHEEL_COND_SUM the missing
 * amount.  The operation completes when a signal brings it to zero.  For TWHEEL_COND_ALL it
 * grows and shrinks with the watches.  A predicate does not use it.
 */

/**
 * twheel_op_condition_init - set the condition of an operation
 * @op: the operation, new and without watches
 * @args: arguments of the add, checked
 */
void twheel_op_condition_init(struct twheel_op *op, const struct twheel_op_args *args)
{
	op->condition = args->condition;
	switch (args->condition) {
	case TWHEEL_COND_ANY:
		op->missing = 1;
		break;
	case TWHEEL_COND_QUORUM:
		op->missing = args->quorum;
		break;
	case TWHEEL_COND_SUM:
		op->missing = args->threshold;
		break;
	default:
		op->missing = 0;
	}
}

/**
 * twheel_op_condition_attach - account for further watches
 * @op: the operation, with its lock held
 * @nr: number of watches
 */
void twheel_op_condition_attach(struct twheel_op *op, u32 nr)
{
	lockdep_assert_held(&op->lock);
	if (op->condition == TWHEEL_COND_ALL)
		op->missing += nr;
}

/**
 * twheel_op_condition_detach - account for a watch that is about to be removed
 * @op: the operation, with its lock held
 * @watch: the watch, still attached
 *
 * Return: 0, or -EINVAL if the condition could not hold without the watch.
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

/**
 * twheel_op_condition_signal - count a signal, and claim the operation if it completes
 * @op: the operation, with its lock and the lock of the watch's stripe held
 * @watch: watch of the signalled key
 * @amount: amount of the signal
 * @value: value of the completion
 *
 * Return: as twheel_op_claim().
 */
bool twheel_op_condition_signal(struct twheel_op *op, struct twheel_watch *watch, u64 amount,
				u64 value)
{
	u64 counts;

	lockdep_assert_held(&op->lock);
	if (op->condition == TWHEEL_COND_SUM)
		counts = amount;
	else
		counts = watch->need && !--watch->need;
	op->missing -= min(counts, op->missing);
	return !op->missing && twheel_op_claim(op, TWHEEL_COMPLETED, 0, value);
}

/* Take an operation that the caller has ended off its keys. */
static void op_unlink_keys(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_watch *watch, *next;
	struct twheel_key_at at;

	/* It has ended, so that nothing is put onto the list, or linked, any more. */
	for (watch = op->watches; watch; watch = next) {
		next = watch->next;
		if (!twheel_watch_is_linked(watch))
			continue;
		at = twheel_key_lock(keys, twheel_watch_hash(watch));
		twheel_key_unlink(&at, watch);
		twheel_key_unlock(&at);
	}
}

/* Take an operation that the caller has ended off the wheel and off its keys. */
static void op_remove(struct twheel_op *op)
{
	/*
	 * If its function is running, that gives up the timer's hold. Nobody arms it any
	 * more, so that one which does not look pending is not.
	 */
	if (twheel_timer_pending(&op->timer) && twheel_timer_cancel(&op->timer) >= 0)
		twheel_op_unhold(op);
	op_unlink_keys(op);
}

/**
 * twheel_op_unlink - take an operation off everything after it has ended
 * @op: the operation, which the caller has claimed; it may be gone after that if
 *	it is not for the caller to call back
 *
 * Context: process or softirq, with no lock held.
 * Return: true if the caller owns it now, and has to call back.
 */
bool twheel_op_unlink(struct twheel_op *op)
{
	bool mine;

	op_remove(op);
	spin_lock_bh(&op->lock);
	twheel_op_move(op, OP_UNLINKED);
	mine = op_own(op);
	spin_unlock_bh(&op->lock);
	return mine;
}

/**
 * twheel_op_finish - do what is left to do after an operation has ended
 * @op: the operation, which the caller has claimed; it may be gone after that
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_finish(struct twheel_op *op)
{
	if (twheel_op_unlink(op))
		twheel_op_call_back(op);
}

/* Run the predicate of an operation of ours, and end it if that holds. */
static bool op_evaluate(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->try_complete;
	struct twheel_callback callback;
	bool held, claimed;
	u64 value = 0;

	twheel_callback_begin(&callback, fn);
	held = op->ops->try_complete(op, &value);
	twheel_callback_end(&callback, fn);
	trace_twheel_op_try_complete(op, held);
	if (!held)
		return false;
	spin_lock_bh(&op->lock);
	claimed = twheel_op_claim(op, TWHEEL_COMPLETED, 0, value);
	spin_unlock_bh(&op->lock);
	if (!claimed)
		return false;

	op_remove(op);
	spin_lock_bh(&op->lock);
	twheel_op_move(op, OP_UNLINKED);
	spin_unlock_bh(&op->lock);
	return true;
}

/* Take the word that was left for the owner; false if that's it for the predicate. */
static bool op_test_recheck(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (twheel_op_state(op) != OP_PENDING || !(op->state & OP_RECHECK))
		return false;
	WRITE_ONCE(op->state, op->state & ~OP_RECHECK);
	return true;
}

/**
 * twheel_op_serve - as its owner, do what others want done with an operation
 * @op: the operation; it may be gone after that if it has ended, but for a
 *	reference of the caller's
 *
 * Context: process or softirq, with no lock held.
 * Return: whether its predicate held, and this has completed it.
 */
bool twheel_op_serve(struct twheel_op *op)
{
	bool completed = false, left;

	spin_lock_bh(&op->lock);
	while (op_test_recheck(op)) {
		spin_unlock_bh(&op->lock);
		completed = op_evaluate(op);
		spin_lock_bh(&op->lock);
	}
	left = twheel_op_state(op) == OP_UNLINKED;
	if (!left)
		twheel_op_disown(op);
	spin_unlock_bh(&op->lock);
	if (left)
		twheel_op_call_back(op);
	return completed;
}

/**
 * twheel_op_try_complete - have the predicate of an operation run
 * @op: the operation; the caller has a reference
 *
 * If somebody is about it now, that one will run it once more.
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its predicate or its callback takes.
 * Return:
 * * 1         - the predicate held: this call completed it; of its callback see
 *	struct twheel_op_ops
 * * 0         - it did not hold, or is run by somebody else after this, or there
 *	is none
 * * -EALREADY - the operation has ended
 * * -ENOENT   - it was not added
 */
int twheel_op_try_complete(struct twheel_op *op)
{
	bool mine = false;
	int err;

	spin_lock_bh(&op->lock);
	err = twheel_op_check_pending(op);
	if (!err && twheel_op_has_predicate(op)) {
		WRITE_ONCE(op->state, op->state | OP_RECHECK);
		mine = op_own(op);
	}
	spin_unlock_bh(&op->lock);
	if (mine)
		return twheel_op_serve(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_try_complete);

/*
 * Layer 5, operations: the calls that end one, and how it has ended.
 *
 * All of them claim it under its lock, and the one that wins finishes it; op.c
 * tells what that is.
 */

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
 * * 0         - this call ended it.  The operation has been removed from its wheel and its
 *	keys, and its callback has returned, with the exceptions listed at &struct
 *	twheel_op_ops
 * * -EALREADY - it had ended; its callback may be running
 * * -ENOENT   - it was not added
 * * -EINVAL   - @error is no error number
 */
int twheel_op_end(struct twheel_op *op, enum twheel_reason reason, int error, u64 value)
{
	int err;

	if (error > 0 || error < -MAX_ERRNO)
		return -EINVAL;
	spin_lock_bh(&op->lock);
	err = twheel_op_check_pending(op);
	if (!err)
		twheel_op_claim(op, reason, error, value);
	spin_unlock_bh(&op->lock);

	if (!err)
		twheel_op_finish(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_end);

/**
 * twheel_op_cancel_sync - cancel an operation, and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, its callback has returned, by whatever way it ended, and
 * its predicate is not run any more.
 *
 * Context: process; may sleep. Not from the operation's own predicate or
 * callback: refused with a warning.
 * Return: as twheel_op_complete(), or -EDEADLK from its own predicate or callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	might_sleep();
	if (WARN_ON_ONCE(READ_ONCE(op->owner) == current->pid))
		return -EDEADLK;
	err = twheel_op_cancel(op);
	if (err != -ENOENT)
		twheel_op_wait(op);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_cancel_sync);

/**
 * twheel_op_result - how an operation ended
 * @op: the operation, in or after its callback
 * @result: filled in
 *
 * Context: any.
 */
void twheel_op_result(const struct twheel_op *op, struct twheel_op_result *result)
{
	WARN_ON_ONCE(twheel_op_state(op) < OP_ENDED);
	result->reason = op->reason;
	result->error = op->error;
	result->value = op->value;
	result->deadline = op->deadline;
	result->time = op->time;
}
EXPORT_SYMBOL_GPL(twheel_op_result);

/*
 * Layer 5, operations: their callbacks, and how deep they may be nested.
 *
 * A callback may end another operation, whose callback then runs on top of it, and
 * may end a third one.  How long that goes on is up to the consumers, and the stack
 * is not theirs to fill.  So where less than half of it is left, the callback is left
 * to the reaper: the timer of an operation that has ended is free, and due at
 * once it brings the operation to a thread with nothing on its stack.  (If that shard
 * has had no timer yet, that thread is still to be made, and the callback is late.)
 *
 * Softirqs have a stack of their own, the bounds of which we don't know. They are
 * not moved to another CPU, so that how deep they are is counted there.
 */

/* How many callbacks may be nested in a softirq. */
#define SOFTIRQ_DEPTH	4

static DEFINE_PER_CPU(unsigned int, softirq_depth);

/* On PREEMPT_RT softirqs are on the stack of a task, too. */
static bool on_stack_of_task(void)
{
	unsigned long here;

	return object_is_on_stack(&here);
}

/* Whether a callback would find less than half of the stack. */
static bool stack_is_deep(void)
{
	unsigned long here;

	if (!on_stack_of_task())
		return this_cpu_read(softirq_depth) >= SOFTIRQ_DEPTH;
	return (unsigned long)&here - (unsigned long)task_stack_page(current) < THREAD_SIZE / 2;
}

/* Whoever waits may see that it need not any more. The operation may be gone by now. */
static void op_wake(struct twheel_op *op)
{
	/* Pairs with the barrier of wait_var_event(): one sees the other. */
	smp_mb();
	/* It takes no more than the address. */
	wake_up_var(&op->state);
}

static void call_ended(struct twheel_op *op)
{
	unsigned long fn = (unsigned long)op->ops->ended;
	bool in_softirq = !on_stack_of_task();
	struct twheel_callback callback;

	if (in_softirq)
		this_cpu_inc(softirq_depth);
	twheel_callback_begin(&callback, fn);
	op->ops->ended(op);
	twheel_callback_end(&callback, fn);
	if (in_softirq)
		this_cpu_dec(softirq_depth);
}

/**
 * twheel_op_call_back_now - tell the consumer of an operation that has left everything
 * @op: the operation, which the caller owns; it may be gone after that
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_call_back_now(struct twheel_op *op)
{
	bool awaited;

	WRITE_ONCE(op->owner, current->pid);
	call_ended(op);

	spin_lock_bh(&op->lock);
	twheel_op_disown(op);
	twheel_op_move(op, OP_DONE);
	awaited = op->state & OP_AWAITED;
	spin_unlock_bh(&op->lock);
	trace_twheel_op_done(op);
	if (unlikely(awaited))
		op_wake(op);
	twheel_op_unhold(op);
}

/**
 * twheel_op_call_back - the same, or have the reaper do it if the stack is deep
 * @op: the operation, which the caller owns; it may be gone after that
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_call_back(struct twheel_op *op)
{
	bool awaited;

	if (likely(!stack_is_deep())) {
		twheel_op_call_back_now(op);
		return;
	}
	spin_lock_bh(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_DEFERRED);
	/* Still owned, but by nobody as yet who could wait for itself. */
	WRITE_ONCE(op->owner, 0);
	twheel_op_hold(op);
	/* The operation has left the wheel, which has no limit and is not stopped. */
	WARN_ON_ONCE(twheel_timer_rearm(&op->timer, 0, TWHEEL_REARM_ALWAYS) != 2);
	awaited = op->state & OP_AWAITED;
	spin_unlock_bh(&op->lock);
	if (awaited)
		op_wake(op);
}

/**
 * twheel_op_take_deferred - whether a callback was left to the reaper
 * @op: the operation, with its lock held
 *
 * Return: true if the caller has to make it, with twheel_op_call_back_now(); nobody
 * else will.
 */
bool twheel_op_take_deferred(struct twheel_op *op)
{
	lockdep_assert_held(&op->lock);
	if (!(op->state & OP_DEFERRED))
		return false;
	WRITE_ONCE(op->state, op->state & ~OP_DEFERRED);
	return true;
}

static bool op_done(const struct twheel_op *op)
{
	/* Pairs with the release that made it DONE, after its callback. */
	return (smp_load_acquire(&op->state) & OP_STATE) == OP_DONE;
}

static bool op_deferred(const struct twheel_op *op)
{
	return READ_ONCE(op->state) & OP_DEFERRED;
}

/* Make a callback that was left to the reaper, if that has not come to it. */
static void op_help(struct twheel_op *op)
{
	bool mine;

	spin_lock_bh(&op->lock);
	mine = twheel_op_take_deferred(op);
	spin_unlock_bh(&op->lock);
	if (!mine)
		return;
	if (twheel_timer_cancel(&op->timer) >= 0)
		twheel_op_unhold(op);
	twheel_op_call_back_now(op);
}

/**
 * twheel_op_wait - wait for the callback of an operation that has ended
 * @op: the operation; the caller has a reference
 *
 * If it was left to the reaper, the caller makes it: the reaper may wait for the
 * caller, or be the caller.
 *
 * Context: process; may sleep.
 */
void twheel_op_wait(struct twheel_op *op)
{
	twheel_callback_wait((unsigned long)op->ops->ended);
	if (op->ops->try_complete)
		twheel_callback_wait((unsigned long)op->ops->try_complete);
	/* Who changes what we wait for does so under the same lock, and wakes us then. */
	spin_lock_bh(&op->lock);
	WRITE_ONCE(op->state, op->state | OP_AWAITED);
	spin_unlock_bh(&op->lock);
	for (;;) {
		wait_var_event(&op->state, op_done(op) || op_deferred(op));
		if (op_done(op))
			return;
		op_help(op);
	}
}
