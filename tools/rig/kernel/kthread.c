// SPDX-License-Identifier: GPL-2.0
/*
 * Kthread workers: a thread that calls the functions of a list of works, with one lock.
 */
#include <rig/kthread.h>
#include <rig/wait.h>

#include "../rig.h"

/* Waits until the works before it have been called. */
struct flush {
	struct kthread_work	work;
	struct completion	done;
};

void kthread_init_worker(struct kthread_worker *worker)
{
	*worker = (struct kthread_worker){};
	raw_spin_lock_init(&worker->lock);
	INIT_LIST_HEAD(&worker->work_list);
}

void kthread_init_work(struct kthread_work *work, kthread_work_func_t fn)
{
	*work = (struct kthread_work){ .func = fn };
	INIT_LIST_HEAD(&work->node);
}

/* Queue a work before @next, which is the list or another work of it. */
static void insert(struct kthread_worker *worker, struct kthread_work *work, struct list_head *next)
{
	lockdep_assert_held(&worker->lock);
	list_add_tail(&work->node, next);
	/* Also read without the lock; it never changes. */
	if (!work->worker)
		WRITE_ONCE(work->worker, worker);
	if (!worker->current_work && worker->task)
		wake_up_process(worker->task);
}

bool kthread_queue_work(struct kthread_worker *worker, struct kthread_work *work)
{
	unsigned long flags;
	bool idle;

	raw_spin_lock_irqsave(&worker->lock, flags);
	idle = list_empty(&work->node);
	if (idle)
		insert(worker, work, &worker->work_list);
	raw_spin_unlock_irqrestore(&worker->lock, flags);
	return idle;
}

static void flush_fn(struct kthread_work *work)
{
	complete(&container_of(work, struct flush, work)->done);
}

void kthread_flush_work(struct kthread_work *work)
{
	struct kthread_worker *worker = READ_ONCE(work->worker);
	struct flush flush;
	bool wait = true;

	might_sleep();
	if (!worker)
		return;
	kthread_init_work(&flush.work, flush_fn);
	init_completion(&flush.done);
	raw_spin_lock_irq(&worker->lock);
	if (!list_empty(&work->node))
		insert(worker, &flush.work, work->node.next);
	else if (worker->current_work == work)
		insert(worker, &flush.work, worker->work_list.next);
	else
		wait = false;
	raw_spin_unlock_irq(&worker->lock);
	if (wait)
		wait_for_completion(&flush.done);
}

void kthread_flush_worker(struct kthread_worker *worker)
{
	struct flush flush;

	might_sleep();
	kthread_init_work(&flush.work, flush_fn);
	init_completion(&flush.done);
	kthread_queue_work(worker, &flush.work);
	wait_for_completion(&flush.done);
}

int kthread_worker_fn(void *arg)
{
	struct kthread_worker *worker = arg;
	struct kthread_work *work;

	WARN_ON(worker->task != current);
	rig_self()->worker = true;
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		raw_spin_lock_irq(&worker->lock);
		work = list_first_entry_or_null(&worker->work_list, struct kthread_work, node);
		if (work)
			list_del_init(&work->node);
		worker->current_work = work;
		raw_spin_unlock_irq(&worker->lock);
		if (!work) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		work->func(work);
		cond_resched();
	}
	__set_current_state(TASK_RUNNING);
	raw_spin_lock_irq(&worker->lock);
	worker->task = NULL;
	raw_spin_unlock_irq(&worker->lock);
	return 0;
}
