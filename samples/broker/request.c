// SPDX-License-Identifier: GPL-2.0
/* Requests: see request.h. */
#include <stdlib.h>
#include <sys/param.h>
#include <time.h>

#include "request.h"

const struct api * const apis[NR_APIS] = {
	&api_produce, &api_fetch, &api_list_offsets, &api_metadata, &api_versions,
	&api_find_coordinator, &api_join_group, &api_sync_group, &api_heartbeat, &api_leave_group,
	&api_offset_commit, &api_offset_fetch,
};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

struct part *request_add(struct request *request, struct text name, int index)
{
	const struct topic *topic = config_topic(name);
	struct part *part;

	request->parts = memory(realloc(request->parts, (request->nr_parts + 1) * sizeof(*part)));
	part = &request->parts[request->nr_parts++];
	*part = (struct part){
		.topic = name, .index = index, .number = -1, .error = UNKNOWN_TOPIC_OR_PARTITION,
	};
	if (topic && index >= 0 && index < topic->nr_partitions) {
		part->number = topic->first + index;
		part->error = leads(topic) ? 0 : NOT_LEADER;
	}
	return part;
}

/* When written, each partition is an entry of its topic with a single partition. */
static void transfer_parts(struct request *request, struct wire *wire, const struct field *field)
{
	bool topics = field->type == FIELD_TOPICS;
	int nr = wire_count(wire, request->nr_parts);

	request->all = nr < 0;
	for (int i = 0; i < nr && !wire->failed; i++) {
		struct text topic = wire->writes ? request->parts[i].topic : (struct text){ };
		int entries = 1;

		if (topics) {
			wire_string(wire, &topic);
			entries = wire_count(wire, 1);
		}
		for (; entries > 0 && !wire->failed; entries--) {
			int32_t index = wire->writes ? request->parts[i].index : -1;
			struct part *part;

			if (!wire->writes && request->nr_parts == MAX_PARTS) {
				wire->failed = true;
				return;
			}
			if (topics)
				wire_int(wire, index);
			part = wire->writes ? &request->parts[i] :
					      request_add(request, topic, index);
			request_fields(request, part, wire, field->fields);
		}
	}
}

void request_fields(struct request *request, struct part *part, struct wire *wire,
		    const struct field *fields)
{
	for (const struct field *field = fields; field && field->type; field++) {
		void *at = (char *)(part ? (void *)part : request) + field->at;

		if (request->version < field->from)
			continue;
		switch (field->type) {
		case FIELD_NUMBER:
			*(int64_t *)at = wire_number(wire, *(int64_t *)at, field->size);
			break;
		case FIELD_CONSTANT:
			wire_number(wire, field->value, field->size);
			break;
		case FIELD_TEXT:
			wire_text(wire, at, field->size);
			break;
		case FIELD_PAIRS:
			wire_pairs(wire, at);
			break;
		case FIELD_CALL:
			field->call(request, part, wire);
			break;
		default:
			transfer_parts(request, wire, field);
		}
	}
}

static void transfer_header(struct request *request, struct wire *wire)
{
	int16_t key = request->api ? request->api->key : 0;

	wire_int(wire, key);
	wire_int(wire, request->version);
	wire_int(wire, request->correlation);
	wire_string(wire, &request->client);
	request->api = NULL;
	for (int i = 0; i < NR_APIS; i++) {
		/* ApiVersions has a response for versions of the future. */
		if (apis[i]->key == key && request->version >= apis[i]->min &&
		    (request->version <= apis[i]->max || apis[i] == &api_versions))
			request->api = apis[i];
	}
}

static void lock(const struct request *request)
{
	if (request->api->in_group)
		group_lock();
}

static void unlock(const struct request *request)
{
	if (request->api->in_group)
		group_unlock();
}

void request_start(struct request *request)
{
	const struct api *api = request->api;

	request->deadline = now_ns() + MAX(request->timeout_ms, 0) * NS_PER_MS;
	lock(request);
	if (api->in_group)
		request->error = group_coordinate(request);
	if (api->begin && !request->error)
		request->error = api->begin(request);
	unlock(request);
}

struct request *request_begin(uint8_t *message, size_t len)
{
	struct wire wire = { .data = message, .size = len };
	struct request *request = memory(calloc(1, sizeof(*request)));
	const struct api *api;

	request->member_id.len = -1;
	transfer_header(request, &wire);
	api = request->api;
	if (api && request->version > api->max) {
		request->error = UNSUPPORTED_VERSION;
		request->version = 0;
	} else if (api) {
		request_fields(request, NULL, &wire, api->request);
	}
	if (!api || wire.failed) {
		request_free(request);
		return NULL;
	}
	request_start(request);
	return request;
}

uint64_t request_missing(struct request *request)
{
	uint64_t missing;

	if (!request->api->missing)
		return 0;
	lock(request);
	missing = request->api->missing(request);
	unlock(request);
	return now_ns() < request->deadline ? missing : 0;
}

void request_wait(struct request *request, uint64_t missing)
{
	struct wait_key keys[MAX_PARTITIONS] = { request->key };
	bool used[MAX_PARTITIONS] = { };
	int nr = !request->nr_parts;

	for_each_part(part, request) {
		if (part->error || used[part->number])
			continue;
		used[part->number] = true;
		keys[nr++] = (struct wait_key){ request->key.kind, part->number };
	}
	request->missing = missing;
	wait_add(&request->wait, keys, nr, missing, request->deadline);
}

void request_write(struct request *request, struct wire *wire)
{
	size_t start = wire->size;

	wire_number(wire, 0, PREFIX_SIZE);
	transfer_header(request, wire);
	request_fields(request, NULL, wire, request->api->request);
	wire_patch(wire, start, wire->size - start - PREFIX_SIZE);
}

bool request_answer(struct request *request, struct wire *wire)
{
	size_t start = wire->size;
	bool ok;

	wire_number(wire, 0, PREFIX_SIZE);
	wire_int(wire, request->correlation);
	lock(request);
	if (request->api->answer)
		request->api->answer(request);
	request_fields(request, NULL, wire, request->api->response);
	unlock(request);
	if (request->silent)
		wire->size = start;
	else
		wire_patch(wire, start, wire->size - start - PREFIX_SIZE);
	ok = !wire->failed && !request->failed;
	request_free(request);
	return ok;
}

void request_free(struct request *request)
{
	free(request->parts);
	free(request);
}
