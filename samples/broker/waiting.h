/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that wait: for an amount under their keys, or for their deadline.
 *
 * Signals are not stored, and another worker may change a partition at any time. The caller reads
 * the state of the partitions, and adds a wait for the missing amount. Once the wait is added, the
 * caller reads the state again, and ends the wait if it has changed. Either way the wait ends with
 * an event, and the caller reads the state once more before it answers.
 *
 * An alarm outlives the process that has set it, and ends in the main process. It is in memory
 * that the processes share, with its deadline: one that ends early is set again.
 */
#ifndef BROKER_WAITING_H
#define BROKER_WAITING_H

#include <sys/queue.h>

#include "config.h"

/* Keys: the kind of a wait, and the number of a partition, group or member. */
enum wait_kind {
	WAIT_ACKS,	/* produce: high watermark, in offsets */
	WAIT_READ,	/* fetch of a consumer: high watermark, in bytes */
	WAIT_COPY,	/* fetch of a follower: end of the log, in bytes */
	WAIT_LEASE,	/* alarm of a replica in sync */
	WAIT_JOIN,	/* JoinGroup: end of the rebalance */
	WAIT_ASSIGN,	/* SyncGroup: assignment by the leader of the group */
	WAIT_SESSION,	/* alarm of a member */
	NR_WAIT_KINDS,
};

struct wait_key {
	enum wait_kind kind;
	int number;
};

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

enum wait_end {
	WAIT_COMPLETED,	/* the state may have changed */
	WAIT_EXPIRED,
	WAIT_REFUSED,	/* the wait could not be added */
	WAIT_ADDED,	/* no end: the state may have changed before the add */
};

#define WAIT_ADDING	UINT64_MAX

/* Embedded in what waits. The caller sets @fn. */
struct wait {
	TAILQ_ENTRY(wait) queue;
	void (*fn)(struct wait *wait, enum wait_end end);
	uint64_t id;		/* 0 if it is not pending, or WAIT_ADDING */
	struct wait_key key;	/* of an alarm, which sets it */
	uint64_t deadline;	/* of an alarm; 0 for others */
	enum wait_end end;
};

/* Create what the processes share, before they start, and remove it at the end. */
void waiting_create(void);
void waiting_remove(void);
/* Return: a descriptor for poll(). Called once by each process; exits if it fails. */
int waiting_open(bool is_main);
/* Queue an add. The deadline is a time of CLOCK_MONOTONIC in ns. */
void wait_add(struct wait *wait, const struct wait_key *keys, int nr, uint64_t threshold,
	      uint64_t deadline);
/* Queue an alarm, or a new deadline of a pending one. */
void wait_alarm(struct wait *wait, uint64_t deadline);
/* A process was killed, perhaps with a batch that it had not submitted: set the alarm again. */
void wait_repair(struct wait *wait);
/*
 * Queue the end of a wait whose add was submitted; it may have ended already. The end of an alarm
 * is not reported, and its memory can be used for another one.
 */
void wait_complete(struct wait *wait);
/* Queue a signal; none if the amount is 0. */
void wait_signal(enum wait_kind kind, int number, uint64_t amount);
/* Execute all that is queued, and call @fn of each wait that was added or refused. */
void waiting_submit(void);
/* End all waits of this process, but no alarms. */
void waiting_stop(void);
/* Call @fn of each wait that has ended. Return: false if the purgatory has been removed. */
bool waiting_events(void);

#define NS_PER_MS	1000000ULL

uint64_t now_ns(void);

/*
 * For @fn of an alarm, with the lock of its memory: set it again if its deadline has been moved,
 * but too late for the operation, or by a process that was killed before it has submitted that.
 */
static inline bool wait_again(struct wait *wait, enum wait_end end)
{
	if (end > WAIT_EXPIRED || now_ns() >= wait->deadline)
		return false;
	wait_alarm(wait, wait->deadline);
	return true;
}

#endif /* BROKER_WAITING_H */
