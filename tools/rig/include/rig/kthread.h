/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kthread workers. The threads themselves are in rig/task.h.
 */
#ifndef _RIG_KTHREAD_H
#define _RIG_KTHREAD_H

#include <linux/list.h>
#include <rig/lock.h>

struct kthread_work;
struct kthread_worker;
typedef void (*kthread_work_func_t)(struct kthread_work *work);

struct kthread_work {
	struct list_head	node;
	kthread_work_func_t	func;
	struct kthread_worker	*worker;
};

struct kthread_worker {
	raw_spinlock_t		lock;
	struct list_head	work_list;
	struct task_struct	*task;
	struct kthread_work	*current_work;
};

void kthread_init_worker(struct kthread_worker *worker);
void kthread_init_work(struct kthread_work *work, kthread_work_func_t fn);
bool kthread_queue_work(struct kthread_worker *worker, struct kthread_work *work);
void kthread_flush_work(struct kthread_work *work);
void kthread_flush_worker(struct kthread_worker *worker);
int kthread_worker_fn(void *worker);

#endif /* _RIG_KTHREAD_H */
