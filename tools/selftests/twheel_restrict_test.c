// SPDX-License-Identifier: GPL-2.0
/*
 * Restricted files: all calls work on the operations that were added through the file,
 * the operations of other files do not exist for it, and calls by key or on all
 * operations are refused. The restriction is permanent.
 */
#include "named.h"

#define NAME	"restricted"

FIXTURE(confined) {
	int fd;		/* restricted */
	int other;	/* not restricted */
	int events;	/* of detached operations */
	__u64 own;	/* watches the keys 1 and 2 */
	__u64 theirs;	/* watches the same keys, added through @other */
};

FIXTURE_SETUP(confined)
{
	remove_all_named();
	ASSERT_EQ(0, create_named(NAME, 0666));
	self->fd = twheel_open_named(NAME, O_NONBLOCK);
	self->other = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->events = open_events(self->other, O_NONBLOCK);
	ASSERT_LE(0, self->events);
	self->own = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	self->theirs = add_keys(self->other, TWHEEL_COND_ALL, 0, 2);
	ASSERT_NE(0, self->own);
	ASSERT_NE(0, self->theirs);
	ASSERT_EQ(0, file_restrict(self->fd));
}

FIXTURE_TEARDOWN(confined)
{
	close(self->fd);
	close(self->other);
	close(self->events);
	remove_all_named();
}

/* Also an operation that was added before the restriction. */
TEST_F(confined, own_operations_work)
{
	struct twheel_watch_spec more = spec_of(9, 1);
	__u64 later = add_deadline(self->fd, HOUR, 0, 5);
	struct twheel_pending pending;

	ASSERT_NE(0, later);
	EXPECT_EQ(0, op_watch(self->fd, self->own, &more, 1));
	EXPECT_EQ(0, op_unwatch(self->fd, self->own, 9));
	EXPECT_EQ(1, op_rearm(self->fd, self->own, HOUR, 0));
	EXPECT_EQ(0, op_info(self->fd, self->own, &pending));
	EXPECT_EQ(2, pending.nr_keys);
	EXPECT_EQ(TWHEEL_PENDING_OWN, pending.flags);
	EXPECT_EQ(0, op_complete(self->fd, self->own, 7));
	EXPECT_EQ(0, op_cancel(self->fd, later));
	EXPECT_EQ(ENOENT, op_cancel(self->fd, later));
	EXPECT_EVENT(self->fd, self->own, TWHEEL_REASON_COMPLETED, 7);
	EXPECT_EVENT(self->fd, later, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, later));
}

/* Pending, ended, periodic and unknown operations of other files cannot be distinguished. */
TEST_F(confined, operations_of_others_do_not_exist)
{
	struct twheel_add_args periodic = { .deadline = HOUR, .period = HOUR };
	struct twheel_watch_spec more = spec_of(9, 1);
	struct twheel_pending pending;
	__u64 ids[4];
	int i;

	ASSERT_EQ(0, op_add(self->other, &periodic));
	ids[0] = self->theirs;
	ids[1] = add_deadline(self->other, HOUR, 0, 0);
	ASSERT_EQ(0, op_cancel(self->other, ids[1]));
	ids[2] = ~0ULL;
	ids[3] = periodic.id;
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(ENOENT, op_cancel(self->fd, ids[i]));
		EXPECT_EQ(ENOENT, op_complete(self->fd, ids[i], 1));
		EXPECT_EQ(-1, op_rearm(self->fd, ids[i], HOUR, 0));
		EXPECT_EQ(ENOENT, errno);
		EXPECT_EQ(ENOENT, op_watch(self->fd, ids[i], &more, 1));
		EXPECT_EQ(ENOENT, op_unwatch(self->fd, ids[i], 1));
		EXPECT_EQ(ENOENT, op_info(self->fd, ids[i], &pending));
	}
	EXPECT_EQ(0, op_info(self->other, self->theirs, &pending));
	EXPECT_EQ(2, pending.nr_keys);
	EXPECT_EQ(TWHEEL_NEVER, pending.deadline);
	EXPECT_EQ(2, query(self->other).own);
}

TEST_F(confined, complete_all_completes_own_operations)
{
	GIVES(TWHEEL_IOC_COMPLETE_ALL, EPERM,
	      errno_of(complete_all(self->fd, 1, 0, TWHEEL_COMPLETE_OTHERS)));
	EXPECT_EQ(2, query(self->fd).pending);
	EXPECT_EQ(1, complete_all(self->fd, 1, 0, 0));
	EXPECT_EVENT(self->fd, self->own, TWHEEL_REASON_COMPLETED, 1);
	EXPECT_EQ(1, query(self->fd).pending);
	EXPECT_NO_EVENT(self->other);
}

/*
 * List all, one by one. Return: number of entries, -1 with errno if refused or if a call lists
 * nothing before the end, which would show how many it has skipped.
 */
static int list_all(int fd, __u32 flags, struct twheel_pending *entries, int max)
{
	__u64 cursor = 0;
	int nr, got;

	for (nr = 0; nr < max; nr++) {
		got = list_page(fd, flags, entries + nr, 1, &cursor);
		if (got < 0)
			return -1;
		if (!got)
			return cursor == TWHEEL_LIST_END ? nr : -1;
	}
	return nr;
}

TEST_F(confined, list_has_own_operations)
{
	struct twheel_pending entries[8];

	GIVES(TWHEEL_IOC_LIST, EPERM, errno_of(list_all(self->fd, TWHEEL_LIST_OTHERS, entries, 8)));
	ASSERT_EQ(1, list_all(self->fd, 0, entries, 8));
	EXPECT_EQ(self->own, entries[0].id);
	ASSERT_EQ(2, list_all(self->other, TWHEEL_LIST_OTHERS, entries, 8));
}

/* Between two of its adds, the other file makes an add, then two, and so on. */
TEST_F(confined, ids_tell_nothing_of_others)
{
	__u64 id, last = 0, distance, equal = 0, last_distance = 0;
	struct twheel_pending entries[128];
	int i, j, near = 0;

	for (i = 0; i < 64; i++) {
		id = add_deadline(self->fd, HOUR, 0, 0);
		ASSERT_NE(0, id);
		distance = id > last ? id - last : last - id;
		/* Random numbers of 63 bits are as near as this once in a million runs. */
		near += distance < 1ULL << 36;
		equal += distance == last_distance;
		last = id;
		last_distance = distance;
		for (j = 0; j < i; j++)
			ASSERT_NE(0, add_deadline(self->other, HOUR, 0, 0));
	}
	EXPECT_EQ(0, near);
	EXPECT_EQ(0, equal);
	EXPECT_EQ(1 + 64, list_all(self->fd, 0, entries, ARRAY_SIZE(entries)));
	/* For other files it is an id like any. */
	EXPECT_EQ(1, op_rearm(self->other, last, 2 * HOUR, 0));
	EXPECT_EQ(0, op_complete(self->other, last, 7));
	EXPECT_EVENT(self->fd, last, TWHEEL_REASON_COMPLETED, 7);
	EXPECT_EQ(ENOENT, op_cancel(self->other, last));
	EXPECT_EQ(ENOENT, op_cancel(self->fd, last));
}

/* More than a call of another file skips. */
TEST_F(confined, list_does_not_stop_at_others)
{
	struct twheel_pending pending;
	__u64 own, cursor = 0;
	int i;

	for (i = 0; i < 10000; i++)
		ASSERT_NE(0, add_deadline(self->other, HOUR, 0, 0));
	own = add_deadline(self->fd, HOUR, 0, 0);
	EXPECT_EQ(1, list_page(self->fd, 0, &pending, 1, &cursor));
	EXPECT_EQ(1, list_page(self->fd, 0, &pending, 1, &cursor));
	EXPECT_TRUE(pending.id == own || pending.id == self->own);
	/* The place is as secret as an id. */
	EXPECT_GT(cursor, 1ULL << 42);
}

TEST_F(confined, drain_cancels_own_operations)
{
	EXPECT_EQ(1, drain(self->fd));
	EXPECT_EVENT(self->fd, self->own, TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EQ(1, query(self->other).pending);
}

/* Detached operations that were added through the file are own operations. */
TEST_F(confined, own_detached_operations_work)
{
	__u64 mine = add_deadline(self->fd, HOUR, TWHEEL_ADD_DETACHED, 3);
	__u64 theirs = add_deadline(self->other, HOUR, TWHEEL_ADD_DETACHED, 4);
	struct twheel_pending pending;

	ASSERT_NE(0, mine);
	ASSERT_NE(0, theirs);
	EXPECT_EQ(0, op_info(self->fd, mine, &pending));
	EXPECT_EQ(TWHEEL_PENDING_OWN | TWHEEL_PENDING_DETACHED, (int)pending.flags);
	EXPECT_EQ(ENOENT, op_info(self->fd, theirs, &pending));
	EXPECT_EQ(ENOENT, op_cancel(self->fd, theirs));
	EXPECT_EQ(1, op_rearm(self->fd, mine, 2 * HOUR, 0));
	EXPECT_EQ(0, op_complete(self->fd, mine, 8));
	EXPECT_EVENT(self->events, mine, TWHEEL_REASON_COMPLETED, 8);
	EXPECT_EQ(0, op_cancel(self->other, theirs));
}

/* A new file does not own the operations of an earlier file. */
TEST_F(confined, detached_operations_of_a_closed_file_do_not_exist)
{
	struct twheel_pending pending;
	__u64 id;
	int fd, i;

	for (i = 0; i < 20; i++) {
		fd = twheel_open_named(NAME, O_NONBLOCK);
		id = add_deadline(fd, HOUR, TWHEEL_ADD_DETACHED, 0);
		ASSERT_NE(0, id);
		close(fd);
		/* The memory of the closed file may be reused. */
		fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_EQ(0, file_restrict(fd));
		EXPECT_EQ(ENOENT, op_info(fd, id, &pending));
		EXPECT_EQ(ENOENT, op_cancel(fd, id));
		close(fd);
		ASSERT_EQ(0, op_cancel(self->other, id));
	}
}

TEST_F(confined, restriction_applies_to_the_file)
{
	int copy = dup(self->fd), fresh;

	EXPECT_EQ(0, file_restrict(self->fd));
	EXPECT_EQ(0, file_restrict(copy));
	EXPECT_EQ(-1, key_signal(copy, 1, 1));
	EXPECT_EQ(EPERM, errno);
	EXPECT_TRUE(as_stranger(key_signal(self->fd, 1, 1) == -1 && errno == EPERM &&
				op_cancel(self->fd, self->theirs) == ENOENT &&
				op_cancel(self->fd, self->own) == 0));
	/* The node is not restricted. */
	fresh = twheel_open_named(NAME, O_NONBLOCK);
	EXPECT_EQ(0, key_signal(fresh, 1, 1));
	close(fresh);
	close(copy);
}

TEST_F(confined, open_queue_stays_open)
{
	int events = open_events(self->other, O_NONBLOCK);
	__u64 id = add_deadline(self->other, HOUR, TWHEEL_ADD_DETACHED, 0);

	ASSERT_EQ(0, file_restrict(self->other));
	ASSERT_EQ(0, op_cancel(self->other, id));
	EXPECT_EVENT(events, id, TWHEEL_REASON_CANCELLED, 0);
	close(events);
}

TEST_F(confined, read_only_file_is_restricted)
{
	int fd = open("/dev/twheel-" NAME, O_RDONLY);
	struct twheel_pending pending;

	EXPECT_EQ(0, op_info(fd, self->theirs, &pending));
	EXPECT_EQ(0, file_restrict(fd));
	EXPECT_EQ(2, query(fd).pending);
	EXPECT_EQ(ENOENT, op_info(fd, self->theirs, &pending));
	EXPECT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY));
	EXPECT_EQ(TWHEEL_RIGHT_LIST | TWHEEL_RIGHT_QUERY, query(fd).rights);
	EXPECT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_LIST));
	EXPECT_EQ(0, query(fd).max_pending);
	EXPECT_EQ(EPERM, errno);
	close(fd);
}

/* The error of an add with up to one key. */
static int add_with(int fd, __u32 flags, __u32 nr_keys)
{
	struct twheel_watch_spec spec = spec_of(9, 1);
	struct twheel_add_args args = {
		.flags = flags,
		.condition = nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.nr_keys = nr_keys,
		.keys = nr_keys ? address(&spec) : 0,
		.key_size = nr_keys ? sizeof(spec) : 0,
		.deadline = HOUR,
	};

	return op_add(fd, &args);
}

/* twheel_errno_test covers the other calls. */
TEST_F(confined, add_needs_the_rights_of_its_arguments)
{
	__u32 has;
	int fd;

	for (has = 1; has <= ALL_RIGHTS; has <<= 1) {
		fd = twheel_open_named(NAME, O_NONBLOCK);
		ASSERT_EQ(0, file_restrict_to(fd, has));
		EXPECT_EQ(has == TWHEEL_RIGHT_ADD ? 0 : EPERM, add_with(fd, 0, 0));
		EXPECT_EQ(has == TWHEEL_RIGHT_ADD_DETACHED ? 0 : EPERM,
			  add_with(fd, TWHEEL_ADD_DETACHED, 0));
		EXPECT_EQ(EPERM, add_with(fd, 0, 1));
		EXPECT_EQ(EPERM, add_with(fd, TWHEEL_ADD_DETACHED, 1));
		close(fd);
	}
	fd = twheel_open_named(NAME, O_NONBLOCK);
	ASSERT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_ADD | TWHEEL_RIGHT_WATCH));
	EXPECT_EQ(0, add_with(fd, 0, 1));
	close(fd);
}

TEST_F(confined, rights_are_not_returned)
{
	ASSERT_EQ(0, file_restrict_to(self->fd, TWHEEL_RIGHT_QUERY | TWHEEL_RIGHT_REARM));
	ASSERT_EQ(0, file_restrict_to(self->fd, ALL_RIGHTS));
	EXPECT_EQ(TWHEEL_RIGHT_QUERY | TWHEEL_RIGHT_REARM, query(self->fd).rights);
	EXPECT_EQ(1, op_rearm(self->fd, self->own, HOUR, 0));
	EXPECT_EQ(EPERM, add_with(self->fd, 0, 0));
	ASSERT_EQ(0, file_restrict_to(self->fd, TWHEEL_RIGHT_QUERY | TWHEEL_RIGHT_ADD));
	EXPECT_EQ(TWHEEL_RIGHT_QUERY, query(self->fd).rights);
	EXPECT_EQ(-1, op_rearm(self->fd, self->own, HOUR, 0));
	EXPECT_EQ(EPERM, errno);
	/* Without rights, only the events of earlier operations are left. */
	ASSERT_EQ(0, file_restrict_to(self->fd, 0));
	EXPECT_EQ(EPERM, add_with(self->fd, 0, 0));
	EXPECT_EQ(EPERM, op_cancel(self->fd, self->own));
	EXPECT_EQ(0, op_complete(self->other, self->own, 3));
	EXPECT_EVENT(self->fd, self->own, TWHEEL_REASON_COMPLETED, 3);
}

TEST(restricted_error_does_not_depend_on_others)
{
	struct twheel_add_args detached = {
		.flags = TWHEEL_ADD_DETACHED, .deadline = HOUR, .clock = CLOCK_MONOTONIC,
	};
	struct twheel_create_args args = create_args("order", 0600);
	int fd, other;

	args.max_file_pending = 1;
	args.max_queue = 2;
	fd = create_open(&args);
	ASSERT_LE(0, fd);
	other = twheel_open_named("order", O_NONBLOCK);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, file_restrict_to(fd, TWHEEL_RIGHT_ADD_DETACHED));
	ASSERT_EQ(0, op_add(fd, &detached));
	EXPECT_EQ(ENOSPC, op_add(fd, &detached));
	ASSERT_EQ(0, op_add(other, &detached));
	/* The same call, after another file has added. */
	EXPECT_EQ(ENOSPC, op_add(fd, &detached));
	close(fd);
	close(other);
	EXPECT_EQ(2, remove_by_force("order"));
}

TEST_HARNESS_MAIN
