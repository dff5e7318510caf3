/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of named purgatories: making and removing them, doing something
 * as another user, and that none of them outlives the program that made it,
 * whatever became of its tests.
 */
#ifndef _TWHEEL_NAMED_H
#define _TWHEEL_NAMED_H

#include <dirent.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "selftest.h"

#define SYSFS_CLASS	"/sys/class/twheel"

/* Somebody who is not root. */
#define STRANGER	1234

static inline struct twheel_create_args create_args(const char *name, __u32 mode)
{
	struct twheel_create_args args = {
		.mode = mode,
		.uid = TWHEEL_CALLER,
		.gid = TWHEEL_CALLER,
		.major = (__u32)POISON,
		.minor = (__u32)POISON,
	};
	size_t i;

	for (i = 0; i < sizeof(args.name) && name[i]; i++)
		args.name[i] = name[i];
	return args;
}

/* Make a call on an open of /dev/twheel that is only for this. */
static inline int call_once(unsigned long request, void *args)
{
	int error, fd = twheel_open(0);

	if (fd < 0)
		return errno;
	error = call(fd, request, args);
	close(fd);
	return error;
}

static inline int create_named(const char *name, __u32 mode)
{
	struct twheel_create_args args = create_args(name, mode);

	return call_once(TWHEEL_IOC_CREATE, &args);
}

static inline struct twheel_remove_args remove_args(const char *name, __u32 flags)
{
	struct twheel_remove_args args = { .flags = flags, .cancelled = (__u32)POISON };

	snprintf(args.name, sizeof(args.name), "%s", name);
	return args;
}

static inline int remove_named(const char *name)
{
	struct twheel_remove_args args = remove_args(name, 0);

	return call_once(TWHEEL_IOC_REMOVE, &args);
}

/* Return: how many operations that cancelled, -1 with errno if refused. */
static inline long remove_by_force(const char *name)
{
	struct twheel_remove_args args = remove_args(name, TWHEEL_REMOVE_FORCE);

	errno = call_once(TWHEEL_IOC_REMOVE, &args);
	return errno ? -1 : (long)args.cancelled;
}

/* Whether a node or a folder of that name is there. */
static inline bool node_exists(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/twheel-%s", name);
	return !access(path, F_OK);
}

static inline bool child_exited_well(pid_t child)
{
	int status;

	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* From here on this process is a stranger's, in no group but its own. */
static inline bool become_stranger(void)
{
	return !setgroups(0, NULL) && !setresgid(STRANGER, STRANGER, STRANGER) &&
	       !setresuid(STRANGER, STRANGER, STRANGER);
}

/* Evaluate @expression, a bool, in a child that is a stranger. */
#define as_stranger(expression)						\
({									\
	pid_t __child = fork();						\
									\
	if (!__child)							\
		_exit(become_stranger() && (expression) ? 0 : 1);	\
	child_exited_well(__child);					\
})

/* Remove every named purgatory that there is; a test that failed may leave some. */
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

/* A test that is killed tears nothing down; the harness leaves by exit(). */
static __attribute__((destructor)) void leave_none_behind(void)
{
	remove_all_named();
}

#endif /* _TWHEEL_NAMED_H */
