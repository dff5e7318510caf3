// SPDX-License-Identifier: GPL-2.0
/*
 * A worker. See worker.h.
 *
 * Each round of the loop executes a request of each connection that has one, reads the events of
 * waiting requests, and then submits the queued adds and signals.  See waiting.h about the check
 * after the add.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "worker.h"

#define MAX_EVENTS	256
#define MAX_FILES	8192

/* Time after which accept4() is called again if it has failed. */
#define ACCEPT_PAUSE_NS	(100 * NS_PER_MS)

/* Time in which clients can take their last responses. */
#define LAST_SEND_NS	(1000 * NS_PER_MS)

static int epoll = -1, listener = -1, signals = -1, waits = -1;
static bool stopping, stopped;
static LIST_HEAD(, connection) connections = LIST_HEAD_INITIALIZER(connections);
static TAILQ_HEAD(, request) added = TAILQ_HEAD_INITIALIZER(added);

static bool set_events(int fd, int call, void *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return !epoll_ctl(epoll, call, fd, &event);
}

/*
 * Nothing is read while a request waits or a response is unsent. A request that is in the buffer
 * is executed in the next round, after those of other connections.
 */
static void watch(struct connection *connection)
{
	uint32_t events = connection->waiting ? EPOLLRDHUP :
			  connection->out.size || wire_message(&connection->in) ? EPOLLOUT :
			  EPOLLIN;

	if (events != connection->events)
		set_events(connection->fd, EPOLL_CTL_MOD, connection, events);
	connection->events = events;
}

static void check_later(struct request *request)
{
	if (request->is_added)
		return;
	request->is_added = true;
	TAILQ_INSERT_TAIL(&added, request, added);
}

static void check_no_more(struct request *request)
{
	if (!request->is_added)
		return;
	request->is_added = false;
	TAILQ_REMOVE(&added, request, added);
}

static void close_connection(struct connection *connection)
{
	LIST_REMOVE(connection, all);
	connection_close(connection);
	/* The event of a waiting request has its address: end it, and free it then. */
	if (connection->waiting)
		check_later(connection->waiting);
	else
		connection_free(connection);
}

/* Close a connection that has ended, or has its last response. */
static void go_on(struct connection *connection, bool ok)
{
	if (!ok || (stopping && !connection->waiting && !connection->out.size))
		close_connection(connection);
	else
		watch(connection);
}

static void wait_ended(struct wait *wait, enum wait_end end)
{
	struct request *request = container_of(wait, struct request, wait);
	struct connection *connection = request->connection;
	uint64_t missing = 0;

	/* The connection was closed in this round, or a full batch was submitted. */
	check_no_more(request);
	if (!connection->closed && end == WAIT_COMPLETED && !stopping)
		missing = request_missing(request);
	if (missing) {
		worker_wait(request, missing);
	} else if (connection->closed) {
		connection_free(connection);
	} else {
		/* A client that is refused comes back later. */
		request->failed |= end == WAIT_REFUSED;
		go_on(connection, connection_answer(connection));
	}
}

void worker_wait(struct request *request, uint64_t missing)
{
	request->wait.fn = wait_ended;
	request_wait(request, missing);
	check_later(request);
}

/* Execute what is queued, then end the waits that may have missed a signal. */
static void settle(void)
{
	struct request *request;
	bool again = false;

	waiting->submit();
	while ((request = TAILQ_FIRST(&added))) {
		check_no_more(request);
		if (!request->connection->closed &&
		    request_missing(request) == request->missing)
			continue;
		waiting->complete(&request->wait);
		again = true;
	}
	if (again)
		waiting->submit();
}

static void pause_ended(struct wait *wait, enum wait_end end)
{
	set_events(listener, EPOLL_CTL_MOD, &listener, EPOLLIN);
}

/* Without files or memory, connections wait in the queue of the socket. */
static void pause_listening(void)
{
	static struct wait pause = { .fn = pause_ended };

	set_events(listener, EPOLL_CTL_MOD, &listener, 0);
	waiting->add(&pause, NULL, 0, 0, now_ns() + ACCEPT_PAUSE_NS);
}

static void accept_all(void)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			if (errno != EAGAIN)
				pause_listening();
			return;
		}
		connection = connection_new(fd);
		if (!connection)
			continue;
		connection->events = EPOLLIN;
		LIST_INSERT_HEAD(&connections, connection, all);
		if (!set_events(fd, EPOLL_CTL_ADD, connection, EPOLLIN))
			close_connection(connection);
	}
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
	for (connection = LIST_FIRST(&connections); connection; connection = next) {
		next = LIST_NEXT(connection, all);
		go_on(connection, true);
	}
	settle();
	waiting->stop();
	waiting->add(&last_send, NULL, 0, 0, now_ns() + LAST_SEND_NS);
}

static void connection_event(struct connection *connection)
{
	/* A client of a waiting request has hung up. */
	go_on(connection, !connection->waiting &&
	      (stopping ? connection_send(connection) : connection_run(connection)));
}

static bool round_of_events(void)
{
	struct epoll_event events[MAX_EVENTS];
	int nr = epoll_wait(epoll, events, MAX_EVENTS, -1);
	bool ended = false, stops = false;

	for (int i = 0; i < nr; i++) {
		void *source = events[i].data.ptr;

		if (source == &waits)
			ended = true;
		else if (source == &signals)
			stops = !stopping;
		else if (source == &listener)
			accept_all();
		else
			connection_event(source);
	}
	if (stops)
		stop();
	if (ended && !waiting->events())
		return false;
	settle();
	return true;
}

static int listen_socket(void)
{
	const struct sockaddr_in *address = &config.self->address;
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) &&
	    !bind(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	    !listen(fd, SOMAXCONN))
		return fd;
	fprintf(stderr, "broker: %s:%d: %s\n", config.self->host, config.self->port,
		strerror(errno));
	return -1;
}

static bool open_all(const sigset_t *mask)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < MAX_FILES ? files.rlim_max : MAX_FILES;
	setrlimit(RLIMIT_NOFILE, &files);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	signals = signalfd(-1, mask, SFD_CLOEXEC);
	waits = waiting->open();
	listener = listen_socket();
	return waits >= 0 && listener >= 0 &&
	       set_events(signals, EPOLL_CTL_ADD, &signals, EPOLLIN | EPOLLET) &&
	       set_events(waits, EPOLL_CTL_ADD, &waits, EPOLLIN) &&
	       set_events(listener, EPOLL_CTL_ADD, &listener, EPOLLIN);
}

int worker_main(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	if (!open_all(&mask))
		return 1;
	if (!waiting->is_shared)
		partitions_watch();
	while (!stopped && (!stopping || !LIST_EMPTY(&connections))) {
		if (!round_of_events())
			return 1;
	}
	return 0;
}
