/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: events, see event.c. */
#ifndef _TWHEEL_DEV_EVENT_H
#define _TWHEEL_DEV_EVENT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "file_op.h"
#include "queue.h"

struct iov_iter;
struct kiocb;

/* Number of events that a descriptor may leave unconfirmed. */
#define TWHEEL_READ_MAX	64

/**
 * struct twheel_reader - the unconfirmed events of a descriptor
 * @lock: held by the thread in read() or a call; protects the other members
 * @entry: in the list of its queue while it has such events
 * @time: of the read that delivered them; protected by the lock of the queue, like @entry
 * @nr: number of events
 * @file_ops: their operations, oldest first
 */
struct twheel_reader {
	struct mutex		lock;	/* see event.c */
	struct list_head	entry;
	u64			time;
	u32			nr;
	struct twheel_file_op	*file_ops[TWHEEL_READ_MAX];
};

extern const struct twheel_op_ops twheel_file_op_ops;

void twheel_events_empty(struct twheel_events *events);
u32 twheel_file_end_all(struct twheel_file *file, enum twheel_reason reason, int error, u64 value,
			unsigned int flags);
ssize_t twheel_events_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to);
struct twheel_reader *twheel_reader_create(void);
void twheel_reader_close(struct twheel_events *events, struct twheel_reader *reader);
ssize_t twheel_reader_read(struct twheel_events *events, struct twheel_reader *reader,
			   struct kiocb *iocb, struct iov_iter *to);
int twheel_reader_confirm(struct twheel_events *events, struct twheel_reader *reader, u64 id);

#endif /* _TWHEEL_DEV_EVENT_H */
