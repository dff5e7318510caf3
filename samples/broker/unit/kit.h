/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For unit tests: record batches, and a broker without sockets, whose requests wait in a heap.
 */
#ifndef BROKER_UNIT_KIT_H
#define BROKER_UNIT_KIT_H

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tap.h>
#include <unistd.h>

#include "../request.h"

#define CRC_AT		17

#define WRITER { .writes = true }

#define CASE(name) { #name, name }

static inline void put_i8(struct wire *wire, int8_t value)
{
	wire_number(wire, value, 1);
}

static inline void put_i16(struct wire *wire, int16_t value)
{
	wire_number(wire, value, 2);
}

static inline void put_i32(struct wire *wire, int32_t value)
{
	wire_number(wire, value, 4);
}

static inline void put_i64(struct wire *wire, int64_t value)
{
	wire_number(wire, value, 8);
}

static inline void put_text(struct wire *wire, const char *text)
{
	struct text none = { .len = -1 }, some = text ? text_of(text) : none;

	wire_string(wire, &some);
}

static inline int16_t get_i16(struct wire *wire)
{
	return wire_number(wire, 0, 2);
}

static inline int32_t get_i32(struct wire *wire)
{
	return wire_number(wire, 0, 4);
}

static inline struct text get_text(struct wire *wire)
{
	struct text text;

	wire_string(wire, &text);
	return text;
}

static inline struct text get_bytes(struct wire *wire)
{
	struct text bytes;

	wire_bytes(wire, &bytes);
	return bytes;
}

static inline bool is_at_end(const struct wire *wire)
{
	return !wire->failed && wire->at == wire->size;
}

/* Append a batch whose records are @payload zeroes. Return: its size. */
static inline size_t put_batch(struct wire *writer, int64_t base, int records, size_t payload)
{
	size_t start = writer->size, size = HEADER_SIZE + payload;
	uint8_t *data = wire_raw(writer, size);

	memset(data, 0, size);
	writer->size = start;
	put_i64(writer, base);
	put_i32(writer, size - 12);
	put_i32(writer, 0);
	put_i8(writer, 2);
	put_i32(writer, 0);
	put_i16(writer, 0);
	put_i32(writer, records - 1);
	wire_raw(writer, 30);
	put_i32(writer, records);
	writer->size = start + size;
	data = writer->data + start;
	wire_patch(writer, start + CRC_AT, crc32c(data + CRC_AT + 4, size - CRC_AT - 4));
	return size;
}

/* A folder of this process, removed at its end. */
static inline const char *kit_folder(void)
{
	static char folder[64];

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "/tmp/broker-unit-XXXXXX");
		if (!mkdtemp(folder))
			abort();
	}
	return folder;
}

static inline void kit_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", kit_folder());
	if (system(command))
		perror(command);
}

static inline void log_close(struct log *log)
{
	if (log->fd > 0) {
		munmap((void *)log->data, LOG_MAX);
		close(log->fd);
	}
	free(log->index);
	*log = (struct log){ };
}

/* Close the logs of the last case. */
static inline void kit_close(void)
{
	for (int i = 0; i <= MAX_PARTITIONS; i++)
		log_close(partition_log(i));
}

/*
 * Broker 1 leads "alone" with two partitions, and "both" with broker 2 and the partition 2;
 * broker 2 leads "other", which broker 1 follows. The logs are empty.
 */
static inline void kit_start(void)
{
	static int timer = -1;

	kit_close();
	kit_remove();
	if (mkdir(kit_folder(), 0700))
		abort();
	config = (struct config){
		.nodes = { { .id = 1, .host = "127.0.0.1", .port = 9, .data = kit_folder() },
			   { .id = 2, .host = "127.0.0.1", .port = 10 } },
		.nr_nodes = 2,
		.topics = { { "alone", 0, 2, { 1 }, 1, 1 }, { "both", 2, 1, { 1, 2 }, 2, 2 },
			    { "other", 3, 1, { 2, 1 }, 2, 1 } },
		.nr_topics = 3,
		.nr_partitions = 4,
		.max_lag_ms = 3600000,
	};
	config.partitions[0] = &config.topics[0];
	config.partitions[1] = &config.topics[0];
	config.partitions[2] = &config.topics[1];
	config.partitions[3] = &config.topics[2];
	config.self = &config.nodes[0];
	if (timer < 0)
		timer = waiting_open(false);
	partitions_create();
	groups_create();
}

static inline int kit_run(const struct tap_case *cases)
{
	int status = tap_run(cases);

	kit_close();
	kit_remove();
	return status;
}

#endif /* BROKER_UNIT_KIT_H */
