// SPDX-License-Identifier: GPL-2.0
/*
 * Produce, and DelayedProduce: with acks=all the request waits until the high watermark has
 * passed its records.
 */
#include "request.h"

#define ACKS_ALL	(-1)

static void read_part(struct request *request, struct part *part, struct reader *reader)
{
	(void)request;
	part->records = get_bytes(reader);
}

static void parse(struct request *request, struct reader *reader)
{
	int32_t timeout;

	if (request->version >= 3)
		get_string(reader);
	request->acks = get_i16(reader);
	timeout = get_i32(reader);
	request->timeout_ms = timeout > 0 ? timeout : 0;
	request->silent = request->acks == 0;
	read_parts(request, reader, read_part);
}

static enum error_code check_records(const struct part *part, struct batch *batch)
{
	if (part->records.len < 0)
		return CORRUPT_MESSAGE;
	switch (batch_check((const uint8_t *)part->records.data, part->records.len, batch)) {
	case BATCH_OK:
		/* A request has one batch for each partition. */
		return batch->size == (size_t)part->records.len ? 0 : INVALID_RECORD;
	case BATCH_LARGE:
		return MESSAGE_TOO_LARGE;
	case BATCH_FORMAT:
		return UNSUPPORTED_FOR_MESSAGE_FORMAT;
	default:
		return CORRUPT_MESSAGE;
	}
}

static enum error_code append(const struct request *request, struct part *part)
{
	enum error_code error;
	struct batch batch;

	if (request->acks < ACKS_ALL || request->acks > 1)
		return INVALID_REQUIRED_ACKS;
	if (part->error)
		return part->error;
	error = check_records(part, &batch);
	if (error)
		return error;
	if (request->acks == ACKS_ALL &&
	    partition_state(part->partition).nr_in_sync <
	    config.partitions[part->partition]->min_in_sync)
		return NOT_ENOUGH_REPLICAS;
	part->offset = partition_append(part->partition, (uint8_t *)part->records.data, &batch);
	if (part->offset < 0)
		return STORAGE_ERROR;
	part->required = part->offset + batch.records;
	return 0;
}

static void begin(struct request *request)
{
	for (int i = 0; i < request->nr_parts; i++) {
		struct part *part = &request->parts[i];

		part->error = append(request, part);
		if (part->error)
			part->offset = -1;
		/* A client that wants no response notices an error in this way. */
		if (part->error && request->silent)
			request->failed = true;
	}
}

static uint64_t missing(struct request *request)
{
	uint64_t missing = 0;

	if (request->acks != ACKS_ALL)
		return 0;
	for (int i = 0; i < request->nr_parts; i++) {
		const struct part *part = &request->parts[i];
		int64_t high;

		if (part->error)
			continue;
		high = partition_state(part->partition).high.offset;
		if (high < part->required)
			missing += part->required - high;
	}
	return missing;
}

static enum wait_kind kind(const struct request *request)
{
	(void)request;
	return WAIT_ACKS;
}

static enum error_code outcome(const struct part *part)
{
	struct state state = partition_state(part->partition);

	if (state.high.offset < part->required)
		return REQUEST_TIMED_OUT;
	if (state.nr_in_sync < config.partitions[part->partition]->min_in_sync)
		return NOT_ENOUGH_REPLICAS_AFTER_APPEND;
	return 0;
}

static void write_part(struct request *request, struct part *part, struct writer *writer)
{
	if (!part->error && request->acks == ACKS_ALL)
		part->error = outcome(part);
	put_i16(writer, part->error);
	put_i64(writer, part->offset);
	if (request->version >= 2)
		put_i64(writer, -1);
	if (request->version >= 5)
		put_i64(writer, part->offset < 0 ? -1 : 0);
}

static void answer(struct request *request, struct writer *writer)
{
	write_parts(request, writer, write_part);
	if (request->version >= 1)
		put_i32(writer, 0);
}

const struct api api_produce = {
	.key = 0,
	.min = 0,
	.max = 7,
	.parse = parse,
	.begin = begin,
	.missing = missing,
	.kind = kind,
	.answer = answer,
};
