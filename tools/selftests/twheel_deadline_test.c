// SPDX-License-Identifier: GPL-2.0
/*
 * Times of expiry: on time from the first operation of a user on, immediate if the deadline has
 * passed, and never without a deadline. Deadlines are moved, also only to an earlier or later one.
 * timer_due_kunit.c tests exactness and order at any distance.
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

static __u64 deadline_of(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? 0 : pending.deadline;
}

TEST_F(deadline, rearm_to_a_point_in_time)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0), when = now_ns() + 2 * HOUR;

	ASSERT_EQ(1, op_rearm(self->fd, id, when, TWHEEL_REARM_ABSTIME));
	EXPECT_EQ(when, deadline_of(self->fd, id));
	ASSERT_EQ(1, op_rearm(self->fd, id, 1, TWHEEL_REARM_ABSTIME));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(deadline, rearm_to_a_time_of_the_clock_of_the_operation)
{
	struct twheel_add_args args = {
		.clock = CLOCK_REALTIME,
		.deadline = TWHEEL_NEVER,
	};
	struct timespec now;

	ASSERT_EQ(0, op_add(self->fd, &args));
	clock_gettime(CLOCK_REALTIME, &now);
	ASSERT_EQ(1, op_rearm(self->fd, args.id, HOUR, 0));
	EXPECT_LE(now.tv_sec * SEC + HOUR, deadline_of(self->fd, args.id));
	clock_gettime(CLOCK_REALTIME, &now);
	EXPECT_GE((now.tv_sec + 1) * SEC + HOUR, deadline_of(self->fd, args.id));
}

TEST_F(deadline, rearm_to_never_and_back)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);

	ASSERT_EQ(1, op_rearm(self->fd, id, TWHEEL_NEVER, 0));
	EXPECT_EQ(TWHEEL_NEVER, deadline_of(self->fd, id));
	ASSERT_EQ(1, op_rearm(self->fd, id, MSEC, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

/* Each mode, from a deadline in two hours to deadlines in one and three hours. */
TEST_F(deadline, rearm_in_each_mode)
{
	static const struct {
		__u32 mode;
		unsigned int to;
		int moved;
	} tries[] = {
		{ TWHEEL_REARM_ALWAYS, 1, 1 }, { TWHEEL_REARM_ALWAYS, 3, 1 },
		{ TWHEEL_REARM_IF_EARLIER, 1, 1 }, { TWHEEL_REARM_IF_EARLIER, 3, 0 },
		{ TWHEEL_REARM_IF_LATER, 1, 0 }, { TWHEEL_REARM_IF_LATER, 3, 1 },
		{ TWHEEL_REARM_IF_EARLIER, 2, 0 }, { TWHEEL_REARM_IF_LATER, 2, 0 },
	};
	__u64 start = now_ns(), id;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		id = add_deadline(self->fd, start + 2 * HOUR, TWHEEL_ADD_ABSTIME, 0);
		ASSERT_NE(0, id);
		EXPECT_EQ(tries[i].moved,
			  op_rearm(self->fd, id, start + tries[i].to * HOUR,
				   TWHEEL_REARM_ABSTIME | tries[i].mode));
		EXPECT_EQ(start + (tries[i].moved ? tries[i].to : 2) * HOUR,
			  deadline_of(self->fd, id));
	}
}

/* Slack makes an operation late by no more than itself, never early. Also that of an add. */
TEST_F(deadline, slack_is_never_early)
{
	static const __u64 slacks[] = { 0, 1, MSEC, 30 * MSEC, TWHEEL_SLACK_COARSE };
	struct twheel_event event;
	unsigned int i;
	__u64 slack;

	for (i = 0; i < 2 * ARRAY_SIZE(slacks); i++) {
		struct twheel_add_args add = {
			.clock = CLOCK_MONOTONIC,
			.deadline = i % 2 ? HOUR : 15 * MSEC,
			.slack = slacks[i / 2],
		};
		struct twheel_rearm_args rearm = { .deadline = 15 * MSEC, .slack = slacks[i / 2] };
		__u64 before = now_ns();

		ASSERT_EQ(0, op_add(self->fd, &add));
		rearm.id = add.id;
		if (i % 2)
			ASSERT_EQ(0, call(self->fd, TWHEEL_IOC_REARM, &rearm));
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_LE(before + 15 * MSEC, event.time);
		slack = slacks[i / 2] == TWHEEL_SLACK_COARSE ? 15 * MSEC / 8 : slacks[i / 2];
		EXPECT_LE(event.deadline, event.time);
		EXPECT_GE(latest(self->fd, &event, slack), event.time);
	}
}

TEST_HARNESS_MAIN
