/* SPDX-License-Identifier: GPL-2.0 */
/* The processes of a broker that the main process starts. */
#ifndef BROKER_PROCESS_H
#define BROKER_PROCESS_H

#include "config.h"

/* Serve until SIGTERM. Return: the exit status. */
int worker_main(void);
/*
 * A client with the ID of a replica fetches the partitions that this broker follows, and appends
 * the batches to its own logs, until its connection ends. Return: 1 if nothing was copied.
 *
 * Leaders never change, so there are no epochs. If the leader's log does not have the last batch
 * of this one, it has lost records, and this log is kept as it is: it may be the only copy.
 */
int replicator_main(const struct node *leader);
/* Does this broker copy from this leader? */
bool replicator_follows(const struct node *leader);

#endif /* BROKER_PROCESS_H */
