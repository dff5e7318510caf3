// SPDX-License-Identifier: GPL-2.0
/*
 * Record batches, and logs of them.
 */
#include <fcntl.h>

#include "../partition.c"
#include "kit.h"

static const char *path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/log", kit_folder());
	return path;
}

static struct log open_log(void)
{
	struct place end;
	struct log log;

	unlink(path());
	log_open(&log, path(), &end);
	return log;
}

static void open_again(void)
{
	struct place end;
	struct log log;

	log_open(&log, path(), &end);
}

static void batch_is_valid_until_a_bit_changes(void)
{
	struct wire writer = WRITER;
	struct batch batch;
	ssize_t size = put_batch(&writer, 7, 3, 10);

	CHECK(!batch_check(writer.data, size, &batch));
	CHECK(batch.size == size && batch.base == 7 && batch.records == 3);
	batch_set_base(writer.data, 1234567890123);
	CHECK(!batch_check(writer.data, size, &batch) && batch.base == 1234567890123);
	writer.data[size - 1] ^= 1;
	CHECK(batch_check(writer.data, size, &batch) == CORRUPT_MESSAGE);
	wire_free(&writer);
}

static void truncated_batch_is_short(void)
{
	struct wire writer = WRITER;
	struct batch batch;
	size_t size = put_batch(&writer, 0, 1, 10);

	for (size_t len = 0; len < size; len++)
		CHECK(batch_check(writer.data, len, &batch) == BATCH_SHORT);
	wire_free(&writer);
}

static void absurd_fields_of_a_batch_are_corrupt(void)
{
	static const struct {
		size_t at;
		int32_t value;
	} fields[] = {
		{ 0, INT32_MIN }, { 0, INT32_MAX }, { 8, -1 }, { 8, 48 },
		{ 23, -1 }, { 23, 1 }, { 57, 0 }, { 57, -1 }, { 57, INT32_MAX },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct wire writer = WRITER;
		struct batch batch;
		size_t size = put_batch(&writer, -1LL & 0xffffffff, 1, 0);

		wire_patch(&writer, fields[i].at, fields[i].value);
		/* The largest base offset leaves no offset for the next record. */
		if (fields[i].at == 0 && fields[i].value == INT32_MAX)
			wire_patch(&writer, 4, -1);
		wire_patch(&writer, CRC_AT, crc32c(writer.data + 21, size - 21));
		CHECK(batch_check(writer.data, size, &batch) == CORRUPT_MESSAGE);
		wire_free(&writer);
	}
}

static void batch_above_the_limit_is_large(void)
{
	static const int32_t sizes[] = { BATCH_MAX - 12, BATCH_MAX - 11, INT32_MAX };

	for (int i = 0; i < 3; i++) {
		struct wire writer = WRITER;
		struct batch batch;
		size_t size = put_batch(&writer, 0, 1, 0);

		wire_patch(&writer, 8, sizes[i]);
		CHECK(batch_check(writer.data, size, &batch) ==
		      (i ? MESSAGE_TOO_LARGE : BATCH_SHORT));
		wire_free(&writer);
	}
}

static void older_format_is_reported(void)
{
	struct wire writer = WRITER;
	struct batch batch;
	size_t size = put_batch(&writer, 0, 1, 0);

	writer.data[16] = 1;
	CHECK(batch_check(writer.data, size, &batch) == UNSUPPORTED_FOR_MESSAGE_FORMAT);
	wire_free(&writer);
}

static void recovery_cuts_a_torn_batch(void)
{
	struct log log = open_log();
	struct place zero = { }, end;
	struct wire writer = WRITER;
	size_t two;

	put_batch(&writer, 0, 5, 100);
	two = writer.size + put_batch(&writer, 5, 1, 200);
	put_batch(&writer, 6, 1, 300);
	CHECK(log_write(&log, zero, writer.data, writer.size - 1));
	log_close(&log);
	log_open(&log, path(), &end);
	CHECK(end.offset == 6 && end.position == two);
	CHECK(lseek(log.fd, 0, SEEK_END) == (off_t)two);
	wire_free(&writer);
	log_close(&log);
}

static bool is_refused(struct wire *writer)
{
	int fd = open(path(), O_WRONLY | O_CREAT, 0600);
	bool refused = pwrite(fd, writer->data, writer->size, 0) == (ssize_t)writer->size &&
		       kit_exits(open_again);

	refused &= lseek(fd, 0, SEEK_END) == (off_t)writer->size;
	close(fd);
	return refused;
}

static void recovery_refuses_a_damaged_log(void)
{
	/* In the payload, base offset, format and size, each followed by a valid batch. */
	static const size_t places[] = { 80, 5, 16, 11, 8 };
	struct wire writer = WRITER;

	unlink(path());
	put_batch(&writer, 0, 5, 100);
	put_batch(&writer, 5, 1, 200);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		writer.data[places[i]] ^= 1;
		CHECK(is_refused(&writer));
		writer.data[places[i]] ^= 1;
	}
	CHECK(!is_refused(&writer));
	/* The last batch is complete, but damaged. */
	writer.data[writer.size - 1] ^= 1;
	CHECK(is_refused(&writer));
	wire_free(&writer);
}

static void log_of_another_broker_is_refused(void)
{
	struct log log = open_log();

	CHECK(kit_exits(open_again));
	log_close(&log);
	CHECK(!kit_exits(open_again));
}

static void recovery_reads_a_log_larger_than_a_batch(void)
{
	struct log log = open_log();
	struct place end = { }, found;
	struct wire writer = WRITER;

	for (int i = 0; i < 40; i++) {
		writer.size = 0;
		put_batch(&writer, end.offset, 2, 90000);
		CHECK(log_write(&log, end, writer.data, writer.size));
		end.offset += 2;
		end.position += writer.size;
	}
	log_close(&log);
	log_open(&log, path(), &found);
	CHECK(found.offset == end.offset && found.position == end.position);
	wire_free(&writer);
	log_close(&log);
}

static void each_offset_is_found_in_its_batch(void)
{
	const size_t size = HEADER_SIZE + 1000;
	struct log log = open_log();
	struct place end = { };
	struct wire writer = WRITER;

	for (int i = 0; i < 500; i++) {
		writer.size = 0;
		put_batch(&writer, end.offset, 3, 1000);
		CHECK(log_write(&log, end, writer.data, writer.size));
		end.offset += 3;
		end.position += size;
	}
	/* From the end, so that the first search builds the index. */
	for (int64_t offset = end.offset - 1; offset >= 0; offset--) {
		struct place place = log_find(&log, end, offset);

		CHECK(place.offset == offset - offset % 3);
		CHECK(place.position == offset / 3 * size);
	}
	CHECK(log.nr_index > 1 && log.nr_index < 20);
	CHECK(log_find(&log, end, end.offset).position == end.position);
	wire_free(&writer);
	log_close(&log);
}

static void log_has_a_maximum_size(void)
{
	struct log log = open_log();
	struct place end = { .position = LOG_MAX - HEADER_SIZE + 1 };
	struct wire writer = WRITER;

	put_batch(&writer, 0, 1, 0);
	CHECK(!log_write(&log, end, writer.data, writer.size));
	CHECK(lseek(log.fd, 0, SEEK_END) == 0);
	if (ftruncate(log.fd, LOG_MAX + 1))
		abort();
	log_close(&log);
	CHECK(kit_exits(open_again));
	wire_free(&writer);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(batch_is_valid_until_a_bit_changes),
		CASE(truncated_batch_is_short),
		CASE(absurd_fields_of_a_batch_are_corrupt),
		CASE(batch_above_the_limit_is_large),
		CASE(older_format_is_reported),
		CASE(recovery_cuts_a_torn_batch),
		CASE(recovery_refuses_a_damaged_log),
		CASE(log_of_another_broker_is_refused),
		CASE(recovery_reads_a_log_larger_than_a_batch),
		CASE(each_offset_is_found_in_its_batch),
		CASE(log_has_a_maximum_size),
		{ }
	};

	return kit_run(cases);
}
