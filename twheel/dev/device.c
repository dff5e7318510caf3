// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices.
 *
 * Each open of /dev/twheel creates a private purgatory. /dev/twheel-NAME is a named purgatory
 * shared by its files. /dev/twheel-control creates and removes the named ones. The devices
 * are clients of op/ like any other module.
 *
 *	instance	a purgatory and the ids of its operations
 *	file		an open file, with an event queue for the operations added through it
 *	events		an event queue; an instance has numbered ones for detached operations
 *	user		limits and wheels of a user, across all files
 *
 * A file includes headers of those before it in Kbuild only. Its banner describes it.
 *
 * References
 * ==========
 *
 *	event queue -> operation	from the add until the final event has been read
 *	leaf of operations -> file	the memory only; the file may be closed
 *	file -> instance		until the file is released
 *	file, operation, name -> user
 *
 * A detached operation uses the instance of its file after the file was closed. This is safe:
 * the purgatory is drained before the instance is freed.
 *
 * Lock order
 * ==========
 *
 *	instance->complete_lock		mutex, around a walk of all operations
 *	named_lock			mutex, protects the names
 *	instance->lock			spinlock, protects the files of an instance
 *	lock of instance->queues	spinlock, protects the users of queues; holds no other
 *	events->lock			spinlock, protects an event queue
 *	ids->lock			spinlock, protects the numbers of leaves; holds no other
 *	user->private_lock		spinlock, protects totals of private purgatories
 *	users_lock			spinlock, protects the tree of users; holds no other
 *	locks of op/ and core/
 *
 * The spinlocks of dev/ are taken in process context only. user->lock, a mutex, is taken with none
 * of these held.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "../compat.h"
#include "args.h"
#include "file.h"
#include "instance.h"
#include "open.h"
#include "queue.h"
#include "user.h"

/* Files of private and named purgatories. */
const struct file_operations twheel_file_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_open,
	.release	= twheel_release,
	.read_iter	= twheel_read_iter,
	.poll		= twheel_poll,
	.mmap		= twheel_cells_mmap,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= twheel_uring_cmd,
	.show_fdinfo	= twheel_file_show,
};

/* Descriptors of detached events. */
const struct file_operations twheel_events_fops = {
	.owner		= THIS_MODULE,
	.release	= twheel_release,
	.read_iter	= twheel_read_iter,
	.poll		= twheel_poll,
	.unlocked_ioctl	= twheel_events_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_events_show,
};

static struct miscdevice private_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_file_fops,
	.mode	= 0600,
};

static void control_show_fdinfo(struct seq_file *m, struct file *file)
{
	seq_puts(m, "twheel-control:\t1\n");
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= twheel_control_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= control_show_fdinfo,
};

static struct miscdevice control_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel-control",
	.fops	= &control_fops,
	.mode	= 0600,
};

/* Check the module parameters and create the nodes. */
int __init twheel_device_init(void)
{
	int err;

	err = twheel_users_init();
	if (err)
		return err;
	err = twheel_queues_init();
	if (err)
		goto users_exit;
	err = twheel_leaves_init();
	if (err)
		goto queues_exit;
	err = twheel_named_init();
	if (err)
		goto leaves_exit;
	err = misc_register(&private_misc);
	if (err)
		goto named_exit;
	err = misc_register(&control_misc);
	if (err)
		goto deregister;
	WRITE_ONCE(twheel_device_ready, true);
	return 0;

deregister:
	/* This waits for calls of open(). */
	misc_deregister(&private_misc);
named_exit:
	twheel_named_exit();
leaves_exit:
	twheel_leaves_exit();
queues_exit:
	twheel_queues_exit();
users_exit:
	twheel_users_exit();
	return err;
}

/* Remove the nodes. No file is open and no name exists. */
void twheel_device_exit(void)
{
	misc_deregister(&control_misc);
	misc_deregister(&private_misc);
	twheel_named_exit();
	twheel_users_exit();
	twheel_queues_exit();
	twheel_leaves_exit();
}
