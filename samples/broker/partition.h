/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Partitions: the end of the log, the high watermark and the replicas, in memory that all
 * processes of a broker share.
 *
 * The log is a file of record batches. It is mapped before the workers start, so that its batches
 * are memory of all processes. Bytes beyond the shared end of the log do not exist.
 *
 * A replica is in sync from the time that it has fetched up to the high watermark. It has a
 * lease, an alarm whose deadline moves whenever the replica has fetched all that the log had
 * at its previous fetch. When the lease expires, the replica is not in sync any more. The high
 * watermark is the lowest end of the log of all replicas in sync, including the leader.
 *
 * Each partition has a robust mutex. A process may be killed at any instruction: the two places
 * change by a single store each, and the next owner of the mutex cuts an unfinished batch.
 *
 * Changes queue signals for the requests that wait; the caller submits them.
 */
#ifndef BROKER_PARTITION_H
#define BROKER_PARTITION_H

#include <pthread.h>

#include "config.h"

#define LOG_MAX		(16ULL << 30)

struct log {
	int fd;
	const uint8_t *data;
	char path[4096];
	struct place found;	/* by the last search of this process */
};

/* The state of a partition at one time. */
struct state {
	struct place end, high;
	int nr_in_sync;
	bool in_sync[MAX_NODES];	/* by index in topic->replicas */
};

/* Return: zeroed memory for all processes that are started later; exits without it. */
void *shared_memory(size_t size);
/* Initialise a robust mutex in it. */
void shared_lock(pthread_mutex_t *lock);

/* Create the shared memory and recover the logs, before the workers start; or exit. */
void partitions_create(void);

struct log *partition_log(int partition);
/* Return: start of the batch with an offset, or the end. */
struct place log_find(struct log *log, struct place end, int64_t offset);
struct state partition_state(int partition);

/* Append a batch to a partition that this broker leads. Return: its first offset, or -1. */
int64_t partition_append(int partition, uint8_t *data, const struct batch *batch);
/* Append batches that were fetched from the leader. */
bool partition_copy(int partition, const uint8_t *data, size_t len, int64_t high);
/* A follower has all records before this place. Return: false if it is not a replica. */
bool partition_followed(int partition, int node, struct place place);
/* Complete the changes and the signals of a killed worker. */
void partitions_repair(void);

#endif /* BROKER_PARTITION_H */
