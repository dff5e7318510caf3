// SPDX-License-Identifier: GPL-2.0
/*
 * Errors of Documentation/calls.toml that need a scenario, provoked in one way. Other programs
 * cover the other ways; twheel_errno_test covers bad arguments, tools/rig/fail.c failed
 * allocations.
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
 * A private purgatory with an unread event. A named purgatory with a limit of one pending
 * operation, opened twice: the second file is restricted.
 */
FIXTURE(errors) {
	int fd;
	int shared;
	int confined;
	struct good good;
};

static int create_small(const char *name)
{
	struct twheel_create_args args = create_args(name, 0600);

	args.max_pending = 1;
	args.max_watches = 2;
	return call_control(TWHEEL_IOC_CREATE, &args);
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
	ASSERT_EQ(0, op_cancel(self->fd, add_deadline(self->fd, HOUR, 0, 0)));
	good_args(&self->good, 0);
}

FIXTURE_TEARDOWN(errors)
{
	close(self->fd);
	close(self->shared);
	close(self->confined);
	remove_all_named();
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
	EXPECT_NE(0, add_deadline(self->shared, HOUR, 0, 0));
	GIVES(TWHEEL_IOC_ADD, ENOSPC, errno_of(add_deadline(self->shared, HOUR, 0, 0) ? 0 : -1));
	EXPECT_LE(0, complete_all(self->shared, 0, 0, 0));
	GIVES(TWHEEL_IOC_ADD, ENOBUFS, add_and_cancel(self->shared, 4));
	GIVES(TWHEEL_IOC_ADD, EDQUOT, add_until_refused(self->fd));
	EXPECT_LE(0, drain(self->fd));
	GIVES(TWHEEL_IOC_ADD, ESHUTDOWN, add_until_refused(self->fd));
}

TEST_F(errors, of_watch)
{
	struct twheel_watch_spec spec = spec_of(11, 1);
	__u64 full = add_keys(self->shared, TWHEEL_COND_ANY, 0, 2);

	GIVES(TWHEEL_IOC_WATCH, ENOSPC, op_watch(self->shared, full, &spec, 1));
}

TEST_F(errors, of_a_restricted_file)
{
	GIVES(TWHEEL_IOC_COMPLETE_ALL, EPERM,
	      errno_of(complete_all(self->confined, 0, 0, TWHEEL_COMPLETE_OTHERS)));
	self->good.list_args.flags = TWHEEL_LIST_OTHERS;
	GIVES(TWHEEL_IOC_LIST, EPERM, call(self->confined, TWHEEL_IOC_LIST, &self->good.list_args));
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
	GIVES(TWHEEL_IOC_EVENTS, EMFILE, in_a_child(no_more_descriptors(),
						    errno_of(open_events(self->shared, 0))));
	GIVES(TWHEEL_IOC_EVENTS, EDQUOT, open_events_until_refused(self->shared));
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
	struct twheel_create_args *create = &self->good.create_args;
	int control = twheel_open_control();

	ASSERT_LE(0, control);
	GIVES(TWHEEL_IOC_CREATE, EEXIST, create_named(OLD_NAME, 0600));
	GIVES(TWHEEL_IOC_CREATE, EMFILE, in_a_child(no_more_descriptors(),
						    call(control, TWHEEL_IOC_CREATE, create)));
	EXPECT_FALSE(node_exists(NEW_NAME));
	create->uid = 0;
	GIVES(TWHEEL_IOC_CREATE, EPERM, error_of_stranger(control, TWHEEL_IOC_CREATE, create));
	GIVES(TWHEEL_IOC_CREATE, EDQUOT, in_a_child(become(STRANGER),
						    create_until_refused(control, '0')));
	GIVES(TWHEEL_IOC_CREATE, ENOSPC, create_until_refused(control, '5'));
	close(control);
}

TEST_F(errors, of_remove)
{
	struct twheel_remove_args *remove = &self->good.remove_args;
	int control = twheel_open_control();

	ASSERT_LE(0, control);
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
