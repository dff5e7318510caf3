// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: periodic operations.
 *
 * A periodic operation has no deadline. A periodic timer beside it counts the expired periods
 * and queues the event; the last run expires the operation. The operation may end in any
 * other way, which cancels the timer. A timer callback that starts at that moment sees
 * ->ended under the lock of the event queue.
 *
 * If the previous event has not been read, the callback pauses the timer, and the reader
 * resumes it. Periods that expire in between are counted when the event is read or listed, but
 * for the last one of a limited number: the timer counts that, and expires the operation.
 * A process that does not read its events therefore causes no work for the reaper,
 * however short the period.
 *
 * A step of CLOCK_REALTIME cancels an operation with TWHEEL_ADD_CANCEL_ON_SET, periodic or
 * not: it is pending on the wheel of that clock, without a deadline.
 *
 * The timer is shut down before the operation is forgotten, so the memory of both outlives
 * its callback.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "dev.h"

static u64 time_add(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/* Count @nr expired periods, at least one, which are not more than the remaining ones. */
static void periodic_count(struct twheel_file_periodic *fp, u64 nr, u64 now)
{
	fp->expirations += nr;
	fp->runs -= fp->runs ? nr : 0;
	fp->last = fp->next + (nr - 1) * fp->period;
	/* The clock may have been set back since the deadline passed. */
	fp->time = max(now, fp->last);
	fp->next = time_add(fp->fixed_delay ? fp->time : fp->last, fp->period);
}

/* Count the periods that expired while the timer was paused. */
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic)
{
	u64 now, nr;

	lockdep_assert_held(&periodic->file_op->events->lock);
	/* A fixed delay starts when the previous event has been read. */
	if (!periodic->paused || periodic->fixed_delay)
		return;
	now = twheel_now(periodic->wheel);
	if (now < periodic->next)
		return;
	nr = div64_u64(now - periodic->next, periodic->period) + 1;
	if (periodic->runs)
		nr = min(nr, periodic->runs - 1);
	if (nr)
		periodic_count(periodic, nr, now);
}

static void periodic_run(struct twheel_periodic *periodic)
{
	struct twheel_file_periodic *fp =
		container_of(periodic, struct twheel_file_periodic, periodic);
	struct twheel_file_op *file_op = fp->file_op;
	struct twheel_events *events = file_op->events;
	bool expire = false, wake = false, was_empty = false;
	u64 nr;

	/* The queue is valid: twheel_file_ops_forget() waits for this callback. */
	spin_lock(&events->lock);
	if (file_op->ended || fp->finished) {
		/* Another task has ended the operation, or this timer is about to. */
	} else if (file_op->queued || file_op->reading) {
		fp->paused = true;
		twheel_periodic_cancel(&fp->periodic);
	} else {
		/* A second clock read could count a period for which the timer will run. */
		nr = twheel_periodic_overrun(periodic) + 1;
		fp->finished = fp->runs && nr >= fp->runs;
		if (fp->finished)
			nr = fp->runs;
		periodic_count(fp, nr, twheel_now(fp->wheel));
		expire = fp->finished;
		wake = !expire;
		if (wake)
			was_empty = twheel_event_queue(file_op);
	}
	spin_unlock(&events->lock);
	if (expire)
		twheel_op_expire(&file_op->op);
	else if (wake)
		twheel_event_wake(events, was_empty);
}

/* @deadline: first deadline in host time. */
void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       const struct twheel_add_args *args, u64 deadline)
{
	twheel_periodic_init(&periodic->periodic, wheel, periodic_run, 0);
	periodic->wheel = wheel;
	periodic->next = deadline;
	periodic->period = args->period;
	periodic->runs = args->runs;
	periodic->fixed_delay = args->flags & TWHEEL_ADD_FIXED_DELAY;
}

/* Start the timer of a pending operation. */
void twheel_file_periodic_start(struct twheel_file_periodic *periodic)
{
	enum twheel_repeat repeat = periodic->fixed_delay ? TWHEEL_FIXED_DELAY :
							    TWHEEL_FIXED_RATE;
	int err;

	lockdep_assert_held(&periodic->file_op->events->lock);
	err = twheel_periodic_start(&periodic->periodic, periodic->next, periodic->period,
				    0, repeat);
	/* The wheel of a user is not stopped while it has operations, and has no limit. */
	WARN_ON_ONCE(err);
}

/* Restart a paused timer after the event was read, with the lock of the event queue held. */
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic)
{
	if (!periodic->paused)
		return;
	periodic->paused = false;
	if (periodic->fixed_delay)
		periodic->next = time_add(twheel_now(periodic->wheel), periodic->period);
	twheel_file_periodic_start(periodic);
}

/*
 * Set the fields of an event that differ for a periodic operation, with the lock of the event
 * queue held.
 */
void twheel_file_periodic_fill(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event)
{
	event->expirations = periodic->expirations;
	event->deadline = periodic->next;
	if (event->reason == TWHEEL_REASON_EXPIRED) {
		event->deadline = periodic->last;
		event->time = periodic->time;
	}
}
