// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that never wait: Metadata, ListOffsets and ApiVersions.
 */
#include <string.h>

#include "request.h"

/* Times of ListOffsets. */
#define LATEST		(-1)
#define EARLIEST	(-2)

static void put_nodes(const int *nodes, const bool *which, int nr, struct writer *writer)
{
	size_t start = writer->size;
	int count = 0;

	put_i32(writer, 0);
	for (int i = 0; i < nr; i++) {
		if (which && !which[i])
			continue;
		put_i32(writer, nodes[i]);
		count++;
	}
	patch_i32(writer, start, count);
}

static void put_partition(const struct topic *topic, int index, int version,
			  struct writer *writer)
{
	struct state state = partition_state(topic->first + index);

	put_i16(writer, 0);
	put_i32(writer, index);
	put_i32(writer, topic->leader);
	put_nodes(topic->replicas, NULL, topic->nr_replicas, writer);
	put_nodes(topic->replicas, state.in_sync, topic->nr_replicas, writer);
	if (version >= 5)
		put_i32(writer, 0);
}

static void put_topic(struct text name, const struct topic *topic, int version,
		      struct writer *writer)
{
	int nr = topic ? topic->nr_partitions : 0;

	put_i16(writer, topic ? 0 : UNKNOWN_TOPIC_OR_PARTITION);
	put_string(writer, name);
	if (version >= 1)
		put_i8(writer, 0);
	put_i32(writer, nr);
	for (int i = 0; i < nr; i++)
		put_partition(topic, i, version, writer);
}

static void put_brokers(int version, struct writer *writer)
{
	put_i32(writer, config.nr_nodes);
	for (int i = 0; i < config.nr_nodes; i++) {
		put_i32(writer, config.nodes[i].id);
		put_cstring(writer, config.nodes[i].host);
		put_i32(writer, config.nodes[i].port);
		if (version >= 1)
			put_cstring(writer, NULL);
	}
	if (version >= 2)
		put_cstring(writer, NULL);
	if (version >= 1)
		put_i32(writer, config.nodes[0].id);
}

static void metadata_parse(struct request *request, struct reader *reader)
{
	int nr = get_count(reader);

	for (int i = 0; i < nr && !reader->bad; i++)
		get_string(reader);
	if (request->version >= 4)
		get_i8(reader);
}

static void metadata_answer(struct request *request, struct writer *writer)
{
	int version = request->version;
	int nr = get_count(&request->body);

	if (version >= 3)
		put_i32(writer, 0);
	put_brokers(version, writer);
	if (nr < 0 || (nr == 0 && version == 0)) {
		put_i32(writer, config.nr_topics);
		for (int i = 0; i < config.nr_topics; i++) {
			const char *name = config.topics[i].name;

			put_topic((struct text){ name, strlen(name) }, &config.topics[i], version,
				  writer);
		}
		return;
	}
	put_i32(writer, nr);
	while (nr-- && !writer->failed) {
		struct text name = get_string(&request->body);

		put_topic(name, config_topic(name), version, writer);
	}
}

const struct api api_metadata = {
	.key = 3,
	.min = 0,
	.max = 5,
	.parse = metadata_parse,
	.answer = metadata_answer,
};

static void offsets_read_part(struct request *request, struct part *part, struct reader *reader)
{
	(void)request;
	part->offset = get_i64(reader);
}

static void offsets_parse(struct request *request, struct reader *reader)
{
	get_i32(reader);
	if (request->version >= 2)
		get_i8(reader);
	read_parts(request, reader, offsets_read_part);
}

/* There is no index of times. */
static void offsets_write_part(struct request *request, struct part *part,
			       struct writer *writer)
{
	int64_t offset = -1;

	(void)request;
	if (!part->error && part->offset == LATEST)
		offset = partition_state(part->partition).high.offset;
	else if (!part->error && part->offset == EARLIEST)
		offset = 0;
	else if (!part->error)
		part->error = UNSUPPORTED_FOR_MESSAGE_FORMAT;
	put_i16(writer, part->error);
	put_i64(writer, -1);
	put_i64(writer, offset);
}

static void offsets_answer(struct request *request, struct writer *writer)
{
	if (request->version >= 2)
		put_i32(writer, 0);
	write_parts(request, writer, offsets_write_part);
}

const struct api api_list_offsets = {
	.key = 2,
	.min = 1,
	.max = 2,
	.parse = offsets_parse,
	.answer = offsets_answer,
};

/* The name and the version of the client. */
static void versions_parse(struct request *request, struct reader *reader)
{
	if (request->version < 3)
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t len = get_uvarint(reader);

		get_raw(reader, len ? len - 1 : 0);
	}
	skip_tags(reader);
}

/* Version 3 is flexible: a length is one more, and each structure ends with its tags. */
static void versions_answer(struct request *request, struct writer *writer)
{
	bool flexible = request->version >= 3;
	int nr = 0;

	while (apis[nr])
		nr++;
	put_i16(writer, request->error);
	if (flexible)
		put_uvarint(writer, nr + 1);
	else
		put_i32(writer, nr);
	for (int i = 0; i < nr; i++) {
		put_i16(writer, apis[i]->key);
		put_i16(writer, apis[i]->min);
		put_i16(writer, apis[i]->max);
		if (flexible)
			put_uvarint(writer, 0);
	}
	if (request->version >= 1)
		put_i32(writer, 0);
	if (flexible)
		put_uvarint(writer, 0);
}

const struct api api_versions = {
	.key = 18,
	.min = 0,
	.max = 3,
	.parse = versions_parse,
	.answer = versions_answer,
};
