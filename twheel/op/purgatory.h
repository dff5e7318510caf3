/* SPDX-License-Identifier: GPL-2.0 */
/* Operations: the purgatory, and its quota. See purgatory.c, and op.c for the lock order. */
#ifndef _TWHEEL_OP_PURGATORY_H
#define _TWHEEL_OP_PURGATORY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "key.h"

/* Size of the name of a purgatory, with its NUL. */
#define TWHEEL_PURGATORY_NAME	32

/* Units of quota that a pool takes from the purgatory, or returns to it, at a time. */
#define TWHEEL_PORTION		64

/* The quota of a pool that neither gives nor takes units */
#define TWHEEL_POOL_SHUT	(-1)

/* What a purgatory has for each CPU. The counts are sums over all CPUs. */
struct twheel_pool {
	atomic_t		quota;		/* units for operations, or TWHEEL_POOL_SHUT */
	spinlock_t		lock;		/* of @ops */
	u64			added;		/* operations */
	u64			ended[TWHEEL_REASON_CANCELLED];	/* operations, by reason - 1 */
	u64			watches;	/* of pending operations */
	struct hlist_head	ops;		/* added here, without watches; and iterators */
} ____cacheline_aligned_in_smp;

struct twheel_ending;

/* A set of pending operations. Members without a lock are immutable. */
struct twheel_purgatory {
	struct twheel		*wheel;		/* default one of the operations */
	struct twheel_pool __percpu *pools;
	u32			max_pending;
	u32			max_watches;	/* 0 for no limit */
	struct twheel_keys	keys;
	char			name[TWHEEL_PURGATORY_NAME];
	struct list_head	listed;		/* with twheel_purgatories_lock held */
	u64			serial;		/* in order of creation */
	struct lockdep_map	map;		/* held during callbacks, acquired by drain */
	/* Written by all CPUs, rarely; apart from the members above. */
	spinlock_t		lock ____cacheline_aligned_in_smp;	/* innermost */
	/* With @lock held */
	int			quota;		/* units left here; negative after overdrafts */
	bool			shut;		/* all pools are shut */
	bool			closed;		/* it is drained; also read without the lock */
	unsigned int		changing;	/* calls that change the keys of an operation */
	struct twheel_ending	*ending;	/* the call that ends all operations, or NULL */
	wait_queue_head_t	drain;		/* all units are back; @changing and @ending */
	/* Atomic */
	struct llist_head	deferred;	/* operations with deferred callbacks */
	struct work_struct	deferred_work;	/* runs these */
	atomic_t		watch_count;	/* only with @max_watches */
	atomic64_t		rejected;	/* calls refused by a limit */
	struct rcu_head		rcu;
};

/* Return: false if the limit on watches is reached. */
static inline bool twheel_purgatory_charge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	int old;

	if (likely(!purgatory->max_watches) || !nr)
		return true;
	old = atomic_read(&purgatory->watch_count);
	do {
		if (purgatory->max_watches - old < nr)
			return false;
	} while (!atomic_try_cmpxchg(&purgatory->watch_count, &old, old + nr));
	return true;
}

static inline void twheel_purgatory_uncharge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	if (unlikely(purgatory->max_watches))
		atomic_sub(nr, &purgatory->watch_count);
}

int twheel_purgatory_charge_slow(struct twheel_purgatory *purgatory);
void twheel_purgatory_uncharge_slow(struct twheel_purgatory *purgatory);

/*
 * Take a unit of quota for an operation that is added, with the lock of a bucket held, which orders
 * this and the walk of a drain; or see op_begin_listed(). Return: 0, -ENOSPC or -ESHUTDOWN.
 */
static __always_inline int twheel_purgatory_charge(struct twheel_purgatory *purgatory)
{
	atomic_t *pool = &raw_cpu_ptr(purgatory->pools)->quota;
	int quota = atomic_read(pool);

	while (likely(quota > 0)) {
		/* Before it has the unit, see purgatory_is_full(). */
		this_cpu_inc(purgatory->pools->added);
		if (likely(atomic_try_cmpxchg(pool, &quota, quota - 1)))
			return 0;
		this_cpu_dec(purgatory->pools->added);
	}
	return twheel_purgatory_charge_slow(purgatory);
}

/* Return the unit of an operation, after its callback. The purgatory may be freed. */
static __always_inline void twheel_purgatory_uncharge(struct twheel_purgatory *purgatory)
{
	atomic_t *pool = &raw_cpu_ptr(purgatory->pools)->quota;
	int quota = atomic_read(pool);

	do {
		if (unlikely((unsigned int)quota >= 2 * TWHEEL_PORTION)) {
			twheel_purgatory_uncharge_slow(purgatory);
			return;
		}
	} while (unlikely(!atomic_try_cmpxchg(pool, &quota, quota + 1)));
}

void twheel_purgatory_hold(struct twheel_purgatory *purgatory);
void twheel_purgatory_release(struct twheel_purgatory *purgatory);

/* iter.c */
u32 twheel_purgatory_end_all(struct twheel_purgatory *purgatory, enum twheel_reason reason,
			     int error, u64 value, unsigned int flags);

/* op.c */
void twheel_op_deferred_fn(struct work_struct *work);

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
extern struct workqueue_struct *twheel_op_wq;	/* of deferred callbacks */

void twheel_purgatory_count(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats);
struct twheel_purgatory *twheel_purgatory_after(u64 serial);
int __init twheel_purgatories_init(void);
void twheel_purgatories_exit(void);

#endif /* _TWHEEL_OP_PURGATORY_H */
