// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an operation may complete a poll of io_uring or of AIO, and that may signal an
 * eventfd, for which many epoll instances watch. The kernel visits all of them with interrupts off,
 * in the thread that wakes pollers.
 */
#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "many.h"
#include "ring.h"

#define OPS		64
#define INSTANCES	50
#define WATCHES		1000	/* of each instance, and each of another descriptor */

/*
 * By how much the operation of another user is late at most, with 50,000 watches in virtual
 * time. Measured on 6.12: 30 ms by polls of AIO, 0.3 ms by those of io_uring. This is the figure of
 * today, not a promise: the bound should be that of twheel_isolation_test.
 */
#define TODAY		(60 * MSEC)

FIXTURE(watchers) {
	int other;		/* of another user */
	int signalled;		/* eventfd */
	int files[OPS];		/* of a user with many watchers */
	struct ring rings[OPS];
	struct twheel_add_args args[OPS];
};

FIXTURE_VARIANT(watchers) {
	bool aio;
};

FIXTURE_VARIANT_ADD(watchers, ring_poll) { .aio = false };
FIXTURE_VARIANT_ADD(watchers, aio_poll) { .aio = true };

FIXTURE_SETUP(watchers)
{
	struct rlimit files = { 8192, 8192 };

	/* The reaper of this CPU ends the operations of both users. */
	ASSERT_TRUE(pin_to(0));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	ASSERT_TRUE(act_for(NEIGHBOUR));
	self->other = twheel_open(0);
	ASSERT_LE(0, self->other);
	ASSERT_TRUE(act_for(STRANGER));
	self->signalled = eventfd(0, EFD_NONBLOCK);
	ASSERT_LE(0, self->signalled);
}

FIXTURE_TEARDOWN(watchers)
{
	act_for(0);
}

/* Watch the eventfd under many numbers, in many epoll instances. */
static bool watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int copies[WATCHES], instance, i, j;

	for (i = 0; i < WATCHES; i++)
		copies[i] = dup(fd);
	for (i = 0; i < INSTANCES; i++) {
		instance = epoll_create1(0);
		for (j = 0; j < WATCHES; j++)
			if (epoll_ctl(instance, EPOLL_CTL_ADD, copies[j], &event))
				return false;
	}
	return true;
}

/* Add an operation that signals the eventfd when it ends. Return: false if the kernel cannot. */
static bool add_signalling(struct _test_data_watchers *self, int i, bool by_aio, aio_context_t aio)
{
	struct iocb poll = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_buf = POLLIN,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = self->signalled,
	}, *polls = &poll;
	struct io_uring_sqe *sqe;

	self->files[i] = twheel_open(O_NONBLOCK);
	if (self->files[i] < 0 || op_add(self->files[i], &self->args[i]))
		return false;
	poll.aio_fildes = self->files[i];
	if (by_aio)
		return syscall(SYS_io_submit, aio, 1, &polls) == 1;
	sqe = ring_entry(&self->rings[i]);
	sqe->fd = self->files[i];
	sqe->opcode = IORING_OP_POLL_ADD;
	sqe->poll32_events = POLLIN;
	return ring_submit(&self->rings[i]) && !is_complete(&self->rings[i]);
}

static bool ring_with_eventfd(struct ring *ring, int fd)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};

	return ring_setup(ring, &p) && !syscall(SYS_io_uring_register, ring->fd,
						IORING_REGISTER_EVENTFD, &fd, 1);
}

TEST_F(watchers, delay_other_users_as_today)
{
	struct twheel_event event;
	aio_context_t aio = 0;
	__u64 due;
	int i;

	if (variant->aio)
		ASSERT_EQ(0, syscall(SYS_io_setup, OPS, &aio));
	for (i = 0; i < OPS && !variant->aio; i++)
		if (!ring_with_eventfd(&self->rings[i], self->signalled))
			SKIP(return, "no such io_uring: %s", strerror(errno));
	ASSERT_TRUE(watch(self->signalled));
	due = now_ns() + 300 * MSEC;
	for (i = 0; i < OPS; i++) {
		self->args[i] = (struct twheel_add_args) {
			.flags = TWHEEL_ADD_ABSTIME,
			.clock = CLOCK_MONOTONIC,
			.deadline = due,
		};
		ASSERT_TRUE(add_signalling(self, i, variant->aio, aio));
	}
	ASSERT_TRUE(act_for(NEIGHBOUR));
	ASSERT_NE(0, add_deadline(self->other, due + 2 * MSEC, TWHEEL_ADD_ABSTIME, 0));
	ASSERT_GT(due, now_ns());
	ASSERT_EQ(1, read_events(self->other, &event, 1));
	TH_LOG("late by %llu us", (event.time - event.deadline) / 1000);
	if (virtual_time())
		EXPECT_GT(TODAY, event.time - event.deadline);
}

TEST_HARNESS_MAIN
