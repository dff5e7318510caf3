// SPDX-License-Identifier: GPL-2.0
/* The log of a partition: see log.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define INDEX_STEP	(64 << 10)

/*
 * Header of a batch: base offset, 8 bytes; size of the rest, 4; leader epoch, 4; format, 1;
 * CRC of the rest, 4; attributes, 2; offset of the last record, 4; two times, 16; producer, 14;
 * number of records, 4.
 */
#define SIZE_AT		8
#define BASE_SIZE	12
#define FORMAT_AT	16
#define CRC_AT		17
#define CRC_START	21
#define LAST_AT		23
#define RECORDS_AT	57

uint32_t crc32c(const uint8_t *data, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0U;

	for (uint32_t i = 0; i < 256 && !table[255]; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82f63b78 : 0);
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
	return ~crc;
}

static int64_t header_field(const uint8_t *data, size_t at, size_t len)
{
	struct wire wire = { .data = (uint8_t *)data, .at = at, .size = HEADER_SIZE };

	return wire_number(&wire, 0, len);
}

/* Check a header, of which HEADER_SIZE bytes are there. */
static enum error_code header_check(const uint8_t *data, struct batch *batch)
{
	int64_t size = BASE_SIZE + header_field(data, SIZE_AT, 4);

	batch->size = size;
	batch->base = header_field(data, 0, 8);
	batch->records = header_field(data, RECORDS_AT, 4);
	if (data[FORMAT_AT] != 2)
		return UNSUPPORTED_FOR_MESSAGE_FORMAT;
	if (size > BATCH_MAX)
		return MESSAGE_TOO_LARGE;
	if (size < HEADER_SIZE || batch->records < 1 || batch->base < 0 ||
	    header_field(data, LAST_AT, 4) != batch->records - 1 ||
	    batch->base > INT64_MAX - batch->records)
		return CORRUPT_MESSAGE;
	return 0;
}

enum error_code batch_check(const uint8_t *data, size_t len, struct batch *batch)
{
	enum error_code error = len < HEADER_SIZE ? BATCH_SHORT : header_check(data, batch);

	if (error)
		return error;
	if (len < batch->size)
		return BATCH_SHORT;
	return (uint32_t)header_field(data, CRC_AT, 4) ==
	       crc32c(data + CRC_START, batch->size - CRC_START) ? 0 : CORRUPT_MESSAGE;
}

void batch_set_base(uint8_t *data, int64_t base)
{
	struct wire wire = { .data = data, .capacity = CRC_START, .writes = true };

	wire_int(&wire, base);
	/* The leader never changes: epoch 0. */
	wire_patch(&wire, BASE_SIZE, 0);
}

void batch_seal(uint8_t *data, size_t size)
{
	struct wire wire = { .data = data, .capacity = size, .writes = true };

	memset(data, 0, HEADER_SIZE);
	data[FORMAT_AT] = 2;
	wire_patch(&wire, SIZE_AT, size - BASE_SIZE);
	wire_patch(&wire, RECORDS_AT, 1);
	wire_patch(&wire, CRC_AT, crc32c(data + CRC_START, size - CRC_START));
}

size_t batches_complete(const uint8_t *data, size_t len)
{
	struct batch batch;
	size_t done = 0;

	while (len - done >= HEADER_SIZE && !header_check(data + done, &batch) &&
	       batch.size <= len - done)
		done += batch.size;
	return done;
}

size_t batches_valid(const uint8_t *data, size_t len, struct place *end)
{
	struct batch batch;
	size_t done = 0;

	while (done < len && !batch_check(data + done, len - done, &batch) &&
	       batch.base == end->offset) {
		end->offset += batch.records;
		end->position += batch.size;
		done += batch.size;
	}
	return done;
}

ssize_t log_read(struct log *log, uint64_t position, uint8_t *data, size_t len)
{
	ssize_t n = pread(log->fd, data, len, position);

	if (n < 0)
		perror(log->path);
	return n;
}

bool log_write(struct log *log, struct place end, const uint8_t *data, size_t len)
{
	/* Writes to a file are not interrupted. A short one is followed by an error. */
	if (pwrite(log->fd, data, len, end.position) == (ssize_t)len)
		return true;
	perror(log->path);
	return false;
}

bool log_cut(struct log *log, struct place end)
{
	if (end.position < log->indexed) {
		log->nr_index = 0;
		log->indexed = 0;
	}
	if (!ftruncate(log->fd, end.position))
		return true;
	perror(log->path);
	return false;
}

/* Is this the start of a batch, without its end and without any batch after it? */
static bool is_torn(const uint8_t *data, size_t len)
{
	struct batch batch;

	if (len && batch_check(data, len, &batch) != BATCH_SHORT)
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!batch_check(data + i, len - i, &batch))
			return false;
	}
	return true;
}

bool log_open(struct log *log, const char *path, struct place *end)
{
	/* Room for any batch: if none is complete at the start, it is torn or damaged. */
	uint8_t *data = malloc(BATCH_MAX);
	ssize_t len = -1;
	bool ok;

	*log = (struct log){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) };
	snprintf(log->path, sizeof(log->path), "%s", path);
	*end = (struct place){ };
	do {
		if (data)
			len = log_read(log, end->position, data, BATCH_MAX);
	} while (len > 0 && batches_valid(data, len, end));
	ok = len >= 0 && is_torn(data, len);
	if (len >= 0 && !ok)
		fprintf(stderr,
			"broker: %s: the batch at byte %" PRIu64 " is damaged; the log is kept\n",
			path, end->position);
	if (ok && len)
		fprintf(stderr, "broker: %s: %zd bytes of an incomplete batch are cut\n", path,
			len);
	free(data);
	return ok && log_cut(log, *end);
}

/* Advance a boundary by one batch. */
static bool next_batch(struct log *log, struct place *place)
{
	uint8_t header[HEADER_SIZE];
	struct batch batch;

	if (log_read(log, place->position, header, sizeof(header)) != sizeof(header) ||
	    header_check(header, &batch))
		return false;
	place->offset += batch.records;
	place->position += batch.size;
	return true;
}

size_t log_first(struct log *log, struct place place)
{
	struct place next = place;

	return next_batch(log, &next) ? next.position - place.position : 0;
}

struct place log_find(struct log *log, struct place end, int64_t offset)
{
	struct place place = { }, next, *index;

	if (offset == end.offset)
		return end;
	/* Most searches are for an offset near the end. */
	for (size_t i = log->nr_index; i-- && !place.position;) {
		if (log->index[i].offset <= offset)
			place = log->index[i];
	}
	for (; place.position < end.position; place = next) {
		next = place;
		if (!next_batch(log, &next))
			break;
		if (next.offset > offset)
			return place;
		if (next.position < log->indexed + INDEX_STEP)
			continue;
		index = realloc(log->index, (log->nr_index + 1) * sizeof(*index));
		if (!index)
			break;
		index[log->nr_index++] = next;
		log->index = index;
		log->indexed = next.position;
	}
	return (struct place){ .offset = -1 };
}
