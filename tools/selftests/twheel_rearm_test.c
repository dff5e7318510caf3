// SPDX-License-Identifier: GPL-2.0
/*
 * Moving deadlines: always, only to an earlier or a later deadline, and the reported
 * result; many heartbeats in one batch; and moving a deadline while it expires.
 */
#include "private.h"

static __u64 deadline_of(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? 0 : pending.deadline;
}

TEST_F(private, to_a_later_deadline)
{
	__u64 id = add_deadline(self->fd, 2 * SEC, 0, 0), control, before = now_ns();

	ASSERT_EQ(1, op_rearm(self->fd, id, HOUR, 0));
	EXPECT_LE(before + HOUR, deadline_of(self->fd, id));
	control = add_deadline(self->fd, 2100 * MSEC, 0, 0);
	EXPECT_EVENT(self->fd, control, TWHEEL_REASON_EXPIRED, 0);
	EXPECT_EQ(0, op_cancel(self->fd, id));
}

TEST_F(private, to_an_earlier_deadline)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0), before = now_ns();
	struct twheel_event event;

	ASSERT_EQ(1, op_rearm(self->fd, id, 10 * MSEC, 0));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
	EXPECT_LE(before + 10 * MSEC, event.deadline);
	EXPECT_LE(event.deadline, event.time);
	EXPECT_GE(latest(self->fd, &event, 0), event.time);
	EXPECT_EQ(1, event.expirations);
}

TEST_F(private, to_a_point_in_time)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0), when = now_ns() + 2 * HOUR;

	ASSERT_EQ(1, op_rearm(self->fd, id, when, TWHEEL_REARM_ABSTIME));
	EXPECT_EQ(when, deadline_of(self->fd, id));
	ASSERT_EQ(1, op_rearm(self->fd, id, 1, TWHEEL_REARM_ABSTIME));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(private, to_a_time_of_the_clock_of_the_operation)
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

TEST_F(private, to_never_and_back)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);

	ASSERT_EQ(1, op_rearm(self->fd, id, TWHEEL_NEVER, 0));
	EXPECT_EQ(TWHEEL_NEVER, deadline_of(self->fd, id));
	ASSERT_EQ(1, op_rearm(self->fd, id, MSEC, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

/* Each mode, from a deadline in two hours to deadlines in one and three hours. */
TEST_F(private, each_mode)
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

TEST_F(private, never_is_later_than_any_deadline)
{
	__u64 id = add_deadline(self->fd, TWHEEL_NEVER, 0, 0);

	EXPECT_EQ(0, op_rearm(self->fd, id, HOUR, TWHEEL_REARM_IF_LATER));
	EXPECT_EQ(1, op_rearm(self->fd, id, HOUR, TWHEEL_REARM_IF_EARLIER));
	EXPECT_EQ(0, op_rearm(self->fd, id, TWHEEL_NEVER, TWHEEL_REARM_IF_EARLIER));
	EXPECT_EQ(1, op_rearm(self->fd, id, TWHEEL_NEVER, TWHEEL_REARM_IF_LATER));
	EXPECT_EQ(TWHEEL_NEVER, deadline_of(self->fd, id));
}

TEST_F(private, keys_are_unchanged)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);

	EXPECT_EQ(0, key_signal(self->fd, 1, 1));
	EXPECT_EQ(1, op_rearm(self->fd, id, HOUR, 0));
	EXPECT_EQ(2, query(self->fd).watches);
	EXPECT_EQ(1, key_signal(self->fd, 2, 2));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 2);
}

/* Slack makes an operation late by no more than itself, never early. Also that of an add. */
TEST_F(private, slack_is_never_early)
{
	static const __u64 slacks[] = { 1, MSEC, 30 * MSEC, TWHEEL_SLACK_COARSE };
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

TEST_F(private, ended_operation_stays_ended)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);
	__u32 mode;

	ASSERT_EQ(0, op_cancel(self->fd, id));
	for (mode = TWHEEL_REARM_ALWAYS; mode <= TWHEEL_REARM_IF_LATER; mode += 2) {
		EXPECT_EQ(-1, op_rearm(self->fd, id, 1, mode));
		EXPECT_EQ(EALREADY, errno);
	}
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EQ(-1, op_rearm(self->fd, id, 1, 0));
	EXPECT_EQ(EALREADY, errno);
}

/*
 * Members with a session each, and one call for all of their heartbeats. No session may
 * expire within its timeout after a heartbeat, regardless of the speed of this test.
 */
#define NR_MEMBERS	50
#define SESSION		SEC

struct members {
	__u64 id[NR_MEMBERS];
	__u64 heard[NR_MEMBERS];	/* lower bound of the time of the last heartbeat */
	bool over[NR_MEMBERS];
};

static void beat(int fd, struct members *members, int nr)
{
	struct twheel_command commands[NR_MEMBERS] = { 0 };
	struct twheel_result results[NR_MEMBERS];
	struct twheel_batch_args args = {
		.commands = address(commands),
		.command_size = sizeof(struct twheel_command),
		.results = address(results),
		.result_size = sizeof(struct twheel_result),
		.nr = nr,
	};
	__u64 now = now_ns();
	int i;

	for (i = 0; i < nr; i++) {
		commands[i].call = TWHEEL_CALL_REARM;
		commands[i].rearm.id = members->id[i];
		commands[i].rearm.deadline = SESSION;
		commands[i].rearm.flags = TWHEEL_REARM_IF_LATER;
	}
	if (call(fd, TWHEEL_IOC_BATCH, &args) || args.done != (__u32)nr)
		return;
	for (i = 0; i < nr; i++)
		if (!results[i].error && results[i].value == 1)
			members->heard[i] = now;
}

TEST_F(private, heartbeats_in_one_batch)
{
	struct members members = { 0 };
	struct twheel_event event;
	bool silent = false;
	int i, rounds = 0;

	for (i = 0; i < NR_MEMBERS; i++) {
		members.heard[i] = now_ns();
		members.id[i] = add_deadline(self->fd, SESSION, 0, i);
		ASSERT_NE(0, members.id[i]);
	}
	/* The last member has no heartbeats. */
	while (!silent) {
		beat(self->fd, &members, NR_MEMBERS - 1);
		rounds++;
		if (!readable(self->fd, 50))
			continue;
		ASSERT_EQ(1, read_events(self->fd, &event, 1));
		ASSERT_GT(NR_MEMBERS, event.cookie);
		EXPECT_FALSE(members.over[event.cookie]);
		members.over[event.cookie] = true;
		EXPECT_LE(members.heard[event.cookie] + SESSION, event.time);
		silent = event.cookie == NR_MEMBERS - 1;
	}
	EXPECT_LT(0, rounds);
	EXPECT_LE(1, query(self->fd).expired);
}

#define NR_RACES	2000

/* Either the deadline is moved and does not expire, or the call fails. */
TEST_F(private, rearm_races_with_expiry)
{
	unsigned int moved = 0, late = 0;
	struct twheel_event event;
	int i, answer;
	__u64 id;

	for (i = 0; i < NR_RACES; i++) {
		id = add_deadline(self->fd, i % 20 * 100 * USEC, 0, 0);
		ASSERT_NE(0, id);
		usleep(i % 7 * 300);
		answer = op_rearm(self->fd, id, HOUR, 0);
		if (answer == 1) {
			moved++;
			EXPECT_NO_EVENT(self->fd);
			ASSERT_EQ(0, op_cancel(self->fd, id));
			EXPECT_EVENT(self->fd, id, TWHEEL_REASON_CANCELLED, 0);
			continue;
		}
		ASSERT_EQ(EALREADY, errno);
		late++;
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
		EXPECT_LE(event.deadline, event.time);
	}
	EXPECT_NE(0, moved);
	EXPECT_NE(0, late);
	EXPECT_EQ(0, query(self->fd).pending);
}

TEST_HARNESS_MAIN
