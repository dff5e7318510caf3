// SPDX-License-Identifier: GPL-2.0
/*
 * One ring of io_uring for sockets and operations.
 *
 * A server parks each request "wait SECONDS KEY" until another client sends "done KEY", or until
 * the timeout, and then answers it: as epoll.c, but without a call for each read. A single read of
 * the purgatory delivers the events of all operations, which name their requests by cookies.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <twheel.h>
#include <twheel_uring.h>
#include <unistd.h>

#define CLIENTS		3
#define BUFFERS		8	/* for events, of EVENTS each */
#define EVENTS		16
#define GROUP		1

struct client {
	int socket;
	char text[64];
	struct twheel_watch_spec watch;
	struct twheel_add_args op;
	struct twheel_signal_args signal;
};

/* User data: the number of a client that has sent a request, or one of these. */
enum { COMMAND = CLIENTS, PURGATORY };

static struct io_uring_buf_ring *buffers;
static struct twheel_event events[BUFFERS][EVENTS];

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-result));
	exit(result == -EOPNOTSUPP || result == -EINVAL ? 0 : 1);	/* needs Linux 6.12 */
}

static struct io_uring_sqe *next_entry(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		check(-ENOSPC, "io_uring_get_sqe");
	return sqe;
}

static void provide_buffer(int nr)
{
	io_uring_buf_ring_add(buffers, events[nr], sizeof(events[nr]), nr,
			      io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(buffers, 1);
}

static void read_events(struct io_uring *ring, int purgatory)
{
	struct io_uring_sqe *sqe = next_entry(ring);

	twheel_uring_prep_read(sqe, purgatory, GROUP);
	io_uring_sqe_set_data64(sqe, PURGATORY);
}

/* A client has sent a request: park it, or signal the key of another one. */
static void handle_request(struct io_uring *ring, int purgatory, struct client *client, int nr)
{
	struct io_uring_sqe *sqe = next_entry(ring);
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
			.cookie = nr,
		};
		twheel_uring_prep_add(sqe, purgatory, &client->op);
	} else {
		twheel_key_text(client->text + 5, &client->signal.key);
		twheel_uring_prep_signal(sqe, purgatory, &client->signal);
	}
	io_uring_sqe_set_data64(sqe, COMMAND);
}

/* Answer the requests of ended operations. Returns their number. */
static int answer(struct client *clients, const struct twheel_event *event, int nr)
{
	int i;

	for (i = 0; i < nr; i++, event++) {
		const char *text = event->reason == TWHEEL_REASON_COMPLETED ? "done" : "timeout";

		if (write(clients[event->cookie].socket, text, strlen(text)) < 0)
			perror("write");
	}
	return nr;
}

/* Runs until @requests requests have been answered. */
static void serve(struct io_uring *ring, int purgatory, struct client *clients, int requests)
{
	struct io_uring_cqe *cqe;
	int buffer;

	read_events(ring, purgatory);
	while (requests > 0) {
		check(io_uring_submit_and_wait(ring, 1), "submit");
		while (!io_uring_peek_cqe(ring, &cqe)) {
			check(cqe->res, "a request");
			if (cqe->user_data == PURGATORY) {
				buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
				requests -= answer(clients, events[buffer],
						   cqe->res / sizeof(struct twheel_event));
				provide_buffer(buffer);
				if (!(cqe->flags & IORING_CQE_F_MORE))
					read_events(ring, purgatory);
			} else if (cqe->user_data < CLIENTS) {
				handle_request(ring, purgatory, &clients[cqe->user_data],
					       cqe->user_data);
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
	int purgatory = twheel_open(O_NONBLOCK), peer[CLIENTS], pair[2], i;
	struct io_uring_buf_reg group = { .ring_entries = BUFFERS, .bgid = GROUP };
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	if (purgatory < 0) {
		perror(TWHEEL_DEVICE);
		return 1;
	}
	check(io_uring_queue_init(16, &ring, 0), "io_uring_queue_init");
	buffers = aligned_alloc(getpagesize(), getpagesize());
	group.ring_addr = (uintptr_t)buffers;
	check(io_uring_register_buf_ring(&ring, &group, 0), "io_uring_register_buf_ring");
	io_uring_buf_ring_init(buffers);
	for (i = 0; i < BUFFERS; i++)
		provide_buffer(i);
	for (i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
		    write(pair[0], requests[i], strlen(requests[i])) < 0) {
			perror("socket");
			return 1;
		}
		peer[i] = pair[0];
		clients[i].socket = pair[1];
		sqe = next_entry(&ring);
		io_uring_prep_recv(sqe, pair[1], clients[i].text, sizeof(clients[i].text) - 1, 0);
		io_uring_sqe_set_data64(sqe, i);
	}

	serve(&ring, purgatory, clients, 2);
	io_uring_queue_exit(&ring);
	return expect(peer[0], "done") | expect(peer[1], "timeout");
}
