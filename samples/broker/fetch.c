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
	if (part->start.offset < 0)
		return STORAGE_ERROR;
	if (request->key.kind == WAIT_COPY &&
	    !partition_followed(part->number, request->replica, part->start))
		return REPLICA_NOT_AVAILABLE;
	return 0;
}

static void begin(struct request *request)
{
	request->key.kind = request->replica > 0 ? WAIT_COPY : WAIT_READ;
	/* There are no sessions. */
	if (request->session)
		request->error = SESSION_NOT_FOUND;
	for_each_part(part, request) {
		if (!request->error && !part->error)
			part->error = find_start(request, part);
	}
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

	if (request->error || request->min_bytes <= 0)
		return 0;
	for_each_part(part, request) {
		if (part->error)
			return 0;
		bytes += available(request, part);
	}
	return bytes < (uint64_t)request->min_bytes ? request->min_bytes - bytes : 0;
}

/* Write complete batches. */
static void transfer_records(struct request *request, struct part *part, struct wire *wire)
{
	size_t start = wire->size, len;
	ssize_t limit = MAX(0, MIN(part->max_bytes, request->max_bytes)), got = 0;
	uint8_t *data;

	if (!wire->writes) {
		wire_bytes(wire, &part->records);
		return;
	}
	len = available(request, part);
	/*
	 * The first batch of a response is complete, whatever the limits are: a client would not
	 * progress otherwise.
	 */
	if (len && !request->any_records)
		limit = MAX(limit, (ssize_t)log_first(partition_log(part->number), part->start));
	len = MIN(len, (size_t)limit);
	wire_number(wire, 0, 4);
	data = len ? wire_raw(wire, len) : NULL;
	if (data)
		got = log_read(partition_log(part->number), part->start.position, data, len);
	len = got > 0 ? batches_complete(data, got) : 0;
	wire->size = start + 4 + len;
	wire_patch(wire, start, len);
	request->any_records |= len > 0;
	request->max_bytes -= len;
}

static void answer(struct request *request)
{
	request->max_bytes = MIN(request->max_bytes, BATCH_MAX);
	if (request->error) {
		request->nr_parts = 0;
		request->nr_topics = 0;
	}
	for_each_part(part, request)
		available(request, part);
}

const struct api api_fetch = {
	.key = 1, .min = 4, .max = 10,
	.request = FIELDS(NUMBER(0, 4, replica), NUMBER(0, 4, timeout_ms), NUMBER(0, 4, min_bytes),
		NUMBER(0, 4, max_bytes), CONST(0, 99, 1, 0), NUMBER(7, 4, session),
		CONST(7, 99, 4, -1),
		EACH_PARTITION(CONST(9, 99, 4, -1), PART_NUMBER(0, 8, offset), CONST(5, 99, 8, -1),
			       PART_NUMBER(0, 4, max_bytes)),
		EMPTY_ARRAY(7)),
	.response = FIELDS(THROTTLE(0), NUMBER(7, 2, error), CONST(7, 99, 4, 0),
		EACH_PARTITION(PART_NUMBER(0, 2, error), PART_NUMBER(0, 8, high),
			       PART_NUMBER(0, 8, high), CONST(5, 99, 8, 0), EMPTY_ARRAY(0),
			       CALLS(transfer_records))),
	.begin = begin, .missing = missing, .answer = answer,
};
