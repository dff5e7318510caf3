// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: the life of one operation.
 *
 * States, each reached once, under the lock of the operation but for DONE,
 * which only whoever finishes it sets:
 *
 *	NEW -----> WAITING -----> ENDED -----> DONE
 *	     add           op_end        finish
 *
 * Exactly once: whoever moves an operation from WAITING to ENDED has won.
 * It alone finishes it - takes it off the wheel and off its keys, and calls
 * back - and everyone else is told -EALREADY.  Complete, expire, cancel, signal
 * and drain all come down to op_end().
 *
 * Nothing missed: an operation is WAITING before its first watch is linked,
 * and counts signals from that link on, so there is no gap in which a signal
 * under a linked key could be lost.  If that completes it while its further
 * watches are still to be linked or its timer to be armed, these steps find
 * it ENDED, under its lock, and do nothing:
 *
 *	adding CPU                        signalling CPU
 *	----------                        --------------
 *	park: state = WAITING
 *	link watch 1
 *	                                  op_end: state = ENDED
 *	link watch 2: not WAITING, skip
 *	                                  finish: cancel the timer (not armed)
 *	                                  unlink 1; give back the uses of 1, 2
 *	arm: not WAITING, skip            callback
 *
 * Whoever finishes gives back the keys of all watches, linked or not.  The
 * adding CPU may find the lock of such a key still to be taken; RCU keeps its
 * memory until then.
 *
 * References: the one of twheel_op_init() is the consumer's.  We hold one
 * while it is parked (until DONE), and one while its timer is armed or its
 * timer's function runs.  Each of ours holds the purgatory too, and gives that
 * up last, so that the end of a purgatory waits for all of them and no
 * callback of a consumer runs after it.
 *
 * Locks, from the outside in, none of them held during a callback:
 *
 *	key->lock, to signal and to link	(key.c)
 *	op->lock				state, reason, value, unsatisfied,
 *						watches and nr_watches
 *	home->lock				(purgatory.h)
 *	shard->lock, in the timer calls		(reaper.h)
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/wait_bit.h>

#include "purgatory.h"

enum op_state {
	OP_NEW,
	OP_WAITING,
	OP_ENDED,
	OP_DONE,
};

static enum op_state op_state(const struct twheel_op *op)
{
	return READ_ONCE(op->state);
}

static struct twheel_home *op_home(const struct twheel_op *op)
{
	return &op->purgatory->home[op->home];
}

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
	INIT_LIST_HEAD(&op->parked);
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

/* A reference of ours, and what keeps the purgatory there for it. */
static void op_hold(struct twheel_op *op)
{
	twheel_purgatory_hold(op->purgatory);
	twheel_op_get(op);
}

static void op_unhold(struct twheel_op *op)
{
	struct twheel_purgatory *purgatory = op->purgatory;

	twheel_op_put(op);
	twheel_purgatory_release(purgatory);
}

/* The one way to end; true if it was this call that ended the operation. */
static bool op_end(struct twheel_op *op, enum twheel_reason reason, u64 value)
{
	struct twheel_home *home;

	lockdep_assert_held(&op->lock);
	if (op_state(op) != OP_WAITING)
		return false;

	WRITE_ONCE(op->state, OP_ENDED);
	op->reason = reason;
	op->value = value;
	op->time = ktime_get_ns();

	home = op_home(op);
	spin_lock(&home->lock);
	list_del_init(&op->parked);
	home->watches -= op->nr_watches;
	home->ended[reason]++;
	spin_unlock(&home->lock);
	twheel_purgatory_dismiss(op->purgatory);
	return true;
}

/**
 * twheel_op_finish - do what is left to do after an operation has ended
 * @op: the operation, which the caller has ended, and nobody else
 *
 * Context: process or softirq, with no lock held.
 */
void twheel_op_finish(struct twheel_op *op)
{
	struct twheel_keys *keys = &op->purgatory->keys;
	struct twheel_watch *watch, *next;

	/* If its function is running, that gives up the timer's hold. */
	if (!twheel_timer_cancel(&op->timer))
		op_unhold(op);

	/* It has ended, so that nothing is put onto the list any more. */
	for (watch = op->watches; watch; watch = next) {
		next = watch->next;
		twheel_key_unlink(keys, watch);
	}

	WRITE_ONCE(op->ender, current);
	op->ops->ended(op);
	WRITE_ONCE(op->ender, NULL);

	/* Pairs with the acquire in op_done(): it sees all the callback did. */
	smp_store_release(&op->state, OP_DONE);
	/* Pairs with the barrier of wait_var_event(): one sees the other. */
	smp_mb();
	wake_up_var(&op->state);
	op_unhold(op);
}

static int op_end_and_finish(struct twheel_op *op, enum twheel_reason reason, u64 value)
{
	bool new, won;

	spin_lock_bh(&op->lock);
	new = op_state(op) == OP_NEW;
	won = op_end(op, reason, value);
	spin_unlock_bh(&op->lock);

	if (won)
		twheel_op_finish(op);
	return won ? 0 : new ? -ENOENT : -EALREADY;
}

static void op_expired(struct twheel_timer *timer)
{
	struct twheel_op *op = container_of(timer, struct twheel_op, timer);

	op_end_and_finish(op, TWHEEL_EXPIRED, 0);
	op_unhold(op);
}

/**
 * twheel_op_signal - count a signal for one watch of an operation
 * @op: the operation
 * @watch: one of its watches; the lock of its key is held
 * @value: what the signal carries
 *
 * Return: true if that completed the operation: the caller has to finish it,
 * once it holds no lock.
 */
bool twheel_op_signal(struct twheel_op *op, struct twheel_watch *watch, u64 value)
{
	bool completed = false;

	lockdep_assert_held(&watch->key->lock);
	spin_lock(&op->lock);
	if (op_state(op) == OP_WAITING && watch->need && !--watch->need && !--op->unsatisfied)
		completed = op_end(op, TWHEEL_COMPLETED, value);
	spin_unlock(&op->lock);
	return completed;
}

static bool watch_among(const struct twheel_watch *watches, u32 nr,
			const struct twheel_watched_key *key)
{
	while (nr--)
		if (watches[nr].key == key)
			return true;
	return false;
}

static void watches_put(struct twheel_purgatory *purgatory,
			struct twheel_watch *watches, u32 nr)
{
	while (nr--)
		twheel_key_put(&purgatory->keys, watches[nr].key);
}

/* Get each of some keys once; how many these are, or -ENOMEM and none. */
static int watches_get(struct twheel_purgatory *purgatory,
		       const struct twheel_watch_spec *specs,
		       struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_watched_key *key;
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++) {
		key = twheel_key_get(&purgatory->keys, &specs[i].key, gfp);
		if (IS_ERR(key)) {
			watches_put(purgatory, watches, nr);
			return PTR_ERR(key);
		}
		if (watch_among(watches, nr, key)) {
			twheel_key_put(&purgatory->keys, key);
			continue;
		}
		watches[nr].key = key;
		watches[nr].need = specs[i].need ?: 1;
		nr++;
	}
	return nr;
}

/* Put watches on their operation; they are still to be linked. */
static void op_attach(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	u32 i;

	lockdep_assert_held(&op->lock);
	for (i = 0; i < nr; i++) {
		INIT_LIST_HEAD(&watches[i].entry);
		watches[i].op = op;
		watches[i].next = op->watches;
		op->watches = &watches[i];
	}
	op->nr_watches += nr;
	if (op->condition == TWHEEL_COND_ALL)
		op->unsatisfied += nr;
}

/* From here on signals under the key of each watch count. */
static void watches_link(struct twheel_watch *watches, u32 nr)
{
	struct twheel_watch *watch;

	for (watch = watches; watch < watches + nr; watch++) {
		spin_lock_bh(&watch->key->lock);
		spin_lock(&watch->op->lock);
		if (op_state(watch->op) == OP_WAITING)
			twheel_key_link(watch->key, watch);
		spin_unlock(&watch->op->lock);
		spin_unlock_bh(&watch->key->lock);
	}
}

/* Let an operation wait, unless the purgatory is being drained. */
static int op_park(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_home *home = op_home(op);
	int err = -ESHUTDOWN;

	spin_lock_bh(&op->lock);
	spin_lock(&home->lock);
	if (!home->draining) {
		op_hold(op);
		op_attach(op, watches, nr);
		home->added++;
		home->watches += nr;
		list_add_tail(&op->parked, &home->ops);
		WRITE_ONCE(op->state, OP_WAITING);
		err = 0;
	}
	spin_unlock(&home->lock);
	spin_unlock_bh(&op->lock);
	return err;
}

static void op_arm(struct twheel_op *op)
{
	spin_lock_bh(&op->lock);
	if (op_state(op) == OP_WAITING && op->deadline <= KTIME_MAX) {
		op_hold(op);
		WARN_ON_ONCE(twheel_timer_add(&op->timer, op->deadline));
	}
	spin_unlock_bh(&op->lock);
}

static void op_setup(struct twheel_op *op, struct twheel_purgatory *purgatory,
		     const struct twheel_op_args *args)
{
	op->purgatory = purgatory;
	op->home = raw_smp_processor_id() & (purgatory->nr_homes - 1);
	op->deadline = args->deadline > KTIME_MAX ? TWHEEL_NEVER : args->deadline;
	op->condition = args->condition;
	/* With all of its keys, each that is attached counts. */
	op->unsatisfied = args->condition == TWHEEL_COND_ANY ? 1 : args->quorum;
	twheel_timer_init(&op->timer, purgatory->wheel, op_expired);
}

static int specs_check(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].reserved)
			return -EINVAL;
	return 0;
}

static bool key_among(const struct twheel_watch_spec *specs, u32 nr,
		      const struct twheel_key *key)
{
	while (nr--)
		if (!memcmp(&specs[nr].key, key, sizeof(*key)))
			return true;
	return false;
}

static u32 nr_distinct(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++)
		nr += !key_among(specs, i, &specs[i].key);
	return nr;
}

/**
 * twheel_op_check - whether an operation can be added like this
 * @args: how it is to wait; the room for its watches is not looked at
 *
 * twheel_op_add() checks this too. It is for who wants to know before anything
 * else is done for the operation.
 *
 * Context: any.
 * Return: 0, or -EINVAL as twheel_op_add().
 */
int twheel_op_check(const struct twheel_op_args *args)
{
	bool keyed = args->condition != TWHEEL_COND_NONE;
	bool quorum = args->condition == TWHEEL_COND_QUORUM;

	if (args->condition > TWHEEL_COND_QUORUM)
		return -EINVAL;
	if (keyed != !!args->nr_keys || quorum != !!args->quorum)
		return -EINVAL;
	if (specs_check(args->specs, args->nr_keys))
		return -EINVAL;
	if (quorum && args->quorum > nr_distinct(args->specs, args->nr_keys))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_op_check);

static int op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args, gfp_t gfp)
{
	int nr, err;

	nr = watches_get(purgatory, args->specs, args->watches, args->nr_keys, gfp);
	if (nr < 0)
		return nr;
	op_setup(op, purgatory, args);
	/* Keeps the keys there for us, should the operation end meanwhile. */
	rcu_read_lock();
	err = op_park(op, args->watches, nr);
	if (!err) {
		watches_link(args->watches, nr);
		op_arm(op);
	}
	rcu_read_unlock();
	if (err)
		watches_put(purgatory, args->watches, nr);
	return err;
}

/**
 * twheel_op_add - let an operation wait in a purgatory
 * @purgatory: where
 * @op: the operation, initialised; the caller has a reference
 * @args: how it waits; a key given twice counts once
 * @gfp: how to allocate what a new key needs
 *
 * The operation may end, and its callback run, before this returns. On an
 * error it has not been added, nothing of it is left behind, and it may be
 * added again. The memory of its watches must stay until it is released.
 *
 * Context: process or softirq, as @gfp allows, with interrupts enabled.
 * Return:
 * * 0          - it waits, or has ended by now
 * * -EINVAL    - a condition without keys or keys without a condition, a
 *	quorum of none or of more than the distinct keys, too many keys, a
 *	reserved field that is not zero
 * * -EBUSY     - the operation was added before
 * * -ENOSPC    - as many operations as may are pending
 * * -ESHUTDOWN - the purgatory is being drained
 * * -ENOMEM    - no memory for a key
 */
int twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		  const struct twheel_op_args *args, gfp_t gfp)
{
	int err;

	if (WARN_ON_ONCE(op_state(op) != OP_NEW))
		return -EBUSY;
	err = twheel_op_check(args);
	if (err)
		return err;
	err = twheel_purgatory_admit(purgatory);
	if (err)
		return err;
	err = op_add(purgatory, op, args, gfp);
	if (err)
		twheel_purgatory_dismiss(purgatory);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_op_add);

/* Move watches whose key the operation watches already behind the others. */
static u32 op_sort_new(const struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	const struct twheel_watch *old;
	u32 i = 0;

	lockdep_assert_held(&op->lock);
	while (i < nr) {
		for (old = op->watches; old && old->key != watches[i].key; old = old->next)
			;
		if (!old) {
			i++;
			continue;
		}
		nr--;
		swap(watches[i], watches[nr]);
	}
	return nr;
}

/* Attach and link those watches whose key is new; how many, or an error. */
static int op_watch_new(struct twheel_op *op, struct twheel_watch *watches, u32 nr)
{
	struct twheel_home *home = op_home(op);
	int ret = -EALREADY;

	spin_lock_bh(&op->lock);
	if (op_state(op) == OP_WAITING) {
		nr = op_sort_new(op, watches, nr);
		ret = op->nr_watches + nr > TWHEEL_MAX_KEYS ? -EINVAL : nr;
	}
	if (ret > 0) {
		op_attach(op, watches, nr);
		spin_lock(&home->lock);
		home->watches += nr;
		spin_unlock(&home->lock);
	}
	spin_unlock_bh(&op->lock);
	if (ret > 0)
		watches_link(watches, nr);
	return ret;
}

/* Whether more keys may be watched; holds the purgatory if so. */
static int op_may_watch(struct twheel_op *op)
{
	int err = 0;

	spin_lock_bh(&op->lock);
	if (op_state(op) == OP_NEW)
		err = -ENOENT;
	else if (op_state(op) != OP_WAITING)
		err = -EALREADY;
	else if (op->condition == TWHEEL_COND_NONE)
		err = -EINVAL;
	else
		twheel_purgatory_hold(op->purgatory);
	spin_unlock_bh(&op->lock);
	return err;
}

/**
 * twheel_op_watch - let a waiting operation watch further keys
 * @op: the operation, which was added with a condition on keys
 * @specs: the keys; those that it watches already are passed over
 * @watches: room for as many watches, to stay until @op is released unless
 *	none of it is used
 * @nr_keys: how many, at least one
 * @gfp: how to allocate what a new key needs
 *
 * All of the keys are watched from now on, or on an error none. An operation
 * that waits for all of its keys waits for these too.
 *
 * Context: process or softirq, as @gfp allows, with interrupts enabled.
 * Return:
 * * how many of the keys it did not watch before
 * * -EINVAL   - it has no condition on keys; no key, or more than
 *	TWHEEL_MAX_KEYS in all; a reserved field that is not zero
 * * -ENOENT   - it was not added
 * * -EALREADY - it has ended
 * * -ENOMEM   - no memory for a key
 */
int twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		    struct twheel_watch *watches, u32 nr_keys, gfp_t gfp)
{
	struct twheel_purgatory *purgatory;
	int nr, ret, err;

	if (!nr_keys || specs_check(specs, nr_keys))
		return -EINVAL;
	err = op_may_watch(op);
	if (err)
		return err;

	purgatory = op->purgatory;
	nr = watches_get(purgatory, specs, watches, nr_keys, gfp);
	if (nr < 0) {
		twheel_purgatory_release(purgatory);
		return nr;
	}
	rcu_read_lock();
	ret = op_watch_new(op, watches, nr);
	rcu_read_unlock();
	watches_put(purgatory, watches + max(ret, 0), nr - max(ret, 0));
	twheel_purgatory_release(purgatory);
	return ret;
}
EXPORT_SYMBOL_GPL(twheel_op_watch);

/**
 * twheel_op_complete - complete an operation, whatever its condition says
 * @op: the operation; the caller has a reference
 * @value: for whoever waits for it
 *
 * Context: process or softirq, with interrupts enabled and no lock held that
 * its callback takes.
 * Return:
 * * 0         - this call completed it, and its callback has returned
 * * -EALREADY - it has ended by another way; its callback may be running
 * * -ENOENT   - it was not added
 */
int twheel_op_complete(struct twheel_op *op, u64 value)
{
	return op_end_and_finish(op, TWHEEL_COMPLETED, value);
}
EXPORT_SYMBOL_GPL(twheel_op_complete);

/**
 * twheel_op_cancel - cancel an operation
 * @op: the operation; the caller has a reference
 *
 * Context: as twheel_op_complete().
 * Return: as twheel_op_complete().
 */
int twheel_op_cancel(struct twheel_op *op)
{
	return op_end_and_finish(op, TWHEEL_CANCELLED, 0);
}
EXPORT_SYMBOL_GPL(twheel_op_cancel);

static bool op_done(const struct twheel_op *op)
{
	/* Pairs with the release in twheel_op_finish(). */
	return smp_load_acquire(&op->state) == OP_DONE;
}

/**
 * twheel_op_cancel_sync - cancel an operation, and wait for its callback
 * @op: the operation; the caller has a reference
 *
 * When this returns, its callback has returned, by whatever way it ended.
 *
 * Context: process; may sleep. Not from the operation's own callback: refused
 * with a warning.
 * Return: as twheel_op_complete(), or -EDEADLK from its own callback.
 */
int twheel_op_cancel_sync(struct twheel_op *op)
{
	int err;

	might_sleep();
	err = twheel_op_cancel(op);
	if (err != -EALREADY)
		return err;
	if (WARN_ON_ONCE(READ_ONCE(op->ender) == current))
		return -EDEADLK;
	wait_var_event(&op->state, op_done(op));
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
	WARN_ON_ONCE(op_state(op) < OP_ENDED);
	result->reason = op->reason;
	result->value = op->value;
	result->deadline = op->deadline;
	result->time = op->time;
}
EXPORT_SYMBOL_GPL(twheel_op_result);
