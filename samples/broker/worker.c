// SPDX-License-Identifier: GPL-2.0
/*
 * A worker: one process with one epoll loop, for connections and for the requests that wait.
 *
 * The requests of a connection are executed one after another, as Kafka does: while one waits or
 * its response is not sent, nothing is read. So a connection holds one request and one response
 * at most.
 *
 * Each round of the loop executes a request of each connection that has one, reads the events of
 * waiting requests, and then submits the queued adds and signals.
 *
 * The kernel ends a connection whose client does not read for some seconds.
 */
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "request.h"

#define MAX_EVENTS	256
#define MAX_FILES	8192
#define SEND_TIMEOUT_MS	10000

struct connection {
	TAILQ_ENTRY(connection) all;
	bool closed;		/* freed when the event of its request arrives */
	int fd;
	uint32_t events;	/* that epoll reports */
	struct wire in;
	struct wire out;
	struct request *waiting;
};

static int epoll, listener, signals, waits;
static bool stopping;
static int nr_waiting;
/* Those that remain at the end are no leaks. */
static TAILQ_HEAD(, connection) connections = TAILQ_HEAD_INITIALIZER(connections);

static bool set_events(int fd, int call, void *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return !epoll_ctl(epoll, call, fd, &event);
}

static void free_connection(struct connection *connection)
{
	wire_free(&connection->in);
	wire_free(&connection->out);
	free(connection);
}

static void close_connection(struct connection *connection)
{
	TAILQ_REMOVE(&connections, connection, all);
	close(connection->fd);
	connection->closed = true;
	/* The event of a waiting request has its address: end it, and free it then. */
	if (!connection->waiting)
		free_connection(connection);
	else
		wait_complete(&connection->waiting->wait);
}

static void watch(struct connection *connection, uint32_t events)
{
	if (events != connection->events)
		set_events(connection->fd, EPOLL_CTL_MOD, connection, events);
	connection->events = events;
}

/*
 * Go on with a connection, or close it if it has ended. A request that is in the buffer is executed
 * in the next round, after those of other connections.
 */
static void go_on(struct connection *connection, bool ok)
{
	bool is_idle = !connection->out.size && !wire_message(&connection->in);

	if (!ok)
		close_connection(connection);
	else
		watch(connection, connection->waiting || is_idle ? EPOLLIN | EPOLLRDHUP : EPOLLOUT);
}

/* Answer a request, unless it waits. Return: false if the connection must be closed. */
static bool try_answer(struct connection *connection, struct request *request, bool may_wait)
{
	uint64_t missing = may_wait && !stopping ? request_missing(request) : 0;
	bool ok;

	connection->waiting = missing ? request : NULL;
	if (missing) {
		nr_waiting++;
		request_wait(request, missing);
		return true;
	}
	ok = request_answer(request, &connection->out);
	wire_consume(&connection->in, wire_message(&connection->in));
	return ok && wire_send(&connection->out, connection->fd);
}

static void wait_event(struct wait *wait, enum wait_end end)
{
	struct request *request = container_of(wait, struct request, wait);
	struct connection *connection = request->connection;

	if (end == WAIT_ADDED) {
		if (connection->closed || request_missing(request) != request->missing)
			wait_complete(wait);
		return;
	}
	nr_waiting--;
	/* A client that is refused comes back later. */
	request->failed |= end == WAIT_REFUSED;
	if (!connection->closed) {
		go_on(connection, try_answer(connection, request, end <= WAIT_EXPIRED));
		return;
	}
	/* Nobody reads the answer, but it ends the wait of a member of a group. */
	request_answer(request, &connection->out);
	free_connection(connection);
}

/* Execute a request. Return: as try_answer(). */
static bool execute(struct connection *connection)
{
	ssize_t len = wire_receive(&connection->in, connection->fd);
	struct request *request;

	if (len <= 0)
		return !len;
	request = request_begin(connection->in.data + PREFIX_SIZE, len - PREFIX_SIZE);
	if (!request)
		return false;
	request->connection = connection;
	request->wait.fn = wait_event;
	return try_answer(connection, request, true);
}

static void connection_event(struct connection *connection, uint32_t events)
{
	/* The next request stays in the socket while one waits. */
	if (connection->waiting && events == EPOLLIN)
		watch(connection, EPOLLRDHUP);
	else if (connection->waiting)
		close_connection(connection);
	else if (connection->out.size)
		go_on(connection, wire_send(&connection->out, connection->fd));
	else
		go_on(connection, execute(connection));
}

static void add_connection(int fd)
{
	const unsigned int on = 1, timeout = SEND_TIMEOUT_MS;
	struct connection *connection = memory(calloc(1, sizeof(*connection)));

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
	connection->fd = fd;
	connection->out.writes = true;
	connection->events = EPOLLIN | EPOLLRDHUP;
	TAILQ_INSERT_TAIL(&connections, connection, all);
	if (!set_events(fd, EPOLL_CTL_ADD, connection, connection->events))
		close_connection(connection);
}

/* Without files or memory, connections wait in the queue of the socket until another one comes. */
static void accept_all(void)
{
	int fd;

	do {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			add_connection(fd);
	} while (fd >= 0 || errno == EINTR || errno == ECONNABORTED);
}

/* The waiting requests are answered. Clients may miss what does not fit into their sockets. */
static void stop(void)
{
	stopping = true;
	waiting_submit();
	waiting_stop();
}

static bool round_of_events(void)
{
	struct epoll_event events[MAX_EVENTS];
	int nr = epoll_wait(epoll, events, MAX_EVENTS, -1);
	bool ended = false, stops = false;

	for (int i = 0; i < nr; i++) {
		void *source = events[i].data.ptr;

		ended |= source == &waits;
		stops |= source == &signals;
		if (source == &listener)
			accept_all();
		else if (source != &waits && source != &signals)
			connection_event(source, events[i].events);
	}
	if (stops)
		stop();
	if (ended && !waiting_events())
		return false;
	waiting_submit();
	return true;
}

int worker_main(int inherited_signals)
{
	const struct sockaddr_in *address = &config.self->address;
	struct rlimit files;
	int on = 1;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < MAX_FILES ? files.rlim_max : MAX_FILES;
	setrlimit(RLIMIT_NOFILE, &files);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	signals = inherited_signals;
	waits = waiting_open(false);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (!set_events(signals, EPOLL_CTL_ADD, &signals, EPOLLIN | EPOLLONESHOT) ||
	    !set_events(waits, EPOLL_CTL_ADD, &waits, EPOLLIN) ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    bind(listener, (const struct sockaddr *)address, sizeof(*address)) ||
	    listen(listener, SOMAXCONN) ||
	    !set_events(listener, EPOLL_CTL_ADD, &listener, EPOLLIN | EPOLLET))
		err(1, "%s:%d", config.self->host, config.self->port);
	while (!stopping || nr_waiting) {
		if (!round_of_events())
			return 1;
	}
	return 0;
}
