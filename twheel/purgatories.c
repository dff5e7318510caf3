// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, seen from outside: all the purgatories that there are, and what
 * waits in them.
 *
 * In debugfs, twheel/purgatories has a line of counts for each, and
 * twheel/operations one for each operation that waits.  That may take long, so
 * that a purgatory is held meanwhile, which its end waits for, and the lock, which
 * protects the list and its serial numbers, is not.
 */
#include <linux/bug.h>
#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "op.h"
#include "purgatories.h"
#include "purgatory.h"
#include "registry.h"

static DEFINE_MUTEX(purgatories_lock);
static LIST_HEAD(purgatories);
static u64 last_serial;

static struct dentry *purgatories_file, *operations_file;

/**
 * twheel_purgatories_add - know a purgatory from now on
 * @purgatory: the purgatory, set up
 *
 * Context: process; may sleep.
 */
void twheel_purgatories_add(struct twheel_purgatory *purgatory)
{
	mutex_lock(&purgatories_lock);
	purgatory->serial = ++last_serial;
	list_add_tail(&purgatory->listed, &purgatories);
	mutex_unlock(&purgatories_lock);
}

/**
 * twheel_purgatories_remove - forget a purgatory
 * @purgatory: the purgatory
 *
 * Context: process; may sleep.
 */
void twheel_purgatories_remove(struct twheel_purgatory *purgatory)
{
	mutex_lock(&purgatories_lock);
	list_del(&purgatory->listed);
	mutex_unlock(&purgatories_lock);
}

static void purgatory_show(struct seq_file *file, struct twheel_purgatory *purgatory)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(purgatory, &stats);
	seq_printf(file, "%s max_pending=%u max_watches=%u pending=%llu keys=%llu watches=%llu",
		   purgatory->name, purgatory->max_pending, purgatory->max_watches,
		   stats.pending, stats.keys, stats.watches);
	seq_printf(file, " added=%llu completed=%llu expired=%llu cancelled=%llu rejected=%llu\n",
		   stats.added, stats.ended[TWHEEL_COMPLETED], stats.ended[TWHEEL_EXPIRED],
		   stats.ended[TWHEEL_CANCELLED], stats.rejected);
}

static int purgatories_show(struct seq_file *file, void *unused)
{
	struct twheel_purgatory *purgatory;

	mutex_lock(&purgatories_lock);
	list_for_each_entry(purgatory, &purgatories, listed)
		purgatory_show(file, purgatory);
	mutex_unlock(&purgatories_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(purgatories);

static const char *condition_name(enum twheel_condition condition)
{
	static const char * const names[] = {
		[TWHEEL_COND_NONE]	= "none",
		[TWHEEL_COND_ANY]	= "any",
		[TWHEEL_COND_ALL]	= "all",
		[TWHEEL_COND_QUORUM]	= "quorum",
		[TWHEEL_COND_SUM]	= "sum",
	};

	return condition < ARRAY_SIZE(names) ? names[condition] : "predicate";
}

/* A line like "log quorum missing=1 remaining_ns=5000000 key=0:1a/1", a key for each watch. */
static void operation_show(struct seq_file *file, const struct twheel_purgatory *purgatory,
			   struct twheel_op *op, struct twheel_watch_spec *keys)
{
	struct twheel_op_progress progress;
	u32 i;

	if (twheel_op_progress(op, &progress, keys, TWHEEL_MAX_KEYS))
		return;
	seq_printf(file, "%s %s missing=%llu", purgatory->name,
		   condition_name(progress.condition), progress.missing);
	if (progress.remaining == TWHEEL_NEVER)
		seq_puts(file, " remaining_ns=never");
	else
		seq_printf(file, " remaining_ns=%llu", progress.remaining);
	for (i = 0; i < progress.nr_keys; i++)
		seq_printf(file, " key=%llx:%llx/%u", keys[i].key.v[0], keys[i].key.v[1],
			   keys[i].need);
	seq_putc(file, '\n');
}

static void purgatory_show_operations(struct seq_file *file, struct twheel_purgatory *purgatory,
				      struct twheel_watch_spec *keys)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;

	twheel_op_iter_start(&iter, purgatory);
	/* Once its buffer is full, the file is shown anew with a larger one. */
	while (!seq_has_overflowed(file) && (op = twheel_op_iter_next(&iter))) {
		operation_show(file, purgatory, op, keys);
		cond_resched();
	}
	twheel_op_iter_end(&iter);
}

/* The next purgatory that has not been drained, held, or NULL. */
static struct twheel_purgatory *purgatory_after(u64 serial)
{
	struct twheel_purgatory *purgatory, *found = NULL;

	mutex_lock(&purgatories_lock);
	list_for_each_entry(purgatory, &purgatories, listed) {
		if (purgatory->serial > serial && twheel_purgatory_try_hold(purgatory)) {
			found = purgatory;
			break;
		}
	}
	mutex_unlock(&purgatories_lock);
	return found;
}

static int operations_show(struct seq_file *file, void *unused)
{
	struct twheel_purgatory *purgatory;
	struct twheel_watch_spec *keys;
	u64 serial = 0;

	keys = kcalloc(TWHEEL_MAX_KEYS, sizeof(*keys), GFP_KERNEL);
	if (!keys)
		return -ENOMEM;
	while ((purgatory = purgatory_after(serial))) {
		serial = purgatory->serial;
		purgatory_show_operations(file, purgatory, keys);
		twheel_purgatory_release(purgatory);
	}
	kfree(keys);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(operations);

/**
 * twheel_purgatories_init - show what there is
 */
void __init twheel_purgatories_init(void)
{
	struct dentry *dir = twheel_registry_debugfs();

	purgatories_file = debugfs_create_file("purgatories", 0400, dir, NULL, &purgatories_fops);
	operations_file = debugfs_create_file("operations", 0400, dir, NULL, &operations_fops);
}

/**
 * twheel_purgatories_exit - there are no purgatories any more
 */
void twheel_purgatories_exit(void)
{
	debugfs_remove(operations_file);
	debugfs_remove(purgatories_file);
	WARN_ON_ONCE(!list_empty(&purgatories));
}
