// SPDX-License-Identifier: GPL-2.0
/*
 * Replication: a client with the ID of a replica fetches the partitions that this broker follows,
 * and appends the batches to its own logs. Leaders never change, so there are no epochs.
 */
#include <err.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>

#include "request.h"

#define MAX_WAIT_MS	500
#define FETCH_VERSION	4

/* Longer than max.wait: the leader is gone, in seconds. */
#define ANSWER_S	10

static bool copies(int number, const struct node *leader)
{
	const struct topic *topic = config.partitions[number];

	return topic->replicas[0] == leader->id && !leads(topic) && is_replica(topic);
}

bool replicator_follows(const struct node *leader)
{
	for (int i = 0; i < config.nr_partitions; i++) {
		if (copies(i, leader))
			return true;
	}
	return false;
}

static void ask(const struct node *leader, struct wire *wire)
{
	struct request request = {
		.api = &api_fetch,
		.version = FETCH_VERSION,
		.client = text_of("replica"),
		.replica = config.self->id,
		.timeout_ms = MAX_WAIT_MS,
		.min_bytes = 1,
		.max_bytes = BATCH_MAX,
	};

	for (int i = 0; i < config.nr_partitions; i++) {
		const struct topic *topic = config.partitions[i];
		struct part *part;

		if (!copies(i, leader))
			continue;
		part = request_add(&request, text_of(topic->name), i - topic->first);
		part->offset = partition_state(i).end.offset;
		part->max_bytes = BATCH_MAX;
	}
	request_write(&request, wire);
	free(request.parts);
}

static bool copy_partition(const struct part *part)
{
	if (part->number < 0 || !is_replica(config.partitions[part->number]) || part->error)
		return false;
	return partition_copy(part->number, (const uint8_t *)part->records.data,
			      MAX(part->records.len, 0), part->high);
}

/* Copy the records in a response, without its size. */
static bool copy(const uint8_t *message, size_t len)
{
	struct wire wire = { .data = (uint8_t *)message, .size = len };
	struct request response = { .api = &api_fetch, .version = FETCH_VERSION };
	bool ok = true;

	wire_int(&wire, response.correlation);
	request_fields(&response, NULL, &wire, api_fetch.response);
	for_each_part(part, &response)
		ok &= !wire.failed && copy_partition(part);
	free(response.parts);
	return ok && !wire.failed;
}

/* One fetch. The buffers are empty before and after it. */
static bool fetch(int fd, const struct node *leader, struct wire *in, struct wire *out)
{
	ssize_t len;
	bool ok;

	ask(leader, out);
	if (out->failed || !wire_send(out, fd) || out->size)
		return false;
	len = wire_receive(in, fd);
	ok = len > 0 && copy(in->data + PREFIX_SIZE, len - PREFIX_SIZE);
	wire_consume(in, in->size);
	return ok;
}

int replicator_main(const struct node *leader)
{
	static struct wire in, out = { .writes = true };
	struct timeval limit = { .tv_sec = ANSWER_S };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (const struct sockaddr *)&leader->address, sizeof(leader->address)) ||
	    !fetch(fd, leader, &in, &out))
		return 1;
	warnx("copies from broker %d", leader->id);
	while (fetch(fd, leader, &in, &out))
		;
	return 0;
}
