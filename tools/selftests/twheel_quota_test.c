// SPDX-License-Identifier: GPL-2.0
/*
 * The limits that module parameters set: how many files and operations a user
 * may have, how many named purgatories there may be, and how much they may be
 * given.  What is refused is there again as soon as something goes.
 *
 * Load the module with small ones for it:
 * max_pending=16 max_shared_pending=32 max_purgatories=4 user_max_files=12
 * user_max_ops=40
 */
#include "named.h"

#define MOST	64	/* the largest of these that the tests go through */

FIXTURE(quota) {
	int fds[MOST];
	unsigned int files;
	unsigned int ops;
	unsigned int pending;
	unsigned int purgatories;
};

FIXTURE_SETUP(quota)
{
	int i;

	remove_all_named();
	self->files = module_parameter("user_max_files");
	self->ops = module_parameter("user_max_ops");
	self->pending = module_parameter("max_pending");
	self->purgatories = module_parameter("max_purgatories");
	ASSERT_TRUE(self->files && self->ops && self->pending && self->purgatories);
	for (i = 0; i < MOST; i++)
		self->fds[i] = -1;
	if (self->files >= MOST || self->ops >= MOST || self->purgatories >= self->files ||
	    self->ops < 2 * self->pending)
		SKIP(return, "load twheel with the small limits of this program's top");
}

FIXTURE_TEARDOWN(quota)
{
	int i;

	for (i = 0; i < MOST; i++)
		if (self->fds[i] >= 0)
			close(self->fds[i]);
	remove_all_named();
}

/* Open as many as one may. Return: how many, with errno of the one refused. */
static unsigned int open_all(int fds[MOST])
{
	unsigned int nr;

	for (nr = 0; nr < MOST; nr++) {
		fds[nr] = twheel_open(O_NONBLOCK);
		if (fds[nr] < 0)
			break;
	}
	return nr;
}

TEST_F(quota, as_many_files_as_a_user_may_have)
{
	ASSERT_EQ(self->files, open_all(self->fds));
	EXPECT_EQ(EDQUOT, errno);
	close(self->fds[0]);
	self->fds[0] = twheel_open(0);
	EXPECT_LE(0, self->fds[0]);
	EXPECT_GT(0, twheel_open(0));
	EXPECT_EQ(EDQUOT, errno);
}

TEST_F(quota, a_duplicate_is_no_further_file)
{
	int i;

	self->fds[0] = twheel_open(0);
	for (i = 1; i < MOST; i++) {
		self->fds[i] = dup(self->fds[0]);
		ASSERT_LE(0, self->fds[i]);
	}
}

TEST_F(quota, another_user_has_files_of_his_own)
{
	int fds[MOST];

	/* What root has open does not count for a stranger, nor his for root. */
	ASSERT_EQ(0, create_named("all", 0666));
	ASSERT_EQ(self->files, open_all(self->fds));
	EXPECT_TRUE(as_stranger(twheel_open_named("all", 0) >= 0));
	close(self->fds[0]);
	self->fds[0] = -1;
	EXPECT_TRUE(as_stranger(({
		unsigned int nr = 0;

		while (nr < MOST && (fds[nr] = twheel_open_named("all", 0)) >= 0)
			nr++;
		nr == self->files && errno == EDQUOT;
	})));
	self->fds[0] = twheel_open(0);
	EXPECT_LE(0, self->fds[0]);
}

/* Add as many operations as one may. Return: how many. */
static unsigned int add_all(int fd)
{
	unsigned int nr = 0;

	while (nr <= MOST && add_deadline(fd, HOUR, 0, nr))
		nr++;
	return nr;
}

TEST_F(quota, as_many_operations_as_a_user_may_have)
{
	unsigned int nr, all = 0;
	struct twheel_event event;
	int i;

	/* Each file up to its own limit, until all of them together are enough. */
	for (i = 0; all < self->ops; i++) {
		self->fds[i] = twheel_open(O_NONBLOCK);
		ASSERT_LE(0, self->fds[i]);
		nr = add_all(self->fds[i]);
		EXPECT_EQ(all + nr == self->ops && nr < self->pending ? EDQUOT : ENOSPC, errno);
		ASSERT_NE(0, nr);
		all += nr;
		ASSERT_GE(self->ops, all);
	}
	self->fds[i] = twheel_open(O_NONBLOCK);
	EXPECT_EQ(0, add_deadline(self->fds[i], HOUR, 0, 0));
	EXPECT_EQ(EDQUOT, errno);
	EXPECT_EQ(1, query(self->fds[i]).rejected);

	/* What has ended counts until it is read. */
	ASSERT_EQ(self->pending, complete_all(self->fds[0], 0, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fds[i], HOUR, 0, 0));
	EXPECT_EQ(EDQUOT, errno);
	ASSERT_EQ(1, read_events(self->fds[0], &event, 1));
	EXPECT_NE(0, add_deadline(self->fds[i], HOUR, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fds[i], HOUR, 0, 0));

	/* And a close gives back all that the file had. */
	close(self->fds[0]);
	self->fds[0] = -1;
	EXPECT_TRUE(wait_for(add_deadline(self->fds[i], HOUR, 0, 0)));
	EXPECT_EQ(self->pending - 2, add_all(self->fds[i]));
}

TEST_F(quota, bad_input_costs_nothing)
{
	struct twheel_add_args args = { .flags = ~0U };
	unsigned int i;

	self->fds[0] = twheel_open(O_NONBLOCK);
	for (i = 0; i < 3 * self->ops; i++)
		ASSERT_EQ(EINVAL, op_add(self->fds[0], &args));
	EXPECT_EQ(self->pending, add_all(self->fds[0]));
}

TEST_F(quota, a_batch_runs_into_it_as_well)
{
	struct twheel_command commands[MOST] = { 0 };
	struct twheel_result results[MOST];
	struct twheel_batch_args args = {
		.commands = address(commands),
		.results = address(results),
		.nr = MOST,
	};
	unsigned int i;

	self->fds[0] = twheel_open(O_NONBLOCK);
	for (i = 0; i < MOST; i++) {
		commands[i].call = TWHEEL_CALL_ADD;
		commands[i].add.deadline = HOUR;
	}
	ASSERT_EQ(0, call(self->fds[0], TWHEEL_IOC_BATCH, &args));
	EXPECT_EQ(MOST, args.done);
	EXPECT_EQ(MOST - self->pending, args.failed);
	EXPECT_EQ(0, results[self->pending - 1].error);
	EXPECT_EQ(-ENOSPC, results[self->pending].error);
}

TEST_F(quota, as_many_named_purgatories_as_there_may_be)
{
	char name[TWHEEL_NAME_SIZE];
	unsigned int i;

	for (i = 0; i < self->purgatories; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ASSERT_EQ(0, create_named(name, 0600));
	}
	EXPECT_EQ(ENOSPC, create_named("more", 0600));
	EXPECT_FALSE(node_exists("more"));
	EXPECT_EQ(0, remove_named("n0"));
	EXPECT_EQ(0, create_named("more", 0600));
	EXPECT_EQ(ENOSPC, create_named("again", 0600));
}

TEST_F(quota, no_more_than_a_named_one_may_be_given)
{
	unsigned int most = module_parameter("max_shared_pending");
	struct twheel_create_args args = create_args("most", 0600);

	args.max_pending = most + 1;
	EXPECT_EQ(EINVAL, call_once(TWHEEL_IOC_CREATE, &args));
	args.max_pending = most;
	ASSERT_EQ(0, call_once(TWHEEL_IOC_CREATE, &args));
	self->fds[0] = twheel_open_named("most", O_NONBLOCK);
	EXPECT_EQ(most, query(self->fds[0]).max_pending);
	ASSERT_EQ(0, create_named("default", 0600));
	self->fds[1] = twheel_open_named("default", O_NONBLOCK);
	EXPECT_EQ(most, query(self->fds[1]).max_pending);
}

/* Each file has its limit, and all files of a named one have that of it. */
TEST_F(quota, a_named_one_is_full_for_all_files)
{
	struct twheel_create_args args = create_args("small", 0600);
	int i;

	args.max_pending = self->pending + 2;
	ASSERT_EQ(0, call_once(TWHEEL_IOC_CREATE, &args));
	for (i = 0; i < 3; i++)
		self->fds[i] = twheel_open_named("small", O_NONBLOCK);
	EXPECT_EQ(self->pending, add_all(self->fds[0]));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(2, add_all(self->fds[1]));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(0, add_all(self->fds[2]));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(self->pending + 2, query(self->fds[2]).pending);
	close(self->fds[0]);
	self->fds[0] = -1;
	EXPECT_TRUE(wait_for(add_all(self->fds[2]) > 0));
}

TEST_F(quota, unread_detached_events_are_bounded_too)
{
	struct twheel_create_args create = create_args("box", 0600);
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	create.max_pending = 4;
	ASSERT_EQ(0, call_once(TWHEEL_IOC_CREATE, &create));
	self->fds[0] = twheel_open_named("box", O_NONBLOCK);
	ASSERT_EQ(0, read_detached(self->fds[0]));
	for (i = 0; i < 8; i++) {
		id = add_deadline(self->fds[0], HOUR, 0, i);
		ASSERT_NE(0, id);
		ASSERT_EQ(0, op_cancel(self->fds[0], id));
	}
	EXPECT_EQ(0, add_deadline(self->fds[0], HOUR, 0, 0));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(1, read_events(self->fds[0], &event, 1));
	EXPECT_NE(0, add_deadline(self->fds[0], HOUR, 0, 0));
}

/* Users are forgotten with what they had: others are not refused for them. */
TEST_F(quota, removal_gives_everything_back)
{
	unsigned int i, round;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, create_named("gone", 0600));
		self->fds[0] = twheel_open_named("gone", O_NONBLOCK);
		ASSERT_EQ(0, read_detached(self->fds[0]));
		for (i = 0; i < self->pending; i++)
			ASSERT_NE(0, add_deadline(self->fds[0], HOUR, 0, i));
		ASSERT_EQ(self->pending, remove_by_force("gone"));
		close(self->fds[0]);
		self->fds[0] = -1;
	}
	ASSERT_EQ(self->files, open_all(self->fds));
	EXPECT_EQ(self->pending, add_all(self->fds[0]));
	EXPECT_EQ(self->pending, add_all(self->fds[1]));
}

TEST_HARNESS_MAIN
