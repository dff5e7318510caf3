// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for BPF programs: a queue of signals, which any context may fill.
 *
 * A signal takes locks, which its caller may hold already if it has interrupted another one: a BPF
 * program that traces the kernel runs in NMIs, and in the middle of any function of this module.
 * So it goes to a ring, without a lock, and a work item signals the key. irq_work queues the work
 * item, since a caller in any context cannot.
 *
 * The ring has a constant size, so that adding needs no memory. Each slot has a number that tells
 * whose turn it is:
 *
 *	number			slot i % SLOTS in the turn of position i
 *	------			----------------------------------------
 *	i			free: the caller that moves the tail from i to i + 1 fills it
 *	i + 1			filled: the work item, whose head is i, takes the signal out
 *	i + SLOTS		free for the next turn
 *
 * A caller that was interrupted between its two steps delays the signals after its own, until it
 * continues and queues the irq_work. It delays no other caller. A full ring refuses signals.
 *
 * A work item takes a batch out and queues itself again, so that those of other purgatories have
 * their turns.
 *
 * A queue has a random number, its handle, for callers that cannot keep a pointer. They are in an
 * RCU read-side section from the look-up until the signal was added, so that after a grace period
 * nobody adds to a queue that was removed from the table.
 */
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../compat.h"
#include "../core/twheel.h"
#include "bpf.h"

#define SLOTS	TWHEEL_SIGNAL_SLOTS

/* Number of signals that a work item takes out. */
#define BATCH	32

static DEFINE_HASHTABLE(queues, 8);
static DEFINE_SPINLOCK(queues_lock);

/* Take a signal out. Return: false if the next slot is not filled. */
static bool queue_take(struct twheel_signal_queue *queue, struct twheel_signal_slot *signal)
{
	struct twheel_signal_slot *slot = &queue->slot[queue->head % SLOTS];

	/* Pairs with the release in twheel_signal_queue_add(): sees the signal. */
	if (smp_load_acquire(&slot->number) != queue->head + 1)
		return false;
	*signal = *slot;
	/* Pairs with the acquire in slot_reserve(): the signal was read. */
	smp_store_release(&slot->number, queue->head + SLOTS);
	queue->head++;
	return true;
}

static void queue_work_fn(struct work_struct *work)
{
	struct twheel_signal_queue *queue = container_of(work, struct twheel_signal_queue, work);
	struct twheel_signal_slot signal;
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		if (!queue_take(queue, &signal))
			return;
		twheel_signal_some(queue->purgatory, &signal.key, signal.amount, signal.value, 0,
				   TWHEEL_MAY_SLEEP);
	}
	queue_work(queue->wq, &queue->work);
}

static void queue_irq_work_fn(struct irq_work *irq_work)
{
	struct twheel_signal_queue *queue = container_of(irq_work, struct twheel_signal_queue,
							 irq_work);

	queue_work(queue->wq, &queue->work);
}

/* Return: the queue with this handle, or NULL. In an RCU read-side section; any context. */
struct twheel_signal_queue *twheel_signal_queue_find(u64 handle)
{
	struct twheel_signal_queue *queue;

	hash_for_each_possible_rcu(queues, queue, entry, handle)
		if (queue->handle == handle)
			return queue;
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_signal_queue_find);

/*
 * Create a queue. Its memory is charged to the memory cgroup of the caller. May sleep.
 * Return: the queue, or ERR_PTR(-ENOMEM).
 */
struct twheel_signal_queue *twheel_signal_queue_create(struct twheel_purgatory *purgatory,
						       struct workqueue_struct *wq)
{
	struct twheel_signal_queue *queue = kvzalloc(sizeof(*queue),
						     GFP_KERNEL | TWHEEL_GFP_ACCOUNT);
	u32 i;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	queue->purgatory = purgatory;
	queue->wq = wq;
	init_irq_work(&queue->irq_work, queue_irq_work_fn);
	INIT_WORK(&queue->work, queue_work_fn);
	for (i = 0; i < SLOTS; i++)
		queue->slot[i].number = i;
	/* A positive number of 64 bits; no two queues ever have the same. */
	queue->handle = get_random_u64() >> 1 ?: 1;
	spin_lock(&queues_lock);
	hash_add_rcu(queues, &queue->entry, queue->handle);
	spin_unlock(&queues_lock);
	return queue;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_signal_queue_create);

/* Drop the queued signals and free the queue, before its purgatory. May sleep. */
void twheel_signal_queue_destroy(struct twheel_signal_queue *queue)
{
	spin_lock(&queues_lock);
	hash_del_rcu(&queue->entry);
	spin_unlock(&queues_lock);
	synchronize_rcu();
	irq_work_sync(&queue->irq_work);
	cancel_work_sync(&queue->work);
	kvfree(queue);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_signal_queue_destroy);

/* Reserve the slot of the tail. Return: its position in @pos; false if the ring is full. */
static bool slot_reserve(struct twheel_signal_queue *queue, u32 *pos)
{
	int tail = atomic_read(&queue->tail);
	s32 turns;

	for (;;) {
		/* Pairs with the release in queue_take(): the last signal was read. */
		turns = smp_load_acquire(&queue->slot[tail % SLOTS].number) - tail;
		if (turns < 0)
			return false;
		if (turns > 0)
			tail = atomic_read(&queue->tail);
		else if (atomic_try_cmpxchg(&queue->tail, &tail, tail + 1))
			break;
	}
	*pos = tail;
	return true;
}

/*
 * Queue a signal; see twheel_signal() for the arguments. The caller has found the queue in the same
 * RCU read-side section, or prevents its end in another way. Any context, including NMIs.
 * Return: 0, or -ENOBUFS if the queue is full.
 */
int twheel_signal_queue_add(struct twheel_signal_queue *queue, const struct twheel_key *key,
			    u64 amount, u64 value)
{
	struct twheel_signal_slot *slot;
	u32 pos;

	if (!slot_reserve(queue, &pos))
		return -ENOBUFS;
	slot = &queue->slot[pos % SLOTS];
	slot->key = *key;
	slot->amount = amount;
	slot->value = value;
	/* Pairs with the acquire in queue_take(). */
	smp_store_release(&slot->number, pos + 1);
	/* A full barrier: the work item sees the slot, or is queued again. */
	irq_work_queue(&queue->irq_work);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_signal_queue_add);
