// SPDX-License-Identifier: GPL-2.0
/*
 * Requests. See request.h.
 */
#include <stdlib.h>
#include <time.h>

#include "request.h"

#define NS_PER_S	1000000000ULL

const struct api * const apis[] = {
	&api_produce, &api_fetch, &api_list_offsets, &api_metadata, &api_versions, NULL,
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

static void read_parts(struct request *request, struct wire *wire, part_fn *fn)
{
	int topics = wire_count(wire, 0);

	while (topics-- > 0 && !wire->failed) {
		struct text topic;
		int nr;

		wire_string(wire, &topic);
		for (nr = wire_count(wire, 0); nr > 0 && !wire->failed; nr--) {
			struct part *part = request_add(request, topic);

			if (!part) {
				wire->failed = true;
				return;
			}
			wire_int(wire, part->index);
			find_partition(part);
			fn(request, part, wire);
		}
	}
}

static void write_parts(struct request *request, struct wire *wire, part_fn *fn)
{
	int i = 0;

	wire_count(wire, request->nr_topics);
	while (i < request->nr_parts) {
		int nr = entry_size(request, i);

		wire_string(wire, &request->parts[i].topic);
		for (wire_count(wire, nr); nr--; i++) {
			wire_int(wire, request->parts[i].index);
			fn(request, &request->parts[i], wire);
		}
	}
}

void request_parts(struct request *request, struct wire *wire, part_fn *fn)
{
	(wire->writes ? write_parts : read_parts)(request, wire, fn);
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
	transfer_header(request, wire);
	wire->failed |= !request->api;
	if (wire->failed)
		return;
	if (request->version > request->api->max) {
		request->error = UNSUPPORTED_VERSION;
		request->version = 0;
	} else if (request->api->request) {
		request->api->request(request, wire);
	}
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
	if (request->api->begin)
		request->api->begin(request);
	return request;
}

uint64_t request_missing(struct request *request)
{
	return request->api->missing && request->timeout_ms ? request->api->missing(request) : 0;
}

void request_wait(struct request *request, uint64_t missing)
{
	struct wait_key keys[MAX_PARTITIONS];
	bool used[MAX_PARTITIONS] = { };
	int nr = 0;

	for (int i = 0; i < request->nr_parts; i++) {
		const struct part *part = &request->parts[i];

		if (part->error || used[part->number])
			continue;
		used[part->number] = true;
		keys[nr++] = (struct wait_key){ request->kind, part->number };
	}
	request->missing = missing;
	wait_add(&request->wait, keys, nr, nr ? missing : 0, request->deadline);
}

void request_write(struct request *request, struct wire *wire)
{
	size_t start = wire->size;

	wire_number(wire, 0, PREFIX_SIZE);
	transfer_header(request, wire);
	request->api->request(request, wire);
	wire_patch(wire, start, wire->size - start - PREFIX_SIZE);
}

bool request_answer(struct request *request, struct wire *wire)
{
	size_t start = wire->size;
	bool ok;

	wire_number(wire, 0, PREFIX_SIZE);
	wire_int(wire, request->correlation);
	request->api->response(request, wire);
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
