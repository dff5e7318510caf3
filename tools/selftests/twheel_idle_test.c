// SPDX-License-Identifier: GPL-2.0
/*
 * What /dev/twheel costs while nothing is due: the reaper's wake-ups, counted
 * by the module itself.  The wheel is shared by all who use the device, so that
 * nobody else may use it meanwhile.
 */
#include "selftest.h"

FIXTURE(idle) {
	int fd;
};

FIXTURE_SETUP(idle)
{
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(1, module_users())
		TH_LOG("somebody else uses the device");
}

FIXTURE_TEARDOWN(idle)
{
	close(self->fd);
}

/* How often the reaper wakes up in that time. */
static __u64 wakeups_within(int fd, unsigned int seconds)
{
	__u64 end, before = query(fd).wakeups;

	/* The time itself is what is tested here. */
	for (end = now_ns() + seconds * SEC; now_ns() < end; )
		usleep(100000);
	return query(fd).wakeups - before;
}

/* How many levels of the wheel hold what is @distance away. */
static unsigned int levels_up_to(int fd, __u64 distance)
{
	__u64 span = query(fd).tick_ns, slots = module_parameter("slots");
	unsigned int levels = 0;

	do {
		levels++;
		span *= slots;
	} while (span < distance);
	return levels;
}

TEST_F(idle, the_count_moves_when_something_expires)
{
	__u64 id, before = query(self->fd).wakeups;
	int i;

	/* What a reaper finds when it is made, on whichever CPU, takes no wake-up. */
	for (i = 0; i < 100 && query(self->fd).wakeups == before; i++) {
		id = add_deadline(self->fd, 20 * MSEC, 0, 0);
		EXPECT_EVENT(self->fd, id, TWHEEL_EXPIRED, 0);
	}
	EXPECT_LT(before, query(self->fd).wakeups);
}

TEST_F(idle, nothing_pending)
{
	EXPECT_EQ(0, wakeups_within(self->fd, 3));
}

TEST_F(idle, one_operation_an_hour_away)
{
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(0, wakeups_within(self->fd, 10));
	EXPECT_EQ(1, query(self->fd).pending);
}

TEST_F(idle, many_that_wait_for_keys)
{
	int i;

	for (i = 0; i < 32; i++)
		ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ALL, 0, i + 1));
	EXPECT_EQ(0, wakeups_within(self->fd, 3));
	EXPECT_EQ(32, query(self->fd).pending);
}

TEST_F(idle, signals_wake_nobody_but_readers)
{
	__u64 before = query(self->fd).wakeups;
	int i;

	for (i = 0; i < 1000; i++) {
		__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);

		ASSERT_EQ(1, key_signal(self->fd, 1, i));
		EXPECT_EVENT(self->fd, id, TWHEEL_COMPLETED, i);
	}
	EXPECT_EQ(before, query(self->fd).wakeups);
}

TEST_F(idle, what_was_cancelled_costs_one_at_most)
{
	__u64 deadline = now_ns() + 3 * SEC;
	__u64 ids[32];
	int i;

	/* One bucket in each of at most two shards, however long this takes. */
	for (i = 0; i < 32; i++) {
		ids[i] = add_deadline(self->fd, deadline, TWHEEL_ADD_ABSTIME, 0);
		ASSERT_NE(0, ids[i]);
	}
	for (i = 0; i < 32; i++)
		ASSERT_EQ(0, op_cancel(self->fd, ids[i]));
	EXPECT_GE(2, wakeups_within(self->fd, 4));
}

TEST_F(idle, one_wakeup_for_each_level_on_the_way_down)
{
	__u64 far = 5 * SEC, before = query(self->fd).wakeups;
	__u64 id = add_deadline(self->fd, far, 0, 0);

	EXPECT_EVENT(self->fd, id, TWHEEL_EXPIRED, 0);
	EXPECT_LT(before, query(self->fd).wakeups);
	EXPECT_GE(levels_up_to(self->fd, far), query(self->fd).wakeups - before);
}

TEST_HARNESS_MAIN
