/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Wait queues, completions, and waiting for a variable. A waiter queues itself, sets its
 * state and then checks its condition, as in the kernel, so that a missing barrier of the
 * waker loses wakeups here, too.
 */
#ifndef _RIG_WAIT_H
#define _RIG_WAIT_H

#include <linux/list.h>
#include <rig/lock.h>

typedef struct wait_queue_head {
	spinlock_t lock;	/* protects the list */
	struct list_head head;
} wait_queue_head_t;

/* Called with the lock of the queue held. Return: above 0 if it woke the waiter. */
struct wait_queue_entry;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *entry, unsigned int mode, int flags,
				 void *key);

#define WQ_FLAG_EXCLUSIVE	1
#define TASK_NORMAL		(TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)
#define poll_to_key(events)	((void *)(uintptr_t)(events))

typedef struct wait_queue_entry {
	unsigned int flags;
	wait_queue_func_t func;
	struct task_struct *task;
	const void *key;		/* of wait_var_event(), or NULL */
	struct list_head entry;
} wait_queue_entry_t;

int default_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key);
void init_waitqueue_head(wait_queue_head_t *queue);
int rig_wait_prepare(wait_queue_head_t *queue, struct wait_queue_entry *entry, int state);
void rig_wait_finish(wait_queue_head_t *queue, struct wait_queue_entry *entry);
void remove_wait_queue(wait_queue_head_t *queue, struct wait_queue_entry *entry);
int autoremove_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags,
			     void *key);
void rig_wake_queue(wait_queue_head_t *queue, const void *key, int nr_exclusive);
#define rig_wake(queue, key, nr) ({					\
	RIG_LOCK_BEGIN(queue);						\
	rig_touch(queue, 1, true);					\
	rig_wake_queue(queue, key, nr);					\
	RIG_LOCK_END(queue); })

static inline bool waitqueue_active(wait_queue_head_t *queue)
{
	return !list_empty(&queue->head);
}

/* Pairs with the barrier of set_current_state() in rig_wait_prepare(). */
static inline bool wq_has_sleeper(wait_queue_head_t *queue)
{
	smp_mb();
	return waitqueue_active(queue);
}

#define wake_up_all(queue)		rig_wake(queue, NULL, 0)
#define wake_up_interruptible(queue)	rig_wake(queue, NULL, 1)

#define init_wait_entry(wait, entry_flags)					\
	(*(wait) = (struct wait_queue_entry) {					\
		.flags = entry_flags, .task = current, .func = autoremove_wake_function, \
		.entry = LIST_HEAD_INIT((wait)->entry) })
#define prepare_to_wait_event	rig_wait_prepare
#define finish_wait		rig_wait_finish

#define RIG_WAIT(queue, entry_key, state, condition, before, after) ({			\
	struct wait_queue_entry _entry = {						\
		.task = current, .func = autoremove_wake_function, .key = entry_key,	\
		.entry = LIST_HEAD_INIT(_entry.entry),					\
	};										\
	int _ret = 0;									\
	for (;;) {									\
		int _signal = rig_wait_prepare(queue, &_entry, state);			\
		if (condition)								\
			break;								\
		if (_signal) {								\
			_ret = _signal;							\
			break;								\
		}									\
		before;									\
		schedule();								\
		after;									\
	}										\
	rig_wait_finish(queue, &_entry);						\
	_ret; })

#define ERESTARTSYS 512

#define wait_event(queue, condition) do {						\
	might_sleep();									\
	rig_linger();									\
	if (!(condition))								\
		(void)RIG_WAIT(&(queue), NULL, TASK_UNINTERRUPTIBLE, condition,	\
			       barrier(), barrier());					\
} while (0)
#define wait_event_lock_irq(queue, condition, lock) do {				\
	if (!(condition))								\
		(void)RIG_WAIT(&(queue), NULL, TASK_UNINTERRUPTIBLE, condition,	\
			       spin_unlock_irq(&(lock)), spin_lock_irq(&(lock)));	\
} while (0)

wait_queue_head_t *rig_var_queue(const void *variable);
void wake_up_var(const void *variable);
#define wait_var_event(variable, condition) do {					\
	might_sleep();									\
	rig_linger();									\
	if (!(condition))								\
		(void)RIG_WAIT(rig_var_queue(variable), variable, TASK_UNINTERRUPTIBLE,	\
			       condition, barrier(), barrier());			\
} while (0)

struct completion {
	unsigned int done;
	wait_queue_head_t wait;
};

void init_completion(struct completion *completion);
void complete(struct completion *completion);
void complete_all(struct completion *completion);
void wait_for_completion(struct completion *completion);
int wait_for_completion_killable(struct completion *completion);

#endif /* _RIG_WAIT_H */
