// SPDX-License-Identifier: GPL-2.0
/*
 * Reading events: read() and readv() with buffers of every kind, waiting with blocking
 * reads and poll, also while the file is closed.  twheel_clock_test covers the times of expiry.
 */
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include "selftest.h"

FIXTURE_OF_A_FILE(private, twheel_open(O_NONBLOCK));

#define EVENT_SIZE	sizeof(struct twheel_event)

/* Create @nr events, the i-th with the value @first + i. */
static bool end_some(int fd, __u64 first, int nr)
{
	while (nr-- && end_one(fd, 0, first++))
		;
	return nr < 0;
}

static void set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

TEST_F(private, read_of_many_events_is_in_order)
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
	GIVES(read, EAGAIN, errno_of(read_events(self->fd, events, 1)));
}

TEST_F(private, buffer_smaller_than_an_event_is_refused)
{
	char buffer[EVENT_SIZE];
	size_t size;

	ASSERT_TRUE(end_some(self->fd, 7, 1));
	for (size = 0; size < EVENT_SIZE; size++)
		GIVES(read, EINVAL, errno_of(read(self->fd, buffer, size)));
	EXPECT_EQ(1, query(self->fd).unread);
}

TEST_F(private, all_fields_are_set)
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
	EXPECT_EQ(TWHEEL_REASON_COMPLETED, (int)event.reason);
	EXPECT_LE(before + HOUR, event.deadline);
	EXPECT_GE(after + HOUR, event.deadline);
	EXPECT_LE(after, event.time);
	EXPECT_GE(now_ns(), event.time);
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(0, event.error);
	EXPECT_EQ(CLOCK_MONOTONIC, (int)event.clock);
	EXPECT_EQ(0, event.expirations);
}

TEST_F(private, fault_keeps_the_remaining_events_in_order)
{
	char *edge = cliff();
	struct twheel_event *two = (void *)(edge - 2 * EVENT_SIZE);
	size_t into;
	int i;

	/* Two events fit; the third one would end @into bytes beyond the edge. */
	for (into = EVENT_SIZE; into > 0; into -= 16) {
		ASSERT_TRUE(end_some(self->fd, 0, 4));
		EXPECT_EQ(2 * EVENT_SIZE,
			  (size_t)read(self->fd, edge - 3 * EVENT_SIZE + into,
				       4 * EVENT_SIZE));
		memmove(two, edge - 3 * EVENT_SIZE + into, 2 * EVENT_SIZE);
		EXPECT_EQ(0, two[0].value);
		EXPECT_EQ(1, two[1].value);
		EXPECT_EQ(2, query(self->fd).unread);

		/* New events are queued after the remaining ones. */
		ASSERT_TRUE(end_some(self->fd, 4, 2));
		for (i = 2; i < 6; i += 2) {
			ASSERT_EQ(2, read_events(self->fd, two, 2));
			EXPECT_EQ(i, two[0].value);
			EXPECT_EQ(i + 1, two[1].value);
		}
		EXPECT_NO_EVENT(self->fd);
	}
}

TEST_F(private, fault_at_the_first_event_loses_nothing)
{
	struct twheel_event events[4];
	char *edge = cliff();
	void *bad[] = { NULL, edge, edge - 1, edge - EVENT_SIZE + 1 };
	unsigned int i;

	ASSERT_TRUE(end_some(self->fd, 0, 3));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		GIVES(read, EFAULT, errno_of(read(self->fd, bad[i], 4 * EVENT_SIZE)));
		EXPECT_EQ(3, query(self->fd).unread);
		EXPECT_TRUE(readable(self->fd, 0));
	}
	ASSERT_EQ(3, read_events(self->fd, events, 4));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, events[i].value);
}

TEST_F(private, fault_passes_the_event_to_the_next_reader)
{
	struct waiter bad = { .fd = self->fd, .to = (void *)cliff() };
	struct waiter good = { .fd = self->fd };
	pthread_t threads[2];

	set_blocking(self->fd, true);
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, wait_in_read, &bad));
	ASSERT_TRUE(waits_in(&bad, SYS_read));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, wait_in_read, &good));
	ASSERT_TRUE(waits_in(&good, SYS_read));
	ASSERT_TRUE(end_some(self->fd, 6, 1));
	pthread_join(threads[1], NULL);
	EXPECT_EQ(1, good.result);
	EXPECT_EQ(6, good.event.value);

	/* If the good reader was first, the bad one still waits. */
	ASSERT_TRUE(end_some(self->fd, 7, 1));
	pthread_join(threads[0], NULL);
	EXPECT_EQ(-1, bad.result);
	EXPECT_EQ(EFAULT, bad.error);
	EXPECT_EQ(1, query(self->fd).unread);
}

static int signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

TEST_F(private, blocking_read_is_restarted_or_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct waiter reader;
	pthread_t thread;
	int i;

	set_blocking(self->fd, true);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
		reader = (struct waiter) { .fd = self->fd };
		ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &reader));
		ASSERT_TRUE(waits_in(&reader, SYS_read));
		pthread_kill(thread, SIGUSR1);
		if (!i)
			ASSERT_TRUE(end_some(self->fd, 3, 1));
		pthread_join(thread, NULL);
		if (i) {
			GIVES(read, EINTR, reader.result < 0 ? reader.error : 0);
		} else {
			EXPECT_EQ(1, reader.result);
			EXPECT_EQ(3, reader.event.value);
		}
		action.sa_flags = 0;
	}
}

/* A call that blocks unexpectedly is interrupted after a timeout, and counted. */
static void let_no_call_block(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval often = { { 0, 500000 }, { 5, 0 } };

	signals = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

/* Split a buffer into consecutive pieces of these sizes. Return: the end of the last one. */
static char *split(struct iovec *iov, const size_t *sizes, int nr, char *at)
{
	int i;

	for (i = 0; i < nr; i++) {
		iov[i] = (struct iovec) { .iov_base = at, .iov_len = sizes[i] };
		at += sizes[i];
	}
	return at;
}

/* The remaining pieces are no reason to wait for more events. */
TEST_F(private, readv_does_not_wait_for_more_events)
{
	static const size_t sizes[] = { EVENT_SIZE, EVENT_SIZE, EVENT_SIZE };
	struct twheel_event events[3];
	struct iovec iov[3];

	set_blocking(self->fd, true);
	split(iov, sizes, 3, (char *)events);
	ASSERT_TRUE(end_some(self->fd, 5, 1));
	let_no_call_block();
	EXPECT_EQ((ssize_t)EVENT_SIZE, readv(self->fd, iov, 3));
	EXPECT_EQ(0, signals);
	EXPECT_EQ(5, events[0].value);
	ASSERT_TRUE(end_some(self->fd, 6, 2));
	EXPECT_EQ(2 * (ssize_t)EVENT_SIZE, readv(self->fd, iov, 3));
	EXPECT_EQ(0, signals);
	EXPECT_EQ(6, events[0].value);
	EXPECT_EQ(7, events[1].value);
}

TEST_F(private, readv_into_pieces_of_any_size)
{
	static const struct {
		size_t sizes[8];
		ssize_t nr_events;	/* -1 for EINVAL */
	} tries[] = {
		{ { 127, 1 }, 1 },
		{ { 1, 127 }, 1 },
		{ { 64, 64, 64, 64 }, 2 },
		{ { 0, 128, 0, 128, 0 }, 2 },
		{ { 7, 21, 33, 47, 59, 23, 69, 31 }, 2 },	/* 290 bytes */
		{ { 200, 200 }, 3 },
		{ { 1, 1, 1, 125, 128 }, 2 },
		{ { 255 }, 1 },
		{ { 127 }, -1 },
		{ { 63, 64 }, -1 },
		{ { 0, 0, 0 }, 0 },				/* returned by the VFS */
		{ { 1, 2, 3, 4, 5, 6, 7, 8 }, -1 },
	};
	struct twheel_event events[4];
	struct iovec iov[8];
	unsigned int i;
	ssize_t j, nr;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ASSERT_TRUE(end_some(self->fd, 10 * i, 4));
		memset(events, 0xa5, sizeof(events));
		split(iov, tries[i].sizes, 8, (char *)events);
		nr = readv(self->fd, iov, 8);
		if (tries[i].nr_events < 0) {
			EXPECT_EQ(-1, nr);
			EXPECT_EQ(EINVAL, errno);
		} else {
			EXPECT_EQ(tries[i].nr_events * (ssize_t)EVENT_SIZE, nr)
				TH_LOG("try %u", i);
		}
		for (j = 0; j < tries[i].nr_events; j++)
			EXPECT_EQ(10 * i + j, events[j].value);
		EXPECT_EQ(POISON, events[j].id);
		/* The remaining events are queued, in order. */
		for (; j < 4; j++) {
			ASSERT_EQ(1, read_events(self->fd, events, 1));
			EXPECT_EQ(10 * i + j, events[0].value);
		}
		EXPECT_NO_EVENT(self->fd);
	}
}

/* An event that cannot be stored completely stays in the queue. */
TEST_F(private, readv_faults_in_a_later_piece)
{
	char *edge = cliff(), buffer[EVENT_SIZE];
	struct iovec iov[3] = {
		{ buffer, 40 },			/* fully accessible */
		{ edge - 112, 144 },		/* the last 32 bytes are not accessible */
		{ buffer, EVENT_SIZE },
	};
	struct twheel_event event;

	ASSERT_TRUE(end_some(self->fd, 1, 3));
	EXPECT_EQ((ssize_t)EVENT_SIZE, readv(self->fd, iov, 3));
	EXPECT_EQ(2, query(self->fd).unread);
	EXPECT_EQ(-1, readv(self->fd, iov + 1, 2));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(2, query(self->fd).unread);
	for (event.value = 0; read_events(self->fd, &event, 1) == 1;)
		EXPECT_LE(2, event.value);
	EXPECT_EQ(3, event.value);
}

/* With RWF_NOWAIT, a read of a blocking file fails with EAGAIN or EOPNOTSUPP. */
TEST_F(private, nowait_does_not_block)
{
	struct twheel_event event;
	struct iovec iov = { &event, sizeof(event) };
	ssize_t got;

	set_blocking(self->fd, true);
	let_no_call_block();
	EXPECT_EQ(-1, preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT));
	EXPECT_TRUE(errno == EAGAIN || errno == EOPNOTSUPP)
		TH_LOG("error %s", strerror(errno));
	EXPECT_EQ(0, signals);
	ASSERT_TRUE(end_some(self->fd, 1, 1));
	got = preadv2(self->fd, &iov, 1, -1, RWF_NOWAIT);
	if (got < 0)
		EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(got < 0, query(self->fd).unread);
}

TEST_F(private, close_while_another_thread_reads)
{
	struct waiter w = { .fd = self->fd };
	pthread_t thread;

	set_blocking(self->fd, true);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &w));
	ASSERT_TRUE(waits_in(&w, SYS_read));
	ASSERT_NE(0, add_deadline(self->fd, 50 * MSEC, 0, 8));
	close(self->fd);
	self->fd = -1;
	pthread_join(thread, NULL);
	EXPECT_EQ(1, w.result);
	EXPECT_EQ(8, w.event.cookie);
}

TEST_F(private, splice_write_and_mmap_are_refused)
{
	struct twheel_event event;
	int pipes[2];

	ASSERT_TRUE(end_some(self->fd, 1, 1));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-1, splice(self->fd, NULL, pipes[1], NULL, 4096, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, sendfile(pipes[1], self->fd, NULL, 4096));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(self->fd, &event, sizeof(event)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	close(pipes[0]);
	close(pipes[1]);
}

TEST_F(private, poll_reports_only_pollin)
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

TEST_HARNESS_MAIN
