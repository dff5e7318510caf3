/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Partitions: the end of the log, the high watermark and the replicas, in memory that all
 * processes of a broker share.
 *
 * A replica is in sync from the time that it has fetched up to the high watermark until its
 * connection is closed; time does not matter.  The high watermark is the lowest end of the log
 * of all replicas in sync, including the leader.
 *
 * Each partition has a robust mutex.  A process may be killed at any instruction: the two places
 * are changed by a single store, and the next owner of the mutex cuts an unfinished batch.
 *
 * Changes queue signals for the requests that wait; the caller submits them.
 */
#ifndef BROKER_PARTITION_H
#define BROKER_PARTITION_H

#include <stdbool.h>
#include <sys/types.h>

#include "config.h"
#include "log.h"

/* The state of a partition at one time. */
struct state {
	struct place end;
	struct place high;
	int nr_in_sync;
	bool in_sync[MAX_NODES];	/* by index in topic->replicas */
};

/* A connection of a follower. */
struct follower {
	int node;
	pid_t worker;
	uint64_t connection;
};

/* Create the shared memory and recover the logs, before the workers start. */
bool partitions_create(void);

struct log *partition_log(int partition);
struct state partition_state(int partition);

/*
 * Append a batch to a partition that this broker leads.
 * Return: offset of its first record, or -1.
 */
int64_t partition_append(int partition, uint8_t *data, const struct batch *batch);
/* Append batches that were fetched from the leader. */
bool partition_copy(int partition, const uint8_t *data, size_t len, int64_t high);
/* A follower has all records before this place. Return: false if it is not a replica. */
bool partition_followed(int partition, const struct follower *follower, struct place place);
/* A connection of a follower was closed, or all connections (0) of a worker. */
void partitions_left(pid_t worker, uint64_t connection);
/* The log of this follower is not a part of the leader's. */
void partition_clear(int partition);
/* End all waits for partitions, after the signals of a killed worker may be lost. */
void partitions_wake(void);

#endif /* BROKER_PARTITION_H */
