/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the open file of an operation, see file.c. */
#ifndef _TWHEEL_DEV_FILE_H
#define _TWHEEL_DEV_FILE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/twheel.h>

#include "args.h"
#include "detached.h"
#include "file_op.h"
#include "instance.h"
#include "queue.h"
#include "user.h"

/**
 * struct twheel_file - an open file
 * @ref: one while the file is open, and one per operation added through it
 * @rights: TWHEEL_RIGHT_*; bits are only cleared, with the lock of @own held
 * @instance: immutable
 * @user: the opener; immutable
 * @detached: queue of detached operations that it delivers, as a user of it, or NULL; immutable
 * @shard: of the ids of its operations, from the first add on; otherwise TWHEEL_NO_SHARD; written
 *	under the lock of the instance
 * @nr_detached: number of pending detached operations added through it;
 *	incremented with the lock of @own held
 * @held_detached: @nr_detached plus the ended ones with an unread final event; likewise
 * @entry: in the instance's files; protected by the lock of the instance
 * @own: event queue of the operations added through it
 */
struct twheel_file {
	refcount_t		ref;
	u32			rights;
	u32			shard;
	struct twheel_instance	*instance;
	struct twheel_user	*user;
	struct twheel_detached	*detached;
	atomic_t		nr_detached;
	atomic_t		held_detached;
	struct list_head	entry;
	struct twheel_events	own;
};

#define TWHEEL_RIGHTS	(TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_ADD_DETACHED | TWHEEL_RIGHT_WATCH | \
			 TWHEEL_RIGHT_SIGNAL | TWHEEL_RIGHT_END | TWHEEL_RIGHT_REARM | \
			 TWHEEL_RIGHT_DRAIN | TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY)

/* In addition to TWHEEL_RIGHT_*, of a file that is not restricted: operations of other files. */
#define TWHEEL_RIGHT_OTHERS	BIT(31)

/* A call in progress may see the rights before a restriction, see twheel_call_restrict(). */
static inline bool twheel_file_may(const struct twheel_file *file, u32 rights)
{
	return !(rights & ~READ_ONCE(file->rights));
}

/* The event queue that read() uses. */
static inline struct twheel_events *twheel_file_queue(struct twheel_file *file)
{
	return unlikely(file->detached) ? &file->detached->events : &file->own;
}

u32 twheel_file_choose_shard(struct twheel_file *file);

#define TWHEEL_NO_SHARD		U32_MAX

/* The shard of a file that adds an operation: a number, which is written once. */
static inline u32 twheel_file_shard(struct twheel_file *file)
{
	u32 shard = READ_ONCE(file->shard);

	return likely(shard != TWHEEL_NO_SHARD) ? shard : twheel_file_choose_shard(file);
}

struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id);
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index);
void twheel_file_put(struct twheel_file *file);
void twheel_file_op_release(struct twheel_op *op);
void twheel_file_ops_put(struct twheel_file_op **file_ops, u32 nr);
int __twheel_file_check(struct twheel_file *file, bool detached);
int twheel_detached_check(const struct twheel_instance *instance,
			  const struct twheel_events *events);
int twheel_file_op_charge(struct twheel_file_op *file_op);
void twheel_file_op_not_pending(struct twheel_file_op *file_op);
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id);

/*
 * Check the limits of a file without a charge, so that an add beyond one costs little. Usually the
 * file has fewer operations than may be pending, and the charge checks them once.
 */
static inline int twheel_file_check(struct twheel_file *file, bool detached)
{
	const struct twheel_events *own = &file->own;

	if (likely(!detached && !READ_ONCE(own->shut) &&
		   READ_ONCE(own->held) < file->instance->max_file_pending))
		return 0;
	return __twheel_file_check(file, detached);
}

#endif /* _TWHEEL_DEV_FILE_H */
