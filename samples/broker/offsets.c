// SPDX-License-Identifier: GPL-2.0
/*
 * The offsets of groups: OffsetCommit and OffsetFetch.
 *
 * A commit is a batch of the partition OFFSETS, whose only record is the name of the group with
 * the topics and partitions of the request. So it has a CRC, and a torn one is cut. When a broker
 * starts, it writes the last offsets to a new log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"

static const struct field *log_record =
	FIELDS(TEXT(0, group_name), EACH_PARTITION(PART_NUMBER(0, 8, offset), PART_TEXT(0, note)));

static void set_offsets(struct request *request, struct group *group)
{
	for_each_part(part, request) {
		struct offset *offset;

		/* A partition with an error has no offset in the log. */
		if (part->number < 0 || part->offset < 0 || part->note.len > OFFSET_TEXT_MAX)
			continue;
		group->has_offsets = true;
		offset = &group->offsets[part->number];
		offset->next = part->offset + 1;
		offset->len = part->note.len;
		if (offset->len > 0)
			memcpy(offset->text, part->note.data, offset->len);
	}
}

/* Return: a batch with the offsets of a request; it may have failed. */
static struct wire batch_of(struct request *request)
{
	struct wire wire = { .writes = true };

	wire_raw(&wire, HEADER_SIZE);
	request_fields(request, &wire, log_record);
	wire.failed |= wire.size > BATCH_MAX;
	if (!wire.failed)
		batch_seal(wire.data, wire.size);
	return wire;
}

bool offsets_load(void)
{
	struct place place = { }, end = partition_state(OFFSETS).end;
	bool ok = true;

	while (ok && place.position < end.position) {
		size_t size = log_first(partition_log(OFFSETS), place);
		uint8_t *data = malloc(size);
		struct wire wire = { .data = data, .at = HEADER_SIZE, .size = size };
		struct request request = { };
		struct group *group;

		ok = size && data && log_read(partition_log(OFFSETS), place.position, data,
					      size) == (ssize_t)size;
		if (ok) {
			request_fields(&request, &wire, log_record);
			group = group_find(request.group_name, true);
			if (group)
				set_offsets(&request, group);
		}
		ok &= !wire.failed;
		free(request.parts);
		free(data);
		place.position += size;
	}
	if (!ok)
		fprintf(stderr, "broker: %s cannot be read\n", partition_log(OFFSETS)->path);
	return ok;
}

/* Without members, anybody can set offsets. */
static enum error_code commit(struct request *request)
{
	bool is_member = request->generation >= 0;
	struct batch batch = { .records = 1 };
	enum error_code error = 0;
	struct wire wire;

	request->group = group_find(request->group_name, !is_member);
	if (!request->group)
		return is_member ? UNKNOWN_MEMBER_ID : COORDINATOR_NOT_AVAILABLE;
	if (is_member || request->group->state != EMPTY)
		error = group_check(request);
	if (!error && request->group->state == SYNCING)
		error = REBALANCE_IN_PROGRESS;
	for_each_part(part, request) {
		part->error = part->number < 0 ? UNKNOWN_TOPIC_OR_PARTITION :
			      part->note.len > OFFSET_TEXT_MAX ? OFFSET_METADATA_TOO_LARGE : 0;
		if (part->error)
			part->offset = -1;
	}
	if (error)
		return error;
	wire = batch_of(request);
	batch.size = wire.size;
	if (wire.failed)
		error = INVALID_COMMIT_OFFSET_SIZE;
	else if (partition_append(OFFSETS, wire.data, &batch) < 0)
		error = STORAGE_ERROR;
	else
		set_offsets(request, request->group);
	wire_free(&wire);
	return error;
}

static void commit_answer(struct request *request)
{
	for_each_part(part, request)
		part->error = request->error ?: part->error;
}

const struct api api_offset_commit = {
	.key = 8, .min = 2, .max = 7,
	.request = MEMBER_REQUEST(7, CONST(0, 4, 8, -1),
		EACH_PARTITION(PART_NUMBER(0, 8, offset), CONST(6, 99, 4, -1), PART_TEXT(0, note))),
	.response = FIELDS(THROTTLE(3), EACH_PARTITION(PART_NUMBER(0, 2, error))),
	.group = commit, .answer = commit_answer,
};

/* Add all partitions with offsets. */
static void add_all(struct request *request)
{
	for (int i = 0; request->group && i < config.nr_partitions; i++) {
		const struct topic *topic = config.partitions[i];
		struct part *part = NULL;

		if (request->group->offsets[i].next)
			part = request_add(request, text_of(topic->name));
		if (!part)
			continue;
		part->number = i;
		part->index = i - topic->first;
	}
}

static enum error_code fetch(struct request *request)
{
	request->group = group_find(request->group_name, false);
	if (request->all)
		add_all(request);
	return 0;
}

static void fetch_answer(struct request *request)
{
	for_each_part(part, request) {
		part->error = request->error;
		part->offset = -1;
		part->note = text_of("");
		if (request->group && part->number >= 0) {
			const struct offset *offset = &request->group->offsets[part->number];

			part->offset = offset->next - 1;
			part->note = (struct text){ offset->text, offset->len };
		}
	}
}

const struct api api_offset_fetch = {
	.key = 9, .min = 1, .max = 5,
	.request = FIELDS(TEXT(0, group_name), EACH_PARTITION({ })),
	.response = FIELDS(THROTTLE(3),
		EACH_PARTITION(PART_NUMBER(0, 8, offset), CONST(5, 99, 4, -1), PART_TEXT(0, note),
			       PART_NUMBER(0, 2, error)),
		NUMBER(2, 2, error)),
	.group = fetch, .answer = fetch_answer,
};

bool offsets_compact(struct group *groups)
{
	struct log *log = partition_log(OFFSETS), new = { .fd = -1 };
	char path[sizeof(log->path)];
	struct place end;
	bool ok = snprintf(path, sizeof(path), "%s.new", log->path) < (int)sizeof(path);

	unlink(path);
	ok = ok && log_open(&new, path, &end);
	for (struct group *group = groups; ok && group < groups + MAX_GROUPS; group++) {
		struct request request = { .group_name = text_of(group->name), .group = group };
		struct wire wire;

		add_all(&request);
		fetch_answer(&request);
		wire = batch_of(&request);
		if (request.nr_parts && !wire.failed) {
			batch_set_base(wire.data, end.offset++);
			ok = log_write(&new, end, wire.data, wire.size);
			end.position += wire.size;
		}
		ok &= !wire.failed;
		wire_free(&wire);
		free(request.parts);
	}
	ok = ok && !fsync(new.fd) && !rename(path, log->path);
	if (!ok)
		perror(path);
	close(new.fd);
	return ok && partition_open(OFFSETS);
}
