// SPDX-License-Identifier: GPL-2.0
/*
 * twheel: delayed operations on a hierarchical timing wheel.
 *
 * The module is built up from the layers, lowest first, and torn down in the
 * reverse order:
 *
 *	wheel.c		levels of buckets
 *	queue.c		the buckets that hold something, by expiry
 *	shard.c		a queue with a lock, a clock and an alarm
 *	reaper.c	the thread that drives it
 *	shards.c	wheels: several shards, one to look at
 *	registry.c	all the wheels that there are
 *	timer.c		timers, for other modules; timer_add.c: how they begin
 *			to wait; timer_cancel.c: how they cease to
 *	periodic.c	timers that repeat
 *	work.c		timers whose functions run on a workqueue
 *	system.c	the wheels that all share
 *	key.c		which watches there are under a key; key_table.c: its buckets
 *	op.c		the life of an operation; op_args.c, op_add.c: its beginning;
 *			op_watch.c, op_unwatch.c: its keys; op_deadline.c; op_end.c;
 *			op_call.c: its callback
 *	walk.c		what is done to whoever watches a key
 *	iter.c		the operations of a purgatory, one after the other
 *	purgatory.c	where operations wait
 *	purgatories.c	all the purgatories that there are
 *	device.c	the character devices; its top comment lists the other files
 */
#include <linux/init.h>
#include <linux/module.h>

#include "device.h"
#include "purgatories.h"
#include "reaper.h"
#include "registry.h"
#include "system.h"

static int __init twheel_init(void)
{
	int err;

	err = twheel_system_check();
	if (err)
		return err;
	twheel_shard_measure();
	twheel_registry_init();
	twheel_purgatories_init();
	err = twheel_device_init();
	if (err) {
		twheel_purgatories_exit();
		twheel_registry_exit();
	}
	return err;
}

static void __exit twheel_exit(void)
{
	twheel_device_exit();
	twheel_purgatories_exit();
	twheel_system_exit();
	twheel_registry_exit();
}

module_init(twheel_init);
module_exit(twheel_exit);

MODULE_DESCRIPTION("Delayed operations on a hierarchical timing wheel");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
