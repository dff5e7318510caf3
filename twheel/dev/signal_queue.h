/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: signals from any context, see signal_queue.c. */
#ifndef _TWHEEL_DEV_SIGNAL_QUEUE_H
#define _TWHEEL_DEV_SIGNAL_QUEUE_H

#include <linux/types.h>

struct twheel_key;
struct twheel_purgatory;
struct twheel_signal_queue;
struct workqueue_struct;

struct twheel_signal_queue *twheel_signal_queue_create(struct twheel_purgatory *purgatory,
						       struct workqueue_struct *wq);
void twheel_signal_queue_destroy(struct twheel_signal_queue *queue);
s64 twheel_signal_queue_handle(const struct twheel_signal_queue *queue);
struct twheel_signal_queue *twheel_signal_queue_find(u64 handle);
struct twheel_purgatory *twheel_signal_queue_purgatory(const struct twheel_signal_queue *queue);
int twheel_signal_queue_add(struct twheel_signal_queue *queue, const struct twheel_key *key,
			    u64 amount, u64 value);

#endif /* _TWHEEL_DEV_SIGNAL_QUEUE_H */
