// SPDX-License-Identifier: GPL-2.0
/*
 * Replication: a process for each leader fetches the partitions that this broker follows, and
 * appends the batches to its own logs.  It is a client with the ID of a replica; the leader makes
 * it wait.  Only its pause between two connections waits here.
 *
 * Leaders never change, so there are no epochs: a log that is longer than the leader's, which has
 * lost records, is copied again.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "partition.h"
#include "replicator.h"
#include "request.h"

#define PAUSE_NS	100000000ULL
#define MAX_WAIT_MS	500
#define FETCH_VERSION	4

/* Longer than max.wait: the leader is gone, in seconds. */
#define ANSWER_S	10

static int waits;
static bool paused;

static void pause_ended(struct wait *wait, enum wait_end end)
{
	(void)wait;
	(void)end;
	paused = false;
}

/* Return: false if nothing can wait any more. */
static bool pause_before_retry(void)
{
	struct pollfd poll_waits = { .fd = waits, .events = POLLIN };
	struct wait wait = { .fn = pause_ended };

	paused = true;
	waiting->add(&wait, NULL, 0, 0, now_ns() + PAUSE_NS);
	waiting->submit();
	while (paused) {
		if (!waiting->ready())
			poll(&poll_waits, 1, -1);
		if (!waiting->events())
			return false;
	}
	return true;
}

static int connect_to(const struct node *leader)
{
	struct timeval limit = { .tv_sec = ANSWER_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
		       !connect(fd, (const struct sockaddr *)&leader->address,
				sizeof(leader->address))))
		return fd;
	close(fd);
	return -1;
}

static bool follows(const struct topic *topic, const struct node *leader)
{
	return topic->leader == leader->id && topic_replica(topic, config.self->id) >= 0;
}

static void put_topic(struct writer *writer, const struct topic *topic)
{
	put_cstring(writer, topic->name);
	put_i32(writer, topic->nr_partitions);
	for (int i = 0; i < topic->nr_partitions; i++) {
		put_i32(writer, i);
		put_i64(writer, partition_state(topic->first + i).end.offset);
		put_i32(writer, BATCH_MAX);
	}
}

static void put_fetch(struct writer *writer, const struct node *leader)
{
	int nr = 0;

	for (int i = 0; i < config.nr_topics; i++)
		nr += follows(&config.topics[i], leader);
	put_i32(writer, 0);
	put_i16(writer, api_fetch.key);
	put_i16(writer, FETCH_VERSION);
	put_i32(writer, 0);
	put_cstring(writer, "replica");
	put_i32(writer, config.self->id);
	put_i32(writer, MAX_WAIT_MS);
	put_i32(writer, 1);
	put_i32(writer, BATCH_MAX);
	put_i8(writer, 0);
	put_i32(writer, nr);
	for (int i = 0; i < config.nr_topics; i++) {
		if (follows(&config.topics[i], leader))
			put_topic(writer, &config.topics[i]);
	}
	patch_i32(writer, 0, writer->size - 4);
}

/* Append the records of a partition, or start again if the leader's log is another one. */
static bool copy_partition(const struct topic *topic, struct reader *reader)
{
	int32_t index = get_i32(reader);
	int16_t error = get_i16(reader);
	int64_t high = get_i64(reader);
	struct text records;
	int aborted;

	get_i64(reader);
	aborted = get_count(reader);
	if (aborted > 0)
		get_raw(reader, 16 * (size_t)aborted);
	records = get_bytes(reader);
	if (reader->bad || index < 0 || index >= topic->nr_partitions)
		return false;
	if (error == OFFSET_OUT_OF_RANGE) {
		fprintf(stderr, "broker %d: %s-%d is copied from the start\n", config.self->id,
			topic->name, index);
		partition_clear(topic->first + index);
		return true;
	}
	return !error && partition_copy(topic->first + index, (const uint8_t *)records.data,
					records.len > 0 ? records.len : 0, high);
}

static bool copy_all(struct reader *reader, const struct node *leader)
{
	int topics;

	get_raw(reader, 8);
	topics = get_count(reader);
	for (int i = 0; i < topics && !reader->bad; i++) {
		const struct topic *topic = config_topic(get_string(reader));
		int nr = get_count(reader);

		if (!topic || !follows(topic, leader))
			return false;
		while (nr-- > 0) {
			if (!copy_partition(topic, reader))
				return false;
		}
	}
	return !reader->bad;
}

static bool receive_all(int fd, uint8_t *data, size_t len)
{
	size_t got = 0;

	/* With a time limit, recv() fails with EINTR after SIGSTOP and SIGCONT. */
	while (got < len) {
		ssize_t n = recv(fd, data + got, len - got, MSG_WAITALL);

		if (!n || (n < 0 && errno != EINTR))
			return false;
		got += n > 0 ? n : 0;
	}
	return true;
}

static bool send_all(int fd, const struct writer *writer)
{
	size_t sent = 0;

	while (!writer->failed && sent < writer->size) {
		ssize_t n = send(fd, writer->data + sent, writer->size - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		sent += n > 0 ? n : 0;
	}
	return !writer->failed;
}

/* One fetch. @data has room for the largest response. */
static bool fetch(int fd, const struct node *leader, struct writer *writer, uint8_t *data)
{
	struct reader reader = { .at = data, .end = data + 4 };
	int32_t size;

	writer->size = 0;
	put_fetch(writer, leader);
	if (!send_all(fd, writer) || !receive_all(fd, data, 4))
		return false;
	size = get_i32(&reader);
	if (size < 0 || size > FRAME_MAX || !receive_all(fd, data, size))
		return false;
	reader = (struct reader){ .at = data, .end = data + size };
	return copy_all(&reader, leader);
}

int replicator_main(const struct node *leader, const char *purgatory)
{
	uint8_t *data = malloc(FRAME_MAX);
	struct writer writer = { };

	waits = waiting->open(purgatory);
	if (waits < 0 || !data)
		return 1;
	do {
		int fd = connect_to(leader);

		if (fd >= 0) {
			fprintf(stderr, "broker %d: copies from broker %d\n", config.self->id,
				leader->id);
			while (fetch(fd, leader, &writer, data))
				;
			close(fd);
		}
	} while (pause_before_retry());
	return 1;
}
