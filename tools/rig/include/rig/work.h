/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work items, irq_work, and notifiers.
 */
#ifndef _RIG_WORK_H
#define _RIG_WORK_H

#include <linux/list.h>
#include <rig/time.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t		func;
	struct list_head	entry;
	struct workqueue_struct	*queue;		/* last used queue */
	u64			due;		/* due time of delayed work, in ns */
	u64			seq;		/* order of queueing, for flush_workqueue() */
	bool			pending;
	unsigned int		cancels;	/* number of calls that block queueing */
};

struct delayed_work {
	struct work_struct work;
};

extern struct workqueue_struct *system_wq, *system_unbound_wq, *system_highpri_wq;

void rig_work_init(struct work_struct *work, work_func_t fn);
bool rig_work_queue(struct workqueue_struct *queue, struct work_struct *work,
		    unsigned long delay, bool replace);
bool rig_work_cancel(struct work_struct *work, bool wait);
bool rig_work_flush(struct work_struct *work);
unsigned int work_busy(struct work_struct *work);
struct work_struct *current_work(void);
#define WORK_BUSY_PENDING	1
#define WORK_BUSY_RUNNING	2

struct workqueue_struct *rig_workqueue_create(const char *name, unsigned int max);
void flush_workqueue(struct workqueue_struct *queue);
void destroy_workqueue(struct workqueue_struct *queue);

#define WQ_UNBOUND		0
#define alloc_workqueue(name, flags, max_active, ...)	rig_workqueue_create(name, max_active)
#define alloc_ordered_workqueue(name, flags)		rig_workqueue_create(name, 1)
#define DECLARE_WORK(name, fn)		struct work_struct name = { .func = (fn) }
#define DECLARE_DEFERRABLE_WORK(name, fn)				\
	struct delayed_work name = { .work = { .func = (fn) } }
#define INIT_WORK(work, fn)		rig_work_init(work, fn)
#define INIT_DELAYED_WORK(dwork, fn)	rig_work_init(&(dwork)->work, fn)
#define to_delayed_work(item)		container_of(item, struct delayed_work, work)
#define queue_work(queue, work)		rig_work_queue(queue, work, 0, false)
#define queue_delayed_work(queue, dwork, delay)	rig_work_queue(queue, &(dwork)->work, delay, false)
#define schedule_delayed_work(dwork, delay)	queue_delayed_work(system_wq, dwork, delay)
#define mod_delayed_work(queue, dwork, delay)	rig_work_queue(queue, &(dwork)->work, delay, true)
#define flush_delayed_work(dwork)	rig_work_flush(&(dwork)->work)
#define cancel_work(work)		rig_work_cancel(work, false)
#define cancel_work_sync(work)		rig_work_cancel(work, true)
#define cancel_delayed_work_sync(dwork)	rig_work_cancel(&(dwork)->work, true)

struct irq_work {
	void		(*func)(struct irq_work *work);
	struct irq_work	*next;
	bool		pending;
};

#define DEFINE_IRQ_WORK(name, fn)	struct irq_work name = { .func = (fn) }
#define init_irq_work(work, fn)		(*(work) = (struct irq_work){ .func = (fn) })
bool irq_work_queue(struct irq_work *work);
void irq_work_sync(struct irq_work *work);

#define NOTIFY_DONE	0

struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long action, void *data);
	struct notifier_block *next;
};

/* Called with a lock held when the realtime clock is set. */
int pvclock_gtod_register_notifier(struct notifier_block *nb);
int pvclock_gtod_unregister_notifier(struct notifier_block *nb);

#endif /* _RIG_WORK_H */
