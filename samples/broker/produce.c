// SPDX-License-Identifier: GPL-2.0
/*
 * Produce, and DelayedProduce: with acks=all the request waits until the high watermark has
 * passed its records.
 */
#include "request.h"

#define ACKS_ALL	(-1)

/* Earlier versions have other batches. librdkafka does not compress if it does not see them. */
#define FIRST_VERSION	3

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

static bool enough_in_sync(const struct part *part)
{
	return partition_state(part->number).nr_in_sync >=
	       config.partitions[part->number]->min_in_sync;
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
	if (request->acks == ACKS_ALL && !enough_in_sync(part))
		return NOT_ENOUGH_REPLICAS;
	part->offset = partition_append(part->number, (uint8_t *)part->records.data, &batch);
	if (part->offset < 0)
		return STORAGE_ERROR;
	part->required = part->offset + batch.records;
	return 0;
}

static void begin(struct request *request)
{
	request->key.kind = WAIT_ACKS;
	request->silent = request->acks == 0;
	request->failed = request->version < FIRST_VERSION;
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

static int64_t missing_offsets(const struct part *part)
{
	int64_t high = part->error ? INT64_MAX : partition_state(part->number).high.offset;

	return high < part->required ? part->required - high : 0;
}

static uint64_t missing(struct request *request)
{
	uint64_t missing = 0;

	for (int i = 0; i < request->nr_parts && request->acks == ACKS_ALL; i++)
		missing += missing_offsets(&request->parts[i]);
	return missing;
}

static void answer(struct request *request)
{
	for (int i = 0; i < request->nr_parts; i++) {
		struct part *part = &request->parts[i];

		if (!part->error && request->acks == ACKS_ALL) {
			if (missing_offsets(part))
				part->error = REQUEST_TIMED_OUT;
			else if (!enough_in_sync(part))
				part->error = NOT_ENOUGH_REPLICAS_AFTER_APPEND;
		}
		part->first = part->offset < 0 ? -1 : 0;
	}
}

const struct api api_produce = {
	.key = 0, .max = 7,
	.request = FIELDS(TEXT(3, unused), NUMBER(0, acks), NUMBER(0, timeout_ms),
		EACH_PARTITION(PART_BYTES(records))),
	.response = FIELDS(EACH_PARTITION(PART_NUMBER(0, error), PART_NUMBER(0, offset),
		CONST(2, 99, 8, -1), PART_NUMBER(5, first)), THROTTLE(1)),
	.begin = begin, .missing = missing, .answer = answer,
};
