/* SPDX-License-Identifier: GPL-2.0 */
/* Character devices: see file.c for the overview, references and locking. */
#ifndef _TWHEEL_DEV_DEV_H
#define _TWHEEL_DEV_DEV_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/time.h>
#include <linux/twheel.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "../core/twheel.h"

/* The low bits of an id are the index, which is never 0; the rest is a generation. */
#define TWHEEL_INDEX_BITS	26

/* Upper bound of every limit on pending operations. */
#define TWHEEL_PENDING_MAX	BIT(24)

/* For all memory that users can multiply. */
#define TWHEEL_GFP_USER		(GFP_KERNEL | TWHEEL_GFP_ACCOUNT)

struct fasync_struct;
struct iov_iter;
struct kiocb;
struct poll_table_struct;
struct twheel_named;
struct twheel_watch_chunk;

/* Limits of a user: open files, operations that have not been freed, and named purgatories. */
enum twheel_user_limit {
	TWHEEL_USER_FILES,
	TWHEEL_USER_OPS,
	TWHEEL_USER_NAMES,
	TWHEEL_USER_LIMITS,
};

/**
 * struct twheel_user - limits and wheels of a user
 * @uid: immutable, like @array to @owner
 * @array: the array that it is in
 * @key: its index there
 * @ns: the user namespace that it stands for, with a reference, or NULL
 * @owner: charged for it as well, with a reference, or NULL
 * @ids: users that it is the owner of
 * @ref: one per file, per name, per user in @ids, and per operation added by another user than the
 *	opener
 * @nr: what counts towards each limit
 * @lock: serialises creation and removal of @wheel; protects @wakeups
 * @wheel: by clock; NULL while unused
 * @wakeups: reaper wake-ups of destroyed wheels
 * @idle: destroys the wheels when there are no operations
 * @share: in each reaper, unless it has an owner
 */
struct twheel_user {
	kuid_t			uid;
	struct xarray		*array;
	unsigned long		key;
	struct user_namespace	*ns;
	struct twheel_user	*owner;
	struct xarray		ids;
	refcount_t		ref;
	atomic_t		nr[TWHEEL_USER_LIMITS];
	struct mutex		lock;	/* of the wheels */
	struct twheel		*wheel[TWHEEL_CLOCK_REALTIME + 1];
	u64			wakeups;
	struct delayed_work	idle;
	struct twheel_share	share[];
};

/**
 * struct twheel_events - an event queue
 * @lock: protects all fields up to @fresh
 * @nr_pending: number of pending operations, including adds in progress and uncollected ends
 * @unread: number of operations on @events and @collected
 * @held: number of operations that are charged: pending, or with an unread final event
 * @shut: adds are refused; read() returns 0 once @held is 0
 * @closed: @wake_work must not be queued
 * @wake: wake-ups for @wake_work
 * @pending: list of pending operations, including those on @fresh and @rest
 * @events: operations with an event to read, oldest first
 * @rest: operations that have been taken from @fresh, newest first
 * @collected: operations from the head of @rest, oldest first; appended to @events when @rest
 *	is empty
 * @fresh: operations with a new event, newest first; pushed without the lock. NULL if and only
 *	if no event can be read.
 * @waiters: threads in read(), and pollers
 * @async: files that receive SIGIO when the queue becomes non-empty
 * @nr_async: number of these files
 * @wake_work: wakes many waiters, and sends SIGIO
 * @waking: wake-ups in progress; used by @wake_work only
 * @mark: last visited waiter; used by @wake_work only
 *
 * Each file has a queue for the operations added through it. A named purgatory has numbered ones
 * for its detached operations.
 */
struct twheel_events {
	spinlock_t		lock;	/* of the fields up to fresh */
	u32			nr_pending;
	u32			unread;
	u32			held;
	bool			shut;
	bool			closed;
	u8			wake;
	struct list_head	pending;
	struct list_head	events;
	struct twheel_file_op	*rest;
	struct list_head	collected;
	/* Written by each end of an operation; apart from the members above. */
	struct twheel_file_op	*fresh ____cacheline_aligned_in_smp;
	wait_queue_head_t	waiters;
	struct fasync_struct	*async;
	atomic_t		nr_async;
	struct work_struct	wake_work;
	u32			waking;
	wait_queue_entry_t	mark;
};

/**
 * struct twheel_detached - a queue of detached operations
 * @events: the queue
 * @number: its index in the queues of the instance; immutable
 * @users: descriptors, and operations that are charged; protected by the lock of these queues
 * @ref: one while it has users, and one per operation in memory
 */
struct twheel_detached {
	struct twheel_events	events;
	u32			number;
	u32			users;
	struct kref		ref;
};

/* Errors of adds at a limit, which are counted separately. */
enum twheel_rejection {
	TWHEEL_REJECTED_ENOSPC,
	TWHEEL_REJECTED_ENOBUFS,
	TWHEEL_REJECTED_EDQUOT,
	TWHEEL_REJECTIONS,
};

/**
 * struct twheel_instance - a purgatory and the ids of its operations
 * @purgatory: immutable
 * @max_pending: limit on its pending operations; immutable
 * @max_file_pending: limit on those added through one file; immutable
 * @max_queue: limit on the operations in a queue of detached ones, pending or unread; immutable
 * @ops: operations by index; its lock is held from a lookup until the reference is taken
 * @generation: generation of the latest id; protected by the lock of @ops
 * @lock: protects @files, @nr_files and writes to @removed
 * @files: open files
 * @nr_files: number of open files
 * @removed: the name has been removed
 * @rejected: adds refused by limits other than the purgatory's, by error
 * @queues: queues of detached operations, by number
 * @named: the named purgatory that contains this instance, or NULL; immutable
 * @complete_lock: serialises TWHEEL_COMPLETE_OTHERS. Ending an operation visits every
 *	iterator in progress with softirqs off, so their number must be bounded.
 */
struct twheel_instance {
	struct twheel_purgatory	*purgatory;
	u32			max_pending;
	u32			max_file_pending;
	u32			max_queue;
	struct xarray		ops;
	u64			generation;
	spinlock_t		lock;	/* of files and removed */
	struct list_head	files;
	u32			nr_files;
	bool			removed;
	atomic64_t		rejected[TWHEEL_REJECTIONS];
	struct xarray		queues;
	struct twheel_named	*named;
	struct mutex		complete_lock;	/* of TWHEEL_COMPLETE_OTHERS */
};

/**
 * struct twheel_named - a named purgatory
 * @instance: the purgatory
 * @dev: its device; holds the reference count of the structure
 * @cdev: its character device
 * @entry: in all_named; protected by named_lock
 * @name: immutable
 * @max_watches: immutable
 * @creator: the user allowed to remove it; immutable
 * @uid: initial owner of the node; immutable
 * @gid: initial group of the node; immutable
 * @mode: initial permissions of the node; immutable
 * @end: cancels all operations after the name was removed
 * @ended: completed by @end
 * @cancelled: number of operations cancelled by @end
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

/**
 * struct twheel_file - an open file
 * @ref: one while the file is open, and one per operation added through it
 * @rights: TWHEEL_RIGHT_*; bits are only cleared, with the lock of @own held
 * @instance: immutable
 * @user: the opener; immutable
 * @detached: queue of detached operations that it delivers, as a user of it, or NULL; immutable
 * @nr_detached: number of pending detached operations added through it;
 *	incremented with the lock of @own held
 * @held_detached: @nr_detached plus the ended ones with an unread final event; likewise
 * @entry: in the instance's files; protected by the lock of the instance
 * @own: event queue of the operations added through it
 */
struct twheel_file {
	refcount_t		ref;
	u32			rights;
	struct twheel_instance	*instance;
	struct twheel_user	*user;
	struct twheel_detached	*detached;
	atomic_t		nr_detached;
	atomic_t		held_detached;
	struct list_head	entry;
	struct twheel_events	own;
};

/**
 * struct twheel_file_periodic - the timer of a periodic operation
 * @periodic: the timer
 * @wheel: wheel of the timer; immutable
 * @file_op: the operation, which follows in memory; immutable
 * @expirations: expired periods not yet reported by a delivered event
 * @next: next deadline
 * @last: latest deadline that expired
 * @time: time at which the expiry of @last was noticed
 * @period: immutable
 * @runs: remaining periods, 0 for no limit
 * @fixed_delay: immutable
 * @paused: the timer is stopped because the event has not been read
 * @finished: the last expiration has been counted
 *
 * The other fields are protected by the lock of the operation's event queue.
 */
struct twheel_file_periodic {
	struct twheel_periodic	periodic;
	struct twheel		*wheel;
	struct twheel_file_op	*file_op;
	u64			expirations;
	u64			next;
	u64			last;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			paused;
	bool			finished;
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
 * @event: in the event list of that queue while @queued
 * @next: next operation on ->fresh or ->rest of that queue, before @event
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
	struct list_head		entry;
	union {
		struct list_head	event;
		struct twheel_file_op	*next;
	};
	struct twheel_watch_chunk	*chunks;
	bool				ended;
	bool				queued;
	bool				reading;
	u8				clock;
	u32				flags;
	struct twheel_watch		watch[];
};

#define TWHEEL_RIGHTS	(TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_ADD_DETACHED | TWHEEL_RIGHT_WATCH | \
			 TWHEEL_RIGHT_SIGNAL | TWHEEL_RIGHT_END | TWHEEL_RIGHT_REARM | \
			 TWHEEL_RIGHT_DRAIN | TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY)

/* In addition to TWHEEL_RIGHT_*, of a file that is not restricted: operations of other files. */
#define TWHEEL_RIGHT_OTHERS	BIT(31)

static inline bool twheel_file_may(const struct twheel_file *file, u32 rights)
{
	return !(rights & ~READ_ONCE(file->rights));
}

/* In addition to TWHEEL_ADD_*: struct twheel_file_periodic precedes the operation. */
#define TWHEEL_FILE_OP_PERIODIC	BIT(31)
/* The operation holds a reference to its user. */
#define TWHEEL_FILE_OP_USER		BIT(30)

/*
 * The clock of the wheel of an operation, or -EINVAL. As for POSIX timers, setting CLOCK_REALTIME
 * does not move a relative deadline on it, so this counts on CLOCK_MONOTONIC.
 */
static inline int twheel_wheel_clock(u32 clock, u32 flags)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
		return TWHEEL_CLOCK_MONOTONIC;
	case CLOCK_BOOTTIME:
		return TWHEEL_CLOCK_BOOTTIME;
	case CLOCK_REALTIME:
		return flags & TWHEEL_ADD_ABSTIME ? TWHEEL_CLOCK_REALTIME : TWHEEL_CLOCK_MONOTONIC;
	default:
		return -EINVAL;
	}
}

static inline enum twheel_clock twheel_file_op_clock(const struct twheel_file_op *file_op)
{
	return twheel_wheel_clock(file_op->clock, file_op->flags);
}

/* The queue of a detached operation. */
static inline struct twheel_detached *twheel_file_op_detached(const struct twheel_file_op *file_op)
{
	return container_of(file_op->events, struct twheel_detached, events);
}

/*
 * Whether an array has no entry.  xa_empty() may be false after a store that failed: the nodes on
 * the way to the entry stay.
 */
static inline bool twheel_array_empty(struct xarray *array)
{
	unsigned long index = 0;

	return !xa_find(array, &index, ULONG_MAX, XA_PRESENT);
}

/* The event queue that read() uses. */
static inline struct twheel_events *twheel_file_queue(struct twheel_file *file)
{
	return unlikely(file->detached) ? &file->detached->events : &file->own;
}

/* The periodic timer of an operation, or NULL. */
static inline struct twheel_file_periodic *twheel_file_op_periodic(struct twheel_file_op *file_op)
{
	if (likely(!(file_op->flags & TWHEEL_FILE_OP_PERIODIC)))
		return NULL;
	return (struct twheel_file_periodic *)file_op - 1;
}

static inline void twheel_file_op_put(struct twheel_file_op *file_op)
{
	twheel_op_put(&file_op->op);
}

/* Number of keys that fit into struct twheel_ioctl. */
#define TWHEEL_CALL_KEYS	4

/**
 * struct twheel_ioctl - an ioctl in progress
 * @file: the open file; NULL on the control node
 * @readable: it is open for reading
 * @few: keys, if there are at most TWHEEL_CALL_KEYS
 * @many: array of TWHEEL_MAX_KEYS, allocated on demand and freed at the end of the ioctl
 * @opened: new file to install in the returned descriptor, or NULL
 */
struct twheel_ioctl {
	struct twheel_file		*file;
	bool				readable;
	struct twheel_watch_spec	few[TWHEEL_CALL_KEYS];
	struct twheel_watch_spec	*many;
	struct file			*opened;
};

/* The argument structures of all calls. */
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
extern unsigned int twheel_max_pending;
extern struct workqueue_struct *twheel_wq;
extern struct workqueue_struct *twheel_wake_wq;
extern const struct file_operations twheel_file_fops;
int __init twheel_device_init(void);
void twheel_device_exit(void);
int twheel_instance_init(struct twheel_instance *instance, const char *name, u32 max_pending,
			 u32 max_watches);
void twheel_instance_exit(struct twheel_instance *instance);
u64 twheel_instance_rejected(struct twheel_instance *instance, enum twheel_rejection rejection);
void twheel_instance_query(struct twheel_instance *instance, struct twheel_file *file,
			   struct twheel_query_args *query);
void twheel_instance_query_detached(struct twheel_instance *instance,
				    struct twheel_query_args *query);
struct file *twheel_file_anon(struct twheel_instance *instance, struct twheel_detached *detached,
			      int flags);
void twheel_file_put(struct twheel_file *file);
int twheel_call_events(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_restrict(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args);

/* event.c */
void twheel_events_init(struct twheel_events *events);
bool twheel_events_collect(struct twheel_events *events);
void twheel_events_collect_all(struct twheel_events *events, unsigned int flags);
void twheel_events_shut(struct twheel_events *events);
void twheel_events_close(struct twheel_events *events);
void twheel_events_uncharge(struct twheel_events *events, u32 nr);
void twheel_events_empty(struct twheel_events *events);
u32 twheel_events_end_all(struct twheel_events *events, enum twheel_reason reason, int error,
			  u64 value, unsigned int flags);
bool twheel_event_queue(struct twheel_file_op *file_op);
void twheel_event_wake(struct twheel_events *events, bool was_empty);
void twheel_event_ended(struct twheel_file_op *file_op);
ssize_t twheel_events_read(struct twheel_events *events, struct kiocb *iocb, struct iov_iter *to);
__poll_t twheel_events_poll(struct twheel_events *events, struct file *file,
			    struct poll_table_struct *wait);
int twheel_events_fionread(struct twheel_events *events, int __user *to);
int twheel_events_fasync(struct twheel_events *events, int fd, struct file *file, int on);

/* detached.c */
bool twheel_detached_valid(const struct twheel_instance *instance, u32 number);
struct twheel_detached *twheel_detached_get(struct twheel_instance *instance, u32 number);
void twheel_detached_put(struct twheel_instance *instance, struct twheel_detached *detached,
			 u32 nr);
void twheel_detached_free(struct twheel_detached *detached);
void twheel_detached_visit(struct twheel_instance *instance,
			   bool (*visit)(struct twheel_events *events, void *data), void *data);

/* op.c */
int __init twheel_file_ops_init(void);
void twheel_file_ops_exit(void);
struct twheel_file_op *twheel_file_op_get(struct twheel_instance *instance, u64 id);
struct twheel_file_op *twheel_file_op_next(struct twheel_instance *instance, unsigned long *index);
void twheel_file_ops_forget(struct twheel_file_op **file_ops, u32 nr);
s64 twheel_file_op_offset(const struct twheel_file_op *file_op);
u64 twheel_time_shift(u64 ns, s64 offset);
u64 twheel_time_after(enum twheel_clock clock, u64 delay_ns);
struct twheel_watch_spec *twheel_call_keys(struct twheel_ioctl *call);
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args);

/* periodic.c */
void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       const struct twheel_add_args *args, u64 deadline);
void twheel_file_periodic_start(struct twheel_file_periodic *periodic);
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic);
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic);
void twheel_file_periodic_fill(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event);

/* list.c */
int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args);

/* ioctl.c */
u32 twheel_entries_read(void *to, size_t known, u64 array, u32 index, u32 nr, u32 size, int *err);
int twheel_entry_write(u64 array, u32 index, u32 size, const void *from, size_t known);
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id);
int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args);
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_events_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long twheel_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* named.c */
int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_instance *twheel_named_open(struct inode *inode);
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args);

/*
 * The user that a call is charged to and judged by. It is the owner of the files that the task
 * creates, and follows the effective user ID: the real one of a set-user-ID program is not the
 * user that it acts for.
 */
static inline kuid_t twheel_caller_uid(void)
{
	return current_fsuid();
}

/* user.c */
int __init twheel_users_check(void);
void twheel_users_exit(void);
struct twheel_user *twheel_user_get(void);
void twheel_user_put(struct twheel_user *user);
bool twheel_user_is_caller(const struct twheel_user *user);
int twheel_user_charge(struct twheel_user *user, enum twheel_user_limit limit);
void twheel_user_uncharge(struct twheel_user *user, enum twheel_user_limit limit);
struct twheel *twheel_user_wheel(struct twheel_user *user, enum twheel_clock clock);
void twheel_users_query(struct twheel_query_args *query);

#endif /* _TWHEEL_DEV_DEV_H */
