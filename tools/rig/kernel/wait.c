// SPDX-License-Identifier: GPL-2.0
/*
 * Wait queues. A waker wakes the task of the waiter and removes its entry under the lock of
 * the queue; a waiter removes its own entry if it finds its condition true.
 */
#include <linux/hash.h>
#include <rig/wait.h>

#define VAR_QUEUE_BITS	6

static wait_queue_head_t var_queues[1 << VAR_QUEUE_BITS];

static void __attribute__((constructor)) var_queues_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(var_queues); i++)
		init_waitqueue_head(&var_queues[i]);
}

void init_waitqueue_head(wait_queue_head_t *queue)
{
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->head);
}

/*
 * Queue the current task, unless a signal interrupts its sleep. In that case the entry is
 * removed, so that a waker chooses another exclusive waiter; the caller rechecks its
 * condition afterwards.
 */
int rig_wait_prepare(wait_queue_head_t *queue, struct wait_queue_entry *entry, int state)
{
	int ret = 0;

	spin_lock(&queue->lock);
	if (state == TASK_INTERRUPTIBLE && signal_pending(entry->task)) {
		list_del_init(&entry->entry);
		ret = -ERESTARTSYS;
	} else if (list_empty(&entry->entry)) {
		if (entry->flags & WQ_FLAG_EXCLUSIVE)
			list_add_tail(&entry->entry, &queue->head);
		else
			list_add(&entry->entry, &queue->head);
	}
	set_current_state(state);
	spin_unlock(&queue->lock);
	return ret;
}

/* Without the lock if a waker has removed the entry, which is about to be gone. */
void rig_wait_finish(wait_queue_head_t *queue, struct wait_queue_entry *entry)
{
	__set_current_state(TASK_RUNNING);
	if (list_empty_careful(&entry->entry))
		return;
	spin_lock(&queue->lock);
	list_del_init(&entry->entry);
	spin_unlock(&queue->lock);
}

void remove_wait_queue(wait_queue_head_t *queue, struct wait_queue_entry *entry)
{
	spin_lock(&queue->lock);
	list_del(&entry->entry);
	spin_unlock(&queue->lock);
}

int default_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	/* Outside of the queue it may be gone, see rig_wait_finish(). */
	WARN_ON(list_empty(&entry->entry));
	return wake_up_process(entry->task);
}

int autoremove_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags,
			     void *key)
{
	int ret = default_wake_function(entry, mode, flags, key);

	if (ret)
		list_del_init_careful(&entry->entry);
	return ret;
}

/* Wake all waiters for @key, but only @nr_exclusive exclusive ones; 0 wakes all. */
void rig_wake_queue(wait_queue_head_t *queue, const void *key, int nr_exclusive)
{
	struct wait_queue_entry *entry, *next;

	spin_lock(&queue->lock);
	list_for_each_entry_safe(entry, next, &queue->head, entry) {
		bool exclusive = entry->flags & WQ_FLAG_EXCLUSIVE;

		if (key && entry->key != key)
			continue;
		if (entry->func(entry, TASK_NORMAL, 0, NULL) && exclusive && !--nr_exclusive)
			break;
	}
	spin_unlock(&queue->lock);
}

wait_queue_head_t *rig_var_queue(const void *variable)
{
	return &var_queues[hash_ptr(variable, VAR_QUEUE_BITS)];
}

/* An empty queue is not locked, as in the kernel, so the waker needs a barrier. */
void wake_up_var(const void *variable)
{
	wait_queue_head_t *queue = rig_var_queue(variable);

	if (waitqueue_active(queue))
		rig_wake_queue(queue, variable, 0);
}

void init_completion(struct completion *completion)
{
	completion->done = 0;
	init_waitqueue_head(&completion->wait);
}

static void complete_some(struct completion *completion, bool all)
{
	struct wait_queue_entry *entry, *next;

	spin_lock(&completion->wait.lock);
	if (completion->done != UINT_MAX)
		completion->done = all ? UINT_MAX : completion->done + 1;
	list_for_each_entry_safe(entry, next, &completion->wait.head, entry) {
		list_del_init(&entry->entry);
		wake_up_process(entry->task);
		if (!all)
			break;
	}
	spin_unlock(&completion->wait.lock);
}

void complete(struct completion *completion)
{
	complete_some(completion, false);
}

void complete_all(struct completion *completion)
{
	complete_some(completion, true);
}

/* All under the lock: the completion may be freed when this returns. */
static int wait_for(struct completion *completion, int state)
{
	struct wait_queue_entry entry = { .task = current };

	might_sleep();
	INIT_LIST_HEAD(&entry.entry);
	spin_lock(&completion->wait.lock);
	while (!completion->done) {
		if (state == TASK_KILLABLE && fatal_signal_pending(current)) {
			list_del_init(&entry.entry);
			spin_unlock(&completion->wait.lock);
			return -ERESTARTSYS;
		}
		if (list_empty(&entry.entry))
			list_add_tail(&entry.entry, &completion->wait.head);
		set_current_state(state);
		spin_unlock(&completion->wait.lock);
		schedule();
		spin_lock(&completion->wait.lock);
	}
	list_del_init(&entry.entry);
	if (completion->done != UINT_MAX)
		completion->done--;
	spin_unlock(&completion->wait.lock);
	return 0;
}

void wait_for_completion(struct completion *completion)
{
	wait_for(completion, TASK_UNINTERRUPTIBLE);
}

int wait_for_completion_killable(struct completion *completion)
{
	return wait_for(completion, TASK_KILLABLE);
}
