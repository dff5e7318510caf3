// SPDX-License-Identifier: GPL-2.0
/*
 * A TCP proxy that closes a connection which has had no traffic for a minute.
 *
 *   proxy PORT UPSTREAM_PORT    both on this machine
 *   proxy                       shows it on sockets of its own, with a shorter time
 *
 * Traffic is a store to memory, and the clock is read once for all sockets that are ready. To be
 * brief, it waits for a peer that reads slowly.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <twheel_cells.h>
#include <unistd.h>

#define MS		1000000ULL
#define CONNECTIONS	10000
/* Numbers of the other descriptors, after those of the two sockets of each connection. */
#define LISTENER	(2 * CONNECTIONS)
#define PURGATORY	(2 * CONNECTIONS + 1)

/* The number of a connection is that of its cell. */
static struct connection {
	int socket[2];
	uint64_t idle;		/* the handle of its timeout; 0 if it is closed */
} connections[CONNECTIONS];

static struct twheel_cell_map map;
static struct twheel_cell_pool pool;
static uint64_t idle_ns = 60000 * MS;
static int epoll, open_connections;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void watch_fd(int fd, uint64_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = number };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void begin(int client, int server)
{
	int number = twheel_cell_acquire(&pool, 0);
	struct connection *connection = &connections[number];
	uint64_t idle = 0;

	if (number >= CONNECTIONS)
		twheel_cell_release(&pool, number);
	else if (number >= 0)
		idle = twheel_cell_arm(&pool, number, now() + idle_ns);
	if (!idle) {
		perror("a connection is refused");
		close(client);
		close(server);
		return;
	}
	*connection = (struct connection){ .socket = { client, server }, .idle = idle };
	watch_fd(client, 2 * number);
	watch_fd(server, 2 * number + 1);
	open_connections++;
}

/* The timeout may have expired meanwhile: the library then drops its event. */
static void end(struct connection *connection)
{
	twheel_cell_release(&pool, connection - connections);
	close(connection->socket[0]);
	close(connection->socket[1]);
	connection->idle = 0;
	open_connections--;
}

static void relay(struct connection *connection, int from, uint64_t time)
{
	char data[65536];
	ssize_t size;

	/* It was closed after epoll_wait(), and its number may be that of a new connection. */
	if (!connection->idle)
		return;
	size = recv(connection->socket[from], data, sizeof(data), MSG_DONTWAIT);
	if (size < 0 && errno == EAGAIN)
		return;
	if (size <= 0 || write(connection->socket[!from], data, size) != size)
		end(connection);
	else
		twheel_cell_touch(&pool, connection->idle, time + idle_ns);
}

static void end_idle(int purgatory)
{
	struct twheel_event events[64];
	ssize_t i, nr = twheel_read_events(purgatory, events, 64);
	uint64_t cookie, handle;

	for (i = 0; i < nr; i++) {
		handle = twheel_cell_event(&map, &events[i], &cookie);
		if (handle)
			end(&connections[(uint32_t)handle - 1]);
	}
}

static void accept_one(int listener, uint16_t upstream)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(upstream),
	};
	int client = accept(listener, NULL, NULL);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	if (client >= 0 && !connect(server, (struct sockaddr *)&address, sizeof(address))) {
		begin(client, server);
		return;
	}
	perror("a connection fails");
	close(client);
	close(server);
}

/* Runs until all connections have ended, or for ever with a listener. */
static void serve(int purgatory, int listener, uint16_t upstream)
{
	struct epoll_event ready[64];
	uint64_t time, number;
	int i, nr;

	while (listener >= 0 || open_connections) {
		nr = epoll_wait(epoll, ready, 64, -1);
		if (nr < 0 && errno != EINTR)
			die("epoll_wait");
		time = now();
		for (i = 0; i < nr; i++) {
			number = ready[i].data.u64;
			if (number == PURGATORY)
				end_idle(purgatory);
			else if (number == LISTENER)
				accept_one(listener, upstream);
			else
				relay(&connections[number / 2], number % 2, time);
		}
	}
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 100))
		die("listen");
	watch_fd(fd, LISTENER);
	return fd;
}

/* A client and its server: 20 messages, and then silence until the proxy closes the sockets. */
static int talk(int client, int server)
{
	char c;

	for (int i = 0; i < 20; i++) {
		usleep(10000);
		if (write(client, "x", 1) != 1 || read(server, &c, 1) != 1)
			return 1;
	}
	return read(client, &c, 1) || read(server, &c, 1);
}

static int demonstrate(int purgatory)
{
	int client[2], server[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, client) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, server))
		die("socketpair");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		close(client[0]);
		close(server[0]);
		_exit(talk(client[1], server[1]));
	}
	close(client[1]);
	close(server[1]);
	idle_ns = 100 * MS;
	begin(client[0], server[0]);
	serve(purgatory, -1, 0);
	waitpid(child, &status, 0);
	if (!status)
		puts("closed after 100 ms without traffic");
	return status != 0;
}

int main(int argc, char **argv)
{
	int purgatory = twheel_open(O_NONBLOCK);

	if (purgatory < 0 || twheel_cell_map_init(&map, purgatory, CONNECTIONS))
		die(TWHEEL_DEVICE);
	twheel_cell_pool_init(&pool, &map, CLOCK_MONOTONIC);
	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	watch_fd(purgatory, PURGATORY);
	if (argc != 3)
		return demonstrate(purgatory);
	serve(purgatory, listen_at(atoi(argv[1])), atoi(argv[2]));
	return 0;
}
