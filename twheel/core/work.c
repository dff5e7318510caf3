// SPDX-License-Identifier: GPL-2.0
/*
 * Work on a workqueue at a deadline, for callbacks that sleep or take long.
 *
 * The reaper queues the work. The calls treat the timer and the queued work as one.
 */
#include <linux/export.h>
#include <linux/kernel.h>

#include "timer.h"

/* See twheel_wall_timer(). */
static_assert(offsetof(struct twheel_work, timer) - offsetof(struct twheel_work, part) ==
	      offsetof(struct twheel_wall_timer, timer));

static void work_fire(struct twheel_timer *timer)
{
	struct twheel_work *work = container_of(timer, struct twheel_work, timer);

	queue_work(work->wq, &work->work);
}

void __twheel_work_init(struct twheel_work *work, struct twheel *wheel,
			struct workqueue_struct *wq)
{
	twheel_wall_timer_init(container_of(&work->timer, struct twheel_wall_timer, timer), wheel,
			       work_fire, 0);
	work->wq = wq;
	work->blocked = 0;
}
EXPORT_SYMBOL_GPL(__twheel_work_init);

/**
 * twheel_work_cancel - cancel work
 * @work: the work, initialised
 *
 * As with twheel_timer_cancel(), the work may be freed only after 0 and -EALREADY.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * %0            - it was pending or queued, and is not running
 * * %1            - it was pending or queued, and also running or about to run
 * * %-EINPROGRESS - it was neither pending nor queued, and is running or about to run
 * * %-EALREADY    - it was not in use
 * * %-EINVAL      - it was not initialised; with a warning
 */
int twheel_work_cancel(struct twheel_work *work)
{
	int ret = twheel_timer_cancel(&work->timer);

	/* The callback of the timer is queuing the work. */
	if (ret == 1 || ret == -EINPROGRESS || ret == -EINVAL)
		return ret;
	if (cancel_work(&work->work))
		ret = 0;
	if (!work_busy(&work->work))
		return ret;
	return ret ? -EINPROGRESS : 1;
}
EXPORT_SYMBOL_GPL(twheel_work_cancel);

/**
 * twheel_work_cancel_sync - cancel work and wait for its function
 * @work: the work, initialised
 *
 * When this returns, the function is not running, and will not run until the work is added
 * again. During the call adds fail with -ESHUTDOWN, also those of the function itself. With
 * several calls at a time, until the last one returns.
 *
 * Context: process; may sleep.
 * Return:
 * * %0         - it was pending or queued
 * * %-EALREADY - it was not; if it was running, the function has returned
 * * %-EDEADLK  - called by the work function, with a warning; the work is neither pending nor
 *   queued any more, but still running
 * * %-EINVAL   - it was not initialised; with a warning
 */
int twheel_work_cancel_sync(struct twheel_work *work)
{
	int err;

	might_sleep();
	if (!twheel_timer_usable(&work->timer))
		return -EINVAL;
	if (WARN_ON_ONCE(current_work() == &work->work)) {
		twheel_work_cancel(work);
		return -EDEADLK;
	}
	err = twheel_timer_block(&work->timer, &work->blocked);
	/* It cannot be queued any more. */
	if (cancel_work_sync(&work->work))
		err = 0;
	twheel_timer_unblock(&work->timer, &work->blocked, work_fire);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_work_cancel_sync);
