// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, ioctls: from numbers and user memory to calls, and back.
 *
 * Each call has one structure.  Its size is part of the number, so that it can
 * grow: what a longer one has behind our fields must be zero, and a shorter
 * one is what an older program has, its missing fields taken as zero.  Only
 * fields that are meant as answers are written to.
 */
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include "device.h"

union ioctl_args {
	struct twheel_add_args		add;
	struct twheel_cancel_args	cancel;
	struct twheel_watch_args	watch;
	struct twheel_signal_args	signal;
	struct twheel_complete_args	complete;
	struct twheel_query_args	query;
};

static int ioctl_add(struct twheel_file *file, union ioctl_args *args,
		     void __user *user, size_t size)
{
	struct twheel_add_args __user *add = user;

	return twheel_file_op_add(file, &args->add, &add->id);
}

static int ioctl_cancel(struct twheel_file *file, union ioctl_args *args,
			void __user *user, size_t size)
{
	struct twheel_file_op *fop;
	int err;

	if (args->cancel.flags || args->cancel.reserved)
		return -EINVAL;
	fop = twheel_file_op_get(file, args->cancel.id);
	if (!fop)
		return -ENOENT;
	err = twheel_op_cancel(&fop->op);
	twheel_file_op_put(fop);
	return err;
}

static int ioctl_watch(struct twheel_file *file, union ioctl_args *args,
		       void __user *user, size_t size)
{
	return twheel_file_op_watch(file, &args->watch);
}

static int ioctl_signal(struct twheel_file *file, union ioctl_args *args,
			void __user *user, size_t size)
{
	struct twheel_signal_args __user *signal = user;
	u32 completed;

	if (args->signal.flags)
		return -EINVAL;
	/* A signal can't be taken back: find out first whether we can answer. */
	if (put_user(args->signal.completed, &signal->completed))
		return -EFAULT;
	completed = twheel_signal_cansleep(file->purgatory, &args->signal.key, 0,
					   args->signal.value);
	return put_user(completed, &signal->completed);
}

static int ioctl_complete(struct twheel_file *file, union ioctl_args *args,
			  void __user *user, size_t size)
{
	struct twheel_file_op *fop;
	int err;

	if (args->complete.flags || args->complete.error)
		return -EINVAL;
	fop = twheel_file_op_get(file, args->complete.id);
	if (!fop)
		return -ENOENT;
	err = twheel_op_complete(&fop->op, args->complete.value);
	twheel_file_op_put(fop);
	return err;
}

static int ioctl_query(struct twheel_file *file, union ioctl_args *args,
		       void __user *user, size_t size)
{
	struct twheel *wheel = twheel_system();
	struct twheel_purgatory_stats stats;
	struct twheel_query_args query;
	struct twheel_stats wheel_stats;

	if (args->query.flags)
		return -EINVAL;
	twheel_purgatory_stats(file->purgatory, &stats);
	twheel_stats(wheel, &wheel_stats);
	query = (struct twheel_query_args) {
		.max_pending	= file->max_pending,
		.pending	= stats.pending,
		.unread		= READ_ONCE(file->unread),
		.keys		= stats.keys,
		.watches	= stats.watches,
		.added		= stats.added,
		.completed	= stats.ended[TWHEEL_COMPLETED],
		.expired	= stats.ended[TWHEEL_EXPIRED],
		.cancelled	= stats.ended[TWHEEL_CANCELLED],
		.rejected	= stats.rejected + atomic64_read(&file->rejected),
		.tick_ns	= twheel_tick_ns(wheel),
		.wakeups	= wheel_stats.wakeups,
	};
	return copy_to_user(user, &query, min(size, sizeof(query))) ? -EFAULT : 0;
}

/*
 * @cmd is the number with today's size; @min_size is where the structure ended
 * in the first version, and stays when it grows.
 */
static const struct ioctl_call {
	unsigned int	cmd;
	unsigned int	min_size;
	int		(*call)(struct twheel_file *file, union ioctl_args *args,
				void __user *user, size_t size);
} ioctl_calls[] = {
	[_IOC_NR(TWHEEL_IOC_ADD)] = {
		TWHEEL_IOC_ADD, offsetofend(struct twheel_add_args, id), ioctl_add,
	},
	[_IOC_NR(TWHEEL_IOC_CANCEL)] = {
		TWHEEL_IOC_CANCEL, offsetofend(struct twheel_cancel_args, reserved),
		ioctl_cancel,
	},
	[_IOC_NR(TWHEEL_IOC_WATCH)] = {
		TWHEEL_IOC_WATCH, offsetofend(struct twheel_watch_args, keys), ioctl_watch,
	},
	[_IOC_NR(TWHEEL_IOC_SIGNAL)] = {
		TWHEEL_IOC_SIGNAL, offsetofend(struct twheel_signal_args, completed),
		ioctl_signal,
	},
	[_IOC_NR(TWHEEL_IOC_COMPLETE)] = {
		TWHEEL_IOC_COMPLETE, offsetofend(struct twheel_complete_args, flags),
		ioctl_complete,
	},
	[_IOC_NR(TWHEEL_IOC_QUERY)] = {
		TWHEEL_IOC_QUERY, offsetofend(struct twheel_query_args, wakeups), ioctl_query,
	},
};

static const struct ioctl_call *ioctl_find(unsigned int cmd)
{
	const struct ioctl_call *call;
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != TWHEEL_IOC_MAGIC || nr >= ARRAY_SIZE(ioctl_calls))
		return NULL;
	call = &ioctl_calls[array_index_nospec(nr, ARRAY_SIZE(ioctl_calls))];
	return _IOC_DIR(cmd) == _IOC_DIR(call->cmd) ? call : NULL;
}

/**
 * twheel_file_ioctl - the calls on an open file
 * @file: of /dev/twheel
 * @cmd: one of TWHEEL_IOC_*, whatever the size in it
 * @arg: address of the structure
 *
 * Return: 0 or an error; Documentation/device.rst lists them.
 */
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct ioctl_call *call = ioctl_find(cmd);
	void __user *user = (void __user *)arg;
	size_t size = _IOC_SIZE(cmd);
	union ioctl_args args;
	int err;

	if (!call)
		return -ENOTTY;
	if (size < call->min_size)
		return -EINVAL;
	err = copy_struct_from_user(&args, _IOC_SIZE(call->cmd), user, size);
	if (err)
		return err;
	return call->call(file->private_data, &args, user, size);
}
