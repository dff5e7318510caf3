// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the purgatory, which holds pending operations.
 *
 * Creation, drain, counts, and the list of all purgatories. See op.c for a single operation
 * and signal.c for signals.
 *
 *
 * Quota
 * -----
 *
 * A purgatory has as many units of quota as it may have pending operations. An operation has one
 * from the add until its callback has returned. The others are in the pools of the CPUs, where adds
 * and ends take and return them without a lock, or in purgatory->quota. Their sum is constant, and
 * so the same units limit the operations, keep the purgatory, and end it: a drain closes the pools,
 * collects their units, and waits until all of them are back.
 *
 *	pool->quota	at most 2 portions, or shut; changed by compare-and-exchange
 *	->quota		with ->lock held, by those that find a pool empty, full or shut
 *
 * An add that finds its pool empty takes a portion from ->quota, or a single unit if there are few.
 * If there is none, it collects those of all pools, and shuts them until there are some again.
 *
 * The limit is on pending operations, so the units of those that have ended and whose callbacks are
 * running do not count. If there are such, an add that finds no unit overdraws ->quota. In doubt an
 * operation counts as pending: it is counted as added before it takes its unit from a pool, and the
 * pools are shut before the counts are read. While they are shut, units that come back make up for
 * overdrafts first.
 *
 * A drain shuts the pools for ever. A unit never goes back to a pool that is shut, but to ->quota
 * with the lock held. The CPU that brings the last one wakes the drain, and drops the lock before
 * the purgatory can be destroyed.
 *
 *
 * debugfs
 * -------
 *
 * twheel_purgatories lists all purgatories for debugfs. twheel/purgatories shows a line of
 * counts for each. twheel/operations shows a line for each pending operation. The latter may
 * take long, so it takes a hold of each purgatory and drops twheel_purgatories_lock.
 */
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "../core/shard.h"
#include "../core/twheel.h"
#include "op.h"
#include "purgatory.h"

/* Signed numbers hold it, and as many overdrafts. */
#define MAX_PENDING_MAX	BIT(30)

/* The mutex protects the list and the serial numbers. */
DEFINE_MUTEX(twheel_purgatories_lock);
LIST_HEAD(twheel_purgatories);
static u64 last_serial;

struct workqueue_struct *twheel_op_wq;

static struct lock_class_key map_key;

/**
 * twheel_purgatory_create - create a purgatory
 * @config: name, default wheel, limits and accounting
 *
 * Context: process; may sleep.
 * Return:
 * * the purgatory
 * * ERR_PTR(-EINVAL) - a limit on operations of 0 or above 2^30, a limit on watches above
 *   INT_MAX, a name that is too long, or a wheel with its own limit
 * * ERR_PTR(-ENOMEM)
 */
struct twheel_purgatory *
twheel_purgatory_create(const struct twheel_purgatory_config *config)
{
	gfp_t gfp = GFP_KERNEL | (config->account ? TWHEEL_GFP_ACCOUNT : 0);
	struct twheel *wheel = config->wheel;
	struct twheel_purgatory *purgatory;
	unsigned int cpu;

	might_sleep();
	if (!config->max_pending || config->max_pending > MAX_PENDING_MAX ||
	    config->max_watches > INT_MAX ||
	    (config->name && strlen(config->name) >= TWHEEL_PURGATORY_NAME))
		return ERR_PTR(-EINVAL);
	if (!wheel)
		wheel = twheel_system();
	if (IS_ERR(wheel))
		return ERR_CAST(wheel);
	if (twheel_op_check_wheel(wheel, 0))
		return ERR_PTR(-EINVAL);

	purgatory = kzalloc(sizeof(*purgatory), gfp);
	if (!purgatory)
		return ERR_PTR(-ENOMEM);
	purgatory->pools = alloc_percpu_gfp(struct twheel_pool, gfp);
	if (!purgatory->pools || twheel_keys_init(&purgatory->keys, config->account)) {
		free_percpu(purgatory->pools);
		kfree(purgatory);
		return ERR_PTR(-ENOMEM);
	}
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(purgatory->pools, cpu)->lock);
	spin_lock_init(&purgatory->lock);
	INIT_WORK(&purgatory->deferred_work, twheel_op_deferred_fn);
	init_waitqueue_head(&purgatory->drain);
	lockdep_init_map(&purgatory->map, "twheel_purgatory", &map_key, 0);
	purgatory->wheel = wheel;
	purgatory->max_pending = config->max_pending;
	purgatory->quota = config->max_pending;
	purgatory->max_watches = config->max_watches;
	strscpy(purgatory->name, config->name ?: "-", sizeof(purgatory->name));
	mutex_lock(&twheel_purgatories_lock);
	purgatory->serial = ++last_serial;
	list_add_tail(&purgatory->listed, &twheel_purgatories);
	mutex_unlock(&twheel_purgatories_lock);
	return purgatory;
}
EXPORT_SYMBOL_GPL(twheel_purgatory_create);

/*
 * Whether a caller of drain would wait for itself: the function of a timer of any wheel, since
 * operations may have other wheels than the purgatory, and that function may delay the end of one
 * of them; or a callback of the purgatory, known if it was deferred, and to lockdep.
 */
static bool waits_for_itself(const struct twheel_purgatory *purgatory)
{
	return WARN_ON_ONCE(in_interrupt() || kthread_func(current) == twheel_reaper ||
			    current_work() == &purgatory->deferred_work) ||
	       /* It is negative after lockdep has been disabled by a report. */
	       WARN_ON_ONCE(IS_ENABLED(CONFIG_LOCKDEP) && lock_is_held(&purgatory->map) > 0);
}

/* Quota */

/* Collect the units of all pools, and shut them. */
static void purgatory_collect(struct twheel_purgatory *purgatory)
{
	unsigned int cpu;
	atomic_t *pool;

	/* At the limit each add comes here, with the lock of a bucket. */
	if (purgatory->shut)
		return;
	for_each_possible_cpu(cpu) {
		pool = &per_cpu_ptr(purgatory->pools, cpu)->quota;
		/* A pool that is shut stays so without the lock. */
		if (atomic_read(pool) != TWHEEL_POOL_SHUT)
			purgatory->quota += atomic_xchg(pool, TWHEEL_POOL_SHUT);
	}
	purgatory->shut = true;
}

/*
 * Collect the units of the pool of this CPU, and leave @quota there, or shut it if there is none.
 */
static void purgatory_reopen(struct twheel_purgatory *purgatory, int quota)
{
	int old;

	if (purgatory->quota < 0)
		quota = TWHEEL_POOL_SHUT;
	else
		purgatory->shut = false;
	old = atomic_xchg(&raw_cpu_ptr(purgatory->pools)->quota, quota);
	purgatory->quota += max(old, 0);
}

/* Whether the limit on pending operations is reached, perhaps not any more, with the pools shut. */
static bool purgatory_is_full(struct twheel_purgatory *purgatory)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_count(purgatory, &stats);
	return stats.pending >= purgatory->max_pending;
}

/* An add has found no unit in its pool. Return: as twheel_purgatory_charge(). */
noinline int twheel_purgatory_charge_slow(struct twheel_purgatory *purgatory)
{
	int err = 0;

	spin_lock(&purgatory->lock);
	if (purgatory->closed) {
		err = -ESHUTDOWN;
		goto out;
	}
	if (purgatory->quota <= 0)
		purgatory_collect(purgatory);
	if (purgatory->quota > (int)(TWHEEL_PORTION * nr_cpu_ids)) {
		purgatory->quota -= TWHEEL_PORTION;
		purgatory_reopen(purgatory, TWHEEL_PORTION - 1);
	} else if (purgatory->quota > 0 || !purgatory_is_full(purgatory)) {
		purgatory->quota--;
	} else {
		err = -ENOSPC;
		goto out;
	}
	this_cpu_inc(purgatory->pools->added);
out:
	spin_unlock(&purgatory->lock);
	return err;
}

/* Whether all units are back, if the purgatory is closed. */
static bool purgatory_is_drained(const struct twheel_purgatory *purgatory)
{
	return purgatory->quota == (int)purgatory->max_pending;
}

/* Return a unit that does not go to the pool. The purgatory may be freed. */
static void purgatory_return(struct twheel_purgatory *purgatory)
{
	lockdep_assert_held(&purgatory->lock);
	purgatory->quota++;
	if (unlikely(purgatory->closed) && purgatory_is_drained(purgatory))
		wake_up_all(&purgatory->drain);
}

/* An operation has ended, and its pool is full or closed. The purgatory may be freed. */
noinline void twheel_purgatory_uncharge_slow(struct twheel_purgatory *purgatory)
{
	unsigned long flags;

	spin_lock_irqsave(&purgatory->lock, flags);
	purgatory_return(purgatory);
	if (!purgatory->closed)
		purgatory_reopen(purgatory, 0);
	spin_unlock_irqrestore(&purgatory->lock, flags);
}

/*
 * Keep the purgatory until twheel_purgatory_release(). The caller prevents its end, for instance
 * since an operation is pending and locked, or linked and its bucket locked.
 */
void twheel_purgatory_hold(struct twheel_purgatory *purgatory)
{
	unsigned long flags;

	spin_lock_irqsave(&purgatory->lock, flags);
	purgatory->quota--;
	spin_unlock_irqrestore(&purgatory->lock, flags);
}

/*
 * The purgatory may be freed. The unit goes back to ->quota, which the hold may have overdrawn
 * while pools have units: there it would raise the limit.
 */
void twheel_purgatory_release(struct twheel_purgatory *purgatory)
{
	spin_lock_irq(&purgatory->lock);
	purgatory_return(purgatory);
	spin_unlock_irq(&purgatory->lock);
}

/**
 * twheel_purgatory_drain - cancel all pending operations and refuse further ones
 * @purgatory: the purgatory
 *
 * Each pending operation is cancelled, and its callback runs. When this returns, no
 * predicate or callback is running and none will, and adds fail with -ESHUTDOWN. Draining
 * twice is allowed.
 *
 * Context: process; may sleep. Not from a predicate, a callback, the function of a timer or
 * a walk over its operations, since it would wait for itself; fails with a warning on the
 * reaper of any wheel and, with lockdep, from a predicate or callback of the purgatory.
 * Return: number of operations that this call cancelled.
 */
u32 twheel_purgatory_drain(struct twheel_purgatory *purgatory)
{
	unsigned long flags;
	u32 nr;

	if (waits_for_itself(purgatory))
		return 0;
	might_sleep();
	/*
	 * As in twheel_callback_wait(). A report means that the caller is a callback of another
	 * purgatory, or holds a lock that a callback takes.
	 */
	local_irq_save(flags);
	lock_map_acquire(&purgatory->map);
	lock_map_release(&purgatory->map);
	local_irq_restore(flags);
	/* Refuse further adds. */
	spin_lock_irq(&purgatory->lock);
	if (!purgatory->closed) {
		WRITE_ONCE(purgatory->closed, true);
		purgatory_collect(purgatory);
	}
	spin_unlock_irq(&purgatory->lock);
	nr = twheel_purgatory_end_all(purgatory, TWHEEL_REASON_CANCELLED, 0, 0, TWHEEL_MAY_SLEEP);
	/* With the lock: the CPU that woke the caller has dropped it. */
	spin_lock_irq(&purgatory->lock);
	wait_event_lock_irq(purgatory->drain, purgatory_is_drained(purgatory), purgatory->lock);
	spin_unlock_irq(&purgatory->lock);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_purgatory_drain);

/**
 * twheel_purgatory_destroy - drain and free a purgatory
 * @purgatory: the purgatory, not used by other calls; NULL and ERR_PTR() are ignored
 *
 * Context: as twheel_purgatory_drain().
 */
void twheel_purgatory_destroy(struct twheel_purgatory *purgatory)
{
	if (IS_ERR_OR_NULL(purgatory))
		return;
	if (waits_for_itself(purgatory))
		return;
	mutex_lock(&twheel_purgatories_lock);
	list_del(&purgatory->listed);
	mutex_unlock(&twheel_purgatories_lock);
	twheel_purgatory_drain(purgatory);
	cancel_work_sync(&purgatory->deferred_work);
	twheel_keys_destroy(&purgatory->keys);
	free_percpu(purgatory->pools);
	kfree_rcu(purgatory, rcu);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_destroy);

/* The counts of a purgatory without that of its keys. An operation that ends now is pending. */
void twheel_purgatory_count(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats)
{
	const struct twheel_pool *pool;
	unsigned int cpu, i;
	u64 nr, ended = 0;

	memset(stats, 0, sizeof(*stats));
	stats->rejected = atomic64_read(&purgatory->rejected);
	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(purgatory->pools, cpu);
		for (i = 0; i < ARRAY_SIZE(pool->ended); i++) {
			nr = READ_ONCE(pool->ended[i]);
			stats->ended[i + 1] += nr;
			ended += nr;
		}
	}
	/* An operation that has ended was added before. */
	smp_rmb();
	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(purgatory->pools, cpu);
		stats->watches += READ_ONCE(pool->watches);
		stats->added += READ_ONCE(pool->added);
	}
	/* The CPUs were read one after the other. */
	stats->pending = max_t(s64, stats->added - ended, 0);
	stats->watches = max_t(s64, stats->watches, 0);
}

/**
 * twheel_purgatory_get_stats - get the counts of a purgatory
 * @purgatory: the purgatory
 * @stats: filled in
 *
 * Reads all buckets of the hash table to count the keys: some milliseconds for a million keys.
 *
 * Context: process or softirq.
 */
void twheel_purgatory_get_stats(struct twheel_purgatory *purgatory,
				struct twheel_purgatory_stats *stats)
{
	twheel_purgatory_count(purgatory, stats);
	stats->keys = twheel_keys_count(&purgatory->keys, false);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_get_stats);

/* Return: the first purgatory with a serial number above @serial, held, or NULL. May sleep. */
struct twheel_purgatory *twheel_purgatory_after(u64 serial)
{
	struct twheel_purgatory *purgatory, *next = NULL;

	mutex_lock(&twheel_purgatories_lock);
	list_for_each_entry(purgatory, &twheel_purgatories, listed) {
		if (purgatory->serial > serial && !READ_ONCE(purgatory->closed)) {
			/* Its end takes the lock before it drains it. */
			twheel_purgatory_hold(purgatory);
			next = purgatory;
			break;
		}
	}
	mutex_unlock(&twheel_purgatories_lock);
	return next;
}

/* With a rescuer, since callbacks may end what reclaim waits for; not bound to a busy CPU. */
int __init twheel_purgatories_init(void)
{
	twheel_op_wq = alloc_workqueue("twheel_op", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_UNBOUND, 0);
	return twheel_op_wq ? 0 : -ENOMEM;
}

void twheel_purgatories_exit(void)
{
	WARN_ON_ONCE(!list_empty(&twheel_purgatories));
	destroy_workqueue(twheel_op_wq);
}
