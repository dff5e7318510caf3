/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of Kafka's protocol, big-endian numbers, strings and arrays in a buffer, and batches of
 * records (format 2), which are stored as they came.
 *
 * One function describes a message for both directions: the functions below write a value, or
 * read it into the same variable. They never leave the buffer. After the first error they read
 * zeroes, and the caller tests @failed once, at the end.
 */
#ifndef BROKER_WIRE_H
#define BROKER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* Largest batch of records, and the limit on the records in a response. */
#define BATCH_MAX	1048576

/* Largest message: a response may exceed its limit by one batch. */
#define MESSAGE_MAX	(2 * BATCH_MAX + 65536)

/* A message has its size in front. */
#define PREFIX_SIZE	4

/* Errors of the protocol. The first one is for the broker only. */
enum error_code {
	BATCH_SHORT = -1,	/* a buffer ends within a batch */
	OFFSET_OUT_OF_RANGE = 1,	CORRUPT_MESSAGE = 2,
	UNKNOWN_TOPIC_OR_PARTITION = 3,	NOT_LEADER = 6,
	REQUEST_TIMED_OUT = 7,		REPLICA_NOT_AVAILABLE = 9,
	MESSAGE_TOO_LARGE = 10,		COORDINATOR_NOT_AVAILABLE = 15,
	NOT_COORDINATOR = 16,		NOT_ENOUGH_REPLICAS = 19,
	NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20,
	ILLEGAL_GENERATION = 22,	INCONSISTENT_GROUP_PROTOCOL = 23,
	INVALID_GROUP_ID = 24,
	UNKNOWN_MEMBER_ID = 25,		INVALID_SESSION_TIMEOUT = 26,
	REBALANCE_IN_PROGRESS = 27,	UNSUPPORTED_VERSION = 35,
	UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, STORAGE_ERROR = 56,
	GROUP_MAX_SIZE_REACHED = 81,	INVALID_RECORD = 87,
};

/* @len is -1 for null. */
struct text {
	const char *data;
	int len;
};

struct wire {
	uint8_t *data;
	size_t at;		/* next byte to read or to send */
	size_t size;
	size_t capacity;	/* 0 if the buffer belongs to another one */
	bool writes;
	bool failed;
};

/* Transfer a number of @len bytes. Return: the number; with its sign if it was read. */
int64_t wire_number(struct wire *wire, int64_t value, size_t len);
/* Transfer a variable, a number of the same size. */
#define wire_int(wire, variable) \
	((variable) = wire_number(wire, variable, sizeof(variable)))
/* Transfer the number of entries of an array; -1 for null. No more are read than bytes are left. */
int wire_count(struct wire *wire, int count);
/* Transfer a text; its length has 2 or 4 bytes. */
void wire_text(struct wire *wire, struct text *text, size_t len_size);
#define wire_string(wire, text)	wire_text(wire, text, 2)
#define wire_bytes(wire, text)	wire_text(wire, text, 4)
/* Read an array of pairs of a text and bytes, and keep it as a list. */
void wire_pairs(struct wire *wire, struct text *list);
/* Read a list. Return: false at its end. */
struct wire wire_of(struct text list);
bool wire_pair(struct wire *list, struct text *name, struct text *data);
/* Overwrite 4 bytes at @offset. */
void wire_patch(struct wire *wire, size_t offset, int32_t value);

/* Send what a buffer has. Return: false at the end of the connection. */
bool wire_send(struct wire *wire, int fd);
/* Return: size of the first message in a buffer, with its prefix; 0: incomplete; -1: invalid. */
ssize_t wire_message(const struct wire *wire);
/* Receive until there is a message. Return: as wire_message(); -1 also without a connection. */
ssize_t wire_receive(struct wire *wire, int fd);
/* Remove bytes from the front. An empty buffer that is large is freed. */
void wire_consume(struct wire *wire, size_t len);
void wire_free(struct wire *wire);

/* Check an allocation. The main process replaces a worker without memory. */
static inline void *memory(void *allocated)
{
	if (!allocated)
		abort();
	return allocated;
}

struct text text_of(const char *string);
bool text_equals(struct text text, struct text other);

/* The header of a batch, including its CRC. */
#define HEADER_SIZE	61

/* A boundary between batches. */
struct place {
	int64_t offset;		/* of the next record */
	uint64_t position;	/* in the file, in bytes */
};

/* The part of a batch's header that matters to a broker. */
struct batch {
	ssize_t size;		/* including the header */
	int64_t base;
	int32_t records;
};

uint32_t crc32c(const uint8_t *data, size_t len);

/* Check the batch at the start of a buffer, including its CRC. */
enum error_code batch_check(const uint8_t *data, size_t len, struct batch *batch);
/* Assign an offset, which the CRC does not cover. */
void batch_set_base(uint8_t *data, int64_t base);
/* Read a valid header. */
struct batch batch_header(const uint8_t *data);
/* Advance the end of a log by the valid batches at the start of a buffer. Return: their size. */
size_t batches_valid(const uint8_t *data, size_t len, struct place *end);

#endif /* BROKER_WIRE_H */
