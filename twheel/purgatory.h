/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 5: a purgatory, for operations to wait in. See purgatory.c and op.c. */
#ifndef _TWHEEL_PURGATORY_H
#define _TWHEEL_PURGATORY_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>

#include "key.h"

/**
 * struct twheel_home - where a part of the operations of a purgatory is listed
 * @lock: protects the rest; taken inside of the lock of an operation
 * @ops: those that have not ended
 * @draining: no operation is let in any more
 * @watches: of the operations in @ops
 * @added: operations so far
 * @ended: operations so far, by reason
 *
 * An operation is listed in the home of the CPU that added it, so that CPUs
 * don't serialise on one list.
 */
struct twheel_home {
	spinlock_t		lock;	/* inside of an op's */
	struct list_head	ops;
	bool			draining;
	u64			watches;
	u64			added;
	u64			ended[TWHEEL_CANCELLED + 1];
} ____cacheline_aligned_in_smp;

/**
 * struct twheel_purgatory - where operations wait
 * @wheel: for their deadlines; immutable
 * @max_pending: how many may wait at a time; immutable
 * @pending: how many do
 * @rejected: how many were refused because of that
 * @holds: what of ours may still touch an operation of this purgatory, and one
 *	until it is drained
 * @drained: completed when @holds is down to zero
 * @keys: what they watch
 * @nr_homes: a power of two; immutable
 * @home: where they are listed
 */
struct twheel_purgatory {
	struct twheel		*wheel;
	u32			max_pending;
	atomic_t		pending;
	atomic64_t		rejected;
	refcount_t		holds;
	struct completion	drained;
	struct twheel_keys	keys;
	unsigned int		nr_homes;
	struct twheel_home	home[];
};

/* Count an operation that is about to wait; -ENOSPC if as many as may do. */
static inline int twheel_purgatory_admit(struct twheel_purgatory *purgatory)
{
	if (atomic_add_unless(&purgatory->pending, 1, purgatory->max_pending))
		return 0;
	atomic64_inc(&purgatory->rejected);
	return -ENOSPC;
}

/* Make room for another operation. */
static inline void twheel_purgatory_dismiss(struct twheel_purgatory *purgatory)
{
	atomic_dec(&purgatory->pending);
}

/* Let the end of a purgatory wait; it is held, or not drained, already. */
static inline void twheel_purgatory_hold(struct twheel_purgatory *purgatory)
{
	refcount_inc(&purgatory->holds);
}

/* End a hold; the purgatory may be gone after that. */
static inline void twheel_purgatory_release(struct twheel_purgatory *purgatory)
{
	if (refcount_dec_and_test(&purgatory->holds))
		complete_all(&purgatory->drained);
}

#endif /* _TWHEEL_PURGATORY_H */
