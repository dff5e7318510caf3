/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The configuration file: brokers, topics and their replicas, the same file for all brokers.
 */
#ifndef BROKER_CONFIG_H
#define BROKER_CONFIG_H

#include <netinet/in.h>

#include "wire.h"

#define MAX_NODES	8
#define MAX_WORKERS	64

/* A fetch of all partitions is one operation, with a key for each: TWHEEL_MAX_KEYS. */
#define MAX_PARTITIONS	64

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
	struct node nodes[MAX_NODES];	/* the first one is the coordinator of all groups */
	struct topic topics[MAX_PARTITIONS];
	struct topic *partitions[MAX_PARTITIONS];	/* the topic of each partition */
	int nr_nodes, nr_topics, nr_partitions;
	const struct node *self;
	struct json_t *document;	/* owns the strings */
};

extern struct config config;

/* Read the file and select this broker, or exit. @node is its ID; NULL: the first one. */
void config_load(const char *file, const char *node);
struct topic *config_topic(struct text name);
/* Return: index of the node in topic->replicas, or -1. */
int topic_replica(const struct topic *topic, int node);

static inline bool leads(const struct topic *topic)
{
	return topic->replicas[0] == config.self->id;
}

static inline bool is_replica(const struct topic *topic)
{
	return topic_replica(topic, config.self->id) >= 0;
}

#endif /* BROKER_CONFIG_H */
