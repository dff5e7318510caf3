// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, the character devices: /dev/twheel, each open of which creates a private
 * purgatory; /dev/twheel-NAME, a named purgatory shared by its files; and
 * /dev/twheel-control, which creates and removes the named ones.
 *
 * The devices are clients of the purgatory like any other module.
 *
 *	instance	a purgatory with the ids of its operations
 *	file		an open file, with the event queue of what is added through it
 *	events		an event queue; an instance has another one for detached operations
 *	user		limits and wheels of a user, across all files
 *
 *	file.c		open and release, the file operations, descriptors of detached events
 *	events.c	event queues
 *	file_op.c	operations; file_watch.c: their keys; file_periodic.c: their periods
 *	ioctl.c		from ioctl numbers to calls; calls.c, list.c, batch.c: the calls
 *	named.c		named purgatories; named_sysfs.c: their attributes
 *	users.c		limits and wheels of users
 *	timens.c	time namespaces
 *
 * References:
 *
 *	event queue -> operation	from the add until its final event has been read
 *	operation -> file		the memory only; the file may be closed
 *	file -> instance		until the file is released
 *	file, operation, name -> user
 *
 * An operation also uses the instance of its file after that was closed, if it is
 * a detached one: its purgatory is drained before the instance is freed.  No call
 * runs on a file that is being released, since the VFS holds it for each call.
 *
 * Locks, from the outside in, before those of layer 5: named_lock; instance->lock;
 * the lock of an event queue.  They are taken in process context only.  A user's lock
 * is taken with none of these; the walk mutex of an instance is outside of all of them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "device.h"

static_assert(2 * TWHEEL_PENDING_MAX <= BIT(TWHEEL_INDEX_BITS) - 1);

unsigned int twheel_max_pending = BIT(18);
module_param_named(max_pending, twheel_max_pending, uint, 0444);
MODULE_PARM_DESC(max_pending, "operations that may be pending in one open file, 1 to 16777216 (default 262144)");

/* For work that may outlive the last file; destroying it waits for the module's code. */
struct workqueue_struct *twheel_wq;

static struct miscdevice private_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_file_fops,
	.mode	= 0600,
};

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= twheel_control_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice control_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel-control",
	.fops	= &control_fops,
	.mode	= 0600,
};

static int __init nodes_init(void)
{
	int err;

	err = misc_register(&private_misc);
	if (err)
		return err;
	err = misc_register(&control_misc);
	if (err)
		misc_deregister(&private_misc);
	return err;
}

/**
 * twheel_device_init - check the parameters of the devices, and create the nodes
 *
 * Return: 0, -EINVAL with a message that names the parameter, -ENOMEM, or an error of
 * misc_register() or twheel_named_init().
 */
int __init twheel_device_init(void)
{
	int err;

	if (!twheel_max_pending || twheel_max_pending > TWHEEL_PENDING_MAX) {
		pr_err("max_pending=%u is not between 1 and %lu\n",
		       twheel_max_pending, TWHEEL_PENDING_MAX);
		return -EINVAL;
	}
	err = twheel_users_check();
	if (err)
		return err;
	twheel_wq = alloc_workqueue("twheel", WQ_UNBOUND, 0);
	if (!twheel_wq)
		return -ENOMEM;
	err = twheel_file_ops_init();
	if (err)
		goto wq_exit;
	err = twheel_named_init();
	if (err)
		goto ops_exit;
	err = nodes_init();
	if (err)
		goto named_exit;
	return 0;

named_exit:
	twheel_named_exit();
ops_exit:
	twheel_file_ops_exit();
wq_exit:
	destroy_workqueue(twheel_wq);
	return err;
}

/**
 * twheel_device_exit - remove the nodes; no file is open and no name is left
 */
void twheel_device_exit(void)
{
	misc_deregister(&control_misc);
	misc_deregister(&private_misc);
	twheel_named_exit();
	twheel_users_exit();
	destroy_workqueue(twheel_wq);
	twheel_file_ops_exit();
}
