// SPDX-License-Identifier: GPL-2.0
/*
 * Named purgatories: their names and nodes, permissions, and the sharing of keys and
 * operations by all files, while each event is delivered to the file that added the
 * operation.  twheel_remove_test covers their removal.
 */
#include <sys/resource.h>
#include "named.h"

#define NAME	"shared"

FIXTURE_OF_A_PURGATORY(named, NAME, 0);

static struct stat node_of(const char *name)
{
	struct stat st = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/dev/twheel-%s", name);
	if (stat(path, &st))
		memset(&st, 0, sizeof(st));
	return st;
}

TEST_F(named, node_has_the_given_mode_and_owner)
{
	static const __u32 modes[] = { 0, 0400, 0620, 0646, 0666 };
	struct twheel_create_args args;
	unsigned int i;
	struct stat st = node_of(NAME);

	EXPECT_EQ(S_IFCHR | 0600, (int)st.st_mode);
	EXPECT_EQ(0, st.st_uid);
	EXPECT_EQ(0, st.st_gid);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		args = create_args("owned", modes[i]);
		args.uid = STRANGER + 1;
		args.gid = STRANGER + 2;
		ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
		st = node_of("owned");
		EXPECT_EQ(S_IFCHR | modes[i], st.st_mode);
		EXPECT_EQ(makedev(args.major, args.minor), st.st_rdev);
		EXPECT_EQ(STRANGER + 1, st.st_uid);
		EXPECT_EQ(STRANGER + 2, st.st_gid);
		ASSERT_EQ(0, remove_named("owned"));
	}
}

/* An open waits for no lock of other drivers, as that of a misc device would. */
TEST_F(named, nodes_are_of_one_class)
{
	struct stat named = node_of(NAME), control = node_of("control"), private;

	ASSERT_EQ(0, stat("/dev/twheel", &private));
	EXPECT_EQ(major(named.st_rdev), major(private.st_rdev));
	EXPECT_EQ(major(named.st_rdev), major(control.st_rdev));
	/* Programs list twheel-NAME as named purgatories. */
	EXPECT_EQ(0, access(SYSFS_CLASS "/twheel/dev", F_OK));
	EXPECT_EQ(0, access(SYSFS_CLASS "/control/dev", F_OK));
	EXPECT_NE(0, access(SYSFS_CLASS "/twheel-control", F_OK));
}

/*
 * By default, a user with a purgatory full of pending operations and unread events can still add as
 * many to others.
 */
TEST_F(named, full_purgatory_takes_half_of_the_quota)
{
	EXPECT_LE(4 * module_parameter("max_shared_pending"), module_parameter("user_max_ops"));
}

TEST_F(named, query_returns_name_and_files)
{
	struct twheel_query_args q = query(self->fd);
	int other = twheel_open_named(NAME, 0);

	EXPECT_EQ(0, strcmp(NAME, q.name));
	EXPECT_EQ(1, q.files);
	EXPECT_EQ(module_parameter("max_shared_pending"), q.max_pending);
	EXPECT_EQ(module_parameter("max_pending"), q.max_file_pending);
	EXPECT_EQ(2, query(other).files);
	close(other);
	EXPECT_EQ(1, query(self->fd).files);
}

TEST_F(named, another_name_is_another_purgatory)
{
	__u64 id = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	int fd;

	ASSERT_EQ(0, create_named("other", 0600));
	fd = twheel_open_named("other", O_NONBLOCK);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, key_signal(fd, 1, 1));
	EXPECT_EQ(ENOENT, op_cancel(fd, id));
	EXPECT_EQ(0, query(fd).pending);
	close(fd);
	fd = twheel_open(O_NONBLOCK);
	EXPECT_EQ(0, key_signal(fd, 1, 1));
	EXPECT_EQ(ENOENT, op_cancel(fd, id));
	close(fd);
	EXPECT_EQ(1, query(self->fd).pending);
}

TEST_F(named, files_access_operations_of_each_other)
{
	int other = twheel_open_named(NAME, O_NONBLOCK);
	struct twheel_watch_spec more = spec_of(9, 1);
	struct twheel_pending pending;
	__u64 ids[3];
	int i;

	ASSERT_LE(0, other);
	for (i = 0; i < 3; i++)
		ids[i] = add_keys(self->fd, TWHEEL_COND_ANY, 0, 2);
	EXPECT_EQ(1, op_rearm(other, ids[0], HOUR, 0));
	EXPECT_EQ(0, op_watch(other, ids[0], &more, 1));
	EXPECT_EQ(0, op_unwatch(other, ids[0], 1));
	EXPECT_EQ(0, op_info(other, ids[0], &pending));
	EXPECT_EQ(0, pending.flags & TWHEEL_PENDING_OWN);
	EXPECT_EQ(0, op_complete(other, ids[1], 7));
	EXPECT_EQ(0, op_cancel(other, ids[2]));
	EXPECT_EQ(1, key_signal(other, 9, 8));
	EXPECT_NO_EVENT(other);
	EXPECT_EVENT(self->fd, ids[1], TWHEEL_REASON_COMPLETED, 7);
	EXPECT_EVENT(self->fd, ids[2], TWHEEL_REASON_CANCELLED, 0);
	EXPECT_EVENT(self->fd, ids[0], TWHEEL_REASON_COMPLETED, 8);
	close(other);
}

TEST_F(named, close_ends_operations_of_its_file)
{
	int other = twheel_open_named(NAME, O_NONBLOCK);
	__u64 kept = add_keys(self->fd, TWHEEL_COND_ANY, 0, 1);
	__u64 gone = add_keys(other, TWHEEL_COND_ANY, 0, 1);
	__u64 unread = add_keys(other, TWHEEL_COND_ANY, 0, 2);

	ASSERT_NE(0, unread);
	ASSERT_EQ(0, op_cancel(other, unread));
	close(other);
	EXPECT_TRUE(wait_for(query(self->fd).pending == 1));
	EXPECT_EQ(1, query(self->fd).watches);
	EXPECT_EQ(ENOENT, op_cancel(self->fd, gone));
	EXPECT_EQ(ENOENT, op_cancel(self->fd, unread));
	EXPECT_EQ(1, key_signal(self->fd, 1, 3));
	EXPECT_EVENT(self->fd, kept, TWHEEL_REASON_COMPLETED, 3);
	EXPECT_NO_EVENT(self->fd);
}

TEST_F(named, mode_of_the_node_is_checked)
{
	struct twheel_create_args args = create_args("group", 0660);

	EXPECT_TRUE(as_stranger(twheel_open_named(NAME, 0) < 0 && errno == EACCES));
	ASSERT_EQ(0, create_named("all", 0666));
	EXPECT_TRUE(as_stranger(twheel_open_named("all", 0) >= 0));
	args.gid = STRANGER;
	ASSERT_EQ(0, call_control(TWHEEL_IOC_CREATE, &args));
	EXPECT_TRUE(as_stranger(twheel_open_named("group", 0) >= 0));
	ASSERT_EQ(0, create_named("read", 0644));
	EXPECT_TRUE(as_stranger(twheel_open_named("read", 0) < 0 && errno == EACCES));
	EXPECT_TRUE(as_stranger(open("/dev/twheel-read", O_RDONLY) >= 0));
	EXPECT_TRUE(as_stranger(open("/dev/twheel-read", O_WRONLY) < 0 && errno == EACCES));
	ASSERT_EQ(0, create_named("write", 0622));
	EXPECT_TRUE(as_stranger(twheel_open_named("write", 0) < 0 && errno == EACCES));
	EXPECT_TRUE(as_stranger(key_signal(open("/dev/twheel-write", O_WRONLY), 1, 0) == 0));
}

TEST_F(named, write_only_file_adds_detached_operations)
{
	int fd = open("/dev/twheel-" NAME, O_WRONLY | O_NONBLOCK);
	struct twheel_event event;
	__u64 id;

	ASSERT_LE(0, fd);
	GIVES(TWHEEL_IOC_ADD, EBADF, add_deadline(fd, HOUR, 0, 7) ? 0 : errno);
	id = add_deadline(fd, HOUR, TWHEEL_ADD_DETACHED, 7);
	ASSERT_NE(0, id);
	EXPECT_EQ(0, op_cancel(fd, id));
	GIVES(read, EBADF, errno_of(read_events(fd, &event, 1)));
	close(fd);
}

/* The returned descriptor is equivalent to one returned by open(). */
TEST_F(named, create_returns_a_descriptor)
{
	struct twheel_create_args args = create_args("made", 0600);
	int made = create_open(&args), other;
	__u64 id;

	ASSERT_LE(0, made);
	EXPECT_EQ(FD_CLOEXEC, fcntl(made, F_GETFD));
	EXPECT_EQ(O_RDWR, fcntl(made, F_GETFL) & O_ACCMODE);
	EXPECT_EQ(0, fcntl(made, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(0, strcmp("made", query(made).name));
	EXPECT_EQ(1, query(made).files);
	EXPECT_EQ(EBUSY, remove_named("made"));
	other = twheel_open_named("made", O_NONBLOCK);
	ASSERT_LE(0, other);
	EXPECT_EQ(2, query(made).files);
	id = add_keys(made, TWHEEL_COND_ANY, 0, 1);
	EXPECT_EQ(1, key_signal(other, 1, 6));
	EXPECT_EVENT(made, id, TWHEEL_REASON_COMPLETED, 6);
	close(made);
	EXPECT_EQ(1, query(other).files);
	close(other);
	ASSERT_EQ(0, remove_named("made"));

	args.flags = O_NONBLOCK;
	made = create_open(&args);
	ASSERT_LE(0, made);
	EXPECT_EQ(O_RDWR | O_NONBLOCK, fcntl(made, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
	EXPECT_NO_EVENT(made);
	close(made);
	EXPECT_EQ(0, remove_named("made"));
}

/* The creator needs no permission on the node. */
static bool create_for_others(int control)
{
	struct twheel_create_args args = create_args("made", 0);
	int fd = ioctl(control, TWHEEL_IOC_CREATE, &args);

	return fd >= 0 && twheel_open_named("made", 0) < 0 && errno == EACCES &&
	       add_keys(fd, TWHEEL_COND_ANY, 0, 1) && key_signal(fd, 1, 1) == 1 &&
	       readable(fd, 0);
}

TEST_F(named, creator_needs_no_permission_on_the_node)
{
	int control = twheel_open_control();

	ASSERT_LE(0, control);
	EXPECT_TRUE(as_stranger(create_for_others(control)));
	EXPECT_EQ(0, remove_named("made"));
	close(control);
}

TEST_F(named, refused_create_returns_no_descriptor)
{
	struct twheel_create_args args = create_args(NAME, 0600);
	int before = dup(0);

	close(before);
	EXPECT_EQ(-1, create_open(&args));
	EXPECT_EQ(EEXIST, errno);
	EXPECT_EQ(before, dup(0));
	close(before);
	EXPECT_EQ(1, query(self->fd).files);
}

/* In a child: this process cannot open further files. */
static bool no_more_descriptors(void)
{
	struct rlimit limit = { 0 };

	return !getrlimit(RLIMIT_NOFILE, &limit) &&
	       (limit.rlim_cur = 0, !setrlimit(RLIMIT_NOFILE, &limit));
}

TEST_F(named, no_descriptor_is_left)
{
	struct twheel_create_args args = create_args("made", 0600);
	int control = twheel_open_control();

	GIVES(TWHEEL_IOC_CREATE, EMFILE,
	      as_user(0, no_more_descriptors() &&
		      call(control, TWHEEL_IOC_CREATE, &args) == EMFILE) ? EMFILE : 0);
	EXPECT_FALSE(node_exists("made"));
	GIVES(TWHEEL_IOC_EVENTS, EMFILE,
	      as_user(0, no_more_descriptors() &&
		      errno_of(open_events(self->fd, 0)) == EMFILE) ? EMFILE : 0);
	close(control);
}

/* The control node is for root, and no purgatory has its name. */
TEST_F(named, name_control_is_refused)
{
	struct twheel_create_args args = create_args("control", 0666);
	struct stat st;

	EXPECT_EQ(EINVAL, call_control(TWHEEL_IOC_CREATE, &args));
	st = node_of("control");
	EXPECT_EQ(S_IFCHR | 0600, (int)st.st_mode);
	EXPECT_EQ(0, st.st_uid);
	EXPECT_EQ(0, st.st_gid);
	EXPECT_TRUE(as_stranger(twheel_open_control() < 0 && errno == EACCES));
	EXPECT_GT(0, remove_by_force("control"));
	EXPECT_TRUE(node_exists("control"));
}

/* Valid and invalid names. */
TEST_F(named, names_are_validated)
{
	static const struct {
		const char *name;
		int error;
	} tries[] = {
		{ "a", 0 }, { "Z", 0 }, { "0", 0 }, { "a-b_c.d", 0 }, { "a..", 0 },
		{ "0123456789012345678901234567890", 0 },
		{ "01234567890123456789012345678901", EINVAL },
		{ "", EINVAL }, { ".", EINVAL }, { "..", EINVAL }, { ".a", EINVAL },
		{ "-a", EINVAL }, { "_a", EINVAL }, { "a/b", EINVAL }, { "/", EINVAL },
		{ "a b", EINVAL }, { " a", EINVAL }, { "a\n", EINVAL }, { "a\x7f", EINVAL },
		{ "\xc3\xa4", EINVAL }, { "a!b", EINVAL }, { "a:b", EINVAL }, { "%s", EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		EXPECT_EQ(tries[i].error, create_named(tries[i].name, 0600))
			TH_LOG("name \"%s\"", tries[i].name);
		if (!tries[i].error) {
			EXPECT_TRUE(node_exists(tries[i].name));
			EXPECT_EQ(0, remove_named(tries[i].name));
		}
	}
}

TEST_F(named, name_is_unique)
{
	struct twheel_create_args args = create_args(NAME, 0666);

	GIVES(TWHEEL_IOC_CREATE, EEXIST, call_control(TWHEEL_IOC_CREATE, &args));
	EXPECT_EQ(0, args.major);
	EXPECT_EQ(S_IFCHR | 0600, (int)node_of(NAME).st_mode);
	EXPECT_EQ(0, create_named("Shared", 0600));
}

/* Create "own" with these owners, through a control descriptor opened by root. */
static int create_owned(int fd, __u32 uid, __u32 gid)
{
	struct twheel_create_args args = create_args("own", 0600);

	args.uid = uid;
	args.gid = gid;
	return call(fd, TWHEEL_IOC_CREATE, &args);
}

TEST_F(named, foreign_owner_is_refused)
{
	int fd = twheel_open_control();
	struct stat st;

	ASSERT_LE(0, fd);
	GIVES(TWHEEL_IOC_CREATE, EPERM,
	      as_stranger(create_owned(fd, 0, TWHEEL_CALLER) == EPERM) ? EPERM : 0);
	EXPECT_TRUE(as_stranger(create_owned(fd, STRANGER + 1, TWHEEL_CALLER) == EPERM));
	EXPECT_TRUE(as_stranger(create_owned(fd, TWHEEL_CALLER, 0) == EPERM));
	EXPECT_FALSE(node_exists("own"));
	EXPECT_TRUE(as_stranger(create_owned(fd, STRANGER, STRANGER) == 0));
	EXPECT_EQ(0, remove_named("own"));
	EXPECT_TRUE(as_stranger(create_owned(fd, TWHEEL_CALLER, TWHEEL_CALLER) == 0));
	st = node_of("own");
	EXPECT_EQ(STRANGER, st.st_uid);
	EXPECT_EQ(STRANGER, st.st_gid);
	EXPECT_TRUE(as_stranger(twheel_open_named("own", 0) >= 0));
	close(fd);
}

TEST_HARNESS_MAIN
