/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the purgatory. See purgatory.c, and op.c for the lock order. */
#ifndef _TWHEEL_OP_PURGATORY_H
#define _TWHEEL_OP_PURGATORY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>

#include "key.h"

/* Size of the name of a purgatory, with its NUL. */
#define TWHEEL_PURGATORY_NAME	32

/*
 * Number of operations for which a list takes quota from the purgatory at a time, so that CPUs
 * rarely write to the same counter. A list keeps a quota of at most twice as many.
 */
#define TWHEEL_PORTION		32U

/**
 * struct twheel_op_list - a part of the pending operations of a purgatory
 * @lock: protects all members except @holds; taken inside of op->lock
 * @quota: number of operations that may be added before the list needs more quota; also read
 *	without the lock
 * @holds: operations with a hold, in @ops or ended, and one until the purgatory is drained
 * @ops: the pending operations
 * @iters: iterators that stand in this list, see iter.c
 * @draining: adds are refused
 * @watches: number of watches of the operations in @ops
 * @added: number of operations added so far
 * @ended: number of operations ended so far, by reason
 *
 * An operation is on the list of the CPU that added it, so that CPUs do not contend for one
 * list.
 */
struct twheel_op_list {
	spinlock_t		lock;	/* inside of an op's */
	u32			quota;
	refcount_t		holds;
	struct list_head	ops;
	struct list_head	iters;
	bool			draining;
	u64			watches;
	u64			added;
	u64			ended[TWHEEL_REASON_CANCELLED + 1];
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_purgatory - a set of pending operations
 * @wheel: default wheel of the operations; immutable
 * @name: shown in debugfs; immutable
 * @listed: entry in twheel_purgatories; protected by twheel_purgatories_lock
 * @serial: serial number, in order of creation; immutable
 * @max_pending: limit on pending operations; immutable
 * @max_watches: limit on their watches, 0 for none; immutable
 * @nr_lists: number of lists, a power of two; immutable
 * @quota: number of operations that may be added, apart from the quota of the lists
 * @watches: number of watches, counted only with @max_watches
 * @rejected: number of calls refused by a limit
 * @holds: users that the end of the purgatory waits for, and the lists with @holds
 * @drained: completed when @holds drops to zero
 * @map: for lockdep; held during callbacks and acquired by drain
 * @keys: the watched keys
 * @list: the pending operations
 */
struct twheel_purgatory {
	struct twheel		*wheel;
	char			name[TWHEEL_PURGATORY_NAME];
	struct list_head	listed;
	u64			serial;
	u32			max_pending;
	u32			max_watches;
	unsigned int		nr_lists;
	/* Written by all CPUs; apart from the members above. */
	atomic_t		quota ____cacheline_aligned_in_smp;
	atomic_t		watches;
	atomic64_t		rejected;
	refcount_t		holds;
	struct completion	drained;
	struct lockdep_map	map;
	struct twheel_keys	keys ____cacheline_aligned_in_smp;
	struct twheel_op_list	list[];
};

/* Return: false if the limit on watches is reached. */
static inline bool twheel_purgatory_charge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	int old = atomic_read(&purgatory->watches);

	if (!purgatory->max_watches || !nr)
		return true;
	do {
		if (purgatory->max_watches - old < nr)
			return false;
	} while (!atomic_try_cmpxchg(&purgatory->watches, &old, old + nr));
	return true;
}

static inline void twheel_purgatory_uncharge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	if (purgatory->max_watches)
		atomic_sub(nr, &purgatory->watches);
}

/* Whether the purgatory has so little quota that lists must not keep any. */
static inline bool twheel_quota_is_scarce(const struct twheel_purgatory *purgatory, int quota)
{
	return quota < (int)(2 * TWHEEL_PORTION * purgatory->nr_lists);
}

/* Take a quota of one, or a portion if there is plenty. Return: false if there is none. */
static inline bool twheel_purgatory_take_quota(struct twheel_purgatory *purgatory,
					       struct twheel_op_list *list)
{
	int nr, quota = atomic_read(&purgatory->quota);

	lockdep_assert_held(&list->lock);
	do {
		nr = twheel_quota_is_scarce(purgatory, quota) ? 1 : TWHEEL_PORTION;
		if (quota < nr)
			return false;
	} while (!atomic_try_cmpxchg(&purgatory->quota, &quota, quota - nr));
	WRITE_ONCE(list->quota, list->quota + nr);
	return true;
}

/* Return quota of a list. */
static inline void twheel_purgatory_return_quota(struct twheel_purgatory *purgatory,
						 struct twheel_op_list *list, u32 nr)
{
	lockdep_assert_held(&list->lock);
	WRITE_ONCE(list->quota, list->quota - nr);
	atomic_add(nr, &purgatory->quota);
}

/*
 * Reclaim unused quota from all lists, for an add that found none. Return: whether the lists had
 * any.
 */
static inline bool twheel_purgatory_reclaim_quota(struct twheel_purgatory *purgatory)
{
	struct twheel_op_list *list;
	bool found = false;
	unsigned int i;

	for (i = 0; i < purgatory->nr_lists; i++) {
		list = &purgatory->list[i];
		/* A hint: quota that another CPU returns just now may be missed. */
		if (!READ_ONCE(list->quota))
			continue;
		spin_lock_bh(&list->lock);
		found |= list->quota;
		twheel_purgatory_return_quota(purgatory, list, list->quota);
		spin_unlock_bh(&list->lock);
	}
	return found;
}

/* Charge an operation. Return: false if the list has no quota and gets none. */
static inline bool twheel_purgatory_charge(struct twheel_purgatory *purgatory,
					   struct twheel_op_list *list)
{
	lockdep_assert_held(&list->lock);
	if (unlikely(!list->quota) && !twheel_purgatory_take_quota(purgatory, list))
		return false;
	WRITE_ONCE(list->quota, list->quota - 1);
	return true;
}

static inline void twheel_purgatory_uncharge(struct twheel_purgatory *purgatory,
					     struct twheel_op_list *list)
{
	lockdep_assert_held(&list->lock);
	WRITE_ONCE(list->quota, list->quota + 1);
	if (unlikely(twheel_quota_is_scarce(purgatory, atomic_read(&purgatory->quota))))
		twheel_purgatory_return_quota(purgatory, list, list->quota);
	else if (unlikely(list->quota > 2 * TWHEEL_PORTION))
		twheel_purgatory_return_quota(purgatory, list, TWHEEL_PORTION);
}

/* The caller has a hold, or prevents the end of the purgatory in another way. */
static inline void twheel_purgatory_hold(struct twheel_purgatory *purgatory)
{
	refcount_inc(&purgatory->holds);
}

/* Return: false if the purgatory has been drained. */
static inline bool twheel_purgatory_try_hold(struct twheel_purgatory *purgatory)
{
	return refcount_inc_not_zero(&purgatory->holds);
}

/* The purgatory may be freed. */
static inline void twheel_purgatory_release(struct twheel_purgatory *purgatory)
{
	if (refcount_dec_and_test(&purgatory->holds))
		complete_all(&purgatory->drained);
}

/* The purgatory may be freed. */
static inline void twheel_op_list_release(struct twheel_purgatory *purgatory,
					  struct twheel_op_list *list)
{
	if (refcount_dec_and_test(&list->holds))
		twheel_purgatory_release(purgatory);
}

/* iter.c */
void __twheel_iters_skip(struct twheel_op_list *list, struct twheel_op *op);
u32 twheel_purgatory_end_all(struct twheel_purgatory *purgatory, enum twheel_reason reason,
			     int error, u64 value, unsigned int flags);

/* Advance the iterators that stand at an operation, before it leaves the list. */
static inline void twheel_iters_skip(struct twheel_op_list *list, struct twheel_op *op)
{
	if (unlikely(!list_empty(&list->iters)))
		__twheel_iters_skip(list, op);
}

/* op.c */
bool twheel_op_put_last(struct twheel_op *op);

/* op_add.c */
int __twheel_op_add(struct twheel_purgatory *purgatory, struct twheel_op *op,
		    const struct twheel_op_args *args);

/* op_watch.c */
int __twheel_op_watch(struct twheel_op *op, const struct twheel_watch_spec *specs,
		      struct twheel_watch *watches, u32 nr_keys, bool may_sleep);

/* signal.c */
bool twheel_key_is_watched(struct twheel_purgatory *purgatory, const struct twheel_key *key);

/* purgatory.c */
extern struct list_head twheel_purgatories;
extern struct mutex twheel_purgatories_lock;

void twheel_purgatory_count(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats);
struct twheel_purgatory *twheel_purgatory_after(u64 serial);
void twheel_purgatories_exit(void);

#endif /* _TWHEEL_OP_PURGATORY_H */
