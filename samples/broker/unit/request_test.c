// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: their frames, the amounts that they wait for, and their responses.
 */
#include "requests.h"

#define ACKS_ALL	(-1)

/* An array of one topic with one partition; its fields follow. */
static void put_partition(const char *topic, int index)
{
	put_i32(&frame, 1);
	put_text(&frame, topic);
	put_i32(&frame, 1);
	put_i32(&frame, index);
}

/* A produce of one batch in version 3. Return: size of the batch. */
static size_t produce_frame(const char *topic, int acks, int timeout, int records)
{
	size_t at, size;

	start_frame(0, 3);
	put_text(&frame, NULL);
	put_i16(&frame, acks);
	put_i32(&frame, timeout);
	put_partition(topic, 0);
	at = frame.size;
	put_i32(&frame, 0);
	size = put_batch(&frame, 0, records, 20);
	wire_patch(&frame, at, size);
	return size;
}

/* Return: the error in the answer to a produce. */
static int produced(struct request *request)
{
	int error;

	CHECK(reply(request));
	CHECK(get_i32(&body) == 1);
	get_text(&body);
	CHECK(get_i32(&body) == 1 && get_i32(&body) == 0);
	error = get_i16(&body);
	wire_raw(&body, 20);
	CHECK(is_at_end(&body));
	return error;
}

static int produce(const char *topic, int acks, int records)
{
	produce_frame(topic, acks, 1000, records);
	return produced(begin());
}

static void fetch_header(int replica, int wait, int min, int max, int topics)
{
	start_frame(1, 4);
	put_i32(&frame, replica);
	put_i32(&frame, wait);
	put_i32(&frame, min);
	put_i32(&frame, max);
	put_i8(&frame, 0);
	put_i32(&frame, topics);
}

static void fetch_topic(const char *topic, int index, int64_t offset)
{
	put_text(&frame, topic);
	put_i32(&frame, 1);
	put_i32(&frame, index);
	put_i64(&frame, offset);
	put_i32(&frame, BATCH_MAX);
}

static struct request *fetch(int replica, const char *topic, int64_t offset)
{
	fetch_header(replica, 1000, 1, BATCH_MAX, 1);
	fetch_topic(topic, 0, offset);
	return begin();
}

/* Read the next topic of an answer. Return: the error; sets the number of bytes. */
static int fetched_topic(int *bytes)
{
	int error;

	get_text(&body);
	CHECK(get_i32(&body) == 1);
	get_i32(&body);
	error = get_i16(&body);
	wire_raw(&body, 20);
	*bytes = get_bytes(&body).len;
	return error;
}

static int fetched(struct request *request, int *bytes)
{
	int error;

	CHECK(reply(request));
	CHECK(get_i32(&body) == 0 && get_i32(&body) == 1);
	error = fetched_topic(bytes);
	CHECK(is_at_end(&body));
	return error;
}

/* A follower fetches from an offset, and is answered. */
static void follow(int64_t offset)
{
	struct request *request = fetch(2, "both", offset);

	reply(request);
}

static void produce_without_timeout_does_not_wait(void)
{
	struct request *request;

	kit_start();
	follow(0);
	produce_frame("both", ACKS_ALL, 0, 3);
	request = begin();
	CHECK(!request_missing(request));
	CHECK(produced(request) == REQUEST_TIMED_OUT);
}

static void produce_below_min_insync_appends_nothing(void)
{
	kit_start();
	CHECK(produce("both", ACKS_ALL, 1) == NOT_ENOUGH_REPLICAS);
	CHECK(partition_state(2).end.offset == 0);
	CHECK(produce("both", 1, 1) == 0);
	CHECK(partition_state(2).end.offset == 1);
}

static void produce_with_acks_of_one_does_not_wait(void)
{
	kit_start();
	follow(0);
	CHECK(produce("both", 1, 3) == 0);
	CHECK(partition_state(2).high.offset == 0);
}

static void produce_with_acks_of_zero_has_no_response(void)
{
	kit_start();
	produce_frame("alone", 0, 1000, 3);
	CHECK(reply(begin()) && !response.size);
	CHECK(partition_state(0).end.offset == 3);
	produce_frame("unknown", 0, 1000, 3);
	CHECK(!reply(begin()));
}

static void fetch_starts_with_the_batch_of_its_offset(void)
{
	int bytes, size;

	kit_start();
	size = produce_frame("alone", 1, 1000, 10);
	produced(begin());
	produce("alone", 1, 10);
	CHECK(fetched(fetch(-1, "alone", 9), &bytes) == 0 && bytes == 2 * size);
	CHECK(fetched(fetch(-1, "alone", 10), &bytes) == 0 && bytes == size);
	CHECK(fetched(fetch(-1, "alone", 20), &bytes) == 0 && bytes == 0);
}

static void fetch_with_an_error_does_not_wait(void)
{
	struct request *request;
	int bytes;

	kit_start();
	request = fetch(-1, "alone", 1);
	CHECK(!request_missing(request));
	CHECK(fetched(request, &bytes) == OFFSET_OUT_OF_RANGE && bytes == 0);
	CHECK(fetched(fetch(-1, "alone", -1), &bytes) == OFFSET_OUT_OF_RANGE);
	CHECK(fetched(fetch(-1, "unknown", 0), &bytes) == UNKNOWN_TOPIC_OR_PARTITION);
	CHECK(fetched(fetch(-1, "other", 0), &bytes) == NOT_LEADER);
	CHECK(fetched(fetch(3, "both", 0), &bytes) == REPLICA_NOT_AVAILABLE);
}

static int nr_ended;

static void ended(struct wait *wait, enum wait_end end)
{
	nr_ended++;
}

static void repeated_partition_waits_once(void)
{
	struct request *request;

	kit_start();
	fetch_header(-1, 60000, 1, BATCH_MAX, 2);
	fetch_topic("alone", 0, 0);
	fetch_topic("alone", 0, 0);
	request = begin();
	request->wait.fn = ended;
	request_wait(request, request_missing(request));
	wait_signal(WAIT_READ, 0, 1);
	wait_signal(WAIT_READ, 0, 1);
	waiting_events();
	CHECK(nr_ended == 1);
	request_free(request);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(produce_without_timeout_does_not_wait),
		CASE(produce_below_min_insync_appends_nothing),
		CASE(produce_with_acks_of_one_does_not_wait),
		CASE(produce_with_acks_of_zero_has_no_response),
		CASE(fetch_starts_with_the_batch_of_its_offset),
		CASE(fetch_with_an_error_does_not_wait),
		CASE(repeated_partition_waits_once),
		{ }
	};

	return run(cases);
}
