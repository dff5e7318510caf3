// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that end many operations: completing all operations of a file or of all files,
 * cancelling the watchers of a key, and draining a file, which then refuses adds and
 * reports the end of the file after its last event.
 */
#include "named.h"

#define NAME	"many"

FIXTURE_OF_A_PURGATORY(all, NAME, WITH_OTHER);

/* Add @nr operations, some with keys and some with a deadline. */
static bool add_some(int fd, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!(i % 2 ? add_keys(fd, TWHEEL_COND_ALL, 0, 3) :
			      add_deadline(fd, HOUR, 0, 0)))
			return false;
	return true;
}

/* Read all events. Return: number of events, -1 if one has other values. */
static int read_alike(int fd, __u32 reason, __u64 value, __s32 error)
{
	struct twheel_event event;
	int nr = 0;

	while (read_events(fd, &event, 1) == 1) {
		if (event.reason != reason || event.value != value || event.error != error)
			return -1;
		nr++;
	}
	return nr;
}

TEST_F(all, complete_all_of_a_file)
{
	ASSERT_TRUE(add_some(self->fd, 10) && add_some(self->other, 4));
	EXPECT_EQ(10, complete_all(self->fd, 7, 0, 0));
	EXPECT_EQ(10, read_alike(self->fd, TWHEEL_REASON_COMPLETED, 7, 0));
	EXPECT_NO_EVENT(self->other);
	EXPECT_EQ(4, query(self->fd).pending);
	EXPECT_EQ(0, complete_all(self->fd, 7, 0, 0));
	ASSERT_TRUE(add_some(self->fd, 3));
	EXPECT_EQ(3, complete_all(self->fd, 0, -ENODEV, 0));
	EXPECT_EQ(3, read_alike(self->fd, TWHEEL_REASON_COMPLETED, 0, -ENODEV));
}

TEST_F(all, complete_all_of_all_files)
{
	ASSERT_TRUE(add_some(self->fd, 10) && add_some(self->other, 4));
	EXPECT_EQ(14, complete_all(self->other, 8, 0, TWHEEL_COMPLETE_OTHERS));
	EXPECT_EQ(10, read_alike(self->fd, TWHEEL_REASON_COMPLETED, 8, 0));
	EXPECT_EQ(4, read_alike(self->other, TWHEEL_REASON_COMPLETED, 8, 0));
	EXPECT_EQ(0, query(self->fd).pending);
	EXPECT_EQ(0, query(self->fd).watches);
	EXPECT_EQ(14, query(self->fd).completed);
}

TEST_F(all, complete_all_ends_a_periodic_operation)
{
	struct twheel_add_args args = { .deadline = MSEC, .period = MSEC };

	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_TRUE(readable(self->fd, BUDGET_MS));
	EXPECT_EQ(1, complete_all(self->fd, 3, 0, 0));
	EXPECT_EVENT(self->fd, args.id, TWHEEL_REASON_COMPLETED, 3);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(all, cancel_key_cancels_all_watchers)
{
	__u64 stays = add_keys(self->fd, TWHEEL_COND_ANY, 0, 2);
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_NE(0, add_keys(i % 2 ? self->fd : self->other, TWHEEL_COND_ALL, 0, 3));
	EXPECT_EQ(100, key_cancel(self->fd, 3));
	EXPECT_EQ(50, read_alike(self->fd, TWHEEL_REASON_CANCELLED, 0, 0));
	EXPECT_EQ(50, read_alike(self->other, TWHEEL_REASON_CANCELLED, 0, 0));
	EXPECT_EQ(2, query(self->fd).watches);
	EXPECT_EQ(0, key_cancel(self->fd, 3));
	EXPECT_EQ(1, key_signal(self->fd, 1, 5));
	EXPECT_EVENT(self->fd, stays, TWHEEL_REASON_COMPLETED, 5);
}

/* An unread event is kept. */
TEST_F(all, drain_cancels_the_operations_of_the_file)
{
	__u64 ended = add_deadline(self->fd, HOUR, 0, 0);
	struct twheel_event event;

	ASSERT_EQ(0, op_complete(self->fd, ended, 9));
	ASSERT_TRUE(add_some(self->fd, 10) && add_some(self->other, 4));
	EXPECT_EQ(10, drain(self->fd));
	EXPECT_EQ(4, query(self->fd).pending);
	EXPECT_EQ(POLLIN, poll_now(self->fd) & POLLIN);
	EXPECT_EVENT(self->fd, ended, TWHEEL_REASON_COMPLETED, 9);
	EXPECT_EQ(10, read_alike(self->fd, TWHEEL_REASON_CANCELLED, 0, 0));
	EXPECT_EQ(0, read_events(self->fd, &event, 1));
	EXPECT_EQ(-1, read(self->fd, &event, sizeof(event) - 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(self->fd));
	EXPECT_EQ(0, drain(self->fd));
	EXPECT_NO_EVENT(self->other);
}

TEST_F(all, drained_file_refuses_adds)
{
	struct twheel_add_args args = { .deadline = HOUR };
	__u64 theirs = add_keys(self->other, TWHEEL_COND_ANY, 0, 1);

	ASSERT_EQ(0, drain(self->fd));
	GIVES(TWHEEL_IOC_ADD, ESHUTDOWN, op_add(self->fd, &args));
	EXPECT_EQ(0, args.id);
	/* The drained file can still signal the operations of other files. */
	EXPECT_EQ(1, key_signal(self->fd, 1, 4));
	EXPECT_EVENT(self->other, theirs, TWHEEL_REASON_COMPLETED, 4);
	EXPECT_EQ(0, op_add(self->other, &args));
}

TEST_F(all, drain_wakes_every_reader)
{
	struct waiter readers[3] = { 0 };
	int i, fd = twheel_open(0), events = 0;
	pthread_t threads[3];

	ASSERT_TRUE(add_some(fd, 2));
	for (i = 0; i < 3; i++) {
		readers[i].fd = fd;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wait_in_read, &readers[i]));
		ASSERT_TRUE(waits_in(&readers[i], SYS_read));
	}
	EXPECT_EQ(2, drain(fd));
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_LE(0, readers[i].result);
		events += readers[i].result;
	}
	/* One of them has read the end. */
	EXPECT_EQ(2, events);
	close(fd);
}

TEST_HARNESS_MAIN
