// SPDX-License-Identifier: GPL-2.0
/* Requests that never wait: Metadata, ListOffsets, ApiVersions and FindCoordinator. */
#include "request.h"

/* Times of ListOffsets. */
#define LATEST		(-1)
#define EARLIEST	(-2)

static void put_topic(struct request *request, struct part *part, struct wire *wire)
{
	const struct topic *topic = config_topic(part->topic);

	wire_number(wire, topic ? 0 : UNKNOWN_TOPIC_OR_PARTITION, 2);
	wire_string(wire, &part->topic);
	if (request->version >= 1)
		wire_number(wire, 0, 1);
	wire_count(wire, topic ? topic->nr_partitions : 0);
	for (int index = 0; topic && index < topic->nr_partitions; index++) {
		struct state state = partition_state(topic->first + index);

		wire_number(wire, 0, 2);
		wire_number(wire, index, 4);
		wire_number(wire, topic->replicas[0], 4);
		wire_count(wire, topic->nr_replicas);
		for (int i = 0; i < topic->nr_replicas; i++)
			wire_number(wire, topic->replicas[i], 4);
		wire_count(wire, state.nr_in_sync);
		for (int i = 0; i < topic->nr_replicas; i++) {
			if (state.in_sync[i])
				wire_number(wire, topic->replicas[i], 4);
		}
	}
}

static void put_node(const struct node *node, struct wire *wire)
{
	struct text host = text_of(node->host);

	wire_number(wire, node->id, 4);
	wire_string(wire, &host);
	wire_number(wire, node->port, 4);
}

static void put_nodes(struct request *request, struct part *part, struct wire *wire)
{
	wire_count(wire, config.nr_nodes);
	for (int i = 0; i < config.nr_nodes; i++) {
		put_node(&config.nodes[i], wire);
		if (request->version >= 1)
			wire_number(wire, -1, 2);
	}
	if (request->version >= 2)
		wire_number(wire, -1, 2);
	if (request->version >= 1)
		wire_number(wire, config.nodes[0].id, 4);
}

static enum error_code metadata_begin(struct request *request)
{
	bool all = request->all || (!request->version && !request->nr_parts);

	for (int i = 0; all && i < config.nr_topics; i++)
		request_add(request, text_of(config.topics[i].name), -1);
	return 0;
}

const struct api api_metadata = {
	.key = 3, .max = 4,
	.request = FIELDS(EACH_PART(PART_TEXT(0, topic)), CONST(4, 1, 0)),
	.response = FIELDS(THROTTLE(3), CALLS(put_nodes), EACH_PART(CALLS(put_topic))),
	.begin = metadata_begin,
};

/* There is no index of times. */
static void offsets_answer(struct request *request)
{
	for_each_part(part, request) {
		int64_t time = part->offset;

		part->offset = -1;
		if (part->error)
			continue;
		if (time == LATEST)
			part->offset = partition_state(part->number).high.offset;
		else if (time == EARLIEST)
			part->offset = 0;
		else
			part->error = UNSUPPORTED_FOR_MESSAGE_FORMAT;
	}
}

const struct api api_list_offsets = {
	.key = 2, .min = 1, .max = 1,
	.request = FIELDS(NUMBER(0, 4, replica), EACH_PARTITION(PART_NUMBER(0, 8, offset))),
	.response = FIELDS(EACH_PARTITION(PART_NUMBER(0, 2, error), CONST(0, 8, -1),
		PART_NUMBER(0, 8, offset))),
	.answer = offsets_answer,
};

static void put_versions(struct request *request, struct part *part, struct wire *wire)
{
	wire_count(wire, NR_APIS);
	for (int i = 0; i < NR_APIS; i++) {
		wire_number(wire, apis[i]->key, 2);
		wire_number(wire, apis[i]->min, 2);
		wire_number(wire, apis[i]->max, 2);
	}
}

/* A client of a later version gets an error with the versions, and asks again. */
const struct api api_versions = {
	.key = 18, .max = 2,
	.response = FIELDS(NUMBER(0, 2, error), CALLS(put_versions), THROTTLE(1)),
};

static void put_coordinator(struct request *request, struct part *part, struct wire *wire)
{
	put_node(&config.nodes[0], wire);
}

/* Later versions find the coordinators of transactions as well. */
const struct api api_find_coordinator = {
	.key = 10,
	.request = FIELDS(TEXT(0, group_name)),
	.response = FIELDS(NUMBER(0, 2, error), CALLS(put_coordinator)),
};
