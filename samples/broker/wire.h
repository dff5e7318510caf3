/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fields of Kafka's protocol: big-endian numbers, strings, arrays.
 *
 * A reader never leaves its buffer.  After the first error it returns zeroes, and the caller
 * tests @bad once, at the end.  A writer grows up to FRAME_MAX and sets @failed beyond it.
 */
#ifndef BROKER_WIRE_H
#define BROKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Largest batch of records, and the limit on the records in a response. */
#define BATCH_MAX	(1 << 20)

/* Largest frame: a response may exceed its limit by one batch. */
#define FRAME_MAX	(2 * BATCH_MAX + 65536)

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/* @len is -1 for null. */
struct text {
	const char *data;
	int len;
};

struct writer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

static inline size_t reader_left(const struct reader *reader)
{
	return reader->end - reader->at;
}

/* Return: @len bytes, or NULL if there are fewer. */
const uint8_t *get_raw(struct reader *reader, size_t len);
int8_t get_i8(struct reader *reader);
int16_t get_i16(struct reader *reader);
int32_t get_i32(struct reader *reader);
int64_t get_i64(struct reader *reader);
uint32_t get_uvarint(struct reader *reader);
struct text get_string(struct reader *reader);
/* The bytes with a 32-bit length in front; a length of -1 is null. */
struct text get_bytes(struct reader *reader);
/* Number of entries of an array: at most the number of bytes that are left; -1 for null. */
int get_count(struct reader *reader);
void skip_tags(struct reader *reader);

/* Return: room for @len bytes, or NULL; the next put may move it. */
uint8_t *put_room(struct writer *writer, size_t len);
void put_i8(struct writer *writer, int8_t value);
void put_i16(struct writer *writer, int16_t value);
void put_i32(struct writer *writer, int32_t value);
void put_i64(struct writer *writer, int64_t value);
void put_uvarint(struct writer *writer, uint32_t value);
void put_string(struct writer *writer, struct text text);
void put_cstring(struct writer *writer, const char *text);
/* Overwrite a number at @offset. */
void patch_i32(struct writer *writer, size_t offset, int32_t value);
void writer_free(struct writer *writer);

#endif /* BROKER_WIRE_H */
