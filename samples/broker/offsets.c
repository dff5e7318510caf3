// SPDX-License-Identifier: GPL-2.0
/*
 * The offsets of groups: OffsetCommit and OffsetFetch.
 *
 * A commit is a batch of the partition OFFSETS, whose only record is the name of the group with
 * the topics and partitions of the request. So it has a CRC, and a torn one is cut. A broker that
 * starts reads all of them.
 */
#include <err.h>
#include <stdlib.h>

#include "group.h"

static const struct field *log_record =
	FIELDS(TEXT(0, group_name), EACH_PARTITION(PART_NUMBER(0, 8, offset)));

static void set_offsets(struct request *request, struct group *group)
{
	for_each_part(part, request) {
		/* A partition with an error has no offset in the log. */
		if (part->number < 0 || part->offset < 0)
			continue;
		group->has_offsets = true;
		group->next[part->number] = part->offset + 1;
	}
}

/* Return: a batch with the offsets of a request; it may have failed. */
static struct wire batch_of(struct request *request)
{
	struct wire wire = { .writes = true };

	wire_raw(&wire, HEADER_SIZE);
	request_fields(request, NULL, &wire, log_record);
	wire.failed |= wire.size > BATCH_MAX;
	if (!wire.failed)
		batch_seal(wire.data, wire.size);
	return wire;
}

void offsets_load(void)
{
	const uint8_t *data = partition_log(OFFSETS)->data;
	uint64_t end = partition_state(OFFSETS).end.position;
	struct wire wire = { .data = (uint8_t *)data };

	while (wire.size < end && !wire.failed) {
		struct request request = { };
		struct group *group;

		wire.at = wire.size + HEADER_SIZE;
		wire.size += batch_size(data + wire.size);
		request_fields(&request, NULL, &wire, log_record);
		group = group_find(request.group_name, true);
		if (group)
			set_offsets(&request, group);
		free(request.parts);
	}
	if (wire.failed)
		errx(1, "%s cannot be read", partition_log(OFFSETS)->path);
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
		part->error = part->number < 0 ? UNKNOWN_TOPIC_OR_PARTITION : 0;
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
	.in_group = true, .begin = commit, .answer = commit_answer,
};

static void add_all(struct request *request)
{
	for (int i = 0; request->group && i < config.nr_partitions; i++) {
		const struct topic *topic = config.partitions[i];
		struct part *part;

		if (!request->group->next[i])
			continue;
		part = request_add(request, text_of(topic->name));
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
		if (request->group && part->number >= 0)
			part->offset = request->group->next[part->number] - 1;
	}
}

const struct api api_offset_fetch = {
	.key = 9, .min = 1, .max = 5,
	.request = FIELDS(TEXT(0, group_name), EACH_PARTITION({ })),
	.response = FIELDS(THROTTLE(3),
		EACH_PARTITION(PART_NUMBER(0, 8, offset), CONST(5, 99, 4, -1), PART_TEXT(0, note),
			       PART_NUMBER(0, 2, error)),
		NUMBER(2, 2, error)),
	.in_group = true, .begin = fetch, .answer = fetch_answer,
};
