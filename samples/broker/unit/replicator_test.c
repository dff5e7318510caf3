// SPDX-License-Identifier: GPL-2.0
/*
 * Replication: fetches of a follower, and the records in their responses.
 */
#include "../replicator.c"
#include "kit.h"

#define OTHER	3	/* the partition that is copied */

static struct wire response = WRITER;

static void start(void)
{
	kit_start();
	memset(compared, UNKNOWN, sizeof(compared));
}

/* Begin a response; its records follow. */
static void respond(const char *topic, int index, int error, int64_t high)
{
	response.size = 0;
	put_i32(&response, 1);
	put_i32(&response, 0);
	put_i32(&response, 1);
	put_text(&response, topic);
	put_i32(&response, 1);
	put_i32(&response, index);
	put_i16(&response, error);
	put_i64(&response, high);
	put_i64(&response, high);
	put_i32(&response, 0);
	put_i32(&response, 0);
}

static bool copied(void)
{
	return copy(response.data, response.size);
}

static bool copy_batch(int64_t base, int records, size_t payload, int64_t high)
{
	size_t at, size;

	respond("other", 0, 0, high);
	at = response.size - 4;
	size = put_batch(&response, base, records, payload);
	wire_patch(&response, at, size);
	return copied();
}

/* Return: the offset of the next fetch, -1 if the partition is not fetched. */
static int64_t next_offset(void)
{
	struct wire out = WRITER, in;
	struct request *request;
	int64_t offset = -1;

	ask(&config.nodes[1], &out);
	in = (struct wire){ .data = out.data, .size = out.size };
	CHECK(wire_message(&in) == (ssize_t)out.size);
	request = request_begin(out.data + PREFIX_SIZE, out.size - PREFIX_SIZE);
	CHECK(request && request->api == &api_fetch && request->replica == 1);
	if (request && request->nr_parts)
		offset = request->parts[0].offset;
	if (request)
		request_free(request);
	wire_free(&out);
	return offset;
}

static bool ends_at(int64_t end, int64_t high)
{
	struct state state = partition_state(OTHER);

	return state.end.offset == end && state.high.offset == high;
}

static void last_batch_is_compared_after_a_restart(void)
{
	size_t at;

	start();
	copy_batch(0, 3, 10, 3);
	copy_batch(3, 2, 10, 5);
	memset(compared, UNKNOWN, sizeof(compared));
	CHECK(next_offset() == 3);
	/* The leader has nothing yet. */
	respond("other", 0, 0, 3);
	CHECK(copied() && next_offset() == 3);
	/* The same batch, and one more. */
	respond("other", 0, 0, 6);
	at = response.size;
	put_batch(&response, 3, 2, 10);
	put_batch(&response, 5, 1, 20);
	wire_patch(&response, at - 4, response.size - at);
	CHECK(copied());
	CHECK(ends_at(6, 6) && next_offset() == 6);
}

static void log_that_differs_is_kept(void)
{
	start();
	copy_batch(0, 3, 10, 3);
	memset(compared, UNKNOWN, sizeof(compared));
	CHECK(copy_batch(0, 2, 10, 2));
	CHECK(ends_at(3, 3) && next_offset() == -1);
	/* It is not copied any more. */
	CHECK(!copy_batch(3, 2, 10, 5));
}

static void log_longer_than_the_leaders_is_kept(void)
{
	start();
	copy_batch(0, 3, 10, 3);
	memset(compared, UNKNOWN, sizeof(compared));
	respond("other", 0, OFFSET_OUT_OF_RANGE, -1);
	CHECK(copied());
	CHECK(ends_at(3, 3) && next_offset() == -1);
}

static void bad_responses_end_the_connection(void)
{
	start();
	respond("other", 0, NOT_LEADER, -1);
	CHECK(!copied());
	respond("other", 1, 0, 0);
	CHECK(!copied());
	respond("unknown", 0, 0, 0);
	CHECK(!copied());
	/* These records do not continue the log. */
	CHECK(!copy_batch(7, 1, 10, 8));
	respond("other", 0, 0, 0);
	for (size_t len = 0; len < response.size; len++)
		CHECK(!copy(response.data, len));
	CHECK(ends_at(0, 0));
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(last_batch_is_compared_after_a_restart),
		CASE(log_that_differs_is_kept),
		CASE(log_longer_than_the_leaders_is_kept),
		CASE(bad_responses_end_the_connection),
		{ }
	};
	int status = kit_run(cases);

	wire_free(&response);
	return status;
}
