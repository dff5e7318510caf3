/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For tests of waits: a broker in one process without sockets, whose purgatory is that of the fake
 * device.
 */
#ifndef BROKER_UNIT_KIT_H
#define BROKER_UNIT_KIT_H

#include <stdlib.h>
#include <tap.h>

#include "../waiting_twheel.c"
#include "../request.h"

/*
 * Broker 1 leads "alone" with two partitions, and "both" with broker 2 and the partition 2;
 * broker 2 leads "other", which broker 1 follows. The logs are empty.
 */
static void kit_start(void)
{
	static bool started;
	char folder[] = "/tmp/broker-unit-XXXXXX", command[64];

	if (!mkdtemp(folder))
		abort();
	config = (struct config){
		.purgatory = "test",
		.nodes = { { .id = 1, .host = "127.0.0.1", .port = 9, .data = folder },
			   { .id = 2, .host = "127.0.0.1", .port = 10 } },
		.nr_nodes = 2,
		.topics = { { "alone", 0, 2, { 1 }, 1, 1 }, { "both", 2, 1, { 1, 2 }, 2, 2 },
			    { "other", 3, 1, { 2, 1 }, 2, 1 } },
		.nr_topics = 3,
		.partitions = { &config.topics[0], &config.topics[0], &config.topics[1],
				&config.topics[2] },
		.nr_partitions = 4,
		.max_lag_ms = 3600000,
		.self = &config.nodes[0],
	};
	if (!started)
		waiting_create();
	else if (!clear_alarms())
		abort();
	started = true;
	waiting_open(true);
	partitions_create();
	groups_create();
	/* The logs remain open. */
	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command))
		abort();
}

#endif /* BROKER_UNIT_KIT_H */
