// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration file, in JSON. See config.h.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

struct config config;

/* Owns the strings of the configuration. */
static json_t *document;

const struct node *config_node(int id)
{
	for (int i = 0; i < config.nr_nodes; i++) {
		if (config.nodes[i].id == id)
			return &config.nodes[i];
	}
	return NULL;
}

struct topic *config_topic(struct text name)
{
	for (int i = 0; i < config.nr_topics; i++) {
		struct topic *topic = &config.topics[i];

		if (name.len == (int)strlen(topic->name) &&
		    !memcmp(name.data, topic->name, name.len))
			return topic;
	}
	return NULL;
}

int topic_replica(const struct topic *topic, int node)
{
	for (int i = 0; i < topic->nr_replicas; i++) {
		if (topic->replicas[i] == node)
			return i;
	}
	return -1;
}

static bool wrong(const char *text)
{
	fprintf(stderr, "broker: configuration: %s\n", text);
	return false;
}

static bool read_node(json_t *from)
{
	struct node *node = &config.nodes[config.nr_nodes];
	json_error_t error;

	if (config.nr_nodes == MAX_NODES)
		return wrong("too many nodes");
	if (json_unpack_ex(from, &error, JSON_STRICT, "{s:i, s:s, s:i, s:s}", "id", &node->id,
			   "host", &node->host, "port", &node->port, "data", &node->data))
		return wrong(error.text);
	if (node->id < 1 || config_node(node->id))
		return wrong("the id of a node is not a unique positive number");
	if (node->port < 1 || node->port > 65535)
		return wrong("a port is not in the range of 1 to 65535");
	node->address.sin_family = AF_INET;
	node->address.sin_port = htons(node->port);
	if (inet_pton(AF_INET, node->host, &node->address.sin_addr) != 1)
		return wrong("a host is not an IPv4 address");
	config.nr_nodes++;
	return true;
}

static bool read_replicas(struct topic *topic, json_t *ids)
{
	size_t i;
	json_t *id;

	if (!ids) {
		topic->replicas[topic->nr_replicas++] = topic->leader;
		return true;
	}
	json_array_foreach(ids, i, id) {
		int node = json_integer_value(id);

		if (!config_node(node) || topic_replica(topic, node) >= 0)
			return wrong("a replica is not a node, or named twice");
		topic->replicas[topic->nr_replicas++] = node;
	}
	if (topic_replica(topic, topic->leader) < 0)
		return wrong("a leader is not among the replicas of its topic");
	return true;
}

/* Names are parts of file names. */
static bool valid_name(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= 100 && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
	       len;
}

static bool read_topic(json_t *from)
{
	struct topic *topic = &config.topics[config.nr_topics];
	json_t *replicas = NULL;
	json_error_t error;

	if (config.nr_topics == MAX_TOPICS)
		return wrong("too many topics");
	*topic = (struct topic){
		.nr_partitions = 1,
		.leader = config.nodes[0].id,
		.first = config.nr_partitions,
		.min_in_sync = 1,
	};
	if (json_unpack_ex(from, &error, JSON_STRICT, "{s:s, s?i, s?i, s?o, s?i}",
			   "name", &topic->name, "partitions", &topic->nr_partitions,
			   "leader", &topic->leader, "replicas", &replicas,
			   "min.insync.replicas", &topic->min_in_sync))
		return wrong(error.text);
	if (!valid_name(topic->name) ||
	    config_topic((struct text){ topic->name, strlen(topic->name) }))
		return wrong("the name of a topic is invalid or not unique");
	if (topic->nr_partitions < 1 ||
	    topic->nr_partitions > MAX_PARTITIONS - config.nr_partitions)
		return wrong("the number of partitions is not in the range of 1 to 64");
	if (!read_replicas(topic, replicas))
		return false;
	for (int i = 0; i < topic->nr_partitions; i++)
		config.partitions[config.nr_partitions++] = topic;
	config.nr_topics++;
	return true;
}

static bool read_all(json_t *root)
{
	json_t *nodes, *topics, *item;
	json_error_t error;
	size_t i;

	config = (struct config){ .purgatory = "broker", .workers = 1, .max_lag_ms = 30000 };
	if (json_unpack_ex(root, &error, JSON_STRICT, "{s?s, s?i, s?i, s:o, s:o}",
			   "purgatory", &config.purgatory, "workers", &config.workers,
			   "replica.lag.time.max.ms", &config.max_lag_ms,
			   "nodes", &nodes, "topics", &topics))
		return wrong(error.text);
	/* The name of a purgatory has up to 31 characters, with the ID. */
	if (strlen(config.purgatory) > 20)
		return wrong("the name of the purgatory has more than 20 characters");
	/* The fetch of a follower waits for 500 ms. */
	if (config.max_lag_ms < 1000)
		return wrong("replica.lag.time.max.ms is below 1000");
	json_array_foreach(nodes, i, item) {
		if (!read_node(item))
			return false;
	}
	if (!config.nr_nodes)
		return wrong("there is no node");
	json_array_foreach(topics, i, item) {
		if (!read_topic(item))
			return false;
	}
	return true;
}

bool config_load(const char *path, int node)
{
	json_error_t error;

	document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!document) {
		fprintf(stderr, "broker: %s: line %d: %s\n", path, error.line, error.text);
		return false;
	}
	if (!read_all(document))
		return false;
	config.self = node ? config_node(node) : &config.nodes[0];
	return config.self || wrong("no node has this id");
}

void config_free(void)
{
	json_decref(document);
	document = NULL;
}
