/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: operations added through a file, see file_op.c. */
#ifndef _TWHEEL_DEV_FILE_OP_H
#define _TWHEEL_DEV_FILE_OP_H

#include <linux/bits.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/twheel.h>

#include "instance.h"
#include "periodic.h"
#include "time.h"
#include "user.h"

struct twheel_events;
struct twheel_file;

/* Watches that a TWHEEL_IOC_WATCH added to an operation. */
struct twheel_watch_chunk {
	struct twheel_watch_chunk	*next;
	u32				nr;
	u32				used;
	struct twheel_watch		watch[];
};

/**
 * struct twheel_file_op - an operation added through a file
 * @op: the operation
 * @file: the file, which may be closed; immutable
 * @user: the adding user, charged for the operation; immutable
 * @events: its event queue; immutable
 * @id: set before the operation is visible to user space
 * @cookie: immutable
 * @entry: in the pending list of its event queue, from just before the add
 * @rcu: after the end of its life, unless it comes from a slab cache
 * @next: next operation on a list of events of that queue
 * @chunks: watches added after the operation
 * @ended: the operation has ended, and if it is not periodic, its end has been collected
 * @queued: there is an event to read, except the uncollected one of an operation that is not
 *	periodic
 * @reading: a reader is delivering the event
 * @clock: clock ID that the caller chose; immutable
 * @flags: TWHEEL_ADD_* and TWHEEL_FILE_OP_*; immutable
 * @watch: memory of the watches of the add
 *
 * @entry to @reading are protected by the lock of the event queue. The thread that pushes the
 * operation on ->fresh writes @next before that.
 *
 * The operation is its own event, so ending it needs no memory. The event queue holds a
 * reference from the add until the final event has been read.
 */
struct twheel_file_op {
	struct twheel_op		op;
	struct twheel_file		*file;
	struct twheel_user		*user;
	struct twheel_events		*events;
	u64				id;
	u64				cookie;
	union {
		struct list_head	entry;
		struct rcu_head		rcu;
	};
	struct twheel_file_op		*next;
	struct twheel_watch_chunk	*chunks;
	bool				ended;
	bool				queued;
	bool				reading;
	u8				clock;
	u32				flags;
	struct twheel_watch		watch[];
};

/* In addition to TWHEEL_ADD_*: struct twheel_file_periodic precedes the operation. */
#define TWHEEL_FILE_OP_PERIODIC	BIT(31)
/* The operation holds a reference to its user. */
#define TWHEEL_FILE_OP_USER		BIT(30)
/* By CLOCK_REALTIME: struct twheel_wall_part precedes the operation. */
#define TWHEEL_FILE_OP_WALL		BIT(29)

/**
 * struct twheel_file_wall - an operation by CLOCK_REALTIME
 * @part: for its timer
 * @file_op: the operation
 */
struct twheel_file_wall {
	struct twheel_wall_part	part;
	struct twheel_file_op	file_op;
};

static inline enum twheel_clock twheel_file_op_clock(const struct twheel_file_op *file_op)
{
	return twheel_wheel_clock(file_op->clock, file_op->flags);
}

/*
 * Offset of the caller's clock from the clock of the operation's wheel. That of a relative
 * deadline on CLOCK_REALTIME changes when this clock is set.
 */
static inline s64 twheel_file_op_offset(const struct twheel_file_op *file_op)
{
	return twheel_time_offset(file_op->clock, file_op->flags);
}

/* The periodic timer of an operation, or NULL. */
static inline struct twheel_file_periodic *twheel_file_op_periodic(struct twheel_file_op *file_op)
{
	if (likely(!(file_op->flags & TWHEEL_FILE_OP_PERIODIC)))
		return NULL;
	return (struct twheel_file_periodic *)file_op - 1;
}

/* The operation of a periodic timer. */
static inline struct twheel_file_op *twheel_periodic_file_op(struct twheel_file_periodic *periodic)
{
	return (struct twheel_file_op *)(periodic + 1);
}

static inline void twheel_file_op_put(struct twheel_file_op *file_op)
{
	twheel_op_put(&file_op->op);
}

int __init twheel_file_ops_init(void);
void twheel_file_ops_exit(void);
struct twheel_file_op *twheel_file_op_alloc(u32 nr_keys, bool periodic, bool wall);
void twheel_file_op_free(struct twheel_file_op *file_op);
struct twheel_watch_chunk *twheel_chunk_alloc(u32 nr);
void twheel_chunk_add(struct twheel_file_op *file_op, struct twheel_watch_chunk *chunk);
void twheel_chunk_release(struct twheel_file_op *file_op, struct twheel_watch_chunk *chunk, u32 nr);
struct twheel_watch_chunk *twheel_chunk_find(struct twheel_file_op *file_op,
					     const struct twheel_watch *watch);

#endif /* _TWHEEL_DEV_FILE_OP_H */
