// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of the device while nothing is due: the wakeups of the reapers of this user,
 * counted by the module. No other process of this user may use the device. Also the
 * lifetime of a user's reapers, from the first operation to some time after the last one.
 */
#include <glob.h>
#include "named.h"

FIXTURE(idle) {
	int fd;
};

FIXTURE_SETUP(idle)
{
	ASSERT_TRUE(module_has_users(0))
		TH_LOG("another process uses the device");
	self->fd = twheel_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(idle)
{
	close(self->fd);
}

/* Number of wakeups within some seconds, which the test measures; new reapers count from 0. */
static __u64 wakeups_within(int fd, unsigned int seconds)
{
	__u64 end = now_ns() + seconds * SEC, before = query(fd).wakeups, now;

	while (now_ns() < end)
		usleep(100000);
	now = query(fd).wakeups;
	return now < before ? now : now - before;
}

TEST_F(idle, wakeups_increase_with_expiries)
{
	__u64 id, before;
	int i;

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	before = query(self->fd).wakeups;

	for (i = 0; i < 5; i++) {
		id = add_deadline(self->fd, 20 * MSEC, 0, 0);
		EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
	}
	EXPECT_LE(before + 5, query(self->fd).wakeups);
}

TEST_F(idle, no_wakeups_for_a_distant_deadline_and_watched_keys)
{
	int i;

	EXPECT_EQ(0, wakeups_within(self->fd, 3));
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	for (i = 0; i < 32; i++)
		ASSERT_NE(0, add_keys(self->fd, TWHEEL_COND_ALL, 0, i + 1));
	EXPECT_EQ(0, wakeups_within(self->fd, 10));
	EXPECT_EQ(33, query(self->fd).pending);
}

/* QUERY counts only the reapers of the caller. */
TEST_F(idle, expiries_of_another_user_are_not_counted)
{
	__u64 before, theirs;
	int i;

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	before = query(self->fd).wakeups;
	ASSERT_TRUE(act_for(STRANGER));
	for (i = 0; i < 20; i++) {
		__u64 id = add_deadline(self->fd, 10 * MSEC, 0, 0);

		EXPECT_EVENT(self->fd, id, TWHEEL_REASON_EXPIRED, 0);
	}
	theirs = query(self->fd).wakeups;
	ASSERT_TRUE(act_for(0));
	EXPECT_LT(0, theirs);
	EXPECT_EQ(before, query(self->fd).wakeups);
}

/* Number of reapers of all users. */
static unsigned int reapers(void)
{
	unsigned int nr = 0;
	char comm[32];
	glob_t found;
	FILE *file;
	size_t i;

	if (glob("/proc/[0-9]*/comm", 0, NULL, &found))
		return 0;
	for (i = 0; i < found.gl_pathc; i++) {
		file = fopen(found.gl_pathv[i], "r");
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file) && !strncmp(comm, "twheel-user/", 12))
			nr++;
		fclose(file);
	}
	globfree(&found);
	return nr;
}

TEST_F(idle, users_and_clocks_share_the_reapers)
{
	static const __u32 clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	unsigned int before, user, i;

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	before = reapers();
	EXPECT_LT(0, before);
	EXPECT_GE(sysconf(_SC_NPROCESSORS_ONLN), before);
	for (user = 0; user < 100; user++) {
		ASSERT_TRUE(act_for(STRANGER + user));
		for (i = 0; i < ARRAY_SIZE(clocks); i++) {
			struct twheel_add_args args = { .deadline = HOUR, .clock = clocks[i] };

			EXPECT_EQ(0, op_add(self->fd, &args));
		}
		ASSERT_TRUE(act_for(0));
	}
	EXPECT_EQ(before, reapers());
}

TEST_HARNESS_MAIN
