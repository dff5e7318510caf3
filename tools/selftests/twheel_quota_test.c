// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of the module parameters: the operations of a file, pending ones and twice as many
 * with unread events; the files, operations and named purgatories of a user; the number of named
 * purgatories, and their own limits. Refused adds are counted. After an object has been released, a
 * limit allows a new one.
 *
 * Needs the module parameters max_pending=16 max_shared_pending=32
 * max_purgatories=4 user_max_files=12 user_max_ops=40 user_max_purgatories=2.
 */
#include "named.h"

#define MOST	64	/* greater than all of these limits */

FIXTURE(quota) {
	int fds[MOST];
	unsigned int files;
	unsigned int ops;
	unsigned int pending;
	unsigned int purgatories;
	unsigned int names;
};

FIXTURE_SETUP(quota)
{
	int i;

	remove_all_named();
	self->files = module_parameter("user_max_files");
	self->ops = module_parameter("user_max_ops");
	self->pending = module_parameter("max_pending");
	self->purgatories = module_parameter("max_purgatories");
	self->names = module_parameter("user_max_purgatories");
	ASSERT_TRUE(self->files && self->ops && self->pending && self->purgatories);
	for (i = 0; i < MOST; i++)
		self->fds[i] = -1;
	if (self->files >= MOST || self->ops >= MOST || self->purgatories >= self->files ||
	    self->ops < 2 * self->pending || self->purgatories < 2 * self->names)
		SKIP(return, "load twheel with the parameters above");
}

FIXTURE_TEARDOWN(quota)
{
	int i;

	for (i = 0; i < MOST; i++)
		if (self->fds[i] >= 0)
			close(self->fds[i]);
	remove_all_named();
}

/* Open files until one is refused, with errno. Return: number of opened files. */
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

/* A duplicate is not counted. */
TEST_F(quota, limit_on_files_of_a_user)
{
	int i, fd = twheel_open(0);

	for (i = 0; i < MOST; i++) {
		self->fds[i] = dup(fd);
		ASSERT_LE(0, self->fds[i]);
	}
	for (i = 0; i < MOST; i++)
		close(self->fds[i]);
	close(fd);
	ASSERT_EQ(self->files, open_all(self->fds));
	EXPECT_EQ(EDQUOT, errno);
	close(self->fds[0]);
	self->fds[0] = twheel_open(0);
	EXPECT_LE(0, self->fds[0]);
	GIVES(open, EDQUOT, errno_of(twheel_open(0)));
}

TEST_F(quota, files_are_counted_by_user)
{
	int fds[MOST];

	/* Files of root are not charged to another user, and vice versa. */
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

/* Add operations until one is refused. Return: number of added operations. */
static unsigned int add_all(int fd)
{
	unsigned int nr = 0;

	while (nr <= MOST && add_deadline(fd, HOUR, 0, nr))
		nr++;
	return nr;
}

/* Add operations that watch key 1 until one is refused. Return: number of added operations. */
static unsigned int fill(int fd, __u64 ids[MOST])
{
	unsigned int nr;

	for (nr = 0; nr < MOST; nr++) {
		ids[nr] = add_keys(fd, TWHEEL_COND_ANY, 0, 1);
		if (!ids[nr])
			break;
	}
	return nr;
}

/* Return: true if an add is refused with @error. */
static bool refused(int fd, int error)
{
	return !add_deadline(fd, HOUR, 0, 0) && errno == error;
}

/* The calls that do not add work at the limit, and bad input gives EINVAL. */
TEST_F(quota, limit_on_operations_of_a_file)
{
	struct twheel_watch_spec specs[2] = { spec_of(2, 1), spec_of(2, 1) };
	int fd = self->fds[0] = twheel_open(O_NONBLOCK);
	__u64 ids[MOST];

	ASSERT_EQ(self->pending, fill(fd, ids));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(self->pending, query(fd).pending);
	EXPECT_EQ(self->pending, query(fd).added);
	EXPECT_EQ(self->pending, query(fd).watches);
	EXPECT_EQ(0, add_specs(fd, TWHEEL_COND_ANY, 0, specs, 2));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1, query(fd).rejected);
	EXPECT_TRUE(refused(fd, ENOSPC));
	EXPECT_EQ(2, query(fd).rejected);
	EXPECT_EQ(2, query(fd).rejected_enospc);
	EXPECT_EQ(0, op_watch(fd, ids[0], specs, 1));
	EXPECT_EQ(1, key_signal(fd, 2, 9));
	EXPECT_EVENT(fd, ids[0], TWHEEL_REASON_COMPLETED, 9);
}

TEST_F(quota, add_succeeds_after_each_end)
{
	int fd = self->fds[0] = twheel_open(O_NONBLOCK);
	__u64 ids[MOST];

	ASSERT_EQ(self->pending, fill(fd, ids));
	ASSERT_EQ(0, op_cancel(fd, ids[0]));
	EXPECT_NE(0, add_deadline(fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(fd, ENOSPC));
	ASSERT_EQ(0, op_complete(fd, ids[1], 1));
	EXPECT_NE(0, add_deadline(fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(fd, ENOSPC));
	ASSERT_EQ(1, op_rearm(fd, ids[2], MSEC, 0));
	ASSERT_TRUE(wait_for(query(fd).expired == 1));
	EXPECT_NE(0, add_deadline(fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(fd, ENOSPC));
	ASSERT_EQ(self->pending - 3, key_signal(fd, 1, 0));
	EXPECT_EQ(self->pending - 3, fill(fd, ids));
}

/* Unread events count, and none is lost at the limit. */
TEST_F(quota, limit_on_unread_events_of_a_file)
{
	int fd = self->fds[0] = twheel_open(O_NONBLOCK);
	unsigned int i, max = self->pending;
	struct twheel_query_args q;
	struct twheel_event event;
	__u64 ids[MOST];

	ASSERT_EQ(max, fill(fd, ids));
	ASSERT_EQ(max, key_signal(fd, 1, 0));
	ASSERT_EQ(max, fill(fd, ids));
	ASSERT_EQ(0, op_cancel(fd, ids[0]));
	EXPECT_EQ(-1, read(fd, cliff(), 4096));
	EXPECT_EQ(EFAULT, errno);
	GIVES(TWHEEL_IOC_ADD, ENOBUFS, add_deadline(fd, HOUR, 0, 0) ? 0 : errno);
	q = query(fd);
	EXPECT_EQ(max + 1, q.unread);
	EXPECT_EQ(max - 1, q.pending);
	EXPECT_EQ(3, q.rejected);
	EXPECT_EQ(2, q.rejected_enospc);
	EXPECT_EQ(1, q.rejected_enobufs);
	EXPECT_EQ(0, q.rejected_edquot);
	ASSERT_EQ(1, read_events(fd, &event, 1));
	EXPECT_NE(0, add_deadline(fd, HOUR, 0, 0));
	EXPECT_TRUE(refused(fd, ENOSPC));
	for (i = 1; i < max; i++)
		ASSERT_EQ(0, op_cancel(fd, ids[i]));
	EXPECT_TRUE(refused(fd, ENOBUFS));
	EXPECT_EQ(2 * max - 1, read_all_events(fd));
	EXPECT_EQ(max - 1, fill(fd, ids));
}

TEST_F(quota, limit_on_operations_of_a_user)
{
	unsigned int nr, all = 0;
	struct twheel_event event;
	int i;

	/* Each file up to its own limit, until the limit of the user is reached. */
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
	GIVES(TWHEEL_IOC_ADD, EDQUOT, add_deadline(self->fds[i], HOUR, 0, 0) ? 0 : errno);
	EXPECT_EQ(1, query(self->fds[i]).rejected);
	EXPECT_EQ(1, query(self->fds[i]).rejected_edquot);

	/* An ended operation is charged until its event is read. */
	ASSERT_EQ(self->pending, complete_all(self->fds[0], 0, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fds[i], HOUR, 0, 0));
	EXPECT_EQ(EDQUOT, errno);
	ASSERT_EQ(1, read_events(self->fds[0], &event, 1));
	EXPECT_NE(0, add_deadline(self->fds[i], HOUR, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fds[i], HOUR, 0, 0));

	/* Closing a file ends and uncharges its operations. */
	close(self->fds[0]);
	self->fds[0] = -1;
	EXPECT_TRUE(wait_for(add_deadline(self->fds[i], HOUR, 0, 0)));
	EXPECT_EQ(self->pending - 2, add_all(self->fds[i]));
}

/* An operation is charged to the user that adds it, not to the user that opened the file. */
TEST_F(quota, operations_are_charged_to_the_adder)
{
	unsigned int i, nr = 0;

	for (i = 0; i * self->pending < self->ops + self->pending; i++) {
		self->fds[i] = twheel_open(O_NONBLOCK);
		ASSERT_LE(0, self->fds[i]);
	}
	nr = i - 1;
	EXPECT_TRUE(as_stranger(({
		unsigned int j, all = 0;

		for (j = 0; j < nr; j++)
			all += add_all(self->fds[j]);
		all == self->ops && errno == EDQUOT;
	})));
	/* Root's quota is unused. */
	EXPECT_EQ(self->pending, add_all(self->fds[nr]));
	EXPECT_EQ(ENOSPC, errno);
	/* This file accepts operations of root, but no more of the other user. */
	EXPECT_TRUE(as_stranger(!add_deadline(self->fds[nr - 1], HOUR, 0, 0) &&
				errno == EDQUOT));
	EXPECT_NE(0, add_deadline(self->fds[nr - 1], HOUR, 0, 0));
	/* They are uncharged when root closes the file. */
	close(self->fds[0]);
	self->fds[0] = -1;
	EXPECT_TRUE(wait_for(as_stranger(add_deadline(self->fds[nr - 1], HOUR, 0, 0))));
}

/* A detached operation stays charged to the adding user after its file is closed. */
TEST_F(quota, detached_operations_are_charged_to_the_adder)
{
	struct twheel_event event;
	unsigned int i;
	int events;

	ASSERT_EQ(0, create_named("box", 0666));
	self->fds[0] = twheel_open_named("box", O_NONBLOCK);
	EXPECT_TRUE(as_stranger(({
		unsigned int all = 0;

		for (i = 0; i < 2; i++) {
			self->fds[1] = twheel_open_named("box", O_NONBLOCK);
			while (add_deadline(self->fds[1], HOUR, TWHEEL_ADD_DETACHED, 0))
				all++;
			close(self->fds[1]);
		}
		/* The purgatory is full before the user has reached the limit. */
		all == 2 * self->pending && errno == ENOSPC;
	})));
	EXPECT_TRUE(wait_for(query(self->fds[0]).files == 1));
	EXPECT_EQ(2 * self->pending, query(self->fds[0]).detached);
	for (i = 2; i < 6; i++) {
		self->fds[i] = twheel_open(O_NONBLOCK);
		ASSERT_LE(0, self->fds[i]);
	}
	EXPECT_TRUE(as_stranger(add_all(self->fds[2]) == self->ops - 2 * self->pending &&
				errno == EDQUOT));
	EXPECT_EQ(self->pending, add_all(self->fds[3]));

	/* Unread events are charged until root reads them. */
	events = open_events(self->fds[0], O_NONBLOCK);
	ASSERT_LE(0, events);
	EXPECT_EQ(2 * self->pending, complete_all(self->fds[0], 0, 0,
						  TWHEEL_COMPLETE_OTHERS));
	EXPECT_TRUE(as_stranger(!add_deadline(self->fds[4], HOUR, 0, 0) && errno == EDQUOT));
	EXPECT_EQ(1, read_events(events, &event, 1));
	EXPECT_TRUE(as_stranger(add_deadline(self->fds[4], HOUR, 0, 0)));
	EXPECT_TRUE(as_stranger(!add_deadline(self->fds[4], HOUR, 0, 0) && errno == EDQUOT));
	close(events);
}

/* Create purgatories until one is refused. Return: number of created purgatories. */
static unsigned int create_all(int control, char first)
{
	struct twheel_create_args args;
	char name[] = "x0";
	unsigned int nr;

	for (nr = 0; nr < MOST; nr++) {
		name[0] = first;
		name[1] = '0' + nr;
		args = create_args(name, 0600);
		errno = call(control, TWHEEL_IOC_CREATE, &args);
		if (errno)
			break;
	}
	return nr;
}

static int remove_through(int control, const char *name)
{
	struct twheel_remove_args args = remove_args(name, 0);

	return call(control, TWHEEL_IOC_REMOVE, &args);
}

/* Names are charged until their removal, also after the end of the process. */
TEST_F(quota, limit_on_names_of_a_user)
{
	int control = twheel_open_control();

	ASSERT_LE(0, control);
	EXPECT_TRUE(as_stranger(create_all(control, 'a') == self->names && errno == EDQUOT));
	EXPECT_TRUE(as_stranger(create_all(control, 'b') == 0 && errno == EDQUOT));
	EXPECT_FALSE(node_exists("b0"));
	/* Other users and root are not affected. */
	EXPECT_TRUE(as_user(NEIGHBOUR, create_all(control, 'c') == self->names));
	EXPECT_TRUE(as_stranger(remove_through(control, "a0") == 0));
	EXPECT_EQ(0, create_named("root", 0600));
	EXPECT_EQ(0, remove_named("root"));
	EXPECT_TRUE(as_stranger(create_all(control, 'b') == 1));
	/* Root removes one of them, and the user can create another one. */
	EXPECT_EQ(0, remove_named("a1"));
	EXPECT_TRUE(as_stranger(create_all(control, 'd') == 1));
	close(control);
}

static bool add_cells(int fd)
{
	struct twheel_cells_args args = { .nr = 1 };

	errno = call(fd, TWHEEL_IOC_CELLS, &args);
	return !errno;
}

/* The limit is a page of cells. It is charged to the caller, without an operation. */
TEST_F(quota, limit_on_cells_of_a_user)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		self->fds[i] = twheel_open(O_NONBLOCK);
		ASSERT_LE(0, self->fds[i]);
	}
	if (!add_cells(self->fds[0]) && lacks_cells(errno))
		SKIP(return, "no cells on this machine");
	ASSERT_TRUE(act_for(STRANGER));
	EXPECT_TRUE(add_cells(self->fds[1]));
	EXPECT_FALSE(add_cells(self->fds[2]));
	EXPECT_EQ(EDQUOT, errno);
	ASSERT_TRUE(act_for(0));
	GIVES(TWHEEL_IOC_CELLS, EDQUOT, add_cells(self->fds[3]) ? 0 : errno);
	/* They are uncharged when root closes the file. */
	close(self->fds[1]);
	self->fds[1] = -1;
	ASSERT_TRUE(act_for(STRANGER));
	EXPECT_TRUE(wait_for(add_cells(self->fds[2])));
}

/* CAP_SYS_RESOURCE overrides the limit of a user, but not the limit of the module. */
TEST_F(quota, root_is_exempt_from_the_limit_on_names)
{
	int control = twheel_open_control();

	EXPECT_EQ(self->purgatories, create_all(control, 'r'));
	GIVES(TWHEEL_IOC_CREATE, ENOSPC, errno);
	EXPECT_EQ(0, remove_named("r0"));
	EXPECT_EQ(1, create_all(control, 's'));
	EXPECT_EQ(ENOSPC, errno);
	close(control);
}

/* The descriptor returned by create is an open file like any other. */
TEST_F(quota, created_descriptor_is_counted)
{
	struct twheel_create_args args = create_args("full", 0600);
	unsigned int nr = open_all(self->fds);
	int control = twheel_open_control();

	ASSERT_EQ(self->files, nr);
	GIVES(TWHEEL_IOC_CREATE, EDQUOT, call(control, TWHEEL_IOC_CREATE, &args));
	EXPECT_FALSE(node_exists("full"));
	close(self->fds[0]);
	self->fds[0] = ioctl(control, TWHEEL_IOC_CREATE, &args);
	EXPECT_LE(0, self->fds[0]);
	GIVES(TWHEEL_IOC_EVENTS, EDQUOT, errno_of(open_events(self->fds[0], 0)));
	close(control);
}

/* One file cannot fill a shared purgatory. */
TEST_F(quota, limit_of_a_file_in_a_shared_purgatory)
{
	struct twheel_create_args args = create_args("fair", 0600);

	args.max_pending = 12;
	args.max_file_pending = 4;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	self->fds[0] = twheel_open_named("fair", O_NONBLOCK);
	self->fds[1] = twheel_open_named("fair", O_NONBLOCK);
	EXPECT_EQ(4, query(self->fds[0]).max_file_pending);
	EXPECT_EQ(12, query(self->fds[0]).max_pending);
	EXPECT_EQ(4, add_all(self->fds[0]));
	EXPECT_EQ(ENOSPC, errno);

	/* Detached operations are counted as long as their file is open. */
	EXPECT_NE(0, add_deadline(self->fds[1], HOUR, TWHEEL_ADD_DETACHED, 0));
	EXPECT_NE(0, add_deadline(self->fds[1], HOUR, TWHEEL_ADD_DETACHED, 0));
	EXPECT_EQ(2, add_all(self->fds[1]));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(0, add_deadline(self->fds[1], HOUR, TWHEEL_ADD_DETACHED, 0));
	EXPECT_EQ(ENOSPC, errno);
	close(self->fds[1]);
	self->fds[1] = twheel_open_named("fair", O_NONBLOCK);
	EXPECT_TRUE(wait_for(query(self->fds[1]).pending == 6));
	EXPECT_EQ(4, add_all(self->fds[1]));
	EXPECT_EQ(ENOSPC, errno);

	/* The purgatory is full before the limit of a third file is reached. */
	self->fds[2] = twheel_open_named("fair", O_NONBLOCK);
	EXPECT_EQ(2, add_all(self->fds[2]));
	GIVES(TWHEEL_IOC_ADD, ENOSPC, errno);
}

TEST_F(quota, limit_on_watches_of_a_purgatory)
{
	struct twheel_create_args args = create_args("watched", 0600);
	struct twheel_watch_spec more = spec_of(11, 1);
	__u64 id;

	args.max_watches = 6;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	self->fds[0] = twheel_open_named("watched", O_NONBLOCK);
	self->fds[1] = twheel_open_named("watched", O_NONBLOCK);
	id = add_keys(self->fds[0], TWHEEL_COND_ALL, 0, 4);
	ASSERT_NE(0, id);
	EXPECT_EQ(0, add_keys(self->fds[1], TWHEEL_COND_ALL, 0, 3));
	EXPECT_EQ(ENOSPC, errno);
	ASSERT_NE(0, add_keys(self->fds[1], TWHEEL_COND_ALL, 0, 2));
	GIVES(TWHEEL_IOC_WATCH, ENOSPC, op_watch(self->fds[0], id, &more, 1));
	EXPECT_NE(0, add_deadline(self->fds[0], HOUR, 0, 0));
	EXPECT_EQ(2, query(self->fds[0]).rejected_enospc);
}

TEST_F(quota, limit_on_the_limits_of_a_named_purgatory)
{
	unsigned int most = module_parameter("max_shared_pending");
	struct twheel_create_args args = create_args("most", 0600);

	args.max_pending = most + 1;
	EXPECT_EQ(EINVAL, call_control(TWHEEL_IOC_CREATE, &args));
	args.max_pending = most;
	args.max_file_pending = self->pending + 1;
	EXPECT_EQ(EINVAL, call_control(TWHEEL_IOC_CREATE, &args));
	args.max_file_pending = self->pending;
	args.max_queue = 2 * most + 1;
	EXPECT_EQ(EINVAL, call_control(TWHEEL_IOC_CREATE, &args));
	args.max_queue = 2 * most;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	self->fds[0] = twheel_open_named("most", O_NONBLOCK);
	EXPECT_EQ(most, query(self->fds[0]).max_pending);
	ASSERT_EQ(0, create_named("default", 0600));
	self->fds[1] = twheel_open_named("default", O_NONBLOCK);
	EXPECT_EQ(most, query(self->fds[1]).max_pending);
}

/* The reader of a queue has stopped: other queues and operations of the file are not affected. */
TEST_F(quota, limit_on_unread_detached_events)
{
	struct twheel_add_args other = {
		.flags = TWHEEL_ADD_DETACHED, .deadline = HOUR, .queue = 1,
	};
	struct twheel_create_args create = create_args("box", 0600);
	struct twheel_event event;
	unsigned int i;
	__u64 id;

	create.max_file_pending = 2;
	create.max_queue = 4;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &create));
	self->fds[0] = twheel_open_named("box", O_NONBLOCK);
	EXPECT_EQ(4, query(self->fds[0]).max_queue);
	for (i = 0; i < 4; i++) {
		id = add_deadline(self->fds[0], HOUR, TWHEEL_ADD_DETACHED, i);
		ASSERT_NE(0, id);
		ASSERT_EQ(0, op_cancel(self->fds[0], id));
	}
	EXPECT_EQ(0, add_deadline(self->fds[0], HOUR, TWHEEL_ADD_DETACHED, 0));
	EXPECT_EQ(ENOBUFS, errno);
	EXPECT_EQ(0, op_add(self->fds[0], &other));
	EXPECT_EQ(0, op_cancel(self->fds[0], other.id));
	for (i = 0; i < 4; i++) {
		id = add_deadline(self->fds[0], HOUR, 0, i);
		ASSERT_NE(0, id);
		ASSERT_EQ(0, op_cancel(self->fds[0], id));
	}
	EXPECT_EQ(0, add_deadline(self->fds[0], HOUR, 0, 0));
	EXPECT_EQ(ENOBUFS, errno);
	ASSERT_EQ(1, read_events(self->fds[0], &event, 1));
	EXPECT_NE(0, add_deadline(self->fds[0], HOUR, 0, 0));
	EXPECT_EQ(0, add_deadline(self->fds[0], HOUR, TWHEEL_ADD_DETACHED, 0));
	EXPECT_EQ(ENOBUFS, errno);
	self->fds[1] = open_events(self->fds[0], O_NONBLOCK);
	ASSERT_EQ(1, read_events(self->fds[1], &event, 1));
	EXPECT_NE(0, add_deadline(self->fds[0], HOUR, TWHEEL_ADD_DETACHED, 0));
}

/* A restricted file cannot fill the queues of others, whatever it puts in which. */
TEST_F(quota, unread_detached_events_of_a_restricted_file)
{
	struct twheel_add_args add = { .flags = TWHEEL_ADD_DETACHED, .deadline = HOUR };
	struct twheel_create_args create = create_args("box", 0600);
	struct twheel_event event;
	int queue;

	create.max_file_pending = 2;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &create));
	self->fds[0] = twheel_open_named("box", O_NONBLOCK);
	self->fds[1] = twheel_open_named("box", O_NONBLOCK);
	queue = open_queue(self->fds[1], 3, O_NONBLOCK);
	ASSERT_EQ(0, file_restrict(self->fds[0]));
	for (add.queue = 0; add.queue < 4; add.queue++) {
		ASSERT_EQ(0, op_add(self->fds[0], &add));
		ASSERT_EQ(0, op_cancel(self->fds[0], add.id));
	}
	GIVES(TWHEEL_IOC_ADD, ENOBUFS, op_add(self->fds[0], &add));
	EXPECT_EQ(0, op_add(self->fds[1], &add));
	EXPECT_EQ(1, read_events(queue, &event, 1));
	EXPECT_EQ(0, op_add(self->fds[0], &add));
	close(queue);
}

/* The ids of a user namespace: 0 is its owner, the others are subordinate ids. */
#define IDS		100
#define FIRST		100000

/* Files that have room for the operations of two owners. */
#define FILES		6

/* Of a child in a namespace, which shares it. */
struct result {
	bool mapped;
	bool unsupported;
	unsigned int added;
	int error;
};

static bool write_map(pid_t child, const char *name, uid_t owner)
{
	char path[64];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "/proc/%d/%s", child, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	good = fprintf(file, "0 %u 1\n1 %u %u\n", owner, FIRST, IDS) > 0;
	return !fclose(file) && good;
}

/* Add an operation for each id, until one is refused. */
static void add_for_all_ids(const int fds[FILES], struct result *result)
{
	struct twheel_add_args args = { .deadline = HOUR };
	uid_t id;

	for (id = 0; id <= IDS && !result->error; id++) {
		result->error = !act_for(id) ? -1 : op_add(fds[id % FILES], &args);
		result->added += !result->error;
	}
}

/* Let the ids of a new namespace of @owner add operations. */
static bool add_in_namespace(const int fds[FILES], uid_t owner, struct result *result)
{
	int ready[2], mapped[2];
	pid_t child;
	char c;

	memset(result, 0, sizeof(*result));
	if (pipe(ready) || pipe(mapped))
		return false;
	child = fork();
	if (!child) {
		if (owner && !become(owner))
			_exit(1);
		result->unsupported = unshare(CLONE_NEWUSER);
		if (write(ready[1], "", 1) != 1 || read(mapped[0], &c, 1) != 1)
			_exit(1);
		if (!result->unsupported && !setresuid(0, 0, 0))
			add_for_all_ids(fds, result);
		_exit(0);
	}
	if (child < 0 || read(ready[0], &c, 1) != 1)
		return false;
	result->mapped = write_map(child, "uid_map", owner);
	if (write(mapped[1], "", 1) != 1 || !child_exited_well(child))
		return false;
	close(ready[0]);
	close(ready[1]);
	close(mapped[0]);
	close(mapped[1]);
	return result->mapped || result->unsupported;
}

/* Whether a user can add an operation; errno is set otherwise. */
static bool can_add(int fd, uid_t user)
{
	bool good = act_for(user) && add_deadline(fd, HOUR, 0, 0);
	int error = errno;

	act_for(0);
	errno = error;
	return good;
}

/*
 * All ids of a namespace are charged to its owner, the creator, or, if this is root, to the
 * namespace itself.
 */
TEST_F(quota, ids_of_a_namespace_are_charged_to_its_owner)
{
	struct result *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static const uid_t owners[] = { STRANGER, 0 };
	unsigned int i, j, ended;
	struct twheel_event event;

	ASSERT_NE(MAP_FAILED, result);
	for (i = 0; i < FILES; i++) {
		self->fds[i] = twheel_open(O_NONBLOCK);
		ASSERT_LE(0, self->fds[i]);
	}
	for (i = 0; i < ARRAY_SIZE(owners); i++) {
		ASSERT_TRUE(add_in_namespace(self->fds, owners[i], result));
		if (result->unsupported)
			SKIP(return, "no user namespaces");
		EXPECT_EQ(self->ops, result->added);
		EXPECT_EQ(EDQUOT, result->error);
		/* The owner itself, unless it is root, and none else. */
		EXPECT_EQ(!owners[i], can_add(self->fds[0], owners[i]));
		EXPECT_TRUE(can_add(self->fds[1], STRANGER + 1));
		EXPECT_TRUE(can_add(self->fds[2], 0));
		EXPECT_TRUE(can_add(self->fds[3], FIRST));
		/* Another namespace helps only root, which could add as many without one. */
		ASSERT_TRUE(add_in_namespace(self->fds, owners[i], result));
		EXPECT_EQ(owners[i] ? 0 : self->ops, result->added);
		EXPECT_EQ(EDQUOT, result->error);
		/* The charges go with the operations. */
		for (j = 0, ended = 0; j < FILES; j++) {
			ended += complete_all(self->fds[j], 0, 0, 0);
			read_all_events(self->fds[j]);
		}
		EXPECT_EQ((owners[i] ? 1 : 2) * self->ops + (owners[i] ? 3 : 4), ended);
		EXPECT_TRUE(can_add(self->fds[0], owners[i]));
		EXPECT_EQ(1, complete_all(self->fds[0], 0, 0, 0));
		EXPECT_EQ(1, read_events(self->fds[0], &event, 1));
	}
}

TEST_HARNESS_MAIN
