/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The log of a partition: a file of record batches (format 2), as they came.
 *
 * Each process has its own index of a file. The end of the log is shared, see partition.h, and is
 * passed by the caller: bytes beyond it do not exist.
 */
#ifndef BROKER_LOG_H
#define BROKER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

/* The header of a batch, including its CRC. */
#define HEADER_SIZE	61

/* A boundary between batches. */
struct place {
	int64_t offset;		/* of the next record */
	uint64_t position;	/* in the file, in bytes */
};

struct log {
	int fd;
	char path[4096];
	struct place *index;	/* sparse: boundaries at least INDEX_STEP apart */
	size_t nr_index;
	uint64_t indexed;	/* position of the last one */
};

/* The part of a batch's header that matters to a broker. */
struct batch {
	size_t size;		/* including the header */
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
/* Return: size of the complete batches at the start of a buffer; their headers are valid. */
size_t batches_complete(const uint8_t *data, size_t len);
/* Advance the end of a log by the valid batches at the start of a buffer. Return: their size. */
size_t batches_valid(const uint8_t *data, size_t len, struct place *end);

/*
 * Open a log and find its end. A last batch that was not written completely is cut. Anything else
 * that is not valid is damage, and an error: the log may be the only one that has the batches
 * after it.
 */
bool log_open(struct log *log, const char *path, struct place *end);
/* Remove the bytes from @end. */
bool log_cut(struct log *log, struct place end);
bool log_write(struct log *log, struct place end, const uint8_t *data, size_t len);
/* Find the batch with an offset up to the end. Return: its boundary, or an offset of -1. */
struct place log_find(struct log *log, struct place end, int64_t offset);
/* Return: size of the batch at a boundary before the end; 0 if it cannot be read. */
size_t log_first(struct log *log, struct place place);
/* Return: number of bytes read, or -1. */
ssize_t log_read(struct log *log, uint64_t position, uint8_t *data, size_t len);

#endif /* BROKER_LOG_H */
