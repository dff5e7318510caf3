// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, the purgatory: where operations wait.
 *
 * What all of them share: the limits, the counts, and the end.  What happens to a
 * single operation is in op.c, and how they are found by key in signal.c.
 */
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../core/shard.h"
#include "op.h"
#include "purgatory.h"

/* All of them hold the purgatory, and walks do as well. */
#define MAX_PENDING_MAX	BIT(30)

/* More lists than this make the counting slow, and contention no rarer. */
#define LISTS_MAX	16

static bool config_fits(const struct twheel_purgatory_config *config)
{
	if (!config->max_pending || config->max_pending > MAX_PENDING_MAX)
		return false;
	if (config->max_watches > INT_MAX)
		return false;
	return !config->name || strlen(config->name) < TWHEEL_PURGATORY_NAME;
}

static struct twheel_purgatory *purgatory_alloc(u32 max_pending, bool account)
{
	unsigned int nr = min_t(unsigned int, roundup_pow_of_two(nr_cpu_ids), LISTS_MAX);
	struct twheel_purgatory *purgatory;
	unsigned int i;
	int err;

	purgatory = kzalloc(struct_size(purgatory, list, nr),
			    account ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);
	if (!purgatory)
		return ERR_PTR(-ENOMEM);
	err = twheel_keys_init(&purgatory->keys, max_pending, account);
	if (err) {
		kfree(purgatory);
		return ERR_PTR(err);
	}
	refcount_set(&purgatory->holds, 1);
	init_completion(&purgatory->drained);
	purgatory->nr_lists = nr;
	for (i = 0; i < nr; i++) {
		spin_lock_init(&purgatory->list[i].lock);
		INIT_LIST_HEAD(&purgatory->list[i].ops);
		INIT_LIST_HEAD(&purgatory->list[i].iters);
	}
	return purgatory;
}

/**
 * twheel_purgatory_create - make a purgatory
 * @config: how
 *
 * Context: process; may sleep.
 * Return: the purgatory, or an ERR_PTR(): -EINVAL for a limit on operations that is
 * none or too high, a limit on watches above INT_MAX, a name that is too long, or a
 * wheel with a limit of its own; -ENOMEM.
 */
struct twheel_purgatory *
twheel_purgatory_create(const struct twheel_purgatory_config *config)
{
	struct twheel *wheel = config->wheel;
	struct twheel_purgatory *purgatory;

	might_sleep();
	if (!config_fits(config))
		return ERR_PTR(-EINVAL);
	if (!wheel)
		wheel = twheel_system();
	if (IS_ERR(wheel))
		return ERR_CAST(wheel);
	if (twheel_op_check_wheel(wheel, 0))
		return ERR_PTR(-EINVAL);

	purgatory = purgatory_alloc(config->max_pending, config->account);
	if (IS_ERR(purgatory))
		return purgatory;
	purgatory->wheel = wheel;
	purgatory->max_pending = config->max_pending;
	purgatory->max_watches = config->max_watches;
	strscpy(purgatory->name, config->name ?: "-", sizeof(purgatory->name));
	twheel_purgatories_add(purgatory);
	return purgatory;
}
EXPORT_SYMBOL_GPL(twheel_purgatory_create);

/* Let no operation in any more; whether that was so already. */
static bool oplist_close(struct twheel_op_list *list)
{
	bool draining;

	spin_lock_bh(&list->lock);
	draining = list->draining;
	list->draining = true;
	spin_unlock_bh(&list->lock);
	return draining;
}

/*
 * Whether it may be a timer's function that asks. Of any wheel: operations bring their
 * own, and whoever is held up by that function may be one of them.
 */
static bool in_timer_function(void)
{
	return in_interrupt() || kthread_func(current) == twheel_reaper;
}

/* Let no operation in any more.  The first call ends the hold that lasted until now. */
static void purgatory_close(struct twheel_purgatory *purgatory)
{
	bool again = oplist_close(&purgatory->list[0]);
	unsigned int i;

	for (i = 1; i < purgatory->nr_lists; i++)
		oplist_close(&purgatory->list[i]);
	if (!again)
		twheel_purgatory_release(purgatory);
}

/**
 * twheel_purgatory_drain - cancel all that waits, and let nothing in any more
 * @purgatory: the purgatory
 *
 * Every operation that was still pending is handed back through its callback,
 * as cancelled. When this returns no predicate or callback is running and none
 * will, and adds are refused with -ESHUTDOWN. To drain twice is fine.
 *
 * Context: process; may sleep. Not from a predicate, a callback or a timer's function,
 * nor from within a walk over its operations: it would wait for itself. On the
 * reaper of any wheel it is refused with a warning.
 * Return: how many operations this handed back.
 */
u32 twheel_purgatory_drain(struct twheel_purgatory *purgatory)
{
	u32 nr;

	might_sleep();
	if (WARN_ON_ONCE(in_timer_function()))
		return 0;
	purgatory_close(purgatory);
	/* Nothing is added any more, so that one pass is enough. */
	nr = twheel_purgatory_end_all(purgatory, TWHEEL_CANCELLED, 0, 0, TWHEEL_MAY_SLEEP);
	wait_for_completion(&purgatory->drained);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_purgatory_drain);

/**
 * twheel_purgatory_destroy - drain a purgatory, and free it
 * @purgatory: the purgatory, which no call uses any more; NULL and ERR_PTR()
 *	are left alone
 *
 * Context: as twheel_purgatory_drain().
 */
void twheel_purgatory_destroy(struct twheel_purgatory *purgatory)
{
	if (IS_ERR_OR_NULL(purgatory))
		return;
	if (WARN_ON_ONCE(in_timer_function()))
		return;
	twheel_purgatories_remove(purgatory);
	twheel_purgatory_drain(purgatory);
	twheel_keys_destroy(&purgatory->keys);
	kfree(purgatory);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_destroy);

static void oplist_stats(struct twheel_op_list *list, struct twheel_purgatory_stats *stats)
{
	unsigned int i;

	spin_lock_bh(&list->lock);
	stats->watches += list->watches;
	stats->added += list->added;
	for (i = 0; i < ARRAY_SIZE(list->ended); i++)
		stats->ended[i] += list->ended[i];
	spin_unlock_bh(&list->lock);
}

/**
 * twheel_purgatory_stats - the counts of a purgatory
 * @purgatory: the purgatory
 * @stats: filled in
 *
 * Context: process or softirq.
 */
void twheel_purgatory_stats(struct twheel_purgatory *purgatory,
			    struct twheel_purgatory_stats *stats)
{
	unsigned int i;

	memset(stats, 0, sizeof(*stats));
	stats->pending = atomic_read(&purgatory->pending);
	stats->keys = twheel_keys_count(&purgatory->keys);
	stats->rejected = atomic64_read(&purgatory->rejected);
	for (i = 0; i < purgatory->nr_lists; i++)
		oplist_stats(&purgatory->list[i], stats);
}
EXPORT_SYMBOL_GPL(twheel_purgatory_stats);

/*
 * Layer 5, seen from outside: all the purgatories that there are, and what
 * waits in them.
 *
 * In debugfs, twheel/purgatories has a line of counts for each, and
 * twheel/operations one for each operation that waits.  That may take long, so
 * that a purgatory is held meanwhile, which its end waits for, and the lock, which
 * protects the list and its serial numbers, is not.
 */

/* All purgatories. The mutex protects the list and the serial numbers. */
DEFINE_MUTEX(twheel_purgatories_lock);
LIST_HEAD(twheel_purgatories);
static u64 last_serial;

/**
 * twheel_purgatories_add - know a purgatory from now on
 * @purgatory: the purgatory, set up
 *
 * Context: process; may sleep.
 */
void twheel_purgatories_add(struct twheel_purgatory *purgatory)
{
	mutex_lock(&twheel_purgatories_lock);
	purgatory->serial = ++last_serial;
	list_add_tail(&purgatory->listed, &twheel_purgatories);
	mutex_unlock(&twheel_purgatories_lock);
}

/**
 * twheel_purgatories_remove - forget a purgatory
 * @purgatory: the purgatory
 *
 * Context: process; may sleep.
 */
void twheel_purgatories_remove(struct twheel_purgatory *purgatory)
{
	mutex_lock(&twheel_purgatories_lock);
	list_del(&purgatory->listed);
	mutex_unlock(&twheel_purgatories_lock);
}

/**
 * twheel_purgatory_after - next purgatory that has not been drained
 * @serial: serial number of the previous one, or 0
 *
 * Return: the purgatory, held, or NULL.
 */
struct twheel_purgatory *twheel_purgatory_after(u64 serial)
{
	struct twheel_purgatory *purgatory, *found = NULL;

	mutex_lock(&twheel_purgatories_lock);
	list_for_each_entry(purgatory, &twheel_purgatories, listed) {
		if (purgatory->serial > serial && twheel_purgatory_try_hold(purgatory)) {
			found = purgatory;
			break;
		}
	}
	mutex_unlock(&twheel_purgatories_lock);
	return found;
}

/**
 * twheel_purgatories_exit - there are no purgatories any more
 */
void twheel_purgatories_exit(void)
{
	WARN_ON_ONCE(!list_empty(&twheel_purgatories));
}
