// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of a file: at most max_pending pending operations, and at most twice as
 * many pending operations and unread events together. Refused adds are counted, and
 * adds succeed again when an operation has ended or its event was read.
 *
 * Needs a small module parameter max_pending.
 */
#include "named.h"

#define MOST	100000

FIXTURE(limit) {
	int fd;
	unsigned int max;
	__u64 *ids;
};

FIXTURE_SETUP(limit)
{
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	self->max = query(self->fd).max_file_pending;
	ASSERT_NE(0, self->max);
	ASSERT_EQ(module_parameter("max_pending"), self->max);
	if (self->max > MOST)
		SKIP(return, "max_pending is %u: load twheel with max_pending=64", self->max);
	self->ids = calloc(2 * self->max, sizeof(*self->ids));
	ASSERT_NE(NULL, self->ids);
}

FIXTURE_TEARDOWN(limit)
{
	free(self->ids);
	close(self->fd);
}

/* Add operations until one is refused. Return: number of added operations. */
static unsigned int fill(int fd, __u64 *ids, unsigned int max)
{
	unsigned int nr;

	for (nr = 0; nr < max; nr++) {
		ids[nr] = add_keys(fd, TWHEEL_COND_ANY, 0, 1);
		if (!ids[nr])
			break;
	}
	return nr;
}

/* Return: true if an add is refused with @error. */
static bool refused(int fd, int error)
{
	return !add_deadline(fd, HOUR, 0, 0) && errno == error;
}

static unsigned int read_all(int fd)
{
	struct twheel_event event;
	unsigned int nr = 0;

	while (read_events(fd, &event, 1) == 1)
		nr++;
	return nr;
}

TEST_F(limit, max_pending_operations_are_added)
{
	ASSERT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(self->max, query(self->fd).pending);
	EXPECT_EQ(self->max, query(self->fd).added);
	EXPECT_EQ(1, query(self->fd).rejected);
	EXPECT_EQ(self->max, query(self->fd).watches);
	EXPECT_TRUE(refused(self->fd, ENOSPC));
	EXPECT_EQ(2, query(self->fd).rejected);
	EXPECT_EQ(2, query(self->fd).rejected_enospc);
}

TEST_F(limit, past_deadlines_are_counted)
{
	unsigned int nr;

	/* Twice max is the limit, regardless of the speed of expiry. */
	for (nr = 0; nr <= 2 * self->max;) {
		if (add_deadline(self->fd, 0, 0, nr)) {
			nr++;
			continue;
		}
		if (errno == ENOBUFS)
			break;
		ASSERT_EQ(ENOSPC, errno);
		ASSERT_TRUE(wait_for(query(self->fd).pending == 0));
	}
	EXPECT_EQ(2 * self->max, nr);
	ASSERT_TRUE(wait_for(query(self->fd).unread == nr));
	EXPECT_EQ(nr, read_all(self->fd));
}

TEST_F(limit, add_succeeds_after_cancel_and_complete)
{
	ASSERT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
	ASSERT_EQ(0, op_cancel(self->fd, self->ids[0]));
	EXPECT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(self->fd, ENOSPC));
	ASSERT_EQ(0, op_complete(self->fd, self->ids[self->max - 1], 1));
	EXPECT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(self->fd, ENOSPC));
}

TEST_F(limit, adds_succeed_after_signal)
{
	ASSERT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
	ASSERT_EQ(self->max, key_signal(self->fd, 1, 0));
	EXPECT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
	EXPECT_EQ(2 * self->max, query(self->fd).unread + query(self->fd).pending);
}

TEST_F(limit, adds_succeed_after_expiry)
{
	unsigned int i;

	/* None expires before the check. */
	for (i = 0; i < self->max; i++) {
		self->ids[i] = add_deadline(self->fd, HOUR, 0, 0);
		ASSERT_NE(0, self->ids[i]);
	}
	EXPECT_TRUE(refused(self->fd, ENOSPC));
	for (i = 0; i < self->max; i++)
		ASSERT_EQ(1, op_rearm(self->fd, self->ids[i], MSEC, 0));
	ASSERT_TRUE(wait_for(query(self->fd).pending == 0));
	EXPECT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
}

/* Bad input gives EINVAL for a full file, too. */
TEST_F(limit, bad_input_is_not_refused_for_the_limit)
{
	struct twheel_watch_spec specs[2] = { spec_of(1, 1), spec_of(1, 1) };
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_ANY,
		.deadline = HOUR,
		.nr_keys = 2,
		.key_size = sizeof(struct twheel_watch_spec),
		.keys = address(specs),
	};

	ASSERT_EQ(self->max, fill(self->fd, self->ids, self->max));
	EXPECT_EQ(-1, ioctl(self->fd, TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(EINVAL, errno);
	specs[1] = spec_of(2, 1);
	EXPECT_EQ(-1, ioctl(self->fd, TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(ENOSPC, errno);
	specs[1].need = ~0U;
	EXPECT_EQ(-1, ioctl(self->fd, TWHEEL_IOC_ADD, &args));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, query(self->fd).rejected);
}

/* Reach twice max_pending: max + 1 unread, max - 1 pending. */
static bool fill_with_unread(int fd, __u64 *ids, unsigned int max)
{
	unsigned int i;

	if (fill(fd, ids, 2 * max) != max)
		return false;
	for (i = 0; i < max; i++)
		if (op_cancel(fd, ids[i]))
			return false;
	return fill(fd, ids, 2 * max) == max && !op_cancel(fd, ids[0]);
}

TEST_F(limit, unread_events_are_counted)
{
	struct twheel_query_args q;
	struct twheel_event event;

	ASSERT_TRUE(fill_with_unread(self->fd, self->ids, self->max));
	EXPECT_EQ(-1, read(self->fd, cliff(), 4096));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_TRUE(refused(self->fd, ENOBUFS));
	q = query(self->fd);
	EXPECT_EQ(self->max + 1, q.unread);
	EXPECT_EQ(self->max - 1, q.pending);
	EXPECT_EQ(2 * self->max, q.added);
	EXPECT_EQ(3, q.rejected);
	EXPECT_EQ(2, q.rejected_enospc);
	EXPECT_EQ(1, q.rejected_enobufs);
	EXPECT_EQ(0, q.rejected_edquot);
	ASSERT_EQ(1, read_events(self->fd, &event, 1));
	EXPECT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fd, HOUR, 0, 0));
}

TEST_F(limit, no_event_is_lost_at_the_limit)
{
	unsigned int i;

	ASSERT_TRUE(fill_with_unread(self->fd, self->ids, self->max));
	for (i = 1; i < self->max; i++)
		ASSERT_EQ(0, op_cancel(self->fd, self->ids[i]));
	EXPECT_TRUE(refused(self->fd, ENOBUFS));
	EXPECT_EQ(2 * self->max, query(self->fd).unread);
	EXPECT_EQ(2 * self->max, read_all(self->fd));
	EXPECT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
}

TEST_F(limit, other_calls_work_at_the_limit)
{
	struct twheel_watch_spec more = spec_of(2, 1);

	ASSERT_EQ(self->max, fill(self->fd, self->ids, 2 * self->max));
	EXPECT_EQ(0, op_watch(self->fd, self->ids[0], &more, 1));
	EXPECT_EQ(1, key_signal(self->fd, 2, 9));
	EXPECT_EVENT(self->fd, self->ids[0], TWHEEL_REASON_COMPLETED, 9);
	EXPECT_EQ(1, query(self->fd).rejected);
}

TEST_HARNESS_MAIN
