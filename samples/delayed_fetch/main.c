// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: fetches that complete when enough bytes are available.
 *
 * A reader requests a minimum number of bytes from a set of partitions. The request is
 * answered as soon as these bytes are available, or when its deadline expires. Leaders
 * append to the partitions. Each request is issued in two styles at the same time:
 *
 * By sum: the fetch is added with the number of missing bytes as its threshold, and a
 * leader signals the number of bytes that it has appended. twheel does the counting, and
 * no code of the consumer runs until the fetch ends. But a signal is an event: bytes
 * appended while a fetch is being added must be counted exactly once. A lock ensures this
 * (see partition.c).
 *
 * By predicate: the fetch is added with a function that counts the available bytes, and a
 * leader only reports a change. The predicate checks state, so it cannot miss an append:
 * twheel evaluates it before the operation becomes pending, and again when all keys are
 * watched. The cost is one call per fetch and append.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. The
 * load fails with -EIO unless ended() ran exactly once for each fetch, each completed
 * fetch had its bytes, and no expired fetch had them (see check.c).
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
MODULE_PARM_DESC(partitions, "number of partitions, 1 to 8 (default 4)");

unsigned int readers = 2;
module_param(readers, uint, 0444);
MODULE_PARM_DESC(readers, "number of readers, 1 to 8 (default 2)");

unsigned int fetches = 60;
module_param(fetches, uint, 0444);
MODULE_PARM_DESC(fetches, "requests per reader, 1 to 1000 (default 60)");

unsigned int batches = 2000;
module_param(batches, uint, 0444);
MODULE_PARM_DESC(batches, "maximum number of appends to each partition, 1 to 10000 (default 2000)");

unsigned int look_us = 100;
module_param(look_us, uint, 0444);
MODULE_PARM_DESC(look_us, "simulated cost of counting the available bytes, in microseconds, 0 to 1000 (default 100)");

static uint seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of the random numbers; 0 picks a new one (default 0)");

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

static bool params_valid(void)
{
	if (partitions && partitions <= MAX_PARTITIONS && readers && readers <= MAX_READERS &&
	    fetches && fetches <= MAX_FETCHES && batches && batches <= MAX_BATCHES &&
	    look_us <= 1000)
		return true;
	pr_err("invalid parameter: partitions=1..%u, readers=1..%u, fetches=1..%u, batches=1..%u, look_us=0..1000\n",
	       MAX_PARTITIONS, MAX_READERS, MAX_FETCHES, MAX_BATCHES);
	return false;
}

/* On error, partitions_free() and readers_free() skip the parts that were not allocated. */
static int __init fetch_init(void)
{
	int err;

	if (!params_valid())
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

	/* Drops the references that twheel still holds. */
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

MODULE_DESCRIPTION("twheel sample: fetches of a minimum number of bytes");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
