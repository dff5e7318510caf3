// SPDX-License-Identifier: GPL-2.0
/* The configuration file, in JSON: see config.h. */
#include <arpa/inet.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "log.h"

struct config config;

/* Owns the strings of the configuration, and the reason of a failure. */
static json_t *document;
static json_error_t error;

const struct node *config_node(int id)
{
	for (int i = 0; i < config.nr_nodes; i++) {
		if (config.nodes[i].id == id)
			return &config.nodes[i];
	}
	return NULL;
}

const struct node *config_coordinator(struct text group)
{
	uint32_t hash = crc32c((const uint8_t *)group.data, group.len < 0 ? 0 : group.len);

	return &config.nodes[hash % config.nr_nodes];
}

struct topic *config_topic(struct text name)
{
	for (int i = 0; i < config.nr_topics; i++) {
		if (text_is(name, config.topics[i].name))
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

static bool check(bool condition, const char *text)
{
	if (!condition && !error.text[0])
		snprintf(error.text, sizeof(error.text), "%s", text);
	return condition;
}

static bool read_node(json_t *from)
{
	struct node *node = &config.nodes[config.nr_nodes];

	if (!check(config.nr_nodes < MAX_NODES, "there are too many nodes") ||
	    json_unpack_ex(from, &error, JSON_STRICT, "{s:i, s:s, s:i, s:s}", "id", &node->id,
			   "host", &node->host, "port", &node->port, "data", &node->data))
		return false;
	config.nr_nodes++;
	node->address.sin_family = AF_INET;
	node->address.sin_port = htons(node->port);
	return check(node->id > 0 && config_node(node->id) == node,
		     "the id of a node is not a unique positive number") &&
	       check(node->port > 0 && node->port < 65536, "a port is not between 1 and 65535") &&
	       check(inet_pton(AF_INET, node->host, &node->address.sin_addr) == 1,
		     "a host is not an IPv4 address");
}

static bool read_replicas(struct topic *topic, json_t *ids)
{
	size_t nr = ids ? json_array_size(ids) : 1;

	for (size_t i = 0; i < nr; i++) {
		int node = ids ? json_integer_value(json_array_get(ids, i)) : config.nodes[0].id;

		if (!check(config_node(node) && topic_replica(topic, node) < 0,
			   "a replica is not a node, or named twice"))
			return false;
		topic->replicas[topic->nr_replicas++] = node;
	}
	return check(nr, "a topic has no replicas");
}

static bool read_topic(json_t *from)
{
	/* Names are parts of file names. */
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	struct topic *topic = &config.topics[config.nr_topics];
	json_t *replicas = NULL;
	size_t len;

	if (!check(config.nr_partitions < MAX_PARTITIONS, "there are too many partitions"))
		return false;
	*topic = (struct topic){
		.nr_partitions = 1, .first = config.nr_partitions, .min_in_sync = 1,
	};
	if (json_unpack_ex(from, &error, JSON_STRICT, "{s:s%, s?i, s?o, s?i}",
			   "name", &topic->name, &len, "partitions", &topic->nr_partitions,
			   "replicas", &replicas, "min.insync.replicas", &topic->min_in_sync) ||
	    !check(len >= 1 && len <= 100 && topic->name[0] != '.' &&
		   strspn(topic->name, letters) == len && !config_topic(text_of(topic->name)),
		   "the name of a topic is invalid or not unique") ||
	    !check(topic->nr_partitions > 0 &&
		   topic->nr_partitions <= MAX_PARTITIONS - config.nr_partitions,
		   "the number of all partitions is not between 1 and 64") ||
	    !read_replicas(topic, replicas))
		return false;
	for (int i = 0; i < topic->nr_partitions; i++)
		config.partitions[config.nr_partitions++] = topic;
	config.nr_topics++;
	return check(topic->min_in_sync > 0 && topic->min_in_sync <= topic->nr_replicas,
		     "min.insync.replicas is not between 1 and the number of replicas");
}

static bool read_each(json_t *array, bool (*read)(json_t *from))
{
	bool ok = true;

	for (size_t i = 0; i < json_array_size(array) && ok; i++)
		ok = read(json_array_get(array, i));
	return ok;
}

static bool read_all(const char *node)
{
	const char *purgatory = "broker";
	json_t *nodes, *topics;

	config = (struct config){
		.workers = 1, .max_lag_ms = 30000, .initial_delay_ms = 3000, .min_session_ms = 6000,
	};
	if (json_unpack_ex(document, &error, JSON_STRICT, "{s?s, s?i, s?i, s?i, s?i, s:o, s:o}",
			   "purgatory", &purgatory, "workers", &config.workers,
			   "replica.lag.time.max.ms", &config.max_lag_ms,
			   "group.initial.rebalance.delay.ms", &config.initial_delay_ms,
			   "group.min.session.timeout.ms", &config.min_session_ms,
			   "nodes", &nodes, "topics", &topics) ||
	    !read_each(nodes, read_node) || !check(config.nr_nodes, "there is no node") ||
	    !read_each(topics, read_topic))
		return false;
	config.self = node ? config_node(atoi(node)) : &config.nodes[0];
	/* The fetch of a follower waits for 500 ms. */
	return check(config.self, "no node has this id") &&
	       check(config.workers > 0 && config.workers <= MAX_WORKERS,
		     "the number of workers is not between 1 and 64") &&
	       check(config.max_lag_ms >= 1000, "replica.lag.time.max.ms is below 1000") &&
	       check(config.initial_delay_ms >= 0 && config.min_session_ms > 0,
		     "a time of groups is not positive") &&
	       check(snprintf(config.purgatory, sizeof(config.purgatory), "%s-%d", purgatory,
			      config.self->id) < (int)sizeof(config.purgatory),
		     "the name of the purgatory is too long");
}

bool config_load(const char *path, const char *node)
{
	document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (document && read_all(node))
		return true;
	fprintf(stderr, "broker: %s: line %d: %s\n", path, error.line, error.text);
	return false;
}
