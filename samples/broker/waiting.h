/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that wait: for an amount under their keys, or for their deadline.
 *
 * Signals are not stored, and another worker may change a partition at any time. The caller
 * reads the state of the partitions, adds a wait for the missing amount, submits, reads the
 * state again and ends the wait if the state has changed. Either way the wait ends with an
 * event, and the caller reads the state once more before it answers.
 *
 * There are two implementations: a purgatory, which all workers of a broker share; and a heap
 * with a timerfd, for a single worker, which shows the cost of the former.
 */
#ifndef BROKER_WAITING_H
#define BROKER_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config.h"

#define WAIT_NEVER	UINT64_MAX

/* A partition has a key for each group of waits. */
enum wait_kind {
	WAIT_ACKS,	/* produce: high watermark, in offsets */
	WAIT_READ,	/* fetch of a consumer: high watermark, in bytes */
	WAIT_COPY,	/* fetch of a follower: end of the log, in bytes */
	WAIT_SYNC,	/* lease of a replica in sync; never signalled */
	NR_WAIT_KINDS,
};

struct wait_key {
	enum wait_kind kind;
	int partition;
};

#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))

enum wait_end {
	WAIT_COMPLETED,	/* the state may have changed */
	WAIT_EXPIRED,
	WAIT_STOPPED,
	WAIT_REFUSED,	/* the wait could not be added */
};

/* Embedded in what waits. The caller sets @fn; implementations use the other fields. */
struct wait {
	TAILQ_ENTRY(wait) ended;
	void (*fn)(struct wait *wait, enum wait_end end);
	uint64_t id;
	enum wait_end end;
	struct heap_wait *heap;
};

struct waiting {
	/* All processes of a broker share the waits. */
	bool is_shared;
	/* Create what the processes share, before they start, and remove it at the end. */
	bool (*create)(void);
	void (*remove)(void);
	/* Return: a descriptor for poll(), or -1. Called once by each process. */
	int (*open)(void);
	/*
	 * Queue an add. The deadline is a time of CLOCK_MONOTONIC in ns. A @threshold of 0 is
	 * for a wait without keys.
	 */
	void (*add)(struct wait *wait, const struct wait_key *keys, int nr, uint64_t threshold,
		    uint64_t deadline);
	/* Queue a new deadline for a wait whose add was submitted; it may have ended already. */
	void (*rearm)(struct wait *wait, uint64_t deadline);
	/* Queue the end of a wait whose add was submitted; it may have ended already. */
	void (*complete)(struct wait *wait);
	/* Queue a signal. */
	void (*signal)(struct wait_key key, uint64_t amount);
	/* Execute all that is queued. Waits that cannot be added end here. */
	void (*submit)(void);
	/* End all waits of this process. */
	void (*stop)(void);
	/*
	 * Call @fn of the ended waits, exactly once for each. Return: false if there will be no
	 * more events, since the purgatory has been removed.
	 */
	bool (*events)(void);
};

extern const struct waiting waiting_twheel;
extern const struct waiting waiting_heap;

/* The implementation in use. */
extern const struct waiting *waiting;

#define NS_PER_MS	1000000ULL

uint64_t now_ns(void);

#endif /* BROKER_WAITING_H */
