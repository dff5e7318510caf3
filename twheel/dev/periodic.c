// SPDX-License-Identifier: GPL-2.0
/*
 * Character devices: counting of the periods of an operation.
 *
 * A periodic timer beside the operation counts the expired periods. It is paused while the previous
 * event has not been read, so that a process that does not read its events causes no work for the
 * reaper, however short the period. Periods that expire meanwhile are counted when the event is
 * read or listed, but for the last one of a limited number: the timer counts that, and its function
 * expires the operation. See event.c for events.
 *
 * All functions need the lock of the operation's event queue.
 */
#include <linux/bug.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "periodic.h"

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

/* Start the timer of a pending operation. */
void twheel_file_periodic_start(struct twheel_file_periodic *periodic)
{
	int ret = twheel_timer_rearm(&periodic->timer.timer, periodic->next, TWHEEL_REARM_ALWAYS);

	/* The wheel of a user is not stopped while it has operations, and has no limit. */
	WARN_ON_ONCE(ret < 0);
}

/* In the function of the timer: count the periods that have expired, and arm it for the next. */
void twheel_file_periodic_expired(struct twheel_file_periodic *periodic)
{
	u64 nr = 1, now = twheel_now(periodic->wheel);

	/* The clock may have been set back since the deadline passed. */
	if (!periodic->fixed_delay && now > periodic->next)
		nr += div64_u64(now - periodic->next, periodic->period);
	periodic->finished = periodic->runs && nr >= periodic->runs;
	if (periodic->finished)
		nr = periodic->runs;
	periodic_count(periodic, nr, now);
	if (!periodic->finished)
		twheel_file_periodic_start(periodic);
}

/* @deadline: first deadline in host time. */
void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       void (*function)(struct twheel_timer *timer),
			       const struct twheel_add_args *args, u64 deadline)
{
	twheel_wall_timer_init(&periodic->timer, wheel, function, 0);
	periodic->wheel = wheel;
	periodic->next = deadline;
	periodic->period = args->period;
	periodic->runs = args->runs;
	periodic->fixed_delay = args->flags & TWHEEL_ADD_FIXED_DELAY;
}

/* Restart a paused timer after the event was read. Its callback may still be running. */
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic)
{
	if (!periodic->paused)
		return;
	periodic->paused = false;
	if (periodic->fixed_delay)
		periodic->next = time_add(twheel_now(periodic->wheel), periodic->period);
	twheel_file_periodic_start(periodic);
}

/* Set the fields of an event that differ for a periodic operation. */
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
