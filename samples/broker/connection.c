// SPDX-License-Identifier: GPL-2.0
/*
 * Connections. See connection.h.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "worker.h"

/* Limit on the buffers of all connections of a worker. */
#define MAX_BUFFERED	(256UL << 20)

/* The kernel ends connections whose clients do not read for this time. */
#define SEND_TIMEOUT_MS	10000

/* The first one has progressed least recently. */
static TAILQ_HEAD(, connection) sending = TAILQ_HEAD_INITIALIZER(sending);

struct connection *connection_new(int fd)
{
	const unsigned int on = 1, timeout = SEND_TIMEOUT_MS;
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		close(fd);
		return NULL;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
	connection->fd = fd;
	connection->out.writes = true;
	return connection;
}

static void set_sending(struct connection *connection, bool is_sending)
{
	if (connection->is_sending)
		TAILQ_REMOVE(&sending, connection, sending);
	if (is_sending)
		TAILQ_INSERT_TAIL(&sending, connection, sending);
	connection->is_sending = is_sending;
}

bool connection_send(struct connection *connection)
{
	size_t sent = connection->out.at;
	bool ok = wire_send(&connection->out, connection->fd);

	if (!connection->out.size)
		set_sending(connection, false);
	else if (!connection->is_sending || connection->out.at > sent)
		set_sending(connection, true);
	return ok;
}

/*
 * Evict clients that do not read if all buffers together are too large: the event of the
 * shutdown closes the connection. Return: false if the buffers still are too large.
 */
static bool within_limit(const struct connection *connection)
{
	while (wire_total > MAX_BUFFERED) {
		struct connection *slow = TAILQ_FIRST(&sending);

		if (!slow || slow == connection)
			return false;
		set_sending(slow, false);
		wire_free(&slow->out);
		shutdown(slow->fd, SHUT_RDWR);
	}
	return true;
}

static bool answer(struct connection *connection, struct request *request)
{
	bool ok = request_answer(request, &connection->out);

	wire_consume(&connection->in, connection->message);
	return ok && within_limit(connection) && connection_send(connection);
}

/* Execute the request in the first message. */
static bool execute(struct connection *connection)
{
	struct request *request = request_begin(connection->in.data + PREFIX_SIZE,
						connection->message - PREFIX_SIZE);
	uint64_t missing;

	if (!request)
		return false;
	missing = request_missing(request);
	if (!missing)
		return answer(connection, request);
	connection->waiting = request;
	request->connection = connection;
	worker_wait(request, missing);
	return true;
}

bool connection_run(struct connection *connection)
{
	ssize_t len;

	if (connection->out.size)
		return connection_send(connection);
	len = wire_receive(&connection->in, connection->fd);
	if (len <= 0)
		return !len && within_limit(connection);
	connection->message = len;
	return execute(connection);
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
	connection->closed = true;
	set_sending(connection, false);
}

void connection_free(struct connection *connection)
{
	if (connection->waiting)
		request_free(connection->waiting);
	wire_free(&connection->in);
	wire_free(&connection->out);
	free(connection);
}
