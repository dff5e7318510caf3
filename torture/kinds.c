// SPDX-License-Identifier: GPL-2.0
/*
 * One interface to all kinds of timers: plain timers, and work that a timer queues.
 *
 * Any number of threads may work on a plain timer. Work that is armed while it is queued may run
 * once for both armings. So it is armed only by a thread with exclusive access that has settled
 * it; its function may also arm it, once per run. Any thread may cancel it.
 */
#include <linux/errno.h>
#include <linux/workqueue.h>

#include "../twheel/compat.h"
#include "torture.h"

static struct workqueue_struct *queue;

/* A per-CPU workqueue, so that CPU hotplug affects it, too. */
int kinds_set_up(void)
{
	queue = alloc_workqueue("twheel_torture", TWHEEL_WQ_PERCPU, 0);
	return queue ? 0 : -ENOMEM;
}

void kinds_tear_down(void)
{
	destroy_workqueue(queue);
}

/* Wait for running and queued work. */
void kinds_flush(void)
{
	flush_workqueue(queue);
}

static void run_timer(struct twheel_timer *timer)
{
	torture_run(container_of(timer, struct torture_timer, timer));
}

static void run_work(struct work_struct *work)
{
	torture_run(container_of(to_twheel_work(work), struct torture_timer, work));
}

/* Initialise a timer with its @wheel, @kind and @flags. */
void kind_init(struct torture_timer *t)
{
	struct twheel *wheel = t->wheel->wheel;

	switch (t->kind) {
	case KIND_TIMER:
	case KIND_ORPHAN:
		if (t->flags || t->wheel->clock == TWHEEL_CLOCK_REALTIME)
			twheel_wall_timer_init(&t->wall_timer, wheel, run_timer, t->flags);
		else
			twheel_timer_init(&t->timer, wheel, run_timer);
		break;
	case KIND_WORK:
		twheel_work_init(&t->work, wheel, queue, run_work);
		break;
	}
}

int kind_add(struct torture_timer *t, u64 deadline, u64 slack)
{
	if (t->kind == KIND_WORK)
		return twheel_work_add(&t->work, deadline);
	if (slack)
		return twheel_timer_add_slack(&t->timer, deadline, slack);
	return twheel_timer_add(&t->timer, deadline);
}

int kind_rearm(struct torture_timer *t, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	if (t->kind == KIND_WORK)
		return twheel_work_rearm(&t->work, deadline, mode);
	if (slack)
		return twheel_timer_rearm_slack(&t->timer, deadline, slack, mode);
	return twheel_timer_rearm(&t->timer, deadline, mode);
}

int kind_cancel(struct torture_timer *t)
{
	if (t->kind == KIND_WORK)
		return twheel_work_cancel(&t->work);
	return twheel_timer_cancel(&t->timer);
}

int kind_cancel_sync(struct torture_timer *t)
{
	int err;

	atomic_inc(&t->blocks);
	atomic_inc(&t->blocked);
	if (t->kind == KIND_WORK)
		err = twheel_work_cancel_sync(&t->work);
	else
		err = twheel_timer_cancel_sync(&t->timer);
	/* The cancel may have begun before an add, and end before its result is judged. */
	atomic_inc(&t->blocks);
	atomic_dec_return_release(&t->blocked);
	return err;
}
