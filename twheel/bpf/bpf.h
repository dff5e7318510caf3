/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for BPF programs, see bpf.c, and their queues of signals, see signal_queue.c. */
#ifndef _TWHEEL_BPF_BPF_H
#define _TWHEEL_BPF_BPF_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "../dev/instance.h"

/* A power of two, since positions wrap around. */
#define TWHEEL_SIGNAL_SLOTS	1024U

struct twheel_signal_slot {
	u32			number;
	struct twheel_key	key;
	u64			amount;
	u64			value;
};

/**
 * struct twheel_signal_queue - a queue of signals
 * @attached: to the instance of @purgatory, unless a test has created it
 * @entry: in queues; written under queues_lock
 * @handle: its number; immutable
 * @purgatory: immutable; outlives the queue
 * @wq: workqueue of @work; immutable
 * @irq_work: queues @work
 * @work: signals the keys
 * @head: position of the next signal to take out; used by @work only
 * @tail: position of the next signal to add
 * @slot: the ring
 */
struct twheel_signal_queue {
	struct twheel_attached	attached;
	struct hlist_node	entry;
	u64			handle;
	struct twheel_purgatory	*purgatory;
	struct workqueue_struct	*wq;
	struct irq_work		irq_work;
	struct work_struct	work;
	u32			head;
	atomic_t		tail ____cacheline_aligned_in_smp;
	struct twheel_signal_slot slot[TWHEEL_SIGNAL_SLOTS];
};

struct twheel_signal_queue *twheel_signal_queue_create(struct twheel_purgatory *purgatory,
						       struct workqueue_struct *wq);
void twheel_signal_queue_destroy(struct twheel_signal_queue *queue);
struct twheel_signal_queue *twheel_signal_queue_find(u64 handle);
int twheel_signal_queue_add(struct twheel_signal_queue *queue, const struct twheel_key *key,
			    u64 amount, u64 value);

/* Called by BPF programs only. */
s64 twheel_bpf_handle(s32 fd);
int twheel_bpf_signal(u64 handle, const struct twheel_key *key, u64 amount, u64 value);
int twheel_bpf_watched(u64 handle, const struct twheel_key *key);

#endif /* _TWHEEL_BPF_BPF_H */
