/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of twheel: delayed operations on a timing wheel.
 *
 * Each open of /dev/twheel is a purgatory of its own; all who open
 * /dev/twheel-NAME share one.  An operation that is added to it has a deadline
 * and may watch keys; it completes exactly once, and each ending is one event
 * that read() delivers once, to who reads the open file that added it.
 *
 * Times are nanoseconds.  Every structure may grow at its end: the size that a
 * program was built with is part of the ioctl number, and a kernel that knows
 * fewer fields accepts the longer structure as long as what it does not know
 * is zero (E2BIG otherwise).
 *
 * Documentation/device.rst tells how it goes together; device-calls.rst and
 * device-files.rst have one section for each call.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The most keys that one operation may watch. */
#define TWHEEL_MAX_KEYS		64

/* The most commands of one TWHEEL_IOC_BATCH. */
#define TWHEEL_MAX_BATCH	1024

/* Room for the name of a purgatory and the zero behind it. */
#define TWHEEL_NAME_SIZE	32

/* A deadline that is never reached. Any deadline past 2^63 - 1 ns is one. */
#define TWHEEL_NEVER		(~0ULL)

/* A slack that stands for an eighth of the time that is left to the deadline. */
#define TWHEEL_SLACK_COARSE	(~0ULL)

/* Where to go on in a listing that is at its end. */
#define TWHEEL_LIST_END		(~0ULL)

/* In place of a user or a group: that of the caller. */
#define TWHEEL_CALLER		(~0U)

/**
 * enum twheel_clock - what a deadline is told by
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, which stands still in suspend
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, which goes on in suspend
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, the wall clock. Deadlines follow it
 *	when it is set, forwards and backwards.
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,
	TWHEEL_CLOCK_REALTIME	= 2,
};

/**
 * enum twheel_rearm - what is moved to another deadline
 * @TWHEEL_REARM_ALWAYS: anything; a timer that is not pending is armed
 * @TWHEEL_REARM_IF_PENDING: what is pending; nothing else is armed
 * @TWHEEL_REARM_IF_EARLIER: what would end at an earlier time than now
 * @TWHEEL_REARM_IF_LATER: what would end at a later time than now
 *
 * An operation that has not ended is pending, also without a deadline. A timer
 * that is not pending is armed by all but TWHEEL_REARM_IF_PENDING.
 */
enum twheel_rearm {
	TWHEEL_REARM_ALWAYS	= 0,
	TWHEEL_REARM_IF_PENDING	= 1,
	TWHEEL_REARM_IF_EARLIER	= 2,
	TWHEEL_REARM_IF_LATER	= 3,
};

/**
 * struct twheel_key - what an operation may watch: 128 opaque bits
 * @v: compared as a whole; no bit has a meaning to the kernel
 */
struct twheel_key {
	__u64 v[2];
};

/**
 * struct twheel_watch_spec - one key to watch, and how often
 * @key: the key
 * @need: how many signals satisfy it; 0 is taken as 1, and with a condition
 *	that doesn't count signals nothing else may be given
 * @reserved: must be zero
 */
struct twheel_watch_spec {
	struct twheel_key key;
	__u32 need;
	__u32 reserved;
};

/**
 * enum twheel_condition - when an operation completes by its keys
 * @TWHEEL_COND_NONE: never; it has a deadline only and watches nothing
 * @TWHEEL_COND_ANY: as soon as one of its keys is satisfied
 * @TWHEEL_COND_ALL: when all of its keys are, those watched later included
 * @TWHEEL_COND_QUORUM: when as many as its quorum are
 * @TWHEEL_COND_SUM: when the amounts that signals carried under its keys reach
 *	its threshold
 */
enum twheel_condition {
	TWHEEL_COND_NONE	= 0,
	TWHEEL_COND_ANY		= 1,
	TWHEEL_COND_ALL		= 2,
	TWHEEL_COND_QUORUM	= 3,
	TWHEEL_COND_SUM		= 4,
};

/*
 * Flags of twheel_add_args.
 *
 * ABSTIME: the deadline is a point in time, not a distance from now.
 * DETACHED: in a named purgatory, the operation outlives its file, and its
 *	events go to who reads the purgatory's detached events.
 * CANCEL_ON_SET: with TWHEEL_CLOCK_REALTIME, the operation is cancelled with
 *	-ECANCELED when that clock is set.
 * FIXED_DELAY: a period counts from when the last one was told of, not from the
 *	deadline before.
 */
#define TWHEEL_ADD_ABSTIME		(1U << 0)
#define TWHEEL_ADD_DETACHED		(1U << 1)
#define TWHEEL_ADD_CANCEL_ON_SET	(1U << 2)
#define TWHEEL_ADD_FIXED_DELAY		(1U << 3)

/**
 * struct twheel_add_args - TWHEEL_IOC_ADD: add an operation
 * @flags: TWHEEL_ADD_*
 * @condition: one of enum twheel_condition
 * @quorum: 1 to the number of distinct keys for TWHEEL_COND_QUORUM, else 0
 * @nr_keys: how many keys @keys points to, up to TWHEEL_MAX_KEYS; a key that
 *	is given twice counts once, with what its first entry says
 * @keys: address of an array of struct twheel_watch_spec
 * @threshold: at least 1 for TWHEEL_COND_SUM, else 0
 * @deadline: in ns from now, or by the clock with TWHEEL_ADD_ABSTIME
 * @slack: by how much it may expire later than that, in ns, if that spares
 *	work; or TWHEEL_SLACK_COARSE
 * @period: 0, or after how many ns the deadline comes once more
 * @runs: how often a periodic operation tells of its deadline before it
 *	expires; 0 for any number of times
 * @cookie: the caller's own; handed back in the event
 * @clock: one of enum twheel_clock
 * @reserved: must be zero
 * @id: out: names the operation in further calls, never 0
 */
struct twheel_add_args {
	__u32 flags;
	__u32 condition;
	__u32 quorum;
	__u32 nr_keys;
	__u64 keys;
	__u64 threshold;
	__u64 deadline;
	__u64 slack;
	__u64 period;
	__u64 runs;
	__u64 cookie;
	__u32 clock;
	__u32 reserved;
	__u64 id;
};

/**
 * struct twheel_cancel_args - TWHEEL_IOC_CANCEL: end an operation as cancelled
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
 * struct twheel_complete_args - TWHEEL_IOC_COMPLETE: complete one operation now
 * @id: the operation, whatever its condition says
 * @value: carried to the operation's event; 0 with an error
 * @error: carried to the operation's event: 0 or a negative error number
 * @flags: must be zero
 */
struct twheel_complete_args {
	__u64 id;
	__u64 value;
	__s32 error;
	__u32 flags;
};

/* twheel_rearm_args.flags: the deadline is a point in time, not a distance. */
#define TWHEEL_REARM_ABSTIME	(1U << 0)

/**
 * struct twheel_rearm_args - TWHEEL_IOC_REARM: give an operation another deadline
 * @id: the operation, not a periodic one
 * @deadline: in ns from now, or by its clock with TWHEEL_REARM_ABSTIME
 * @slack: as for TWHEEL_IOC_ADD
 * @flags: TWHEEL_REARM_ABSTIME
 * @which: one of enum twheel_rearm
 * @moved: out: 1 if it has the new deadline, 0 if @which left it the old one
 * @reserved: must be zero
 */
struct twheel_rearm_args {
	__u64 id;
	__u64 deadline;
	__u64 slack;
	__u32 flags;
	__u32 which;
	__u32 moved;
	__u32 reserved;
};

/**
 * struct twheel_watch_args - TWHEEL_IOC_WATCH: let an operation watch more keys
 * @id: the operation, which must have been added with keys
 * @flags: must be zero
 * @nr_keys: how many keys @keys points to, at least one; those that the
 *	operation watches already are passed over
 * @keys: address of an array of struct twheel_watch_spec
 */
struct twheel_watch_args {
	__u64 id;
	__u32 flags;
	__u32 nr_keys;
	__u64 keys;
};

/**
 * struct twheel_unwatch_args - TWHEEL_IOC_UNWATCH: let it watch a key no more
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
 * struct twheel_signal_args - TWHEEL_IOC_SIGNAL: one event under a key
 * @key: every operation that watches it is told
 * @amount: counted by operations with TWHEEL_COND_SUM; 0 is 1
 * @value: carried to the operations that complete by this signal
 * @limit: after how many completed operations no further one is told; 0 for
 *	no limit
 * @flags: must be zero
 * @completed: out: how many operations this signal completed
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
 * struct twheel_cancel_key_args - TWHEEL_IOC_CANCEL_KEY: cancel all that watch a key
 * @key: the key
 * @flags: must be zero
 * @cancelled: out: how many operations this call cancelled
 */
struct twheel_cancel_key_args {
	struct twheel_key key;
	__u32 flags;
	__u32 cancelled;
};

/* twheel_complete_all_args.flags: also those that others have added. */
#define TWHEEL_COMPLETE_OTHERS	(1U << 0)

/**
 * struct twheel_complete_all_args - TWHEEL_IOC_COMPLETE_ALL: complete all that wait
 * @value: carried to their events; 0 with an error
 * @error: carried to their events: 0 or a negative error number
 * @flags: TWHEEL_COMPLETE_OTHERS
 * @completed: out: how many operations this call completed
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
 * struct twheel_drain_args - TWHEEL_IOC_DRAIN: end an open file
 * @flags: must be zero
 * @cancelled: out: how many operations this call cancelled
 */
struct twheel_drain_args {
	__u32 flags;
	__u32 cancelled;
};

/**
 * struct twheel_detached_args - TWHEEL_IOC_DETACHED: read detached events
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_detached_args {
	__u32 flags;
	__u32 reserved;
};

/* How many of its keys twheel_pending has. */
#define TWHEEL_PENDING_KEYS	3

/*
 * What twheel_pending.flags says. OWN: it was added through this open file, or
 * is a detached one and this file reads detached events.
 */
#define TWHEEL_PENDING_OWN		(1U << 0)
#define TWHEEL_PENDING_DETACHED		(1U << 1)
#define TWHEEL_PENDING_CANCEL_ON_SET	(1U << 2)
#define TWHEEL_PENDING_FIXED_DELAY	(1U << 3)

/**
 * struct twheel_pending - an operation that waits
 * @id: names it in further calls
 * @cookie: as it was given; 0 if it is not one's own
 * @deadline: when it expires or its next period ends, by its clock, in ns;
 *	TWHEEL_NEVER for never
 * @remaining: until then, in ns; 0 if that has passed, TWHEEL_NEVER for never
 * @missing: how many keys are still to be satisfied, or for TWHEEL_COND_SUM what
 *	amount is missing; 0 if nothing of that can complete it
 * @period: of a periodic operation, in ns; else 0
 * @runs: how many are left of a periodic operation; 0 for any number
 * @condition: one of enum twheel_condition
 * @clock: one of enum twheel_clock
 * @nr_keys: how many keys it watches
 * @flags: TWHEEL_PENDING_*
 * @keys: the first of these; what is not used is zero
 * @reserved: zero
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
	__u32 reserved[2];
};

/**
 * struct twheel_info_args - TWHEEL_IOC_INFO: how far an operation has come
 * @id: the operation
 * @keys: address of room for its keys, as struct twheel_watch_spec, each with
 *	the signals that it still needs
 * @room: for how many; more are not written
 * @flags: must be zero
 * @pending: out: the operation
 */
struct twheel_info_args {
	__u64 id;
	__u64 keys;
	__u32 room;
	__u32 flags;
	struct twheel_pending pending;
};

/* twheel_list_args.flags: also those that others have added. */
#define TWHEEL_LIST_OTHERS	(1U << 0)

/**
 * struct twheel_list_args - TWHEEL_IOC_LIST: which operations wait
 * @entries: address of room for struct twheel_pending
 * @room: for how many, at least one
 * @flags: TWHEEL_LIST_OTHERS
 * @cursor: in: 0, or what the call before left here; out: where to go on, or
 *	TWHEEL_LIST_END
 * @nr: out: how many entries were written; 0 is not the end
 * @reserved: must be zero
 */
struct twheel_list_args {
	__u64 entries;
	__u32 room;
	__u32 flags;
	__u64 cursor;
	__u32 nr;
	__u32 reserved;
};

/**
 * struct twheel_query_args - TWHEEL_IOC_QUERY: the state of a purgatory
 * @flags: must be zero
 * @max_pending: out: the most operations that may be pending in the purgatory
 * @max_own: out: the most that this file may have pending
 * @files: out: how many have the purgatory open
 * @own: out: operations of this file that have not ended
 * @unread: out: events that wait to be read through this file
 * @detached: out: detached operations that have not ended
 * @detached_unread: out: their events that wait to be read
 * @pending: out: operations that have not ended, of all files
 * @keys: out: keys that something watches
 * @watches: out: watches, summed over all keys
 * @added: out: operations added so far
 * @completed: out: ended as completed so far
 * @expired: out: ended as expired so far
 * @cancelled: out: ended as cancelled so far
 * @rejected: out: adds refused by a limit so far
 * @tick_ns: out: the tick of the wheel in ns
 * @wakeups: out: how often the reaper of the wheel has woken up so far; the
 *	wheel is shared by all purgatories of the device
 * @name: out: of a named purgatory; empty for one of one's own
 */
struct twheel_query_args {
	__u32 flags;
	__u32 max_pending;
	__u32 max_own;
	__u32 files;
	__u64 own;
	__u64 unread;
	__u64 detached;
	__u64 detached_unread;
	__u64 pending;
	__u64 keys;
	__u64 watches;
	__u64 added;
	__u64 completed;
	__u64 expired;
	__u64 cancelled;
	__u64 rejected;
	__u64 tick_ns;
	__u64 wakeups;
	char name[TWHEEL_NAME_SIZE];
};

/**
 * struct twheel_create_args - TWHEEL_IOC_CREATE: make a named purgatory
 * @name: 1 to 31 of letters, digits, '-', '_' and '.', the first a letter or a
 *	digit; zeros behind it
 * @flags: must be zero
 * @mode: permissions of its node, up to 0666
 * @uid: owner of its node, or TWHEEL_CALLER
 * @gid: group of its node, or TWHEEL_CALLER
 * @max_pending: the most operations that may be pending in it; 0 for the most
 *	that may be given
 * @max_watches: the most watches that these may have; 0 for any number
 * @major: out: of its node
 * @minor: out: of its node
 */
struct twheel_create_args {
	char name[TWHEEL_NAME_SIZE];
	__u32 flags;
	__u32 mode;
	__u32 uid;
	__u32 gid;
	__u32 max_pending;
	__u32 max_watches;
	__u32 major;
	__u32 minor;
};

/* twheel_remove_args.flags: also if it is in use. */
#define TWHEEL_REMOVE_FORCE	(1U << 0)

/**
 * struct twheel_remove_args - TWHEEL_IOC_REMOVE: end a named purgatory
 * @name: as it was created
 * @flags: TWHEEL_REMOVE_FORCE
 * @cancelled: out: how many operations this cancelled
 */
struct twheel_remove_args {
	char name[TWHEEL_NAME_SIZE];
	__u32 flags;
	__u32 cancelled;
};

/**
 * enum twheel_call - the numbers of the ioctls
 *
 * Those up to TWHEEL_CALL_CANCEL_KEY may be commands of a batch.
 */
enum twheel_call {
	TWHEEL_CALL_ADD			= 1,
	TWHEEL_CALL_CANCEL		= 2,
	TWHEEL_CALL_COMPLETE		= 3,
	TWHEEL_CALL_REARM		= 4,
	TWHEEL_CALL_WATCH		= 5,
	TWHEEL_CALL_UNWATCH		= 6,
	TWHEEL_CALL_SIGNAL		= 7,
	TWHEEL_CALL_CANCEL_KEY		= 8,
	TWHEEL_CALL_BATCH		= 16,
	TWHEEL_CALL_COMPLETE_ALL	= 17,
	TWHEEL_CALL_DRAIN		= 18,
	TWHEEL_CALL_DETACHED		= 19,
	TWHEEL_CALL_INFO		= 20,
	TWHEEL_CALL_LIST		= 21,
	TWHEEL_CALL_QUERY		= 22,
	TWHEEL_CALL_CREATE		= 23,
	TWHEEL_CALL_REMOVE		= 24,
};

/**
 * struct twheel_command - one call of a batch
 * @call: one of enum twheel_call, up to TWHEEL_CALL_CANCEL_KEY
 * @reserved: must be zero
 * @args: what the call takes; not written to
 * @room: what the call doesn't take must be zero
 */
struct twheel_command {
	__u32 call;
	__u32 reserved;
	union {
		struct twheel_add_args add;
		struct twheel_cancel_args cancel;
		struct twheel_complete_args complete;
		struct twheel_rearm_args rearm;
		struct twheel_watch_args watch;
		struct twheel_unwatch_args unwatch;
		struct twheel_signal_args signal;
		struct twheel_cancel_key_args cancel_key;
		__u64 room[15];
	};
};

/**
 * struct twheel_result - what came of one command of a batch
 * @value: what the call would have set: the id of an add, how many a signal has
 *	completed or a key has cancelled, whether a re-arm has moved; else 0
 * @error: 0 or a negative error number
 * @reserved: zero
 */
struct twheel_result {
	__u64 value;
	__s32 error;
	__u32 reserved;
};

/* twheel_batch_args.flags: a command that fails is the last. */
#define TWHEEL_BATCH_STOP	(1U << 0)

/**
 * struct twheel_batch_args - TWHEEL_IOC_BATCH: many calls in one
 * @commands: address of an array of struct twheel_command
 * @results: address of room for as many struct twheel_result, or 0
 * @nr: how many, 1 to TWHEEL_MAX_BATCH
 * @flags: TWHEEL_BATCH_*
 * @done: out: how many were carried out, from the first on
 * @failed: out: how many of these failed
 */
struct twheel_batch_args {
	__u64 commands;
	__u64 results;
	__u32 nr;
	__u32 flags;
	__u32 done;
	__u32 failed;
};

/**
 * enum twheel_reason - how an operation ended
 * @TWHEEL_COMPLETED: its condition held, or somebody completed it
 * @TWHEEL_EXPIRED: its deadline came first
 * @TWHEEL_CANCELLED: somebody cancelled it
 */
enum twheel_reason {
	TWHEEL_COMPLETED	= 1,
	TWHEEL_EXPIRED		= 2,
	TWHEEL_CANCELLED	= 3,
};

/* twheel_event.flags: a period has passed, and the operation goes on. */
#define TWHEEL_EVENT_MORE	(1U << 0)

/**
 * struct twheel_event - what read() delivers, once for each operation, and once
 * for one or more periods of a periodic one
 * @id: the operation; unknown from now on unless TWHEEL_EVENT_MORE is set
 * @cookie: as it was given
 * @value: of the signal or the completion; 0 if it expired or was cancelled
 * @deadline: by its clock, in ns; TWHEEL_NEVER for none
 * @time: when it ended or the period was noticed, by its clock, in ns
 * @reason: one of enum twheel_reason; TWHEEL_EXPIRED for a period
 * @flags: TWHEEL_EVENT_*
 * @error: 0 or a negative error number: what it was completed with, or
 *	-ECANCELED if the clock was set
 * @reserved: zero
 * @expirations: how many deadlines have passed that no event had told of yet
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
	__u32 reserved;
	__u64 expirations;
};

#define TWHEEL_IOC_MAGIC	0xF7

#define TWHEEL_IOC_ADD		_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_ADD, \
				      struct twheel_add_args)
#define TWHEEL_IOC_CANCEL	_IOW(TWHEEL_IOC_MAGIC, TWHEEL_CALL_CANCEL, \
				     struct twheel_cancel_args)
#define TWHEEL_IOC_COMPLETE	_IOW(TWHEEL_IOC_MAGIC, TWHEEL_CALL_COMPLETE, \
				     struct twheel_complete_args)
#define TWHEEL_IOC_REARM	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_REARM, \
				      struct twheel_rearm_args)
#define TWHEEL_IOC_WATCH	_IOW(TWHEEL_IOC_MAGIC, TWHEEL_CALL_WATCH, \
				     struct twheel_watch_args)
#define TWHEEL_IOC_UNWATCH	_IOW(TWHEEL_IOC_MAGIC, TWHEEL_CALL_UNWATCH, \
				     struct twheel_unwatch_args)
#define TWHEEL_IOC_SIGNAL	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_SIGNAL, \
				      struct twheel_signal_args)
#define TWHEEL_IOC_CANCEL_KEY	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_CANCEL_KEY, \
				      struct twheel_cancel_key_args)
#define TWHEEL_IOC_BATCH	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_BATCH, \
				      struct twheel_batch_args)
#define TWHEEL_IOC_COMPLETE_ALL	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_COMPLETE_ALL, \
				      struct twheel_complete_all_args)
#define TWHEEL_IOC_DRAIN	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_DRAIN, \
				      struct twheel_drain_args)
#define TWHEEL_IOC_DETACHED	_IOW(TWHEEL_IOC_MAGIC, TWHEEL_CALL_DETACHED, \
				     struct twheel_detached_args)
#define TWHEEL_IOC_INFO		_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_INFO, \
				      struct twheel_info_args)
#define TWHEEL_IOC_LIST		_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_LIST, \
				      struct twheel_list_args)
#define TWHEEL_IOC_QUERY	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_QUERY, \
				      struct twheel_query_args)
#define TWHEEL_IOC_CREATE	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_CREATE, \
				      struct twheel_create_args)
#define TWHEEL_IOC_REMOVE	_IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_REMOVE, \
				      struct twheel_remove_args)

#endif /* _UAPI_LINUX_TWHEEL_H */
