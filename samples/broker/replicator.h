/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replication: a process for each leader fetches the partitions that this broker follows, and
 * appends the batches to its own logs. It is a client with the ID of a replica; the leader makes
 * it wait. The process ends with its connection, and the main process starts the next one.
 *
 * Leaders never change, so there are no epochs. If the leader's log does not have the last batch
 * of this one, it has lost records, and this log is kept as it is: it may be the only copy.
 */
#ifndef BROKER_REPLICATOR_H
#define BROKER_REPLICATOR_H

#include "config.h"

/* Does this broker copy from this leader? */
bool replicator_follows(const struct node *leader);
/* Copy what a leader has for this broker. Return: 1 if nothing was copied. */
int replicator_main(const struct node *leader);

/* For tests: write a fetch; and copy the records in a response, without its size. */
void replicator_request(const struct node *leader, struct wire *wire);
bool replicator_response(const uint8_t *message, size_t len);

#endif /* BROKER_REPLICATOR_H */
