// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: fetches that wait for enough bytes.
 *
 * A reader wants at least so many bytes from several partitions, as soon as
 * they are there, or what there is when its time is over.  Leaders append to the
 * partitions.  Each fetch is made in two styles at a time:
 *
 * By sum: a fetch is parked for as many bytes as are missing, and a leader signals
 * how many it has appended.  twheel counts; no code of ours runs until the fetch ends.
 * But a signal is an event: a byte that is appended while a fetch is on its way
 * must not be missed, nor counted by both.  A lock sees to that (partition.c).
 *
 * By predicate: a fetch is parked with a function that looks at how much there is, and
 * a leader says only that something has changed.  That is state, which can't be
 * missed: twheel looks before it lets the fetch wait, and again when all of its
 * partitions are watched.  It costs a call for each fetch and each append.
 *
 * Loading the module runs this once and reports in the kernel log.  It fails
 * with -EIO unless every fetch was told exactly once, had its bytes when it
 * completed, and had not when it expired (check.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>

#include "fetch.h"

unsigned int partitions = 4;
module_param(partitions, uint, 0444);
MODULE_PARM_DESC(partitions, "how many, 1 to 8 (default 4)");

unsigned int readers = 2;
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "how many, 1 to 8 (default 2)");

unsigned int fetches = 60;
module_param(fetches, uint, 0444);
MODULE_PARM_DESC(fetches, "of each reader in each style, 1 to 1000 (default 60)");

unsigned int batches = 2000;
module_param(batches, uint, 0444);
MODULE_PARM_DESC(batches, "to each partition at most, 1 to 10000 (default 2000)");

unsigned int look_us = 100;
module_param(look_us, uint, 0444);
MODULE_PARM_DESC(look_us, "how long it takes to look how much is there, in microseconds, 0 to 1000 (default 100)");

static uint seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of what is random; 0, the default, for a new one each time");

struct twheel_purgatory *purgatory[STYLES];
struct workqueue_struct *workqueue;

static int run(void)
{
	int err;

	leaders_start();
	err = readers_run();
	leaders_stop();
	return err && err != -ETIME ? err : fetch_check(seed);
}

static void purgatories_destroy(void)
{
	enum style style;

	for (style = 0; style < STYLES; style++)
		twheel_purgatory_destroy(purgatory[style]);
}

static int purgatories_create(void)
{
	struct twheel_purgatory_config config = { .max_pending = MAX_READERS };
	enum style style;

	for (style = 0; style < STYLES; style++) {
		config.name = style == BY_SUM ? "fetch_by_sum" : "fetch_by_predicate";
		purgatory[style] = twheel_purgatory_create(&config);
		if (IS_ERR(purgatory[style]))
			return PTR_ERR(purgatory[style]);
	}
	return 0;
}

static bool params_right(void)
{
	if (partitions && partitions <= MAX_PARTITIONS && readers && readers <= MAX_READERS &&
	    fetches && fetches <= MAX_FETCHES && batches && batches <= MAX_BATCHES &&
	    look_us <= 1000)
		return true;
	pr_err("partitions= is 1 to %u, readers= 1 to %u, fetches= 1 to %u, batches= 1 to %u, look_us= 0 to 1000\n",
	       MAX_PARTITIONS, MAX_READERS, MAX_FETCHES, MAX_BATCHES);
	return false;
}

/* What was not made is passed over by what unmakes it. */
static int __init fetch_init(void)
{
	int err;

	if (!params_right())
		return -EINVAL;
	if (!seed)
		seed = get_random_u32();
	workqueue = alloc_workqueue("delayed_fetch", WQ_UNBOUND, 0);
	if (!workqueue)
		return -ENOMEM;
	err = partitions_alloc(seed);
	if (err)
		goto free_partitions;
	err = readers_alloc(seed);
	if (err)
		goto free_readers;
	err = purgatories_create();
	if (!err)
		err = run();

	/* After this, none of the references is twheel's. */
	purgatories_destroy();
free_readers:
	readers_free();
free_partitions:
	partitions_free();
	destroy_workqueue(workqueue);
	if (atomic_read(&fetches_allocated)) {
		pr_err("%d fetches were not released\n", atomic_read(&fetches_allocated));
		err = -EIO;
	}
	return err;
}

static void __exit fetch_exit(void)
{
}

module_init(fetch_init);
module_exit(fetch_exit);

MODULE_DESCRIPTION("Sample consumer of twheel: fetches that wait for enough bytes");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
