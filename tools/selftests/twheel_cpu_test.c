// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that are added on one CPU and moved on another one expire on time. In virtual time the
 * other CPU delays few of them, and none by a tick.
 */
#include "named.h"

#define ROUNDS	100

TEST(operations_of_each_cpu_are_on_time)
{
	unsigned int nr_cpus = sysconf(_SC_NPROCESSORS_ONLN), i, late = 0;
	int fd = twheel_open(0);
	__u64 tick = query(fd).tick_ns, id, limit;
	struct twheel_event event;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_TRUE(pin_to(i % nr_cpus));
		id = add_deadline(fd, HOUR, 0, 0);
		ASSERT_NE(0, id);
		ASSERT_TRUE(pin_to(i / nr_cpus % nr_cpus));
		ASSERT_EQ(1, op_rearm(fd, id, 3 * MSEC + i * 17 * USEC, 0));
		ASSERT_TRUE(next_event(fd, &event));
		EXPECT_EQ(id, event.id);
		EXPECT_LE(event.deadline, event.time);
		limit = latest(fd, &event, 0);
		late += event.time > limit;
		EXPECT_GT(limit + tick, event.time);
	}
	EXPECT_LE(late, ROUNDS / 10);
	close(fd);
}

TEST_HARNESS_MAIN
