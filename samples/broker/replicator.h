/* SPDX-License-Identifier: GPL-2.0 */
#ifndef BROKER_REPLICATOR_H
#define BROKER_REPLICATOR_H

#include "config.h"

/* Copy the partitions that a leader has for this broker, until a signal. */
int replicator_main(const struct node *leader, const char *purgatory);

#endif /* BROKER_REPLICATOR_H */
