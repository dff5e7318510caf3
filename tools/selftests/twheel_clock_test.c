// SPDX-License-Identifier: GPL-2.0
/*
 * Deadlines on each clock, also in time namespaces, whose clocks have an offset: on time from the
 * first operation of a user on, immediate if the deadline has passed, never without one, and moved.
 * And while CLOCK_REALTIME is set, forward and backward. timer_due_kunit.c tests exactness and
 * order at any distance, and twheel_timerfd_test random changes of the clock.
 */
#include <sched.h>
#include "named.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif

#define NAME	"clock"

static const __u32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };

/* In a new time namespace, except for the first variant. */
FIXTURE(clocks) {
	int fd;
	int home;			/* the initial namespace */
	int away;			/* the new one */
	__u64 shift;			/* between the ticks of both, at most */
	__s64 offset[CLOCK_BOOTTIME + 1];
};

FIXTURE_VARIANT(clocks) {
	int ahead;
};

FIXTURE_VARIANT_ADD(clocks, initial) { .ahead = 0 };
FIXTURE_VARIANT_ADD(clocks, ahead) { .ahead = 1 };
FIXTURE_VARIANT_ADD(clocks, behind) { .ahead = -1 };

/* Enter a new namespace. Return: its descriptor, or -1. */
static int enter_namespace(const __s64 offset[CLOCK_BOOTTIME + 1])
{
	FILE *file = unshare(CLONE_NEWTIME) ? NULL : fopen("/proc/self/timens_offsets", "w");
	int fd = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);

	if (!file)
		return -1;
	fprintf(file, "monotonic %lld 0\nboottime %lld 0\n",
		offset[CLOCK_MONOTONIC] / (__s64)SEC, offset[CLOCK_BOOTTIME] / (__s64)SEC);
	return !fclose(file) && !setns(fd, CLONE_NEWTIME) ? fd : -1;
}

FIXTURE_SETUP(clocks)
{
	__s64 uptime = now_ns() / SEC;

	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	if (variant->ahead) {
		/* No clock is negative. */
		self->offset[CLOCK_MONOTONIC] = (variant->ahead < 0 ? -(uptime / 2) : 1000) * SEC;
		self->offset[CLOCK_BOOTTIME] = (variant->ahead < 0 ? -(uptime / 3) : 3000) * SEC;
		self->home = open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC);
		self->away = enter_namespace(self->offset);
		if (self->away < 0)
			SKIP(return, "no time namespaces: %s", strerror(errno));
		self->shift = query(self->fd).tick_ns;
	}
	settle();
}

FIXTURE_TEARDOWN(clocks)
{
	close(self->fd);
	remove_all_named();
}

/* Add an operation with a deadline of a clock. Return: its ID, 0 if refused. */
static __u64 add_by(int fd, __u32 clock, __u64 deadline, __u32 flags, __u64 cookie)
{
	return add_fields(fd, .clock = clock, .deadline = deadline, .flags = flags,
			  .cookie = cookie);
}

TEST_F(clocks, expiry_is_never_early_on_any_clock)
{
	__u64 asked[2 * ARRAY_SIZE(clocks)], ahead, tick = query(self->fd).tick_ns;
	unsigned int nr = ARRAY_SIZE(clocks);
	struct twheel_event event;
	unsigned int i;
	__u32 clock;

	for (i = 0; i < 2 * nr; i++) {
		clock = clocks[i / 2];
		ahead = (i + 1) * 15 * MSEC + 12345;
		asked[i] = time_by(clock) + ahead;
		ASSERT_NE(0, add_by(self->fd, clock, i % 2 ? ahead : asked[i],
				    i % 2 ? 0 : TWHEEL_ADD_ABSTIME, i));
	}
	for (i = 0; i < 2 * nr; i++) {
		ASSERT_TRUE(next_event(self->fd, &event));
		ASSERT_GT(2 * nr, event.cookie);
		EXPECT_EQ(clocks[event.cookie / 2], (int)event.clock);
		EXPECT_LE(asked[event.cookie], event.deadline);
		if (event.cookie % 2 == 0)
			EXPECT_EQ(asked[event.cookie], event.deadline);
		EXPECT_LE(event.deadline, event.time);
		/* The ticks of a relative deadline are those of CLOCK_MONOTONIC. */
		EXPECT_GE(latest(self->fd, &event, event.cookie % 2 ? tick : self->shift),
			  event.time);
		EXPECT_LE(event.time, time_by(clocks[event.cookie / 2]));
	}
}

static bool expires_on_time(int fd, __u64 slack)
{
	struct twheel_event event;

	settle();
	return add_deadline(fd, 3 * MSEC, 0, 0) && next_event(fd, &event) &&
	       event.reason == TWHEEL_REASON_EXPIRED && event.time >= event.deadline &&
	       event.time <= latest(fd, &event, slack);
}

/* The threads exist before, and its wheels are created before the deadline begins. */
TEST_F(clocks, first_operation_of_a_user_is_on_time)
{
	uid_t user;

	for (user = 60001; user < 60004; user++)
		EXPECT_TRUE(as_user(user, expires_on_time(self->fd, self->shift)));
}

TEST_F(clocks, past_deadline_expires_immediately)
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
		if (!variant->ahead)
			EXPECT_EQ(past[i], event.deadline);
		EXPECT_LE(event.deadline, event.time);
		EXPECT_GE(now_ns(), event.time);
	}
	id = add_deadline(self->fd, 0, 0, 0);
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(clocks, never_and_the_largest_deadline_do_not_expire)
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
		/* It does not wrap. */
		EXPECT_LE(KTIME_LAST / 2, event.deadline);
		if (!variant->ahead)
			EXPECT_EQ(never[i].shown, event.deadline);
	}
}

static __u64 deadline_of(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? 0 : pending.deadline;
}

/* By the time of the namespace, on each clock. */
TEST_F(clocks, rearm_to_a_point_in_time)
{
	struct twheel_event event;
	unsigned int i;
	__u64 id, when;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		when = time_by(clocks[i]) + 2 * HOUR;
		id = add_by(self->fd, clocks[i], when - HOUR, TWHEEL_ADD_ABSTIME, 0);
		ASSERT_EQ(1, op_rearm(self->fd, id, when, TWHEEL_REARM_ABSTIME));
		EXPECT_EQ(when, deadline_of(self->fd, id));
		when -= 2 * HOUR - 20 * MSEC;
		ASSERT_EQ(1, op_rearm(self->fd, id, when,
				      TWHEEL_REARM_ABSTIME | TWHEEL_REARM_IF_EARLIER));
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_EQ(when, event.deadline);
		EXPECT_LE(when, event.time);
		EXPECT_GE(time_by(clocks[i]), event.time);

		when = time_by(clocks[i]) + HOUR;
		id = add_by(self->fd, clocks[i], TWHEEL_NEVER, 0, 0);
		ASSERT_EQ(1, op_rearm(self->fd, id, HOUR, 0));
		EXPECT_LE(when, deadline_of(self->fd, id));
		EXPECT_GE(time_by(clocks[i]) + HOUR, deadline_of(self->fd, id));
	}
	id = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_EQ(1, op_rearm(self->fd, id, 1, TWHEEL_REARM_ABSTIME));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

TEST_F(clocks, rearm_to_never_and_back)
{
	__u64 id = add_deadline(self->fd, HOUR, 0, 0);

	ASSERT_EQ(1, op_rearm(self->fd, id, TWHEEL_NEVER, 0));
	EXPECT_EQ(TWHEEL_NEVER, deadline_of(self->fd, id));
	ASSERT_EQ(1, op_rearm(self->fd, id, MSEC, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
}

/* Each mode, from a deadline in two hours to deadlines in one and three hours. */
TEST_F(clocks, rearm_in_each_mode)
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
TEST_F(clocks, slack_is_never_early)
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
		EXPECT_GE(latest(self->fd, &event, slack + self->shift), event.time);
	}
}

/* One of the initial namespace, which a process in the other one lists, moves and reads. */
TEST_F(clocks, operation_of_another_namespace)
{
	__u64 offset = self->offset[CLOCK_MONOTONIC], deadline, id;
	struct twheel_pending entry;
	struct twheel_event event;
	__u64 cursor = 0;

	if (variant->ahead)
		ASSERT_EQ(0, setns(self->home, CLONE_NEWTIME));
	deadline = now_ns() + HOUR;
	id = add_deadline(self->fd, deadline, TWHEEL_ADD_ABSTIME, 0);
	if (variant->ahead)
		ASSERT_EQ(0, setns(self->away, CLONE_NEWTIME));
	/* The clocks have an offset, on which the other tests rely. */
	EXPECT_LE(deadline + offset, now_ns() + HOUR);
	EXPECT_GE(deadline + offset + SEC, now_ns() + HOUR);
	EXPECT_EQ(deadline + offset, deadline_of(self->fd, id));
	ASSERT_EQ(1, list_page(self->fd, 0, &entry, 1, &cursor));
	EXPECT_EQ(deadline + offset, entry.deadline);
	EXPECT_GE(HOUR, entry.remaining);
	EXPECT_EQ(1, op_rearm(self->fd, id, deadline + offset + SEC,
			      TWHEEL_REARM_ABSTIME | TWHEEL_REARM_IF_LATER));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(deadline + offset + SEC, event.deadline);
	EXPECT_GE(now_ns(), event.time);
	EXPECT_LT(now_ns(), event.time + HOUR);

	/* An event has the time of its reader's namespace, not of the adding task's. */
	deadline = now_ns() + 30 * MSEC;
	ASSERT_NE(0, add_deadline(self->fd, deadline, TWHEEL_ADD_ABSTIME, 0));
	if (variant->ahead)
		ASSERT_EQ(0, setns(self->home, CLONE_NEWTIME));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(deadline - offset, event.deadline);
	EXPECT_LE(event.deadline, event.time);
	EXPECT_GE(now_ns(), event.time);
}

/* The words of cells are in the time of the initial namespace. */
TEST_F(clocks, offset_from_the_time_of_cells)
{
	struct twheel_cells_args args = { 0 };

	ASSERT_EQ(0, call(self->fd, TWHEEL_IOC_CELLS, &args));
	EXPECT_EQ(self->offset[CLOCK_MONOTONIC], args.monotonic_offset);
	EXPECT_EQ(self->offset[CLOCK_BOOTTIME], args.boottime_offset);
}

FIXTURE(wall_clock) {
	int fd;
	__u64 wall;
	__u64 monotonic;
};

FIXTURE_SETUP(wall_clock)
{
	self->wall = time_by(CLOCK_REALTIME);
	self->monotonic = now_ns();
	/* A guest may start in 1970, from where the clock cannot be moved back. */
	if (self->wall < 10 * 365 * 24 * HOUR)
		self->wall += 20 * 365 * 24 * HOUR;
	if (!set_wall_clock(self->wall))
		SKIP(return, "cannot set the realtime clock: %s", strerror(errno));
	self->fd = twheel_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	settle();
}

FIXTURE_TEARDOWN(wall_clock)
{
	close(self->fd);
	set_wall_clock(self->wall + now_ns() - self->monotonic);
}

static __u64 add_wall(int fd, __s64 ahead, __u32 flags, __u64 cookie)
{
	return add_by(fd, CLOCK_REALTIME, time_by(CLOCK_REALTIME) + ahead,
		      flags | TWHEEL_ADD_ABSTIME, cookie);
}

/* Forward, and back with a periodic operation. */
TEST_F(wall_clock, operation_is_cancelled_when_the_clock_is_set)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_CANCEL_ON_SET,
		.clock = CLOCK_REALTIME,
		.deadline = time_by(CLOCK_REALTIME) + HOUR,
	};
	__u64 stays = add_wall(self->fd, HOUR, 0, 0);
	struct twheel_pending pending;
	struct twheel_event event;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, op_add(self->fd, &args));
		ASSERT_EQ(0, op_info(self->fd, args.id, &pending));
		EXPECT_NE(0, pending.flags & TWHEEL_PENDING_CANCEL_ON_SET);
		if (i) {
			ASSERT_TRUE(next_event(self->fd, &event));
			EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
		}
		ASSERT_TRUE(turn_wall_clock(i ? -(__s64)SEC : (__s64)SEC));
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(args.id, event.id);
		EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);
		EXPECT_EQ(-ECANCELED, event.error);
		EXPECT_EQ(0, event.flags);
		EXPECT_EQ(0, event.expirations);
		EXPECT_EQ(i + 1, query(self->fd).cancelled);
		args.deadline = 0;
		args.period = HOUR;
	}
	EXPECT_EQ(0, op_cancel(self->fd, stays));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(0, event.error);
}

/*
 * A relative deadline is an interval: setting the clock moves neither it nor its periods, nor
 * deadlines of other clocks.
 */
TEST_F(wall_clock, relative_deadline_does_not_move)
{
	__u64 id = add_by(self->fd, CLOCK_REALTIME, HOUR, 0, 1), soon, now;
	struct twheel_add_args periodic = {
		.clock = CLOCK_REALTIME, .deadline = HOUR, .period = HOUR, .cookie = 2,
	};
	struct twheel_pending pending;
	struct twheel_event event;

	ASSERT_NE(0, id);
	ASSERT_EQ(0, op_add(self->fd, &periodic));
	ASSERT_NE(0, add_deadline(self->fd, now_ns() + HOUR, TWHEEL_ADD_ABSTIME, 0));
	ASSERT_NE(0, add_by(self->fd, CLOCK_BOOTTIME, HOUR, 0, 0));
	ASSERT_TRUE(turn_wall_clock(24 * HOUR));
	EXPECT_FALSE(readable(self->fd, 100));
	/* It is described by the new time of its clock. */
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_EQ(CLOCK_REALTIME, (int)pending.clock);
	EXPECT_GE(HOUR, pending.remaining);
	EXPECT_LE(HOUR / 2, pending.remaining);
	now = time_by(CLOCK_REALTIME);
	EXPECT_LE(now + HOUR / 2, pending.deadline);
	EXPECT_GE(now + HOUR, pending.deadline);
	ASSERT_EQ(0, op_info(self->fd, periodic.id, &pending));
	EXPECT_LE(HOUR / 2, pending.remaining);
	EXPECT_LE(now + HOUR / 2, pending.deadline);

	/* A deadline after the end of its clock. */
	soon = add_by(self->fd, CLOCK_REALTIME, KTIME_LAST - now_ns() - HOUR, 0, 0);
	ASSERT_EQ(0, op_info(self->fd, soon, &pending));
	EXPECT_EQ(TWHEEL_NEVER, pending.deadline);
	EXPECT_EQ(TWHEEL_NEVER, pending.remaining);

	soon = add_by(self->fd, CLOCK_REALTIME, 50 * MSEC, 0, 3);
	ASSERT_TRUE(turn_wall_clock(-(__s64)48 * HOUR));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(soon, event.id);
	EXPECT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
	EXPECT_LE(event.deadline, event.time);
	EXPECT_GE(time_by(CLOCK_REALTIME), event.time);
}

/* An operation does not change its wheel. */
TEST_F(wall_clock, rearm_is_of_the_kind_of_the_add)
{
	__u64 relative = add_by(self->fd, CLOCK_REALTIME, HOUR, 0, 0);
	__u64 absolute = add_wall(self->fd, HOUR, 0, 0);
	__u64 later = time_by(CLOCK_REALTIME) + 2 * HOUR;

	EXPECT_EQ(1, op_rearm(self->fd, relative, 2 * HOUR, 0));
	EXPECT_EQ(1, op_rearm(self->fd, absolute, later, TWHEEL_REARM_ABSTIME));
	EXPECT_EQ(-1, op_rearm(self->fd, relative, later, TWHEEL_REARM_ABSTIME));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, op_rearm(self->fd, absolute, 2 * HOUR, 0));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(wall_clock, skipped_periods_are_counted)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_REALTIME,
		.deadline = time_by(CLOCK_REALTIME) + HOUR,
		.period = HOUR,
	};
	struct twheel_event event;

	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_TRUE(turn_wall_clock(10 * HOUR + HOUR / 2));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
	EXPECT_EQ(10, event.expirations);
	EXPECT_NO_EVENT(self->fd);
}

TEST_HARNESS_MAIN
