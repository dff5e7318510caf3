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
 *	file.c		open and release, file operations, descriptors of detached events
 *	event.c		event queues
 *	detached.c	queues of detached operations
 *	op.c		operations, their keys, time namespaces, calls on operations
 *	periodic.c	periodic operations
 *	list.c		calls that list operations
 *	ioctl.c		the ioctl table, argument structures, batches
 *	named.c		named purgatories and their attributes
 *	user.c		limits and wheels of users
 *
 * References
 * ==========
 *
 *	event queue -> operation	from the add until the final event has been read
 *	operation -> file		the memory only; the file may be closed
 *	file -> instance		until the file is released
 *	file, operation, name -> user
 *
 * A detached operation uses the instance of its file after the file was closed. This is safe:
 * the purgatory is drained before the instance is freed. No call runs on a file that is
 * being released, since the VFS holds a reference for each call.
 *
 * Lock order
 * ==========
 *
 *	instance->complete_lock		mutex, around a walk of all operations
 *	named_lock			mutex, protects the names
 *	instance->lock			spinlock, protects the files of an instance
 *	lock of instance->queues	spinlock, protects the users of queues; holds no other
 *	events->lock			spinlock, protects an event queue
 *	locks of op/ and core/
 *
 * The three spinlocks are taken in process context only. user->lock, a mutex, is taken with none
 * of these held.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/major.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../op/purgatory.h"
#include "dev.h"

static_assert(2 * TWHEEL_PENDING_MAX <= BIT(TWHEEL_INDEX_BITS) - 1);

unsigned int twheel_max_pending = BIT(18);
module_param_named(max_pending, twheel_max_pending, uint, 0444);
MODULE_PARM_DESC(max_pending, "operations that may be pending in one open file, 1 to 16777216 (default 262144)");

/* For work that may outlive the last file. It is drained on module exit. */
struct workqueue_struct *twheel_wq;

/* Wakes waiters and sends signals, in turn for all event queues. */
struct workqueue_struct *twheel_wake_wq;

/* Create the purgatory of a zeroed instance. A @max_watches of 0 is no limit. */
int twheel_instance_init(struct twheel_instance *instance, const char *name, u32 max_pending,
			 u32 max_watches)
{
	const struct twheel_purgatory_config config = {
		.name		= name,
		.max_pending	= max_pending,
		.max_watches	= max_watches,
		.account	= true,
	};

	instance->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(instance->purgatory))
		return PTR_ERR(instance->purgatory);
	instance->max_pending = max_pending;
	instance->max_file_pending = min(max_pending, twheel_max_pending);
	xa_init_flags(&instance->ops, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	spin_lock_init(&instance->lock);
	INIT_LIST_HEAD(&instance->files);
	mutex_init(&instance->complete_lock);
	xa_init_flags(&instance->queues, XA_FLAGS_ACCOUNT);
	return 0;
}

/* Destroy the purgatory of an instance without files and operations. May sleep. */
void twheel_instance_exit(struct twheel_instance *instance)
{
	twheel_purgatory_destroy(instance->purgatory);
	WARN_ON_ONCE(!twheel_array_empty(&instance->ops));
	WARN_ON_ONCE(!twheel_array_empty(&instance->queues));
	xa_destroy(&instance->ops);
	xa_destroy(&instance->queues);
}

static struct twheel_instance *private_create(void)
{
	struct twheel_instance *instance = kzalloc(sizeof(*instance), TWHEEL_GFP_USER);
	int err;

	if (!instance)
		return ERR_PTR(-ENOMEM);
	err = twheel_instance_init(instance, "/dev/twheel", twheel_max_pending, 0);
	if (err) {
		kfree(instance);
		return ERR_PTR(err);
	}
	return instance;
}

static void instance_put(struct twheel_instance *instance)
{
	if (instance->named) {
		put_device(&instance->named->dev);
	} else {
		twheel_instance_exit(instance);
		kfree(instance);
	}
}

/* Add a file to an instance, unless the instance was removed. */
static int instance_add_file(struct twheel_instance *instance, struct twheel_file *file)
{
	int err = 0;

	spin_lock(&instance->lock);
	if (instance->removed) {
		err = -ENODEV;
	} else {
		list_add_tail(&file->entry, &instance->files);
		WRITE_ONCE(instance->nr_files, instance->nr_files + 1);
	}
	spin_unlock(&instance->lock);
	return err;
}

/* Drop a reference to the memory of a file. */
void twheel_file_put(struct twheel_file *file)
{
	if (refcount_dec_and_test(&file->ref)) {
		twheel_user_put(file->user);
		kfree(file);
	}
}

/*
 * Create the state of an open file. The caller's reference to the instance passes to the file,
 * or is dropped on an error: -EDQUOT, -ENODEV if the purgatory was removed, -ENOMEM.
 */
static struct twheel_file *file_create(struct twheel_instance *instance)
{
	struct twheel_file *file;
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
	twheel_events_init(&file->own);
	err = twheel_user_charge(file->user, TWHEEL_USER_FILES);
	if (err)
		goto put_file;
	err = instance_add_file(instance, file);
	if (err)
		goto uncharge;
	return file;

uncharge:
	twheel_user_uncharge(file->user, TWHEEL_USER_FILES);
put_file:
	twheel_file_put(file);
put_instance:
	instance_put(instance);
	return ERR_PTR(err);
}

/* Free a closed file and cancel its operations. Detached operations stay. May sleep. */
static void file_free(struct twheel_file *file)
{
	struct twheel_instance *instance = file->instance;

	twheel_events_shut(&file->own);
	twheel_events_end_all(&file->own, TWHEEL_REASON_CANCELLED, 0, 0, TWHEEL_MAY_SLEEP);
	twheel_events_empty(&file->own);
	WARN_ON_ONCE(file->own.held);
	twheel_events_close(&file->own);
	if (file->detached)
		twheel_detached_put(instance, file->detached, 1);
	spin_lock(&instance->lock);
	list_del(&file->entry);
	WRITE_ONCE(instance->nr_files, instance->nr_files - 1);
	spin_unlock(&instance->lock);
	twheel_user_uncharge(file->user, TWHEEL_USER_FILES);
	twheel_file_put(file);
	instance_put(instance);
}

/* Both nodes exist: the module stays. A file must not be open when its load fails. */
static bool device_ready;

static int file_open(struct inode *inode, struct file *file)
{
	struct twheel_instance *instance;
	struct twheel_file *tf;

	if (!READ_ONCE(device_ready))
		return -ENODEV;
	/* /dev/twheel is a misc device; named purgatories have a separate major number. */
	instance = imajor(inode) == MISC_MAJOR ? private_create() : twheel_named_open(inode);
	if (IS_ERR(instance))
		return PTR_ERR(instance);
	tf = file_create(instance);
	if (IS_ERR(tf))
		return PTR_ERR(tf);
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

	return twheel_events_read(twheel_file_queue(tf), iocb, to);
}

static __poll_t file_poll(struct file *file, struct poll_table_struct *wait)
{
	struct twheel_file *tf = file->private_data;

	return twheel_events_poll(twheel_file_queue(tf), file, wait);
}

static int file_fasync(int fd, struct file *file, int on)
{
	struct twheel_file *tf = file->private_data;

	return twheel_events_fasync(twheel_file_queue(tf), fd, file, on);
}

/* Number of adds and watch calls that failed with an error because of a limit. */
u64 twheel_instance_rejected(struct twheel_instance *instance, enum twheel_rejection rejection)
{
	u64 nr = atomic64_read(&instance->rejected[rejection]);

	if (rejection == TWHEEL_REJECTED_ENOSPC)
		nr += atomic64_read(&instance->purgatory->rejected);
	return nr;
}

/* Add the exact counts of a queue of detached operations to those of a query. */
static bool query_queue(struct twheel_events *events, void *data)
{
	struct twheel_query_args *query = data;

	twheel_events_collect_all(events, TWHEEL_KILLABLE);
	query->detached += READ_ONCE(events->nr_pending);
	query->detached_unread += READ_ONCE(events->unread);
	return !fatal_signal_pending(current);
}

/* Set the counts of detached operations, of all queues. May sleep. */
void twheel_instance_query_detached(struct twheel_instance *instance,
				    struct twheel_query_args *query)
{
	query->detached = 0;
	query->detached_unread = 0;
	twheel_detached_visit(instance, query_queue, query);
}

/* Number of pending operations that were added through a file: at most max_file_pending. */
static u32 file_nr_pending(struct twheel_file *file)
{
	u32 nr;

	spin_lock(&file->own.lock);
	nr = file->own.nr_pending + atomic_read(&file->nr_detached);
	spin_unlock(&file->own.lock);
	return nr;
}

/*
 * Set the limits and counters, except those of the user and of detached operations. @file may be
 * NULL. May sleep.
 */
void twheel_instance_query(struct twheel_instance *instance, struct twheel_file *file,
			   struct twheel_query_args *query)
{
	struct twheel_purgatory_stats stats;
	enum twheel_rejection rejection;

	if (file)
		twheel_events_collect_all(&file->own, TWHEEL_KILLABLE);
	twheel_purgatory_get_stats(instance->purgatory, &stats);
	*query = (struct twheel_query_args) {
		.max_pending		= instance->max_pending,
		.max_file_pending	= instance->max_file_pending,
		.max_watches		= instance->named ? instance->named->max_watches : 0,
		.max_queue		= instance->max_queue,
		.max_keys		= TWHEEL_MAX_KEYS,
		.files			= READ_ONCE(instance->nr_files),
		.own			= file ? file_nr_pending(file) : 0,
		.unread			= file ? READ_ONCE(file->own.unread) : 0,
		.pending		= stats.pending,
		.keys			= stats.keys,
		.watches		= stats.watches,
		.added			= stats.added,
		.completed		= stats.ended[TWHEEL_REASON_COMPLETED],
		.expired		= stats.ended[TWHEEL_REASON_EXPIRED],
		.cancelled		= stats.ended[TWHEEL_REASON_CANCELLED],
		.tick_ns		= twheel_system_tick_ns(),
	};
	for (rejection = 0; rejection < TWHEEL_REJECTIONS; rejection++)
		query->rejected += twheel_instance_rejected(instance, rejection);
	if (instance->named)
		strscpy(query->name, instance->named->name, sizeof(query->name));
}

static void file_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_named *named = tf->instance->named;
	struct twheel_query_args query;

	seq_printf(m, "twheel-name:\t%s\n", named ? named->name : "-");
	seq_printf(m, "twheel-restricted:\t%d\n", !twheel_file_may(tf, TWHEEL_RIGHT_OTHERS));
	seq_printf(m, "twheel-rights:\t%#x\n", READ_ONCE(tf->rights) & TWHEEL_RIGHTS);
	/* As for TWHEEL_IOC_QUERY. */
	if (!(file->f_mode & FMODE_READ) || !twheel_file_may(tf, TWHEEL_RIGHT_QUERY))
		return;
	twheel_instance_query(tf->instance, tf, &query);
	seq_printf(m, "twheel-own:\t%llu\n", query.own);
	seq_printf(m, "twheel-unread:\t%llu\n", query.unread);
	seq_printf(m, "twheel-max-file-pending:\t%u\n", query.max_file_pending);
	seq_printf(m, "twheel-files:\t%u\n", query.files);
	seq_printf(m, "twheel-pending:\t%llu\n", query.pending);
	seq_printf(m, "twheel-watches:\t%llu\n", query.watches);
	seq_printf(m, "twheel-keys:\t%llu\n", query.keys);
	seq_printf(m, "twheel-max-pending:\t%u\n", query.max_pending);
}

/* Files of private and named purgatories. */
const struct file_operations twheel_file_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.release	= file_release,
	.read_iter	= file_read_iter,
	.poll		= file_poll,
	.fasync		= file_fasync,
	.unlocked_ioctl	= twheel_file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= file_show_fdinfo,
};

static void events_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct twheel_file *tf = file->private_data;
	struct twheel_query_args query = {};

	query_queue(twheel_file_queue(tf), &query);
	seq_printf(m, "twheel-name:\t%s\n", tf->instance->named->name);
	seq_printf(m, "twheel-queue:\t%u\n", tf->detached->number);
	seq_printf(m, "twheel-detached:\t%llu\n", query.detached);
	seq_printf(m, "twheel-unread:\t%llu\n", query.detached_unread);
}

/* Descriptors of detached events. The file's own event queue stays empty. */
static const struct file_operations events_fops = {
	.owner		= THIS_MODULE,
	.release	= file_release,
	.read_iter	= file_read_iter,
	.poll		= file_poll,
	.fasync		= file_fasync,
	.unlocked_ioctl	= twheel_events_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= events_show_fdinfo,
};

/*
 * Create a file of a named purgatory without opening its node: with @detached a descriptor of
 * that queue, otherwise like a file opened on the node. The caller holds a reference to the
 * purgatory, and is a user of the queue, which passes to the file or ends on an error.
 */
struct file *twheel_file_anon(struct twheel_instance *instance, struct twheel_detached *detached,
			      int flags)
{
	struct twheel_file *tf;
	struct file *file;

	get_device(&instance->named->dev);
	tf = file_create(instance);
	if (IS_ERR(tf)) {
		if (detached)
			twheel_detached_put(instance, detached, 1);
		return ERR_CAST(tf);
	}
	tf->detached = detached;
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

int twheel_call_events(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_instance *instance = call->file->instance;
	const struct twheel_events_args *events = &args->events;
	struct twheel_detached *detached;
	int flags = O_RDONLY;
	struct file *file;

	if (events->flags & ~TWHEEL_EVENTS_NONBLOCK ||
	    !twheel_detached_valid(instance, events->queue))
		return -EINVAL;
	if (events->flags & TWHEEL_EVENTS_NONBLOCK)
		flags |= O_NONBLOCK;
	detached = twheel_detached_get(instance, events->queue);
	if (IS_ERR(detached))
		return PTR_ERR(detached);
	file = twheel_file_anon(instance, detached, flags);
	/* -ENODEV: the purgatory was removed during the call. */
	if (IS_ERR(file))
		return PTR_ERR(file) == -ENODEV ? -ESHUTDOWN : PTR_ERR(file);
	call->opened = file;
	return 0;
}

int twheel_call_restrict(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->restrict_file.flags || args->restrict_file.rights & ~TWHEEL_RIGHTS)
		return -EINVAL;
	/* A call in progress may still see the old value. */
	spin_lock(&file->own.lock);
	WRITE_ONCE(file->rights, file->rights & args->restrict_file.rights);
	spin_unlock(&file->own.lock);
	return 0;
}

int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args)
{
	if (args->query.flags)
		return -EINVAL;
	twheel_instance_query(call->file->instance, call->file, &args->query);
	twheel_instance_query_detached(call->file->instance, &args->query);
	twheel_users_query(&args->query);
	args->query.rights = READ_ONCE(call->file->rights) & TWHEEL_RIGHTS;
	return 0;
}

static struct miscdevice private_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &twheel_file_fops,
	.mode	= 0600,
};

static void control_show_fdinfo(struct seq_file *m, struct file *file)
{
	twheel_wheels_show(m);
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
	err = -ENOMEM;
	twheel_wake_wq = alloc_ordered_workqueue("twheel_wake", 0);
	if (!twheel_wake_wq)
		goto wq_exit;
	err = twheel_file_ops_init();
	if (err)
		goto wake_wq_exit;
	err = twheel_named_init();
	if (err)
		goto ops_exit;
	err = misc_register(&private_misc);
	if (err)
		goto named_exit;
	err = misc_register(&control_misc);
	if (err)
		goto deregister;
	WRITE_ONCE(device_ready, true);
	return 0;

deregister:
	/* This waits for calls of open(). */
	misc_deregister(&private_misc);
named_exit:
	twheel_named_exit();
ops_exit:
	twheel_file_ops_exit();
wake_wq_exit:
	destroy_workqueue(twheel_wake_wq);
wq_exit:
	destroy_workqueue(twheel_wq);
	return err;
}

/* Remove the nodes. No file is open and no name exists. */
void twheel_device_exit(void)
{
	misc_deregister(&control_misc);
	misc_deregister(&private_misc);
	twheel_named_exit();
	twheel_users_exit();
	destroy_workqueue(twheel_wq);
	destroy_workqueue(twheel_wake_wq);
	twheel_file_ops_exit();
}
