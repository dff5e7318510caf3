// SPDX-License-Identifier: GPL-2.0
/*
 * Times of expiry: never early, in order, exact for near and distant deadlines, immediate
 * if the deadline has passed, and never without a deadline.
 */
#include <sched.h>
#include "named.h"

FIXTURE(deadline) {
	int fd;
};

FIXTURE_SETUP(deadline)
{
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(deadline)
{
	close(self->fd);
}

static bool expires_on_time(int fd)
{
	struct twheel_event event;

	return add_deadline(fd, 3 * MSEC, 0, 0) && next_event(fd, &event) &&
	       event.reason == TWHEEL_REASON_EXPIRED && event.time >= event.deadline &&
	       event.time <= latest(fd, &event, 0);
}

/* The threads exist before, and its wheels are created before the deadline begins. */
TEST_F(deadline, first_operation_of_a_user_is_on_time)
{
	uid_t user;

	for (user = 60001; user < 60004; user++)
		EXPECT_TRUE(as_user(user, expires_on_time(self->fd)));
}

TEST_F(deadline, earlier_ticks_expire_first)
{
	__u64 tick = query(self->fd).tick_ns, start;
	struct twheel_event event;
	int i, nr = 40;
	cpu_set_t one;

	/* Add on one CPU, so that the operations are on one shard. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	start = now_ns() + 3 * SEC;
	for (i = 0; i < nr; i++)
		ASSERT_NE(0, add_deadline(self->fd, start + 2 * tick * (i * 17 % nr),
					  TWHEEL_ADD_ABSTIME, i * 17 % nr));
	ASSERT_GT(start, now_ns());
	for (i = 0; i < nr; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(i, event.cookie);
		EXPECT_LE(event.deadline, event.time);
		EXPECT_GE(latest(self->fd, &event, 0), event.time);
	}
}

static int by_size(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

TEST_F(deadline, distant_deadline_is_exact)
{
	__u64 tick = query(self->fd).tick_ns, late[21];
	struct twheel_event event;
	unsigned int i, nr = ARRAY_SIZE(late);

	/*
	 * Beyond two levels of the default wheel, where a wheel that does not cascade is
	 * late by seconds. In real time, use the median over some seconds and allow much time
	 * for the wakeup, since a virtual CPU may be stopped temporarily.
	 */
	for (i = 0; i < nr; i++)
		ASSERT_NE(0, add_deadline(self->fd, 4400 * MSEC + i * 200 * MSEC, 0, 0));
	for (i = 0; i < nr; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_LE(event.deadline, event.time);
		EXPECT_GE(latest(self->fd, &event, 0), event.time);
		late[i] = event.time - event.deadline;
	}
	qsort(late, nr, sizeof(late[0]), by_size);
	EXPECT_LE(late[nr / 2], tick + 100 * MSEC);
}

TEST_F(deadline, past_deadline_expires_immediately)
{
	__u64 past[] = { 0, 1, now_ns() - 1, now_ns() - SEC / 100 };
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	for (i = 0; i < ARRAY_SIZE(past); i++) {
		id = add_deadline(self->fd, past[i], TWHEEL_ADD_ABSTIME, 0);
		ASSERT_NE(0, id);
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		EXPECT_EQ(past[i], event.deadline);
		EXPECT_LE(past[i], event.time);
	}
	id = add_deadline(self->fd, 0, 0, 0);
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(deadline, never_does_not_expire)
{
	static const struct {
		__u64 deadline;
		__u32 flags;
	} never[] = {
		{ TWHEEL_NEVER, 0 },
		{ TWHEEL_NEVER, TWHEEL_ADD_ABSTIME },
		{ KTIME_LAST, 0 },
	};
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	for (i = 0; i < ARRAY_SIZE(never); i++) {
		id = add_deadline(self->fd, never[i].deadline, never[i].flags, 0);
		ASSERT_NE(0, id);
		EXPECT_FALSE(readable(self->fd, 20));
		ASSERT_EQ(0, op_cancel(self->fd, id));
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);
		EXPECT_EQ(TWHEEL_NEVER, event.deadline);
	}
}

TEST_F(deadline, largest_deadline_is_kept)
{
	__u64 id = add_deadline(self->fd, KTIME_LAST, TWHEEL_ADD_ABSTIME, 0);
	struct twheel_event event;

	ASSERT_NE(0, id);
	EXPECT_FALSE(readable(self->fd, 20));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(KTIME_LAST, event.deadline);
}

TEST_HARNESS_MAIN
