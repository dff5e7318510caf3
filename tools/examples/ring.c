// SPDX-License-Identifier: GPL-2.0
/*
 * One ring of io_uring for sockets and operations.
 *
 * A server parks each request "wait SECONDS KEY" until another client sends "done KEY", or until
 * the timeout, and then answers it: as epoll.c, but the operation of a request completes like a
 * read of its socket, and no descriptor becomes readable.
 */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <twheel.h>
#include <twheel_uring.h>
#include <unistd.h>

#define CLIENTS		3

struct client {
	int socket;
	char text[64];
	struct twheel_watch_spec watch;
	struct twheel_add_args op;
	struct twheel_signal_args signal;
};

/* User data: the number of the client, and which of its requests has completed. */
enum kind { READ, OPERATION, SIGNAL, KINDS };

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-result));
	exit(result == -EOPNOTSUPP ? 0 : 1);	/* needs Linux 6.12 */
}

/* The client has sent a request: park it, or signal the key of another one. */
static void handle_request(struct io_uring *ring, int purgatory, struct client *client,
			   unsigned int nr)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	double seconds;
	char name[64];

	if (sscanf(client->text, "wait %lf %63s", &seconds, name) == 2) {
		twheel_key_text(name, &client->watch.key);
		client->op = (struct twheel_add_args) {
			.deadline = seconds * 1e9,
			.condition = TWHEEL_COND_ANY,
			.keys = (uintptr_t)&client->watch,
			.nr_keys = 1,
			.key_size = sizeof(client->watch),
		};
		twheel_uring_prep_add(sqe, purgatory, &client->op, NULL);
		io_uring_sqe_set_data64(sqe, nr * KINDS + OPERATION);
	} else {
		twheel_key_text(client->text + 5, &client->signal.key);
		twheel_uring_prep_signal(sqe, purgatory, &client->signal);
		io_uring_sqe_set_data64(sqe, nr * KINDS + SIGNAL);
	}
}

/* Runs until @requests requests have been answered. */
static void serve(struct io_uring *ring, int purgatory, struct client *clients, int requests)
{
	struct io_uring_cqe *cqe;
	struct client *client;
	const char *text;

	while (requests > 0) {
		check(io_uring_submit_and_wait(ring, 1), "submit");
		while (!io_uring_peek_cqe(ring, &cqe)) {
			client = &clients[cqe->user_data / KINDS];
			check(cqe->res, "a request");
			if (cqe->user_data % KINDS == READ) {
				handle_request(ring, purgatory, client, cqe->user_data / KINDS);
			} else if (cqe->user_data % KINDS == OPERATION) {
				text = cqe->res == TWHEEL_REASON_COMPLETED ? "done" : "timeout";
				if (write(client->socket, text, strlen(text)) > 0)
					requests--;
			}
			io_uring_cqe_seen(ring, cqe);
		}
	}
}

static int expect(int client, const char *expected)
{
	char text[64] = "";

	if (read(client, text, sizeof(text) - 1) < 0)
		perror("read");
	printf("answer: %s\n", text);
	return strcmp(text, expected) != 0;
}

int main(void)
{
	static const char *const requests[CLIENTS] = {
		"wait 60 order-1", "wait 0.05 order-2", "done order-1",
	};
	static struct client clients[CLIENTS];
	int purgatory = twheel_open(0), peer[CLIENTS], pair[2], i;
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	if (purgatory < 0) {
		perror(TWHEEL_DEVICE);
		return 1;
	}
	check(io_uring_queue_init(16, &ring, 0), "io_uring_queue_init");
	for (i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
		    write(pair[0], requests[i], strlen(requests[i])) < 0) {
			perror("socket");
			return 1;
		}
		peer[i] = pair[0];
		clients[i].socket = pair[1];
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_recv(sqe, pair[1], clients[i].text, sizeof(clients[i].text) - 1, 0);
		io_uring_sqe_set_data64(sqe, i * KINDS + READ);
	}

	serve(&ring, purgatory, clients, 2);
	io_uring_queue_exit(&ring);
	return expect(peer[0], "done") | expect(peer[1], "timeout");
}
