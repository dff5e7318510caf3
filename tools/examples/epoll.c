// SPDX-License-Identifier: GPL-2.0
/*
 * An epoll loop with sockets and a purgatory: one descriptor for any number of timeouts.
 *
 * A server parks each request "wait SECONDS KEY" until another client sends "done KEY", or until
 * the timeout, and then answers it. The cookie of the operation is the socket of the client.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <twheel.h>
#include <unistd.h>

#define CLIENTS		3

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch_fd(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void park(int purgatory, int client, double seconds, const char *text)
{
	struct twheel_watch_spec watch = { .need = 1 };
	struct twheel_add_args op = {
		.deadline = seconds * 1e9,
		.condition = TWHEEL_COND_ANY,
		.keys = (uintptr_t)&watch,
		.nr_keys = 1,
		.cookie = client,
	};

	if (twheel_key_text(text, &watch.key) || twheel_add(purgatory, &op))
		die("add");
}

static void handle_request(int purgatory, int client)
{
	struct twheel_key key;
	char text[64], name[64];
	double seconds;
	ssize_t len = read(client, text, sizeof(text) - 1);

	if (len <= 0)
		die("client");
	text[len] = '\0';
	if (sscanf(text, "wait %lf %63s", &seconds, name) == 2)
		park(purgatory, client, seconds, name);
	else if (twheel_key_text(text + 5, &key) || twheel_signal(purgatory, key, 0, NULL))
		die("signal");
}

/* Answers the requests of the queued events. Return: their number. */
static int answer(int purgatory)
{
	struct twheel_event events[16];
	ssize_t i, nr = twheel_read_events(purgatory, events, 16);

	if (nr < 0)
		die("read");
	for (i = 0; i < nr; i++) {
		const char *text = events[i].reason == TWHEEL_REASON_COMPLETED ? "done" : "timeout";

		if (write(events[i].cookie, text, strlen(text)) < 0)
			die("write");
	}
	return nr;
}

/* Runs until @requests requests have been answered. */
static void serve(int purgatory, const int *clients, int requests)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), i, nr;
	struct epoll_event ready[4];

	if (epoll < 0)
		die("epoll_create1");
	watch_fd(epoll, purgatory);
	for (i = 0; i < CLIENTS; i++)
		watch_fd(epoll, clients[i]);

	while (requests > 0) {
		nr = epoll_wait(epoll, ready, 4, -1);
		if (nr < 0)
			die("epoll_wait");
		for (i = 0; i < nr; i++) {
			if (ready[i].data.fd == purgatory)
				requests -= answer(purgatory);
			else
				handle_request(purgatory, ready[i].data.fd);
		}
	}
	close(epoll);
}

static int expect(int client, const char *expected)
{
	char text[64] = "";

	if (read(client, text, sizeof(text) - 1) < 0)
		die("read");
	printf("answer: %s\n", text);
	return strcmp(text, expected) != 0;
}

int main(void)
{
	static const char *const requests[CLIENTS] = {
		"wait 60 order-1", "wait 0.05 order-2", "done order-1",
	};
	int server[CLIENTS], client[CLIENTS], pair[2], i;
	int purgatory = twheel_open(O_NONBLOCK);

	if (purgatory < 0)
		die(TWHEEL_DEVICE);
	for (i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
			die("socketpair");
		client[i] = pair[0];
		server[i] = pair[1];
		if (write(client[i], requests[i], strlen(requests[i])) < 0)
			die("write");
	}

	serve(purgatory, server, 2);
	return expect(client[0], "done") | expect(client[1], "timeout");
}
