/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: the open file of an operation, see file.c. */
#ifndef _TWHEEL_DEV_FILE_H
#define _TWHEEL_DEV_FILE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/twheel.h>

#include "args.h"
#include "instance.h"
#include "queue.h"
#include "user.h"

struct vm_area_struct;

/**
 * struct twheel_cells - the cells of a file, immutable
 * @user: is charged for the pages
 * @nr: number of pages
 * @page: the pages
 */
struct twheel_cells {
	struct twheel_user	*user;
	u32			nr;
	struct page		*page[];
};

/**
 * struct twheel_file - an open file
 * @ref: one while the file is open, and one per leaf
 * @rights: TWHEEL_RIGHT_*; bits are only cleared, with the lock of @own held
 * @instance: immutable
 * @user: the opener; immutable
 * @detached: queue of detached operations that it delivers, as a user of it, or NULL; immutable
 * @reader: its unconfirmed events, or NULL if it confirms none; immutable
 * @nr_detached: number of pending detached operations added through it;
 *	incremented with the lock of @own held
 * @held_detached: @nr_detached plus the ended ones with an unread final event; likewise
 * @entry: in the instance's files; protected by the lock of the instance
 * @nr_leaves: number of @leaves; protected by the lock of @own, like the other members up to @own
 * @nr_empty: number of those without operations
 * @leaves: memory of the operations added through it, oldest first
 * @partial: those with free slots, by class
 * @cells: set once, or NULL
 * @own: event queue of these operations, except detached ones
 */
struct twheel_file {
	refcount_t		ref;
	u32			rights;
	struct twheel_instance	*instance;
	struct twheel_user	*user;
	struct twheel_detached	*detached;
	struct twheel_reader	*reader;
	atomic_t		nr_detached;
	atomic_t		held_detached;
	struct list_head	entry;
	u32			nr_leaves;
	u32			nr_empty;
	struct list_head	leaves;
	struct list_head	partial[TWHEEL_LEAF_CLASSES];
	struct twheel_cells	*cells;
	struct twheel_events	own;
};

#define TWHEEL_RIGHTS	(TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_ADD_DETACHED | TWHEEL_RIGHT_WATCH | \
			 TWHEEL_RIGHT_SIGNAL | TWHEEL_RIGHT_END | TWHEEL_RIGHT_REARM | \
			 TWHEEL_RIGHT_DRAIN | TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY)

/* In addition to TWHEEL_RIGHT_*, of a file that is not restricted: operations of other files. */
#define TWHEEL_RIGHT_OTHERS	BIT(31)

/* Rights of a task that can write to cells. */
#define TWHEEL_RIGHTS_CELLS	(TWHEEL_RIGHT_REARM | TWHEEL_RIGHT_END)

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

int __init twheel_leaves_init(void);
void twheel_leaves_exit(void);
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index);
void twheel_file_put(struct twheel_file *file);
void twheel_file_op_release(struct twheel_op *op);
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr);
struct twheel_file_op *twheel_file_next_op(struct twheel_file *file,
					   struct twheel_file_op *file_op, u32 *leaves);
void twheel_file_free_leaves(struct twheel_file *file);
void twheel_chunks_free(struct twheel_file_op *file_op);
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id);

/* cells.c */
atomic64_t *twheel_cell_find(const struct twheel_file *file, u32 number);
void twheel_cells_free(struct twheel_cells *cells);
int twheel_cells_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* _TWHEEL_DEV_FILE_H */
