// SPDX-License-Identifier: GPL-2.0
/*
 * Reading events through io_uring: a read completes when an event is queued, without a
 * worker thread that blocks, and takes each event once. The ring is used without a
 * library.
 */
#include "named.h"

#define NAME		"uring"

/* Submit a read of up to @nr events, or into the pieces @iov. */
static bool ring_read(struct ring *ring, int fd, struct twheel_event *events, unsigned int nr,
		      const struct iovec *iov, __u64 name)
{
	struct io_uring_sqe *sqe = ring_entry(ring);

	*sqe = (struct io_uring_sqe) {
		.opcode = iov ? IORING_OP_READV : IORING_OP_READ,
		.fd = fd,
		.off = ~0ULL,
		.addr = iov ? address(iov) : address(events),
		.len = iov ? nr : nr * sizeof(*events),
		.user_data = name,
	};
	return ring_submit(ring);
}

FIXTURE(uring) {
	long users;		/* module reference count before this test */
	int fd;			/* blocking */
	struct ring ring;
};

FIXTURE_SETUP(uring)
{
	remove_all_named();
	self->users = module_users();
	if (!ring_open(&self->ring))
		SKIP(return, "no io_uring: %s", strerror(errno));
	ASSERT_EQ(0, create_named(NAME, 0600));
	self->fd = twheel_open_named(NAME, 0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uring)
{
	if (self->ring.fd >= 0)
		ring_close(&self->ring);
	close(self->fd);
	remove_all_named();
	/* A ring releases its files some time after it was closed. */
	EXPECT_TRUE(wait_for(module_users() == self->users));
}

static bool end_one(int fd, __u32 flags, __u64 value)
{
	__u64 id = add_deadline(fd, HOUR, flags, 0);

	return id && !op_complete(fd, id, value);
}

TEST_F(uring, read_of_queued_events)
{
	struct twheel_event events[4];
	__u64 name;

	ASSERT_TRUE(end_one(self->fd, 0, 1) && end_one(self->fd, 0, 2));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, events, 4, NULL, 7));
	EXPECT_EQ(2 * (int)sizeof(events[0]), ring_result(&self->ring, &name));
	EXPECT_EQ(7, name);
	EXPECT_EQ(1, events[0].value);
	EXPECT_EQ(2, events[1].value);
	EXPECT_EQ(0, query(self->fd).unread);
}

TEST_F(uring, read_waits_for_an_event)
{
	struct twheel_event event;
	__u64 name, id;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 8));
	EXPECT_FALSE(is_complete(&self->ring));
	id = add_deadline(self->fd, 20 * MSEC, 0, 0);
	EXPECT_EQ((int)sizeof(event), ring_result(&self->ring, &name));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
}

TEST_F(uring, readv_into_odd_pieces)
{
	struct twheel_event events[2];
	char *at = (char *)events;
	struct iovec iov[3] = { { at, 5 }, { at + 5, 90 }, { at + 95, 161 } };
	__u64 name;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 3, iov, 9));
	ASSERT_TRUE(end_one(self->fd, 0, 5));
	EXPECT_EQ((int)sizeof(events[0]), ring_result(&self->ring, &name));
	EXPECT_EQ(5, events[0].value);
	ASSERT_TRUE(end_one(self->fd, 0, 6) && end_one(self->fd, 0, 7));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 3, iov, 9));
	EXPECT_EQ((int)sizeof(events), ring_result(&self->ring, &name));
	EXPECT_EQ(6, events[0].value);
	EXPECT_EQ(7, events[1].value);
}

/* Several reads of one queue: each event is delivered to one of them. */
TEST_F(uring, each_event_completes_one_read)
{
	struct twheel_event events[4];
	int events_fd = open_events(self->fd, 0);
	unsigned int seen = 0;
	__u64 name;
	int i;

	ASSERT_LE(0, events_fd);
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(ring_read(&self->ring, events_fd, &events[i], 1, NULL, i));
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(end_one(self->fd, TWHEEL_ADD_DETACHED, 1 << i));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ((int)sizeof(events[0]), ring_result(&self->ring, &name));
		ASSERT_GT(4, name);
		seen += events[name].value;
	}
	EXPECT_EQ(15, seen);
	EXPECT_FALSE(is_complete(&self->ring));
	close(events_fd);
}

TEST_F(uring, read_at_the_end)
{
	struct twheel_event event;
	__u64 name;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 1));
	EXPECT_EQ(0, drain(self->fd));
	EXPECT_EQ(0, ring_result(&self->ring, &name));
}

/* A pending read holds the file; closing the ring cancels it. */
TEST_F(uring, ring_is_closed_during_a_read)
{
	struct twheel_event event;

	ASSERT_TRUE(ring_read(&self->ring, self->fd, &event, 1, NULL, 1));
	ring_close(&self->ring);
	usleep(10000);
	ASSERT_TRUE(end_one(self->fd, 0, 3));
	/* The event was not lost, unless the read completed before it was cancelled. */
	if (readable(self->fd, 0))
		EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(3, event.value);
}

TEST_F(uring, bad_buffers)
{
	struct twheel_event event;
	struct iovec small = { &event, sizeof(event) - 1 };
	__u64 name;

	ASSERT_TRUE(end_one(self->fd, 0, 4));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, (void *)cliff(), 1, NULL, 1));
	EXPECT_EQ(-EFAULT, ring_result(&self->ring, &name));
	ASSERT_TRUE(ring_read(&self->ring, self->fd, NULL, 1, &small, 1));
	EXPECT_EQ(-EINVAL, ring_result(&self->ring, &name));
	EXPECT_EQ(1, query(self->fd).unread);
	EXPECT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_EQ(4, event.value);
}

TEST_HARNESS_MAIN
