// SPDX-License-Identifier: GPL-2.0
/*
 * A worker. See worker.h.
 *
 * Each round of the loop executes the requests that have arrived, reads the events of waiting
 * requests, and then submits the queued adds and signals.  See waiting.h about the check after
 * the add.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
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
#define MAX_CONNECTIONS	8192

/* Other descriptors: logs, epoll, signals, the purgatory. */
#define SPARE_FILES	(MAX_PARTITIONS + 32)

/* The kernel closes connections whose clients do not read for this time. */
#define SEND_TIMEOUT_MS	10000

/* Time after which accept4() is called again if it has failed. */
#define ACCEPT_PAUSE_NS	100000000ULL

/* Time in which clients can take their last responses. */
#define LAST_SEND_NS	1000000000ULL

static int epoll = -1, listener = -1, signals = -1, waits = -1;
static int nr_connections, max_connections;
static int nr_waiting;
static bool stopping;
static bool last_send_is_over;
static bool is_listening = true;
static bool is_paused;
static LIST_HEAD(, connection) connections = LIST_HEAD_INITIALIZER(connections);
static TAILQ_HEAD(, connection) runnable = TAILQ_HEAD_INITIALIZER(runnable);
static TAILQ_HEAD(, request) added = TAILQ_HEAD_INITIALIZER(added);

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

static void wait_ended(struct wait *wait, enum wait_end end);

void worker_wait(struct request *request, uint64_t missing)
{
	nr_waiting++;
	request->wait.fn = wait_ended;
	request_wait(request, missing);
	check_later(request);
}

void worker_run_later(struct connection *connection)
{
	if (connection->is_runnable)
		return;
	connection->is_runnable = true;
	TAILQ_INSERT_TAIL(&runnable, connection, runnable);
}

/* Without room for a connection, new ones wait in the queue of the socket. */
static void listen_for_more(bool on)
{
	struct epoll_event event = { .events = on ? EPOLLIN : 0, .data.ptr = &listener };

	if (on != is_listening && listener >= 0)
		epoll_ctl(epoll, EPOLL_CTL_MOD, listener, &event);
	is_listening = on;
}

static void close_connection(struct connection *connection)
{
	if (connection->is_runnable)
		TAILQ_REMOVE(&runnable, connection, runnable);
	LIST_REMOVE(connection, all);
	connection_close(connection);
	nr_connections--;
	listen_for_more(true);
	/* The event of a waiting request has its address: end it, and free it then. */
	if (connection->waiting)
		check_later(connection->waiting);
	else
		connection_free(connection);
}

static void run(struct connection *connection)
{
	if (!connection_run(connection))
		close_connection(connection);
}

static struct request *request_of(struct wait *wait)
{
	return (struct request *)((char *)wait - offsetof(struct request, wait));
}

static void wait_ended(struct wait *wait, enum wait_end end)
{
	struct request *request = request_of(wait);
	struct connection *connection = request->connection;
	uint64_t missing;

	nr_waiting--;
	/* The connection was closed in this round, or a full batch was submitted. */
	check_no_more(request);
	if (connection->closed) {
		connection_free(connection);
		return;
	}
	if (end == WAIT_COMPLETED && !stopping) {
		missing = request_missing(request);
		if (missing) {
			worker_wait(request, missing);
			return;
		}
	}
	if (!connection_answer(connection))
		close_connection(connection);
	else if (!stopping)
		worker_run_later(connection);
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
	(void)wait;
	(void)end;
	is_paused = false;
	listen_for_more(true);
}

/* The system has no file or no memory left, and reports nothing when it has. */
static void listen_later(void)
{
	static struct wait pause = { .fn = pause_ended };

	listen_for_more(false);
	if (is_paused)
		return;
	is_paused = true;
	waiting->add(&pause, NULL, 0, 0, now_ns() + ACCEPT_PAUSE_NS);
}

static void accept_all(void)
{
	while (nr_connections < max_connections) {
		const unsigned int send_timeout = SEND_TIMEOUT_MS;
		int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;
		struct epoll_event event = {
			.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		};

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			if (errno != EAGAIN)
				listen_later();
			return;
		}
		connection = connection_new(fd);
		if (!connection)
			return;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &send_timeout, sizeof(send_timeout));
		event.data.ptr = connection;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
			connection_close(connection);
			connection_free(connection);
			return;
		}
		LIST_INSERT_HEAD(&connections, connection, all);
		nr_connections++;
	}
	listen_for_more(false);
}

static void last_send_ended(struct wait *wait, enum wait_end end)
{
	(void)wait;
	(void)end;
	last_send_is_over = true;
}

static void stop(void)
{
	static struct wait last_send = { .fn = last_send_ended };
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info) || stopping)
		return;
	stopping = true;
	close(listener);
	listener = -1;
	settle();
	waiting->stop();
	waiting->add(&last_send, NULL, 0, 0, now_ns() + LAST_SEND_NS);
}

static void connection_event(struct connection *connection, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		connection->hung_up = true;
	if ((connection->hung_up && connection->waiting) ||
	    (stopping && !connection_send(connection)))
		close_connection(connection);
	else if (!stopping)
		run(connection);
}

static void run_runnable(void)
{
	TAILQ_HEAD(, connection) now = TAILQ_HEAD_INITIALIZER(now);
	struct connection *connection;

	TAILQ_CONCAT(&now, &runnable, runnable);
	while ((connection = TAILQ_FIRST(&now))) {
		TAILQ_REMOVE(&now, connection, runnable);
		connection->is_runnable = false;
		run(connection);
	}
}

static bool round_of_events(void)
{
	bool busy = !TAILQ_EMPTY(&runnable) || waiting->ready();
	struct epoll_event events[MAX_EVENTS];
	int nr = epoll_wait(epoll, events, MAX_EVENTS, busy ? 0 : -1);
	bool ended = false;

	if (nr < 0 && errno != EINTR) {
		perror("broker: epoll_wait");
		return false;
	}
	for (int i = 0; i < nr; i++) {
		void *source = events[i].data.ptr;

		if (source == &waits)
			ended = true;
		else if (source == &signals)
			stop();
		else if (source != &listener)
			connection_event(source, events[i].events);
		else if (!stopping)
			accept_all();
	}
	if (!stopping)
		run_runnable();
	if ((ended || waiting->ready()) && !waiting->events())
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

static void raise_limits(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	max_connections = MAX_CONNECTIONS;
	if (files.rlim_cur < MAX_CONNECTIONS + SPARE_FILES)
		max_connections = files.rlim_cur > SPARE_FILES ? files.rlim_cur - SPARE_FILES : 1;
}

static bool watch_fd(int *fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = fd };

	if (*fd >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, *fd, &event))
		return true;
	perror("broker: epoll");
	return false;
}

static bool open_all(const char *purgatory)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	waits = waiting->open(purgatory);
	listener = listen_socket();
	return epoll >= 0 && waits >= 0 && listener >= 0 && watch_fd(&signals) &&
	       watch_fd(&waits) && watch_fd(&listener);
}

/* Are there responses that their clients have not taken yet? */
static bool is_sending(void)
{
	struct connection *connection;

	LIST_FOREACH(connection, &connections, all) {
		if (connection->out.size)
			return !last_send_is_over;
	}
	return false;
}

int worker_main(const char *purgatory)
{
	raise_limits();
	if (!open_all(purgatory))
		return 1;
	if (!waiting->is_shared)
		partitions_watch();
	while (!stopping || nr_waiting || is_sending()) {
		if (!round_of_events())
			return 1;
	}
	while (!LIST_EMPTY(&connections))
		close_connection(LIST_FIRST(&connections));
	waiting->submit();
	return 0;
}
