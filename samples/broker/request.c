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

const struct waiting *waiting;

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static struct part *new_part(struct request *request)
{
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
	return &request->parts[request->nr_parts++];
}

/* A request for a partition is for its leader. */
static void find_partition(struct part *part)
{
	const struct topic *topic = config_topic(part->topic);

	if (!topic || part->index < 0 || part->index >= topic->nr_partitions) {
		part->error = UNKNOWN_TOPIC_OR_PARTITION;
		return;
	}
	part->partition = topic->first + part->index;
	if (!leads(topic))
		part->error = NOT_LEADER;
}

void read_parts(struct request *request, struct reader *reader, part_reader *read)
{
	int topics = get_count(reader);

	for (int i = 0; i < topics && !reader->bad; i++) {
		struct text topic = get_string(reader);
		int nr = get_count(reader);

		for (int j = 0; j < nr && !reader->bad; j++) {
			struct part *part = new_part(request);

			if (!part) {
				reader->bad = true;
				return;
			}
			*part = (struct part){ .group = request->nr_groups, .topic = topic };
			part->index = get_i32(reader);
			find_partition(part);
			read(request, part, reader);
		}
		request->nr_groups += nr > 0;
	}
}

void write_parts(struct request *request, struct writer *writer, part_writer *write)
{
	struct part *parts = request->parts;
	int i = 0, end;

	put_i32(writer, request->nr_groups);
	while (i < request->nr_parts) {
		for (end = i; end < request->nr_parts && parts[end].group == parts[i].group; end++)
			;
		put_string(writer, parts[i].topic);
		put_i32(writer, end - i);
		for (; i < end; i++) {
			put_i32(writer, parts[i].index);
			write(request, &parts[i], writer);
		}
	}
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

static void read_header(struct request *request, struct reader *reader)
{
	int key = get_i16(reader);

	request->version = get_i16(reader);
	request->correlation = get_i32(reader);
	request->api = find_api(key, request->version);
	if (!request->api) {
		reader->bad = true;
		return;
	}
	if (request->version > request->api->max) {
		request->error = UNSUPPORTED_VERSION;
		request->version = 0;
		return;
	}
	get_string(reader);
	/* The only flexible version. */
	if (request->api == &api_versions && request->version >= 3)
		skip_tags(reader);
	request->body = *reader;
	request->api->parse(request, reader);
}

struct request *request_begin(uint8_t *frame, size_t len)
{
	struct reader reader = { .at = frame, .end = frame + len };
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	read_header(request, &reader);
	if (reader.bad) {
		request_free(request);
		return NULL;
	}
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

		if (part->error || used[part->partition])
			continue;
		used[part->partition] = true;
		keys[nr].kind = request->api->kind(request);
		keys[nr++].partition = part->partition;
	}
	request->missing = missing;
	waiting->add(&request->wait, keys, nr, nr ? missing : 0, request->deadline);
}

bool request_answer(struct request *request, struct writer *writer)
{
	size_t start = writer->size;
	bool ok;

	put_i32(writer, 0);
	put_i32(writer, request->correlation);
	request->api->answer(request, writer);
	if (request->silent)
		writer->size = start;
	else
		patch_i32(writer, start, writer->size - start - 4);
	ok = !writer->failed && !request->failed;
	request_free(request);
	return ok;
}

void request_free(struct request *request)
{
	free(request->parts);
	free(request);
}
