// SPDX-License-Identifier: GPL-2.0
/*
 * Requests. See request.h.
 */
#include <stdlib.h>
#include <time.h>

#include "group.h"
#include "request.h"

#define NS_PER_S	1000000000ULL

const struct api * const apis[] = {
	&api_produce, &api_fetch, &api_list_offsets, &api_metadata, &api_versions,
	&api_find_coordinator, &api_join_group, &api_sync_group, &api_heartbeat, &api_leave_group,
	&api_offset_commit, &api_offset_fetch, NULL,
};

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct part *request_add(struct request *request, struct text topic)
{
	struct part *part;

	if (request->nr_parts == request->max_parts) {
		int max = request->max_parts ? 2 * request->max_parts : 2;
		struct part *parts;

		if (max > MAX_PARTS)
			return NULL;
		parts = realloc(request->parts, max * sizeof(*parts));
		if (!parts)
			return NULL;
		request->parts = parts;
		request->max_parts = max;
	}
	part = &request->parts[request->nr_parts++];
	if (part == request->parts || part[-1].topic.data != topic.data)
		request->nr_topics++;
	*part = (struct part){ .topic = topic };
	return part;
}

/* Return: number of partitions in an entry of a topic. */
static int entry_size(const struct request *request, int first)
{
	int next = first;

	while (next < request->nr_parts &&
	       request->parts[next].topic.data == request->parts[first].topic.data)
		next++;
	return next - first;
}

/* A request for a partition is for its leader. */
static void find_partition(struct part *part)
{
	const struct topic *topic = config_topic(part->topic);

	part->number = -1;
	part->error = UNKNOWN_TOPIC_OR_PARTITION;
	if (!topic || part->index < 0 || part->index >= topic->nr_partitions)
		return;
	part->number = topic->first + part->index;
	part->error = leads(topic) ? 0 : NOT_LEADER;
}

static void transfer(struct request *request, struct part *part, struct wire *wire,
		     const struct field *fields);

static void read_parts(struct request *request, struct wire *wire, const struct field *field)
{
	int topics = wire_count(wire, 0);

	request->all = topics < 0;
	while (topics-- > 0 && !wire->failed) {
		struct text topic = { };
		int nr = 1;

		if (field->type == FIELD_TOPICS) {
			wire_string(wire, &topic);
			nr = wire_count(wire, 0);
		}
		for (; nr > 0 && !wire->failed; nr--) {
			struct part *part = request_add(request, topic);

			if (!part) {
				wire->failed = true;
				return;
			}
			if (field->type == FIELD_TOPICS) {
				wire_int(wire, part->index);
				find_partition(part);
			}
			transfer(request, part, wire, field->fields);
		}
	}
}

static void write_parts(struct request *request, struct wire *wire, const struct field *field)
{
	bool topics = field->type == FIELD_TOPICS;

	wire_count(wire, topics ? request->nr_topics : request->nr_parts);
	for (int i = 0; i < request->nr_parts;) {
		int nr = topics ? entry_size(request, i) : 1;

		if (topics) {
			wire_string(wire, &request->parts[i].topic);
			wire_count(wire, nr);
		}
		for (; nr--; i++) {
			if (topics)
				wire_int(wire, request->parts[i].index);
			transfer(request, &request->parts[i], wire, field->fields);
		}
	}
}

static void transfer_number(struct wire *wire, void *at, size_t size)
{
	switch (size) {
	case 1:
		wire_int(wire, *(int8_t *)at);
		break;
	case 2:
		wire_int(wire, *(int16_t *)at);
		break;
	case 4:
		wire_int(wire, *(int32_t *)at);
		break;
	case 8:
		wire_int(wire, *(int64_t *)at);
	}
}

/* An array of texts and bytes, which is read later. */
static void skip_pairs(struct wire *wire, struct text *list)
{
	size_t start = wire->at;
	struct text text;

	for (int nr = wire_count(wire, 0); nr > 0 && !wire->failed; nr--) {
		wire_string(wire, &text);
		wire_bytes(wire, &text);
	}
	*list = (struct text){ (const char *)wire->data + start, wire->at - start };
}

static void transfer_field(struct request *request, struct part *part, struct wire *wire,
			   const struct field *field)
{
	void *at = (char *)(part ? (void *)part : request) + field->at;

	switch (field->type) {
	case FIELD_NUMBER:
		transfer_number(wire, at, field->size);
		break;
	case FIELD_CONSTANT:
		wire_number(wire, field->value, field->size);
		break;
	case FIELD_TEXT:
		wire_string(wire, at);
		break;
	case FIELD_BYTES:
		wire_bytes(wire, at);
		break;
	case FIELD_PAIRS:
		skip_pairs(wire, at);
		break;
	case FIELD_EMPTY:
		wire->failed |= wire_count(wire, 0) > 0;
		break;
	case FIELD_CALL:
		field->call(request, part, wire);
		break;
	default:
		(wire->writes ? write_parts : read_parts)(request, wire, field);
	}
}

static void transfer(struct request *request, struct part *part, struct wire *wire,
		     const struct field *fields)
{
	for (const struct field *field = fields; field && field->type; field++) {
		if (request->version >= field->from && request->version <= field->to)
			transfer_field(request, part, wire, field);
	}
}

void request_fields(struct request *request, struct wire *wire, const struct field *fields)
{
	transfer(request, NULL, wire, fields);
}

/* ApiVersions has a response for versions of the future. */
static const struct api *find_api(int key, int version)
{
	for (int i = 0; apis[i]; i++) {
		const struct api *api = apis[i];

		if (api->key == key && version >= api->min &&
		    (version <= api->max || api == &api_versions))
			return api;
	}
	return NULL;
}

static void transfer_header(struct request *request, struct wire *wire)
{
	int16_t key = request->api ? request->api->key : 0;

	wire_int(wire, key);
	wire_int(wire, request->version);
	wire_int(wire, request->correlation);
	wire_string(wire, &request->client);
	request->api = find_api(key, request->version);
}

static void read_request(struct request *request, struct wire *wire)
{
	request->instance.len = -1;
	request->member_id.len = -1;
	transfer_header(request, wire);
	wire->failed |= !request->api;
	if (wire->failed)
		return;
	if (request->version > request->api->max) {
		request->error = UNSUPPORTED_VERSION;
		request->version = 0;
	} else {
		request_fields(request, wire, request->api->request);
	}
}

static void lock(const struct request *request)
{
	if (request->api->group)
		group_lock();
}

static void unlock(const struct request *request)
{
	if (request->api->group)
		group_unlock();
}

struct request *request_begin(uint8_t *message, size_t len)
{
	struct wire wire = { .data = message, .size = len };
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	read_request(request, &wire);
	if (wire.failed) {
		request_free(request);
		return NULL;
	}
	if (request->timeout_ms < 0)
		request->timeout_ms = 0;
	request->deadline = now_ns() + request->timeout_ms * NS_PER_MS;
	lock(request);
	if (request->api->group)
		request->error = group_coordinate(request) ?: request->api->group(request);
	if (request->api->begin)
		request->api->begin(request);
	unlock(request);
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

	for (int i = 0; i < request->nr_parts; i++) {
		const struct part *part = &request->parts[i];

		if (part->error || used[part->number])
			continue;
		used[part->number] = true;
		keys[nr++] = (struct wait_key){ request->key.kind, part->number };
	}
	request->missing = missing;
	wait_add(&request->wait, keys, nr, nr ? missing : 0, request->deadline);
}

void request_write(struct request *request, struct wire *wire)
{
	size_t start = wire->size;

	wire_number(wire, 0, PREFIX_SIZE);
	transfer_header(request, wire);
	request_fields(request, wire, request->api->request);
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
	request_fields(request, wire, request->api->response);
	unlock(request);
	if (request->silent)
		wire->size = start;
	else
		wire_patch(wire, start, wire->size - start - PREFIX_SIZE);
	ok = !wire->failed && !request->failed;
	request_free(request);
	return ok;
}

void request_closed(struct request *request)
{
	lock(request);
	if (request->api->closed)
		request->api->closed(request);
	unlock(request);
}

void request_free(struct request *request)
{
	free(request->parts);
	free(request);
}
