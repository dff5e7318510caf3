// SPDX-License-Identifier: GPL-2.0
/*
 * Workqueues: one list for all, and a few worker threads. An item never runs on two
 * threads at once. One lock protects everything here.
 */
#include <stdlib.h>

#include <rig/work.h>

#include "../rig.h"

#define WORKERS	3

struct workqueue_struct {
	unsigned int busy;		/* items that are pending or run */
};

static struct workqueue_struct system_queues[2];
struct workqueue_struct *system_wq = &system_queues[0];
struct workqueue_struct *system_unbound_wq = &system_queues[1];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static LIST_HEAD(pending);
static struct work_struct *running[WORKERS];
static u32 changes;			/* futex word of the workers */

void rig_work_init(struct work_struct *work, work_func_t fn)
{
	*work = (struct work_struct) { .func = fn };
}

static bool is_running(const struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++)
		if (running[i] == work)
			return true;
	return false;
}

static void unqueue(struct work_struct *work)
{
	list_del(&work->entry);
	work->pending = false;
	work->queue->busy--;
	pthread_cond_broadcast(&done);
}

bool rig_work_queue(struct workqueue_struct *queue, struct work_struct *work,
		    unsigned long delay, bool replace)
{
	bool was_pending;

	rig_jitter();
	pthread_mutex_lock(&lock);
	was_pending = work->pending;
	if (was_pending && replace)
		unqueue(work);
	if (!work->pending) {
		work->pending = true;
		work->queue = queue;
		work->due = delay ? ktime_get_ns() + delay * TICK_NSEC : 0;
		list_add_tail(&work->entry, &pending);
		queue->busy++;
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
	rig_futex_wake(&changes);
	return replace ? was_pending : !was_pending;
}

bool rig_work_cancel(struct work_struct *work, bool wait)
{
	bool was_pending;

	if (wait)
		might_sleep();
	pthread_mutex_lock(&lock);
	was_pending = work->pending;
	if (was_pending)
		unqueue(work);
	while (wait && is_running(work)) {
		pthread_cond_wait(&done, &lock);
		/* The kernel keeps an item from being queued meanwhile. */
		if (work->pending)
			unqueue(work);
	}
	pthread_mutex_unlock(&lock);
	return was_pending;
}

unsigned int work_busy(struct work_struct *work)
{
	unsigned int busy;

	pthread_mutex_lock(&lock);
	busy = (work->pending ? WORK_BUSY_PENDING : 0) |
	       (is_running(work) ? WORK_BUSY_RUNNING : 0);
	pthread_mutex_unlock(&lock);
	return busy;
}

/* The first item that is due and does not run; how long until the next one is. */
static struct work_struct *take(unsigned int worker, s64 *sleep)
{
	struct work_struct *work, *found = NULL;
	u64 now = ktime_get_ns();

	*sleep = -1;
	list_for_each_entry(work, &pending, entry) {
		if (is_running(work))
			continue;
		if (work->due <= now) {
			found = work;
			break;
		}
		if (*sleep < 0 || work->due - now < (u64)*sleep)
			*sleep = work->due - now;
	}
	if (found) {
		list_del(&found->entry);
		found->pending = false;
		running[worker] = found;
	}
	return found;
}

static void *worker_main(void *arg)
{
	unsigned int worker = (unsigned long)arg;
	struct workqueue_struct *queue;
	struct work_struct *work;
	u32 seen;
	s64 sleep;

	rig_adopt("kworker", RIG_TASK);
	for (;;) {
		seen = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
		pthread_mutex_lock(&lock);
		work = take(worker, &sleep);
		queue = work ? work->queue : NULL;
		pthread_mutex_unlock(&lock);
		if (!work) {
			rig_futex_wait(&changes, seen, sleep);
			continue;
		}

		work->func(work);	/* may free the item */
		WARN_ON(in_atomic());

		pthread_mutex_lock(&lock);
		running[worker] = NULL;
		queue->busy--;
		/* It may have been queued again while it ran, and passed over. */
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
		pthread_cond_broadcast(&done);
		pthread_mutex_unlock(&lock);
		rig_futex_wake(&changes);
	}
	return NULL;
}

struct workqueue_struct *rig_workqueue_create(const char *name)
{
	return calloc(1, sizeof(struct workqueue_struct));
}

void flush_workqueue(struct workqueue_struct *queue)
{
	might_sleep();
	pthread_mutex_lock(&lock);
	while (queue->busy)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
}

void destroy_workqueue(struct workqueue_struct *queue)
{
	flush_workqueue(queue);
	free(queue);
}

void rig_work_start(void)
{
	unsigned long i;

	for (i = 0; i < WORKERS; i++)
		rig_thread(worker_main, (void *)i);
}
