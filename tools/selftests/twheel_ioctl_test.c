// SPDX-License-Identifier: GPL-2.0
/*
 * The counts and limits that a query returns.
 */
#include "private.h"

/* Unread events count, and those of other files. */
TEST_F(private, query_has_the_use_of_the_user)
{
	int other = twheel_open(O_NONBLOCK), i;
	struct twheel_query_args before = query(self->fd), after;
	__u64 id;

	for (i = 0; i < 20; i++)
		id = add_deadline(i % 2 ? self->fd : other, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	after = query(self->fd);
	EXPECT_EQ(before.user_files, after.user_files);
	EXPECT_EQ(before.user_ops + 20, after.user_ops);
	close(other);
	EXPECT_EQ(before.user_files - 1, query(self->fd).user_files);
	EXPECT_TRUE(wait_for(query(self->fd).user_ops == before.user_ops + 10));
}

TEST_F(private, query_of_a_new_purgatory)
{
	struct twheel_query_args q = query(self->fd);
	int i;

	EXPECT_EQ(module_parameter("max_pending"), q.max_pending);
	EXPECT_EQ(module_parameter("tick_ns"), q.tick_ns);
	EXPECT_NE(0, q.max_pending);
	EXPECT_NE(0, q.tick_ns);
	EXPECT_EQ(q.max_pending, q.max_file_pending);
	EXPECT_EQ(0, q.max_watches);
	EXPECT_EQ(module_parameter("user_max_ops"), q.user_max_ops);
	EXPECT_EQ(module_parameter("user_max_files"), q.user_max_files);
	EXPECT_LE(1, q.user_files);
	EXPECT_EQ(1, q.files);
	EXPECT_EQ(TWHEEL_MAX_KEYS, q.max_keys);
	EXPECT_EQ(ALL_RIGHTS, q.rights);
	EXPECT_EQ(0, q.features);
	EXPECT_EQ(0, q.flags);
	EXPECT_EQ(0, q.own);
	EXPECT_EQ(0, q.pending);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(0, q.detached);
	EXPECT_EQ(0, q.detached_unread);
	EXPECT_EQ(0, q.keys);
	EXPECT_EQ(0, q.watches);
	EXPECT_EQ(0, q.added);
	EXPECT_EQ(0, q.completed);
	EXPECT_EQ(0, q.expired);
	EXPECT_EQ(0, q.cancelled);
	EXPECT_EQ(0, q.rejected);
	for (i = 0; i < TWHEEL_NAME_SIZE; i++)
		EXPECT_EQ(0, q.name[i]);
}

TEST_F(private, query_counts_every_reason)
{
	struct twheel_event events[8];
	struct twheel_query_args q;
	__u64 ids[6];
	int i;

	for (i = 0; i < 6; i++) {
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1 + i);
		ASSERT_NE(0, ids[i]);
	}
	ASSERT_NE(0, add_deadline(self->fd, 0, 0, 0));
	ASSERT_TRUE(wait_for(query(self->fd).unread == 1));
	EXPECT_EQ(0, op_cancel(self->fd, ids[0]));
	EXPECT_EQ(0, op_complete(self->fd, ids[1], 1));
	EXPECT_EQ(2, key_signal(self->fd, 5, 1));

	q = query(self->fd);
	EXPECT_EQ(7, q.added);
	EXPECT_EQ(2, q.pending);
	EXPECT_EQ(2, q.own);
	EXPECT_EQ(5, q.unread);
	EXPECT_EQ(3, q.completed);
	EXPECT_EQ(1, q.expired);
	EXPECT_EQ(1, q.cancelled);
	EXPECT_EQ(0, q.rejected);
	EXPECT_EQ(4, q.keys);
	EXPECT_EQ(3 + 4, q.watches);

	ASSERT_EQ(5, read_events(self->fd, events, 8));
	q = query(self->fd);
	EXPECT_EQ(2, q.pending);
	EXPECT_EQ(0, q.unread);
	EXPECT_EQ(3, q.completed);
}

TEST_HARNESS_MAIN
