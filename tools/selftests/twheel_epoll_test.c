// SPDX-License-Identifier: GPL-2.0
/* Notification of events: edge-triggered and exclusive wakeups of epoll. There are no signals. */
#include <sys/epoll.h>
#include "named.h"

FIXTURE_OF_A_FILE(epoll, twheel_open(O_NONBLOCK));

/* An edge is reported when the queue becomes non-empty, or a reader leaves events behind. */
TEST_F(epoll, edge_is_reported_once)
{
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	int epfd = epoll_create1(EPOLL_CLOEXEC);
	struct twheel_event events[2];

	ASSERT_TRUE(end_one(self->fd, 0, 0));
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, 0));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_TRUE(end_one(self->fd, 0, 0));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_EQ(1, read_events(self->fd, events, 1));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, BUDGET_MS));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_EQ(1, read_events(self->fd, events, 2));
	ASSERT_TRUE(end_one(self->fd, 0, 0));
	EXPECT_EQ(1, epoll_wait(epfd, &ready, 1, BUDGET_MS));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	close(epfd);
}

TEST_F(epoll, edge_for_each_period_after_a_read)
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

#define POLLERS	100

TEST_F(epoll, all_pollers_are_woken)
{
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	struct twheel_event event;
	int epfd[POLLERS], round, i;

	for (i = 0; i < POLLERS; i++) {
		epfd[i] = epoll_create1(EPOLL_CLOEXEC);
		ASSERT_EQ(0, epoll_ctl(epfd[i], EPOLL_CTL_ADD, self->fd, &in));
	}
	for (round = 0; round < 10; round++) {
		ASSERT_TRUE(end_one(self->fd, 0, 0));
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

/* One that is woken alone may never read. */
TEST_F(epoll, exclusive_waiters_are_all_woken)
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
	ASSERT_TRUE(end_one(self->fd, 0, 0));
	EXPECT_TRUE(wait_for(nr_woken(exclusive) == 2));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* As for timerfd: the flag is kept, but there is no signal. */
TEST_F(epoll, async_is_not_supported)
{
	int on = 1;

	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	EXPECT_EQ(0, fcntl(self->fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	EXPECT_EQ(ENOTTY, call(self->fd, FIOASYNC, &on));
	/* SIGIO would end this process. */
	EXPECT_TRUE(end_one(self->fd, 0, 0));
}

/* It has no events: as a regular file, it is always ready. */
TEST_F(epoll, control_node_is_ready)
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
