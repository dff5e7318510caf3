// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, calls: what an ioctl, or a command of a batch, does.
 *
 * They are given what user space said, and set what they answer.  ioctl.c has
 * the table of all of them; those that are of a kind are in files of their own.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/string.h>

#include "device.h"

/**
 * twheel_call_cancel - TWHEEL_IOC_CANCEL
 * @call: the call
 * @args: as from user space
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file_op *fop;
	int err;

	if (args->cancel.flags || args->cancel.reserved)
		return -EINVAL;
	fop = twheel_call_op(call, args->cancel.id);
	if (!fop)
		return -ENOENT;
	err = twheel_op_cancel(&fop->op);
	twheel_file_op_put(fop);
	return err;
}

/* Whether something can be completed with these. */
static bool outcome_fits(int error, u64 value)
{
	return !error || (error < 0 && error >= -MAX_ERRNO && !value);
}

/**
 * twheel_call_complete - TWHEEL_IOC_COMPLETE
 * @call: the call
 * @args: as from user space
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args)
{
	const struct twheel_complete_args *complete = &args->complete;
	struct twheel_file_op *fop;
	int err;

	if (complete->flags || !outcome_fits(complete->error, complete->value))
		return -EINVAL;
	fop = twheel_call_op(call, complete->id);
	if (!fop)
		return -ENOENT;
	err = complete->error ? twheel_op_complete_error(&fop->op, complete->error) :
				twheel_op_complete(&fop->op, complete->value);
	twheel_file_op_put(fop);
	return err;
}

static int file_op_rearm(struct twheel_file_op *fop, const struct twheel_rearm_args *rearm)
{
	u64 deadline = rearm->deadline;

	if (twheel_file_op_periodic(fop))
		return -EOPNOTSUPP;
	if (!(rearm->flags & TWHEEL_REARM_ABSTIME))
		deadline = twheel_deadline_on(twheel_file_op_wheel(fop), deadline);
	return twheel_op_rearm_slack(&fop->op, deadline, rearm->slack, rearm->which);
}

/**
 * twheel_call_rearm - TWHEEL_IOC_REARM
 * @call: the call
 * @args: as from user space; whether it moved is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_rearm_args *rearm = &args->rearm;
	struct twheel_file_op *fop;
	int ret;

	if (rearm->flags & ~TWHEEL_REARM_ABSTIME || rearm->reserved)
		return -EINVAL;
	if (rearm->which > TWHEEL_REARM_IF_LATER)
		return -EINVAL;
	fop = twheel_call_op(call, rearm->id);
	if (!fop)
		return -ENOENT;
	ret = file_op_rearm(fop, rearm);
	twheel_file_op_put(fop);
	rearm->moved = ret > 0;
	return min(ret, 0);
}

/**
 * twheel_call_signal - TWHEEL_IOC_SIGNAL
 * @call: the call
 * @args: as from user space; how many it has completed is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_purgatory *purgatory = call->file->share->purgatory;
	struct twheel_signal_args *signal = &args->signal;

	if (signal->flags || signal->reserved)
		return -EINVAL;
	signal->completed = twheel_signal_some_cansleep(purgatory, &signal->key, signal->amount,
							signal->value, signal->limit ?: U32_MAX);
	return 0;
}

/**
 * twheel_call_cancel_key - TWHEEL_IOC_CANCEL_KEY
 * @call: the call
 * @args: as from user space; how many it has cancelled is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_cancel_key_args *cancel = &args->cancel_key;

	if (cancel->flags)
		return -EINVAL;
	cancel->cancelled = twheel_cancel_for_key_cansleep(call->file->share->purgatory,
							   &cancel->key, NULL, NULL);
	return 0;
}

/**
 * twheel_call_complete_all - TWHEEL_IOC_COMPLETE_ALL
 * @call: the call
 * @args: as from user space; how many it has completed is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_complete_all_args *all = &args->complete_all;
	struct twheel_file *file = call->file;

	if (all->flags & ~TWHEEL_COMPLETE_OTHERS || all->reserved)
		return -EINVAL;
	if (!outcome_fits(all->error, all->value))
		return -EINVAL;
	all->completed = all->flags & TWHEEL_COMPLETE_OTHERS ?
		twheel_complete_all(file->share->purgatory, all->error, all->value) :
		twheel_box_complete(READ_ONCE(file->box), all->error, all->value);
	return 0;
}

/**
 * twheel_call_drain - TWHEEL_IOC_DRAIN
 * @call: the call
 * @args: as from user space; how many it has cancelled is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->drain.flags || READ_ONCE(file->box) != &file->own)
		return -EINVAL;
	twheel_box_shut(&file->own);
	args->drain.cancelled = twheel_box_cancel(&file->own);
	return 0;
}

/**
 * twheel_call_detached - TWHEEL_IOC_DETACHED
 * @call: the call
 * @args: as from user space
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_detached(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;
	struct twheel_box *own = &file->own;
	int err = 0;

	if (args->detached.flags || args->detached.reserved || !file->share->named)
		return -EINVAL;
	spin_lock(&own->lock);
	if (file->box != own)
		goto out;
	if (own->held || own->async) {
		err = -EBUSY;
	} else if (own->shut) {
		err = -ESHUTDOWN;
	} else {
		WRITE_ONCE(file->box, twheel_named_detached(file->share->named));
		/* An add that has come upon this box before looks again: file_op_box(). */
		smp_store_release(&own->shut, true);
	}
out:
	spin_unlock(&own->lock);
	/* And so do those who wait for an event in it. */
	wake_up_interruptible_all(&own->readers);
	return err;
}

/**
 * twheel_call_query - TWHEEL_IOC_QUERY
 * @call: the call
 * @args: as from user space; all but the flags is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_share *share = call->file->share;
	struct twheel_box *box = READ_ONCE(call->file->box);
	struct twheel_query_args *query = &args->query;
	struct twheel *wheel = twheel_system();
	struct twheel_purgatory_stats stats;
	struct twheel_stats wheel_stats;
	struct twheel_box *detached;

	if (query->flags)
		return -EINVAL;
	twheel_purgatory_stats(share->purgatory, &stats);
	twheel_stats(wheel, &wheel_stats);
	*query = (struct twheel_query_args) {
		.max_pending	= share->max_pending,
		.max_own	= box->max_pending,
		.files		= READ_ONCE(share->nr_files),
		.own		= READ_ONCE(box->nr_pending),
		.unread		= READ_ONCE(box->unread),
		.pending	= stats.pending,
		.keys		= stats.keys,
		.watches	= stats.watches,
		.added		= stats.added,
		.completed	= stats.ended[TWHEEL_COMPLETED],
		.expired	= stats.ended[TWHEEL_EXPIRED],
		.cancelled	= stats.ended[TWHEEL_CANCELLED],
		.rejected	= stats.rejected + atomic64_read(&share->rejected),
		.tick_ns	= twheel_tick_ns(wheel),
		.wakeups	= wheel_stats.wakeups,
	};
	if (!share->named)
		return 0;
	detached = twheel_named_detached(share->named);
	query->detached = READ_ONCE(detached->nr_pending);
	query->detached_unread = READ_ONCE(detached->unread);
	strscpy(query->name, twheel_named_name(share->named), sizeof(query->name));
	return 0;
}
