// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the programs of tools/selftests on the rig: functions that replace their system calls, see
 * selftest.calls, in addition to those of user.c.
 *
 * The harness forks for each test. The first call in the child starts the rig, and loads a module
 * of its own. At the end of the test the module is unloaded, and nothing may be left. A test that
 * needs something that the rig does not have is skipped.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <linux/twheel.h>

#define RIG_USER_CALLS
#include "user.h"

#define CPUS		3
#define SKIPPED		4	/* KSFT_SKIP of the harness */

struct start {
	void *(*fn)(void *arg);
	void *arg;
	unsigned int uid;
};

static bool started;
static __thread unsigned int uid;

/* The calling thread is a task of user @uid. */
static void enter(void)
{
	static unsigned int nr;

	user_enter(uid, 0, __atomic_add_fetch(&nr, 1, __ATOMIC_RELAXED), NULL);
}

/* As in scripts/guest/device. */
static const struct {
	const char *program, *name;
	unsigned long value;
} parameters[] = {
	{ "twheel_quota_test", "max_pending", 16 },
	{ "twheel_quota_test", "max_purgatories", 4 },
	{ "twheel_quota_test", "max_shared_pending", 32 },
	{ "twheel_quota_test", "user_max_files", 12 },
	{ "twheel_quota_test", "user_max_ops", 40 },
	{ "twheel_quota_test", "user_max_purgatories", 2 },
	{ }
};

static void set_parameters(void)
{
	unsigned int i;

	for (i = 0; parameters[i].program; i++)
		if (!strcmp(program_invocation_short_name, parameters[i].program))
			rig_param_set("twheel", parameters[i].name, parameters[i].value);
}

static void start(void)
{
	const char *seed = getenv("SEED");

	if (started)
		return;
	started = true;
	user_memory_init();
	rig_start(CPUS, seed ? strtoul(seed, NULL, 0) : (unsigned long)getpid());
	set_parameters();
	if (rig_module_init("twheel"))
		abort();
	enter();
}

static _Noreturn void lacks(const char *what)
{
	printf("# the rig does not have %s\n", what);
	fflush(stdout);
	_exit(SKIPPED);
}

#define LACKS(name, what) void selftest_no_##name(void) { lacks(what); }
LACKS(glob, "threads in /proc")
LACKS(epoll, "epoll")
LACKS(signals, "signals")
LACKS(timers, "signals")
LACKS(namespaces, "unshare()")
LACKS(nodes, "nodes with permissions")
LACKS(splice, "splice()")
LACKS(timerfd, "timerfd")
LACKS(writing, "write()")

/* Processes and threads */

/* A child would have no threads of the rig. */
pid_t selftest_fork(void)
{
	if (started)
		lacks("fork()");
	return fork();
}

_Noreturn void selftest_exit(int status)
{
	if (started) {
		uid = 0;
		enter();
		user_exit_files();
		user_remove_names();
		rig_module_exit("twheel");
		if (rig_verdict())
			status = 1;
	}
	fflush(stdout);
	_exit(status);
}

static void *thread_main(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	uid = s.uid;
	enter();
	return s.fn(s.arg);
}

int selftest_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			    void *(*fn)(void *arg), void *arg)
{
	struct start *s = malloc(sizeof(*s));

	start();
	*s = (struct start){ .fn = fn, .arg = arg, .uid = uid };
	return pthread_create(thread, attr, thread_main, s);
}

/* The tests bind themselves to one CPU, any. */
int selftest_setaffinity(pid_t task, size_t size, const cpu_set_t *set)
{
	int err = sched_setaffinity(task, size, set);

	if (!err)
		rig_bind(0);
	return err;
}

/* The calls of act_for() */
long selftest_syscall(long nr, ...)
{
	va_list args;

	if (nr != SYS_setfsuid)
		lacks("this system call");
	start();
	va_start(args, nr);
	uid = va_arg(args, unsigned int);
	va_end(args);
	enter();
	return uid;
}

/* Files and memory */

int selftest_open(const char *path, int flags, ...)
{
	start();
	return user_open(path, flags);
}

int selftest_fcntl(int fd, int command, long arg)
{
	if (command == F_GETFD)
		lacks("close-on-exec flags");
	return user_fcntl(fd, command, arg);
}

int selftest_dup(int fd)
{
	return user_fcntl(fd, F_DUPFD, 0);
}

int selftest_access(const char *path, int mode)
{
	int fd;

	if (strncmp(path, "/dev/twheel", 11))
		return access(path, mode);
	fd = selftest_open(path, O_RDWR);
	return fd < 0 ? -1 : user_close(fd);
}

/* A text of the module, or a parameter. */
FILE *selftest_fopen(const char *path, const char *mode)
{
	static __thread char text[8192];
	unsigned long value;
	char name[64];
	ssize_t size;
	int fd;

	if (!strncmp(path, "/proc/", 6) && strstr(path, "/syscall"))
		lacks("/proc/PID/syscall");
	start();
	if (!strcmp(path, "/sys/module/twheel/refcnt")) {
		size = snprintf(text, sizeof(text), "%d\n", rig_module_refs);
	} else if (sscanf(path, "/sys/module/twheel/parameters/%63s", name) == 1 &&
		   rig_param_get("twheel", name, &value)) {
		size = snprintf(text, sizeof(text), "%lu\n", value);
	} else {
		fd = selftest_open(path, O_RDONLY);
		size = fd < 0 ? 0 : user_read(fd, text, sizeof(text));
		user_close(fd);
	}
	return size > 0 ? fmemopen(text, size, mode) : NULL;
}

/* Only remove_all_named() reads a directory, that of the names. */
DIR *selftest_opendir(const char *path)
{
	if (started)
		user_remove_names();
	return NULL;
}

/* The kernel's accesses to private memory depend on its protection. */
void *selftest_mmap(void *at, size_t size, int prot, int flags, int fd, off_t pos)
{
	if (flags & MAP_SHARED && fd < 0)
		return mmap(at, size, prot, flags, fd, pos);
	start();
	if (fd >= 0)
		return user_mmap(at, size, prot, flags, fd, pos);
	at = user_mmap(at, size, PROT_NONE, flags, fd, pos);
	if (at != MAP_FAILED)
		user_mprotect(at, size, prot);
	return at;
}

int selftest_munmap(void *at, size_t size)
{
	return user_munmap(at, size);
}
