/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 6: an open file of /dev/twheel, and its operations. See device.c. */
#ifndef _TWHEEL_DEVICE_H
#define _TWHEEL_DEVICE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/wait.h>
#include <linux/xarray.h>

/* An id is a generation above an index of so many bits, which is never 0. */
#define TWHEEL_INDEX_BITS	26

/**
 * struct twheel_file - an open file: a purgatory, and the events of its operations
 * @purgatory: its own; immutable
 * @max_pending: how many operations may wait at a time; immutable
 * @held: operations that wait, and events that nobody has read; twice
 *	@max_pending at the most
 * @rejected: adds refused because of that
 * @ops: all of them by index, the lower part of an id; its lock protects the
 *	way from there to a reference
 * @generation: the upper part of the id given last; protected by @ops' lock
 * @lock: protects @events and @unread
 * @events: operations that have ended, in that order, until they are read
 * @unread: how many there are
 * @readers: woken for each event
 */
struct twheel_file {
	struct twheel_purgatory	*purgatory;
	u32			max_pending;
	atomic_t		held;
	atomic64_t		rejected;
	struct xarray		ops;
	u64			generation;
	spinlock_t		lock;	/* of events and unread */
	struct list_head	events;
	unsigned long		unread;
	wait_queue_head_t	readers;
};

/**
 * struct twheel_file_op - an operation of an open file
 * @op: the operation
 * @file: whose; immutable
 * @id: what the file's users call it; set before they learn it
 * @cookie: what they want back; immutable
 * @event: in the file's events once it has ended; protected by its lock
 * @more: room for watches that came later
 * @watch: room for those that came with it
 *
 * It is its own event: when it ends nothing has to be allocated. The file has
 * a reference from add until the event is read.
 */
struct twheel_file_op {
	struct twheel_op	op;
	struct twheel_file	*file;
	u64			id;
	u64			cookie;
	struct list_head	event;
	struct llist_head	more;
	struct twheel_watch	watch[];
};

/* Further watches of an operation. */
struct twheel_file_watches {
	struct llist_node	node;
	struct twheel_watch	watch[];
};

/* device.c */
int __init twheel_device_init(void);
void twheel_device_exit(void);

/* file_op.c */
int twheel_file_op_add(struct twheel_file *file, const struct twheel_add_args *args,
		       u64 __user *id);
int twheel_file_op_watch(struct twheel_file *file, const struct twheel_watch_args *args);
struct twheel_file_op *twheel_file_op_get(struct twheel_file *file, u64 id);
void twheel_file_op_put(struct twheel_file_op *fop);
void twheel_file_op_forget(struct twheel_file_op *fop);

/* ioctl.c */
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* event.c */
void twheel_event_queue(struct twheel_file_op *fop);
ssize_t twheel_file_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t twheel_file_poll(struct file *file, struct poll_table_struct *wait);

#endif /* _TWHEEL_DEVICE_H */
