// SPDX-License-Identifier: GPL-2.0
/*
 * Fields of the protocol.
 */
#include <string.h>
#include <tap.h>

#include "../wire.h"

#define READER(bytes) \
	{ .at = (const uint8_t *)(bytes), .end = (const uint8_t *)(bytes) + sizeof(bytes) - 1 }

static void numbers_are_read_as_written(void)
{
	struct writer writer = { };
	struct reader reader;

	put_i8(&writer, -2);
	put_i16(&writer, -300);
	put_i32(&writer, -70000);
	put_i64(&writer, -5000000000);
	put_uvarint(&writer, 0xffffffff);
	put_uvarint(&writer, 127);
	put_cstring(&writer, "text");
	put_cstring(&writer, NULL);
	reader = (struct reader){ .at = writer.data, .end = writer.data + writer.size };
	CHECK(get_i8(&reader) == -2);
	CHECK(get_i16(&reader) == -300);
	CHECK(get_i32(&reader) == -70000);
	CHECK(get_i64(&reader) == -5000000000);
	CHECK(get_uvarint(&reader) == 0xffffffff);
	CHECK(get_uvarint(&reader) == 127);
	CHECK(get_string(&reader).len == 4);
	CHECK(get_string(&reader).len == -1);
	CHECK(!reader.bad && !reader_left(&reader));
	writer_free(&writer);
}

static void reader_is_bad_beyond_its_end(void)
{
	struct reader reader = READER("\1\2\3");

	CHECK(get_i16(&reader) == 0x102);
	CHECK(get_i16(&reader) == 0 && reader.bad);
	CHECK(get_i8(&reader) == 0);
}

static void string_longer_than_the_rest_is_bad(void)
{
	struct reader reader = READER("\0\5text");

	CHECK(get_string(&reader).len == -1 && reader.bad);
}

static void negative_lengths_are_bad(void)
{
	struct reader string = READER("\xff\xfetext");
	struct reader bytes = READER("\x80\0\0\0text");

	get_string(&string);
	get_bytes(&bytes);
	CHECK(string.bad && bytes.bad);
}

static void count_above_the_number_of_bytes_is_bad(void)
{
	struct reader good = READER("\0\0\0\2ab"), bad = READER("\0\0\0\3ab");
	struct reader null = READER("\xff\xff\xff\xff"), negative = READER("\xff\xff\xff\xfe");

	CHECK(get_count(&good) == 2 && !good.bad);
	CHECK(get_count(&bad) == 0 && bad.bad);
	CHECK(get_count(&null) == -1 && !null.bad);
	CHECK(get_count(&negative) == 0 && negative.bad);
}

static void uvarint_above_32_bits_is_bad(void)
{
	struct reader large = READER("\xff\xff\xff\xff\x10");
	struct reader endless = READER("\x80\x80\x80\x80\x80\x80\x80");

	CHECK(get_uvarint(&large) == 0 && large.bad);
	CHECK(get_uvarint(&endless) == 0 && endless.bad);
}

static void tags_are_skipped(void)
{
	struct reader reader = READER("\2\0\1x\1\0!"), bad = READER("\1\0\x7fx");

	skip_tags(&reader);
	CHECK(get_i8(&reader) == '!' && !reader.bad);
	skip_tags(&bad);
	CHECK(bad.bad);
}

static void writer_fails_beyond_its_limit(void)
{
	struct writer writer = { };

	CHECK(put_room(&writer, FRAME_MAX));
	CHECK(!writer.failed);
	put_i8(&writer, 0);
	CHECK(writer.failed && writer.size == FRAME_MAX);
	CHECK(!put_room(&writer, 0));
	writer_free(&writer);
	CHECK(!put_room(&writer, SIZE_MAX));
	writer_free(&writer);
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "numbers_are_read_as_written", numbers_are_read_as_written },
		{ "reader_is_bad_beyond_its_end", reader_is_bad_beyond_its_end },
		{ "string_longer_than_the_rest_is_bad", string_longer_than_the_rest_is_bad },
		{ "negative_lengths_are_bad", negative_lengths_are_bad },
		{ "count_above_the_number_of_bytes_is_bad",
		  count_above_the_number_of_bytes_is_bad },
		{ "uvarint_above_32_bits_is_bad", uvarint_above_32_bits_is_bad },
		{ "tags_are_skipped", tags_are_skipped },
		{ "writer_fails_beyond_its_limit", writer_fails_beyond_its_limit },
		{ }
	};

	return tap_run(cases);
}
