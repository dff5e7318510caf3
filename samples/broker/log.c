// SPDX-License-Identifier: GPL-2.0
/* The log of a partition: see log.h. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
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

ssize_t batch_size(const uint8_t *data)
{
	return BASE_SIZE + header_field(data, SIZE_AT, 4);
}

enum error_code batch_check(const uint8_t *data, size_t len, struct batch *batch)
{
	if (len < HEADER_SIZE)
		return BATCH_SHORT;
	batch->size = batch_size(data);
	batch->base = header_field(data, 0, 8);
	batch->records = header_field(data, RECORDS_AT, 4);
	if (data[FORMAT_AT] != 2)
		return UNSUPPORTED_FOR_MESSAGE_FORMAT;
	if (batch->size > BATCH_MAX)
		return MESSAGE_TOO_LARGE;
	if (batch->size < HEADER_SIZE || batch->records < 1 || batch->base < 0 ||
	    header_field(data, LAST_AT, 4) != batch->records - 1 ||
	    batch->base > INT64_MAX - batch->records)
		return CORRUPT_MESSAGE;
	if ((ssize_t)len < batch->size)
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

bool log_write(struct log *log, struct place end, const uint8_t *data, size_t len)
{
	/* Writes to a file are not interrupted. A short one is followed by an error. */
	if (end.position + len > LOG_MAX)
		errno = EFBIG;
	else if (pwrite(log->fd, data, len, end.position) == (ssize_t)len)
		return true;
	warn("%s", log->path);
	return false;
}

void log_cut(struct log *log, struct place end)
{
	if (ftruncate(log->fd, end.position))
		warn("%s", log->path);
}

void log_open(struct log *log, const char *path, struct place *end)
{
	struct batch batch;
	size_t rest;
	off_t len;

	*end = (struct place){ };
	*log = (struct log){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) };
	if (log->fd < 0)
		err(1, "%s", path);
	snprintf(log->path, sizeof(log->path), "%s", path);
	/* The workers keep the lock until the last one has exited, also after a killed broker. */
	for (int tries = 0; flock(log->fd, LOCK_EX | LOCK_NB); tries++) {
		if (tries == 100)
			errx(1, "another broker uses %s", path);
		usleep(10000);
	}
	len = lseek(log->fd, 0, SEEK_END);
	log->index = memory(calloc(LOG_MAX / INDEX_STEP, sizeof(*log->index)));
	log->data = mmap(NULL, LOG_MAX, PROT_READ, MAP_SHARED, log->fd, 0);
	if (log->data == MAP_FAILED || len > (off_t)LOG_MAX)
		errx(1, "%s cannot be mapped", path);
	rest = len - batches_valid(log->data, len, end);
	if (!rest)
		return;
	if (batch_check(log->data + end->position, rest, &batch) != BATCH_SHORT)
		errx(1, "%s: the batch at byte %" PRIu64 " is damaged; the log is kept", path,
		     end->position);
	warnx("%s: %zu bytes of an incomplete batch are cut", path, rest);
	log_cut(log, *end);
}

struct place log_find(struct log *log, struct place end, int64_t offset)
{
	struct place place = { }, next;
	size_t i = log->nr_index;

	if (offset >= end.offset)
		return end;
	/* Most searches are for an offset near the end. */
	while (i && log->index[i - 1].offset > offset)
		i--;
	if (i)
		place = log->index[i - 1];
	for (;; place = next) {
		const uint8_t *data = log->data + place.position;

		next.offset = place.offset + header_field(data, RECORDS_AT, 4);
		next.position = place.position + batch_size(data);
		if (next.offset > offset)
			return place;
		if (next.position > (log->nr_index + 1) * INDEX_STEP)
			log->index[log->nr_index++] = next;
	}
}
