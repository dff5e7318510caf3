// SPDX-License-Identifier: GPL-2.0
/*
 * Amounts: operations that complete when the amounts signalled to their keys reach a
 * threshold, and signals that complete a limited number of operations.
 */
#include "private.h"

/* Add an operation with a threshold for the keys 1 to @nr. */
static __u64 add_sum(int fd, __u64 threshold, __u32 nr, __u32 need)
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
		specs[i] = spec_of(i + 1, need);
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
	__u64 id = add_sum(self->fd, 10, 1, 1);

	ASSERT_NE(0, id);
	EXPECT_EQ(0, give(self->fd, 1, 4, 1, 0));
	EXPECT_EQ(6, missing(self->fd, id));
	EXPECT_EQ(0, give(self->fd, 1, 5, 2, 0));
	EXPECT_EQ(1, missing(self->fd, id));
	EXPECT_EQ(1, give(self->fd, 1, 1, 3, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 3);
	EXPECT_EQ(0, query(self->fd).watches);
}

TEST_F(private, end_tells_the_missing_amount)
{
	__u64 id = add_sum(self->fd, 100, 2, 1);
	struct twheel_event event;

	EXPECT_EQ(0, give(self->fd, 1, 30, 0, 0));
	EXPECT_EQ(0, give(self->fd, 2, 12, 0, 0));
	ASSERT_EQ(0, op_cancel(self->fd, id));
	ASSERT_TRUE(next_event(self->fd, &event));
	EXPECT_EQ(58, event.missing);
	EXPECT_EQ(0, event.satisfied);
}

TEST_F(private, amount_0_counts_as_1)
{
	__u64 id = add_sum(self->fd, 3, 1, 1);

	EXPECT_EQ(0, give(self->fd, 1, 0, 0, 0));
	EXPECT_EQ(0, give(self->fd, 1, 0, 0, 0));
	EXPECT_EQ(1, missing(self->fd, id));
	EXPECT_EQ(1, give(self->fd, 1, 0, 5, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 5);
}

TEST_F(private, watched_keys_count_from_then_on)
{
	struct twheel_watch_spec more = spec_of(9, 0);
	__u64 id = add_sum(self->fd, 5, 1, 1);

	EXPECT_EQ(0, give(self->fd, 9, 5, 0, 0));
	ASSERT_EQ(0, op_watch(self->fd, id, &more, 1));
	EXPECT_EQ(0, give(self->fd, 9, 4, 0, 0));
	EXPECT_EQ(1, give(self->fd, 1, 1, 8, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 8);
}

TEST_F(private, new_key_cannot_need_two_signals)
{
	struct twheel_watch_spec twice = spec_of(2, 2);
	__u64 id = add_sum(self->fd, 1, 1, 1);

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

TEST_F(private, only_completed_operations_count_for_the_limit)
{
	struct twheel_watch_spec twice = spec_of(1, 2);
	__u64 waits = add_specs(self->fd, TWHEEL_COND_ANY, 0, &twice, 1);
	__u64 done = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);

	EXPECT_EQ(1, give(self->fd, 1, 0, 1, 1));
	EXPECT_EVENT(self->fd, done, TWHEEL_REASON_COMPLETED, 1);
	EXPECT_EQ(1, give(self->fd, 1, 0, 2, 1));
	EXPECT_EVENT(self->fd, waits, TWHEEL_REASON_COMPLETED, 2);
}

/* Amounts from two threads: none is lost, and the operation completes once. */
#define NR_GIVEN	3000

static struct {
	int fd;
	unsigned int completed;
} givers;

static void *give_all(void *arg)
{
	long i;

	for (i = 0; i < NR_GIVEN; i++)
		__atomic_add_fetch(&givers.completed, give(givers.fd, 1 + i % 2, 3, 1, 0),
				   __ATOMIC_RELAXED);
	return arg;
}

TEST_F(private, no_amount_of_two_threads_is_lost)
{
	__u64 id = add_sum(self->fd, 2 * NR_GIVEN * 3 + 1, 2, 1);
	pthread_t threads[2];
	int i;

	givers.fd = self->fd;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, give_all, NULL));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, givers.completed);
	EXPECT_EQ(1, missing(self->fd, id));
	EXPECT_EQ(1, give(self->fd, 2, 1, 4, 0));
	EXPECT_EVENT(self->fd, id, TWHEEL_REASON_COMPLETED, 4);
}

TEST_HARNESS_MAIN
