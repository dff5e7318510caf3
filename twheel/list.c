// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, listing: which operations wait, and how far each has come.
 *
 * A listing goes by the index of ids, so that nothing has to be remembered
 * between two calls: an operation keeps its index for as long as it waits, and
 * is met once by who passes it.  No lock is held while user memory is written to.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "device.h"

/* How many operations one call looks at besides those that it lists. */
#define LIST_PASSED	4096

static bool is_own(const struct twheel_ioctl *call, const struct twheel_file_op *fop)
{
	return fop->box == READ_ONCE(call->file->box);
}

static u32 pending_flags(const struct twheel_file_op *fop, bool own)
{
	return (own ? TWHEEL_PENDING_OWN : 0) |
	       (fop->flags & TWHEEL_ADD_DETACHED ? TWHEEL_PENDING_DETACHED : 0) |
	       (fop->flags & TWHEEL_ADD_CANCEL_ON_SET ? TWHEEL_PENDING_CANCEL_ON_SET : 0) |
	       (fop->flags & TWHEEL_ADD_FIXED_DELAY ? TWHEEL_PENDING_FIXED_DELAY : 0);
}

static void pending_period(struct twheel_file_op *fop, struct twheel_pending *pending)
{
	struct twheel_file_periodic *fp = twheel_file_op_periodic(fop);
	u64 now = twheel_now(fp->wheel);

	spin_lock(&fop->box->lock);
	twheel_file_periodic_catch_up(fp);
	pending->deadline = fp->next;
	pending->runs = fp->runs;
	spin_unlock(&fop->box->lock);
	pending->period = fp->period;
	pending->remaining = pending->deadline == TWHEEL_NEVER ? TWHEEL_NEVER :
			     pending->deadline - min(now, pending->deadline);
}

/* Describe an operation that waits, with as many keys as there is room for. */
static int pending_fill(struct twheel_ioctl *call, struct twheel_file_op *fop,
			struct twheel_pending *pending, struct twheel_watch_spec *keys, u32 room)
{
	bool own = is_own(call, fop);
	struct twheel_op_progress progress;
	u32 i;
	int err;

	err = twheel_op_progress(&fop->op, &progress, keys, room);
	if (err)
		return err;
	*pending = (struct twheel_pending) {
		.id		= fop->id,
		.cookie		= own ? fop->cookie : 0,
		.deadline	= progress.deadline,
		.remaining	= progress.remaining,
		.missing	= progress.missing,
		.condition	= progress.condition,
		.clock		= fop->clock,
		.nr_keys	= progress.nr_keys,
		.flags		= pending_flags(fop, own),
	};
	if (twheel_file_op_periodic(fop))
		pending_period(fop, pending);
	for (i = 0; i < min3(progress.nr_keys, room, (u32)TWHEEL_PENDING_KEYS); i++)
		pending->keys[i] = keys[i].key;
	return 0;
}

static int info_keys(const struct twheel_info_args *info, const struct twheel_watch_spec *keys)
{
	u32 nr = min(info->room, info->pending.nr_keys);

	if (nr && copy_to_user(u64_to_user_ptr(info->keys), keys, nr * sizeof(*keys)))
		return -EFAULT;
	return 0;
}

/**
 * twheel_call_info - TWHEEL_IOC_INFO
 * @call: the call
 * @args: as from user space; the operation is described
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_watch_spec *keys = twheel_call_room(call);
	struct twheel_info_args *info = &args->info;
	struct twheel_file_op *fop;
	int err;

	if (info->flags)
		return -EINVAL;
	if (!keys)
		return -ENOMEM;
	fop = twheel_call_op(call, info->id);
	if (!fop)
		return -ENOENT;
	memset(keys, 0, TWHEEL_MAX_KEYS * sizeof(*keys));
	err = pending_fill(call, fop, &info->pending, keys, TWHEEL_MAX_KEYS);
	twheel_file_op_put(fop);
	return err ?: info_keys(info, keys);
}

/* Write one entry for an operation, if it waits: 1, 0 or -EFAULT. */
static int list_one(struct twheel_ioctl *call, const struct twheel_list_args *list,
		    struct twheel_file_op *fop)
{
	struct twheel_pending __user *to = u64_to_user_ptr(list->entries);
	struct twheel_watch_spec keys[TWHEEL_PENDING_KEYS];
	struct twheel_pending pending;

	if (!(list->flags & TWHEEL_LIST_OTHERS) && !is_own(call, fop))
		return 0;
	if (pending_fill(call, fop, &pending, keys, ARRAY_SIZE(keys)))
		return 0;
	return copy_to_user(to + list->nr, &pending, sizeof(pending)) ? -EFAULT : 1;
}

static int list_some(struct twheel_ioctl *call, struct twheel_list_args *list)
{
	unsigned long index = list->cursor;
	u32 passed = LIST_PASSED;
	struct twheel_file_op *fop;
	int ret;

	while (list->nr < list->room && passed) {
		fop = twheel_file_op_next(call->file->share, &index);
		if (!fop) {
			list->cursor = TWHEEL_LIST_END;
			return 0;
		}
		ret = list_one(call, list, fop);
		twheel_file_op_put(fop);
		if (ret < 0)
			return ret;
		list->nr += ret;
		passed -= !ret;
		list->cursor = ++index;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return 0;
}

/**
 * twheel_call_list - TWHEEL_IOC_LIST
 * @call: the call
 * @args: as from user space; where to go on, and how many there are, is set
 *
 * Return: 0 or an error; Documentation/device-calls.rst and device-files.rst list them.
 */
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_list_args *list = &args->list;
	int err;

	if (list->flags & ~TWHEEL_LIST_OTHERS || list->reserved || !list->room)
		return -EINVAL;
	list->nr = 0;
	if (list->cursor >= BIT(TWHEEL_INDEX_BITS)) {
		list->cursor = TWHEEL_LIST_END;
		return 0;
	}
	err = list_some(call, list);
	/* What could be written is not lost; who comes again is told. */
	return list->nr ? 0 : err;
}
