/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of twheel: delayed operations on a timing wheel.
 *
 *	/dev/twheel		each open() creates a private purgatory, a set of operations
 *	/dev/twheel-NAME	the named purgatory NAME, shared by all its files
 *	/dev/twheel-control	creates and removes named purgatories
 *
 * Documentation/device.rst is the introduction; device-calls.rst and device-files.rst
 * describe each call with its errors, and the rules for all of them.
 *
 * Times are in ns up to 2^63 - 1, in the time namespace of the caller, but for the words of
 * cells; a sum above that is TWHEEL_NEVER, and one below 0 is 0. An amount of 0 means 1, and a
 * limit of 0 the default limit, or none. Set a whole structure to zero once: unknown flags,
 * reserved fields and bytes that the kernel does not know must be zero. Fields marked "out" are
 * ignored on input.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Maximum number of keys of one operation. */
#define TWHEEL_MAX_KEYS		64

/* Maximum number of signals that a key can need. */
#define TWHEEL_MAX_NEED		((1U << 26) - 1)

/* Maximum number of commands of one TWHEEL_IOC_BATCH. */
#define TWHEEL_MAX_BATCH	1024

/* Queues of detached operations are numbered from 0 to this number minus one. */
#define TWHEEL_MAX_QUEUES	1024

/* Size of the name of a purgatory, including the terminating zero. */
#define TWHEEL_NAME_SIZE	32

/* No deadline. */
#define TWHEEL_NEVER		(~0ULL)

/* Slack: an eighth of the time to the deadline. */
#define TWHEEL_SLACK_COARSE	(~0ULL)

/* Cursor at the end of a listing. */
#define TWHEEL_LIST_END		(~0ULL)

/* User or group ID: the caller's. */
#define TWHEEL_CALLER		(~0U)

/*
 * The word of a cell, see Documentation/cells-protocol.rst. The time is in units of 2^16 ns, in the
 * initial time namespace, with all bits set for TWHEEL_NEVER.
 */
#define TWHEEL_CELL_ENDED	(1ULL << 63)	/* the operation has ended, unless idle */
#define TWHEEL_CELL_IDLE	(1ULL << 62)	/* pending, but nothing expires */
#define TWHEEL_CELL_LIFE	(0xfffffULL << 42)	/* number of the arming */
#define TWHEEL_CELL_TIME	((1ULL << 42) - 1)
#define TWHEEL_CELL_SHIFT	16

/**
 * enum twheel_rearm - flags of struct twheel_rearm_args
 * @TWHEEL_REARM_ALWAYS: the deadline is changed without a condition
 * @TWHEEL_REARM_ABSTIME: the new deadline is a time of the clock, not from now
 * @TWHEEL_REARM_IF_EARLIER: only to an earlier deadline than the current one
 * @TWHEEL_REARM_IF_LATER: only to a later deadline than the current one
 */
enum twheel_rearm {
	TWHEEL_REARM_ALWAYS	= 0,
	TWHEEL_REARM_ABSTIME	= 1,
	TWHEEL_REARM_IF_EARLIER	= 2,
	TWHEEL_REARM_IF_LATER	= 4,
};

/**
 * struct twheel_key - a key: 128 bits that the kernel does not interpret
 * @v: compared as a whole
 */
struct twheel_key {
	__u64 v[2];
};

/**
 * struct twheel_watch_spec - a key to watch
 * @key: the key
 * @need: number of signals that satisfy the key, at most TWHEEL_MAX_NEED; 0 means 1. Out of
 *	TWHEEL_IOC_INFO: how many it still needs
 * @bit: out of TWHEEL_IOC_INFO: bit of the key in twheel_event.satisfied; otherwise zero
 */
struct twheel_watch_spec {
	struct twheel_key key;
	__u32 need;
	__u32 bit;
};

/**
 * enum twheel_condition - when signals complete an operation
 * @TWHEEL_COND_NONE: never; the operation watches no key
 * @TWHEEL_COND_ANY: one of its keys is satisfied
 * @TWHEEL_COND_ALL: all of its keys are satisfied, including keys added later
 * @TWHEEL_COND_QUORUM: a given number of its keys are satisfied
 * @TWHEEL_COND_SUM: the amounts signalled under its keys reach its threshold
 */
enum twheel_condition {
	TWHEEL_COND_NONE	= 0,
	TWHEEL_COND_ANY		= 1,
	TWHEEL_COND_ALL		= 2,
	TWHEEL_COND_QUORUM	= 3,
	TWHEEL_COND_SUM		= 4,
};

/* twheel_add_args.flags */
#define TWHEEL_ADD_ABSTIME		(1U << 0)	/* @deadline is a time of the clock */
#define TWHEEL_ADD_DETACHED		(1U << 1)	/* outlives its file */
#define TWHEEL_ADD_CANCEL_ON_SET	(1U << 2)	/* if CLOCK_REALTIME is set */
#define TWHEEL_ADD_FIXED_DELAY		(1U << 3)	/* from the report of a period */
#define TWHEEL_ADD_CELL			(1U << 4)	/* the deadline is in a cell of the file */

/**
 * struct twheel_add_args - TWHEEL_IOC_ADD: add an operation
 * @flags: TWHEEL_ADD_*
 * @clock: CLOCK_REALTIME (0), CLOCK_MONOTONIC (1) or CLOCK_BOOTTIME (7)
 * @deadline: in ns from now, or a time of the clock; TWHEEL_NEVER for none
 * @cookie: copied to the event
 * @id: out: id of the operation for further calls; never 0
 * @keys: address of an array of struct twheel_watch_spec; 0 without keys
 * @nr_keys: number of entries in @keys, at most TWHEEL_MAX_KEYS
 * @key_size: size of an entry in @keys; 0 without keys
 * @condition: one of enum twheel_condition
 * @quorum: number of keys for TWHEEL_COND_QUORUM, from 1 to @nr_keys; otherwise 0
 * @threshold: for TWHEEL_COND_SUM, at least 1; otherwise 0
 * @slack: maximum additional delay in ns, or TWHEEL_SLACK_COARSE
 * @period: period in ns, or 0 for an operation that is not periodic
 * @runs: number of periods after which a periodic operation expires; 0 for no limit
 * @queue: queue of the event with TWHEEL_ADD_DETACHED, below TWHEEL_MAX_QUEUES; otherwise 0
 * @cell: number of the cell with TWHEEL_ADD_CELL; otherwise 0
 */
struct twheel_add_args {
	__u32 flags;
	__u32 clock;
	__u64 deadline;
	__u64 cookie;
	__u64 id;
	__u64 keys;
	__u32 nr_keys;
	__u32 key_size;
	__u32 condition;
	__u32 quorum;
	__u64 threshold;
	__u64 slack;
	__u64 period;
	__u64 runs;
	__u32 queue;
	__u32 cell;
};

/**
 * struct twheel_cancel_args - TWHEEL_IOC_CANCEL: cancel an operation
 * @id: the operation
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_cancel_args {
	__u64 id;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_complete_args - TWHEEL_IOC_COMPLETE: complete an operation
 * @id: the operation
 * @value: copied to the event; 0 with an error
 * @error: copied to the event: 0 or a negative error number, at least -4095
 * @flags: must be zero
 */
struct twheel_complete_args {
	__u64 id;
	__u64 value;
	__s32 error;
	__u32 flags;
};

/**
 * struct twheel_rearm_args - TWHEEL_IOC_REARM: change the deadline of an operation
 * @id: the operation; not a periodic one
 * @deadline: in ns from now, or a time of the clock of the operation; TWHEEL_NEVER for none
 * @slack: as in struct twheel_add_args
 * @flags: enum twheel_rearm
 * @moved: out: 1 if the deadline was changed, 0 if the condition prevented it
 */
struct twheel_rearm_args {
	__u64 id;
	__u64 deadline;
	__u64 slack;
	__u32 flags;
	__u32 moved;
};

/**
 * struct twheel_watch_args - TWHEEL_IOC_WATCH: add keys to an operation
 * @id: the operation, which was added with a condition
 * @keys: address of an array of struct twheel_watch_spec
 * @nr_keys: number of entries in @keys, at least one
 * @key_size: size of an entry
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_watch_args {
	__u64 id;
	__u64 keys;
	__u32 nr_keys;
	__u32 key_size;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_unwatch_args - TWHEEL_IOC_UNWATCH: remove a key from an operation
 * @key: the key
 * @id: the operation
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_unwatch_args {
	struct twheel_key key;
	__u64 id;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_signal_args - TWHEEL_IOC_SIGNAL: signal a key
 * @key: the key
 * @amount: added to the sums of operations with TWHEEL_COND_SUM; 0 means 1
 * @value: copied to the events of the operations that this signal completes; not kept otherwise
 * @limit: maximum number of operations to complete; 0 for no limit
 * @flags: must be zero
 * @completed: out: number of operations that were completed
 * @reserved: must be zero
 */
struct twheel_signal_args {
	struct twheel_key key;
	__u64 amount;
	__u64 value;
	__u32 limit;
	__u32 flags;
	__u32 completed;
	__u32 reserved;
};

/**
 * struct twheel_cancel_key_args - TWHEEL_IOC_CANCEL_KEY: cancel the watchers of a key
 * @key: the key
 * @flags: must be zero
 * @cancelled: out: number of operations that were cancelled
 */
struct twheel_cancel_key_args {
	struct twheel_key key;
	__u32 flags;
	__u32 cancelled;
};

/**
 * struct twheel_exchange_args - TWHEEL_IOC_EXCHANGE: change the word of a cell, also to lower it
 * @id: the operation, added through this file with TWHEEL_ADD_CELL
 * @from: the expected word: armed or idle
 * @to: the new word: armed, with the same life, or with the next one if @from is idle
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_exchange_args {
	__u64 id;
	__u64 from;
	__u64 to;
	__u32 flags;
	__u32 reserved;
};

/* twheel_complete_all_args.flags */
#define TWHEEL_COMPLETE_OTHERS	(1U << 0)

/**
 * struct twheel_complete_all_args - TWHEEL_IOC_COMPLETE_ALL: complete all operations
 * @value: copied to the events; 0 with an error
 * @error: copied to the events: 0 or a negative error number
 * @flags: TWHEEL_COMPLETE_OTHERS: those of all files, and detached ones
 * @completed: out: number of operations that were completed
 * @reserved: must be zero
 */
struct twheel_complete_all_args {
	__u64 value;
	__s32 error;
	__u32 flags;
	__u32 completed;
	__u32 reserved;
};

/**
 * struct twheel_drain_args - TWHEEL_IOC_DRAIN: end a file and cancel its operations
 * @flags: must be zero
 * @cancelled: out: number of operations that were cancelled
 */
struct twheel_drain_args {
	__u32 flags;
	__u32 cancelled;
};

/* twheel_events_args.flags, in addition to O_NONBLOCK */
#define TWHEEL_EVENTS_CONFIRM	(1U << 0)

/**
 * struct twheel_events_args - TWHEEL_IOC_EVENTS: open a queue of detached operations
 * @flags: O_NONBLOCK; TWHEEL_EVENTS_CONFIRM: the descriptor keeps events until they are confirmed
 * @queue: number of the queue, below TWHEEL_MAX_QUEUES
 */
struct twheel_events_args {
	__u32 flags;
	__u32 queue;
};

/**
 * struct twheel_confirm_args - TWHEEL_IOC_CONFIRM: confirm an event of the latest read
 * @id: its operation
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_confirm_args {
	__u64 id;
	__u32 flags;
	__u32 reserved;
};

/* twheel_restrict_args.rights */
#define TWHEEL_RIGHT_ADD		(1U << 0)	/* operations that are not detached */
#define TWHEEL_RIGHT_ADD_DETACHED	(1U << 1)	/* detached ones */
#define TWHEEL_RIGHT_WATCH		(1U << 2)	/* keys of operations */
#define TWHEEL_RIGHT_SIGNAL		(1U << 3)	/* also operations of other files */
#define TWHEEL_RIGHT_END		(1U << 4)	/* cancel and complete */
#define TWHEEL_RIGHT_REARM		(1U << 5)	/* change deadlines */
#define TWHEEL_RIGHT_DRAIN		(1U << 6)	/* end the file */
#define TWHEEL_RIGHT_LIST		(1U << 7)	/* describe and list */
#define TWHEEL_RIGHT_QUERY		(1U << 8)	/* counts, also of other files */

/**
 * struct twheel_restrict_args - TWHEEL_IOC_RESTRICT: confine a file to its operations
 * @flags: must be zero
 * @rights: TWHEEL_RIGHT_*: the remaining rights of the file; it gets none that it lacks
 */
struct twheel_restrict_args {
	__u32 flags;
	__u32 rights;
};

/**
 * struct twheel_cells_args - TWHEEL_IOC_CELLS: allocate the cells of a file
 * @flags: must be zero
 * @nr: in and out: number of cells; 0 allocates none. mmap() at offset 0 maps them.
 * @monotonic_offset: out: CLOCK_MONOTONIC of the caller minus that of cells in ns
 * @boottime_offset: out: CLOCK_BOOTTIME of the caller minus that of cells in ns
 */
struct twheel_cells_args {
	__u32 flags;
	__u32 nr;
	__s64 monotonic_offset;
	__s64 boottime_offset;
};

/* Number of keys in struct twheel_pending. */
#define TWHEEL_PENDING_KEYS	3

/* twheel_pending.flags */
#define TWHEEL_PENDING_OWN		(1U << 0)	/* added through this file */
#define TWHEEL_PENDING_DETACHED		(1U << 1)
#define TWHEEL_PENDING_CANCEL_ON_SET	(1U << 2)
#define TWHEEL_PENDING_FIXED_DELAY	(1U << 3)
#define TWHEEL_PENDING_CELL		(1U << 4)
#define TWHEEL_PENDING_IDLE		(1U << 5)	/* its cell is idle */
#define TWHEEL_PENDING_ABSTIME		(1U << 6)	/* added with a time of the clock */

/**
 * struct twheel_pending - a pending operation
 * @id: id for further calls
 * @cookie: of an operation that was added through this file or is detached; otherwise 0
 * @deadline: of the operation or its current period, on its clock; TWHEEL_NEVER for none
 * @remaining: time until then in ns; 0 if it has passed, TWHEEL_NEVER without a deadline
 * @missing: number of keys, or with TWHEEL_COND_SUM the amount, that signals have to add
 * @period: period in ns, or 0
 * @runs: remaining periods of a periodic operation; 0 for no limit
 * @condition: one of enum twheel_condition
 * @clock: clock of the deadline
 * @nr_keys: number of keys that the operation watches
 * @flags: TWHEEL_PENDING_*
 * @keys: the first of these keys, in the order in which they were added, padded with zeroes
 * @queue: queue of a detached operation; otherwise 0
 * @cell: number of its cell with TWHEEL_PENDING_CELL; otherwise 0
 */
struct twheel_pending {
	__u64 id;
	__u64 cookie;
	__u64 deadline;
	__u64 remaining;
	__u64 missing;
	__u64 period;
	__u64 runs;
	__u32 condition;
	__u32 clock;
	__u32 nr_keys;
	__u32 flags;
	struct twheel_key keys[TWHEEL_PENDING_KEYS];
	__u32 queue;
	__u32 cell;
};

/**
 * struct twheel_info_args - TWHEEL_IOC_INFO: describe a pending operation
 * @id: the operation
 * @entry: address of a struct twheel_pending, filled with the description
 * @keys: address of an array of struct twheel_watch_spec, filled with the watched keys
 * @entry_size: size of the structure at @entry
 * @key_size: size of an entry in @keys; 0 without keys
 * @max_keys: number of entries in @keys; keys that do not fit are omitted
 * @flags: must be zero
 */
struct twheel_info_args {
	__u64 id;
	__u64 entry;
	__u64 keys;
	__u32 entry_size;
	__u32 key_size;
	__u32 max_keys;
	__u32 flags;
};

/* twheel_list_args.flags */
#define TWHEEL_LIST_OTHERS	(1U << 0)

/**
 * struct twheel_list_args - TWHEEL_IOC_LIST: list pending operations
 * @entries: address of an array of struct twheel_pending
 * @max_entries: number of entries in @entries, at least one
 * @entry_size: size of an entry
 * @flags: TWHEEL_LIST_OTHERS: those of all files
 * @nr: out: number of entries written; may be 0 before the end of the list
 * @cursor: in and out: 0 for the first call; TWHEEL_LIST_END at the end of the list
 */
struct twheel_list_args {
	__u64 entries;
	__u32 max_entries;
	__u32 entry_size;
	__u32 flags;
	__u32 nr;
	__u64 cursor;
};

/**
 * struct twheel_query_args - TWHEEL_IOC_QUERY: state of a purgatory
 * @flags: must be zero
 * @max_pending: out: limit on the pending operations of the purgatory
 * @max_file_pending: out: limit on the pending operations added through this file
 * @max_watches: out: limit on the watches of its operations; 0 for no limit
 * @max_queue: out: limit on the operations in a queue of detached ones; 0 for a private purgatory
 * @max_keys: out: limit on the keys of an operation
 * @user_max_ops: out: limit on the operations of a user, in all purgatories
 * @user_max_files: out: limit on the open files of a user
 * @user_ops: out: number of pending and unread operations of the calling user
 * @user_files: out: number of open files of the calling user
 * @files: out: number of open files, including descriptors of TWHEEL_IOC_EVENTS
 * @rights: out: TWHEEL_RIGHT_* of this file
 * @features: out: what a later kernel can do in addition, a bit for each; 0 now
 * @tick_ns: out: tick of the wheel in ns
 * @pending: out: number of pending operations of all files
 * @watches: out: number of watches on all keys
 * @keys: out: number of watched keys
 * @own: out: number of pending operations added through this file, including detached ones
 * @unread: out: number of unread events of this file
 * @detached: out: number of pending detached operations
 * @detached_unread: out: number of unread events of detached operations, in all queues
 * @oldest_unread_ns: out: age of the oldest of these events in ns, on its clock; 0 without one
 * @unconfirmed: out: number of events that were read and have to be confirmed, in all queues
 * @oldest_unconfirmed_ns: out: time since the read of the oldest of these events; 0 without one
 * @added: out: number of operations added so far; they are pending or ended in one of three ways
 * @completed: out: number of operations completed so far
 * @expired: out: number of operations expired so far
 * @cancelled: out: number of operations cancelled so far
 * @rejected: out: number of adds and watches so far that failed because of a limit
 * @rejected_enospc: out: number of those that failed with ENOSPC
 * @rejected_enobufs: out: number of those that failed with ENOBUFS
 * @rejected_edquot: out: number of those that failed with EDQUOT
 * @wakeups: out: number of wake-ups so far of the reapers of the calling user
 * @name: out: name of the purgatory; empty for a private one
 */
struct twheel_query_args {
	__u32 flags;
	__u32 max_pending;
	__u32 max_file_pending;
	__u32 max_watches;
	__u32 max_queue;
	__u32 max_keys;
	__u32 user_max_ops;
	__u32 user_max_files;
	__u32 user_ops;
	__u32 user_files;
	__u32 files;
	__u32 rights;
	__u64 features;
	__u64 tick_ns;
	__u64 pending;
	__u64 watches;
	__u64 keys;
	__u64 own;
	__u64 unread;
	__u64 detached;
	__u64 detached_unread;
	__u64 oldest_unread_ns;
	__u64 unconfirmed;
	__u64 oldest_unconfirmed_ns;
	__u64 added;
	__u64 completed;
	__u64 expired;
	__u64 cancelled;
	__u64 rejected;
	__u64 rejected_enospc;
	__u64 rejected_enobufs;
	__u64 rejected_edquot;
	__u64 wakeups;
	char name[TWHEEL_NAME_SIZE];
};

/**
 * struct twheel_queue_args - TWHEEL_IOC_QUEUE: state of a queue of detached operations
 * @flags: must be zero
 * @queue: in and out: number of the queue, or of the next one if there is no such queue
 * @ops: out: number of its operations, pending or unread, which max_queue limits
 * @pending: out: number of its pending operations
 * @unread: out: number of its unread events
 * @unconfirmed: out: number of its events that were read and have to be confirmed
 * @oldest_unread_ns: out: age of its oldest unread event in ns, on its clock; 0 without one
 * @oldest_unconfirmed_ns: out: time since the read of its oldest unconfirmed event; 0 without one
 */
struct twheel_queue_args {
	__u32 flags;
	__u32 queue;
	__u32 ops;
	__u32 pending;
	__u32 unread;
	__u32 unconfirmed;
	__u64 oldest_unread_ns;
	__u64 oldest_unconfirmed_ns;
};

/**
 * struct twheel_create_args - TWHEEL_IOC_CREATE: create a named purgatory
 * @name: 1 to 31 letters, digits, '-', '_' and '.', the first a letter or digit; zero-padded
 * @flags: 0 or O_NONBLOCK, for the descriptor
 * @mode: permissions of the node, at most 0666
 * @uid: owner of the node; TWHEEL_CALLER for the user that calls
 * @gid: group of the node; TWHEEL_CALLER for the group of that user
 * @max_pending: limit on its pending operations
 * @max_file_pending: limit on those added through one file, including detached ones
 * @max_watches: limit on the watches of its operations, below 2^31; 0 for no limit
 * @max_queue: limit on the operations in one queue of detached ones, pending or unread
 * @major: out: major device number of the node
 * @minor: out: minor device number of the node
 */
struct twheel_create_args {
	char name[TWHEEL_NAME_SIZE];
	__u32 flags;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 max_pending;
	__u32 max_file_pending;
	__u32 max_watches;
	__u32 max_queue;
	__u32 major;
	__u32 minor;
};

/* twheel_remove_args.flags */
#define TWHEEL_REMOVE_FORCE	(1U << 0)

/**
 * struct twheel_remove_args - TWHEEL_IOC_REMOVE: remove a named purgatory
 * @name: its name, padded with zeroes
 * @flags: TWHEEL_REMOVE_FORCE: also with open files, detached operations or unread events
 * @cancelled: out: number of operations that were cancelled
 */
struct twheel_remove_args {
	char name[TWHEEL_NAME_SIZE];
	__u32 flags;
	__u32 cancelled;
};

/**
 * struct twheel_command - head of a command of a batch
 * @cmd: ioctl number of the call; its structure follows
 * @reserved: must be zero
 */
struct twheel_command {
	__u32 cmd;
	__u32 reserved;
};

/* Size of a command: the offset of the next one. */
#define TWHEEL_COMMAND_SIZE(cmd) \
	(sizeof(struct twheel_command) + ((_IOC_SIZE(cmd) + 7) & ~7UL))

/**
 * struct twheel_result - result of one command of a batch
 * @value: output field of the call, otherwise 0
 * @error: 0 or a negative error number
 * @reserved: zero now
 */
struct twheel_result {
	__u64 value;
	__s32 error;
	__u32 reserved;
};

/* twheel_batch_args.flags */
#define TWHEEL_BATCH_STOP	(1U << 0)

/**
 * struct twheel_batch_args - TWHEEL_IOC_BATCH: execute several calls
 * @commands: address of the first struct twheel_command
 * @results: address of an array of struct twheel_result, or 0
 * @nr: number of commands, 1 to TWHEEL_MAX_BATCH, and of entries in @results
 * @flags: TWHEEL_BATCH_STOP: stop after the first command that fails
 * @size: size of all commands together in bytes
 * @result_size: size of an entry in @results; 0 without results
 * @done: out: number of executed commands, starting with the first
 * @failed: out: number of commands that failed
 */
struct twheel_batch_args {
	__u64 commands;
	__u64 results;
	__u32 nr;
	__u32 flags;
	__u32 size;
	__u32 result_size;
	__u32 done;
	__u32 failed;
};

/**
 * enum twheel_reason - how an operation ended
 * @TWHEEL_REASON_COMPLETED: completed by its condition or by a call
 * @TWHEEL_REASON_EXPIRED: expired at its deadline
 * @TWHEEL_REASON_CANCELLED: cancelled by a call, or because the clock was set
 */
enum twheel_reason {
	TWHEEL_REASON_COMPLETED	= 1,
	TWHEEL_REASON_EXPIRED	= 2,
	TWHEEL_REASON_CANCELLED	= 3,
};

/* twheel_event.flags */
#define TWHEEL_EVENT_MORE	(1U << 0)	/* a period ended, and the operation continues */
#define TWHEEL_EVENT_AGAIN	(1U << 1)	/* delivered before, and not confirmed */

/**
 * struct twheel_event - event delivered by read(), of 128 bytes for ever
 * @id: the operation
 * @cookie: copied from struct twheel_add_args
 * @value: value of the signal or completion; otherwise 0
 * @deadline: deadline, or the last one of the periods; TWHEEL_NEVER for none
 * @time: time of the end, on @clock in ns, or a little before it if several expire together; not
 *	before @deadline if the operation expired
 * @reason: one of enum twheel_reason; TWHEEL_REASON_EXPIRED for a period
 * @flags: TWHEEL_EVENT_*
 * @error: 0 or the negative error number of a completion; -ECANCELED if the clock was set
 * @clock: clock of the operation
 * @expirations: number of deadlines that have passed since the previous event
 * @satisfied: a bit for each satisfied key at the end, see struct twheel_watch_spec
 * @missing: number of keys that were still to be satisfied, or the missing amount
 * @cell: with TWHEEL_ADD_CELL the last word of its life, with TWHEEL_CELL_IDLE if the operation was
 *	idle; otherwise 0
 * @spare: zero now; ignore it
 */
struct twheel_event {
	__u64 id;
	__u64 cookie;
	__u64 value;
	__u64 deadline;
	__u64 time;
	__u32 reason;
	__u32 flags;
	__s32 error;
	__u32 clock;
	__u64 expirations;
	__u64 satisfied;
	__u64 missing;
	__u64 cell;
	__u64 spare[5];
};

/* twheel_uring_args.flags */
#define TWHEEL_URING_INLINE	(1U << 0)

/**
 * struct twheel_uring_args - command of io_uring, in ``cmd`` of the submission queue entry
 * @args: address of the structure of the call; 0 with TWHEEL_URING_INLINE
 * @flags: TWHEEL_URING_INLINE: the structure follows, and receives no output
 * @reserved: must be zero
 */
struct twheel_uring_args {
	__u64 args;
	__u32 flags;
	__u32 reserved;
};

/*
 * The calls, all in both directions, since they may get outputs. Those from TWHEEL_IOC_ADD to
 * TWHEEL_IOC_EXCHANGE are available in a batch; TWHEEL_IOC_CREATE and TWHEEL_IOC_REMOVE are
 * available on /dev/twheel-control only, and TWHEEL_IOC_CONFIRM on descriptors of
 * TWHEEL_IOC_EVENTS only.
 */
#define TWHEEL_IOC_MAGIC	0xF7

#define TWHEEL_IOC_ADD		_IOWR(TWHEEL_IOC_MAGIC, 1, struct twheel_add_args)
#define TWHEEL_IOC_CANCEL	_IOWR(TWHEEL_IOC_MAGIC, 2, struct twheel_cancel_args)
#define TWHEEL_IOC_COMPLETE	_IOWR(TWHEEL_IOC_MAGIC, 3, struct twheel_complete_args)
#define TWHEEL_IOC_REARM	_IOWR(TWHEEL_IOC_MAGIC, 4, struct twheel_rearm_args)
#define TWHEEL_IOC_WATCH	_IOWR(TWHEEL_IOC_MAGIC, 5, struct twheel_watch_args)
#define TWHEEL_IOC_UNWATCH	_IOWR(TWHEEL_IOC_MAGIC, 6, struct twheel_unwatch_args)
#define TWHEEL_IOC_SIGNAL	_IOWR(TWHEEL_IOC_MAGIC, 7, struct twheel_signal_args)
#define TWHEEL_IOC_CANCEL_KEY	_IOWR(TWHEEL_IOC_MAGIC, 8, struct twheel_cancel_key_args)
#define TWHEEL_IOC_EXCHANGE	_IOWR(TWHEEL_IOC_MAGIC, 9, struct twheel_exchange_args)
#define TWHEEL_IOC_BATCH	_IOWR(TWHEEL_IOC_MAGIC, 16, struct twheel_batch_args)
#define TWHEEL_IOC_COMPLETE_ALL	_IOWR(TWHEEL_IOC_MAGIC, 17, struct twheel_complete_all_args)
#define TWHEEL_IOC_DRAIN	_IOWR(TWHEEL_IOC_MAGIC, 18, struct twheel_drain_args)
#define TWHEEL_IOC_EVENTS	_IOWR(TWHEEL_IOC_MAGIC, 19, struct twheel_events_args)
#define TWHEEL_IOC_RESTRICT	_IOWR(TWHEEL_IOC_MAGIC, 20, struct twheel_restrict_args)
#define TWHEEL_IOC_INFO		_IOWR(TWHEEL_IOC_MAGIC, 21, struct twheel_info_args)
#define TWHEEL_IOC_LIST		_IOWR(TWHEEL_IOC_MAGIC, 22, struct twheel_list_args)
#define TWHEEL_IOC_QUERY	_IOWR(TWHEEL_IOC_MAGIC, 23, struct twheel_query_args)
#define TWHEEL_IOC_CELLS	_IOWR(TWHEEL_IOC_MAGIC, 24, struct twheel_cells_args)
#define TWHEEL_IOC_CONFIRM	_IOWR(TWHEEL_IOC_MAGIC, 25, struct twheel_confirm_args)
#define TWHEEL_IOC_QUEUE	_IOWR(TWHEEL_IOC_MAGIC, 26, struct twheel_queue_args)
#define TWHEEL_IOC_CREATE	_IOWR(TWHEEL_IOC_MAGIC, 32, struct twheel_create_args)
#define TWHEEL_IOC_REMOVE	_IOWR(TWHEEL_IOC_MAGIC, 33, struct twheel_remove_args)

#endif /* _UAPI_LINUX_TWHEEL_H */
