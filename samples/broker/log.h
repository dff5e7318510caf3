/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The log of a partition: a file of record batches (format 2), as they came.
 *
 * The file is mapped before the workers start, so that its batches are memory of all processes, and
 * each process has its own index of them. The end of the log is shared, see partition.h, and is
 * passed by the caller: bytes beyond it do not exist.
 */
#ifndef BROKER_LOG_H
#define BROKER_LOG_H

#include "wire.h"

#define LOG_MAX		(16ULL << 30)

/* The header of a batch, including its CRC. */
#define HEADER_SIZE	61

/* A boundary between batches. */
struct place {
	int64_t offset;		/* of the next record */
	uint64_t position;	/* in the file, in bytes */
};

struct log {
	int fd;
	const uint8_t *data;
	char path[4096];
	struct place *index;	/* sparse: the first boundaries after multiples of INDEX_STEP */
	size_t nr_index;
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
/* Write the header of a batch with a single record. */
void batch_seal(uint8_t *data, size_t size);
/* Return: size of a batch with a valid header. */
ssize_t batch_size(const uint8_t *data);
/* Advance the end of a log by the valid batches at the start of a buffer. Return: their size. */
size_t batches_valid(const uint8_t *data, size_t len, struct place *end);

/*
 * Open a log and find its end. A last batch that is longer than the file was not written
 * completely, and is cut. Anything else that is not valid is damage, and the program exits: the log
 * may be the only one that has the batches after it.
 */
void log_open(struct log *log, const char *path, struct place *end);
void log_cut(struct log *log, struct place end);
bool log_write(struct log *log, struct place end, const uint8_t *data, size_t len);
/* Return: start of the batch with an offset, or the end. */
struct place log_find(struct log *log, struct place end, int64_t offset);

#endif /* BROKER_LOG_H */
