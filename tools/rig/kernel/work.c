// SPDX-License-Identifier: GPL-2.0
/*
 * Workqueues: one common list, and threads that are created if none is idle. An item never
 * runs on two threads at once. One lock protects everything in this file.
 */
#include <stdlib.h>

#include <rig/mem.h>
#include <rig/work.h>

#include "../rig.h"

#define WORKERS	64

struct workqueue_struct {
	char		name[32];
	unsigned int	max;	/* number of items that may run at once; 0 for any */
};

static struct workqueue_struct system_queues[3];
struct workqueue_struct *system_wq = &system_queues[0];
struct workqueue_struct *system_unbound_wq = &system_queues[1];
struct workqueue_struct *system_highpri_wq = &system_queues[2];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static LIST_HEAD(pending);
static struct worker {
	struct work_struct	*work;		/* running item; may be freed by its function */
	struct workqueue_struct	*queue;
	u64			seq;
} workers[WORKERS];
static unsigned int nr_workers, nr_idle;
static u64 last_seq;
static bool held;			/* see rig_works_hold() */
static u32 changes;			/* futex word of the workers */
static __thread struct worker *self;	/* of a worker thread */

static void *worker_main(void *arg);

void rig_work_init(struct work_struct *work, work_func_t fn)
{
	*work = (struct work_struct) { .func = fn };
}

static bool is_running(const struct work_struct *work)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].work == work)
			return true;
	return false;
}

static unsigned int nr_running(const struct workqueue_struct *queue)
{
	unsigned int i, nr = 0;

	for (i = 0; i < nr_workers; i++)
		nr += workers[i].work && workers[i].queue == queue;
	return nr;
}

static void unqueue(struct work_struct *work)
{
	list_del(&work->entry);
	work->pending = false;
	pthread_cond_broadcast(&done);
}

static void enqueue(struct workqueue_struct *queue, struct work_struct *work, unsigned long delay)
{
	work->pending = true;
	work->queue = queue;
	work->due = delay ? ktime_get_ns() + delay * TICK_NSEC : 0;
	work->seq = ++last_seq;
	list_add_tail(&work->entry, &pending);
	__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	if (!nr_idle && nr_workers < WORKERS)
		rig_thread(worker_main, &workers[nr_workers++]);
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
	if (work->cancels)
		was_pending = !replace;
	else if (!work->pending)
		enqueue(queue, work, delay);
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
	work->cancels += wait;
	while (wait && is_running(work))
		pthread_cond_wait(&done, &lock);
	work->cancels -= wait;
	pthread_mutex_unlock(&lock);
	return was_pending;
}

/* Wait for the last queued instance; delayed work runs immediately. */
bool rig_work_flush(struct work_struct *work)
{
	bool was_busy;
	u64 seq;

	might_sleep();
	pthread_mutex_lock(&lock);
	was_busy = work->pending || is_running(work);
	seq = work->seq;
	if (work->pending) {
		work->due = 0;
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
		rig_futex_wake(&changes);
	}
	while ((work->pending && work->seq == seq) || is_running(work))
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	return was_busy;
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

/* The running item of the calling thread, or NULL. */
struct work_struct *current_work(void)
{
	return self ? self->work : NULL;
}

/* The first due item that is not running; @sleep is the time until the next one. */
static struct work_struct *take(struct worker *worker, s64 *sleep)
{
	struct work_struct *work;
	u64 now = ktime_get_ns();
	unsigned int nr;

	*sleep = -1;
	list_for_each_entry(work, &pending, entry) {
		nr = nr_running(work->queue);
		if (held || is_running(work) || (work->queue->max && nr == work->queue->max))
			continue;
		if (work->due <= now) {
			list_del(&work->entry);
			work->pending = false;
			*worker = (struct worker) { work, work->queue, work->seq };
			return work;
		}
		if (*sleep < 0 || work->due - now < (u64)*sleep)
			*sleep = work->due - now;
	}
	return NULL;
}

static void *worker_main(void *arg)
{
	struct worker *worker = self = arg;
	struct work_struct *work;
	u32 seen;
	s64 sleep;

	rig_adopt("kworker", RIG_TASK);
	for (;;) {
		pthread_mutex_lock(&lock);
		seen = __atomic_load_n(&changes, __ATOMIC_RELAXED);
		work = take(worker, &sleep);
		nr_idle += !work;
		pthread_mutex_unlock(&lock);
		if (work) {
			work->func(work);
			cond_resched();
			WARN_ON(in_atomic());
			WARN_ON(rig_self()->memcg);
		} else {
			rig_futex_wait(&changes, seen, sleep);
		}

		pthread_mutex_lock(&lock);
		nr_idle -= !work;
		*worker = (struct worker) { };
		/* Items that could not run beside this one have been skipped. */
		__atomic_fetch_add(&changes, !!work, __ATOMIC_RELAXED);
		pthread_cond_broadcast(&done);
		pthread_mutex_unlock(&lock);
		if (work)
			rig_futex_wake(&changes);
	}
	return NULL;
}

struct workqueue_struct *rig_workqueue_create(const char *name, unsigned int max)
{
	struct workqueue_struct *queue = kzalloc(sizeof(*queue), GFP_KERNEL);

	if (queue) {
		strscpy(queue->name, name, sizeof(queue->name));
		queue->max = max;
	}
	return queue;
}

/*
 * Return: true if an item queued up to @seq is running, or is pending and not delayed. @queue may
 * be NULL, for all of them.
 */
static bool is_busy(const struct workqueue_struct *queue, u64 seq)
{
	struct work_struct *work;
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].work && (!queue || workers[i].queue == queue) &&
		    workers[i].seq <= seq)
			return true;
	list_for_each_entry(work, &pending, entry)
		if ((!queue || work->queue == queue) && work->seq <= seq && !work->due)
			return true;
	return false;
}

bool rig_works_busy(void)
{
	bool busy;

	pthread_mutex_lock(&lock);
	busy = !held && is_busy(NULL, last_seq);
	pthread_mutex_unlock(&lock);
	return busy;
}

void flush_workqueue(struct workqueue_struct *queue)
{
	u64 seq;

	might_sleep();
	pthread_mutex_lock(&lock);
	seq = last_seq;
	while (is_busy(queue, seq))
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
}

void destroy_workqueue(struct workqueue_struct *queue)
{
	struct work_struct *work;

	flush_workqueue(queue);
	pthread_mutex_lock(&lock);
	list_for_each_entry(work, &pending, entry)
		WARN_ON(work->queue == queue);
	pthread_mutex_unlock(&lock);
	kfree(queue);
}

/* Let no more items run until they are released. Return: whether they were held. */
bool rig_works_hold(bool hold)
{
	bool was_held, wake;

	pthread_mutex_lock(&lock);
	was_held = held;
	held = hold;
	wake = !hold && is_busy(NULL, last_seq);
	if (wake)
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	if (wake)
		rig_futex_wake(&changes);
	return was_held;
}

/* Let all delayed items run now. */
void rig_works_hurry(void)
{
	struct work_struct *work;

	pthread_mutex_lock(&lock);
	list_for_each_entry(work, &pending, entry)
		work->due = 0;
	__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	rig_futex_wake(&changes);
}

/* Number of queued items, which should be 0 after all modules have been removed. */
unsigned int rig_works_pending(void)
{
	struct work_struct *work;
	unsigned int nr = 0;

	pthread_mutex_lock(&lock);
	list_for_each_entry(work, &pending, entry)
		nr++;
	pthread_mutex_unlock(&lock);
	return nr;
}
