// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers whose functions run on a workqueue of the consumer's: for what
 * takes long or sleeps, so that no timer waits for it.
 *
 * The timer is inline: the interrupt of the deadline queues the work.  The calls below
 * treat the timer and the queued work as one.
 */
#include <linux/export.h>
#include <linux/kernel.h>

#include "timer.h"

static void work_fire(struct twheel_timer *timer)
{
	struct twheel_work *work = container_of(timer, struct twheel_work, timer);

	queue_work(work->wq, &work->work);
}

void __twheel_work_init(struct twheel_work *work, struct twheel *wheel,
			struct workqueue_struct *wq)
{
	twheel_timer_init_flags(&work->timer, wheel, work_fire, TWHEEL_TIMER_INLINE);
	work->wq = wq;
	work->blocked = 0;
}
EXPORT_SYMBOL_GPL(__twheel_work_init);

/**
 * twheel_work_cancel - stop work from being done
 * @work: the work, initialised
 *
 * As with twheel_timer_cancel(), only 0 and -EALREADY allow to free the work.
 *
 * Context: as twheel_timer_add().
 * Return:
 * * 0            - it was pending, or queued; its function is not running
 * * 1            - it was pending, or queued, and its function is running from before,
 *	or about to
 * * -EINPROGRESS - it was neither, and its function is running, or about to
 * * -EALREADY    - none of these
 * * -EINVAL      - it was never initialised; with a warning
 */
int twheel_work_cancel(struct twheel_work *work)
{
	int ret = twheel_timer_cancel(&work->timer);

	/* It is being queued right now, together with what may be queued from before. */
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
 * twheel_work_cancel_sync - stop work and wait for its function
 * @work: the work, initialised
 *
 * When this returns, the function is not running, and will not unless somebody
 * adds the work again. Meanwhile that is refused with -ESHUTDOWN, so that a
 * function which adds its own work again is cut short. Several may cancel it so at
 * a time: it is refused until the last of them is done.
 *
 * Context: process; may sleep. Not from the function itself.
 * Return:
 * * 0         - it was pending, or queued
 * * -EALREADY - it was not; if its function was running it has returned
 * * -EINVAL   - it was never initialised; with a warning
 */
int twheel_work_cancel_sync(struct twheel_work *work)
{
	int err;

	might_sleep();
	if (!twheel_timer_usable(&work->timer))
		return -EINVAL;
	err = twheel_timer_block(&work->timer, &work->blocked);
	/* Nobody queues it any more. */
	if (cancel_work_sync(&work->work))
		err = 0;
	twheel_timer_unblock(&work->timer, &work->blocked, work_fire);
	return err;
}
EXPORT_SYMBOL_GPL(twheel_work_cancel_sync);
