/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: events, see event.c. */
#ifndef _TWHEEL_DEV_EVENT_H
#define _TWHEEL_DEV_EVENT_H

#include <linux/twheel.h>
#include <linux/types.h>

#include "file_op.h"
#include "queue.h"

struct iov_iter;
struct kiocb;

extern const struct twheel_op_ops twheel_file_op_ops;

void twheel_event_period(struct twheel_timer *timer);
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr);
void twheel_events_empty(struct twheel_events *events);
u32 twheel_file_end_all(struct twheel_file *file, enum twheel_reason reason, int error, u64 value,
			unsigned int flags);
ssize_t twheel_events_read(struct twheel_events *events, struct kiocb *iocb, struct iov_iter *to);

#endif /* _TWHEEL_DEV_EVENT_H */
