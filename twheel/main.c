// SPDX-License-Identifier: GPL-2.0
/*
 * twheel: delayed operations on a hierarchical timing wheel.
 *
 *	core/	wheels, shards, reapers and timers; exports the timer API
 *	op/	operations, keys and purgatories; exports their API
 *	dev/	the character devices, a client of op/ like any other module
 *	bpf/	functions for BPF programs; the module twheel_bpf
 *
 * The folders are layers, which include headers of those above them in this list only.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "core/turn.h"
#include "core/twheel.h"
#include "debugfs.h"
#include "dev/open.h"
#include "op/purgatory.h"

static int __init twheel_init(void)
{
	int err;

	err = twheel_system_check();
	if (err)
		return err;
	err = twheel_reapers_init();
	if (err)
		return err;
	err = twheel_purgatories_init();
	if (err)
		goto exit_reapers;
	err = twheel_device_init();
	if (err)
		goto exit_purgatories;
	twheel_debugfs_init();
	return 0;

exit_purgatories:
	twheel_purgatories_exit();
exit_reapers:
	twheel_reapers_exit();
	return err;
}

static void __exit twheel_exit(void)
{
	twheel_debugfs_exit();
	twheel_device_exit();
	twheel_purgatories_exit();
	twheel_system_exit();
	twheel_reapers_exit();
}

module_init(twheel_init);
module_exit(twheel_exit);

MODULE_DESCRIPTION("Delayed operations on a hierarchical timing wheel");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(TWHEEL_VERSION);
