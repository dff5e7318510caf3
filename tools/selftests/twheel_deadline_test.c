// SPDX-License-Identifier: GPL-2.0
/*
 * Times of expiry: on time from the first operation of a user on, immediate if the deadline has
 * passed, and never without a deadline. timer_due_kunit.c tests exactness and order at any
 * distance.
 */
#include "named.h"

FIXTURE(deadline) {
	int fd;
};

FIXTURE_SETUP(deadline)
{
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
	settle();
}

FIXTURE_TEARDOWN(deadline)
{
	close(self->fd);
}

static bool expires_on_time(int fd)
{
	struct twheel_event event;

	settle();
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

TEST_F(deadline, never_and_the_largest_deadline_do_not_expire)
{
	static const struct {
		__u64 deadline;
		__u32 flags;
		__u64 shown;
	} never[] = {
		{ TWHEEL_NEVER, 0, TWHEEL_NEVER },
		{ TWHEEL_NEVER, TWHEEL_ADD_ABSTIME, TWHEEL_NEVER },
		{ KTIME_LAST, 0, TWHEEL_NEVER },
		{ KTIME_LAST, TWHEEL_ADD_ABSTIME, KTIME_LAST },
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
		EXPECT_EQ(never[i].shown, event.deadline);
	}
}

TEST_HARNESS_MAIN
