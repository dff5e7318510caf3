// SPDX-License-Identifier: GPL-2.0
/*
 * A worker: one process with one epoll loop, for connections and for the requests that wait.
 *
 * The requests of a connection are executed one after another, as Kafka does: while one waits or
 * its response is not sent, nothing is read. So a connection holds one request and one response
 * at most.
 *
 * Each round of the loop executes a request of each connection that has one, reads the events of
 * waiting requests, and then submits the queued adds and signals. See waiting.h about the check
 * after the add.
 *
 * The kernel ends a connection whose client does not read for some seconds. If the buffers of
 * all connections are too large before, those with unsent responses make room.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process.h"
#include "request.h"

#define MAX_EVENTS	256
#define MAX_FILES	8192

/* Limit on the buffers of all connections. */
#define MAX_BUFFERED	(256UL << 20)

/* The kernel ends connections whose clients do not read for this time. */
#define SEND_TIMEOUT_MS	10000

/* Time after which accept4() is called again if it has failed. */
#define ACCEPT_PAUSE_NS	(100 * NS_PER_MS)

/* Time in which clients can take their last responses. */
#define LAST_SEND_NS	(1000 * NS_PER_MS)

struct connection {
	TAILQ_ENTRY(connection) all;
	bool closed;		/* freed when the event of its request arrives */
	int fd;
	uint32_t events;	/* that epoll reports */
	struct wire in;
	struct wire out;
	size_t message;		/* size of the first message, while its request is executed */
	struct request *waiting;
};

static int epoll, listener, signals, waits;
static bool stopping, stopped;
/* Those with an unsent response are in the order in which they have progressed last. */
static TAILQ_HEAD(, connection) connections = TAILQ_HEAD_INITIALIZER(connections);
/* Requests whose wait was added in this round. */
static TAILQ_HEAD(, request) added = TAILQ_HEAD_INITIALIZER(added);

static bool set_events(int fd, int call, void *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return !epoll_ctl(epoll, call, fd, &event);
}

static void free_connection(struct connection *connection)
{
	request_free(connection->waiting);
	wire_free(&connection->in);
	wire_free(&connection->out);
	free(connection);
}

static void close_connection(struct connection *connection)
{
	struct request *request = connection->waiting;

	TAILQ_REMOVE(&connections, connection, all);
	close(connection->fd);
	connection->closed = true;
	if (!request) {
		free_connection(connection);
		return;
	}
	/* The event of a waiting request has its address: end it, and free it then. */
	request_closed(request);
	if (!request->is_added)
		wait_complete(&request->wait);
}

static void watch(struct connection *connection, uint32_t events)
{
	if (events != connection->events)
		set_events(connection->fd, EPOLL_CTL_MOD, connection, events);
	connection->events = events;
}

/*
 * Go on with a connection, or close it if it has ended or has its last response. A request that
 * is in the buffer is executed in the next round, after those of other connections.
 */
static void go_on(struct connection *connection, bool ok)
{
	bool is_idle = !connection->out.size && !wire_message(&connection->in);

	if (!ok || (stopping && !connection->waiting && !connection->out.size))
		close_connection(connection);
	else
		watch(connection, connection->waiting || is_idle ? EPOLLIN | EPOLLRDHUP : EPOLLOUT);
}

static bool send_response(struct connection *connection)
{
	size_t sent = connection->out.at;
	bool ok = wire_send(&connection->out, connection->fd);

	if (!sent || connection->out.at > sent) {
		TAILQ_REMOVE(&connections, connection, all);
		TAILQ_INSERT_TAIL(&connections, connection, all);
	}
	return ok;
}

/*
 * Evict clients that do not read if all buffers together are too large: the event of the
 * shutdown closes the connection. Return: false if the buffers still are too large.
 */
static bool within_limit(const struct connection *connection)
{
	struct connection *slow;

	TAILQ_FOREACH(slow, &connections, all) {
		if (wire_total <= MAX_BUFFERED)
			break;
		if (!slow->out.size || slow == connection)
			continue;
		wire_free(&slow->out);
		shutdown(slow->fd, SHUT_RDWR);
	}
	return wire_total <= MAX_BUFFERED;
}

static void remove_added(struct request *request)
{
	if (request->is_added)
		TAILQ_REMOVE(&added, request, added);
	request->is_added = false;
}

/* Answer a request, unless it waits. Return: false if the connection must be closed. */
static bool try_answer(struct connection *connection, struct request *request, bool may_wait)
{
	uint64_t missing = may_wait ? request_missing(request) : 0;
	bool ok;

	connection->waiting = missing ? request : NULL;
	if (missing) {
		request->is_added = true;
		TAILQ_INSERT_TAIL(&added, request, added);
		request_wait(request, missing);
		return true;
	}
	ok = request_answer(request, &connection->out);
	wire_consume(&connection->in, connection->message);
	return ok && within_limit(connection) && send_response(connection);
}

static void wait_ended(struct wait *wait, enum wait_end end)
{
	struct request *request = container_of(wait, struct request, wait);
	struct connection *connection = request->connection;
	bool may_wait = end <= WAIT_EXPIRED && !stopping;

	/* A full batch was submitted in this round. */
	remove_added(request);
	/* A client that is refused comes back later. */
	request->failed |= end == WAIT_REFUSED;
	if (connection->closed)
		free_connection(connection);
	else
		go_on(connection, try_answer(connection, request, may_wait));
}

/* Execute what is queued, then end the waits that may have missed a signal. */
static void settle(void)
{
	struct request *request;

	waiting_submit();
	while ((request = TAILQ_FIRST(&added))) {
		remove_added(request);
		if (request->connection->closed || request_missing(request) != request->missing)
			wait_complete(&request->wait);
	}
	waiting_submit();
}

/* Execute a request. Return: as try_answer(). */
static bool execute(struct connection *connection)
{
	ssize_t len = wire_receive(&connection->in, connection->fd);
	struct request *request;

	if (len <= 0)
		return !len && within_limit(connection);
	connection->message = len;
	request = request_begin(connection->in.data + PREFIX_SIZE, len - PREFIX_SIZE);
	if (!request)
		return false;
	request->connection = connection;
	request->wait.fn = wait_ended;
	return try_answer(connection, request, true);
}

static void connection_event(struct connection *connection, uint32_t events)
{
	/* The next request stays in the socket while one waits. */
	if (connection->waiting && events == EPOLLIN)
		watch(connection, EPOLLRDHUP);
	else if (connection->waiting)
		close_connection(connection);
	else
		go_on(connection, connection->out.size ? send_response(connection) :
							 execute(connection));
}

static void add_connection(int fd)
{
	const unsigned int on = 1, timeout = SEND_TIMEOUT_MS;
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
	connection->fd = fd;
	connection->out.writes = true;
	connection->events = EPOLLIN | EPOLLRDHUP;
	TAILQ_INSERT_TAIL(&connections, connection, all);
	if (!set_events(fd, EPOLL_CTL_ADD, connection, connection->events))
		close_connection(connection);
}

static void pause_ended(struct wait *wait, enum wait_end end)
{
	set_events(listener, EPOLL_CTL_MOD, &listener, EPOLLIN);
}

static void accept_all(void)
{
	static struct wait pause = { .fn = pause_ended };
	int fd;

	do {
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			add_connection(fd);
	} while (fd >= 0 || errno == EINTR || errno == ECONNABORTED);
	if (errno == EAGAIN)
		return;
	/* Without files or memory, connections wait in the queue of the socket. */
	set_events(listener, EPOLL_CTL_MOD, &listener, 0);
	wait_add(&pause, NULL, 0, 0, now_ns() + ACCEPT_PAUSE_NS);
}

static void last_send_ended(struct wait *wait, enum wait_end end)
{
	stopped = true;
}

/* The connections that are left wait, or have an unsent response. */
static void stop(void)
{
	static struct wait last_send = { .fn = last_send_ended };
	struct connection *connection, *next;

	stopping = true;
	close(listener);
	for (connection = TAILQ_FIRST(&connections); connection; connection = next) {
		next = TAILQ_NEXT(connection, all);
		go_on(connection, true);
	}
	settle();
	waiting_stop();
	wait_add(&last_send, NULL, 0, 0, now_ns() + LAST_SEND_NS);
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
	settle();
	return true;
}

int worker_main(void)
{
	const struct sockaddr_in *address = &config.self->address;
	struct rlimit files;
	sigset_t mask;
	int on = 1;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < MAX_FILES ? files.rlim_max : MAX_FILES;
	setrlimit(RLIMIT_NOFILE, &files);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	waits = waiting_open(false);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (waits < 0 || !set_events(signals, EPOLL_CTL_ADD, &signals, EPOLLIN | EPOLLONESHOT) ||
	    !set_events(waits, EPOLL_CTL_ADD, &waits, EPOLLIN) ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) ||
	    bind(listener, (const struct sockaddr *)address, sizeof(*address)) ||
	    listen(listener, SOMAXCONN) ||
	    !set_events(listener, EPOLL_CTL_ADD, &listener, EPOLLIN)) {
		fprintf(stderr, "broker: %s:%d: %s\n", config.self->host, config.self->port,
			strerror(errno));
		return 1;
	}
	while (!stopped && (!stopping || !TAILQ_EMPTY(&connections))) {
		if (!round_of_events())
			return 1;
	}
	return 0;
}
