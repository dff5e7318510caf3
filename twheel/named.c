// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, named purgatories: /dev/twheel-NAME, made and removed through
 * /dev/twheel.
 *
 * A named purgatory is a device of its own, so that who may use it is for the
 * file system to say.  It lives by the references to that device: one from its making
 * to its removal, and one for each open file.  It also holds the module
 * until it is removed, since detached operations may wait in it while
 * nobody has it open.
 *
 * Removal comes in this order: nobody can open it any more and its name is free;
 * nothing is added; what waits is cancelled, and told to whoever added it; readers
 * are told that this was all.  What is in the files stays until they are closed.
 *
 * Lock order: named_lock, then the lock of a share, then that of a box.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cdev.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "device.h"
#include "named.h"

#define NR_MINORS	BIT(16)

static unsigned int max_purgatories = 256;
module_param(max_purgatories, uint, 0444);
MODULE_PARM_DESC(max_purgatories, "named purgatories at a time, up to 65536 (default 256)");

static unsigned int max_shared_pending = BIT(22);
module_param(max_shared_pending, uint, 0444);
MODULE_PARM_DESC(max_shared_pending, "operations that may be pending in one named purgatory, 1 to 16777216 (default 4194304)");

/* Protects all_named, nr_named, and removal against everything about names. */
static DEFINE_MUTEX(named_lock);
static LIST_HEAD(all_named);
static unsigned int nr_named;

static DEFINE_IDA(named_minors);
static dev_t named_devt;

/**
 * twheel_named_detached - the box of detached operations
 * @named: of which purgatory
 */
struct twheel_box *twheel_named_detached(struct twheel_named *named)
{
	return &named->detached;
}

/**
 * twheel_named_name - the name of a purgatory
 * @named: which
 */
const char *twheel_named_name(const struct twheel_named *named)
{
	return named->name;
}

/* Its last file is closed, and it has been removed. */
static void named_release(struct device *dev)
{
	struct twheel_named *named = to_twheel_named(dev);

	twheel_box_empty(&named->detached);
	WARN_ON_ONCE(named->detached.held);
	twheel_share_exit(&named->share);
	ida_free(&named_minors, MINOR(dev->devt) - MINOR(named_devt));
	kfree(named);
}

/* The node has the owner and the mode that its maker wants. */
static char *named_devnode(TWHEEL_DEVNODE_CONST struct device *dev, umode_t *mode,
			   kuid_t *uid, kgid_t *gid)
{
	const struct twheel_named *named = container_of(dev, struct twheel_named, dev);

	/* They are not asked for when the node goes. */
	if (!mode)
		return NULL;
	/* No permissions at all would be taken for the default ones. */
	*mode = named->mode | S_IFCHR;
	*uid = named->uid;
	*gid = named->gid;
	return NULL;
}

static const struct device_type named_type = {
	.name		= "twheel",
	.groups		= twheel_named_groups,
	.devnode	= named_devnode,
	.release	= named_release,
};

static struct class named_class = {
	.name	= "twheel",
};

static int named_open(struct inode *inode, struct file *file)
{
	struct twheel_named *named = container_of(inode->i_cdev, struct twheel_named, cdev);
	struct twheel_file *tf = twheel_file_create(&named->share);

	if (IS_ERR(tf))
		return PTR_ERR(tf);
	get_device(&named->dev);
	file->private_data = tf;
	return stream_open(inode, file);
}

static int named_close(struct inode *inode, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_named *named = tf->share->named;

	twheel_file_free(tf);
	put_device(&named->dev);
	return 0;
}

static const struct file_operations named_fops = {
	.owner		= THIS_MODULE,
	.open		= named_open,
	.release	= named_close,
	.read		= twheel_file_read,
	.poll		= twheel_file_poll,
	.fasync		= twheel_file_fasync,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= twheel_file_show_fdinfo,
};

static bool name_fits(const char *name)
{
	size_t len = strnlen(name, TWHEEL_NAME_SIZE), i;

	if (!len || len == TWHEEL_NAME_SIZE || !isalnum(name[0]) || !isascii(name[0]))
		return false;
	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && !strchr("-_.", name[i])))
			return false;
	return !memchr_inv(name + len, 0, TWHEEL_NAME_SIZE - len);
}

static struct twheel_named *named_find(const char *name)
{
	struct twheel_named *named;

	lockdep_assert_held(&named_lock);
	list_for_each_entry(named, &all_named, entry)
		if (!strcmp(named->name, name))
			return named;
	return NULL;
}

/* Whose the node is to be, as far as the caller may say so. */
static int named_owner(struct twheel_named *named, const struct twheel_create_args *args)
{
	named->uid = current_fsuid();
	named->gid = current_fsgid();
	if (args->uid != TWHEEL_CALLER)
		named->uid = make_kuid(current_user_ns(), args->uid);
	if (args->gid != TWHEEL_CALLER)
		named->gid = make_kgid(current_user_ns(), args->gid);
	if (!uid_valid(named->uid) || !gid_valid(named->gid))
		return -EINVAL;
	if (!uid_eq(named->uid, current_fsuid()) && !capable(CAP_CHOWN))
		return -EPERM;
	if (!in_group_p(named->gid) && !capable(CAP_CHOWN))
		return -EPERM;
	return 0;
}

/* A device that is not known to anybody yet. */
static struct twheel_named *named_alloc(const struct twheel_create_args *args)
{
	u32 max_pending = args->max_pending ?: max_shared_pending;
	struct twheel_named *named;
	int minor, err;

	named = kzalloc(sizeof(*named), GFP_KERNEL_ACCOUNT);
	if (!named)
		return ERR_PTR(-ENOMEM);
	err = named_owner(named, args);
	if (err)
		goto free;
	minor = ida_alloc_max(&named_minors, NR_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		err = minor;
		goto free;
	}
	err = twheel_share_init(&named->share, args->name, max_pending, args->max_watches);
	if (err)
		goto free_minor;
	named->share.named = named;
	named->max_watches = args->max_watches;
	named->mode = args->mode;
	named->creator = current_fsuid();
	strscpy(named->name, args->name, sizeof(named->name));
	twheel_box_init(&named->detached, &named->share, max_pending);
	device_initialize(&named->dev);
	named->dev.class = &named_class;
	named->dev.type = &named_type;
	named->dev.devt = MKDEV(MAJOR(named_devt), MINOR(named_devt) + minor);
	cdev_init(&named->cdev, &named_fops);
	named->cdev.owner = THIS_MODULE;
	return named;

free_minor:
	ida_free(&named_minors, minor);
free:
	kfree(named);
	return ERR_PTR(err);
}

/* Make it known. */
static int named_add(struct twheel_named *named)
{
	int err;

	lockdep_assert_held(&named_lock);
	if (named_find(named->name))
		return -EEXIST;
	if (nr_named >= max_purgatories)
		return -ENOSPC;
	err = dev_set_name(&named->dev, "twheel-%s", named->name);
	if (err)
		return err;
	err = cdev_device_add(&named->cdev, &named->dev);
	if (err)
		return err;
	list_add_tail(&named->entry, &all_named);
	nr_named++;
	/* Who calls us has the module. */
	__module_get(THIS_MODULE);
	return 0;
}

/**
 * twheel_call_create - TWHEEL_IOC_CREATE
 * @call: the call
 * @args: as from user space; the numbers of the node are set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_create_args *create = &args->create;
	struct twheel_named *named;
	int err;

	if (call->file->share->named)
		return -ENOTTY;
	if (create->flags || create->mode & ~0666U || !name_fits(create->name))
		return -EINVAL;
	if (create->max_pending > max_shared_pending || create->max_watches > INT_MAX)
		return -EINVAL;
	named = named_alloc(create);
	if (IS_ERR(named))
		return PTR_ERR(named);
	create->major = MAJOR(named->dev.devt);
	create->minor = MINOR(named->dev.devt);
	mutex_lock(&named_lock);
	err = named_add(named);
	mutex_unlock(&named_lock);
	if (err)
		put_device(&named->dev);
	return err;
}

/* Let nobody in any more, if that may be. */
static int named_close_door(struct twheel_named *named, bool force)
{
	struct twheel_share *share = &named->share;
	struct twheel_box *detached = &named->detached;
	int err = 0;

	spin_lock(&share->lock);
	spin_lock(&detached->lock);
	if (!force && (share->nr_files || detached->held)) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(share->gone, true);
		WRITE_ONCE(detached->shut, true);
	}
	spin_unlock(&detached->lock);
	spin_unlock(&share->lock);
	return err;
}

/* Take it away from among those that can be found, with its removal's reference. */
static struct twheel_named *named_take(const struct twheel_remove_args *args)
{
	struct twheel_named *named = named_find(args->name);
	int err;

	lockdep_assert_held(&named_lock);
	if (!named)
		return ERR_PTR(-ENOENT);
	if (!uid_eq(named->creator, current_fsuid()) && !capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	err = named_close_door(named, args->flags & TWHEEL_REMOVE_FORCE);
	if (err)
		return ERR_PTR(err);
	list_del(&named->entry);
	nr_named--;
	cdev_device_del(&named->cdev, &named->dev);
	return named;
}

/* The first open file, with a reference to its memory; it goes to the end of the list. */
static struct twheel_file *share_next_file(struct twheel_share *share)
{
	struct twheel_file *file;

	spin_lock(&share->lock);
	file = list_first_entry_or_null(&share->files, struct twheel_file, entry);
	if (file) {
		list_move_tail(&file->entry, &share->files);
		refcount_inc(&file->ref);
	}
	spin_unlock(&share->lock);
	return file;
}

/* Cancel what waits, and let those who read come to the end. */
static u32 named_end(struct twheel_named *named)
{
	struct twheel_share *share = &named->share;
	u32 cancelled = twheel_purgatory_drain(share->purgatory);
	u32 nr_files = READ_ONCE(share->nr_files);
	struct twheel_file *file;

	/* One by one: there may be many. None comes, so each has its turn. */
	while (nr_files-- && (file = share_next_file(share))) {
		twheel_box_shut(&file->own);
		twheel_file_put(file);
		cond_resched();
	}
	twheel_box_shut(&named->detached);
	return cancelled;
}

/**
 * twheel_call_remove - TWHEEL_IOC_REMOVE
 * @call: the call
 * @args: as from user space; how many operations were cancelled is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_remove_args *remove = &args->remove;
	struct twheel_named *named;

	if (call->file->share->named)
		return -ENOTTY;
	if (remove->flags & ~TWHEEL_REMOVE_FORCE || !name_fits(remove->name))
		return -EINVAL;
	mutex_lock(&named_lock);
	named = named_take(remove);
	mutex_unlock(&named_lock);
	if (IS_ERR(named))
		return PTR_ERR(named);
	remove->cancelled = named_end(named);
	put_device(&named->dev);
	/* Who calls us has the module as well. */
	module_put(THIS_MODULE);
	return 0;
}

/**
 * twheel_named_init - check the parameters of this file, and let names be made
 *
 * Return: 0, -EINVAL with a message that names the parameter, or an error of
 * alloc_chrdev_region() or class_register().
 */
int __init twheel_named_init(void)
{
	int err;

	if (max_purgatories > NR_MINORS) {
		pr_err("max_purgatories=%u is more than %lu\n", max_purgatories, NR_MINORS);
		return -EINVAL;
	}
	if (!max_shared_pending || max_shared_pending > TWHEEL_PENDING_MAX) {
		pr_err("max_shared_pending=%u is not between 1 and %lu\n",
		       max_shared_pending, TWHEEL_PENDING_MAX);
		return -EINVAL;
	}
	err = alloc_chrdev_region(&named_devt, 0, NR_MINORS, "twheel");
	if (err)
		return err;
	err = class_register(&named_class);
	if (err)
		unregister_chrdev_region(named_devt, NR_MINORS);
	return err;
}

/**
 * twheel_named_exit - there are no names any more
 */
void twheel_named_exit(void)
{
	WARN_ON_ONCE(nr_named);
	class_unregister(&named_class);
	unregister_chrdev_region(named_devt, NR_MINORS);
	ida_destroy(&named_minors);
}
