// SPDX-License-Identifier: GPL-2.0
/* The configuration file, in JSON: see config.h. */
#include <arpa/inet.h>
#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

struct config config;

static const char *path;
static json_error_t error;

static const struct node *find_node(int id)
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
		if (text_equals(name, text_of(config.topics[i].name)))
			return &config.topics[i];
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

static void require(bool condition, const char *text)
{
	if (!condition)
		errx(1, "%s: line %d: %s", path, error.line, text);
}

static void read_node(json_t *from)
{
	struct node *node = &config.nodes[config.nr_nodes++];

	require(config.nr_nodes <= MAX_NODES, "there are too many nodes");
	require(!json_unpack_ex(from, &error, JSON_STRICT, "{s:i, s:s, s:i, s:s}", "id", &node->id,
				"host", &node->host, "port", &node->port, "data", &node->data),
		error.text);
	require(node->id > 0, "the id of a node is not positive");
	require(find_node(node->id) == node, "two nodes have the same id");
	node->address.sin_family = AF_INET;
	node->address.sin_port = htons(node->port);
	require(inet_pton(AF_INET, node->host, &node->address.sin_addr) == 1,
		"a host is not an IPv4 address");
}

static void read_topic(json_t *from)
{
	/* Names are parts of file names. */
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct topic topic = {
		.nr_partitions = 1, .first = config.nr_partitions, .min_in_sync = 1,
	};
	json_t *ids = NULL;
	size_t len;

	require(!json_unpack_ex(from, &error, JSON_STRICT, "{s:s%, s?i, s?o, s?i}",
				"name", &topic.name, &len, "partitions", &topic.nr_partitions,
				"replicas", &ids, "min.insync.replicas", &topic.min_in_sync),
		error.text);
	require(len >= 1 && len <= 100 && topic.name[0] != '.' &&
		strspn(topic.name, letters) == len && !config_topic(text_of(topic.name)),
		"the name of a topic is invalid or not unique");
	require(topic.nr_partitions > 0 &&
		topic.nr_partitions <= MAX_PARTITIONS - config.nr_partitions,
		"there are too many partitions, or a topic has none");
	if (!ids)
		topic.replicas[topic.nr_replicas++] = config.nodes[0].id;
	for (size_t i = 0; i < json_array_size(ids); i++) {
		int node = json_integer_value(json_array_get(ids, i));

		require(find_node(node) && topic_replica(&topic, node) < 0,
			"a replica is not a node, or named twice");
		topic.replicas[topic.nr_replicas++] = node;
	}
	require(topic.nr_replicas, "a topic has no replicas");
	for (int i = 0; i < topic.nr_partitions; i++)
		config.partitions[config.nr_partitions++] = &config.topics[config.nr_topics];
	config.topics[config.nr_topics++] = topic;
}

void config_load(const char *file, const char *node)
{
	const char *purgatory = "broker";
	json_t *nodes, *topics;

	config = (struct config){
		.workers = 1, .max_lag_ms = 30000, .initial_delay_ms = 3000,
	};
	path = file;
	config.document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	require(config.document, error.text);
	require(!json_unpack_ex(config.document, &error, JSON_STRICT,
				"{s?s, s?i, s?i, s?i, s:o, s:o}",
				"purgatory", &purgatory, "workers", &config.workers,
				"replica.lag.time.max.ms", &config.max_lag_ms,
				"group.initial.rebalance.delay.ms", &config.initial_delay_ms,
				"nodes", &nodes, "topics", &topics), error.text);
	require(config.workers > 0 && config.workers <= MAX_WORKERS,
		"there are too many workers, or none");
	for (size_t i = 0; i < json_array_size(nodes); i++)
		read_node(json_array_get(nodes, i));
	require(config.nr_nodes, "there is no node");
	for (size_t i = 0; i < json_array_size(topics); i++)
		read_topic(json_array_get(topics, i));
	config.self = node ? find_node(atoi(node)) : &config.nodes[0];
	require(config.self, "no node has this id");
	require(snprintf(config.purgatory, sizeof(config.purgatory), "%s-%d", purgatory,
			 config.self->id) < (int)sizeof(config.purgatory),
		"the name of the purgatory is too long");
}
