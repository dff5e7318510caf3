// SPDX-License-Identifier: GPL-2.0
/*
 * Every error that Documentation/device-calls.rst and device-files.rst list for a call,
 * provoked in one way.  Other programs cover the other ways, twheel_memory_test covers
 * failed allocations.
 *
 * Needs the module parameters user_max_files=64 user_max_ops=64 max_purgatories=4
 * user_max_purgatories=2.
 */
#include <sys/resource.h>
#include <sys/time.h>
#include "gives.h"
#include "refused.h"

/* The module parameters. */
#define FILES			64
#define OPS			64
#define PURGATORIES		4
#define USER_PURGATORIES	2

/*
 * A private purgatory with an operation that watches keys, a periodic operation, and an
 * unread event.  A named purgatory with a limit of one pending operation, opened twice:
 * the second file is restricted.
 */
FIXTURE(errors) {
	int fd;
	int shared;
	int confined;
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
	return call_control(TWHEEL_IOC_CREATE, &args);
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
	    module_parameter("max_purgatories") != PURGATORIES ||
	    module_parameter("user_max_purgatories") != USER_PURGATORIES)
		SKIP(return, "load twheel with the parameters above");
	ASSERT_EQ(0, create_small(OLD_NAME));
	self->fd = twheel_open(O_NONBLOCK);
	self->shared = twheel_open_named(OLD_NAME, O_NONBLOCK);
	self->confined = twheel_open_named(OLD_NAME, O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->shared);
	ASSERT_EQ(0, file_restrict(self->confined));
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
	close(self->confined);
	remove_all_named();
}

/* The valid arguments of a call, corrupted by a statement. */
#define spoilt(NAME, name, spoil)					\
({									\
	spoil;								\
	call(self->fd, TWHEEL_IOC_##NAME, &self->good.name);		\
})

/* The common error of all modifying calls on a purgatory, or -1. */
static int all_that_change(int fd, struct good *good)
{
	struct one_call one;
	unsigned int i;
	int error = 0;

	for (i = 0; i < NR_CALLS; i++) {
		one = nth_call(good, i);
		if (only_reads(&one) || one.node == CONTROL)
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
	int only_write = open("/dev/twheel", O_WRONLY);
	int control = open("/dev/twheel-control", O_RDONLY);
	int read_named = twheel_open_named(OLD_NAME, 0);

	ASSERT_LE(0, only_read);
	ASSERT_LE(0, only_write);
	ASSERT_LE(0, control);
	GIVES(every_ioctl, ENOTTY, call(self->fd, _IO(TWHEEL_IOC_MAGIC, 99), NULL));
	GIVES(every_ioctl, EINVAL, call(self->fd, _IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_ADD,
							__u32), &self->good.add));
	memset(&self->good.query, 1, sizeof(self->good.query));
	GIVES(every_ioctl, E2BIG, call(self->fd, _IOWR(TWHEEL_IOC_MAGIC, TWHEEL_CALL_DRAIN,
						       struct twheel_query_args),
				       &self->good.query));
	GIVES(every_ioctl, EFAULT, call(self->fd, TWHEEL_IOC_QUERY, NULL));
	GIVES(every_ioctl, EPERM, errno_of(key_signal(self->confined, 1, 0)));
	GIVES(every_ioctl, EBADF, all_that_change(only_read, &self->good));
	EXPECT_EQ(EBADF, call(only_write, TWHEEL_IOC_INFO, &self->good.info));
	EXPECT_EQ(EBADF, call(only_write, TWHEEL_IOC_LIST, &self->good.list));
	EXPECT_EQ(EBADF, call(only_write, TWHEEL_IOC_QUERY, &self->good.query));
	EXPECT_EQ(EBADF, call(control, TWHEEL_IOC_CREATE, &self->good.create));
	EXPECT_EQ(EBADF, call(control, TWHEEL_IOC_REMOVE, &self->good.remove));
	EXPECT_LE(0, remove_by_force(OLD_NAME));
	GIVES(every_ioctl, ESHUTDOWN, all_that_change(read_named, &self->good));
	close(only_read);
	close(only_write);
	close(control);
	close(read_named);
}

/* Add detached operations until one is refused, and cancel each. */
static int add_and_cancel(int fd, unsigned int most)
{
	unsigned int i;
	__u64 id;

	for (i = 0; i < most; i++) {
		id = add_deadline(fd, HOUR, TWHEEL_ADD_DETACHED, 0);
		if (!id)
			return errno;
		op_cancel(fd, id);
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
	int only_write = open("/dev/twheel", O_WRONLY);

	GIVES(TWHEEL_IOC_ADD, EBADF, add_until_refused(only_write));
	close(only_write);
	GIVES(TWHEEL_IOC_ADD, EINVAL, spoilt(ADD, add, self->good.add.condition = 99));
	good_args(&self->good, self->watching);
	GIVES(TWHEEL_IOC_ADD, EFAULT, spoilt(ADD, add, self->good.add.keys = 0));
	EXPECT_NE(0, add_deadline(self->shared, HOUR, 0, 0));
	GIVES(TWHEEL_IOC_ADD, ENOSPC, errno_of(add_deadline(self->shared, HOUR, 0, 0) ? 0 : -1));
	EXPECT_LE(0, complete_all(self->shared, 0, 0, 0));
	GIVES(TWHEEL_IOC_ADD, ENOBUFS, add_and_cancel(self->shared, 4));
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
	GIVES(TWHEEL_IOC_REARM, EINVAL, spoilt(REARM, rearm, self->good.rearm.flags =
		     TWHEEL_REARM_IF_EARLIER | TWHEEL_REARM_IF_LATER));
	GIVES(TWHEEL_IOC_REARM, EOPNOTSUPP,
	      errno_of(op_rearm(self->fd, self->periodic, HOUR, 0)));
	GIVES(TWHEEL_IOC_REARM, ENOENT, errno_of(op_rearm(self->fd, 1, HOUR, 0)));
	GIVES(TWHEEL_IOC_REARM, EALREADY, errno_of(op_rearm(self->fd, self->ended, HOUR, 0)));
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

/* The error of the first command of a batch, or a large number if the batch is refused. */
static int command_error(int fd, struct good *good)
{
	good->batch.done = 0;
	good->batch.failed = 0;
	if (call(fd, TWHEEL_IOC_BATCH, &good->batch) || good->batch.done != 2)
		return 1 << 20;
	return -good->result[0].error;
}

TEST_F(errors, of_batch)
{
	struct twheel_command *command = self->good.command;

	command[0].call = TWHEEL_CALL_QUERY;
	GIVES(command, ENOTTY, command_error(self->fd, &self->good));
	command[0].call = TWHEEL_CALL_SIGNAL;
	command[0].pad[14] = 1;
	GIVES(command, E2BIG, command_error(self->fd, &self->good));
	command[0].pad[14] = 0;
	command[0].reserved = 1;
	GIVES(command, EINVAL, command_error(self->fd, &self->good));
	self->good.batch.done = 0;
	self->good.batch.failed = 0;
	GIVES(TWHEEL_IOC_BATCH, EINVAL, spoilt(BATCH, batch, self->good.batch.nr = 0));
	good_args(&self->good, self->watching);
	self->good.batch.command_size = 4097;
	GIVES(TWHEEL_IOC_BATCH, E2BIG, call(self->fd, TWHEEL_IOC_BATCH, &self->good.batch));
	good_args(&self->good, self->watching);
	self->good.batch.nr = 1;
	GIVES(TWHEEL_IOC_BATCH, EFAULT, spoilt(BATCH, batch, self->good.batch.commands = 0));
}

TEST_F(errors, of_calls_on_many_operations)
{
	EXPECT_EQ(EPERM, errno_of(key_cancel(self->confined, 1)));
	GIVES(TWHEEL_IOC_COMPLETE_ALL, EINVAL, errno_of(complete_all(self->fd, 0, 1, 0)));
	GIVES(TWHEEL_IOC_COMPLETE_ALL, EPERM,
	      errno_of(complete_all(self->confined, 0, 0, TWHEEL_COMPLETE_OTHERS)));
	NOT_HERE(TWHEEL_IOC_SIGNAL, EINTR, "only a killed process gets it");
	NOT_HERE(TWHEEL_IOC_CANCEL_KEY, EINTR, "only a killed process gets it");
	NOT_HERE(TWHEEL_IOC_COMPLETE_ALL, EINTR, "only a killed process gets it");
	NOT_HERE(TWHEEL_IOC_DRAIN, EINTR, "only a killed process gets it");
	NOT_HERE(TWHEEL_IOC_REMOVE, EINTR, "only a killed process gets it");
}

/* Make an attempt in a child, after a preparation. Return: the error of the attempt. */
#define in_a_child(preparation, attempt)				\
({									\
	pid_t __child = fork();						\
	int __status;							\
									\
	if (!__child)							\
		_exit((preparation) ? (attempt) : 255);			\
	waitpid(__child, &__status, 0) == __child &&			\
		WIFEXITED(__status) ? WEXITSTATUS(__status) : -1;	\
})

/* Prevent this process from opening further files. */
static bool no_more_descriptors(void)
{
	struct rlimit limit = { 0 };

	return !getrlimit(RLIMIT_NOFILE, &limit) &&
	       (limit.rlim_cur = 0, !setrlimit(RLIMIT_NOFILE, &limit));
}

/* Open descriptors of the queue of detached events until one is refused. */
static int open_events_until_refused(int fd)
{
	int fds[FILES], i, nr, error;

	for (nr = 0; nr < FILES; nr++) {
		fds[nr] = open_events(fd, 0);
		if (fds[nr] < 0)
			break;
	}
	error = nr < FILES ? errno : 0;
	for (i = 0; i < nr; i++)
		close(fds[i]);
	return error;
}

TEST_F(errors, of_events)
{
	int only_write = open("/dev/twheel-" OLD_NAME, O_WRONLY);

	ASSERT_LE(0, only_write);
	GIVES(TWHEEL_IOC_EVENTS, EINVAL, errno_of(open_events(self->fd, 0)));
	GIVES(TWHEEL_IOC_EVENTS, EBADF, errno_of(open_events(only_write, 0)));
	EXPECT_EQ(EPERM, errno_of(open_events(self->confined, 0)));
	GIVES(TWHEEL_IOC_EVENTS, EMFILE, in_a_child(no_more_descriptors(),
						    errno_of(open_events(self->shared, 0))));
	GIVES(TWHEEL_IOC_EVENTS, EDQUOT, open_events_until_refused(self->shared));
	NOT_HERE(TWHEEL_IOC_EVENTS, ENFILE, "the limit on files of the whole machine");
	close(only_write);
}

TEST_F(errors, of_info_and_list)
{
	GIVES(TWHEEL_IOC_INFO, EFAULT, spoilt(INFO, info, self->good.info.keys = 0));
	good_args(&self->good, self->watching);
	GIVES(TWHEEL_IOC_INFO, ENOENT, spoilt(INFO, info, self->good.info.id = 1));
	GIVES(TWHEEL_IOC_INFO, EALREADY, spoilt(INFO, info, self->good.info.id = self->ended));
	GIVES(TWHEEL_IOC_LIST, EFAULT, spoilt(LIST, list, self->good.list.entries = 0));
	good_args(&self->good, self->watching);
	GIVES(TWHEEL_IOC_LIST, EINVAL, spoilt(LIST, list, self->good.list.max_entries = 0));
	good_args(&self->good, self->watching);
	self->good.list.flags = TWHEEL_LIST_OTHERS;
	GIVES(TWHEEL_IOC_LIST, EPERM, call(self->confined, TWHEEL_IOC_LIST, &self->good.list));
}

static int create_until_refused(int control, char first)
{
	struct twheel_create_args args;
	char name[] = "nth-0";
	int i, error = 0;

	for (i = 0; i <= PURGATORIES && !error; i++) {
		name[4] = first + i;
		args = create_args(name, 0600);
		error = call(control, TWHEEL_IOC_CREATE, &args);
	}
	return error;
}

/* The error of a call that another user makes on this descriptor. */
static int error_of_stranger(int fd, unsigned long request, void *args)
{
	return in_a_child(become(STRANGER), call(fd, request, args));
}

TEST_F(errors, of_create)
{
	struct twheel_create_args *create = &self->good.create;
	int control = twheel_open_control();

	ASSERT_LE(0, control);
	GIVES(every_ioctl, ENOTTY, call(self->shared, TWHEEL_IOC_CREATE, create));
	GIVES(TWHEEL_IOC_CREATE, EINVAL, create_named("-", 0600));
	GIVES(TWHEEL_IOC_CREATE, EEXIST, create_named(OLD_NAME, 0600));
	GIVES(TWHEEL_IOC_CREATE, EMFILE, in_a_child(no_more_descriptors(),
						    call(control, TWHEEL_IOC_CREATE, create)));
	EXPECT_FALSE(node_exists(NEW_NAME));
	create->uid = 0;
	GIVES(TWHEEL_IOC_CREATE, EPERM, error_of_stranger(control, TWHEEL_IOC_CREATE, create));
	GIVES(TWHEEL_IOC_CREATE, EDQUOT, in_a_child(become(STRANGER),
						    create_until_refused(control, '0')));
	GIVES(TWHEEL_IOC_CREATE, ENOSPC, create_until_refused(control, '5'));
	NOT_HERE(TWHEEL_IOC_CREATE, ENFILE, "the limit on files of the whole machine");
	close(control);
}

TEST_F(errors, of_remove)
{
	struct twheel_remove_args *remove = &self->good.remove;
	int control = twheel_open_control();

	ASSERT_LE(0, control);
	GIVES(every_ioctl, ENOTTY, call(self->shared, TWHEEL_IOC_REMOVE, remove));
	GIVES(TWHEEL_IOC_REMOVE, EINVAL, remove_named("-"));
	GIVES(TWHEEL_IOC_REMOVE, ENOENT, remove_named(NEW_NAME));
	GIVES(TWHEEL_IOC_REMOVE, EBUSY, remove_named(OLD_NAME));
	GIVES(TWHEEL_IOC_REMOVE, EPERM, error_of_stranger(control, TWHEEL_IOC_REMOVE, remove));
	close(control);
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

/* Open a node with the device number of a removed purgatory. */
static int open_removed_node(void)
{
	struct twheel_create_args args = create_args(NEW_NAME, 0600);
	int error;

	if (call_control(TWHEEL_IOC_CREATE, &args) || remove_named(NEW_NAME) ||
	    mknod("/dev/gone", S_IFCHR | 0600, makedev(args.major, args.minor)))
		return -1;
	error = errno_of(open("/dev/gone", O_RDWR));
	unlink("/dev/gone");
	return error;
}

TEST_F(errors, of_open)
{
	GIVES(open, EDQUOT, open_until_refused());
	GIVES(open, ENXIO, open_removed_node());
	NOT_HERE(open, ENODEV, "only an open during the removal of the purgatory");
}

static void nothing(int signal)
{
	(void)signal;
}

/* Send signals until one interrupts read(); the first ones may arrive before it. */
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
