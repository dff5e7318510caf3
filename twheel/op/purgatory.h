/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: a purgatory, for operations to wait in. See purgatory.c and op.c. */
#ifndef _TWHEEL_OP_PURGATORY_H
#define _TWHEEL_OP_PURGATORY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>

#include "key.h"

/* Room for the name of a purgatory. */
#define TWHEEL_PURGATORY_NAME	32

/**
 * struct twheel_op_list - where a part of the operations of a purgatory is listed
 * @lock: protects the rest; taken inside of the lock of an operation
 * @ops: those that have not ended
 * @iters: those who stand here, see iter.c
 * @draining: no operation is let in any more
 * @watches: of the operations in @ops
 * @added: operations so far
 * @ended: operations so far, by reason
 *
 * An operation is listed in the home of the CPU that added it, so that CPUs
 * don't serialise on one list.
 */
struct twheel_op_list {
	spinlock_t		lock;	/* inside of an op's */
	struct list_head	ops;
	struct list_head	iters;
	bool			draining;
	u64			watches;
	u64			added;
	u64			ended[TWHEEL_CANCELLED + 1];
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_purgatory - where operations wait
 * @wheel: for the deadlines of those that bring no wheel; immutable
 * @name: for who looks at it from outside; immutable
 * @listed: among all purgatories
 * @serial: in the order of their making; immutable
 * @max_pending: how many may wait at a time; immutable
 * @max_watches: how many watches they may have, 0 for any number; immutable
 * @nr_lists: a power of two; immutable
 * @pending: how many wait
 * @watches: how many watches there are, if that is limited
 * @rejected: how many were refused because of a limit
 * @holds: what of ours may still touch an operation of this purgatory, and one
 *	until it is drained
 * @drained: completed when @holds is down to zero
 * @keys: what they watch
 * @list: where they are listed
 */
struct twheel_purgatory {
	struct twheel		*wheel;
	char			name[TWHEEL_PURGATORY_NAME];
	struct list_head	listed;
	u64			serial;
	u32			max_pending;
	u32			max_watches;
	unsigned int		nr_lists;
	/* What all CPUs write, apart from what they read. */
	atomic_t		pending ____cacheline_aligned_in_smp;
	atomic_t		watches;
	atomic64_t		rejected;
	refcount_t		holds;
	struct completion	drained;
	struct twheel_keys	keys ____cacheline_aligned_in_smp;
	struct twheel_op_list	list[];
};

/* Count an operation that is about to wait; -ENOSPC if as many as may do. */
static inline int twheel_purgatory_charge(struct twheel_purgatory *purgatory)
{
	if (atomic_add_unless(&purgatory->pending, 1, purgatory->max_pending))
		return 0;
	atomic64_inc(&purgatory->rejected);
	return -ENOSPC;
}

/* Count watches that are about to be attached; -ENOSPC if there are too many. */
static inline int twheel_purgatory_charge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	int old = atomic_read(&purgatory->watches);

	if (!purgatory->max_watches || !nr)
		return 0;
	do {
		if (purgatory->max_watches - old < nr) {
			atomic64_inc(&purgatory->rejected);
			return -ENOSPC;
		}
	} while (!atomic_try_cmpxchg(&purgatory->watches, &old, old + nr));
	return 0;
}

/* Make room for other watches. */
static inline void twheel_purgatory_uncharge_watches(struct twheel_purgatory *purgatory, u32 nr)
{
	if (purgatory->max_watches)
		atomic_sub(nr, &purgatory->watches);
}

/* Make room for another operation, and as many watches as this one had. */
static inline void twheel_purgatory_uncharge(struct twheel_purgatory *purgatory, u32 nr_watches)
{
	twheel_purgatory_uncharge_watches(purgatory, nr_watches);
	atomic_dec(&purgatory->pending);
}

static inline void twheel_op_list_count_watches(struct twheel_op_list *list, int more)
{
	spin_lock(&list->lock);
	list->watches += more;
	spin_unlock(&list->lock);
}

/* Let the end of a purgatory wait; it is held, or not drained, already. */
static inline void twheel_purgatory_hold(struct twheel_purgatory *purgatory)
{
	refcount_inc(&purgatory->holds);
}

/* Hold a purgatory that may have been drained; whether it has not. */
static inline bool twheel_purgatory_try_hold(struct twheel_purgatory *purgatory)
{
	return refcount_inc_not_zero(&purgatory->holds);
}

/* End a hold; the purgatory may be gone after that. */
static inline void twheel_purgatory_release(struct twheel_purgatory *purgatory)
{
	if (refcount_dec_and_test(&purgatory->holds))
		complete_all(&purgatory->drained);
}

/* Layer 5: the operations of a purgatory, one after the other. See iter.c. */

void __twheel_iters_pass(struct twheel_op_list *list, struct twheel_op *op);

/* Move those who stand at an operation that is about to leave its home. */
static inline void twheel_iters_pass(struct twheel_op_list *list, struct twheel_op *op)
{
	if (unlikely(!list_empty(&list->iters)))
		__twheel_iters_pass(list, op);
}

/* Layer 5: all the purgatories that there are. See purgatory.c. */

extern struct list_head twheel_purgatories;
extern struct mutex twheel_purgatories_lock;

struct twheel_purgatory *twheel_purgatory_after(u64 serial);
u32 twheel_purgatory_end_all(struct twheel_purgatory *purgatory, enum twheel_reason reason,
			     int error, u64 value, unsigned int flags);
void twheel_purgatories_exit(void);

void twheel_purgatories_add(struct twheel_purgatory *purgatory);
void twheel_purgatories_remove(struct twheel_purgatory *purgatory);

#endif /* _TWHEEL_OP_PURGATORY_H */
