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

static void request_part(struct request *request, struct part *part, struct wire *wire)
{
	if (request->version >= 9)
		wire_number(wire, -1, 4);
	wire_int(wire, part->offset);
	if (request->version >= 5)
		wire_number(wire, 0, 8);
	wire_int(wire, part->max_bytes);
}

static void request(struct request *request, struct wire *wire)
{
	wire_int(wire, request->replica);
	wire_int(wire, request->timeout_ms);
	wire_int(wire, request->min_bytes);
	wire_int(wire, request->max_bytes);
	wire_number(wire, 0, 1);
	if (request->version >= 7) {
		if (wire_number(wire, 0, 4))
			request->error = SESSION_NOT_FOUND;
		wire_number(wire, -1, 4);
	}
	request_parts(request, wire, request_part);
	/* There are no sessions, so there is no topic to forget. */
	if (request->version >= 7 && wire_count(wire, 0) > 0)
		wire->failed = true;
}

/* Find the start of a part, and note the progress of a follower. */
static enum error_code find_start(const struct request *request, struct part *part)
{
	struct state state = partition_state(part->number);

	if (part->offset < 0 || part->offset > state.end.offset)
		return OFFSET_OUT_OF_RANGE;
	part->start = log_find(partition_log(part->number), state.end, part->offset);
	if (part->start.offset < 0)
		return STORAGE_ERROR;
	if (request->kind == WAIT_COPY &&
	    !partition_followed(part->number, request->replica, part->start))
		return REPLICA_NOT_AVAILABLE;
	return 0;
}

static void begin(struct request *request)
{
	request->kind = request->replica > 0 ? WAIT_COPY : WAIT_READ;
	for (int i = 0; i < request->nr_parts && !request->error; i++) {
		struct part *part = &request->parts[i];

		if (!part->error)
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
	end = request->kind == WAIT_COPY ? state.end.position : state.high.position;
	return end > part->start.position ? end - part->start.position : 0;
}

static uint64_t missing(struct request *request)
{
	uint64_t bytes = 0;

	if (request->error || request->min_bytes <= 0)
		return 0;
	for (int i = 0; i < request->nr_parts; i++) {
		if (request->parts[i].error)
			return 0;
		bytes += available(request, &request->parts[i]);
	}
	return bytes < (uint64_t)request->min_bytes ? request->min_bytes - bytes : 0;
}

/* Write complete batches. Return: their size. */
static size_t write_batches(struct wire *wire, const struct part *part, size_t len)
{
	size_t start = wire->size;
	uint8_t *data = len ? wire_raw(wire, len) : NULL;
	ssize_t got;

	if (!data)
		return 0;
	got = log_read(partition_log(part->number), part->start.position, data, len);
	len = got > 0 ? batches_complete(data, got) : 0;
	wire->size = start + len;
	return len;
}

static void write_records(struct request *request, struct part *part, struct wire *wire)
{
	size_t start = wire->size, len = available(request, part);
	int limit = MAX(0, MIN(part->max_bytes, request->max_bytes));

	/*
	 * The first batch of a response is complete, whatever the limits are: a client would not
	 * progress otherwise.
	 */
	if (len && !request->any_records)
		limit = MAX(limit, (int)log_first(partition_log(part->number), part->start));
	wire_number(wire, 0, 4);
	len = write_batches(wire, part, MIN(len, (size_t)limit));
	request->any_records |= len > 0;
	request->max_bytes -= len;
	wire_patch(wire, start, len);
}

static void response_part(struct request *request, struct part *part, struct wire *wire)
{
	if (wire->writes)
		available(request, part);
	wire_int(wire, part->error);
	wire_int(wire, part->high);
	wire_number(wire, part->high, 8);
	if (request->version >= 5)
		wire_number(wire, part->error ? -1 : 0, 8);
	/* There are no transactions, so none is aborted. */
	wire->failed |= wire_count(wire, 0) > 0;
	if (wire->writes)
		write_records(request, part, wire);
	else
		wire_bytes(wire, &part->records);
}

static void response(struct request *request, struct wire *wire)
{
	if (request->max_bytes > BATCH_MAX)
		request->max_bytes = BATCH_MAX;
	wire_number(wire, 0, 4);
	if (request->version >= 7) {
		wire_int(wire, request->error);
		wire_number(wire, 0, 4);
	}
	if (request->error)
		wire_count(wire, 0);
	else
		request_parts(request, wire, response_part);
}

const struct api api_fetch = {
	.key = 1,
	.min = 4,
	.max = 10,
	.request = request,
	.begin = begin,
	.missing = missing,
	.response = response,
};
