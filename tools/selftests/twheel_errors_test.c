// SPDX-License-Identifier: GPL-2.0
/*
 * Every error that Documentation/device-calls.rst and device-files.rst list for a call:
 * that it is given, once each.  All the ways to come by an error are the matter of other
 * programs; that there is no memory is the matter of twheel_memory_test.
 *
 * Load the module with user_max_files=64 user_max_ops=64 max_purgatories=4 for it.
 */
#include <sys/time.h>
#include "gives.h"
#include "refused.h"

/* What the parameters are that this wants. */
#define FILES		64
#define OPS		64
#define PURGATORIES	4

/*
 * A private purgatory and a named one, open twice, in which one operation may be pending.
 * The private one has an operation that watches, a periodic one, and an unread event.
 */
FIXTURE(errors) {
	int fd;
	int shared;
	int reader;
	__u64 watching;
	__u64 periodic;
	__u64 ended;
	struct good good;
};

static int create_small(const char *name)
{
	struct twheel_create_args args = create_args(name, 0600);

	args.max_pending = 1;
	args.max_watches = 2;
	return call_once(TWHEEL_IOC_CREATE, &args);
}

static __u64 add_periodic(int fd)
{
	struct twheel_add_args args = { .deadline = HOUR, .period = HOUR };

	return op_add(fd, &args) ? 0 : args.id;
}

FIXTURE_SETUP(errors)
{
	if (module_parameter("user_max_files") != FILES ||
	    module_parameter("user_max_ops") != OPS ||
	    module_parameter("max_purgatories") != PURGATORIES)
		SKIP(return, "load twheel with the parameters that stand above");
	ASSERT_EQ(0, create_small(OLD_NAME));
	self->fd = twheel_open(O_NONBLOCK);
	self->shared = twheel_open_named(OLD_NAME, O_NONBLOCK);
	self->reader = twheel_open_named(OLD_NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->shared);
	ASSERT_EQ(0, read_detached(self->reader));
	self->watching = add_keys(self->fd, TWHEEL_COND_ALL, 0, 2);
	self->periodic = add_periodic(self->fd);
	self->ended = add_deadline(self->fd, HOUR, 0, 0);
	ASSERT_NE(0, self->periodic);
	ASSERT_EQ(0, op_cancel(self->fd, self->ended));
	good_args(&self->good, self->watching);
}

FIXTURE_TEARDOWN(errors)
{
	close(self->fd);
	close(self->shared);
	close(self->reader);
	remove_all_named();
}

/* The good arguments of a call, after a statement that spoils them. */
#define spoilt(NAME, name, spoil)					\
({									\
	spoil;								\
	call(self->fd, TWHEEL_IOC_##NAME, &self->good.name);		\
})

/* What the node of a purgatory says to each call that changes something. */
static int all_that_change(int fd, struct good *good)
{
	struct one_call one;
	unsigned int i;
	int error = 0;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(good, i);
		if (only_looks(&one) || makes_names(&one))
			continue;
		if (error && error != call(fd, one.request, one.args))
			return -1;
		error = call(fd, one.request, one.args);
	}
	return error;
}

TEST_F(errors, of_every_ioctl)
{
	int only_read = open("/dev/twheel", O_RDONLY);
	int read_named = twheel_open_named(OLD_NAME, 0);

	GIVES(every_ioctl, ENOTTY, call(self->fd, _IO(TWHEEL_IOC_MAGIC, 99), NULL));
	GIVES(every_ioctl, EINVAL, call(self->fd, _IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_ADD,
							__u32), &self->good.add));
	memset(&self->good.query, 1, sizeof(self->good.query));
	GIVES(every_ioctl, E2BIG, call(self->fd, _IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_DRAIN,
						       struct twheel_query_args),
				       &self->good.query));
	GIVES(every_ioctl, EFAULT, call(self->fd, TWHEEL_IOC_QUERY, NULL));
	GIVES(every_ioctl, EBADF, all_that_change(only_read, &self->good));
	EXPECT_EQ(EBADF, call(only_read, TWHEEL_IOC_CREATE, &self->good.create));
	EXPECT_EQ(EBADF, call(only_read, TWHEEL_IOC_REMOVE, &self->good.remove));
	EXPECT_LE(0, remove_by_force(OLD_NAME));
	GIVES(every_ioctl, ESHUTDOWN, all_that_change(read_named, &self->good));
	close(only_read);
	close(read_named);
}

/* Add to the detached operations until an error comes, and cancel each. */
static int add_and_cancel(int reader, unsigned int most)
{
	unsigned int i;
	__u64 id;

	for (i = 0; i < most; i++) {
		id = add_deadline(reader, HOUR, 0, 0);
		if (!id)
			return errno;
		op_cancel(reader, id);
	}
	return 0;
}

static int add_until_refused(int fd)
{
	unsigned int i;

	for (i = 0; i <= OPS; i++)
		if (!add_deadline(fd, HOUR, 0, 0))
			return errno;
	return 0;
}

TEST_F(errors, of_add)
{
	GIVES(TWHEEL_IOC_ADD, EINVAL, spoilt(ADD, add, self->good.add.condition = 99));
	good_args(&self->good, self->watching);
	GIVES(TWHEEL_IOC_ADD, EFAULT, spoilt(ADD, add, self->good.add.keys = 0));
	EXPECT_NE(0, add_deadline(self->shared, HOUR, 0, 0));
	GIVES(TWHEEL_IOC_ADD, ENOSPC, errno_of(add_deadline(self->shared, HOUR, 0, 0) ? 0 : -1));
	EXPECT_LE(0, complete_all(self->shared, 0, 0, 0));
	GIVES(TWHEEL_IOC_ADD, EAGAIN, add_and_cancel(self->reader, 3));
	GIVES(TWHEEL_IOC_ADD, EDQUOT, add_until_refused(self->fd));
	EXPECT_LE(0, drain(self->fd));
	GIVES(TWHEEL_IOC_ADD, ESHUTDOWN, add_until_refused(self->fd));
}

TEST_F(errors, of_cancel_complete_and_rearm)
{
	GIVES(TWHEEL_IOC_CANCEL, ENOENT, op_cancel(self->fd, 1));
	GIVES(TWHEEL_IOC_CANCEL, EALREADY, op_cancel(self->fd, self->ended));
	GIVES(TWHEEL_IOC_COMPLETE, EINVAL, op_fail(self->fd, self->watching, 1));
	GIVES(TWHEEL_IOC_COMPLETE, ENOENT, op_complete(self->fd, 1, 0));
	GIVES(TWHEEL_IOC_COMPLETE, EALREADY, op_complete(self->fd, self->ended, 0));
	GIVES(TWHEEL_IOC_REARM, EINVAL, spoilt(REARM, rearm, self->good.rearm.which = 99));
	GIVES(TWHEEL_IOC_REARM, EOPNOTSUPP,
	      errno_of(op_rearm(self->fd, self->periodic, HOUR, 0, 0)));
	GIVES(TWHEEL_IOC_REARM, ENOENT, errno_of(op_rearm(self->fd, 1, HOUR, 0, 0)));
	GIVES(TWHEEL_IOC_REARM, EALREADY, errno_of(op_rearm(self->fd, self->ended, HOUR, 0, 0)));
}

TEST_F(errors, of_watch_and_unwatch)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	__u64 full = add_keys(self->shared, TWHEEL_COND_ANY, 0, 2);

	GIVES(TWHEEL_IOC_WATCH, EINVAL, op_watch(self->fd, self->watching, &spec, 0));
	GIVES(TWHEEL_IOC_WATCH, EFAULT, op_watch(self->fd, self->watching, NULL, 1));
	GIVES(TWHEEL_IOC_WATCH, ENOENT, op_watch(self->fd, 1, &spec, 1));
	GIVES(TWHEEL_IOC_WATCH, EALREADY, op_watch(self->fd, self->ended, &spec, 1));
	GIVES(TWHEEL_IOC_WATCH, ENOSPC, op_watch(self->shared, full, &spec, 1));
	GIVES(TWHEEL_IOC_UNWATCH, EINVAL, op_unwatch(self->fd, self->periodic, 1));
	GIVES(TWHEEL_IOC_UNWATCH, ESRCH, op_unwatch(self->fd, self->watching, 11));
	GIVES(TWHEEL_IOC_UNWATCH, ENOENT, op_unwatch(self->fd, 1, 1));
	GIVES(TWHEEL_IOC_UNWATCH, EALREADY, op_unwatch(self->fd, self->ended, 1));
}

/* The error of the first command of a batch, or a number above all if it is refused. */
static int command_error(int fd, struct good *good)
{
	if (call(fd, TWHEEL_IOC_BATCH, &good->batch) || good->batch.done != 2)
		return 1 << 20;
	return -good->result[0].error;
}

TEST_F(errors, of_batch)
{
	struct twheel_command *command = self->good.command;

	command[0].call = TWHEEL_CALL_QUERY;
	GIVES(TWHEEL_IOC_BATCH, ENOTTY, command_error(self->fd, &self->good));
	command[0].call = TWHEEL_CALL_SIGNAL;
	command[0].room[14] = 1;
	GIVES(TWHEEL_IOC_BATCH, E2BIG, command_error(self->fd, &self->good));
	command[0].room[14] = 0;
	command[0].reserved = 1;
	GIVES(TWHEEL_IOC_BATCH, EINVAL, command_error(self->fd, &self->good));
	EXPECT_EQ(EINVAL, spoilt(BATCH, batch, self->good.batch.nr = 0));
	self->good.batch.nr = 1;
	GIVES(TWHEEL_IOC_BATCH, EFAULT, spoilt(BATCH, batch, self->good.batch.commands = 0));
}

TEST_F(errors, of_complete_all_drain_and_detached)
{
	GIVES(TWHEEL_IOC_COMPLETE_ALL, EINVAL, errno_of(complete_all(self->fd, 0, 1, 0)));
	GIVES(TWHEEL_IOC_DRAIN, EINVAL, errno_of(drain(self->reader)));
	GIVES(TWHEEL_IOC_DETACHED, EINVAL, read_detached(self->fd));
	EXPECT_NE(0, add_deadline(self->shared, HOUR, 0, 0));
	GIVES(TWHEEL_IOC_DETACHED, EBUSY, read_detached(self->shared));
	EXPECT_EQ(1, drain(self->shared));
	EXPECT_EVENT(self->shared, __event.id, TWHEEL_CANCELLED, 0);
	GIVES(TWHEEL_IOC_DETACHED, ESHUTDOWN, read_detached(self->shared));
}

TEST_F(errors, of_info_and_list)
{
	GIVES(TWHEEL_IOC_INFO, EFAULT, spoilt(INFO, info, self->good.info.keys = 0));
	good_args(&self->good, self->watching);
	GIVES(TWHEEL_IOC_INFO, ENOENT, spoilt(INFO, info, self->good.info.id = 1));
	GIVES(TWHEEL_IOC_INFO, EALREADY, spoilt(INFO, info, self->good.info.id = self->ended));
	GIVES(TWHEEL_IOC_LIST, EFAULT, spoilt(LIST, list, self->good.list.entries = 0));
	GIVES(TWHEEL_IOC_LIST, EINVAL, spoilt(LIST, list, self->good.list.room = 0));
}

static int create_until_refused(void)
{
	char name[] = "nth-0";
	int i, error = 0;

	for (i = 0; i <= PURGATORIES && !error; i++) {
		name[4] = '0' + i;
		error = create_named(name, 0600);
	}
	return error;
}

/* What another user is told who has /dev/twheel open. */
static int told_to_a_stranger(int fd, unsigned long request, void *args)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(become_stranger() ? call(fd, request, args) : 0);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(errors, of_create)
{
	struct twheel_create_args *create = &self->good.create;

	GIVES(TWHEEL_IOC_CREATE, ENOTTY, call(self->shared, TWHEEL_IOC_CREATE, create));
	GIVES(TWHEEL_IOC_CREATE, EINVAL, create_named("-", 0600));
	GIVES(TWHEEL_IOC_CREATE, EEXIST, create_named(OLD_NAME, 0600));
	create->uid = 0;
	GIVES(TWHEEL_IOC_CREATE, EPERM, told_to_a_stranger(self->fd, TWHEEL_IOC_CREATE, create));
	GIVES(TWHEEL_IOC_CREATE, ENOSPC, create_until_refused());
}

TEST_F(errors, of_remove)
{
	struct twheel_remove_args *remove = &self->good.remove;

	GIVES(TWHEEL_IOC_REMOVE, ENOTTY, call(self->shared, TWHEEL_IOC_REMOVE, remove));
	GIVES(TWHEEL_IOC_REMOVE, EINVAL, remove_named("-"));
	GIVES(TWHEEL_IOC_REMOVE, ENOENT, remove_named(NEW_NAME));
	GIVES(TWHEEL_IOC_REMOVE, EBUSY, remove_named(OLD_NAME));
	GIVES(TWHEEL_IOC_REMOVE, EPERM, told_to_a_stranger(self->fd, TWHEEL_IOC_REMOVE, remove));
}

static int open_until_refused(void)
{
	int fds[FILES], i, nr, error = 0;

	for (nr = 0; nr < FILES; nr++) {
		fds[nr] = twheel_open(0);
		if (fds[nr] < 0)
			break;
	}
	error = nr < FILES ? errno : 0;
	for (i = 0; i < nr; i++)
		close(fds[i]);
	return error;
}

/* Open a node of the numbers that a purgatory had. */
static int open_what_was_removed(void)
{
	struct twheel_create_args args = create_args(NEW_NAME, 0600);
	int error;

	if (call_once(TWHEEL_IOC_CREATE, &args) || remove_named(NEW_NAME) ||
	    mknod("/dev/gone", S_IFCHR | 0600, makedev(args.major, args.minor)))
		return -1;
	error = errno_of(open("/dev/gone", O_RDWR));
	unlink("/dev/gone");
	return error;
}

TEST_F(errors, of_open)
{
	GIVES(open, EDQUOT, open_until_refused());
	GIVES(open, ENXIO, open_what_was_removed());
	NOT_HERE(open, ENODEV, "only who opens a purgatory at the moment of its removal");
}

static void nothing(int signal)
{
	(void)signal;
}

/* Signals come until read() has been interrupted: one before it would not do. */
static int read_interrupted(int fd)
{
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = nothing };
	struct twheel_event event;
	int error;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	error = errno_of(read_events(fd, &event, 1));
	setitimer(ITIMER_REAL, &never, NULL);
	return error;
}

TEST_F(errors, of_read)
{
	int only_written = open("/dev/twheel", O_WRONLY);
	int blocking = twheel_open(0);
	struct twheel_event event;

	GIVES(read, EBADF, errno_of(read_events(only_written, &event, 1)));
	GIVES(read, EINVAL, errno_of(read(self->fd, &event, sizeof(event) - 1)));
	GIVES(read, EAGAIN, errno_of(read_events(self->shared, &event, 1)));
	GIVES(read, EFAULT, errno_of(read_events(self->fd, (void *)cliff(), 1)));
	GIVES(read, EINTR, read_interrupted(blocking));
	close(only_written);
	close(blocking);
}

TEST_HARNESS_MAIN
