// SPDX-License-Identifier: GPL-2.0
/*
 * Fetch, and DelayedFetch: the request waits until its partitions have min.bytes beyond its
 * offsets, or until max.wait.
 *
 * Consumers get records below the high watermark. Followers get all records, and the offsets of
 * their requests are the ends of their logs.
 */
#include <sys/param.h>

#include "request.h"

/* Find the start of a part, and note the progress of a follower. */
static enum error_code find_start(const struct request *request, struct part *part)
{
	struct state state = partition_state(part->number);

	if (part->offset < 0 || part->offset > state.end.offset)
		return OFFSET_OUT_OF_RANGE;
	part->start = log_find(partition_log(part->number), state.end, part->offset);
	if (request->key.kind == WAIT_COPY &&
	    !partition_followed(part->number, request->replica, part->start))
		return REPLICA_NOT_AVAILABLE;
	return 0;
}

static enum error_code begin(struct request *request)
{
	request->key.kind = request->replica > 0 ? WAIT_COPY : WAIT_READ;
	for_each_part(part, request)
		part->error = part->error ?: find_start(request, part);
	return 0;
}

/* Update the high watermark. Return: number of bytes that the request may see. */
static size_t available(const struct request *request, struct part *part)
{
	struct state state;
	uint64_t end;

	part->high = -1;
	if (part->error)
		return 0;
	state = partition_state(part->number);
	part->high = state.high.offset;
	end = request->key.kind == WAIT_COPY ? state.end.position : state.high.position;
	return end > part->start.position ? end - part->start.position : 0;
}

static uint64_t missing(struct request *request)
{
	uint64_t bytes = 0;

	if (request->min_bytes <= 0)
		return 0;
	for_each_part(part, request) {
		if (part->error)
			return 0;
		bytes += available(request, part);
	}
	return bytes < (uint64_t)request->min_bytes ? request->min_bytes - bytes : 0;
}

/* Return: size of the complete batches within a limit; without records, of one at least. */
static size_t fitting(const uint8_t *data, size_t available, ssize_t limit, bool any_records)
{
	ssize_t len = 0;

	while (len < (ssize_t)available) {
		ssize_t next = len + batch_header(data + len).size;

		if (next > limit && (len || any_records))
			break;
		len = next;
	}
	return len;
}

static void answer(struct request *request)
{
	ssize_t limit = MIN(request->max_bytes, BATCH_MAX);
	bool any_records = false;

	/* The first batch is complete, whatever the limits are: a client would not progress. */
	for_each_part(part, request) {
		size_t len = available(request, part);
		const uint8_t *data;

		part->records = text_of("");
		if (!len)
			continue;
		data = partition_log(part->number)->data + part->start.position;
		len = fitting(data, len, MIN(part->max_bytes, limit), any_records);
		part->records = (struct text){ (const char *)data, len };
		any_records |= len > 0;
		limit -= len;
	}
}

const struct api api_fetch = {
	.key = 1, .min = 4, .max = 4,
	.request = FIELDS(NUMBER(0, 4, replica), NUMBER(0, 4, timeout_ms), NUMBER(0, 4, min_bytes),
		NUMBER(0, 4, max_bytes), CONST(0, 1, 0),
		EACH_PARTITION(PART_NUMBER(0, 8, offset), PART_NUMBER(0, 4, max_bytes))),
	.response = FIELDS(THROTTLE(0),
		EACH_PARTITION(PART_NUMBER(0, 2, error), PART_NUMBER(0, 8, high),
			       PART_NUMBER(0, 8, high), CONST(0, 4, 0), PART_BYTES(records))),
	.begin = begin, .missing = missing, .answer = answer,
};
