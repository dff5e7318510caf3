/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: operations added through a file, see file_op.c. */
#ifndef _TWHEEL_DEV_FILE_OP_H
#define _TWHEEL_DEV_FILE_OP_H

#include <asm/barrier.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/stddef.h>
#include <linux/twheel.h>

#include "ids.h"
#include "instance.h"
#include "time.h"
#include "user.h"

struct twheel_events;

/**
 * struct twheel_file_op - an operation added through a file
 * @op: the operation
 * @leaf: its memory, which belongs to the file that it was added through; immutable
 * @events: its event queue; immutable
 * @id: set before the operation is visible to user space
 * @cookie: immutable
 * @next: next operation on a list of events of that queue
 * @chunks: watches added after the operation, see watch.c
 * @clock: clock ID that the caller chose; immutable
 * @again: its event was delivered before; belongs to the reader that has taken the event
 * @flags: TWHEEL_ADD_* and TWHEEL_FILE_OP_*; immutable
 * @watch: memory of the watches of the add
 *
 * The lock of the event queue protects @chunks; see queue.c for @next.
 *
 * The operation is its own event, so ending it needs no memory. The event queue holds a
 * reference from the add until the final event has been read.
 */
struct twheel_file_op {
	struct twheel_op		op;
	struct twheel_leaf		*leaf;
	struct twheel_events		*events;
	u64				id;
	u64				cookie;
	struct twheel_file_op		*next;
	struct hlist_head		chunks;
	u8				clock;
	bool				again;
	u32				flags;
	struct twheel_watch		watch[];
};

/**
 * struct twheel_file_periodic - the timer of a periodic operation, which follows in memory
 * @timer: armed if the operation is pending and has no event
 * @wheel: wheel of the timer; immutable
 * @expirations: expired periods that no delivered event has reported
 * @reported: those in the event that a reader has; 0 if it is the last one
 * @next: next deadline
 * @last: latest deadline that expired
 * @time: time at which the expiry of @last was noticed
 * @period: immutable
 * @runs: remaining periods, 0 for no limit
 * @fixed_delay: immutable
 * @ended: the operation has ended
 * @has_event: there is an event to read, or a reader has it
 * @part: for the timer of the operation, which has no deadline, by CLOCK_REALTIME
 *
 * The other fields are protected by the lock of the operation's event queue.
 */
struct twheel_file_periodic {
	struct twheel_wall_timer timer;
	struct twheel		*wheel;
	u64			expirations;
	u64			reported;
	u64			next;
	u64			last;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			ended;
	bool			has_event;
	struct twheel_wall_part	part __aligned(__alignof__(struct twheel_wall_timer));
};

/* @part precedes the operation, as it precedes a timer: with some space on 32-bit machines. */
static_assert(sizeof(struct twheel_file_periodic) - offsetof(struct twheel_file_periodic, part) ==
	      offsetof(struct twheel_wall_timer, timer));

/* In addition to TWHEEL_ADD_*: struct twheel_file_periodic precedes the operation. */
#define TWHEEL_FILE_OP_PERIODIC	BIT(31)
/* Its slot in the leaf */
#define TWHEEL_FILE_OP_SLOT		GENMASK(27, TWHEEL_FILE_OP_SLOT_SHIFT)
#define TWHEEL_FILE_OP_SLOT_SHIFT	24

/* There is a class of leaves for each number of keys below the last class, of single operations. */
#define TWHEEL_LEAF_SINGLE	9
#define TWHEEL_LEAF_CLASSES	(TWHEEL_LEAF_SINGLE + 1)

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

/* The file that it was added through, which may be closed. */
static inline struct twheel_file *twheel_file_op_file(const struct twheel_file_op *file_op)
{
	return file_op->leaf->file;
}

static inline u32 twheel_file_op_slot(const struct twheel_file_op *file_op)
{
	return (file_op->flags & TWHEEL_FILE_OP_SLOT) >> TWHEEL_FILE_OP_SLOT_SHIFT;
}

/* Set the id, after all other members. */
static inline void twheel_file_op_set_id(struct twheel_file_op *file_op, u64 id)
{
#ifdef CONFIG_64BIT
	/* Pairs with the acquire in file_op_id(). */
	smp_store_release(&file_op->id, id);
#else
	/* Pairs with the smp_rmb() in file_op_id(). */
	smp_wmb();
	WRITE_ONCE(file_op->id, id);
#endif
}

int __init twheel_leaves_init(void);
void twheel_leaves_exit(void);
struct twheel_leaf *twheel_leaf_alloc(u32 class, u32 nr_keys, size_t before);
void twheel_leaf_free(struct twheel_leaf *leaf);

#endif /* _TWHEEL_DEV_FILE_OP_H */
