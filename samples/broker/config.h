/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configuration file: brokers, topics and their replicas, the same file for all brokers.
 */
#ifndef BROKER_CONFIG_H
#define BROKER_CONFIG_H

#include <netinet/in.h>
#include <stdbool.h>

#include "wire.h"

#define MAX_NODES	8
#define MAX_WORKERS	64

/* A fetch of all partitions is one operation, with a key for each: TWHEEL_MAX_KEYS. */
#define MAX_PARTITIONS	64

/* Number of the partition with the offsets of groups, after those of all topics. */
#define OFFSETS		MAX_PARTITIONS

struct node {
	int id;
	const char *host;	/* an IPv4 address */
	int port;
	const char *data;	/* folder */
	struct sockaddr_in address;
};

struct topic {
	const char *name;
	int first;		/* number of its partition 0 in config.partitions */
	int nr_partitions;
	int replicas[MAX_NODES];	/* IDs of nodes; the first one is the leader */
	int nr_replicas, min_in_sync;
};

struct config {
	char purgatory[32];	/* "NAME-N" of the broker with the ID N */
	int workers;
	int max_lag_ms;		/* of a replica in sync */
	int initial_delay_ms;	/* of the first rebalance of a group */
	int min_session_ms;
	struct node nodes[MAX_NODES];
	struct topic topics[MAX_PARTITIONS];
	struct topic *partitions[MAX_PARTITIONS + 1];	/* the topic of each partition */
	int nr_nodes, nr_topics, nr_partitions;
	const struct node *self;
};

extern struct config config;

/* Read the file and select this broker; prints errors. @node is its ID; NULL: the first one. */
bool config_load(const char *path, const char *node);
const struct node *config_node(int id);
struct topic *config_topic(struct text name);
/* The coordinator of a group. All brokers agree. */
const struct node *config_coordinator(struct text group);
/* Return: index of the node in topic->replicas, or -1. */
int topic_replica(const struct topic *topic, int node);

static inline bool leads(const struct topic *topic)
{
	return topic->replicas[0] == config.self->id;
}

/* Does this broker have a replica of the topic? */
static inline bool is_replica(const struct topic *topic)
{
	return topic_replica(topic, config.self->id) >= 0;
}

#endif /* BROKER_CONFIG_H */
