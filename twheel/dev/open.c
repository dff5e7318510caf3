// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: the nodes, and files from open to close.
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
 * A file is opened on a node, or returned by TWHEEL_IOC_CREATE. A descriptor of detached events has
 * a file of its own, whose own event queue stays empty. No call runs on a file that is being
 * released, since the VFS holds a reference for each call.
 *
 * A source file includes headers of those before it in Kbuild only. Its banner describes it.
 *
 * References
 * ==========
 *
 *	event queue -> operation	from the add until the final event has been read
 *	leaf of operations -> file	the memory only; the file may be closed. The leaf is in the
 *					table of the instance, and the end of that waits for it
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
#include <linux/anon_inodes.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "args.h"
#include "file.h"
#include "open.h"

/*
 * Create the state of an open file. The caller's reference to the instance passes to the file,
 * or is dropped on an error: -EDQUOT, -ENODEV if the purgatory was removed, -ENOMEM.
 */
static struct twheel_file *file_create(struct twheel_instance *instance)
{
	struct twheel_file *file;
	unsigned int i;
	int err = -ENOMEM;

	file = kzalloc(sizeof(*file), TWHEEL_GFP_USER);
	if (!file)
		goto put_instance;
	file->user = twheel_user_get();
	if (IS_ERR(file->user)) {
		err = PTR_ERR(file->user);
		kfree(file);
		goto put_instance;
	}
	refcount_set(&file->ref, 1);
	file->rights = TWHEEL_RIGHTS | TWHEEL_RIGHT_OTHERS;
	file->instance = instance;
	INIT_LIST_HEAD(&file->leaves);
	for (i = 0; i < ARRAY_SIZE(file->partial); i++)
		INIT_LIST_HEAD(&file->partial[i]);
	twheel_events_init(&file->own);
	err = twheel_user_charge(file->user, TWHEEL_USER_FILES);
	if (err)
		goto put_file;
	spin_lock(&instance->lock);
	if (instance->removed) {
		err = -ENODEV;
	} else {
		list_add_tail(&file->entry, &instance->files);
		WRITE_ONCE(instance->nr_files, instance->nr_files + 1);
	}
	spin_unlock(&instance->lock);
	if (err)
		goto uncharge;
	if (!instance->name)
		twheel_instance_enter(instance, file->user);
	return file;

uncharge:
	twheel_user_uncharge(file->user, TWHEEL_USER_FILES, 1);
put_file:
	twheel_file_put(file);
put_instance:
	twheel_instance_put(instance);
	return ERR_PTR(err);
}

/* Free a closed file and cancel its operations. Detached operations stay. May sleep. */
static void file_free(struct twheel_file *file)
{
	struct twheel_instance *instance = file->instance;

	twheel_events_shut(&file->own);
	twheel_file_end_all(file, TWHEEL_REASON_CANCELLED, 0, 0, TWHEEL_MAY_SLEEP);
	twheel_events_empty(&file->own);
	WARN_ON_ONCE(file->own.held);
	twheel_events_close(&file->own);
	twheel_file_free_leaves(file);
	twheel_cells_free(file->cells);
	if (!instance->name)
		twheel_instance_leave(instance, file->user);
	if (file->reader)
		twheel_reader_close(&file->detached->events, file->reader);
	if (file->detached)
		twheel_detached_put(instance, file->detached, 1);
	spin_lock(&instance->lock);
	list_del(&file->entry);
	WRITE_ONCE(instance->nr_files, instance->nr_files - 1);
	spin_unlock(&instance->lock);
	twheel_user_uncharge(file->user, TWHEEL_USER_FILES, 1);
	twheel_file_put(file);
	twheel_instance_put(instance);
}

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

/*
 * Open a node. It may wait for memory, so the nodes are no misc devices: misc_open() holds the
 * lock of all of these.
 */
static int file_open(struct inode *inode, struct file *file)
{
	struct twheel_instance *instance;
	struct twheel_file *tf;

	if (iminor(inode) == TWHEEL_MINOR_CONTROL) {
		/* The owner is the same, and so is the reference to the module. */
		file->f_op = &control_fops;
		return 0;
	}
	instance = iminor(inode) == TWHEEL_MINOR_PRIVATE ? twheel_instance_create() :
							   twheel_named_open(inode);
	tf = IS_ERR(instance) ? ERR_CAST(instance) : file_create(instance);
	if (IS_ERR(tf))
		return PTR_ERR(tf);
	tf->own.has_reader = file->f_mode & FMODE_READ;
	file->private_data = tf;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int file_release(struct inode *inode, struct file *file)
{
	file_free(file->private_data);
	return 0;
}

static ssize_t file_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct twheel_file *tf = iocb->ki_filp->private_data;

	if (unlikely(tf->reader))
		return twheel_reader_read(&tf->detached->events, tf->reader, iocb, to);
	return twheel_events_read(twheel_file_queue(tf), NULL, iocb, to);
}

static __poll_t file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_events *events = twheel_file_queue(tf);
	__poll_t ready = twheel_events_poll(events, file, wait);

	/* The queue is not at its end before read() has confirmed the last events. */
	if (tf->reader && READ_ONCE(tf->reader->nr) && READ_ONCE(events->shut))
		ready |= EPOLLIN | EPOLLRDNORM;
	return ready;
}

/* /proc/PID/fdinfo */
static void file_show(struct seq_file *m, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_query_args query;

	seq_printf(m, "twheel-name:\t%s\n", tf->instance->name ?: "-");
	seq_printf(m, "twheel-restricted:\t%d\n", !twheel_file_may(tf, TWHEEL_RIGHT_OTHERS));
	seq_printf(m, "twheel-rights:\t%#x\n", READ_ONCE(tf->rights) & TWHEEL_RIGHTS);
	/* As for TWHEEL_IOC_QUERY. */
	if (!(file->f_mode & FMODE_READ) || !twheel_file_may(tf, TWHEEL_RIGHT_QUERY))
		return;
	twheel_file_query(tf, &query);
	seq_printf(m, "twheel-own:\t%llu\n", query.own);
	seq_printf(m, "twheel-unread:\t%llu\n", query.unread);
}

static void events_show(struct seq_file *m, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_events *events = twheel_file_queue(tf);
	u32 unread;

	spin_lock(&events->lock);
	unread = twheel_events_unread(events);
	spin_unlock(&events->lock);
	seq_printf(m, "twheel-name:\t%s\n", tf->instance->name);
	seq_printf(m, "twheel-queue:\t%u\n", tf->detached->number);
	seq_printf(m, "twheel-unread:\t%u\n", unread);
	if (tf->reader)
		seq_printf(m, "twheel-unconfirmed:\t%u\n", READ_ONCE(tf->reader->nr));
}

/* Files of private and named purgatories. */
const struct file_operations twheel_file_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.release	= file_release,
	.read_iter	= file_read_iter,
	.poll		= file_poll,
	.mmap		= twheel_cells_mmap,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.uring_cmd	= twheel_uring_cmd,
	.show_fdinfo	= file_show,
};

/* Descriptors of detached events. */
static const struct file_operations events_fops = {
	.owner		= THIS_MODULE,
	.release	= file_release,
	.read_iter	= file_read_iter,
	.poll		= file_poll,
	.unlocked_ioctl	= twheel_events_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= events_show,
};

/*
 * Create a file of a named purgatory without opening its node: with @detached a descriptor of
 * that queue, otherwise like a file opened on the node. The caller holds a reference to the
 * purgatory, and is a user of the queue, which passes to the file or ends on an error.
 */
struct file *twheel_open_anon(struct twheel_instance *instance, struct twheel_detached *detached,
			      int flags)
{
	struct twheel_file *tf;
	struct file *file;

	get_device(instance->dev);
	tf = file_create(instance);
	if (IS_ERR(tf)) {
		if (detached)
			twheel_detached_put(instance, detached, 1);
		return ERR_CAST(tf);
	}
	tf->detached = detached;
	tf->own.has_reader = true;
	file = anon_inode_getfile(detached ? "[twheel-events]" : "[twheel]",
				  detached ? &events_fops : &twheel_file_fops, tf, flags);
	if (IS_ERR(file)) {
		file_free(tf);
		return file;
	}
	stream_open(file_inode(file), file);
	file->f_mode |= FMODE_NOWAIT;
	return file;
}

/*
 * Get the instance of any file, for a module that attaches itself and signals the purgatory until
 * its end. The checks are those of TWHEEL_IOC_SIGNAL, except that the right of a restricted file
 * may end.
 * Return: the instance, or ERR_PTR() of -ENOTTY, -EBADF, -ESHUTDOWN or -EPERM.
 */
struct twheel_instance *twheel_file_instance(struct file *file)
{
	struct twheel_file *tf = file->private_data;

	if (file->f_op != &twheel_file_fops)
		return ERR_PTR(-ENOTTY);
	if (!(file->f_mode & FMODE_WRITE))
		return ERR_PTR(-EBADF);
	if (READ_ONCE(tf->instance->removed))
		return ERR_PTR(-ESHUTDOWN);
	if (!twheel_file_may(tf, TWHEEL_RIGHT_OTHERS))
		return ERR_PTR(-EPERM);
	return tf->instance;
}
EXPORT_SYMBOL_GPL(twheel_file_instance);

int twheel_call_events(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_instance *instance = call->file->instance;
	const struct twheel_events_args *events = &args->events;
	struct twheel_detached *detached;
	struct twheel_file *tf;
	struct file *file;

	BUILD_BUG_ON(O_NONBLOCK & TWHEEL_EVENTS_CONFIRM);
	if (events->flags & ~(O_NONBLOCK | TWHEEL_EVENTS_CONFIRM) ||
	    !twheel_detached_valid(instance, events->queue))
		return -EINVAL;
	detached = twheel_detached_get(instance, events->queue);
	if (IS_ERR(detached))
		return PTR_ERR(detached);
	file = twheel_open_anon(instance, detached, O_RDONLY | (events->flags & O_NONBLOCK));
	/* -ENODEV: the purgatory was removed during the call. */
	if (IS_ERR(file))
		return PTR_ERR(file) == -ENODEV ? -ESHUTDOWN : PTR_ERR(file);
	call->opened = file;
	if (!(events->flags & TWHEEL_EVENTS_CONFIRM))
		return 0;
	tf = file->private_data;
	tf->reader = twheel_reader_create();
	return tf->reader ? 0 : -ENOMEM;
}

int twheel_call_confirm(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->confirm.flags || args->confirm.reserved || !file->reader)
		return -EINVAL;
	return twheel_reader_confirm(&file->detached->events, file->reader, args->confirm.id);
}

int twheel_call_restrict(struct twheel_ioctl *call, union twheel_call_args *args)
{
	u32 lost = ~args->restrict_file.rights;
	struct twheel_file *file = call->file;
	int err = 0;

	if (args->restrict_file.flags || args->restrict_file.rights & ~TWHEEL_RIGHTS)
		return -EINVAL;
	/* A call in progress may still see the old value. */
	spin_lock(&file->own.lock);
	/* They may be mapped, and writable. */
	if (file->cells && file->rights & lost & TWHEEL_RIGHTS_CELLS)
		err = -EBUSY;
	else
		WRITE_ONCE(file->rights, file->rights & ~lost);
	spin_unlock(&file->own.lock);
	return err;
}

/* The nodes */

dev_t twheel_devt;
static struct cdev *nodes_cdev;

/*
 * /sys/class/twheel/twheel-* are the named purgatories only: the device of /dev/twheel-control is
 * "control".
 */
static char *class_devnode(TWHEEL_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (MINOR(dev->devt) >= TWHEEL_MINOR_NAMED)
		return NULL;
	/* NULL on removal of the node. */
	if (mode)
		*mode = 0600;
	return MINOR(dev->devt) == TWHEEL_MINOR_CONTROL ? kstrdup("twheel-control", GFP_KERNEL) :
							  NULL;
}

/* Not static: CONFIG_DEBUG_KOBJECT_RELEASE may release it after the module, like the cdev. */
struct class *twheel_class;

static int __init node_create(unsigned int minor, const char *name)
{
	return PTR_ERR_OR_ZERO(device_create(twheel_class, NULL, twheel_devt + minor, NULL, "%s",
					     name));
}

/* A node that does not exist is ignored. */
static void nodes_destroy(void)
{
	device_destroy(twheel_class, twheel_devt + TWHEEL_MINOR_CONTROL);
	device_destroy(twheel_class, twheel_devt + TWHEEL_MINOR_PRIVATE);
}

/* Check the module parameters and create the nodes. */
int __init twheel_device_init(void)
{
	int err;

	err = twheel_named_init() ?: twheel_users_init();
	if (err)
		return err;
	err = twheel_queues_init();
	if (err)
		goto users_exit;
	err = twheel_leaves_init();
	if (err)
		goto queues_exit;
	err = alloc_chrdev_region(&twheel_devt, 0, TWHEEL_NR_MINORS, "twheel");
	if (err)
		goto leaves_exit;
	twheel_class = TWHEEL_CLASS_CREATE("twheel");
	err = PTR_ERR_OR_ZERO(twheel_class);
	if (err)
		goto unregister_region;
	twheel_class->devnode = class_devnode;
	nodes_cdev = cdev_alloc();
	if (!nodes_cdev) {
		err = -ENOMEM;
		goto destroy_class;
	}
	nodes_cdev->owner = THIS_MODULE;
	nodes_cdev->ops = &twheel_file_fops;
	/* A file must not be open when the load fails: none can be before cdev_add() succeeds. */
	err = node_create(TWHEEL_MINOR_PRIVATE, "twheel") ?:
	      node_create(TWHEEL_MINOR_CONTROL, "control") ?:
	      cdev_add(nodes_cdev, twheel_devt, TWHEEL_MINOR_NAMED);
	if (!err)
		return 0;

	nodes_destroy();
	kobject_put(&nodes_cdev->kobj);
destroy_class:
	class_destroy(twheel_class);
unregister_region:
	unregister_chrdev_region(twheel_devt, TWHEEL_NR_MINORS);
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
	cdev_del(nodes_cdev);
	nodes_destroy();
	twheel_named_exit();
	class_destroy(twheel_class);
	unregister_chrdev_region(twheel_devt, TWHEEL_NR_MINORS);
	twheel_users_exit();
	twheel_queues_exit();
	twheel_leaves_exit();
}
