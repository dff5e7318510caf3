// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: what calls report: limits and counts, also for /proc/PID/fdinfo, and pending
 * operations.
 *
 * The cursor of a listing is an index of an id, so no state is kept between calls. That of a
 * restricted file is encrypted, like its ids, and such a call does not stop at the operations of
 * others: both would show their number.
 * An operation keeps its index while it is pending, so it is listed once. No lock and no
 * reference to an operation is held while user memory is written, which may block for any time:
 * operations of other users stay charged while they have references.
 */
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "../core/cell.h"
#include "../core/shard.h"
#include "../op/purgatory.h"
#include "args.h"
#include "file.h"
#include "time.h"

/* Counts that are read without a lock are each of some moment during the call. */

/* Age of the oldest unread event of a queue, or 0. A periodic operation has unread periods. */
static u64 events_age(struct twheel_events *events)
{
	struct twheel_file_op *file_op = twheel_events_oldest(events);
	struct twheel_file_periodic *periodic;
	struct twheel_op_result result;
	u64 now, time;

	if (!file_op)
		return 0;
	periodic = twheel_file_op_periodic(file_op);
	if (periodic && periodic->expirations) {
		time = periodic->last - (periodic->expirations - 1) * periodic->period;
	} else {
		twheel_op_get_result(&file_op->op, &result);
		time = result.time;
	}
	now = twheel_clock_ns(twheel_wheel_clock(file_op->clock, file_op->flags));
	/* CLOCK_REALTIME may have been set back. */
	return now - min(now, time);
}

/* Set the exact counts of a queue of detached operations. */
static void queue_fill(struct twheel_events *events, struct twheel_queue_args *queue)
{
	const struct twheel_reader *reader;

	spin_lock(&events->lock);
	reader = list_first_entry_or_null(&events->holding, struct twheel_reader, entry);
	*queue = (struct twheel_queue_args) {
		.queue			= container_of(events, struct twheel_detached,
						       events)->number,
		.ops			= events->held,
		.pending		= twheel_events_pending(events),
		.unread			= twheel_events_unread(events),
		.unconfirmed		= events->unconfirmed,
		.oldest_unread_ns	= events_age(events),
		.oldest_unconfirmed_ns	= reader ? ktime_get_ns() - reader->time : 0,
	};
	spin_unlock(&events->lock);
}

/* Add the counts of a queue to those of a query. */
static void queue_query(struct twheel_events *events, struct twheel_query_args *query)
{
	struct twheel_queue_args queue;

	queue_fill(events, &queue);
	query->detached += queue.pending;
	query->detached_unread += queue.unread;
	query->unconfirmed += queue.unconfirmed;
	query->oldest_unconfirmed_ns = max(query->oldest_unconfirmed_ns,
					   queue.oldest_unconfirmed_ns);
	query->oldest_unread_ns = max(query->oldest_unread_ns, queue.oldest_unread_ns);
}

int twheel_call_queue(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_detached *detached;

	if (args->queue.flags)
		return -EINVAL;
	detached = twheel_detached_next(call->file->instance, args->queue.queue);
	if (!detached)
		return -ENOENT;
	queue_fill(&detached->events, &args->queue);
	twheel_detached_free(detached);
	return 0;
}

/* Set the counts of a file. May sleep. */
void twheel_file_query(struct twheel_file *file, struct twheel_query_args *query)
{
	struct twheel_events *own = &file->own;

	spin_lock(&own->lock);
	/* At most max_file_pending. */
	query->own = twheel_events_pending(own) + atomic_read(&file->nr_detached);
	query->unread = twheel_events_unread(own);
	spin_unlock(&own->lock);
}

/* Set the limits and counts, except those of the file, the user and of detached operations. */
static void instance_query(struct twheel_instance *instance, struct twheel_query_args *query)
{
	struct twheel_purgatory_stats stats;
	struct twheel_config config;

	twheel_system_config(&config, TWHEEL_CLOCK_MONOTONIC);
	twheel_purgatory_count(instance->purgatory, &stats);
	*query = (struct twheel_query_args) {
		.max_pending		= instance->purgatory->max_pending,
		.max_file_pending	= instance->max_file_pending,
		.max_watches		= instance->purgatory->max_watches,
		.max_queue		= instance->max_queue,
		.max_keys		= TWHEEL_MAX_KEYS,
		.files			= READ_ONCE(instance->nr_files),
		.pending		= stats.pending,
		/* A million buckets take milliseconds. */
		.keys			= twheel_keys_count(&instance->purgatory->keys, true),
		.watches		= stats.watches,
		.added			= stats.added,
		.completed		= stats.ended[TWHEEL_REASON_COMPLETED],
		.expired		= stats.ended[TWHEEL_REASON_EXPIRED],
		.cancelled		= stats.ended[TWHEEL_REASON_CANCELLED],
		.tick_ns		= config.tick_ns,
	};
	query->rejected_enospc = twheel_instance_rejected(instance, TWHEEL_REJECTED_ENOSPC);
	query->rejected_enobufs = twheel_instance_rejected(instance, TWHEEL_REJECTED_ENOBUFS);
	query->rejected_edquot = twheel_instance_rejected(instance, TWHEEL_REJECTED_EDQUOT);
	query->rejected = query->rejected_enospc + query->rejected_enobufs + query->rejected_edquot;
	if (instance->name)
		strscpy(query->name, instance->name, sizeof(query->name));
}

int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_detached *detached = NULL;

	if (args->query.flags)
		return -EINVAL;
	instance_query(call->file->instance, &args->query);
	twheel_file_query(call->file, &args->query);
	while ((detached = twheel_detached_after(call->file->instance, detached)))
		queue_query(&detached->events, &args->query);
	twheel_users_query(&args->query);
	args->query.rights = READ_ONCE(call->file->rights) & TWHEEL_RIGHTS;
	return 0;
}

/* Number of operations that a call of a file without restrictions may skip before it returns. */
#define LIST_SKIP	4096

static bool is_own(const struct twheel_ioctl *call, const struct twheel_file_op *file_op)
{
	return twheel_file_op_file(file_op) == call->file;
}

static u32 pending_flags(const struct twheel_file_op *file_op, bool own, bool idle)
{
	return (own ? TWHEEL_PENDING_OWN : 0) | (idle ? TWHEEL_PENDING_IDLE : 0) |
	       (file_op->flags & TWHEEL_ADD_ABSTIME ? TWHEEL_PENDING_ABSTIME : 0) |
	       (file_op->flags & TWHEEL_ADD_CELL ? TWHEEL_PENDING_CELL : 0) |
	       (file_op->flags & TWHEEL_ADD_DETACHED ? TWHEEL_PENDING_DETACHED : 0) |
	       (file_op->flags & TWHEEL_ADD_CANCEL_ON_SET ? TWHEEL_PENDING_CANCEL_ON_SET : 0) |
	       (file_op->flags & TWHEEL_ADD_FIXED_DELAY ? TWHEEL_PENDING_FIXED_DELAY : 0);
}

static void pending_period(struct twheel_file_op *file_op, struct twheel_pending *pending)
{
	struct twheel_file_periodic *fp = twheel_file_op_periodic(file_op);
	struct twheel_events *events = file_op->events;
	u64 now = twheel_clock_ns(twheel_wheel_clock(file_op->clock, file_op->flags));

	spin_lock(&events->lock);
	/* If a reader has an event of it, the next one reports these periods. */
	twheel_file_periodic_catch_up(fp);
	pending->deadline = fp->next;
	pending->runs = fp->runs;
	spin_unlock(&events->lock);
	pending->period = fp->period;
	pending->remaining = pending->deadline == TWHEEL_NEVER ? TWHEEL_NEVER :
			     pending->deadline - min(now, pending->deadline);
}

/* Describe a pending operation, with up to @max_keys of its keys. */
static int pending_fill(struct twheel_ioctl *call, struct twheel_file_op *file_op,
			struct twheel_pending *pending, struct twheel_watch_spec *keys,
			u32 max_keys)
{
	bool own = is_own(call, file_op);
	u64 id = READ_ONCE(file_op->id);
	struct twheel_op_progress progress;
	u32 i;
	int err;

	/* Its final event has been read since. */
	if (id == TWHEEL_NO_ID)
		return -ENOENT;
	err = twheel_op_get_progress(&file_op->op, &progress, keys, max_keys);
	if (err)
		return err;
	*pending = (struct twheel_pending) {
		.id		= id,
		.cookie		= own || file_op->flags & TWHEEL_ADD_DETACHED ? file_op->cookie : 0,
		.deadline	= progress.deadline,
		.remaining	= progress.remaining,
		.missing	= progress.missing,
		.condition	= progress.condition,
		.clock		= file_op->clock,
		.nr_keys	= progress.nr_keys,
		.flags		= pending_flags(file_op, own, progress.idle),
		.queue		= file_op->flags & TWHEEL_ADD_DETACHED ?
				  twheel_file_op_detached(file_op)->number : 0,
		.cell		= file_op->flags & TWHEEL_ADD_CELL ?
				  twheel_timer_cell(&file_op->op.timer)->number : 0,
	};
	if (twheel_file_op_periodic(file_op))
		pending_period(file_op, pending);
	pending->deadline = twheel_time_shift(pending->deadline,
					      twheel_time_offset(file_op->clock, file_op->flags));
	/* The caller's clock ends before that of the wheel. */
	if (pending->deadline == TWHEEL_NEVER)
		pending->remaining = TWHEEL_NEVER;
	for (i = 0; i < min3(progress.nr_keys, max_keys, (u32)TWHEEL_PENDING_KEYS); i++)
		pending->keys[i] = keys[i].key;
	return 0;
}

static int info_write(const struct twheel_info_args *info, const struct twheel_pending *pending,
		      const struct twheel_watch_spec *keys)
{
	u32 i, nr = min(info->max_keys, pending->nr_keys);
	int err;

	err = twheel_entry_write(info->entry, 0, info->entry_size, pending, sizeof(*pending));
	for (i = 0; i < nr && !err; i++)
		err = twheel_entry_write(info->keys, i, info->key_size, &keys[i], sizeof(*keys));
	return err;
}

int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args)
{
	struct twheel_watch_spec *keys = twheel_call_keys(call);
	const struct twheel_info_args *info = &args->info;
	struct twheel_file_op *file_op;
	struct twheel_pending pending;
	int err;

	if (info->flags || !info->max_keys != !info->key_size)
		return -EINVAL;
	if (info->keys && !info->max_keys)
		return -EINVAL;
	err = twheel_entry_check(info->entry_size, sizeof(pending));
	if (!err && info->key_size)
		err = twheel_entry_check(info->key_size, sizeof(*keys));
	if (err)
		return err;
	if (!keys)
		return -ENOMEM;
	file_op = twheel_call_op(call, info->id);
	if (IS_ERR(file_op))
		return PTR_ERR(file_op);
	memset(keys, 0, TWHEEL_MAX_KEYS * sizeof(*keys));
	err = pending_fill(call, file_op, &pending, keys, TWHEEL_MAX_KEYS);
	twheel_file_op_put(file_op);
	return err ?: info_write(info, &pending, keys);
}

/* List from @index on; @hidden for a restricted file. */
static int list_some(struct twheel_ioctl *call, struct twheel_list_args *list,
		     unsigned long index, bool hidden)
{
	struct twheel_instance *instance = call->file->instance;
	struct twheel_watch_spec keys[TWHEEL_PENDING_KEYS];
	struct twheel_file_op *file_op;
	struct twheel_pending pending;
	u32 skip = LIST_SKIP;
	bool listed;
	int err = 0;

	while (list->nr < list->max_entries && skip) {
		file_op = twheel_file_op_next(instance, &index);
		if (!file_op) {
			list->cursor = TWHEEL_LIST_END;
			return 0;
		}
		listed = (list->flags & TWHEEL_LIST_OTHERS || is_own(call, file_op)) &&
			 !pending_fill(call, file_op, &pending, keys, ARRAY_SIZE(keys));
		twheel_file_op_put(file_op);
		if (listed)
			err = twheel_entry_write(list->entries, list->nr, list->entry_size,
						 &pending, sizeof(pending));
		if (err)
			break;
		list->nr += listed;
		skip -= !listed && !hidden;
		index++;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	list->cursor = hidden ? twheel_id_hide(&instance->ids, index) : index;
	return err;
}

int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args)
{
	bool hidden = !twheel_file_may(call->file, TWHEEL_RIGHT_OTHERS);
	struct twheel_list_args *list = &args->list;
	u64 index = list->cursor;
	int err;

	list->nr = 0;
	if (list->flags & ~TWHEEL_LIST_OTHERS || !list->max_entries)
		return -EINVAL;
	err = twheel_entry_check(list->entry_size, sizeof(struct twheel_pending));
	if (err)
		return err;
	if (list->flags & TWHEEL_LIST_OTHERS && hidden)
		return -EPERM;
	if (hidden && index && index != TWHEEL_LIST_END)
		index = twheel_id_unhide(&call->file->instance->ids, index);
	if (index >= TWHEEL_INDEX_END) {
		list->cursor = TWHEEL_LIST_END;
		return 0;
	}
	err = list_some(call, list, index, hidden);
	/* Return the entries that were written. The next call reports the error. */
	return list->nr ? 0 : err;
}
