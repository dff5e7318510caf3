// SPDX-License-Identifier: GPL-2.0
/*
 * Produce, and DelayedProduce: with acks=all the request waits until the high watermark has
 * passed its records.
 */
#include <sys/param.h>

#include "request.h"

#define ACKS_ALL	(-1)

static bool enough_in_sync(const struct part *part)
{
	return partition_state(part->number).nr_in_sync >=
	       config.partitions[part->number]->min_in_sync;
}

static enum error_code append(const struct request *request, struct part *part)
{
	uint8_t *records = (uint8_t *)part->records.data;
	ssize_t len = MAX(part->records.len, 0);
	enum error_code error;
	struct batch batch;

	if (part->error)
		return part->error;
	error = batch_check(records, len, &batch);
	if (error)
		return error == BATCH_SHORT ? CORRUPT_MESSAGE : error;
	/* A request has one batch for each partition. */
	if (batch.size != len)
		return INVALID_RECORD;
	if (request->acks == ACKS_ALL && !enough_in_sync(part))
		return NOT_ENOUGH_REPLICAS;
	part->offset = partition_append(part->number, records, &batch);
	part->required = part->offset + batch.records;
	return part->offset < 0 ? STORAGE_ERROR : 0;
}

static enum error_code begin(struct request *request)
{
	request->key.kind = WAIT_ACKS;
	request->silent = request->acks == 0;
	/* Earlier versions have other batches. librdkafka does not compress if it sees none. */
	request->failed = request->version < 3;
	for_each_part(part, request) {
		part->error = append(request, part);
		if (part->error)
			part->offset = -1;
		/* A client that wants no response notices an error in this way. */
		if (part->error && request->silent)
			request->failed = true;
	}
	return 0;
}

static int64_t missing_offsets(const struct part *part)
{
	int64_t high = part->error ? INT64_MAX : partition_state(part->number).high.offset;

	return high < part->required ? part->required - high : 0;
}

static uint64_t missing(struct request *request)
{
	uint64_t missing = 0;

	for_each_part(part, request)
		missing += request->acks == ACKS_ALL ? missing_offsets(part) : 0;
	return missing;
}

static void answer(struct request *request)
{
	for_each_part(part, request) {
		if (part->error || request->acks != ACKS_ALL)
			continue;
		if (missing_offsets(part))
			part->error = REQUEST_TIMED_OUT;
		else if (!enough_in_sync(part))
			part->error = NOT_ENOUGH_REPLICAS_AFTER_APPEND;
	}
}

const struct api api_produce = {
	.key = 0, .max = 3,
	.request = FIELDS(TEXT(3, unused), NUMBER(0, 2, acks), NUMBER(0, 4, timeout_ms),
		EACH_PARTITION(PART_BYTES(records))),
	.response = FIELDS(EACH_PARTITION(PART_NUMBER(0, 2, error),
		PART_NUMBER(0, 8, offset), CONST(2, 8, -1)), THROTTLE(1)),
	.begin = begin, .missing = missing, .answer = answer,
};
