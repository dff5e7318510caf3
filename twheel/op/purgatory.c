// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: the purgatory, which holds pending operations.
 *
 * Creation, drain, counts, and the list of all purgatories. See op.c for a single operation
 * and signal.c for signals.
 *
 * Drain refuses new adds, cancels the pending operations and waits until purgatory->holds
 * drops to zero. Each list with holds has one hold of the purgatory, as do a signal with
 * several chunks and debugfs. Each operation with holds has one hold of its list. A list
 * starts with a hold, which the first drain drops.
 *
 * The limit on pending operations is divided: purgatory->quota, the quota of each list, and the
 * pending operations add up to it. A list takes and returns quota in portions. When the
 * purgatory has little left, lists keep none, and an add that finds none reclaims what
 * they still have. So an add fails only if the limit is reached.
 *
 * twheel_purgatories lists all purgatories for debugfs. twheel/purgatories shows a line of
 * counts for each. twheel/operations shows a line for each pending operation. The latter may
 * take long, so it takes a hold of each purgatory and drops twheel_purgatories_lock.
 */
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "../core/shard.h"
#include "../core/twheel.h"
#include "op.h"
#include "purgatory.h"

/* Each pending operation has a hold of its list. */
#define MAX_PENDING_MAX	BIT(30)

/* With more lists the counts take longer to sum up, and contention is no rarer. */
#define LISTS_MAX	16

/* The mutex protects the list and the serial numbers. */
DEFINE_MUTEX(twheel_purgatories_lock);
LIST_HEAD(twheel_purgatories);
static u64 last_serial;

static struct lock_class_key map_key;

static bool config_is_valid(const struct twheel_purgatory_config *config)
{
	if (!config->max_pending || config->max_pending > MAX_PENDING_MAX)
		return false;
	if (config->max_watches > INT_MAX)
		return false;
	return !config->name || strlen(config->name) < TWHEEL_PURGATORY_NAME;
}

static struct twheel_purgatory *purgatory_alloc(bool account)
{
	unsigned int nr = min_t(unsigned int, roundup_pow_of_two(nr_cpu_ids), LISTS_MAX);
	struct twheel_purgatory *purgatory;
	unsigned int i;
	int err;

	purgatory = kzalloc(struct_size(purgatory, list, nr),
			    GFP_KERNEL | (account ? TWHEEL_GFP_ACCOUNT : 0));
	if (!purgatory)
		return ERR_PTR(-ENOMEM);
	err = twheel_keys_init(&purgatory->keys, account);
	if (err) {
		kfree(purgatory);
		return ERR_PTR(err);
	}
	refcount_set(&purgatory->holds, nr);
	init_completion(&purgatory->drained);
	lockdep_init_map(&purgatory->map, "twheel_purgatory", &map_key, 0);
	purgatory->nr_lists = nr;
	for (i = 0; i < nr; i++) {
		spin_lock_init(&purgatory->list[i].lock);
		refcount_set(&purgatory->list[i].holds, 1);
		INIT_LIST_HEAD(&purgatory->list[i].ops);
		INIT_LIST_HEAD(&purgatory->list[i].iters);
	}
	return purgatory;
}

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
	struct twheel *wheel = config->wheel;
	struct twheel_purgatory *purgatory;

	might_sleep();
	if (!config_is_valid(config))
		return ERR_PTR(-EINVAL);
	if (!wheel)
		wheel = twheel_system();
	if (IS_ERR(wheel))
		return ERR_CAST(wheel);
	if (twheel_op_check_wheel(wheel, 0))
		return ERR_PTR(-EINVAL);

	purgatory = purgatory_alloc(config->account);
	if (IS_ERR(purgatory))
		return purgatory;
	purgatory->wheel = wheel;
	purgatory->max_pending = config->max_pending;
	atomic_set(&purgatory->quota, config->max_pending);
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
 * Whether the caller may be the function of a timer. Of any wheel: operations may have other
 * wheels than the purgatory, and that function may delay the end of one of them.
 */
static bool in_timer_function(void)
{
	return in_interrupt() || kthread_func(current) == twheel_reaper;
}

/* Whether the caller is a callback of the purgatory; known to lockdep only. */
static bool in_callback(const struct twheel_purgatory *purgatory)
{
	/* It is negative after lockdep has been disabled by a report. */
	return IS_ENABLED(CONFIG_LOCKDEP) && lock_is_held(&purgatory->map) > 0;
}

/* Whether a caller of drain would wait for itself. Unknown for a callback without lockdep. */
static bool waits_for_itself(const struct twheel_purgatory *purgatory)
{
	return WARN_ON_ONCE(in_timer_function()) || WARN_ON_ONCE(in_callback(purgatory));
}

/*
 * Before a wait for all callbacks. If lockdep reports this function, the caller is a callback of
 * another purgatory, or holds a lock that a callback takes.
 */
static void lockdep_wait(struct twheel_purgatory *purgatory)
{
	unsigned long flags;

	/* See twheel_callback_wait(). */
	local_irq_save(flags);
	lock_map_acquire(&purgatory->map);
	lock_map_release(&purgatory->map);
	local_irq_restore(flags);
}

/* Refuse further adds. Of concurrent calls, the one that closes a list drops its first hold. */
static void purgatory_close(struct twheel_purgatory *purgatory)
{
	struct twheel_op_list *list;
	bool was_closed;
	unsigned int i;

	for (i = 0; i < purgatory->nr_lists; i++) {
		list = &purgatory->list[i];
		spin_lock_bh(&list->lock);
		was_closed = list->draining;
		list->draining = true;
		spin_unlock_bh(&list->lock);
		if (!was_closed)
			twheel_op_list_release(purgatory, list);
	}
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
	u32 nr;

	if (waits_for_itself(purgatory))
		return 0;
	might_sleep();
	lockdep_wait(purgatory);
	purgatory_close(purgatory);
	/* Adds are refused, so one pass is enough. */
	nr = twheel_purgatory_end_all(purgatory, TWHEEL_REASON_CANCELLED, 0, 0, TWHEEL_MAY_SLEEP);
	wait_for_completion(&purgatory->drained);
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
	twheel_keys_destroy(&purgatory->keys);
	kfree(purgatory);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_destroy);

/* The counts of a purgatory without that of its keys. Process or softirq context. */
void twheel_purgatory_count(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats)
{
	struct twheel_op_list *list;
	unsigned int i, reason;

	memset(stats, 0, sizeof(*stats));
	stats->rejected = atomic64_read(&purgatory->rejected);
	for (i = 0; i < purgatory->nr_lists; i++) {
		list = &purgatory->list[i];
		spin_lock_bh(&list->lock);
		stats->watches += list->watches;
		stats->added += list->added;
		stats->pending += list->added;
		for (reason = 0; reason < ARRAY_SIZE(list->ended); reason++) {
			stats->ended[reason] += list->ended[reason];
			stats->pending -= list->ended[reason];
		}
		spin_unlock_bh(&list->lock);
	}
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
	stats->keys = twheel_keys_count(&purgatory->keys);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_get_stats);

/*
 * Return: the first purgatory with a serial number above @serial that has not been drained,
 * with a hold, or NULL. May sleep.
 */
struct twheel_purgatory *twheel_purgatory_after(u64 serial)
{
	struct twheel_purgatory *purgatory, *next = NULL;

	mutex_lock(&twheel_purgatories_lock);
	list_for_each_entry(purgatory, &twheel_purgatories, listed) {
		if (purgatory->serial > serial && twheel_purgatory_try_hold(purgatory)) {
			next = purgatory;
			break;
		}
	}
	mutex_unlock(&twheel_purgatories_lock);
	return next;
}

void twheel_purgatories_exit(void)
{
	WARN_ON_ONCE(!list_empty(&twheel_purgatories));
}
