/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of twheel: delayed operations on a timing wheel.
 *
 * Each open of /dev/twheel is a purgatory of its own.  An operation that is
 * added to it has a deadline and may watch keys; it completes exactly once,
 * and each ending is one event that read() delivers once.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC.  Every structure may grow at its
 * end: the size that a program was built with is part of the ioctl number,
 * and a kernel that knows fewer fields accepts the longer structure as long
 * as what it does not know is zero (E2BIG otherwise).
 *
 * Documentation/device.rst has one section for each call.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The most keys that one operation may watch. */
#define TWHEEL_MAX_KEYS		64

/* A deadline that is never reached. Any deadline past 2^63 - 1 ns is one. */
#define TWHEEL_NEVER		(~0ULL)

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
 *	its threshold; for consumers in the kernel, the device refuses it as yet
 */
enum twheel_condition {
	TWHEEL_COND_NONE	= 0,
	TWHEEL_COND_ANY		= 1,
	TWHEEL_COND_ALL		= 2,
	TWHEEL_COND_QUORUM	= 3,
	TWHEEL_COND_SUM		= 4,
};

/* twheel_add_args.flags: the deadline is a point in time, not a distance. */
#define TWHEEL_ADD_ABSTIME	(1U << 0)

/**
 * struct twheel_add_args - TWHEEL_IOC_ADD: add an operation
 * @flags: TWHEEL_ADD_*
 * @condition: one of enum twheel_condition
 * @quorum: 1 to the number of distinct keys for TWHEEL_COND_QUORUM, else 0
 * @nr_keys: how many keys @keys points to, up to TWHEEL_MAX_KEYS; a key that
 *	is given twice counts once, with what its first entry says
 * @deadline: in ns from now, or by the clock with TWHEEL_ADD_ABSTIME
 * @keys: address of an array of struct twheel_watch_spec
 * @cookie: the caller's own; handed back in the event
 * @id: out: names the operation in further calls, never 0
 */
struct twheel_add_args {
	__u32 flags;
	__u32 condition;
	__u32 quorum;
	__u32 nr_keys;
	__u64 deadline;
	__u64 keys;
	__u64 cookie;
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
 * struct twheel_signal_args - TWHEEL_IOC_SIGNAL: one event under a key
 * @key: every operation that watches it is told
 * @value: carried to the operations that complete by this signal
 * @flags: must be zero
 * @completed: out: how many operations this signal completed
 */
struct twheel_signal_args {
	struct twheel_key key;
	__u64 value;
	__u32 flags;
	__u32 completed;
};

/**
 * struct twheel_complete_args - TWHEEL_IOC_COMPLETE: complete one operation now
 * @id: the operation, whatever its condition says
 * @value: carried to the operation's event
 * @flags: must be zero
 * @reserved: must be zero
 */
struct twheel_complete_args {
	__u64 id;
	__u64 value;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct twheel_query_args - TWHEEL_IOC_QUERY: the state of the purgatory
 * @flags: must be zero
 * @max_pending: out: the most operations that may be pending at a time
 * @pending: out: operations that have not ended
 * @unread: out: events that wait to be read
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
 */
struct twheel_query_args {
	__u32 flags;
	__u32 max_pending;
	__u64 pending;
	__u64 unread;
	__u64 keys;
	__u64 watches;
	__u64 added;
	__u64 completed;
	__u64 expired;
	__u64 cancelled;
	__u64 rejected;
	__u64 tick_ns;
	__u64 wakeups;
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

/**
 * struct twheel_event - what read() delivers, once for each operation
 * @id: the operation; unknown from now on
 * @cookie: as it was given
 * @value: of the signal or the completion; 0 if it expired or was cancelled
 * @deadline: by the clock, in ns; TWHEEL_NEVER for none
 * @time: when it ended, by the clock, in ns
 * @reason: one of enum twheel_reason
 * @reserved: zero
 */
struct twheel_event {
	__u64 id;
	__u64 cookie;
	__u64 value;
	__u64 deadline;
	__u64 time;
	__u32 reason;
	__u32 reserved[5];
};

#define TWHEEL_IOC_MAGIC	0xF7

#define TWHEEL_IOC_ADD		_IOWR(TWHEEL_IOC_MAGIC, 0x00, struct twheel_add_args)
#define TWHEEL_IOC_CANCEL	_IOW(TWHEEL_IOC_MAGIC, 0x01, struct twheel_cancel_args)
#define TWHEEL_IOC_WATCH	_IOW(TWHEEL_IOC_MAGIC, 0x02, struct twheel_watch_args)
#define TWHEEL_IOC_SIGNAL	_IOWR(TWHEEL_IOC_MAGIC, 0x03, struct twheel_signal_args)
#define TWHEEL_IOC_COMPLETE	_IOW(TWHEEL_IOC_MAGIC, 0x04, struct twheel_complete_args)
#define TWHEEL_IOC_QUERY	_IOWR(TWHEEL_IOC_MAGIC, 0x05, struct twheel_query_args)

#endif /* _UAPI_LINUX_TWHEEL_H */
