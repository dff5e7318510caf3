// SPDX-License-Identifier: GPL-2.0
/*
 * Unwatching keys: the condition without them, and calls that are refused because the operation
 * could never complete.
 */
#include "private.h"

TEST_F(private, condition_must_remain_possible)
{
	__u64 any = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	__u64 all = add_keys(self->fd, TWHEEL_COND_ALL, 0, 1);
	__u64 quorum = add_keys(self->fd, TWHEEL_COND_QUORUM, 2, 2);

	EXPECT_EQ(EINVAL, op_unwatch(self->fd, any, 1));
	EXPECT_EQ(EINVAL, op_unwatch(self->fd, all, 1));
	EXPECT_EQ(EINVAL, op_unwatch(self->fd, quorum, 2));
	EXPECT_EQ(4, query(self->fd).watches);
	EXPECT_EQ(2, key_signal(self->fd, 1, 1));
	EXPECT_EQ(1, key_signal(self->fd, 2, 2));
}

TEST_F(private, unwatched_key_is_refused)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 2);

	EXPECT_EQ(ESRCH, op_unwatch(self->fd, id, 3));
	EXPECT_NE(0, add_keys(self->fd, TWHEEL_COND_ANY, 0, 3));
	EXPECT_EQ(ESRCH, op_unwatch(self->fd, id, 3));
	EXPECT_EQ(0, op_unwatch(self->fd, id, 2));
	EXPECT_EQ(ESRCH, op_unwatch(self->fd, id, 2));
	EXPECT_EQ(1 + 3, query(self->fd).watches);
}

TEST_F(private, rewatched_key_counts_from_zero)
{
	struct twheel_watch_spec again = spec_of(1, 2);
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	int i;

	EXPECT_EQ(0, key_signal(self->fd, 1, 1));
	EXPECT_EQ(0, op_unwatch(self->fd, id, 1));
	ASSERT_EQ(0, op_watch(self->fd, id, &again, 1));
	EXPECT_EQ(0, key_signal(self->fd, 2, 2));
	EXPECT_EQ(0, key_signal(self->fd, 1, 3));
	EXPECT_EQ(1, key_signal(self->fd, 1, 4));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 4);

	/* Any number of times. */
	id = add_keys(self->fd, TWHEEL_COND_ANY, 0, TWHEEL_MAX_KEYS);
	for (i = 0; i < 3 * TWHEEL_MAX_KEYS; i++) {
		ASSERT_EQ(0, op_unwatch(self->fd, id, 1));
		ASSERT_EQ(0, op_watch(self->fd, id, &again, 1));
	}
	EXPECT_EQ(TWHEEL_MAX_KEYS, query(self->fd).watches);
}

TEST_HARNESS_MAIN
