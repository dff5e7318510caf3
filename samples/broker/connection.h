/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connections of clients and followers.
 *
 * The requests of a connection are executed one after another, as Kafka does: while one waits
 * or its response is not sent, nothing is read.  So a connection holds one request and one
 * response at most.  A buffer grows with the bytes that have arrived, not with the announced
 * size of a frame.
 */
#ifndef BROKER_CONNECTION_H
#define BROKER_CONNECTION_H

#include <sys/queue.h>

#include "request.h"

struct connection {
	TAILQ_ENTRY(connection) runnable;	/* has more requests in its buffer */
	LIST_ENTRY(connection) all;
	TAILQ_ENTRY(connection) sending;
	bool is_runnable;
	bool is_sending;	/* a part of the response is not sent yet */
	int fd;
	uint8_t *in;
	size_t in_size;
	size_t in_capacity;
	size_t frame;		/* size of the first frame, while its request is executed */
	struct writer out;
	size_t sent;
	size_t counted;		/* size of both buffers */
	struct request *waiting;
	bool hung_up;		/* the client has closed its side */
	bool closed;		/* freed when the event of its request arrives */
};

/* Take over a non-blocking socket. Return: NULL without memory; the socket is closed. */
struct connection *connection_new(int fd);
/*
 * Execute requests until the next one is incomplete or waits.
 * Return: false if the connection must be closed.
 */
bool connection_run(struct connection *connection);
/* Answer a request whose wait has ended. Return: as connection_run(). */
bool connection_answer(struct connection *connection);
/* Send the response. Return: as connection_run(). */
bool connection_send(struct connection *connection);
/* Close the socket; a waiting request remains. */
void connection_close(struct connection *connection);
void connection_free(struct connection *connection);

#endif /* BROKER_CONNECTION_H */
