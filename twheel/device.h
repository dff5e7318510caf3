/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 6: the character devices.  device.c says what there is and who holds what.
 */
#ifndef _TWHEEL_DEVICE_H
#define _TWHEEL_DEVICE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/twheel.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/xarray.h>

/* An id is a generation above an index of so many bits, which is never 0. */
#define TWHEEL_INDEX_BITS	26

/* The most that any limit on pending operations may be set to. */
#define TWHEEL_PENDING_MAX	BIT(24)

struct seq_file;
struct twheel_file_watches;
struct twheel_named;

/**
 * struct twheel_user - what a user has in all files; see users.c
 * @uid: who; immutable
 * @ref: one for each open file, and for each detached operation
 * @files: open files
 * @ops: operations that wait, and events that nobody has read
 */
struct twheel_user {
	kuid_t		uid;
	refcount_t	ref;
	atomic_t	files;
	atomic_t	ops;
};

/**
 * struct twheel_share - what all who open a node share: a purgatory, and its ids
 * @purgatory: where the operations wait; immutable
 * @max_pending: how many may; immutable
 * @ops: all of them by index, the lower part of an id; its lock protects the
 *	way from there to a reference
 * @generation: the upper part of the id given last; protected by @ops' lock
 * @lock: protects @files, @nr_files and the setting of @gone
 * @files: those that are open
 * @nr_files: how many there are
 * @gone: the purgatory has been removed
 * @rejected: adds refused by limits that are not the purgatory's own
 * @named: of which this is a part, or NULL; immutable
 */
struct twheel_share {
	struct twheel_purgatory	*purgatory;
	u32			max_pending;
	struct xarray		ops;
	u64			generation;
	spinlock_t		lock;	/* of files and gone */
	struct list_head	files;
	u32			nr_files;
	bool			gone;
	atomic64_t		rejected;
	struct twheel_named	*named;
};

/**
 * struct twheel_box - the operations of one owner, and the events of their ends
 * @share: of which node the owner is; immutable
 * @max_pending: how many may wait at a time; immutable
 * @lock: protects the rest but @readers and @async
 * @pending: those that wait
 * @events: those of which there is something to tell, the oldest first
 * @nr_pending: how many wait, or are just being added
 * @unread: how many there are in @events
 * @held: @nr_pending, and those that have ended and are not read; twice
 *	@max_pending at the most
 * @shut: nothing is added any more, and a read that finds nothing is at the end
 * @readers: woken for each event
 * @async: who gets SIGIO
 *
 * An open file has one, and a named purgatory one for its detached operations.
 */
struct twheel_box {
	struct twheel_share	*share;
	u32			max_pending;
	spinlock_t		lock;	/* of what follows */
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
 * struct twheel_file - an open file
 * @share: what it is open on; immutable
 * @box: whose events it reads and where it adds: @own, until it is made to read
 *	the detached ones
 * @own: the operations added through it
 * @user: who opened it; immutable
 * @entry: in the files of its share; protected by that one's lock
 * @ref: one while it is open, and one for each operation in @own, which others may
 *	still be looking at when it is closed
 */
struct twheel_file {
	refcount_t		ref;
	struct twheel_share	*share;
	struct twheel_box	*box;
	struct twheel_box	own;
	struct twheel_user	*user;
	struct list_head	entry;
};

/**
 * struct twheel_file_periodic - what a periodic operation has besides
 * @periodic: brings the periods about
 * @wheel: that is on; immutable
 * @fop: the operation, which follows it in memory; immutable
 * @expirations: periods that no event has told of
 * @next: the deadline that comes next
 * @passed: the deadline that passed last
 * @time: when that was noticed
 * @period: immutable
 * @runs: how many are left, 0 for any number
 * @fixed_delay: immutable
 * @paused: it does not run, since its event has not been read
 *
 * What is not immutable is protected by the lock of the operation's box.
 */
struct twheel_file_periodic {
	struct twheel_periodic	periodic;
	struct twheel		*wheel;
	struct twheel_file_op	*fop;
	u64			expirations;
	u64			next;
	u64			passed;
	u64			time;
	u64			period;
	u64			runs;
	bool			fixed_delay;
	bool			paused;
};

/**
 * struct twheel_file_op - an operation that was added through a file
 * @op: the operation
 * @box: whose; immutable
 * @user: who is charged for it; immutable
 * @id: what its users call it; set before they learn it
 * @cookie: what they want back; immutable
 * @entry: among those of its box that wait; protected by its lock
 * @event: among the events of its box, while it is @queued; likewise
 * @more: room for watches that came later; likewise
 * @ended: likewise
 * @queued: there is something to tell; likewise
 * @reading: a reader is about to deliver it; likewise
 * @clock: of its deadline; immutable
 * @flags: TWHEEL_ADD_*, and TWHEEL_FOP_PERIODIC; immutable
 * @watch: room for those that came with it
 *
 * It is its own event: when it ends nothing has to be allocated. The box has
 * a reference from add until its end has been read.
 */
struct twheel_file_op {
	struct twheel_op		op;
	struct twheel_box		*box;
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

/* Beside the flags of an add: what makes it periodic lies before it in memory. */
#define TWHEEL_FOP_PERIODIC	BIT(31)

/* What a periodic operation has besides, or NULL. */
static inline struct twheel_file_periodic *twheel_file_op_periodic(struct twheel_file_op *fop)
{
	if (likely(!(fop->flags & TWHEEL_FOP_PERIODIC)))
		return NULL;
	return (struct twheel_file_periodic *)fop - 1;
}

/* Keys that a call keeps on the stack. */
#define TWHEEL_CALL_KEYS	4

/**
 * struct twheel_ioctl - an ioctl that is being carried out
 * @file: on which open file
 * @few: room for a few keys
 * @many: room for TWHEEL_MAX_KEYS, once a call, or a command of it, has needed
 *	that; freed at its end
 */
struct twheel_ioctl {
	struct twheel_file		*file;
	struct twheel_watch_spec	few[TWHEEL_CALL_KEYS];
	struct twheel_watch_spec	*many;
};

/* What a call takes; it may be a command of a batch. */
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
	struct twheel_detached_args	detached;
	struct twheel_info_args		info;
	struct twheel_list_args		list;
	struct twheel_query_args	query;
	struct twheel_create_args	create;
	struct twheel_remove_args	remove;
};

/* device.c */
int __init twheel_device_init(void);
void twheel_device_exit(void);
extern unsigned int twheel_max_pending;

/* users.c */
int __init twheel_users_check(void);
struct twheel_user *twheel_user_open(void);
void twheel_user_close(struct twheel_user *user);
int twheel_user_charge(struct twheel_user *user, bool detached);
void twheel_user_uncharge(struct twheel_user *user, bool detached);

/* file.c */
int twheel_share_init(struct twheel_share *share, const char *name, u32 max_pending,
		      u32 max_watches);
void twheel_share_exit(struct twheel_share *share);
struct twheel_file *twheel_file_create(struct twheel_share *share);
void twheel_file_free(struct twheel_file *file);
void twheel_file_put(struct twheel_file *file);
void twheel_file_show_fdinfo(struct seq_file *m, struct file *file);

/* box.c */
void twheel_box_init(struct twheel_box *box, struct twheel_share *share, u32 max_pending);
int twheel_box_charge(struct twheel_box *box);
void twheel_box_uncharge(struct twheel_box *box, u32 pending, u32 nr);
void twheel_box_shut(struct twheel_box *box);
bool twheel_box_at_end(struct twheel_box *box);
u32 twheel_box_cancel(struct twheel_box *box);
u32 twheel_box_complete(struct twheel_box *box, int error, u64 value);
void twheel_box_empty(struct twheel_box *box);

/* file_op.c */
struct twheel_file_op *twheel_file_op_get(struct twheel_share *share, u64 id);
struct twheel_file_op *twheel_file_op_next(struct twheel_share *share, unsigned long *index);
void twheel_file_op_put(struct twheel_file_op *fop);
void twheel_file_op_forget(struct twheel_file_op *fop);
void twheel_file_ops_forget(struct twheel_box *box, struct twheel_file_op **fops, u32 nr);
int twheel_file_ops_init(void);
void twheel_file_ops_exit(void);
struct twheel *twheel_file_op_wheel(const struct twheel_file_op *fop);
int twheel_call_add(struct twheel_ioctl *call, union twheel_call_args *args);

/* file_periodic.c */
int twheel_file_periodic_check(const struct twheel_add_args *args);
void twheel_file_periodic_init(struct twheel_file_periodic *periodic, struct twheel *wheel,
			       const struct twheel_add_args *args, u64 deadline);
void twheel_file_periodic_start(struct twheel_file_periodic *periodic);
void twheel_file_periodic_catch_up(struct twheel_file_periodic *periodic);
void twheel_file_periodic_resume(struct twheel_file_periodic *periodic);
void twheel_file_periodic_told(const struct twheel_file_periodic *periodic,
			       struct twheel_event *event);

/* file_watch.c */
const struct twheel_watch_spec *twheel_call_specs(struct twheel_ioctl *call, u64 keys, u32 nr_keys);
struct twheel_watch_spec *twheel_call_room(struct twheel_ioctl *call);
void twheel_file_watches_free(struct twheel_file_op *fop);
int twheel_call_watch(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_unwatch(struct twheel_ioctl *call, union twheel_call_args *args);

/* calls.c */
int twheel_call_cancel(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_rearm(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_signal(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_cancel_key(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_complete_all(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_drain(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_detached(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_query(struct twheel_ioctl *call, union twheel_call_args *args);

/* list.c */
int twheel_call_info(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_list(struct twheel_ioctl *call, union twheel_call_args *args);

/* batch.c */
int twheel_call_batch(struct twheel_ioctl *call, union twheel_call_args *args);

/* ioctl.c */
struct twheel_file_op *twheel_call_op(struct twheel_ioctl *call, u64 id);
int twheel_call_command(struct twheel_ioctl *call, struct twheel_command *command, u64 *value);
long twheel_file_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* event.c */
void twheel_event_ended(struct twheel_file_op *fop);
void twheel_event_queue(struct twheel_file_op *fop);
ssize_t twheel_file_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t twheel_file_poll(struct file *file, struct poll_table_struct *wait);
int twheel_file_fasync(int fd, struct file *file, int on);

/* named.c */
int __init twheel_named_init(void);
void twheel_named_exit(void);
struct twheel_box *twheel_named_detached(struct twheel_named *named);
const char *twheel_named_name(const struct twheel_named *named);
int twheel_call_create(struct twheel_ioctl *call, union twheel_call_args *args);
int twheel_call_remove(struct twheel_ioctl *call, union twheel_call_args *args);

#endif /* _TWHEEL_DEVICE_H */
