// SPDX-License-Identifier: GPL-2.0
/*
 * Connections. See connection.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "worker.h"

#define PREFIX_SIZE	4	/* size of a frame */
#define FRAME_MIN	8	/* the fixed part of a header */
#define FIRST_CAPACITY	1024

/* Number of requests after which other connections have their turn. */
#define MAX_REQUESTS	16

/* Limit on the buffers of all connections of a worker. */
#define MAX_BUFFERED	(256UL << 20)

/* Larger buffers are freed after use. */
#define KEEP_CAPACITY	(64 << 10)

struct connection *connection_new(int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		close(fd);
		return NULL;
	}
	connection->fd = fd;
	return connection;
}

/* Size of all buffers. */
static size_t buffered;

/* Connections with a response that is not sent yet; the first one has progressed least recently. */
static TAILQ_HEAD(, connection) sending = TAILQ_HEAD_INITIALIZER(sending);

static void count_buffers(struct connection *connection)
{
	size_t size = connection->in_capacity + connection->out.capacity;

	if (connection->closed)
		size = 0;
	buffered += size - connection->counted;
	connection->counted = size;
}

static void set_sending(struct connection *connection, bool is_sending)
{
	if (connection->is_sending)
		TAILQ_REMOVE(&sending, connection, sending);
	if (is_sending)
		TAILQ_INSERT_TAIL(&sending, connection, sending);
	connection->is_sending = is_sending;
}

/* Drop a response. The connection is closed by the event of this shutdown. */
static void evict(struct connection *connection)
{
	set_sending(connection, false);
	writer_free(&connection->out);
	connection->sent = 0;
	count_buffers(connection);
	shutdown(connection->fd, SHUT_RDWR);
}

/*
 * Evict clients that do not read if all buffers together are too large.
 * Return: false if they still are.
 */
static bool within_limit(struct connection *connection)
{
	count_buffers(connection);
	while (buffered > MAX_BUFFERED) {
		struct connection *slow = TAILQ_FIRST(&sending);

		if (!slow || slow == connection)
			return false;
		evict(slow);
	}
	return true;
}

bool connection_send(struct connection *connection)
{
	struct writer *out = &connection->out;

	if (!out->size)
		return true;
	if (!connection->is_sending)
		set_sending(connection, true);
	while (connection->sent < out->size) {
		ssize_t n = send(connection->fd, out->data + connection->sent,
				 out->size - connection->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		connection->sent += n;
		set_sending(connection, true);
	}
	set_sending(connection, false);
	out->size = 0;
	connection->sent = 0;
	if (out->capacity > KEEP_CAPACITY)
		writer_free(out);
	count_buffers(connection);
	return true;
}

/* Size of the first frame, without its prefix; -1 if the prefix is incomplete. */
static int64_t frame_size(const struct connection *connection)
{
	struct reader reader = { connection->in, connection->in + connection->in_size, false };

	return connection->in_size < PREFIX_SIZE ? -1 : get_i32(&reader);
}

static bool has_frame(const struct connection *connection)
{
	int64_t size = frame_size(connection);

	return size >= 0 && connection->in_size >= PREFIX_SIZE + (size_t)size;
}

static bool grow(struct connection *connection)
{
	size_t capacity = connection->in_capacity ? 2 * connection->in_capacity : FIRST_CAPACITY;
	uint8_t *in;

	if (connection->in_size < connection->in_capacity)
		return true;
	if (capacity > PREFIX_SIZE + FRAME_MAX)
		capacity = PREFIX_SIZE + FRAME_MAX;
	in = realloc(connection->in, capacity);
	if (!in)
		return false;
	connection->in = in;
	connection->in_capacity = capacity;
	return within_limit(connection);
}

static bool valid_size(const struct connection *connection)
{
	int64_t size = frame_size(connection);

	return connection->in_size < PREFIX_SIZE || (size >= FRAME_MIN && size <= FRAME_MAX);
}

/* Receive until there is a frame. Return: false at the end of the connection. */
static bool receive(struct connection *connection)
{
	ssize_t n;

	while (valid_size(connection)) {
		if (has_frame(connection))
			return true;
		if (!grow(connection))
			return false;
		n = recv(connection->fd, connection->in + connection->in_size,
			 connection->in_capacity - connection->in_size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (!n)
			return false;
		connection->in_size += n;
	}
	return false;
}

static void consume_frame(struct connection *connection)
{
	connection->in_size -= connection->frame;
	memmove(connection->in, connection->in + connection->frame, connection->in_size);
	connection->frame = 0;
	if (!connection->in_size && connection->in_capacity > KEEP_CAPACITY) {
		free(connection->in);
		connection->in = NULL;
		connection->in_capacity = 0;
	}
}

static bool answer(struct connection *connection, struct request *request)
{
	bool ok = request_answer(request, &connection->out);

	consume_frame(connection);
	return within_limit(connection) && ok && connection_send(connection);
}

/* Execute the request in the first frame. */
static bool execute(struct connection *connection)
{
	struct request *request;
	uint64_t missing;

	connection->frame = PREFIX_SIZE + frame_size(connection);
	request = request_begin(connection->in + PREFIX_SIZE, connection->frame - PREFIX_SIZE);
	if (!request)
		return false;
	missing = request_missing(request);
	if (!missing)
		return answer(connection, request);
	connection->waiting = request;
	request->connection = connection;
	worker_wait(request, missing);
	return !connection->hung_up;
}

bool connection_run(struct connection *connection)
{
	for (int i = 0; i < MAX_REQUESTS; i++) {
		if (!connection_send(connection))
			return false;
		if (connection->waiting || connection->out.size)
			return true;
		if (!receive(connection))
			return false;
		if (!has_frame(connection))
			return true;
		if (!execute(connection))
			return false;
	}
	worker_run_later(connection);
	return true;
}

bool connection_answer(struct connection *connection)
{
	struct request *request = connection->waiting;

	connection->waiting = NULL;
	return answer(connection, request);
}

void connection_close(struct connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
	connection->closed = true;
	set_sending(connection, false);
	count_buffers(connection);
}

void connection_free(struct connection *connection)
{
	if (connection->waiting)
		request_free(connection->waiting);
	free(connection->in);
	writer_free(&connection->out);
	free(connection);
}
