// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, calls: what an ioctl, or a command of a batch, does.
 *
 * They are given what user space said, and set what they answer.  ioctl.c has
 * the table of all of them; those that are of a kind are in files of their own.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "device.h"
#include "system.h"

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
	deadline = rearm->flags & TWHEEL_REARM_ABSTIME ?
		   twheel_time_to_host(fop->clock, deadline) :
		   twheel_time_after(fop->clock, deadline);
	return twheel_op_rearm_slack(&fop->op, deadline, rearm->slack, rearm->mode);
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
	if (rearm->mode > TWHEEL_REARM_IF_LATER)
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
 * @args: as from user space; the number of completed operations is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst lists them.
 */
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_purgatory *purgatory = call->file->instance->purgatory;
	struct twheel_signal_args *signal = &args->signal;

	if (signal->flags || signal->reserved)
		return -EINVAL;
	if (READ_ONCE(call->file->restricted))
		return -EPERM;
	return twheel_signal_killable(purgatory, &signal->key, signal->amount, signal->value,
				      signal->limit, &signal->completed);
}

/**
 * twheel_call_cancel_key - TWHEEL_IOC_CANCEL_KEY
 * @call: the call
 * @args: as from user space; the number of cancelled operations is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst lists them.
 */
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_cancel_key_args *cancel = &args->cancel_key;

	if (cancel->flags)
		return -EINVAL;
	if (READ_ONCE(call->file->restricted))
		return -EPERM;
	return twheel_cancel_for_key_killable(call->file->instance->purgatory, &cancel->key,
					      NULL, NULL, &cancel->cancelled);
}

/* Result of a call that stops at a fatal signal; its output says how far it came. */
static int interrupted(void)
{
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static int complete_others(struct twheel_instance *instance, struct twheel_complete_all_args *all)
{
	int err;

	if (mutex_lock_killable(&instance->walk))
		return -EINTR;
	err = twheel_complete_all_killable(instance->purgatory, all->error, all->value,
					   &all->completed);
	mutex_unlock(&instance->walk);
	return err;
}

/**
 * twheel_call_complete_all - TWHEEL_IOC_COMPLETE_ALL
 * @call: the call
 * @args: as from user space; the number of completed operations is set
 *
 * Return: 0 or an error; Documentation/device-files.rst lists them.
 */
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_complete_all_args *all = &args->complete_all;
	struct twheel_file *file = call->file;
	bool others = all->flags & TWHEEL_COMPLETE_OTHERS;

	if (all->flags & ~TWHEEL_COMPLETE_OTHERS || all->reserved)
		return -EINVAL;
	if (!outcome_fits(all->error, all->value))
		return -EINVAL;
	if (others && READ_ONCE(file->restricted))
		return -EPERM;
	if (others)
		return complete_others(file->instance, all);
	all->completed = twheel_events_complete(&file->own, all->error, all->value);
	return interrupted();
}

/**
 * twheel_call_drain - TWHEEL_IOC_DRAIN
 * @call: the call
 * @args: as from user space; the number of cancelled operations is set
 *
 * Return: 0 or an error; Documentation/device-files.rst lists them.
 */
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_file *file = call->file;

	if (args->drain.flags)
		return -EINVAL;
	twheel_events_shut(&file->own);
	args->drain.cancelled = twheel_events_cancel(&file->own, true);
	return interrupted();
}

/* Wake-ups of the reapers of the calling user. */
static u64 caller_wakeups(void)
{
	struct twheel_user *user = twheel_user_get();
	u64 wakeups;

	if (IS_ERR(user))
		return 0;
	wakeups = twheel_user_wakeups(user);
	twheel_user_put(user);
	return wakeups;
}

/**
 * twheel_call_query - TWHEEL_IOC_QUERY
 * @call: the call
 * @args: as from user space; all fields but the flags are set
 *
 * Return: 0 or an error; Documentation/device-files.rst lists them.
 */
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_instance *instance = call->file->instance;
	struct twheel_events *own = &call->file->own, *detached = &instance->detached;
	struct twheel_query_args *query = &args->query;
	struct twheel_purgatory_stats stats;

	if (query->flags)
		return -EINVAL;
	twheel_purgatory_stats(instance->purgatory, &stats);
	*query = (struct twheel_query_args) {
		.max_pending		= instance->max_pending,
		.max_file_pending	= instance->max_file_pending,
		.files			= READ_ONCE(instance->nr_files),
		.own			= READ_ONCE(own->nr_pending),
		.unread			= READ_ONCE(own->unread),
		.detached		= READ_ONCE(detached->nr_pending),
		.detached_unread	= READ_ONCE(detached->unread),
		.pending		= stats.pending,
		.keys			= stats.keys,
		.watches		= stats.watches,
		.added			= stats.added,
		.completed		= stats.ended[TWHEEL_COMPLETED],
		.expired		= stats.ended[TWHEEL_EXPIRED],
		.cancelled		= stats.ended[TWHEEL_CANCELLED],
		.rejected		= stats.rejected + atomic64_read(&instance->rejected),
		.tick_ns		= twheel_system_tick_ns(),
		.wakeups		= caller_wakeups(),
	};
	if (instance->named)
		strscpy(query->name, twheel_named_name(instance->named), sizeof(query->name));
	return 0;
}
