// SPDX-License-Identifier: GPL-2.0
/*
 * Inspecting pending operations: a single operation with its keys, and a list of all
 * operations in pages of any size, also during adds and cancels. And what a query returns for a new
 * purgatory and for the user; twheel_views_test has its counts.
 */
#include "named.h"

#define NAME	"looked-at"

FIXTURE_OF_A_PURGATORY(info, NAME, 0);

/* Unread events count, and those of other files. */
TEST_F(info, query_has_the_use_of_the_user)
{
	int other = twheel_open_named(NAME, O_NONBLOCK), i;
	struct twheel_query_args before = query(self->fd);
	__u64 id;

	for (i = 0; i < 20; i++)
		id = add_deadline(i % 2 ? self->fd : other, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->fd, id));
	EXPECT_EQ(before.user_files, query(self->fd).user_files);
	EXPECT_EQ(before.user_ops + 20, query(self->fd).user_ops);
	close(other);
	EXPECT_EQ(before.user_files - 1, query(self->fd).user_files);
	EXPECT_TRUE(wait_for(query(self->fd).user_ops == before.user_ops + 10));
}

TEST_F(info, query_of_a_new_purgatory)
{
	int fd = twheel_open(0);
	struct twheel_query_args q = query(fd), new = {
		.max_pending = module_parameter("max_pending"),
		.max_file_pending = module_parameter("max_pending"),
		.max_queue = q.max_queue,
		.max_keys = TWHEEL_MAX_KEYS,
		.user_max_ops = module_parameter("user_max_ops"),
		.user_max_files = module_parameter("user_max_files"),
		.user_ops = q.user_ops,
		.user_files = q.user_files,
		.files = 1,
		.rights = ALL_RIGHTS,
		.tick_ns = module_parameter("tick_ns"),
		.wakeups = q.wakeups,
	};

	EXPECT_EQ(0, memcmp(&new, &q, sizeof(q)));
	EXPECT_NE(0, q.max_pending);
	EXPECT_NE(0, q.tick_ns);
	EXPECT_LE(2, q.user_files);
	close(fd);
}

TEST_F(info, one_operation)
{
	struct twheel_watch_spec specs[] = { spec_of(1, 3), spec_of(2, 0), spec_of(3, 1) };
	__u64 before = now_ns(), deadline = before + HOUR;
	struct twheel_add_args args = {
		.flags = TWHEEL_ADD_ABSTIME,
		.clock = CLOCK_MONOTONIC,
		.condition = TWHEEL_COND_QUORUM,
		.quorum = 2,
		.nr_keys = 3,
		.key_size = sizeof(struct twheel_watch_spec),
		.keys = address(specs),
		.deadline = deadline,
		.cookie = POISON,
	};
	struct twheel_pending p;
	int i;

	ASSERT_EQ(0, op_add(self->fd, &args));
	EXPECT_EQ(0, key_signal(self->fd, 2, 0));
	memset(&p, 0xa5, sizeof(p));
	ASSERT_EQ(0, op_info(self->fd, args.id, &p));
	EXPECT_EQ(args.id, p.id);
	EXPECT_EQ(POISON, p.cookie);
	EXPECT_EQ(deadline, p.deadline);
	EXPECT_GE(HOUR, p.remaining);
	EXPECT_LE(deadline, p.remaining + now_ns());
	EXPECT_EQ(1, p.missing);
	EXPECT_EQ(0, p.period);
	EXPECT_EQ(0, p.runs);
	EXPECT_EQ(TWHEEL_COND_QUORUM, (int)p.condition);
	EXPECT_EQ(CLOCK_MONOTONIC, (int)p.clock);
	EXPECT_EQ(3, p.nr_keys);
	EXPECT_EQ(TWHEEL_PENDING_OWN | TWHEEL_PENDING_ABSTIME, p.flags);
	EXPECT_EQ(0, p.queue);
	EXPECT_EQ(0, p.cell);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(~p.keys[i].v[0], p.keys[i].v[1]);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i + 1, p.keys[i].v[0]);
}

TEST_F(info, operation_without_keys_and_deadline)
{
	__u64 id = add_deadline(self->fd, TWHEEL_NEVER, 0, 0);
	struct twheel_pending p;
	int i;

	ASSERT_EQ(0, op_info(self->fd, id, &p));
	EXPECT_EQ(TWHEEL_NEVER, p.deadline);
	EXPECT_EQ(TWHEEL_NEVER, p.remaining);
	EXPECT_EQ(0, p.missing);
	EXPECT_EQ(0, p.nr_keys);
	for (i = 0; i < TWHEEL_PENDING_KEYS; i++)
		EXPECT_EQ(0, p.keys[i].v[0] | p.keys[i].v[1]);
}

/* Query the keys of an operation. Return: an errno. */
static int info_keys(int fd, __u64 id, struct twheel_watch_spec *keys, __u32 max,
		     __u32 *nr)
{
	struct twheel_pending entry = { .nr_keys = 0 };
	struct twheel_info_args args = {
		.id = id,
		.entry = address(&entry),
		.entry_size = sizeof(entry),
		.keys = address(keys),
		.max_keys = max,
		.key_size = max ? sizeof(*keys) : 0,
	};
	int error = call(fd, TWHEEL_IOC_INFO, &args);

	*nr = entry.nr_keys;
	return error;
}

TEST_F(info, keys_with_remaining_needs)
{
	struct twheel_watch_spec specs[] = { spec_of(1, 5), spec_of(2, 1) };
	__u64 id = add_specs(self->fd, TWHEEL_COND_ALL, 0, specs, 2);
	struct twheel_watch_spec keys[3];
	__u32 i, nr;

	EXPECT_EQ(0, key_signal(self->fd, 1, 0));
	EXPECT_EQ(0, key_signal(self->fd, 1, 0));
	EXPECT_EQ(0, key_signal(self->fd, 2, 0));
	memset(keys, 0xa5, sizeof(keys));
	ASSERT_EQ(0, info_keys(self->fd, id, keys, 3, &nr));
	ASSERT_EQ(2, nr);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(i + 1, keys[i].key.v[0]);
		EXPECT_EQ(~keys[i].key.v[0], keys[i].key.v[1]);
		EXPECT_EQ(i ? 0 : 3, keys[i].need);
		EXPECT_EQ(i, keys[i].bit);
	}
	EXPECT_EQ(POISON, keys[2].key.v[0]);
}

/* Without the key that was removed, and with keys that were added later at the end, in order. */
TEST_F(info, keys_are_in_the_order_in_which_they_were_added)
{
	struct twheel_watch_spec added[] = { spec_of(1, 1), spec_of(6, 1), spec_of(5, 1) };
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 4), expected[] = { 1, 3, 4, 6, 5 };
	static const __u32 bits[] = { 0, 2, 3, 1, 4 };
	struct twheel_watch_spec keys[5];
	__u32 i, nr;

	ASSERT_EQ(0, op_unwatch(self->fd, id, 2));
	ASSERT_EQ(0, op_watch(self->fd, id, added, 3));
	ASSERT_EQ(0, info_keys(self->fd, id, keys, 5, &nr));
	ASSERT_EQ(5, nr);
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(expected[i], keys[i].key.v[0]);
		EXPECT_EQ(bits[i], keys[i].bit);
		keys[i].bit = 0;
	}
	/* They can be added again, without their bits. */
	EXPECT_EQ(0, op_watch(self->fd, id, keys, nr));
	id = add_specs(self->fd, TWHEEL_COND_ALL, 0, keys, nr);
	ASSERT_EQ(0, info_keys(self->fd, id, keys, 5, &nr));
	for (i = 0; i < nr; i++)
		EXPECT_EQ(i, keys[i].bit);
}

TEST_F(info, small_array_of_keys_is_filled)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, TWHEEL_MAX_KEYS);
	struct twheel_watch_spec *edge = (void *)cliff();
	__u32 max, nr;

	for (max = 0; max <= TWHEEL_MAX_KEYS; max++) {
		ASSERT_EQ(0, info_keys(self->fd, id, max ? edge - max : NULL, max, &nr));
		EXPECT_EQ(TWHEEL_MAX_KEYS, nr);
	}
	EXPECT_EQ(EFAULT, info_keys(self->fd, id, edge - 3, 4, &nr));
	EXPECT_EQ(EFAULT, info_keys(self->fd, id, NULL, 1, &nr));
	EXPECT_EQ(0, info_keys(self->fd, id, NULL, 0, &nr));
}

#define NR_STABLE	700

/* Count each cookie in a complete list; entries with other cookies are ignored. */
static int list_all(int fd, __u32 flags, __u32 max, unsigned char seen[NR_STABLE])
{
	struct twheel_pending entries[64];
	int i, nr, all = 0;
	__u64 cursor = 0;

	memset(seen, 0, NR_STABLE);
	while (cursor != TWHEEL_LIST_END) {
		nr = list_page(fd, flags, entries, max, &cursor);
		if (nr < 0 || nr > (int)max)
			return -1;
		for (i = 0; i < nr; i++)
			if (entries[i].cookie < NR_STABLE)
				seen[entries[i].cookie]++;
		all += nr;
	}
	return all;
}

TEST_F(info, operations_are_listed_once_in_pages_of_any_size)
{
	static const __u32 page_sizes[] = { 1, 2, 7, 64 };
	unsigned char seen[NR_STABLE];
	unsigned int i, j, nr = NR_STABLE;

	if (nr > query(self->fd).max_file_pending)
		nr = query(self->fd).max_file_pending;
	for (i = 0; i < nr; i++)
		ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, i));
	for (j = 0; j < ARRAY_SIZE(page_sizes); j++) {
		EXPECT_EQ((int)nr, list_all(self->fd, 0, page_sizes[j], seen));
		for (i = 0; i < nr; i++)
			ASSERT_EQ(1, seen[i]);
	}
}

TEST_F(info, list_entry_agrees_with_info)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ALL, 0, 5), cursor = 0;
	struct twheel_pending entry, p;

	ASSERT_EQ(1, list_page(self->fd, 0, &entry, 1, &cursor));
	ASSERT_EQ(0, op_info(self->fd, id, &p));
	EXPECT_EQ(5, entry.nr_keys);
	EXPECT_EQ(0, memcmp(&entry, &p, sizeof(p)));
}

TEST_F(info, operations_of_other_files_are_listed)
{
	int other = twheel_open_named(NAME, O_NONBLOCK), alone = twheel_open(O_NONBLOCK);
	struct twheel_pending entries[4], p;
	__u64 id = add_deadline(other, TWHEEL_NEVER, 0, 5), cursor = 0;

	ASSERT_NE(0, id);
	ASSERT_NE(0, add_deadline(alone, HOUR, 0, 6));
	EXPECT_EQ(0, list_page(self->fd, 0, entries, 4, &cursor));
	cursor = 0;
	ASSERT_EQ(1, list_page(self->fd, TWHEEL_LIST_OTHERS, entries, 4, &cursor));
	EXPECT_EQ(id, entries[0].id);
	EXPECT_EQ(0, entries[0].cookie);
	EXPECT_EQ(0, entries[0].flags);
	ASSERT_EQ(0, op_info(self->fd, id, &p));
	EXPECT_EQ(0, memcmp(&p, &entries[0], sizeof(p)));
	close(other);
	close(alone);
}

TEST_F(info, list_ends_at_an_inaccessible_entry)
{
	struct twheel_pending *edge = (void *)cliff();
	__u64 cursor = 0;

	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, 0));
	EXPECT_EQ(-1, list_page(self->fd, 0, edge, 1, &cursor));
	EXPECT_EQ(EFAULT, errno);
	/* An inaccessible entry after the end of the page does not matter. */
	EXPECT_EQ(1, list_page(self->fd, 0, edge - 1, 1, &cursor));
	/* One within it ends the page, and the next call fails. */
	cursor = 0;
	EXPECT_EQ(1, list_page(self->fd, 0, edge - 1, 2, &cursor));
	EXPECT_EQ(-1, list_page(self->fd, 0, edge, 1, &cursor));
	EXPECT_EQ(EFAULT, errno);
}

/* Two threads add and cancel operations of two files and two users. */
static struct {
	bool over;
	unsigned long nr;
} churned;

static void *churn(void *arg)
{
	int fd = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_event event;
	__u64 ids[16] = { 0 };
	unsigned int i = 0;

	if (arg)
		act_for(STRANGER);
	while (!__atomic_load_n(&churned.over, __ATOMIC_RELAXED)) {
		if (ids[i % 16]) {
			op_cancel(fd, ids[i % 16]);
			next_event(fd, &event);
		}
		ids[i % 16] = add_deadline(fd, HOUR, 0, ~0ULL);
		i += 1 + i % 3;
		__atomic_add_fetch(&churned.nr, 1, __ATOMIC_RELAXED);
	}
	close(fd);
	return arg;
}

TEST_F(info, pending_operations_are_listed_once_during_adds_and_cancels)
{
	unsigned char seen[NR_STABLE];
	unsigned int i, nr = NR_STABLE, round;
	pthread_t threads[2];

	if (nr > query(self->fd).max_file_pending)
		nr = query(self->fd).max_file_pending;
	for (i = 0; i < nr; i++)
		ASSERT_NE(0, add_deadline(self->fd, HOUR, 0, i));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, churn, i ? &churned : NULL));
	for (round = 0; round < 20; round++) {
		ASSERT_LE((int)nr, list_all(self->fd, TWHEEL_LIST_OTHERS, 1 + round * 3, seen));
		/* Operations of other files are listed with cookie 0, as is our first one. */
		for (i = 1; i < nr; i++)
			ASSERT_EQ(1, seen[i]);
		ASSERT_EQ((int)nr, list_all(self->fd, 0, 64 - round, seen));
	}
	EXPECT_TRUE(wait_for(__atomic_load_n(&churned.nr, __ATOMIC_RELAXED) > 100));
	__atomic_store_n(&churned.over, true, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

TEST_HARNESS_MAIN
