/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of named purgatories: creating and removing them, running code as
 * another user, and removing leftover purgatories when the program exits. For those of many
 * operations: adding operations quickly, pinning threads, and medians.
 */
#ifndef _TWHEEL_NAMED_H
#define _TWHEEL_NAMED_H

#include <dirent.h>
#include <grp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "selftest.h"

#define SYSFS_CLASS	"/sys/class/twheel"

/* Two users other than root, with groups of the same numbers. */
#define STRANGER	1234
#define NEIGHBOUR	1235

static inline struct twheel_create_args create_args(const char *name, __u32 mode)
{
	struct twheel_create_args args = {
		.mode = mode,
		.uid = TWHEEL_CALLER,
		.gid = TWHEEL_CALLER,
	};
	size_t i;

	for (i = 0; i < sizeof(args.name) && name[i]; i++)
		args.name[i] = name[i];
	return args;
}

/* Make a call on /dev/twheel-control. Return: its errno, 0 for success. */
static inline int call_control(unsigned long request, void *args)
{
	int error, fd = twheel_open_control();

	if (fd < 0)
		return errno;
	error = call(fd, request, args);
	close(fd);
	return error;
}

/* Return: a descriptor of the new purgatory, -1 with errno on failure. */
static inline int create_open(struct twheel_create_args *args)
{
	int made, error, fd = twheel_open_control();

	if (fd < 0)
		return -1;
	made = ioctl(fd, TWHEEL_IOC_CREATE, args);
	error = errno;
	close(fd);
	errno = error;
	return made;
}

static inline int create_named(const char *name, __u32 mode)
{
	struct twheel_create_args args = create_args(name, mode);

	return call_control(TWHEEL_IOC_CREATE, &args);
}

static inline struct twheel_remove_args remove_args(const char *name, __u32 flags)
{
	struct twheel_remove_args args = { .flags = flags };

	snprintf(args.name, sizeof(args.name), "%s", name);
	return args;
}

static inline int remove_named(const char *name)
{
	struct twheel_remove_args args = remove_args(name, 0);

	return call_control(TWHEEL_IOC_REMOVE, &args);
}

/* Return: number of cancelled operations, -1 with errno on failure. */
static inline long remove_by_force(const char *name)
{
	struct twheel_remove_args args = remove_args(name, TWHEEL_REMOVE_FORCE);

	errno = call_control(TWHEEL_IOC_REMOVE, &args);
	return errno ? -1 : (long)args.cancelled;
}

/* Return: true if the node of the purgatory exists. */
static inline bool node_exists(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/twheel-%s", name);
	return !access(path, F_OK);
}

/*
 * Charge operations that this thread adds to @user, without giving up the privileges of root: only
 * the file-system user ID of this thread changes, and none of its capabilities.
 */
static inline bool act_for(uid_t user)
{
#ifdef SYS_setfsuid32
	const long nr = SYS_setfsuid32;
#else
	const long nr = SYS_setfsuid;
#endif

	prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP);
	syscall(nr, user);
	prctl(PR_SET_SECUREBITS, 0);
	/* It returns the previous one. */
	return (uid_t)syscall(nr, user) == user;
}

/* Drop root privileges and become @user, in no group except its own. */
static inline bool become(uid_t user)
{
	return !setgroups(0, NULL) && !setresgid(user, user, user) &&
	       !setresuid(user, user, user);
}

/* Evaluate @expression, a bool, in a child process of @user. */
#define as_user(user, expression)					\
({									\
	pid_t __child = fork();						\
									\
	if (!__child)							\
		_exit(become(user) && (expression) ? 0 : 1);		\
	child_exited_well(__child);					\
})

#define as_stranger(expression)		as_user(STRANGER, expression)

/* Remove all named purgatories; a failed test may have left some. */
static inline void remove_all_named(void)
{
	DIR *dir = opendir(SYSFS_CLASS);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "twheel-", 7))
			remove_by_force(entry->d_name + 7);
	if (dir)
		closedir(dir);
}

/* The teardown does not run for a killed test; the harness calls exit(). */
static __attribute__((destructor)) void leave_none_behind(void)
{
	remove_all_named();
}

/* Run this thread on one CPU only, so that its operations are on one shard. */
static inline bool pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

/* Add @nr identical operations in batches. Return: true if all were added. */
static inline bool add_many(int fd, const struct twheel_add_args *args, unsigned int nr)
{
	static struct {
		struct twheel_command head;
		struct twheel_add_args add;
	} commands[TWHEEL_MAX_BATCH];
	struct twheel_batch_args batch = {
		.commands = address(commands),
		.size = sizeof(commands),
	};
	unsigned int i;

	for (i = 0; i < TWHEEL_MAX_BATCH; i++) {
		commands[i].head.cmd = TWHEEL_IOC_ADD;
		commands[i].add = *args;
	}
	while (nr) {
		batch.nr = nr < TWHEEL_MAX_BATCH ? nr : TWHEEL_MAX_BATCH;
		if (call(fd, TWHEEL_IOC_BATCH, &batch) || batch.failed)
			return false;
		nr -= batch.done;
	}
	return true;
}

/* Read all events of a non-blocking file. Return: their number. */
static inline unsigned int read_all_events(int fd)
{
	static struct twheel_event events[1024];
	unsigned int nr = 0;
	long got;

	while ((got = read_events(fd, events, ARRAY_SIZE(events))) > 0)
		nr += got;
	return nr;
}

static inline int compare_u64(const void *a, const void *b)
{
	__u64 x = *(const __u64 *)a, y = *(const __u64 *)b;

	return x < y ? -1 : x > y;
}

static inline __u64 median(__u64 *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), compare_u64);
	return values[nr / 2];
}

/*
 * What a fixture of a purgatory has beside @fd: another file, the events of queue 0, or two
 * descriptors of these, of which @events confirms and @other does not.
 */
#define WITH_OTHER	1
#define WITH_EVENTS	2
#define WITH_CONFIRM	3

/* A fixture with a new purgatory @node, and non-blocking descriptors of it. */
#define FIXTURE_OF_A_PURGATORY(name, node, with)			\
FIXTURE(name) {								\
	long users;	/* module reference count before this test */	\
	int fd, other, events;						\
};									\
									\
FIXTURE_SETUP(name)							\
{									\
	remove_all_named();						\
	self->users = module_users();					\
	ASSERT_EQ(0, create_named(node, 0600));				\
	self->fd = twheel_open_named(node, O_NONBLOCK);			\
	ASSERT_LE(0, self->fd);						\
	self->other = (with) == WITH_OTHER ? twheel_open_named(node, O_NONBLOCK) : \
		      (with) == WITH_CONFIRM ? open_events(self->fd, O_NONBLOCK) : -1; \
	self->events = (with) == WITH_EVENTS ? open_events(self->fd, O_NONBLOCK) : \
		       (with) == WITH_CONFIRM ?				\
		       open_events(self->fd, O_NONBLOCK | TWHEEL_EVENTS_CONFIRM) : -1; \
}									\
									\
FIXTURE_TEARDOWN(name)							\
{									\
	remove_all_named();						\
	close(self->fd);						\
	close(self->other);						\
	close(self->events);						\
	EXPECT_TRUE(wait_for(module_users() == self->users));		\
}									\
struct _twheel_end_of_##name

#endif /* _TWHEEL_NAMED_H */
