// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: named purgatories.
 *
 * /dev/twheel-control creates and removes /dev/twheel-NAME. Each name is a separate device, so
 * the permissions of its node control access to it. The device is reference counted: the name
 * holds a reference until removal, and each open file holds one. The name also holds the
 * module, since detached operations may be pending while no file is open.
 *
 * Removal has two steps. The caller removes the name; from then on nothing can be opened or
 * added. A work item then cancels all pending operations, shuts the event queues and drops
 * the reference of the name. The caller waits for it unless killed. Events stay in
 * the queues until they are read or their files are closed.
 *
 * Lock order: named_lock, lock of an instance.
 */
#include <linux/capability.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
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
#include <linux/xarray.h>

#include "../compat.h"
#include "../op/purgatory.h"
#include "args.h"
#include "file.h"
#include "open.h"
#include "user.h"

/* Fewer than minors: a removed purgatory keeps its minor until its files are closed. */
#define MAX_NAMES	BIT(16)

static unsigned int max_purgatories = 256;
module_param(max_purgatories, uint, 0444);
MODULE_PARM_DESC(max_purgatories, "named purgatories at a time, up to 65536 (default 256)");

/*
 * With unread events, a queue may have twice as many operations. By default that is half of what a
 * user may have, so that a reader that stops does not affect other queues.
 */
static unsigned int max_shared_pending = BIT(20);
module_param(max_shared_pending, uint, 0444);
MODULE_PARM_DESC(max_shared_pending, "operations that may be pending in one named purgatory, 1 to 16777216 (default 1048576)");

/**
 * struct twheel_named - a named purgatory
 * @instance: the purgatory
 * @dev: its device; holds the reference count of the structure
 * @cdev: its character device
 * @entry: in all_named; protected by named_lock
 * @creator: the user allowed to remove it; immutable
 * @uid: initial owner of the node; immutable
 * @gid: initial group of the node; immutable
 * @mode: initial permissions of the node; immutable
 * @end: cancels all operations after the name was removed
 * @ended: completed by @end
 * @cancelled: number of operations cancelled by @end
 */
struct twheel_named {
	struct twheel_instance	instance;
	struct device		dev;
	struct cdev		cdev;
	struct list_head	entry;
	struct twheel_user	*creator;
	kuid_t			uid;
	kgid_t			gid;
	umode_t			mode;
	struct work_struct	end;
	struct completion	ended;
	u32			cancelled;
};

/* Protects all_named and nr_named. */
static DEFINE_MUTEX(named_lock);
static LIST_HEAD(all_named);
static unsigned int nr_named;

/* Number of devices that have not been freed. */
static atomic_t nr_devices = ATOMIC_INIT(0);

/* All devices, by minor. */
static DEFINE_XARRAY_FLAGS(named_minors, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);

static struct twheel_named *to_twheel_named(struct device *dev)
{
	return container_of(dev, struct twheel_named, dev);
}

/* Attributes in /sys/class/twheel/; see Documentation/ABI/testing/sysfs-class-twheel. */
#define LIMIT_ATTR(name, field)							\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr,	\
			   char *buf)						\
{										\
	return sysfs_emit(buf, "%u\n", to_twheel_named(dev)->instance.field);	\
}										\
static DEVICE_ATTR_RO(name)

LIMIT_ATTR(max_pending, purgatory->max_pending);
LIMIT_ATTR(max_file_pending, max_file_pending);
LIMIT_ATTR(max_watches, purgatory->max_watches);
LIMIT_ATTR(max_queue, max_queue);

static struct attribute *named_attrs[] = {
	&dev_attr_max_pending.attr,
	&dev_attr_max_file_pending.attr,
	&dev_attr_max_watches.attr,
	&dev_attr_max_queue.attr,
	NULL
};
ATTRIBUTE_GROUPS(named);

/* The name has been removed and all files are closed. */
static void named_release(struct device *dev)
{
	struct twheel_named *named = to_twheel_named(dev);
	struct twheel_detached *detached = NULL;

	/* If cdev_device_add() failed, the node may have been opened and used before that. */
	twheel_purgatory_drain(named->instance.purgatory);
	while ((detached = twheel_detached_after(&named->instance, detached)))
		twheel_events_empty(&detached->events);
	twheel_instance_exit(&named->instance);
	xa_erase(&named_minors, MINOR(dev->devt));
	twheel_user_put(named->creator);
	kfree(named);
	/* CONFIG_DEBUG_KOBJECT_RELEASE delays the release: twheel_named_exit() waits for it. */
	if (atomic_dec_and_test(&nr_devices))
		wake_up_var(&nr_devices);
}

static char *named_devnode(TWHEEL_DEVNODE_CONST struct device *dev, umode_t *mode,
			   kuid_t *uid, kgid_t *gid)
{
	const struct twheel_named *named = container_of(dev, struct twheel_named, dev);

	/* The pointers are NULL on removal of the node. */
	if (!mode)
		return NULL;
	/* A mode of 0 would select the default: add the file type. */
	*mode = named->mode | S_IFCHR;
	*uid = named->uid;
	*gid = named->gid;
	return NULL;
}

static const struct device_type named_type = {
	.name		= "twheel",
	.groups		= named_groups,
	.devnode	= named_devnode,
	.release	= named_release,
};

/* Returns the instance of an inode in open(), with a reference for the file. */
struct twheel_instance *twheel_named_open(struct inode *inode)
{
	/* The VFS holds a reference to the cdev, and the cdev one to the device. */
	struct twheel_named *named = container_of(inode->i_cdev, struct twheel_named, cdev);

	get_device(&named->dev);
	return &named->instance;
}

static bool name_valid(const char *name)
{
	size_t len = strnlen(name, TWHEEL_NAME_SIZE), i;

	if (!len || len == TWHEEL_NAME_SIZE || !isalnum(name[0]) || !isascii(name[0]))
		return false;
	/* /dev/twheel-control exists. */
	if (!strcmp(name, "control"))
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
		if (!strcmp(named->instance.name, name))
			return named;
	return NULL;
}

/* Set the owner and group of the node, subject to the rules of chown(). */
static int named_owner(struct twheel_named *named, const struct twheel_create_args *args)
{
	named->uid = twheel_caller_uid();
	named->gid = current_fsgid();
	if (args->uid != TWHEEL_CALLER)
		named->uid = make_kuid(current_user_ns(), args->uid);
	if (args->gid != TWHEEL_CALLER)
		named->gid = make_kgid(current_user_ns(), args->gid);
	if (!uid_valid(named->uid) || !gid_valid(named->gid))
		return -EINVAL;
	if (!uid_eq(named->uid, twheel_caller_uid()) && !capable(CAP_CHOWN))
		return -EPERM;
	if (!in_group_p(named->gid) && !capable(CAP_CHOWN))
		return -EPERM;
	return 0;
}

/*
 * Shut the event queues of a removed purgatory. Lock one file at a time: there may be many. Each
 * visited file moves to the tail, and none is added: a new count is smaller than a stale one.
 */
static void named_shut(struct twheel_instance *instance)
{
	u32 nr_files = READ_ONCE(instance->nr_files);
	struct twheel_detached *detached = NULL;
	struct twheel_file *file;

	while (nr_files--) {
		spin_lock(&instance->lock);
		file = list_first_entry_or_null(&instance->files, struct twheel_file, entry);
		if (file) {
			list_move_tail(&file->entry, &instance->files);
			refcount_inc(&file->ref);
		}
		spin_unlock(&instance->lock);
		if (!file)
			break;
		twheel_events_shut(&file->own);
		twheel_file_put(file);
		cond_resched();
	}
	while ((detached = twheel_detached_after(instance, detached)))
		twheel_events_shut(&detached->events);
}

/* Work: cancel the pending operations and shut the event queues. */
static void named_end(struct work_struct *work)
{
	struct twheel_named *named = container_of(work, struct twheel_named, end);

	named->cancelled = twheel_purgatory_drain(named->instance.purgatory);
	named_shut(&named->instance);
	complete_all(&named->ended);
	put_device(&named->dev);
	/* destroy_workqueue() waits for the rest of this function. */
	module_put(THIS_MODULE);
}

/* Allocate a device. It has no name yet. */
static struct twheel_named *named_alloc(const struct twheel_create_args *args)
{
	u32 max_pending = args->max_pending ?: max_shared_pending;
	static u32 next_minor;
	struct twheel_named *named;
	u32 minor;
	int err;

	named = kzalloc(sizeof(*named), TWHEEL_GFP_USER);
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
	/* Reuse minors as late as possible: a stale node must not open the next purgatory. */
	err = xa_alloc_cyclic(&named_minors, &minor, named,
			      XA_LIMIT(TWHEEL_MINOR_NAMED, TWHEEL_NR_MINORS - 1), &next_minor,
			      TWHEEL_GFP_USER);
	if (err < 0) {
		err = err == -EBUSY ? -ENOSPC : err;
		goto put_user;
	}
	err = twheel_instance_init(&named->instance, args->name, max_pending, args->max_watches);
	if (err)
		goto free_minor;
	if (args->max_file_pending)
		named->instance.max_file_pending = min(named->instance.max_file_pending,
						       args->max_file_pending);
	named->instance.max_queue = args->max_queue ?: 2 * max_pending;
	named->instance.name = named->instance.purgatory->name;
	named->instance.dev = &named->dev;
	named->mode = args->mode;
	INIT_WORK(&named->end, named_end);
	init_completion(&named->ended);
	device_initialize(&named->dev);
	named->dev.class = twheel_class;
	named->dev.type = &named_type;
	named->dev.devt = twheel_devt + minor;
	cdev_init(&named->cdev, &twheel_file_fops);
	named->cdev.owner = THIS_MODULE;
	atomic_inc(&nr_devices);
	return named;

free_minor:
	xa_erase(&named_minors, minor);
put_user:
	twheel_user_put(named->creator);
free:
	kfree(named);
	return ERR_PTR(err);
}

/* Refuse new files and adds. Returns -EBUSY if the purgatory is in use and not @force. */
static int named_close(struct twheel_named *named, bool force)
{
	struct twheel_instance *instance = &named->instance;
	int err = 0;

	spin_lock(&instance->lock);
	/* Without a file, there is a queue as long as it has detached operations. */
	if (!force && (instance->nr_files || !twheel_array_empty(&instance->queues)))
		err = -EBUSY;
	else
		WRITE_ONCE(instance->removed, true);
	spin_unlock(&instance->lock);
	return err;
}

/* Add the device, with its node and attributes, and the name. */
static int named_add(struct twheel_named *named)
{
	int err;

	lockdep_assert_held(&named_lock);
	if (named_find(named->instance.name))
		return -EEXIST;
	if (nr_named >= max_purgatories)
		return -ENOSPC;
	err = twheel_user_charge(named->creator, TWHEEL_USER_NAMES);
	if (err)
		return err;
	err = dev_set_name(&named->dev, "twheel-%s", named->instance.name) ?:
	      cdev_device_add(&named->cdev, &named->dev);
	if (err) {
		/* The node may have been opened before the failure. */
		named_close(named, true);
		named_shut(&named->instance);
		twheel_user_uncharge(named->creator, TWHEEL_USER_NAMES, 1);
		return err;
	}
	/* The reference of the name. */
	get_device(&named->dev);
	list_add_tail(&named->entry, &all_named);
	nr_named++;
	/* The caller holds a reference to the module. */
	__module_get(THIS_MODULE);
	return 0;
}

int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_create_args *create = &args->create;
	struct twheel_named *named;
	struct file *file;
	int err;

	if (create->flags & ~O_NONBLOCK || create->mode & ~0666U || !name_valid(create->name))
		return -EINVAL;
	if (create->max_pending > max_shared_pending ||
	    create->max_file_pending > twheel_max_pending || create->max_watches > INT_MAX ||
	    create->max_queue > 2 * max_shared_pending)
		return -EINVAL;
	named = named_alloc(create);
	if (IS_ERR(named))
		return PTR_ERR(named);
	create->major = MAJOR(named->dev.devt);
	create->minor = MINOR(named->dev.devt);
	file = twheel_open_anon(&named->instance, NULL, O_RDWR | create->flags);
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
	put_device(&named->dev);
	return err;
}

/* Remove the name. Its reference passes to the work item. */
static struct twheel_named *named_remove(const struct twheel_remove_args *args)
{
	struct twheel_named *named = named_find(args->name);
	int err;

	lockdep_assert_held(&named_lock);
	if (!named)
		return ERR_PTR(-ENOENT);
	if (!uid_eq(named->creator->key.uid, twheel_caller_uid()) && !capable(CAP_SYS_ADMIN))
		return ERR_PTR(-EPERM);
	err = named_close(named, args->flags & TWHEEL_REMOVE_FORCE);
	if (err)
		return ERR_PTR(err);
	list_del(&named->entry);
	nr_named--;
	twheel_user_uncharge(named->creator, TWHEEL_USER_NAMES, 1);
	cdev_device_del(&named->cdev, &named->dev);
	return named;
}

int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_remove_args *remove = &args->remove;
	struct twheel_named *named;
	int err;

	if (remove->flags & ~TWHEEL_REMOVE_FORCE || !name_valid(remove->name))
		return -EINVAL;
	mutex_lock(&named_lock);
	named = named_remove(remove);
	if (!IS_ERR(named))
		get_device(&named->dev);
	mutex_unlock(&named_lock);
	if (IS_ERR(named))
		return PTR_ERR(named);
	queue_work(twheel_wq, &named->end);
	err = wait_for_completion_killable(&named->ended);
	remove->cancelled = err ? 0 : named->cancelled;
	put_device(&named->dev);
	return err ? -EINTR : 0;
}

int __init twheel_named_init(void)
{
	return twheel_parameter_check("max_pending", twheel_max_pending, 1, TWHEEL_PENDING_MAX) ?:
	       twheel_parameter_check("max_shared_pending", max_shared_pending, 1,
				      TWHEEL_PENDING_MAX) ?:
	       twheel_parameter_check("max_purgatories", max_purgatories, 0, MAX_NAMES);
}

void twheel_named_exit(void)
{
	WARN_ON_ONCE(nr_named);
	wait_var_event(&nr_devices, !atomic_read(&nr_devices));
	xa_destroy(&named_minors);
}
