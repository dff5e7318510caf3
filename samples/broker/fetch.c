// SPDX-License-Identifier: GPL-2.0
/*
 * Fetch, and DelayedFetch: the request waits until its partitions have min.bytes beyond its
 * offsets, or until max.wait.
 *
 * Consumers get records below the high watermark.  Followers get all records, and the offsets of
 * their requests are the ends of their logs.
 */
#include "request.h"

static void read_part(struct request *request, struct part *part, struct reader *reader)
{
	if (request->version >= 9)
		get_i32(reader);
	part->offset = get_i64(reader);
	if (request->version >= 5)
		get_i64(reader);
	part->max_bytes = get_i32(reader);
}

/* There are no sessions, so there is nothing to forget. */
static void skip_forgotten(struct reader *reader)
{
	int topics = get_count(reader);

	for (int i = 0; i < topics && !reader->bad; i++) {
		int nr;

		get_string(reader);
		nr = get_count(reader);
		if (nr > 0)
			get_raw(reader, 4 * (size_t)nr);
	}
}

static void parse(struct request *request, struct reader *reader)
{
	int32_t wait;

	request->replica = get_i32(reader);
	if (request->replica < 0)
		request->replica = 0;
	wait = get_i32(reader);
	request->timeout_ms = wait > 0 ? wait : 0;
	request->min_bytes = get_i32(reader);
	request->max_bytes = get_i32(reader);
	get_i8(reader);
	if (request->version >= 7) {
		if (get_i32(reader))
			request->error = SESSION_NOT_FOUND;
		get_i32(reader);
	}
	read_parts(request, reader, read_part);
	if (request->version >= 7)
		skip_forgotten(reader);
	if (request->version >= 11)
		get_string(reader);
}

/* Find the start of a part, and note the progress of a follower. */
static enum error_code find_start(const struct request *request, struct part *part)
{
	struct state state = partition_state(part->partition);

	if (part->offset < 0 || part->offset > state.end.offset)
		return OFFSET_OUT_OF_RANGE;
	part->start = part->offset == state.end.offset ? state.end :
		      log_find(partition_log(part->partition), state.end, part->offset);
	if (part->start.offset < 0)
		return STORAGE_ERROR;
	if (request->replica &&
	    !partition_followed(part->partition, request->replica, part->start))
		return REPLICA_NOT_AVAILABLE;
	return 0;
}

static void begin(struct request *request)
{
	for (int i = 0; i < request->nr_parts && !request->error; i++) {
		struct part *part = &request->parts[i];

		if (!part->error)
			part->error = find_start(request, part);
	}
}

/* Return: number of bytes that the request may see. */
static uint64_t available(const struct request *request, const struct part *part,
			  const struct state *state)
{
	uint64_t end = request->replica ? state->end.position : state->high.position;

	return end > part->start.position ? end - part->start.position : 0;
}

static uint64_t missing(struct request *request)
{
	uint64_t bytes = 0;

	if (request->error || request->min_bytes <= 0)
		return 0;
	for (int i = 0; i < request->nr_parts; i++) {
		const struct part *part = &request->parts[i];
		struct state state;

		if (part->error)
			return 0;
		state = partition_state(part->partition);
		bytes += available(request, part, &state);
	}
	return bytes < (uint64_t)request->min_bytes ? request->min_bytes - bytes : 0;
}

static enum wait_kind kind(const struct request *request)
{
	return request->replica ? WAIT_COPY : WAIT_READ;
}

/* Put complete batches. Return: their size. */
static size_t put_batches(struct writer *writer, const struct part *part, size_t len)
{
	size_t start = writer->size;
	uint8_t *data = put_room(writer, len);
	ssize_t got;

	if (!data)
		return 0;
	got = log_read(partition_log(part->partition), part->start.position, data, len);
	len = got > 0 ? batches_complete(data, got) : 0;
	writer->size = start + len;
	return len;
}

static size_t at_most(size_t len, int32_t limit)
{
	limit = limit > 0 ? limit : 0;
	return len < (size_t)limit ? len : (size_t)limit;
}

/*
 * The first batch of a response is complete, whatever the limits are: a client would not
 * progress otherwise.
 */
static void put_records(struct request *request, const struct part *part, size_t available,
			struct writer *writer)
{
	size_t start = writer->size;
	size_t len = at_most(at_most(available, part->max_bytes), request->max_bytes);

	put_i32(writer, 0);
	if (len)
		len = put_batches(writer, part, len);
	if (!len && available && !request->any_records) {
		len = log_first(partition_log(part->partition), part->start.position);
		len = put_batches(writer, part, len < available ? len : available);
	}
	if (len)
		request->any_records = true;
	request->max_bytes -= len;
	patch_i32(writer, start, len);
}

static void write_part(struct request *request, struct part *part, struct writer *writer)
{
	struct state state = { .high = { .offset = -1 } };
	size_t bytes = 0;

	if (!part->error) {
		state = partition_state(part->partition);
		bytes = available(request, part, &state);
	}
	put_i16(writer, part->error);
	put_i64(writer, state.high.offset);
	put_i64(writer, state.high.offset);
	if (request->version >= 5)
		put_i64(writer, part->error ? -1 : 0);
	put_i32(writer, 0);
	if (request->version >= 11)
		put_i32(writer, -1);
	put_records(request, part, bytes, writer);
}

static void answer(struct request *request, struct writer *writer)
{
	if (request->max_bytes > BATCH_MAX)
		request->max_bytes = BATCH_MAX;
	put_i32(writer, 0);
	if (request->version >= 7) {
		put_i16(writer, request->error);
		put_i32(writer, 0);
	}
	if (request->error)
		put_i32(writer, 0);
	else
		write_parts(request, writer, write_part);
}

const struct api api_fetch = {
	.key = 1,
	.min = 4,
	.max = 11,
	.parse = parse,
	.begin = begin,
	.missing = missing,
	.kind = kind,
	.answer = answer,
};
