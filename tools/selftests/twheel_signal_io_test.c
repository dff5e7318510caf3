// SPDX-License-Identifier: GPL-2.0
/*
 * Notification of events: SIGIO or another signal to a process or a thread, once for each
 * transition of a queue from empty to non-empty, and edge-triggered, one-shot and
 * exclusive wakeups of epoll.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include "named.h"

FIXTURE(signal_io) {
	int fd;
	sigset_t set;
};

FIXTURE_SETUP(signal_io)
{
	sigemptyset(&self->set);
	sigaddset(&self->set, SIGIO);
	sigaddset(&self->set, SIGRTMIN + 3);
	ASSERT_EQ(0, pthread_sigmask(SIG_BLOCK, &self->set, NULL));
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(signal_io)
{
	close(self->fd);
}

static bool go_async(int fd, pid_t owner)
{
	return !fcntl(fd, F_SETOWN, owner) &&
	       !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

/* The next signal within @ms, 0 after a timeout. */
static int next_signal(const sigset_t *set, siginfo_t *info, int ms)
{
	struct timespec budget = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MSEC };
	int sig = sigtimedwait(set, info, &budget);

	return sig < 0 ? 0 : sig;
}

TEST_F(signal_io, sigio_for_an_event)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);
	siginfo_t info;

	ASSERT_TRUE(go_async(self->fd, getpid()));
	EXPECT_EQ(0, next_signal(&self->set, &info, 0));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(SIGIO, next_signal(&self->set, &info, BUDGET_MS));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_CANCELLED, 0);
}

TEST_F(signal_io, chosen_signal_has_the_descriptor)
{
	siginfo_t info = { 0 };

	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN + 3));
	ASSERT_NE(0, add_deadline(self->fd, MSEC, 0, 0));
	EXPECT_EQ(SIGRTMIN + 3, next_signal(&self->set, &info, BUDGET_MS));
	EXPECT_EQ(self->fd, info.si_fd);
	EXPECT_NE(0, info.si_band & POLLIN);
}

/* The kernel allocates no entry for the chosen signal beyond the limit of the receiver. */
TEST_F(signal_io, chosen_signals_are_limited)
{
	struct rlimit none = { 0, 0 };
	siginfo_t info;

	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN + 3));
	ASSERT_EQ(0, setrlimit(RLIMIT_SIGPENDING, &none));
	ASSERT_NE(0, add_deadline(self->fd, MSEC, 0, 0));
	EXPECT_EQ(SIGIO, next_signal(&self->set, &info, BUDGET_MS));
}

TEST_F(signal_io, no_signal_without_o_async)
{
	siginfo_t info;
	__u64 id;

	id = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(0, next_signal(&self->set, &info, 0));
	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	id = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(0, next_signal(&self->set, &info, 0));
}

TEST_F(signal_io, to_another_process)
{
	siginfo_t info;
	pid_t child = fork();

	if (!child)
		_exit(next_signal(&self->set, &info, BUDGET_MS) == SIGIO ? 0 : 1);
	ASSERT_TRUE(go_async(self->fd, child));
	ASSERT_NE(0, add_deadline(self->fd, MSEC, 0, 0));
	EXPECT_TRUE(child_exited_well(child));
	EXPECT_EQ(0, next_signal(&self->set, &info, 0));
}

static void *take_signal(void *arg)
{
	struct f_owner_ex me = { .type = F_OWNER_TID, .pid = gettid() };
	sigset_t set;
	siginfo_t info;
	int fd = *(int *)arg;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	if (fcntl(fd, F_SETOWN_EX, &me) || fcntl(fd, F_SETSIG, SIGRTMIN + 3) ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) || !add_deadline(fd, MSEC, 0, 0))
		return NULL;
	return next_signal(&set, &info, BUDGET_MS) == SIGRTMIN + 3 ? arg : NULL;
}

TEST_F(signal_io, to_one_thread)
{
	siginfo_t info;
	pthread_t thread;
	void *result;

	ASSERT_EQ(0, pthread_create(&thread, NULL, take_signal, &self->fd));
	pthread_join(thread, &result);
	EXPECT_EQ(&self->fd, result);
	EXPECT_EQ(0, next_signal(&self->set, &info, 0));
}

TEST_F(signal_io, sigio_when_the_purgatory_is_removed)
{
	siginfo_t info;
	int fd;

	ASSERT_EQ(0, create_named("io", 0600));
	fd = twheel_open_named("io", O_NONBLOCK);
	ASSERT_TRUE(go_async(fd, getpid()));
	ASSERT_EQ(0, remove_by_force("io"));
	EXPECT_EQ(SIGIO, next_signal(&self->set, &info, BUDGET_MS));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(fd));
	close(fd);
}

TEST_F(signal_io, sigio_for_detached_events)
{
	siginfo_t info;
	int fd, events;

	ASSERT_EQ(0, create_named("io", 0600));
	fd = twheel_open_named("io", O_NONBLOCK);
	events = open_events(fd, TWHEEL_EVENTS_NONBLOCK);
	ASSERT_TRUE(go_async(events, getpid()));
	ASSERT_NE(0, add_deadline(fd, MSEC, TWHEEL_ADD_DETACHED, 0));
	EXPECT_EQ(SIGIO, next_signal(&self->set, &info, BUDGET_MS));
	EXPECT_TRUE(readable(events, 0));
	close(events);
	close(fd);
	EXPECT_EQ(0, remove_by_force("io"));
}

/* Create an event by completing an operation. */
static bool end_one(int fd)
{
	__u64 id = add_deadline(fd, HOUR, 0, 0);

	return id && !op_complete(fd, id, 0);
}

/* The number of queued signals, until no signal arrives for 200 ms. */
static int count_signals(const sigset_t *set)
{
	siginfo_t info;
	int nr = 0;

	while (next_signal(set, &info, 200))
		nr++;
	return nr;
}

/* A real-time signal is queued each time it is sent. */
TEST_F(signal_io, one_signal_for_each_transition_to_non_empty)
{
	struct twheel_event events[20];
	int i;

	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN + 3));
	for (i = 0; i < 10; i++)
		ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(1, count_signals(&self->set));

	/* The queue does not become empty. */
	ASSERT_EQ(9, read_events(self->fd, events, 9));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(0, count_signals(&self->set));

	ASSERT_EQ(2, read_events(self->fd, events, 20));
	ASSERT_TRUE(end_one(self->fd));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(1, count_signals(&self->set));
	EXPECT_EQ(2, query(self->fd).unread);
}

/* While a reader copies the event, another task may have found the queue empty. */
TEST_F(signal_io, one_signal_for_an_event_that_is_put_back)
{
	struct twheel_event event;

	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN + 3));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(1, count_signals(&self->set));
	EXPECT_EQ(-1, syscall(SYS_read, self->fd, NULL, sizeof(event)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(1, count_signals(&self->set));
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, count_signals(&self->set));
}

/* One signal at the end of the file. */
TEST_F(signal_io, one_signal_for_the_end)
{
	siginfo_t info = { 0 };

	ASSERT_TRUE(go_async(self->fd, getpid()));
	ASSERT_EQ(0, fcntl(self->fd, F_SETSIG, SIGRTMIN + 3));
	ASSERT_EQ(0, drain(self->fd));
	EXPECT_EQ(SIGRTMIN + 3, next_signal(&self->set, &info, BUDGET_MS));
	EXPECT_EQ(POLL_HUP, info.si_code);
	EXPECT_EQ(0, count_signals(&self->set));
}

/* O_ASYNC is a flag of an open file: the descriptors do not affect each other. */
TEST_F(signal_io, file_and_its_events_descriptor_are_async_separately)
{
	struct twheel_event event;
	int fd, events;

	ASSERT_EQ(0, create_named("io", 0600));
	fd = twheel_open_named("io", O_NONBLOCK);
	events = open_events(fd, TWHEEL_EVENTS_NONBLOCK);
	ASSERT_TRUE(go_async(fd, getpid()));
	ASSERT_TRUE(go_async(events, getpid()));
	ASSERT_EQ(0, fcntl(fd, F_SETSIG, SIGRTMIN + 3));
	ASSERT_EQ(0, fcntl(events, F_SETSIG, SIGRTMIN + 3));
	ASSERT_TRUE(end_one(fd));
	EXPECT_EQ(1, count_signals(&self->set));
	ASSERT_NE(0, add_deadline(fd, 0, TWHEEL_ADD_DETACHED, 0));
	ASSERT_TRUE(readable(events, BUDGET_MS));
	EXPECT_EQ(1, count_signals(&self->set));

	/* The file stays asynchronous after the other descriptor was closed. */
	close(events);
	EXPECT_EQ(O_ASYNC, fcntl(fd, F_GETFL) & O_ASYNC);
	ASSERT_EQ(1, read_events(fd, &event, 1));
	ASSERT_TRUE(end_one(fd));
	EXPECT_EQ(1, count_signals(&self->set));
	close(fd);
	EXPECT_EQ(0, remove_by_force("io"));
}

/* An edge is reported when the queue becomes non-empty, or a reader leaves events behind. */
TEST_F(signal_io, edge_is_reported_once)
{
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	int epfd = epoll_create1(EPOLL_CLOEXEC);
	struct twheel_event events[2];

	ASSERT_TRUE(end_one(self->fd));
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, 0));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_EQ(1, read_events(self->fd, events, 1));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, 0));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_EQ(1, read_events(self->fd, events, 2));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, 0));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	close(epfd);
}

TEST_F(signal_io, edge_for_each_period_after_a_read)
{
	struct twheel_add_args args = { .deadline = MSEC, .period = 5 * MSEC };
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	int i, epfd = epoll_create1(EPOLL_CLOEXEC);
	struct twheel_event event;

	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	ASSERT_EQ(0, op_add(self->fd, &args));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, epoll_wait(epfd, &ready, 1, BUDGET_MS));
		while (read_events(self->fd, &event, 1) == 1)
			;
		EXPECT_EQ(EAGAIN, errno);
	}
	close(epfd);
}

TEST_F(signal_io, select_reports_readable)
{
	struct timeval none = { 0 }, budget = { .tv_sec = BUDGET_MS / 1000 };
	fd_set in, out, exceptional;

	FD_ZERO(&in);
	FD_SET(self->fd, &in);
	out = in;
	exceptional = in;
	EXPECT_EQ(0, select(self->fd + 1, &in, &out, &exceptional, &none));
	ASSERT_NE(0, add_deadline(self->fd, 20 * MSEC, 0, 0));
	FD_SET(self->fd, &in);
	FD_SET(self->fd, &exceptional);
	EXPECT_EQ(1, select(self->fd + 1, &in, NULL, &exceptional, &budget));
	EXPECT_TRUE(FD_ISSET(self->fd, &in));
	EXPECT_FALSE(FD_ISSET(self->fd, &exceptional));
}

#define POLLERS	100

TEST_F(signal_io, all_pollers_are_woken)
{
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	struct twheel_event event;
	int epfd[POLLERS], round, i;

	for (i = 0; i < POLLERS; i++) {
		epfd[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_EQ(0, epoll_ctl(epfd[i], EPOLL_CTL_ADD, self->fd, &in));
	}
	for (round = 0; round < 10; round++) {
		ASSERT_TRUE(end_one(self->fd));
		for (i = 0; i < POLLERS; i++)
			ASSERT_EQ(1, epoll_wait(epfd[i], &ready, 1, BUDGET_MS));
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
	}
	ASSERT_EQ(0, drain(self->fd));
	for (i = 0; i < POLLERS; i++) {
		ASSERT_EQ(1, epoll_wait(epfd[i], &ready, 1, BUDGET_MS));
		EXPECT_NE(0, ready.events & EPOLLHUP);
		close(epfd[i]);
	}
}

struct exclusive {
	int fd;
	int woken;
	pid_t tid;
};

/* A waiter that does not read the event. */
static void *wait_exclusively(void *arg)
{
	struct exclusive *exclusive = arg;
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int epfd = epoll_create1(EPOLL_CLOEXEC);

	if (!epoll_ctl(epfd, EPOLL_CTL_ADD, exclusive->fd, &in)) {
		__atomic_store_n(&exclusive->tid, gettid(), __ATOMIC_RELEASE);
		if (epoll_wait(epfd, &ready, 1, BUDGET_MS) == 1)
			__atomic_store_n(&exclusive->woken, 1, __ATOMIC_RELEASE);
	}
	close(epfd);
	return NULL;
}

static int nr_woken(struct exclusive *exclusive)
{
	return __atomic_load_n(&exclusive[0].woken, __ATOMIC_ACQUIRE) +
	       __atomic_load_n(&exclusive[1].woken, __ATOMIC_ACQUIRE);
}

TEST_F(signal_io, exclusive_waiter_that_does_not_read_leaves_the_next_event_to_another)
{
	struct exclusive exclusive[2] = { { .fd = self->fd }, { .fd = self->fd } };
	pthread_t threads[2];
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_exclusively, &exclusive[i]));
		ASSERT_TRUE(wait_for(__atomic_load_n(&exclusive[i].tid, __ATOMIC_ACQUIRE)));
		ASSERT_TRUE(wait_for(blocked_in(exclusive[i].tid, SYS_epoll_wait) ||
				     blocked_in(exclusive[i].tid, SYS_epoll_pwait)));
	}
	ASSERT_TRUE(end_one(self->fd));
	ASSERT_TRUE(wait_for(nr_woken(exclusive)));
	EXPECT_EQ(1, nr_woken(exclusive));
	ASSERT_TRUE(end_one(self->fd));
	EXPECT_TRUE(wait_for(nr_woken(exclusive) == 2));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

#define MAX_ASYNC	8

TEST_F(signal_io, async_descriptors_are_limited)
{
	int fd, i, events[MAX_ASYNC + 1];

	ASSERT_EQ(0, create_named("io", 0600));
	fd = twheel_open_named("io", O_NONBLOCK);
	for (i = 0; i <= MAX_ASYNC; i++)
		events[i] = open_events(fd, TWHEEL_EVENTS_NONBLOCK);
	for (i = 0; i < MAX_ASYNC; i++)
		ASSERT_TRUE(go_async(events[i], getpid()));
	EXPECT_FALSE(go_async(events[MAX_ASYNC], getpid()));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(ENOSPC, call(events[MAX_ASYNC], FIOASYNC, &(int){ 1 }));
	/* The limit does not affect another queue, and ends with a descriptor. */
	EXPECT_TRUE(go_async(fd, getpid()));
	ASSERT_EQ(0, fcntl(events[0], F_SETFL, O_NONBLOCK));
	close(events[1]);
	EXPECT_TRUE(go_async(events[0], getpid()));
	EXPECT_TRUE(go_async(events[MAX_ASYNC], getpid()));
	close(events[0]);
	for (i = 2; i <= MAX_ASYNC; i++)
		close(events[i]);
	close(fd);
	EXPECT_EQ(0, remove_by_force("io"));
}

/* It has no events: as a regular file, it is always ready. */
TEST_F(signal_io, control_node_is_ready)
{
	int fd = twheel_open_control(), epfd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event in = { .events = EPOLLIN };

	ASSERT_LE(0, fd);
	EXPECT_EQ(POLLIN, poll_now(fd));
	EXPECT_EQ(-1, epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &in));
	EXPECT_EQ(EPERM, errno);
	close(epfd);
	close(fd);
}

TEST_HARNESS_MAIN
