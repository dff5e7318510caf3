// SPDX-License-Identifier: GPL-2.0
/*
 * The log of a partition. See log.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "wire.h"

#define INDEX_STEP	(64 << 10)

/*
 * Header of a batch: base offset, 8 bytes; size of the rest, 4; leader epoch, 4; format, 1;
 * CRC of the rest, 4; attributes, 2; offset of the last record, 4; two times, 16; producer, 14;
 * number of records, 4.
 */
#define BASE_SIZE	12
#define FORMAT_AT	16
#define CRC_AT		17
#define CRC_START	21
#define LAST_AT		23

uint32_t crc32c(const uint8_t *data, size_t len)
{
	static uint32_t table[256];
	uint32_t crc = ~0U;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t value = i;

			for (int bit = 0; bit < 8; bit++)
				value = value >> 1 ^ (value & 1 ? 0x82f63b78 : 0);
			table[i] = value;
		}
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
	return ~crc;
}

/* Check a header, of which HEADER_SIZE bytes are there. */
static enum batch_error header_check(const uint8_t *data, struct batch *batch)
{
	struct wire wire = { .data = (uint8_t *)data, .size = HEADER_SIZE };
	int32_t size, last;

	batch->base = wire_number(&wire, 0, 8);
	size = wire_number(&wire, 0, 4);
	wire.at = FORMAT_AT;
	if (wire_number(&wire, 0, 1) != 2)
		return BATCH_FORMAT;
	wire.at = LAST_AT;
	last = wire_number(&wire, 0, 4);
	wire.at = HEADER_SIZE - 4;
	batch->records = wire_number(&wire, 0, 4);
	if (size > BATCH_MAX - BASE_SIZE)
		return BATCH_LARGE;
	batch->size = BASE_SIZE + size;
	if (size < HEADER_SIZE - BASE_SIZE || batch->records < 1 || last != batch->records - 1 ||
	    batch->base < 0 || batch->base > INT64_MAX - batch->records)
		return BATCH_CORRUPT;
	return BATCH_OK;
}

enum batch_error batch_check(const uint8_t *data, size_t len, struct batch *batch)
{
	struct wire crc = { .data = (uint8_t *)data, .at = CRC_AT, .size = len };
	enum batch_error error;

	if (len < HEADER_SIZE)
		return BATCH_SHORT;
	error = header_check(data, batch);
	if (error)
		return error;
	if (len < batch->size)
		return BATCH_SHORT;
	if ((uint32_t)wire_number(&crc, 0, 4) != crc32c(data + CRC_START, batch->size - CRC_START))
		return BATCH_CORRUPT;
	return BATCH_OK;
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
	wire_patch(&wire, BASE_SIZE - 4, size - BASE_SIZE);
	wire_patch(&wire, HEADER_SIZE - 4, 1);
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
	if (end.position < log->scanned.position) {
		log->nr_index = 0;
		log->scanned = (struct place){ };
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

/* Cut a torn batch after the valid ones. */
static bool cut_torn(struct log *log, const uint8_t *data, size_t len, struct place end)
{
	if (!is_torn(data, len)) {
		fprintf(stderr,
			"broker: %s: the batch at byte %" PRIu64 " is damaged; the log is kept\n",
			log->path, end.position);
		return false;
	}
	if (len)
		fprintf(stderr, "broker: %s: %zu bytes of an incomplete batch are cut\n",
			log->path, len);
	return log_cut(log, end);
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
	ok = len >= 0 && cut_torn(log, data, len, *end);
	free(data);
	return ok;
}

static bool remember(struct log *log, struct place place)
{
	struct place *index = log->index;

	if (log->nr_index && place.position - index[log->nr_index - 1].position < INDEX_STEP)
		return true;
	if (log->nr_index == log->max_index) {
		size_t max = log->max_index ? 2 * log->max_index : 16;

		index = realloc(index, max * sizeof(*index));
		if (!index)
			return false;
		log->index = index;
		log->max_index = max;
	}
	index[log->nr_index++] = place;
	return true;
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
	struct place failed = { .offset = -1 }, place = { }, next;

	if (offset == end.offset)
		return end;
	while (log->scanned.offset <= offset && log->scanned.position < end.position) {
		if (!remember(log, log->scanned) || !next_batch(log, &log->scanned))
			return failed;
	}
	/* Most searches are for an offset near the end. */
	for (size_t i = log->nr_index; i--;) {
		place = log->index[i];
		if (place.offset <= offset)
			break;
	}
	for (; place.position < end.position; place = next) {
		next = place;
		if (!next_batch(log, &next))
			return failed;
		if (next.offset > offset)
			return place;
	}
	return failed;
}
