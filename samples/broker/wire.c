// SPDX-License-Identifier: GPL-2.0
/* Messages of Kafka's protocol, and batches of records: see wire.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "wire.h"

#define FIRST_CAPACITY	1024UL
#define KEEP_CAPACITY	(64 << 10)

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

static bool reserve(struct wire *wire, size_t size)
{
	size_t larger = MAX(2 * wire->capacity, FIRST_CAPACITY);
	size_t capacity = MIN(MAX(size, larger), PREFIX_SIZE + MESSAGE_MAX);
	uint8_t *data;

	if (size <= wire->capacity)
		return true;
	data = size <= capacity ? realloc(wire->data, capacity) : NULL;
	if (!data)
		return false;
	wire->data = data;
	wire->capacity = capacity;
	return true;
}

/* Return: the next @len bytes, or room for them that the next write may move; or NULL. */
static uint8_t *wire_raw(struct wire *wire, size_t len)
{
	size_t *next = wire->writes ? &wire->size : &wire->at;

	wire->failed |= wire->writes ? len > MESSAGE_MAX || !reserve(wire, wire->size + len) :
				       len > wire->size - wire->at;
	if (wire->failed)
		return NULL;
	*next += len;
	return wire->data + *next - len;
}

int64_t wire_number(struct wire *wire, int64_t value, size_t len)
{
	uint8_t *data = wire_raw(wire, len);
	unsigned int unused = 64 - 8 * len;
	uint64_t number = 0;

	if (!data)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (wire->writes)
			data[i] = value >> (8 * (len - 1 - i));
		number = number << 8 | data[i];
	}
	return (int64_t)(number << unused) >> unused;
}

int wire_count(struct wire *wire, int count)
{
	count = wire_number(wire, count, 4);
	wire->failed |= !wire->writes &&
			(count < -1 || count > (int64_t)(wire->size - wire->at));
	return wire->failed ? 0 : count;
}

void wire_text(struct wire *wire, struct text *text, size_t len_size)
{
	int len = wire_number(wire, text->len, len_size);
	uint8_t *data;

	if (!wire->writes)
		*text = (struct text){ .len = -1 };
	wire->failed |= len < -1;
	if (len < 0)
		return;
	data = wire_raw(wire, len);
	if (data && wire->writes)
		memcpy(data, text->data, len);
	else if (data)
		*text = (struct text){ (const char *)data, len };
}

bool wire_pair(struct wire *wire, struct text *name, struct text *data)
{
	wire_string(wire, name);
	wire_bytes(wire, data);
	return !wire->failed;
}

void wire_pairs(struct wire *wire, struct text *list)
{
	int nr = wire_count(wire, 0);
	size_t start = wire->at;
	struct text text;

	while (nr-- > 0 && wire_pair(wire, &text, &text))
		;
	*list = (struct text){ (const char *)wire->data + start, wire->at - start };
}

struct wire wire_of(struct text list)
{
	return (struct wire){ .data = (uint8_t *)list.data, .size = list.len };
}

void wire_patch(struct wire *wire, size_t offset, int32_t value)
{
	size_t size = wire->size;

	wire->size = offset;
	wire_number(wire, value, 4);
	wire->size = size;
}

bool wire_send(struct wire *wire, int fd)
{
	while (wire->at < wire->size) {
		ssize_t n = send(fd, wire->data + wire->at, wire->size - wire->at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		wire->at += n;
	}
	wire_consume(wire, wire->size);
	return true;
}

ssize_t wire_message(const struct wire *wire)
{
	struct wire prefix = { .data = wire->data, .size = wire->size };
	int64_t size = wire_number(&prefix, 0, PREFIX_SIZE);

	if (prefix.failed)
		return 0;
	if (size < 0 || size > MESSAGE_MAX)
		return -1;
	return wire->size >= PREFIX_SIZE + (size_t)size ? PREFIX_SIZE + size : 0;
}

ssize_t wire_receive(struct wire *wire, int fd)
{
	ssize_t len;

	while (!(len = wire_message(wire))) {
		ssize_t n;

		if (!reserve(wire, wire->size + 1))
			return -1;
		/* With a time limit, recv() fails with EINTR after SIGSTOP and SIGCONT. */
		n = recv(fd, wire->data + wire->size, wire->capacity - wire->size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return -1;
		wire->size += n;
	}
	return len;
}

void wire_consume(struct wire *wire, size_t len)
{
	wire->at = 0;
	wire->size -= len;
	if (wire->size)
		memmove(wire->data, wire->data + len, wire->size);
	else if (wire->capacity > KEEP_CAPACITY)
		wire_free(wire);
}

void wire_free(struct wire *wire)
{
	free(wire->data);
	*wire = (struct wire){ .writes = wire->writes };
}

struct text text_of(const char *string)
{
	return (struct text){ string, strlen(string) };
}

bool text_equals(struct text text, struct text other)
{
	return text.len == other.len && (text.len <= 0 || !memcmp(text.data, other.data, text.len));
}

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

struct batch batch_header(const uint8_t *data)
{
	return (struct batch){
		.size = BASE_SIZE + header_field(data, SIZE_AT, 4),
		.base = header_field(data, 0, 8),
		.records = header_field(data, RECORDS_AT, 4),
	};
}

enum error_code batch_check(const uint8_t *data, size_t len, struct batch *batch)
{
	if (len < HEADER_SIZE)
		return BATCH_SHORT;
	*batch = batch_header(data);
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
