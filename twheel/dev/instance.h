/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: what private and named purgatories share, see instance.c. */
#ifndef _TWHEEL_DEV_INSTANCE_H
#define _TWHEEL_DEV_INSTANCE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/xarray.h>

#include "ids.h"
#include "user.h"

struct module;

/* Upper bound of every limit on pending operations. */
#define TWHEEL_PENDING_MAX	BIT(24)

/**
 * struct twheel_attached - an object that another module has attached to an instance
 * @owner: the module; the instance has a reference, and drops it after @end
 * @end: called before the purgatory is destroyed; may sleep
 */
struct twheel_attached {
	struct module		*owner;
	void			(*end)(struct twheel_attached *attached);
};

/**
 * struct twheel_instance - a purgatory and the ids of its operations
 * @purgatory: immutable
 * @max_file_pending: limit on those added through one file; immutable
 * @max_queue: limit on the operations in a queue of detached ones, pending or unread; immutable
 * @ids: ids of its operations
 * @lock: protects @files, @nr_files and writes to @removed
 * @files: open files
 * @nr_files: number of open files
 * @removed: the name has been removed
 * @rejected: adds refused by limits other than the purgatory's, by error
 * @queues: queues of detached operations, by number
 * @name: name of a named purgatory, in @purgatory, otherwise NULL; immutable
 * @dev: device of a named purgatory, which contains the instance; immutable
 * @private: of a private one: in the list of its user; protected by the @private_lock of the user,
 *	like @counted
 * @counted: its totals when it was last counted
 * @attached: by the one module above this, or NULL; set once, by cmpxchg()
 * @complete_lock: serialises TWHEEL_COMPLETE_OTHERS: op/ would wait for an earlier call, and not
 *	notice that the task is killed
 */
struct twheel_instance {
	struct twheel_purgatory	*purgatory;
	u32			max_file_pending;
	u32			max_queue;
	struct twheel_ids	ids;
	spinlock_t		lock;	/* of files and removed */
	struct list_head	files;
	u32			nr_files;
	bool			removed;
	atomic64_t		rejected[TWHEEL_REJECTIONS];
	struct xarray		queues;
	const char		*name;
	struct device		*dev;
	struct list_head	private;
	u64			counted[TWHEEL_TOTALS];
	struct twheel_attached	*attached;
	struct mutex		complete_lock;	/* of TWHEEL_COMPLETE_OTHERS */
};

/*
 * Whether an array has no entry.  xa_empty() may be false after a store that failed: the nodes on
 * the way to the entry stay.
 */
static inline bool twheel_array_empty(struct xarray *array)
{
	unsigned long index = 0;

	return !xa_find(array, &index, ULONG_MAX, XA_PRESENT);
}

extern unsigned int twheel_max_pending;

int twheel_instance_init(struct twheel_instance *instance, const char *name, u32 max_pending,
			 u32 max_watches);
void twheel_instance_exit(struct twheel_instance *instance);
struct twheel_instance *twheel_instance_create(void);
void twheel_instance_put(struct twheel_instance *instance);
void twheel_instance_enter(struct twheel_instance *instance, struct twheel_user *user);
void twheel_instance_leave(struct twheel_instance *instance, struct twheel_user *user);
void twheel_instances_count(struct twheel_user *user);
void twheel_instance_reject(struct twheel_instance *instance, int err);
u64 twheel_instance_rejected(struct twheel_instance *instance, enum twheel_rejection rejection);

#endif /* _TWHEEL_DEV_INSTANCE_H */
