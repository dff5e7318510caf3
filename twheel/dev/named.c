// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, named purgatories: /dev/twheel-NAME, created and removed through
 * /dev/twheel-control.
 *
 * Each is a device of its own, so the permissions of its node decide who may open
 * it.  The device is reference counted: one reference for the name, until removal, and
 * one for each open file.  The name also holds the module, since detached
 * operations may be pending while no file is open.
 *
 * Removal has two steps.  The caller takes the name away: nothing can be opened or
 * added any more.  A work item cancels all pending operations, ends the event queues and
 * drops the reference of the name; the caller waits for it, unless it is killed.
 * Events stay in the queues until they are read or their files are closed.
 *
 * Lock order: named_lock, the lock of an instance, the lock of an event queue.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "dev.h"

#define MAX_NAMES	BIT(16)
/* A removed purgatory keeps its minor until its files are closed. */
#define NR_MINORS	BIT(MINORBITS)

static unsigned int max_purgatories = 256;
module_param(max_purgatories, uint, 0444);
MODULE_PARM_DESC(max_purgatories, "named purgatories at a time, up to 65536 (default 256)");

static unsigned int max_shared_pending = BIT(22);
module_param(max_shared_pending, uint, 0444);
MODULE_PARM_DESC(max_shared_pending, "operations that may be pending in one named purgatory, 1 to 16777216 (default 4194304)");

/* Protects all_named and nr_named. */
static DEFINE_MUTEX(named_lock);
static LIST_HEAD(all_named);
static unsigned int nr_named;

/* Devices whose memory has not been freed. */
static atomic_t nr_devices = ATOMIC_INIT(0);

static DEFINE_IDA(named_minors);
static dev_t named_devt;

/**
 * twheel_named_name - the name of a purgatory
 * @named: the purgatory
 */
const char *twheel_named_name(const struct twheel_named *named)
{
	return named->name;
}

/**
 * twheel_named_get - take a reference
 * @named: the purgatory, to which the caller has a reference
 */
void twheel_named_get(struct twheel_named *named)
{
	get_device(&named->dev);
}

/**
 * twheel_named_put - drop a reference
 * @named: the purgatory
 *
 * Context: process; may sleep.
 */
void twheel_named_put(struct twheel_named *named)
{
	put_device(&named->dev);
}

/* All files are closed, and it has been removed. */
static void named_release(struct device *dev)
{
	struct twheel_named *named = to_twheel_named(dev);

	/* If device_add() failed, the node may have been opened and used before that. */
	twheel_purgatory_drain(named->instance.purgatory);
	twheel_events_empty(&named->instance.detached);
	WARN_ON_ONCE(named->instance.detached.held);
	twheel_instance_exit(&named->instance);
	ida_free(&named_minors, MINOR(dev->devt) - MINOR(named_devt));
	twheel_user_put(named->creator);
	kfree(named);
	/* With CONFIG_DEBUG_KOBJECT_RELEASE this comes late: twheel_named_exit() waits. */
	if (atomic_dec_and_test(&nr_devices))
		wake_up_var(&nr_devices);
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

/**
 * twheel_named_open - look up the instance of a node
 * @inode: the node, in open()
 *
 * Return: the instance, with a reference for twheel_file_create().
 */
struct twheel_instance *twheel_named_open(struct inode *inode)
{
	/* The VFS has a reference to the cdev, which has one to the device. */
	struct twheel_named *named = container_of(inode->i_cdev, struct twheel_named, cdev);

	twheel_named_get(named);
	return &named->instance;
}

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

/* The first open file, with a reference to its memory; it moves to the tail of the list. */
static struct twheel_file *instance_next_file(struct twheel_instance *instance)
{
	struct twheel_file *file;

	spin_lock(&instance->lock);
	file = list_first_entry_or_null(&instance->files, struct twheel_file, entry);
	if (file) {
		list_move_tail(&file->entry, &instance->files);
		refcount_inc(&file->ref);
	}
	spin_unlock(&instance->lock);
	return file;
}

/* Cancel what is pending, and let the readers come to the end. */
static void named_end(struct work_struct *work)
{
	struct twheel_named *named = container_of(work, struct twheel_named, end);
	struct twheel_instance *instance = &named->instance;
	struct twheel_file *file;
	u32 nr_files;

	named->cancelled = twheel_purgatory_drain(instance->purgatory);
	nr_files = READ_ONCE(instance->nr_files);
	/* One by one: there may be many. None is added, so each has its turn. */
	while (nr_files-- && (file = instance_next_file(instance))) {
		twheel_events_shut(&file->own);
		twheel_file_put(file);
		cond_resched();
	}
	twheel_events_shut(&instance->detached);
	complete_all(&named->ended);
	twheel_named_put(named);
	/* Destroying the workqueue waits for the rest of this function. */
	module_put(THIS_MODULE);
}

static void limits_set(struct twheel_instance *instance, const struct twheel_create_args *args)
{
	if (args->max_file_pending)
		instance->max_file_pending = min(instance->max_file_pending,
						 args->max_file_pending);
}

/* Minors are reused as late as possible: a stale node must not open the next purgatory. */
static int minor_alloc(void)
{
	static unsigned int next;
	unsigned int from = READ_ONCE(next);
	int minor;

	minor = ida_alloc_range(&named_minors, from, NR_MINORS - 1, GFP_KERNEL);
	if (minor == -ENOSPC && from)
		minor = ida_alloc_range(&named_minors, 0, from - 1, GFP_KERNEL);
	if (minor >= 0)
		WRITE_ONCE(next, (minor + 1) % NR_MINORS);
	return minor;
}

/* A device without a name yet. */
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
	named->creator = twheel_user_get();
	if (IS_ERR(named->creator)) {
		err = PTR_ERR(named->creator);
		goto free;
	}
	minor = minor_alloc();
	if (minor < 0) {
		err = minor;
		goto put_user;
	}
	err = twheel_instance_init(&named->instance, args->name, max_pending, args->max_watches);
	if (err)
		goto free_minor;
	limits_set(&named->instance, args);
	named->instance.named = named;
	named->max_watches = args->max_watches;
	named->mode = args->mode;
	strscpy(named->name, args->name, sizeof(named->name));
	INIT_WORK(&named->end, named_end);
	init_completion(&named->ended);
	device_initialize(&named->dev);
	named->dev.class = &named_class;
	named->dev.type = &named_type;
	named->dev.devt = MKDEV(MAJOR(named_devt), MINOR(named_devt) + minor);
	cdev_init(&named->cdev, &twheel_file_fops);
	named->cdev.owner = THIS_MODULE;
	atomic_inc(&nr_devices);
	return named;

free_minor:
	ida_free(&named_minors, minor);
put_user:
	twheel_user_put(named->creator);
free:
	kfree(named);
	return ERR_PTR(err);
}

/* Let no file and no detached operation in any more, if that is allowed. */
static int named_close(struct twheel_named *named, bool force)
{
	struct twheel_instance *instance = &named->instance;
	struct twheel_events *detached = &instance->detached;
	int err = 0;

	spin_lock(&instance->lock);
	spin_lock(&detached->lock);
	if (!force && (instance->nr_files || detached->held)) {
		err = -EBUSY;
	} else {
		WRITE_ONCE(instance->gone, true);
		WRITE_ONCE(detached->shut, true);
	}
	spin_unlock(&detached->lock);
	spin_unlock(&instance->lock);
	return err;
}

/* Give a device its name and its node. */
static int named_add(struct twheel_named *named)
{
	int err;

	lockdep_assert_held(&named_lock);
	/* The name of the control node is taken. */
	if (named_find(named->name) || !strcmp(named->name, "control"))
		return -EEXIST;
	if (nr_named >= max_purgatories)
		return -ENOSPC;
	err = twheel_user_charge_name(named->creator);
	if (err)
		return err;
	err = dev_set_name(&named->dev, "twheel-%s", named->name);
	if (!err)
		err = cdev_device_add(&named->cdev, &named->dev);
	if (err) {
		/* The device number was valid for a moment: admit nothing more. */
		named_close(named, true);
		twheel_user_uncharge_name(named->creator);
		return err;
	}
	/* The reference of the name. */
	twheel_named_get(named);
	list_add_tail(&named->entry, &all_named);
	nr_named++;
	/* The caller holds the module. */
	__module_get(THIS_MODULE);
	return 0;
}

/* A file of a new purgatory, like one opened on its node. Takes a reference. */
static struct file *named_file(struct twheel_named *named)
{
	struct twheel_file *tf;
	struct file *file;

	twheel_named_get(named);
	tf = twheel_file_create(&named->instance);
	if (IS_ERR(tf))
		return ERR_CAST(tf);
	file = anon_inode_getfile("[twheel]", &twheel_file_fops, tf, O_RDWR);
	if (IS_ERR(file)) {
		twheel_file_free(tf);
		return file;
	}
	stream_open(file_inode(file), file);
	file->f_mode |= FMODE_NOWAIT;
	return file;
}

static bool create_fits(const struct twheel_create_args *args)
{
	return !args->flags && !args->reserved && !(args->mode & ~0666U) &&
	       name_fits(args->name) && args->max_pending <= max_shared_pending &&
	       args->max_file_pending <= twheel_max_pending && args->max_watches <= INT_MAX;
}

/**
 * twheel_call_create - TWHEEL_IOC_CREATE
 * @call: the call; set to the new file
 * @args: as from user space; the device numbers are set
 *
 * Return: 0 or an error; Documentation/device-files.rst lists them.
 */
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_create_args *create = &args->create;
	struct twheel_named *named;
	struct file *file;
	int err;

	if (!create_fits(create))
		return -EINVAL;
	named = named_alloc(create);
	if (IS_ERR(named))
		return PTR_ERR(named);
	create->major = MAJOR(named->dev.devt);
	create->minor = MINOR(named->dev.devt);
	file = named_file(named);
	err = PTR_ERR_OR_ZERO(file);
	if (err)
		goto put;
	mutex_lock(&named_lock);
	err = named_add(named);
	mutex_unlock(&named_lock);
	if (err)
		fput(file);
	else
		call->opened = file;
put:
	twheel_named_put(named);
	return err;
}

/* Take the name away; its reference passes to the work item. */
static struct twheel_named *named_take(const struct twheel_remove_args *args)
{
	struct twheel_named *named = named_find(args->name);
	int err;

	lockdep_assert_held(&named_lock);
	if (!named)
		return ERR_PTR(-ENOENT);
	if (!uid_eq(named->creator->uid, current_uid()) && !capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	err = named_close(named, args->flags & TWHEEL_REMOVE_FORCE);
	if (err)
		return ERR_PTR(err);
	list_del(&named->entry);
	nr_named--;
	twheel_user_uncharge_name(named->creator);
	cdev_device_del(&named->cdev, &named->dev);
	return named;
}

/**
 * twheel_call_remove - TWHEEL_IOC_REMOVE
 * @call: the call
 * @args: as from user space; the number of cancelled operations is set
 *
 * Return: 0 or an error; Documentation/device-files.rst lists them.
 */
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_remove_args *remove = &args->remove;
	struct twheel_named *named;
	int err;

	if (remove->flags & ~TWHEEL_REMOVE_FORCE || !name_fits(remove->name))
		return -EINVAL;
	mutex_lock(&named_lock);
	named = named_take(remove);
	if (!IS_ERR(named))
		twheel_named_get(named);
	mutex_unlock(&named_lock);
	if (IS_ERR(named))
		return PTR_ERR(named);
	queue_work(twheel_wq, &named->end);
	err = wait_for_completion_killable(&named->ended);
	if (!err)
		remove->cancelled = named->cancelled;
	twheel_named_put(named);
	return err ? -EINTR : 0;
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

	if (max_purgatories > MAX_NAMES) {
		pr_err("max_purgatories=%u is more than %lu\n", max_purgatories, MAX_NAMES);
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
 * twheel_named_exit - no name is left
 */
void twheel_named_exit(void)
{
	WARN_ON_ONCE(nr_named);
	wait_var_event(&nr_devices, !atomic_read(&nr_devices));
	class_unregister(&named_class);
	unregister_chrdev_region(named_devt, NR_MINORS);
	ida_destroy(&named_minors);
}

/*
 * Layer 6, named purgatories: /sys/class/twheel/twheel-NAME.
 *
 * One number in each file; see Documentation/ABI/testing/sysfs-class-twheel.
 */

/* A number of struct twheel_query_args. */
#define SHOW(name, format, field)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	struct twheel_query_args query;						\
										\
	twheel_instance_query(&to_twheel_named(dev)->instance, NULL, &query);	\
	return sysfs_emit(buf, format "\n", query.field);			\
}										\
static DEVICE_ATTR_RO(name)

SHOW(max_pending, "%u", max_pending);
SHOW(max_file_pending, "%u", max_file_pending);
SHOW(files, "%u", files);
SHOW(detached, "%llu", detached);
SHOW(detached_unread, "%llu", detached_unread);
SHOW(pending, "%llu", pending);
SHOW(keys, "%llu", keys);
SHOW(watches, "%llu", watches);
SHOW(added, "%llu", added);
SHOW(completed, "%llu", completed);
SHOW(expired, "%llu", expired);
SHOW(cancelled, "%llu", cancelled);
SHOW(rejected, "%llu", rejected);

static ssize_t max_watches_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", to_twheel_named(dev)->max_watches);
}
static DEVICE_ATTR_RO(max_watches);

static struct attribute *twheel_named_attrs[] = {
	&dev_attr_max_pending.attr,
	&dev_attr_max_file_pending.attr,
	&dev_attr_max_watches.attr,
	&dev_attr_files.attr,
	&dev_attr_detached.attr,
	&dev_attr_detached_unread.attr,
	&dev_attr_pending.attr,
	&dev_attr_keys.attr,
	&dev_attr_watches.attr,
	&dev_attr_added.attr,
	&dev_attr_completed.attr,
	&dev_attr_expired.attr,
	&dev_attr_cancelled.attr,
	&dev_attr_rejected.attr,
	NULL
};

static const struct attribute_group twheel_named_group = {
	.attrs = twheel_named_attrs,
};

const struct attribute_group *twheel_named_groups[] = { &twheel_named_group, NULL };
