/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections of clients and followers.
 *
 * The requests of a connection are executed one after another, as Kafka does: while one waits
 * or its response is not sent, nothing is read.  So a connection holds one request and one
 * response at most.
 *
 * The kernel ends a connection whose client does not read for some seconds.  If the buffers of
 * all connections are too large before, those with unsent responses make room.
 */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <sys/queue.h>

#include "request.h"

struct connection {
	TAILQ_ENTRY(connection) sending;	/* has an unsent response */
	LIST_ENTRY(connection) all;
	bool is_sending;
	bool closed;		/* freed when the event of its request arrives */
	int fd;
	uint32_t events;	/* that epoll reports */
	struct wire in;
	struct wire out;
	size_t message;		/* size of the first message, while its request is executed */
	struct request *waiting;
};

/* Take over a non-blocking socket. Return: NULL without memory; the socket is closed. */
struct connection *connection_new(int fd);
/* Send the response, or execute a request. Return: false if the connection must be closed. */
bool connection_run(struct connection *connection);
/* Answer a request whose wait has ended. Return: as connection_run(). */
bool connection_answer(struct connection *connection);
/* Send the response. Return: as connection_run(). */
bool connection_send(struct connection *connection);
/* Close the socket; a waiting request remains. */
void connection_close(struct connection *connection);
void connection_free(struct connection *connection);

#endif /* BROKER_CONNECTION_H */
