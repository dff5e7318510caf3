// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: periodic operations.
 *
 * A periodic operation has no deadline, but a timer beside it. The timer queues the event of the
 * period, or expires the operation with the last one. It is armed only while there is no event:
 *
 *	idle, timer armed ------> event: queued, or a reader has it ------> idle, timer armed
 *	             period                                      delivered
 *
 * So a process that does not read its events causes no work for the reaper, however short the
 * period. Periods that expire meanwhile are counted when the event is read or listed, but for the
 * last one of a limited number, which the timer counts.
 *
 * The operation may end in any other way, which cancels the timer; a timer function that starts at
 * that moment sees ->ended. An event that is queued becomes the last one, and after one that a
 * reader has, another one follows.
 *
 * The timer is shut down before the operation is forgotten, so the memory of both outlives its
 * function.
 */
#include <linux/bug.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "../op/op.h"
#include "queue.h"

static u64 time_add(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/* Count the periods that have expired: at least @least, and at most @most if runs are limited. */
static void periodic_count(struct twheel_file_periodic *periodic, u64 least, u64 most)
{
	u64 now = twheel_now(periodic->wheel), nr = least;

	/* The clock may have been set back since the deadline passed. */
	if (now >= periodic->next && !periodic->fixed_delay)
		nr = div64_u64(now - periodic->next, periodic->period) + 1;
	if (periodic->runs)
		nr = min(nr, most);
	if (!nr)
		return;
	periodic->expirations += nr;
	periodic->runs -= periodic->runs ? nr : 0;
	periodic->last = periodic->next + (nr - 1) * periodic->period;
	periodic->time = max(now, periodic->last);
	periodic->next = time_add(periodic->fixed_delay ? periodic->time : periodic->last,
				  periodic->period);
}

/* Count the periods that have expired since the timer did, with the lock of the queue held. */
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic)
{
	if (periodic->has_event && !periodic->ended)
		periodic_count(periodic, 0, periodic->runs - 1);
}

static void periodic_start(struct twheel_file_periodic *periodic)
{
	int ret = twheel_timer_rearm(&periodic->timer.timer, periodic->next, TWHEEL_REARM_ALWAYS);

	/* The wheel of a user is not stopped while it has operations, and has no limit. */
	WARN_ON_ONCE(ret < 0);
}

/* Queue an event, with the lock of the event queue held. Returns true if the queue was empty. */
static bool periodic_push(struct twheel_file_periodic *periodic)
{
	struct twheel_file_op *file_op = twheel_periodic_file_op(periodic);

	lockdep_assert_held(&file_op->events->lock);
	file_op->events->periods++;
	periodic->has_event = true;
	return twheel_event_push(file_op->events, file_op);
}

/* Function of the timer. */
static void periodic_expired(struct twheel_timer *timer)
{
	struct twheel_file_periodic *periodic =
		container_of(timer, struct twheel_file_periodic, timer.timer);
	struct twheel_file_op *file_op = twheel_periodic_file_op(periodic);
	struct twheel_events *events = file_op->events;
	bool ended, last = false, was_empty = false;

	/* The queue is valid: twheel_file_ops_forget() waits for this callback. */
	spin_lock(&events->lock);
	ended = periodic->ended;
	if (!ended) {
		last = periodic->runs;
		periodic_count(periodic, 1, periodic->runs);
		last &= !periodic->runs;
		if (!last)
			was_empty = periodic_push(periodic);
	}
	spin_unlock(&events->lock);
	if (last)
		twheel_op_expire(&file_op->op);
	else if (!ended)
		twheel_events_wake(events, was_empty);
}

/* Add a periodic operation and start its timer, unless the operation has ended at once. */
int twheel_periodic_add(struct twheel_purgatory *purgatory, struct twheel_file_op *file_op,
			struct twheel_op_args *op_args, const struct twheel_add_args *args)
{
	struct twheel_file_periodic *periodic = twheel_file_op_periodic(file_op);
	struct twheel_events *events = file_op->events;
	int err;

	twheel_wall_timer_init(&periodic->timer, op_args->wheel, periodic_expired, 0);
	periodic->wheel = op_args->wheel;
	periodic->next = op_args->deadline;
	periodic->period = args->period;
	periodic->runs = args->runs;
	periodic->fixed_delay = args->flags & TWHEEL_ADD_FIXED_DELAY;
	op_args->deadline = TWHEEL_NEVER;
	/* A reader may drop the reference of the event queue at once. */
	twheel_op_get(&file_op->op);
	err = __twheel_op_add(purgatory, &file_op->op, op_args);
	if (!err) {
		spin_lock(&events->lock);
		if (!periodic->ended)
			periodic_start(periodic);
		spin_unlock(&events->lock);
	}
	twheel_file_op_put(file_op);
	return err;
}

/* The operation has ended: queue its last event. Returns true if the queue was empty. */
bool twheel_periodic_ended(struct twheel_file_periodic *periodic)
{
	struct twheel_events *events = twheel_periodic_file_op(periodic)->events;
	bool was_empty = false;

	spin_lock(&events->lock);
	twheel_file_periodic_catch_up(periodic);
	periodic->ended = true;
	if (!periodic->has_event)
		was_empty = periodic_push(periodic);
	events->periods--;
	spin_unlock(&events->lock);
	/* A running timer callback sees ->ended. */
	twheel_timer_cancel(&periodic->timer.timer);
	return was_empty;
}

/* Set the fields of an event that the end of an operation, or its period, determines. */
void twheel_periodic_fill(struct twheel_file_periodic *periodic, struct twheel_event *event)
{
	struct twheel_file_op *file_op = twheel_periodic_file_op(periodic);

	spin_lock(&file_op->events->lock);
	twheel_file_periodic_catch_up(periodic);
	if (periodic->ended)
		twheel_event_set_result(event, &file_op->op);
	else
		*event = (struct twheel_event){
			.reason	= TWHEEL_REASON_EXPIRED,
			.flags	= TWHEEL_EVENT_MORE,
		};
	event->expirations = periodic->expirations;
	event->deadline = periodic->next;
	if (event->reason == TWHEEL_REASON_EXPIRED) {
		event->deadline = periodic->last;
		event->time = periodic->time;
	}
	periodic->reported = periodic->ended ? 0 : periodic->expirations;
	spin_unlock(&file_op->events->lock);
}

/* An event was delivered. Returns true if it was the last one, otherwise goes on. */
bool twheel_periodic_delivered(struct twheel_file_periodic *periodic)
{
	struct twheel_file_op *file_op = twheel_periodic_file_op(periodic);
	struct twheel_events *events = file_op->events;
	bool push, was_empty = false;
	u64 now;

	if (!periodic->reported)
		return true;
	file_op->again = false;
	spin_lock(&events->lock);
	periodic->has_event = false;
	periodic->expirations -= periodic->reported;
	push = periodic->ended || periodic->expirations;
	if (push) {
		was_empty = periodic_push(periodic);
	} else {
		now = twheel_now(periodic->wheel);
		if (periodic->fixed_delay && now >= periodic->next)
			periodic->next = time_add(now, periodic->period);
		periodic_start(periodic);
	}
	spin_unlock(&events->lock);
	if (push)
		twheel_events_wake(events, was_empty);
	return false;
}
