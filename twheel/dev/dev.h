/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 6: the character devices.  file.c has the overview.
 */
#ifndef _TWHEEL_DEV_DEV_H
#define _TWHEEL_DEV_DEV_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/* An id is a generation above an index of so many bits; the index is never 0. */
#define TWHEEL_INDEX_BITS	26

/* The maximum of every limit on pending operations. */
#define TWHEEL_PENDING_MAX	BIT(24)

struct fasync_struct;
struct iov_iter;
struct kiocb;
struct poll_table_struct;
struct seq_file;
struct twheel_file_watches;
struct twheel_named;

/**
 * struct twheel_user - limits and wheels of a user; see user.c
 * @uid: immutable
 * @ref: one for each file, each name, and each operation of another user's file
 * @files: open files
 * @ops: operations that are pending, unread, or still referenced
 * @names: named purgatories
 * @lock: protects creation and removal of @wheel, and @wakeups
 * @wheel: by clock; NULL while unused
 * @wakeups: reaper wake-ups of wheels that are gone
 * @idle: destroys the wheels when no operation is left
 */
struct twheel_user {
	kuid_t			uid;
	refcount_t		ref;
	atomic_t		files;
	atomic_t		ops;
	atomic_t		names;
	struct mutex		lock;	/* of the wheels */
	struct twheel		*wheel[TWHEEL_CLOCK_REALTIME + 1];
	u64			wakeups;
	struct delayed_work	idle;
};

/**
 * struct twheel_events - an event queue
 * @lock: protects the other fields but @readers and @async
 * @pending: its pending operations
 * @events: operations with an event to read, the oldest first
 * @nr_pending: number of pending operations, including adds under way
 * @unread: number of operations in @events
 * @held: @nr_pending and the operations that ended and have not been read
 * @shut: no operation is added any more; once @held is 0, read() returns 0
 * @readers: woken for each event
 * @async: receives SIGIO when the queue becomes non-empty
 *
 * Each file has one for the operations that were added through it, and a named
 * purgatory has one for its detached operations.
 */
struct twheel_events {
	spinlock_t		lock;	/* of the fields above */
	struct list_head	pending;
	struct list_head	events;
	u32			nr_pending;
	u32			unread;
	u32			held;
	bool			shut;
	wait_queue_head_t	readers;
	struct fasync_struct	*async;
};

/**
 * struct twheel_instance - a purgatory with the ids of its operations
 * @purgatory: immutable
 * @max_pending: limit on its pending operations; immutable
 * @max_file_pending: limit on those added through one file; immutable
 * @ops: all operations by index, the lower part of the id. Its lock protects
 *	the step from an index to a reference.
 * @generation: upper part of the latest id; protected by the lock of @ops
 * @lock: protects @files, @nr_files and writes to @gone
 * @files: open files
 * @nr_files: number of open files
 * @gone: the named purgatory has been removed
 * @rejected: number of adds refused by limits other than the purgatory's
 * @detached: event queue of the detached operations
 * @named: the named purgatory that contains this one, or NULL; immutable
 * @complete_lock: serialises TWHEEL_COMPLETE_OTHERS: the end of an operation looks at every walk
 *	under way, with softirqs off
 */
struct twheel_instance {
	struct twheel_purgatory	*purgatory;
	u32			max_pending;
	u32			max_file_pending;
	struct xarray		ops;
	u64			generation;
	spinlock_t		lock;	/* of files and gone */
	struct list_head	files;
	u32			nr_files;
	bool			gone;
	atomic64_t		rejected;
	struct twheel_events	detached;
	struct twheel_named	*named;
	struct mutex		complete_lock;	/* of TWHEEL_COMPLETE_OTHERS */
};

/**
 * struct twheel_file - an open file
 * @ref: one while it is open, and one for each operation added through it
 * @instance: immutable
 * @user: user who opened it; immutable
 * @own: event queue of the operations added through it
 * @queue: event queue to read: @own, or the detached events of the instance; immutable
 * @nr_detached: number of pending detached operations added through it;
 *	protected by the lock of @own, like the next
 * @held_detached: @nr_detached and those that ended and have not been read
 * @restricted: confined to its own operations; never cleared
 * @entry: in the files of the instance; protected by the lock of that
 */
struct twheel_file {
	refcount_t		ref;
	struct twheel_instance	*instance;
	struct twheel_user	*user;
	struct twheel_events	own;
	struct twheel_events	*queue;
	u32			nr_detached;
	u32			held_detached;
	bool			restricted;
	struct list_head	entry;
};

/**
 * struct twheel_file_periodic - the periods of a periodic operation
 * @periodic: timer
 * @wheel: wheel of the timer; immutable
 * @file_op: the operation, which follows in memory; immutable
 * @expirations: number of deadlines that passed and are in no event yet
 * @next: next deadline
 * @passed: latest deadline that passed
 * @time: time at which that was noticed
 * @period: immutable
 * @runs: number of expirations left, 0 for no limit
 * @fixed_delay: immutable
 * @paused: the timer does not run, because the event has not been read
 * @over: the last expiration has passed
 *
 * The other fields are protected by the lock of the operation's event queue.
 */
struct twheel_file_periodic {
	struct twheel_periodic	periodic;
	struct twheel		*wheel;
	struct twheel_file_op	*file_op;
	u64			expirations;
	u64			next;
	u64			passed;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			paused;
	bool			over;
};

/**
 * struct twheel_file_op - an operation added through a file
 * @op: the operation
 * @file: the file, which may be closed; immutable
 * @user: the user who added it and is charged for it; immutable
 * @id: set before user space learns it
 * @cookie: immutable
 * @entry: in the pending operations of its event queue; protected by the lock
 *	of that
 * @event: in the events of that queue while @queued; likewise
 * @more: memory of watches added later; likewise
 * @ended: likewise
 * @queued: there is an event to read; likewise
 * @reading: a reader is delivering the event; likewise
 * @clock: clock of the deadline; immutable
 * @flags: TWHEEL_ADD_* and TWHEEL_FOP_*; immutable
 * @watch: memory of the watches of the add
 *
 * An operation is its own event, so that its end needs no memory. The event queue
 * holds a reference from the add until the final event has been read.
 */
struct twheel_file_op {
	struct twheel_op		op;
	struct twheel_file		*file;
	struct twheel_user		*user;
	u64				id;
	u64				cookie;
	struct list_head		entry;
	struct list_head		event;
	struct twheel_file_watches	*more;
	bool				ended;
	bool				queued;
	bool				reading;
	u8				clock;
	u32				flags;
	struct twheel_watch		watch[];
};

/* Beside TWHEEL_ADD_*: struct twheel_file_periodic precedes it in memory. */
#define TWHEEL_FILE_OP_PERIODIC	BIT(31)
/* It holds a reference to its user. */
#define TWHEEL_FILE_OP_USER		BIT(30)

/* The event queue of an operation. */
static inline struct twheel_events *twheel_file_op_events(const struct twheel_file_op *file_op)
{
	struct twheel_file *file = file_op->file;

	return file_op->flags & TWHEEL_ADD_DETACHED ? &file->instance->detached : &file->own;
}

/* The periods of an operation, or NULL. */
static inline struct twheel_file_periodic *twheel_file_op_periodic(struct twheel_file_op *file_op)
{
	if (likely(!(file_op->flags & TWHEEL_FILE_OP_PERIODIC)))
		return NULL;
	return (struct twheel_file_periodic *)file_op - 1;
}

/* Number of keys that fit into struct twheel_ioctl. */
#define TWHEEL_CALL_KEYS	4

/**
 * struct twheel_ioctl - an ioctl under way
 * @file: the open file; NULL on the control node
 * @few: room for a few keys
 * @many: room for TWHEEL_MAX_KEYS, allocated when needed and freed at the end
 * @opened: new file whose descriptor the ioctl returns, or NULL
 */
struct twheel_ioctl {
	struct twheel_file		*file;
	struct twheel_watch_spec	few[TWHEEL_CALL_KEYS];
	struct twheel_watch_spec	*many;
	struct file			*opened;
};

/* The structure of a call. */
union twheel_call_args {
	struct twheel_add_args		add;
	struct twheel_cancel_args	cancel;
	struct twheel_complete_args	complete;
	struct twheel_rearm_args	rearm;
	struct twheel_watch_args	watch;
	struct twheel_unwatch_args	unwatch;
	struct twheel_signal_args	signal;
	struct twheel_cancel_key_args	cancel_key;
	struct twheel_batch_args	batch;
	struct twheel_complete_all_args	complete_all;
	struct twheel_drain_args	drain;
	struct twheel_events_args	events;
	struct twheel_restrict_args	restrict_file;
	struct twheel_info_args		info;
	struct twheel_list_args		list;
	struct twheel_query_args	query;
	struct twheel_create_args	create;
	struct twheel_remove_args	remove;
};

/* file.c */
int __init twheel_device_init(void);
void twheel_device_exit(void);
extern unsigned int twheel_max_pending;
extern struct workqueue_struct *twheel_wq;

/* user.c */
int __init twheel_users_check(void);
void twheel_users_exit(void);
struct twheel_user *twheel_user_get(void);
void twheel_user_put(struct twheel_user *user);
int twheel_user_charge_file(struct twheel_user *user);
void twheel_user_uncharge_file(struct twheel_user *user);
int twheel_user_charge_name(struct twheel_user *user);
void twheel_user_uncharge_name(struct twheel_user *user);
int twheel_user_charge_op(struct twheel_user *user);
void twheel_user_uncharge_op(struct twheel_user *user);
struct twheel *twheel_user_wheel(struct twheel_user *user, enum twheel_clock clock);
u64 twheel_user_wakeups(struct twheel_user *user);

/* file.c */
extern const struct file_operations twheel_file_fops;
int twheel_instance_init(struct twheel_instance *instance, const char *name, u32 max_pending,
			 u32 max_watches);
void twheel_instance_exit(struct twheel_instance *instance);
struct twheel_file *twheel_file_create(struct twheel_instance *instance);
void twheel_file_free(struct twheel_file *file);
void twheel_file_put(struct twheel_file *file);
int twheel_file_charge(struct twheel_file *file, bool detached);
void twheel_file_ended(struct twheel_file *file);
void twheel_file_uncharge(struct twheel_file *file, bool detached, u32 pending, u32 nr);
int twheel_call_events(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_restrict(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args);
void twheel_instance_query(struct twheel_instance *instance, const struct twheel_events *own,
			   struct twheel_query_args *query);

/* event.c */
void twheel_events_init(struct twheel_events *events);
void twheel_events_shut(struct twheel_events *events);
void twheel_events_uncharge(struct twheel_events *events, u32 pending, u32 nr);
void twheel_events_empty(struct twheel_events *events);
u32 twheel_events_end_all(struct twheel_events *events, enum twheel_reason reason, int error,
			  u64 value, unsigned int flags);
bool twheel_event_queue(struct twheel_file_op *file_op);
void twheel_events_wake(struct twheel_events *events, bool signal);
void twheel_event_ended(struct twheel_file_op *file_op);
ssize_t twheel_events_read(struct twheel_events *events, struct kiocb *iocb, struct iov_iter *to);
__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait);

/* op.c */
struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id);
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index);
void twheel_file_op_put(struct twheel_file_op *file_op);
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr);
int twheel_file_ops_init(void);
void twheel_file_ops_exit(void);
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args);

/* periodic.c */
int twheel_file_periodic_check(const struct twheel_add_args *args);
void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       const struct twheel_add_args *args, u64 deadline);
void twheel_file_periodic_start(struct twheel_file_periodic *periodic);
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic);
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic);
void twheel_file_periodic_fill(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event);

/* op.c */
const struct twheel_watch_spec *twheel_call_specs(struct twheel_ioctl *call, u64 keys, u32 nr_keys,
						  u32 key_size);
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call);
void twheel_file_watches_free(struct twheel_file_op *file_op);
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args);

/* op.c */
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args);

/* list.c */
int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args);

/* ioctl.c */
int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args);

/* ioctl.c */
int twheel_entry_read(void *to, size_t known, u64 array, u32 index, u32 size);
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known);
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id);
int twheel_call_command(struct twheel_ioctl *call, struct twheel_command *command, u64 *value);
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* named.c */
int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_instance *twheel_named_open(struct inode *inode);
void twheel_named_put(struct twheel_named *named);
void twheel_named_get(struct twheel_named *named);
const char *twheel_named_name(const struct twheel_named *named);
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args);

/* op.c */
u64 twheel_time_to_host(enum twheel_clock clock, u64 ns);
u64 twheel_time_from_host(enum twheel_clock clock, u64 ns);
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns);

/* Layer 6: named purgatories. See named.c. */

/**
 * struct twheel_named - a named purgatory
 * @instance: the purgatory
 * @dev: its device, whose references are those to all of this
 * @cdev: its character device
 * @entry: in all_named; protected by named_lock
 * @name: immutable
 * @max_watches: immutable
 * @creator: user who may remove it; immutable
 * @uid: owner of the node at its creation; immutable
 * @gid: group of the node; immutable
 * @mode: permissions of the node; immutable
 * @end: ends it after the name was taken away
 * @ended: by @end
 * @cancelled: number of operations that @end cancelled
 */
struct twheel_named {
	struct twheel_instance	instance;
	struct device		dev;
	struct cdev		cdev;
	struct list_head	entry;
	char			name[TWHEEL_NAME_SIZE];
	u32			max_watches;
	struct twheel_user	*creator;
	kuid_t			uid;
	kgid_t			gid;
	umode_t			mode;
	struct work_struct	end;
	struct completion	ended;
	u32			cancelled;
};

static inline struct twheel_named *to_twheel_named(struct device *dev)
{
	return container_of(dev, struct twheel_named, dev);
}

/* named.c */
extern const struct attribute_group *twheel_named_groups[];

#endif /* _TWHEEL_DEV_DEV_H */
