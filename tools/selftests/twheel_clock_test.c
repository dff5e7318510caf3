// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks of deadlines, and operations while CLOCK_REALTIME is set, forward and
 * backward. Each test restores the realtime clock from the progress of CLOCK_MONOTONIC.
 */
#include "named.h"
#include "wall.h"

static const __u32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };

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

/* Add an operation with a deadline of a clock. Return: its ID, 0 if refused. */
static __u64 add_by(int fd, __u32 clock, __u64 deadline, __u32 flags, __u64 cookie)
{
	struct twheel_add_args args = {
		.clock = clock,
		.deadline = deadline,
		.flags = flags,
		.cookie = cookie,
	};

	return op_add(fd, &args) ? 0 : args.id;
}

static __u64 add_wall(int fd, __s64 ahead, __u32 flags, __u64 cookie)
{
	return add_by(fd, CLOCK_REALTIME, time_by(CLOCK_REALTIME) + ahead,
		      flags | TWHEEL_ADD_ABSTIME, cookie);
}

TEST_F(wall_clock, expiry_is_never_early_on_any_clock)
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
		EXPECT_GE(latest(self->fd, &event, event.cookie % 2 ? tick : 0), event.time);
		EXPECT_LE(event.time, time_by(clocks[event.cookie / 2]));
	}
}

TEST_F(wall_clock, event_times_are_of_the_clock_of_the_operation)
{
	struct twheel_pending pending;
	struct twheel_event event;
	__u64 before, id;
	unsigned int i;
	__u32 clock;

	for (i = 0; i < 2 * ARRAY_SIZE(clocks); i++) {
		clock = clocks[i / 2];
		before = time_by(clock);
		id = i % 2 ? add_by(self->fd, clock, HOUR, 0, 0) :
			     add_by(self->fd, clock, before + HOUR, TWHEEL_ADD_ABSTIME, 0);
		ASSERT_EQ(0, op_info(self->fd, id, &pending));
		EXPECT_EQ(clock, pending.clock);
		EXPECT_LE(before + HOUR, pending.deadline);
		EXPECT_GE(time_by(clock) + HOUR, pending.deadline);
		EXPECT_GE(HOUR, pending.remaining);
		EXPECT_NE(0, pending.remaining);
		ASSERT_EQ(0, op_complete(self->fd, id, 0));
		ASSERT_TRUE(next_event(self->fd, &event));
		EXPECT_EQ(clock, event.clock);
		EXPECT_EQ(pending.deadline, event.deadline);
		EXPECT_LE(before, event.time);
		EXPECT_GE(time_by(clock), event.time);
	}
}

TEST_F(wall_clock, clock_set_back_delays_the_expiry)
{
	__u64 wall = add_wall(self->fd, 2 * SEC, 0, 1), control;
	struct twheel_event event;

	ASSERT_NE(0, wall);
	ASSERT_TRUE(turn_wall_clock(-(__s64)HOUR));
	/* Due later than the other operation would have been without setting the clock. */
	control = add_deadline(self->fd, 2300 * MSEC, 0, 2);
	EXPECT_EVENT(self->fd, control, TWHEEL_REASON_EXPIRED, 0);
	EXPECT_EQ(1, query(self->fd).pending);
	ASSERT_TRUE(turn_wall_clock(HOUR));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(wall, event.id);
	EXPECT_LE(event.deadline, event.time);
}

TEST_F(wall_clock, operation_is_cancelled_when_the_clock_is_set)
{
	__u64 id = add_wall(self->fd, HOUR, TWHEEL_ADD_CANCEL_ON_SET, 7);
	__u64 stays = add_wall(self->fd, HOUR, 0, 0);
	struct twheel_pending pending;
	struct twheel_event event;

	ASSERT_NE(0, id);
	ASSERT_EQ(0, op_info(self->fd, id, &pending));
	EXPECT_NE(0, pending.flags & TWHEEL_PENDING_CANCEL_ON_SET);
	ASSERT_TRUE(turn_wall_clock(SEC));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(id, event.id);
	EXPECT_EQ(7, event.cookie);
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);
	EXPECT_EQ(-ECANCELED, event.error);
	EXPECT_EQ(0, event.expirations);
	EXPECT_EQ(1, query(self->fd).cancelled);
	EXPECT_EQ(0, op_cancel(self->fd, stays));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(0, event.error);
}

TEST_F(wall_clock, periodic_operation_is_cancelled)
{
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME | TWHEEL_ADD_CANCEL_ON_SET,
		.clock = CLOCK_REALTIME,
		.period = HOUR,
	};
	struct twheel_event event;

	ASSERT_EQ(0, op_add(self->fd, &args));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_EVENT_MORE, event.flags);
	ASSERT_TRUE(turn_wall_clock(-(__s64)SEC));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(TWHEEL_REASON_CANCELLED, (int)event.reason);
	EXPECT_EQ(-ECANCELED, event.error);
	EXPECT_EQ(0, event.flags);
	EXPECT_EQ(0, event.expirations);
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

/* The realtime clock is moved forward and backward until @over is set. */
static struct {
	bool over;
	unsigned int turns;
} turner;

/* Each pair of steps leaves the clock unchanged, except for the duration of the steps. */
static void *turn_by_steps(void *arg)
{
	while (!__atomic_load_n(&turner.over, __ATOMIC_RELAXED)) {
		turn_wall_clock(5 * MSEC);
		turn_wall_clock(-(__s64)(5 * MSEC));
		__atomic_add_fetch(&turner.turns, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* The time of the event is not before the deadline, regardless of clock steps around it. */
TEST_F(wall_clock, event_time_is_not_before_the_deadline)
{
	struct twheel_add_args periodic = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_REALTIME,
		.deadline = time_by(CLOCK_REALTIME) + MSEC,
		.period = 3 * MSEC,
	};
	unsigned int early = 0, expired = 0;
	struct twheel_event event;
	pthread_t thread;
	int i, round;

	ASSERT_EQ(0, op_add(self->fd, &periodic));
	ASSERT_EQ(0, pthread_create(&thread, NULL, turn_by_steps, NULL));
	for (round = 0; round < rounds(100); round++) {
		for (i = 0; i < 50; i++)
			ASSERT_NE(0, add_wall(self->fd, i % 10 * MSEC / 2, 0, 1));
		while (i) {
			ASSERT_TRUE(next_event(self->fd, &event));
			ASSERT_EQ(TWHEEL_REASON_EXPIRED, (int)event.reason);
			i -= event.cookie;
			expired++;
			early += event.time < event.deadline;
		}
	}
	__atomic_store_n(&turner.over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%u events, while the clock was set %u times", expired, 2 * turner.turns);
	EXPECT_EQ(0, early);
	EXPECT_NE(0, turner.turns);
	EXPECT_EQ(0, op_cancel(self->fd, periodic.id));
}

TEST_HARNESS_MAIN
