// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, the character devices: /dev/twheel, each open of which is a purgatory of
 * its own, and /dev/twheel-NAME, which all who open it share.
 *
 * The devices are clients of the purgatory like any other module.  Who is what:
 *
 *	share	a purgatory, and the ids of the operations in it
 *	box	the operations of one owner, and the events of their ends: an open
 *		file has one, and a named purgatory one for detached operations
 *	file	an open file: reads the events of a box
 *	user	who opened it, and is charged for what is added through it
 *
 *	file.c		how open files come and go
 *	ioctl.c		from numbers to calls; calls.c, list.c, batch.c: the calls
 *	file_op.c	operations; file_watch.c: their keys; file_periodic.c
 *	box.c		boxes; event.c: how events are told
 *	named.c		names and nodes; named_sysfs.c: what sysfs shows
 *	users.c		limits for each user
 *
 * Who holds what: a box has a reference to each of its operations from add until
 * its end has been read, and an operation points back to its box.  That is safe
 * without a reference.  The box of a file goes after each operation in it has
 * been cancelled and its callback has done with the box, which it leaves by unlocking
 * it; the box of a named purgatory goes after that has been drained.  The
 * VFS lets no call run when it releases a file, so that release has it for itself.
 *
 * Locks, from the outside in, before those of layer 5: named_lock; share->lock;
 * box->lock.  None of them is taken outside of process context.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "device.h"

static_assert(2 * TWHEEL_PENDING_MAX <= BIT(TWHEEL_INDEX_BITS) - 1);

unsigned int twheel_max_pending = BIT(18);
module_param_named(max_pending, twheel_max_pending, uint, 0444);
MODULE_PARM_DESC(max_pending, "operations that may be pending in one open file, 1 to 16777216 (default 262144)");

static int private_open(struct inode *inode, struct file *file)
{
	struct twheel_share *share;
	struct twheel_file *tf;
	int err;

	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share)
		return -ENOMEM;
	err = twheel_share_init(share, "/dev/twheel", twheel_max_pending, 0);
	if (err)
		goto free;
	tf = twheel_file_create(share);
	if (IS_ERR(tf)) {
		err = PTR_ERR(tf);
		goto exit;
	}
	file->private_data = tf;
	return stream_open(inode, file);

exit:
	twheel_share_exit(share);
free:
	kfree(share);
	return err;
}

static int private_close(struct inode *inode, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_share *share = tf->share;

	twheel_file_free(tf);
	twheel_share_exit(share);
	kfree(share);
	return 0;
}

static const struct file_operations private_fops = {
	.owner		= THIS_MODULE,
	.open		= private_open,
	.release	= private_close,
	.read		= twheel_file_read,
	.poll		= twheel_file_poll,
	.fasync		= twheel_file_fasync,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_file_show_fdinfo,
};

static struct miscdevice private_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &private_fops,
	.mode	= 0600,
};

/**
 * twheel_device_init - check the parameters of the devices, and make the node
 *
 * Return: 0, -EINVAL with a message that names the parameter, or an error of
 * misc_register(), twheel_file_ops_init() or twheel_named_init().
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
	err = twheel_file_ops_init();
	if (err)
		return err;
	err = twheel_named_init();
	if (err)
		goto ops_exit;
	err = misc_register(&private_misc);
	if (err)
		goto named_exit;
	return 0;

named_exit:
	twheel_named_exit();
ops_exit:
	twheel_file_ops_exit();
	return err;
}

/**
 * twheel_device_exit - take the node away; no file is open any more
 */
void twheel_device_exit(void)
{
	misc_deregister(&private_misc);
	twheel_named_exit();
	twheel_file_ops_exit();
}
