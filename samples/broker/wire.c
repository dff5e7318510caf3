// SPDX-License-Identifier: GPL-2.0
/*
 * Fields of Kafka's protocol. See wire.h.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

const uint8_t *get_raw(struct reader *reader, size_t len)
{
	const uint8_t *at = reader->at;

	if (reader->bad || len > reader_left(reader)) {
		reader->bad = true;
		return NULL;
	}
	reader->at += len;
	return at;
}

/* Return: a big-endian number of @len bytes, in the lower bits. */
static uint64_t get_number(struct reader *reader, size_t len)
{
	const uint8_t *at = get_raw(reader, len);
	uint64_t value = 0;

	while (at && len--)
		value = value << 8 | *at++;
	return value;
}

int8_t get_i8(struct reader *reader)
{
	return get_number(reader, 1);
}

int16_t get_i16(struct reader *reader)
{
	return get_number(reader, 2);
}

int32_t get_i32(struct reader *reader)
{
	return get_number(reader, 4);
}

int64_t get_i64(struct reader *reader)
{
	return get_number(reader, 8);
}

uint32_t get_uvarint(struct reader *reader)
{
	uint32_t value = 0;
	unsigned int shift;

	for (shift = 0; shift < 35; shift += 7) {
		uint8_t byte = get_number(reader, 1);

		if (shift == 28 && byte > 15)
			break;
		value |= (uint32_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	reader->bad = true;
	return 0;
}

static struct text get_text(struct reader *reader, int64_t len)
{
	struct text text = { .len = -1 };

	if (len == -1)
		return text;
	if (len < 0) {
		reader->bad = true;
		return text;
	}
	text.data = (const char *)get_raw(reader, len);
	if (text.data)
		text.len = len;
	return text;
}

struct text get_string(struct reader *reader)
{
	return get_text(reader, get_i16(reader));
}

struct text get_bytes(struct reader *reader)
{
	return get_text(reader, get_i32(reader));
}

int get_count(struct reader *reader)
{
	int32_t count = get_i32(reader);

	if (count < -1 || (count > 0 && (size_t)count > reader_left(reader)))
		reader->bad = true;
	return reader->bad ? 0 : count;
}

void skip_tags(struct reader *reader)
{
	uint32_t nr = get_uvarint(reader);

	while (nr-- && !reader->bad) {
		get_uvarint(reader);
		get_raw(reader, get_uvarint(reader));
	}
}

uint8_t *put_room(struct writer *writer, size_t len)
{
	size_t capacity = writer->capacity ? writer->capacity : 256;
	uint8_t *data;

	if (writer->failed || len > FRAME_MAX - writer->size) {
		writer->failed = true;
		return NULL;
	}
	while (capacity < writer->size + len)
		capacity *= 2;
	if (capacity != writer->capacity) {
		data = realloc(writer->data, capacity);
		if (!data) {
			writer->failed = true;
			return NULL;
		}
		writer->data = data;
		writer->capacity = capacity;
	}
	data = writer->data + writer->size;
	writer->size += len;
	return data;
}

static void put_number(struct writer *writer, uint64_t value, size_t len)
{
	uint8_t *at = put_room(writer, len);

	value = htobe64(value);
	if (at)
		memcpy(at, (uint8_t *)&value + sizeof(value) - len, len);
}

void put_i8(struct writer *writer, int8_t value)
{
	put_number(writer, value, 1);
}

void put_i16(struct writer *writer, int16_t value)
{
	put_number(writer, value, 2);
}

void put_i32(struct writer *writer, int32_t value)
{
	put_number(writer, value, 4);
}

void put_i64(struct writer *writer, int64_t value)
{
	put_number(writer, value, 8);
}

void put_uvarint(struct writer *writer, uint32_t value)
{
	for (; value > 127; value >>= 7)
		put_number(writer, (value & 127) | 128, 1);
	put_number(writer, value, 1);
}

void put_string(struct writer *writer, struct text text)
{
	uint8_t *at;

	put_i16(writer, text.len);
	if (text.len <= 0)
		return;
	at = put_room(writer, text.len);
	if (at)
		memcpy(at, text.data, text.len);
}

void put_cstring(struct writer *writer, const char *text)
{
	put_string(writer, (struct text){ .data = text, .len = text ? (int)strlen(text) : -1 });
}

void patch_i32(struct writer *writer, size_t offset, int32_t value)
{
	uint32_t big = htobe32(value);

	if (!writer->failed)
		memcpy(writer->data + offset, &big, sizeof(big));
}

void writer_free(struct writer *writer)
{
	free(writer->data);
	*writer = (struct writer){ };
}
