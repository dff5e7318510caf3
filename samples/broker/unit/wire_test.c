// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of the protocol.
 */
#include <sys/socket.h>

#include "kit.h"

#define READER(bytes) { .data = (uint8_t *)(bytes), .size = sizeof(bytes) - 1 }

static void reader_fails_beyond_its_end(void)
{
	struct wire reader = READER("\1\2\3");

	CHECK(get_i16(&reader) == 0x102);
	CHECK(get_i16(&reader) == 0 && reader.failed);
	CHECK(wire_number(&reader, 0, 1) == 0);
}

static void lengths_beyond_the_rest_fail(void)
{
	struct wire longer = READER("\0\5text"), negative = READER("\xff\xfetext");
	struct wire bytes = READER("\x80\0\0\0text");

	CHECK(get_text(&longer).len == -1 && longer.failed);
	get_text(&negative);
	get_bytes(&bytes);
	CHECK(negative.failed && bytes.failed);
}

static void count_above_the_number_of_bytes_fails(void)
{
	struct wire good = READER("\0\0\0\2ab"), bad = READER("\0\0\0\3ab");
	struct wire null = READER("\xff\xff\xff\xff"), negative = READER("\xff\xff\xff\xfe");

	CHECK(wire_count(&good, 0) == 2 && !good.failed);
	CHECK(wire_count(&bad, 0) == 0 && bad.failed);
	CHECK(wire_count(&null, 0) == -1 && !null.failed);
	CHECK(wire_count(&negative, 0) == 0 && negative.failed);
}

static void writer_fails_beyond_its_limit(void)
{
	struct wire writer = WRITER;

	CHECK(wire_raw(&writer, MESSAGE_MAX));
	CHECK(wire_raw(&writer, PREFIX_SIZE));
	CHECK(!writer.failed);
	put_i8(&writer, 0);
	CHECK(writer.failed && writer.size == PREFIX_SIZE + MESSAGE_MAX);
	CHECK(!wire_raw(&writer, 0));
	wire_free(&writer);
	CHECK(!wire_raw(&writer, SIZE_MAX));
	wire_free(&writer);
}

static void buffers_are_counted_until_they_are_consumed(void)
{
	struct wire writer = WRITER;

	CHECK(wire_total == 0);
	wire_raw(&writer, 100);
	CHECK(wire_total == writer.capacity && writer.capacity >= 100);
	wire_raw(&writer, MESSAGE_MAX / 2);
	CHECK(wire_total == writer.capacity && writer.capacity > MESSAGE_MAX / 2);
	wire_consume(&writer, 100);
	CHECK(wire_total && writer.size == MESSAGE_MAX / 2);
	wire_consume(&writer, writer.size);
	CHECK(wire_total == 0 && writer.writes);
}

static void absurd_sizes_of_messages_fail(void)
{
	static const int32_t sizes[] = { MESSAGE_MAX + 1, INT32_MAX, -1, INT32_MIN };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct wire message = WRITER;

		put_i32(&message, sizes[i]);
		CHECK(wire_message(&message) == -1);
		wire_free(&message);
	}
}

static void messages_are_sent_and_received(void)
{
	struct wire out = WRITER, in = { };
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds))
		abort();
	put_i32(&out, 10);
	wire_raw(&out, 6);
	CHECK(wire_send(&out, fds[0]) && !out.size);
	CHECK(wire_receive(&in, fds[1]) == 0);
	wire_raw(&out, 4);
	put_i32(&out, 8);
	wire_raw(&out, 8);
	CHECK(wire_send(&out, fds[0]));
	CHECK(wire_receive(&in, fds[1]) == 14);
	wire_consume(&in, 14);
	CHECK(wire_message(&in) == 12 && wire_receive(&in, fds[1]) == 12);
	wire_consume(&in, 12);
	put_i32(&out, MESSAGE_MAX + 1);
	CHECK(wire_send(&out, fds[0]));
	CHECK(wire_receive(&in, fds[1]) == -1);
	close(fds[0]);
	wire_consume(&in, in.size);
	CHECK(wire_receive(&in, fds[1]) == -1);
	close(fds[1]);
	wire_free(&in);
	wire_free(&out);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(reader_fails_beyond_its_end),
		CASE(lengths_beyond_the_rest_fail),
		CASE(count_above_the_number_of_bytes_fails),
		CASE(writer_fails_beyond_its_limit),
		CASE(buffers_are_counted_until_they_are_consumed),
		CASE(absurd_sizes_of_messages_fail),
		CASE(messages_are_sent_and_received),
		{ }
	};

	return tap_run(cases);
}
