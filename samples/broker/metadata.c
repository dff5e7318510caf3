// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that never wait: Metadata, ListOffsets and ApiVersions.
 */
#include "request.h"

/* Times of ListOffsets. */
#define LATEST		(-1)
#define EARLIEST	(-2)

static void metadata_request(struct request *request, struct wire *wire)
{
	int nr = wire_count(wire, 0);
	struct text name;

	for (int i = 0; i < nr && !wire->failed; i++) {
		wire_string(wire, &name);
		wire->failed |= !request_add(request, name);
	}
	if (nr < 0 || (!nr && !request->version)) {
		for (int i = 0; i < config.nr_topics; i++)
			request_add(request, text_of(config.topics[i].name));
	}
	if (request->version >= 4)
		wire_number(wire, 0, 1);
}

static void put_partition(const struct topic *topic, int index, struct wire *wire)
{
	struct state state = partition_state(topic->first + index);

	wire_number(wire, 0, 2);
	wire_number(wire, index, 4);
	wire_number(wire, topic->leader, 4);
	wire_count(wire, topic->nr_replicas);
	for (int i = 0; i < topic->nr_replicas; i++)
		wire_number(wire, topic->replicas[i], 4);
	wire_count(wire, state.nr_in_sync);
	for (int i = 0; i < topic->nr_replicas; i++) {
		if (state.in_sync[i])
			wire_number(wire, topic->replicas[i], 4);
	}
}

static void put_topic(struct text name, int version, struct wire *wire)
{
	const struct topic *topic = config_topic(name);

	wire_number(wire, topic ? 0 : UNKNOWN_TOPIC_OR_PARTITION, 2);
	wire_string(wire, &name);
	if (version >= 1)
		wire_number(wire, 0, 1);
	wire_count(wire, topic ? topic->nr_partitions : 0);
	for (int i = 0; topic && i < topic->nr_partitions; i++)
		put_partition(topic, i, wire);
}

static void metadata_response(struct request *request, struct wire *wire)
{
	struct text none = { .len = -1 };

	if (request->version >= 3)
		wire_number(wire, 0, 4);
	wire_count(wire, config.nr_nodes);
	for (int i = 0; i < config.nr_nodes; i++) {
		struct text host = text_of(config.nodes[i].host);

		wire_number(wire, config.nodes[i].id, 4);
		wire_string(wire, &host);
		wire_number(wire, config.nodes[i].port, 4);
		if (request->version >= 1)
			wire_string(wire, &none);
	}
	if (request->version >= 2)
		wire_string(wire, &none);
	if (request->version >= 1)
		wire_number(wire, config.nodes[0].id, 4);
	wire_count(wire, request->nr_parts);
	for (int i = 0; i < request->nr_parts; i++)
		put_topic(request->parts[i].topic, request->version, wire);
}

const struct api api_metadata = {
	.key = 3,
	.min = 0,
	.max = 4,
	.request = metadata_request,
	.response = metadata_response,
};

static void offsets_request_part(struct request *request, struct part *part, struct wire *wire)
{
	wire_int(wire, part->offset);
}

static void offsets_request(struct request *request, struct wire *wire)
{
	wire_int(wire, request->replica);
	request_parts(request, wire, offsets_request_part);
}

/* There is no index of times. */
static void offsets_response_part(struct request *request, struct part *part, struct wire *wire)
{
	int64_t offset = -1;

	if (!part->error && part->offset == LATEST)
		offset = partition_state(part->number).high.offset;
	else if (!part->error && part->offset == EARLIEST)
		offset = 0;
	else if (!part->error)
		part->error = UNSUPPORTED_FOR_MESSAGE_FORMAT;
	wire_int(wire, part->error);
	wire_number(wire, -1, 8);
	wire_int(wire, offset);
}

static void offsets_response(struct request *request, struct wire *wire)
{
	request_parts(request, wire, offsets_response_part);
}

const struct api api_list_offsets = {
	.key = 2,
	.min = 1,
	.max = 1,
	.request = offsets_request,
	.response = offsets_response,
};

static void versions_response(struct request *request, struct wire *wire)
{
	int nr = 0;

	while (apis[nr])
		nr++;
	wire_int(wire, request->error);
	wire_count(wire, nr);
	for (int i = 0; i < nr; i++) {
		wire_number(wire, apis[i]->key, 2);
		wire_number(wire, apis[i]->min, 2);
		wire_number(wire, apis[i]->max, 2);
	}
	if (request->version >= 1)
		wire_number(wire, 0, 4);
}

/* A client of a later version gets an error with the versions, and asks again. */
const struct api api_versions = {
	.key = 18,
	.min = 0,
	.max = 2,
	.response = versions_response,
};
