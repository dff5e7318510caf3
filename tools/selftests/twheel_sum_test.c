// SPDX-License-Identifier: GPL-2.0
/*
 * Amounts: operations that complete when the amounts signalled to their keys reach a
 * threshold, and signals that complete a limited number of operations.
 */
#include "private.h"

/* Add an operation with a threshold for the keys 1 to @nr. */
static __u64 add_sum(int fd, __u64 threshold, __u32 nr)
{
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
	struct twheel_add_args args = {
		.condition = TWHEEL_COND_SUM,
		.threshold = threshold,
		.nr_keys = nr,
		.key_size = sizeof(struct twheel_watch_spec),
		.keys = address(specs),
		.deadline = TWHEEL_NEVER,
	};
	__u32 i;

	for (i = 0; i < nr; i++)
		specs[i] = spec_of(i + 1, 1);
	return op_add(fd, &args) ? 0 : args.id;
}

/* Return: number of operations completed by the signal, -1 if refused. */
static long give(int fd, __u64 name, __u64 amount, __u64 value, __u32 limit)
{
	struct twheel_signal_args args = {
		.key = key_of(name),
		.amount = amount,
		.value = value,
		.limit = limit,
	};

	return call(fd, TWHEEL_IOC_SIGNAL, &args) ? -1 : (long)args.completed;
}

static __u64 missing(int fd, __u64 id)
{
	struct twheel_pending pending;

	return op_info(fd, id, &pending) ? POISON : pending.missing;
}

TEST_F(private, operation_completes_at_the_threshold)
{
	__u64 id = add_sum(self->fd, 10, 2);

	ASSERT_NE(0, id);
	EXPECT_EQ(0, give(self->fd, 1, 4, 1, 0));
	EXPECT_EQ(6, missing(self->fd, id));
	EXPECT_EQ(0, give(self->fd, 2, 5, 2, 0));
	EXPECT_EQ(1, missing(self->fd, id));
	/* Amount 0 counts as 1. */
	EXPECT_EQ(1, give(self->fd, 1, 0, 3, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 3);
	EXPECT_EQ(0, query(self->fd).watches);
}

TEST_F(private, new_key_cannot_need_two_signals)
{
	struct twheel_watch_spec twice = spec_of(2, 2);
	__u64 id = add_sum(self->fd, 1, 1);

	EXPECT_EQ(EINVAL, op_watch(self->fd, id, &twice, 1));
	EXPECT_EQ(1, query(self->fd).watches);
}

TEST_F(private, limit_completes_the_first_watchers)
{
	__u64 ids[4];
	int i;

	for (i = 0; i < 4; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	EXPECT_EQ(1, give(self->fd, 1, 0, 11, 1));
	EXPECT_EVENT(self->fd, ids[0], TWHEEL_REASON_COMPLETED, 11);
	EXPECT_NO_EVENT(self->fd);
	EXPECT_EQ(2, give(self->fd, 1, 0, 22, 2));
	EXPECT_EVENT(self->fd, ids[1], TWHEEL_REASON_COMPLETED, 22);
	EXPECT_EVENT(self->fd, ids[2], TWHEEL_REASON_COMPLETED, 22);
	EXPECT_EQ(1, give(self->fd, 1, 0, 33, ~0U));
	EXPECT_EVENT(self->fd, ids[3], TWHEEL_REASON_COMPLETED, 33);
}

TEST_HARNESS_MAIN
