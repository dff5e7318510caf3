// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 6, periodic operations: their periods.
 *
 * A periodic operation is one without a deadline of its own, and a timer that
 * repeats beside it.  Each run of that counts what has passed and queues the event;
 * the last one lets the operation expire.  It may end in any other way as well:
 * then the timer is cancelled, and a run of it that is just beginning finds
 * the operation ended, under the lock of the box.
 *
 * The timer is shut down before the operation is forgotten, and so the memory of
 * both stays for as long as a run may use it.
 */
#include <linux/minmax.h>
#include <linux/overflow.h>

#include "device.h"

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
	return args->slack || args->deadline > KTIME_MAX ? -EINVAL : 0;
}

static u64 plus(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/* Account for a run; whether it is the last one. */
static bool periodic_count(struct twheel_file_periodic *fp)
{
	u64 overrun = twheel_periodic_overrun(&fp->periodic);

	fp->fop->expirations += overrun + 1;
	/* The time left over is less than what has passed, so this fits. */
	fp->passed = fp->next + overrun * fp->period;
	fp->time = twheel_now(fp->wheel);
	fp->next = plus(fp->fixed_delay ? fp->time : fp->passed, fp->period);
	return fp->runs && !--fp->runs;
}

static void periodic_run(struct twheel_periodic *periodic)
{
	struct twheel_file_periodic *fp =
		container_of(periodic, struct twheel_file_periodic, periodic);
	int error = twheel_timer_error(&periodic->timer);
	struct twheel_file_op *fop = fp->fop;
	struct twheel_box *box = fop->box;
	bool last = false;

	/* For as long as it has not ended, its box does not go. */
	spin_lock(&box->lock);
	if (!fop->ended) {
		fp->error = error;
		last = !error && periodic_count(fp);
		if (!error && !last)
			twheel_event_queue(fop);
	}
	spin_unlock(&box->lock);
	if (last)
		twheel_op_expire(&fop->op);
	else if (error)
		twheel_op_cancel(&fop->op);
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
	unsigned int flags = args->flags & TWHEEL_ADD_CANCEL_ON_SET ?
			     TWHEEL_TIMER_CANCEL_ON_SET : 0;

	twheel_periodic_init(&periodic->periodic, wheel, periodic_run, flags);
	periodic->wheel = wheel;
	periodic->next = deadline;
	periodic->period = args->period;
	periodic->runs = args->runs;
	periodic->fixed_delay = args->flags & TWHEEL_ADD_FIXED_DELAY;
}

/**
 * twheel_file_periodic_start - start the periods of an operation that waits
 * @periodic: its timer, with the lock of its box held
 */
void twheel_file_periodic_start(struct twheel_file_periodic *periodic)
{
	enum twheel_repeat repeat = periodic->fixed_delay ? TWHEEL_FIXED_DELAY :
							    TWHEEL_FIXED_RATE;
	int err;

	lockdep_assert_held(&periodic->fop->box->lock);
	err = twheel_periodic_start(&periodic->periodic, periodic->next, periodic->period,
				    0, repeat);
	/* Nobody stops the system's wheels, and they have no limit. */
	WARN_ON_ONCE(err);
}

/**
 * twheel_file_periodic_told - what the event of a periodic operation says besides
 * @periodic: its timer, with the lock of its box held
 * @event: filled in already as for one that is not periodic
 */
void twheel_file_periodic_told(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event)
{
	event->expirations = periodic->fop->expirations;
	event->deadline = periodic->next;
	if (event->reason == TWHEEL_EXPIRED) {
		event->deadline = periodic->passed;
		event->time = periodic->time;
	}
	if (event->reason == TWHEEL_CANCELLED && periodic->error)
		event->error = periodic->error;
}
