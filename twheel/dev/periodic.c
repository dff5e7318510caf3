// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, periodic operations: their periods.
 *
 * A periodic operation is one without a deadline of its own, and a timer that
 * repeats beside it.  Each run of that counts what has passed and queues the event;
 * the last one lets the operation expire.  It may end in any other way as well:
 * then the timer is cancelled, and a run of it that is just beginning finds
 * the operation ended, under the lock of the event queue.
 *
 * A run that finds the event of the one before unread pauses the timer, and the reader
 * starts it again.  What passes in between is counted when it is asked for.  So who
 * does not read costs the reaper, which all share, nothing, however short the period.
 *
 * That the clock was set is the operation's to notice: it has no deadline, but a clock.
 *
 * The timer is shut down before the operation is forgotten, and so the memory of
 * both stays for as long as a run may use it.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "dev.h"

/**
 * twheel_file_periodic_check - whether what is said of periods goes together
 * @args: of an add
 *
 * Return: 0 or -EINVAL.
 */
int twheel_file_periodic_check(const struct twheel_add_args *args)
{
	if (!args->period)
		return args->runs || args->flags & TWHEEL_ADD_FIXED_DELAY ? -EINVAL : 0;
	return args->slack || args->deadline > KTIME_MAX || args->period > KTIME_MAX ? -EINVAL : 0;
}

static u64 plus(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/* Count deadlines that have passed: one, and @overrun more at a fixed rate. */
static void periodic_count(struct twheel_file_periodic *fp, u64 overrun, u64 now)
{
	fp->expirations += overrun + 1;
	fp->passed = fp->next + overrun * fp->period;
	/* The clock may have been set back since the deadline passed. */
	fp->time = max(now, fp->passed);
	fp->next = plus(fp->fixed_delay ? fp->time : fp->passed, fp->period);
}

/**
 * twheel_file_periodic_catch_up - count what has passed while it was paused
 * @periodic: the timer of the operation, with the lock of its event queue held
 */
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic)
{
	u64 now;

	lockdep_assert_held(&twheel_file_op_events(periodic->file_op)->lock);
	/* A delay does not begin before the event of the one before has been read. */
	if (!periodic->paused || periodic->fixed_delay)
		return;
	now = twheel_now(periodic->wheel);
	if (now >= periodic->next)
		periodic_count(periodic, div64_u64(now - periodic->next, periodic->period), now);
}

static void periodic_pause(struct twheel_file_periodic *fp)
{
	fp->paused = true;
	twheel_periodic_cancel(&fp->periodic);
}

static void periodic_run(struct twheel_periodic *periodic)
{
	struct twheel_file_periodic *fp =
		container_of(periodic, struct twheel_file_periodic, periodic);
	struct twheel_file_op *file_op = fp->file_op;
	struct twheel_events *events = twheel_file_op_events(file_op);
	bool expire = false, wake = false, signal = false;

	/* The operation is forgotten before its queue is gone, and that waits for this function. */
	spin_lock(&events->lock);
	if (file_op->ended || fp->over) {
		/* Another task ended it, or is about to. */
	} else if (file_op->queued || file_op->reading) {
		periodic_pause(fp);
	} else {
		/* Not by another look at the clock: the timer would run for one of them again. */
		periodic_count(fp, twheel_periodic_overrun(periodic), twheel_now(fp->wheel));
		fp->over = fp->runs == 1;
		fp->runs -= !!fp->runs;
		expire = fp->over;
		wake = !expire;
		if (wake)
			signal = twheel_event_queue(file_op);
	}
	spin_unlock(&events->lock);
	if (expire)
		twheel_op_expire(&file_op->op);
	else if (wake)
		twheel_events_wake(events, signal);
}

/**
 * twheel_file_periodic_init - make the timer of a periodic operation ready
 * @periodic: with its operation set
 * @wheel: for it
 * @args: of the add, checked
 * @deadline: of the first period, by the clock
 */
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

/**
 * twheel_file_periodic_start - start the periods of an operation that waits
 * @periodic: its timer, with the lock of its event queue held
 */
void twheel_file_periodic_start(struct twheel_file_periodic *periodic)
{
	enum twheel_repeat repeat = periodic->fixed_delay ? TWHEEL_FIXED_DELAY :
							    TWHEEL_FIXED_RATE;
	int err;

	lockdep_assert_held(&twheel_file_op_events(periodic->file_op)->lock);
	err = twheel_periodic_start(&periodic->periodic, periodic->next, periodic->period,
				    0, repeat);
	/* Nobody stops the system's wheels, and they have no limit. */
	WARN_ON_ONCE(err);
}

/**
 * twheel_file_periodic_resume - its event has been read, and it has not ended
 * @periodic: the timer of the operation, with the lock of its event queue held
 */
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic)
{
	if (!periodic->paused)
		return;
	periodic->paused = false;
	if (periodic->fixed_delay)
		periodic->next = plus(twheel_now(periodic->wheel), periodic->period);
	twheel_file_periodic_start(periodic);
}

/**
 * twheel_file_periodic_fill - what the event of a periodic operation says besides
 * @periodic: its timer, with the lock of its event queue held
 * @event: filled in already as for one that is not periodic
 */
void twheel_file_periodic_fill(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event)
{
	event->expirations = periodic->expirations;
	event->deadline = periodic->next;
	if (event->reason == TWHEEL_EXPIRED) {
		event->deadline = periodic->passed;
		event->time = periodic->time;
	}
}
