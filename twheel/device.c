// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, the character device: /dev/twheel and what an open of it is.
 *
 * Each open file is a purgatory of its own; whoever inherits or is passed the
 * descriptor shares it.  The device is a client of the purgatory like any
 * other module.  Here files come and go; ioctl.c takes the calls, file_op.c
 * keeps the operations, event.c delivers their ends.
 *
 * Who holds what: the file has a reference to each of its operations from add
 * until its event has been read, and an operation points back to its file.
 * That is safe without a reference: the file goes after its purgatory has been
 * drained, and then no callback of an operation runs any more.  The VFS lets
 * no call run when it releases a file, so that release has it for itself.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "device.h"

#define MAX_PENDING_MAX	BIT(24)

static_assert(2 * MAX_PENDING_MAX <= BIT(TWHEEL_INDEX_BITS) - 1);

static unsigned int max_pending = BIT(18);
module_param(max_pending, uint, 0444);
MODULE_PARM_DESC(max_pending, "operations that may be pending in one open file, 1 to 16777216 (default 262144)");

static int twheel_file_open(struct inode *inode, struct file *file)
{
	const struct twheel_purgatory_config config = {
		.name		= "/dev/twheel",
		.max_pending	= max_pending,
	};
	struct twheel_file *tf;
	int err;

	tf = kzalloc(sizeof(*tf), GFP_KERNEL_ACCOUNT);
	if (!tf)
		return -ENOMEM;
	tf->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(tf->purgatory)) {
		err = PTR_ERR(tf->purgatory);
		kfree(tf);
		return err;
	}
	tf->max_pending = max_pending;
	xa_init_flags(&tf->ops, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&tf->lock);
	INIT_LIST_HEAD(&tf->events);
	init_waitqueue_head(&tf->readers);
	file->private_data = tf;
	return stream_open(inode, file);
}

static int twheel_file_release(struct inode *inode, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_file_op *fop;
	unsigned long index;

	twheel_purgatory_destroy(tf->purgatory);
	/* One by one: xa_destroy() would free the whole array in one go. */
	xa_for_each(&tf->ops, index, fop) {
		xa_erase(&tf->ops, index);
		twheel_file_op_put(fop);
		cond_resched();
	}
	xa_destroy(&tf->ops);
	kfree(tf);
	return 0;
}

static const struct file_operations twheel_fops = {
	.owner		= THIS_MODULE,
	.open		= twheel_file_open,
	.release	= twheel_file_release,
	.read		= twheel_file_read,
	.poll		= twheel_file_poll,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice twheel_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_fops,
	.mode	= 0600,
};

/**
 * twheel_device_init - check the device's parameter, and make the node
 *
 * Return: 0, -EINVAL with a message that names the parameter, or an error of
 * misc_register().
 */
int __init twheel_device_init(void)
{
	if (!max_pending || max_pending > MAX_PENDING_MAX) {
		pr_err("max_pending=%u is not between 1 and %lu\n",
		       max_pending, MAX_PENDING_MAX);
		return -EINVAL;
	}
	return misc_register(&twheel_misc);
}

/**
 * twheel_device_exit - take the node away; no file is open any more
 */
void twheel_device_exit(void)
{
	misc_deregister(&twheel_misc);
}
