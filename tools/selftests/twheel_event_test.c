// SPDX-License-Identifier: GPL-2.0
/*
 * How events leave /dev/twheel: read() with buffers of every kind, waiting by
 * blocking, poll, select and epoll.  When operations expire is the matter of
 * twheel_deadline_test.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include "selftest.h"

#define EVENT_SIZE	sizeof(struct twheel_event)

FIXTURE(event) {
	int fd;
};

FIXTURE_SETUP(event)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(event)
{
	close(self->fd);
}

/* Have @nr events wait, the i-th with the value @first + i. */
static bool end_some(int fd, __u64 first, int nr)
{
	__u64 id;
	int i;

	for (i = 0; i < nr; i++) {
		id = add_deadline(fd, TWHEEL_NEVER, 0, 0);
		if (!id || op_complete(fd, id, first + i))
			return false;
	}
	return true;
}

static void set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

TEST_F(event, one_at_a_time_in_order)
{
	struct twheel_event event;
	int i;

	ASSERT_TRUE(end_some(self->fd, 0, 10));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		EXPECT_EQ(i, event.value);
	}
	EXPECT_EQ(-1, read_events(self->fd, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
}

TEST_F(event, as_many_as_are_there)
{
	struct twheel_event events[20];
	int i;

	ASSERT_TRUE(end_some(self->fd, 0, 10));
	ASSERT_EQ(10, read_events(self->fd, events, 20));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(i, events[i].value);
}

TEST_F(event, as_many_as_fit)
{
	char buffer[4 * EVENT_SIZE];
	size_t size;

	/* A buffer of 1 to nearly 4 events is filled with whole events. */
	for (size = EVENT_SIZE; size < sizeof(buffer); size += 21) {
		ASSERT_TRUE(end_some(self->fd, 0, 4));
		memset(buffer, 0xa5, sizeof(buffer));
		EXPECT_EQ(size / EVENT_SIZE * EVENT_SIZE,
			  (size_t)read(self->fd, buffer, size));
		EXPECT_EQ((char)0xa5, buffer[size / EVENT_SIZE * EVENT_SIZE]);
		while (read(self->fd, buffer, sizeof(buffer)) > 0)
			;
	}
}

TEST_F(event, more_than_any_chunk)
{
	static struct twheel_event events[3000];
	long i, nr = ARRAY_SIZE(events), got = 0, more;

	if (nr > (long)query(self->fd).max_pending)
		nr = query(self->fd).max_pending;
	ASSERT_TRUE(end_some(self->fd, 0, nr));
	while (got < nr) {
		more = read_events(self->fd, events + got, nr - got);
		ASSERT_LT(0, more);
		got += more;
	}
	for (i = 0; i < nr; i++)
		ASSERT_EQ(i, (long)events[i].value);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(event, buffer_below_one_event)
{
	char buffer[EVENT_SIZE];
	size_t size;

	for (size = 0; size < EVENT_SIZE; size++) {
		EXPECT_EQ(-1, read(self->fd, buffer, size));
		EXPECT_EQ(EINVAL, errno);
	}
	ASSERT_TRUE(end_some(self->fd, 7, 1));
	for (size = 0; size < EVENT_SIZE; size++) {
		EXPECT_EQ(-1, read(self->fd, buffer, size));
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(1, query(self->fd).unread);
}

TEST_F(event, all_fields_are_set)
{
	__u64 before = now_ns(), after, id;
	struct twheel_event event;

	id = add_deadline(self->fd, HOUR, 0, 99);
	after = now_ns();
	ASSERT_EQ(0, op_complete(self->fd, id, 5));
	memset(&event, 0xa5, sizeof(event));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(99, event.cookie);
	EXPECT_EQ(5, event.value);
	EXPECT_EQ(TWHEEL_COMPLETED, (int)event.reason);
	EXPECT_LE(before + HOUR, event.deadline);
	EXPECT_GE(after + HOUR, event.deadline);
	EXPECT_LE(after, event.time);
	EXPECT_GE(now_ns(), event.time);
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(0, event.error);
	EXPECT_EQ(0, event.reserved);
	EXPECT_EQ(0, event.expirations);
}

TEST_F(event, fault_leaves_the_rest_in_order)
{
	char *edge = cliff();
	struct twheel_event *two = (void *)(edge - 2 * EVENT_SIZE);
	size_t into;
	int i;

	/* Two fit; the third would end @into bytes beyond the edge. */
	for (into = EVENT_SIZE; into > 0; into -= 16) {
		ASSERT_TRUE(end_some(self->fd, 0, 4));
		EXPECT_EQ(2 * EVENT_SIZE,
			  (size_t)read(self->fd, edge - 3 * EVENT_SIZE + into,
				       4 * EVENT_SIZE));
		memmove(two, edge - 3 * EVENT_SIZE + into, 2 * EVENT_SIZE);
		EXPECT_EQ(0, two[0].value);
		EXPECT_EQ(1, two[1].value);
		EXPECT_EQ(2, query(self->fd).unread);

		/* What ends later comes after what was left. */
		ASSERT_TRUE(end_some(self->fd, 4, 2));
		for (i = 2; i < 6; i += 2) {
			ASSERT_EQ(2, read_events(self->fd, two, 2));
			EXPECT_EQ(i, two[0].value);
			EXPECT_EQ(i + 1, two[1].value);
		}
		EXPECT_NO_EVENT(self->fd);
	}
}

TEST_F(event, fault_at_the_first_loses_nothing)
{
	struct twheel_event events[4];
	char *edge = cliff();
	void *bad[] = { NULL, edge, edge - 1, edge - EVENT_SIZE + 1 };
	unsigned int i;

	ASSERT_TRUE(end_some(self->fd, 0, 3));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-1, read(self->fd, bad[i], 4 * EVENT_SIZE));
		EXPECT_EQ(EFAULT, errno);
		EXPECT_EQ(3, query(self->fd).unread);
		EXPECT_TRUE(readable(self->fd, 0));
	}
	ASSERT_EQ(3, read_events(self->fd, events, 4));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, events[i].value);
}

/* A thread that reads once and says what it got. */
struct reader {
	int fd;
	pid_t tid;
	long got;
	int error;
	struct twheel_event *to;	/* NULL for events */
	struct twheel_event events[8];
};

static void *read_once(void *arg)
{
	struct reader *reader = arg;

	__atomic_store_n(&reader->tid, gettid(), __ATOMIC_RELEASE);
	reader->got = read_events(reader->fd, reader->to ?: reader->events, 8);
	reader->error = errno;
	return NULL;
}

static bool reader_blocks(struct reader *reader)
{
	return wait_for(__atomic_load_n(&reader->tid, __ATOMIC_ACQUIRE)) &&
	       wait_for(blocked_in(reader->tid, SYS_read));
}

TEST_F(event, blocking_read_is_woken_by_each_ending)
{
	__u64 id[3];
	int i;

	set_blocking(self->fd, true);
	for (i = 0; i < 3; i++) {
		struct reader reader = { .fd = self->fd };
		pthread_t thread;

		id[0] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
		ASSERT_EQ(0, pthread_create(&thread, NULL, read_once, &reader));
		ASSERT_TRUE(reader_blocks(&reader));
		if (i == 0)
			EXPECT_EQ(1, key_signal(self->fd, 1, 8));
		if (i == 1)
			EXPECT_EQ(0, op_complete(self->fd, id[0], 8));
		if (i == 2)
			EXPECT_EQ(0, op_cancel(self->fd, id[0]));
		pthread_join(thread, NULL);
		EXPECT_EQ(1, reader.got);
		EXPECT_EQ(id[0], reader.events[0].id);
	}
}

TEST_F(event, blocking_read_is_woken_by_the_reaper)
{
	__u64 id = add_deadline(self->fd, 200 * MSEC, 0, 0);
	struct reader reader = { .fd = self->fd };

	ASSERT_NE(0, id);
	set_blocking(self->fd, true);
	read_once(&reader);
	ASSERT_EQ(1, reader.got);
	EXPECT_EQ(id, reader.events[0].id);
	EXPECT_EQ(TWHEEL_EXPIRED, (int)reader.events[0].reason);
}

TEST_F(event, fault_passes_the_event_to_the_next_reader)
{
	struct reader bad = { .fd = self->fd, .to = (void *)cliff() };
	struct reader good = { .fd = self->fd };
	pthread_t threads[2];

	set_blocking(self->fd, true);
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, read_once, &bad));
	ASSERT_TRUE(reader_blocks(&bad));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, read_once, &good));
	ASSERT_TRUE(reader_blocks(&good));
	ASSERT_TRUE(end_some(self->fd, 6, 1));
	pthread_join(threads[1], NULL);
	EXPECT_EQ(1, good.got);
	EXPECT_EQ(6, good.events[0].value);

	/* If the good one was quicker, the bad one still waits. */
	ASSERT_TRUE(end_some(self->fd, 7, 1));
	pthread_join(threads[0], NULL);
	EXPECT_EQ(-1, bad.got);
	EXPECT_EQ(EFAULT, bad.error);
	EXPECT_EQ(1, query(self->fd).unread);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST_F(event, blocking_read_is_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct reader reader = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	set_blocking(self->fd, true);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_once, &reader));
	ASSERT_TRUE(reader_blocks(&reader));
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	EXPECT_EQ(-1, reader.got);
	EXPECT_EQ(EINTR, reader.error);
}

TEST_F(event, blocking_read_is_restarted)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct reader reader = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	set_blocking(self->fd, true);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_once, &reader));
	ASSERT_TRUE(reader_blocks(&reader));
	pthread_kill(thread, SIGUSR1);
	ASSERT_TRUE(end_some(self->fd, 3, 1));
	pthread_join(thread, NULL);
	EXPECT_EQ(1, reader.got);
	EXPECT_EQ(3, reader.events[0].value);
}

TEST_F(event, nonblocking_by_open_and_by_fcntl)
{
	int fd = twheel_open(0);
	struct twheel_event event;

	ASSERT_LE(0, fd);
	set_blocking(fd, false);
	EXPECT_EQ(-1, read_events(fd, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(-1, read_events(self->fd, &event, 1));
	EXPECT_EQ(EAGAIN, errno);
	close(fd);
}

TEST_F(event, poll_says_in_and_nothing_else)
{
	struct pollfd pfd = { .fd = self->fd, .events = ~0 };
	struct twheel_event events[2];

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_TRUE(end_some(self->fd, 0, 2));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN | POLLRDNORM, pfd.revents);
	ASSERT_EQ(1, read_events(self->fd, events, 1));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	ASSERT_EQ(1, read_events(self->fd, events, 2));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
}

TEST_F(event, poll_and_select_wait_for_expiry)
{
	struct timeval budget = { .tv_sec = BUDGET_MS / 1000 };
	struct twheel_event event;
	fd_set set;
	__u64 id;

	id = add_deadline(self->fd, 100 * MSEC, 0, 0);
	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);

	id = add_deadline(self->fd, 100 * MSEC, 0, 0);
	FD_ZERO(&set);
	FD_SET(self->fd, &set);
	ASSERT_EQ(1, select(self->fd + 1, &set, NULL, NULL, &budget));
	EXPECT_TRUE(FD_ISSET(self->fd, &set));
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(id, event.id);
}

TEST_F(event, epoll_by_level)
{
	struct epoll_event ready, in = { .events = EPOLLIN };
	int i, epfd = epoll_create1(EPOLL_CLOEXEC);
	struct twheel_event event;

	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	ASSERT_NE(0, add_deadline(self->fd, 50 * MSEC, 0, 0));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, epoll_wait(epfd, &ready, 1, BUDGET_MS));
		EXPECT_EQ(EPOLLIN, (int)ready.events);
	}
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
	close(epfd);
}

TEST_F(event, epoll_by_edge)
{
	struct epoll_event ready, in = { .events = EPOLLIN | EPOLLET };
	int i, epfd = epoll_create1(EPOLL_CLOEXEC);

	/* Each event is an edge, even if those before it are not read. */
	ASSERT_EQ(0, epoll_ctl(epfd, EPOLL_CTL_ADD, self->fd, &in));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, epoll_wait(epfd, &ready, 1, 0));
		ASSERT_NE(0, add_deadline(self->fd, 20 * MSEC, 0, 0));
		ASSERT_EQ(1, epoll_wait(epfd, &ready, 1, BUDGET_MS));
	}
	EXPECT_EQ(3, query(self->fd).unread);
	close(epfd);
}

TEST_HARNESS_MAIN
