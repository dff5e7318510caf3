// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: limits and counts, for TWHEEL_IOC_QUERY, TWHEEL_IOC_QUEUE and
 * /proc/PID/fdinfo.
 */
#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "../core/shard.h"
#include "../op/purgatory.h"
#include "event.h"
#include "query.h"

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
	now = twheel_clock_ns(twheel_file_op_clock(file_op));
	/* CLOCK_REALTIME may have been set back. */
	return now - min(now, time);
}

/* Time since the read of the oldest unconfirmed event, or 0. */
static u64 events_unconfirmed_age(struct twheel_events *events)
{
	const struct twheel_reader *reader;

	lockdep_assert_held(&events->lock);
	reader = list_first_entry_or_null(&events->holding, struct twheel_reader, entry);
	return reader ? ktime_get_ns() - reader->time : 0;
}

/* Set the exact counts of a queue of detached operations. */
static void queue_fill(struct twheel_events *events, struct twheel_queue_args *queue)
{
	spin_lock(&events->lock);
	*queue = (struct twheel_queue_args) {
		.queue			= container_of(events, struct twheel_detached,
						       events)->number,
		.ops			= events->held,
		.pending		= twheel_events_pending(events),
		.unread			= twheel_events_unread(events),
		.unconfirmed		= events->unconfirmed,
		.oldest_unread_ns	= events_age(events),
		.oldest_unconfirmed_ns	= events_unconfirmed_age(events),
	};
	spin_unlock(&events->lock);
}

/* Add the counts of a queue to those of a query. */
static bool queue_query(struct twheel_events *events, void *data)
{
	struct twheel_query_args *query = data;
	struct twheel_queue_args queue;

	queue_fill(events, &queue);
	query->detached += queue.pending;
	query->detached_unread += queue.unread;
	query->unconfirmed += queue.unconfirmed;
	query->oldest_unconfirmed_ns = max(query->oldest_unconfirmed_ns,
					   queue.oldest_unconfirmed_ns);
	query->oldest_unread_ns = max(query->oldest_unread_ns, queue.oldest_unread_ns);
	return !fatal_signal_pending(current);
}

int twheel_call_queue(struct twheel_ioctl *call, union twheel_call_args *args)
{
	unsigned long number = args->queue.queue;
	struct twheel_detached *detached;

	if (args->queue.flags)
		return -EINVAL;
	detached = twheel_detached_next(call->file->instance, &number);
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
	twheel_purgatory_get_stats(instance->purgatory, &stats);
	*query = (struct twheel_query_args) {
		.max_pending		= instance->max_pending,
		.max_file_pending	= instance->max_file_pending,
		.max_watches		= instance->purgatory->max_watches,
		.max_queue		= instance->max_queue,
		.max_keys		= TWHEEL_MAX_KEYS,
		.files			= READ_ONCE(instance->nr_files),
		.pending		= stats.pending,
		.keys			= stats.keys,
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
	if (args->query.flags)
		return -EINVAL;
	instance_query(call->file->instance, &args->query);
	twheel_file_query(call->file, &args->query);
	twheel_detached_visit(call->file->instance, queue_query, &args->query);
	twheel_users_query(&args->query);
	args->query.rights = READ_ONCE(call->file->rights) & TWHEEL_RIGHTS;
	return 0;
}
