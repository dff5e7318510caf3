// SPDX-License-Identifier: GPL-2.0
/*
 * Checks after all files have been closed: named purgatories can be removed, and the quota of
 * each user is unused: neither more nor fewer files, operations and names are allowed.
 *
 * This finds accounting errors on any path of an operation, a file or a name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define PREFIX		"twheel-"
#define MAX_FILES	2000	/* largest limit that is tested */
#define MAX_OPS		20000

/* Return: the value of a module parameter, 0 if it does not exist. */
static unsigned long parameter(const char *name)
{
	unsigned long value = 0;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/twheel/parameters/%s", name);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%lu", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

static void end_name(int fd, const char *name)
{
	struct twheel_remove_args args = { .flags = TWHEEL_REMOVE_FORCE };

	snprintf(args.name, sizeof(args.name), "%s", name);
	if (ioctl(fd, TWHEEL_IOC_REMOVE, &args))
		failed(NULL, "removing %s at the end: %s", name, strerror(errno));
}

/* Remove every named purgatory. Return: true if none is left. */
bool end_names(void)
{
	int fd = open("/dev/twheel-control", O_RDWR | O_CLOEXEC), round, found = 0;

	for (round = 0; round < 2; round++) {
		DIR *dev = opendir("/dev");
		struct dirent *entry;

		found = 0;
		while (dev && (entry = readdir(dev))) {
			if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) ||
			    !strcmp(entry->d_name, PREFIX "control"))
				continue;
			found++;
			if (!round)
				end_name(fd, entry->d_name + strlen(PREFIX));
		}
		if (dev)
			closedir(dev);
	}
	close(fd);
	return !found;
}

static const unsigned int users[] = { 0, USER, OTHER_USER };

/*
 * Keep a file of each user open until the end: the kernel frees a user without files, and
 * its accounting errors with it.
 */
void hold_users(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		setfsuid(users[i]);
		if (open("/dev/twheel", O_RDWR | O_CLOEXEC) < 0)
			failed(NULL, "a file of user %u: %s", users[i], strerror(errno));
	}
	setfsuid(0);
}

/* Open up to @most files. Return: number of open files. */
static unsigned long open_files(int *fds, unsigned long most)
{
	unsigned long nr;

	for (nr = 0; nr < most; nr++) {
		fds[nr] = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		if (fds[nr] < 0) {
			if (errno != EDQUOT)
				failed(NULL, "file %lu of a user: %s", nr + 1, strerror(errno));
			break;
		}
	}
	return nr;
}

static unsigned long add_ops(const int *fds, unsigned long nr_files, unsigned long most)
{
	unsigned long file, nr = 0;

	for (file = 0; file < nr_files && nr < most;) {
		struct twheel_add_args args = { .deadline = TWHEEL_NEVER };

		if (!ioctl(fds[file], TWHEEL_IOC_ADD, &args)) {
			nr++;
		} else if (errno == ENOSPC) {
			file++;
		} else {
			if (errno != EDQUOT)
				failed(NULL, "operation %lu: %s", nr + 1, strerror(errno));
			break;
		}
	}
	return nr;
}

/* Return: the number of purgatories that the user can create. */
static unsigned long create_names(unsigned long most)
{
	int control = open("/dev/twheel-control", O_RDWR | O_CLOEXEC);
	unsigned long nr, i;

	for (nr = 0; nr < most; nr++) {
		struct twheel_create_args args = { .uid = TWHEEL_CALLER, .gid = TWHEEL_CALLER };
		int fd;

		snprintf(args.name, sizeof(args.name), "quota%lu", nr);
		fd = ioctl(control, TWHEEL_IOC_CREATE, &args);
		if (fd < 0) {
			if (errno != EDQUOT)
				failed(NULL, "purgatory %lu: %s", nr + 1, strerror(errno));
			break;
		}
		close(fd);
	}
	for (i = 0; i < nr; i++) {
		char name[TWHEEL_NAME_SIZE];

		snprintf(name, sizeof(name), "quota%lu", i);
		end_name(control, name);
	}
	close(control);
	return nr;
}

/* Privileged users have no limit on names. */
static bool has_all_names(void)
{
	unsigned long names = parameter("user_max_purgatories"), got;

	if (!getuid() || !names)
		return true;
	got = create_names(names + 1);
	if (got != names)
		printf("# uid %d has %lu of %lu names\n", getuid(), got, names);
	return got == names;
}

/* Return: true if the user can use exactly the limits on files, operations and names. */
static bool has_full_quota(unsigned long files, unsigned long ops)
{
	static int fds[MAX_FILES + 1];
	unsigned long got_files = open_files(fds, files + 1), got_ops, i;
	unsigned long most = got_files * parameter("max_pending");

	if (ops > most)
		ops = most;
	got_ops = add_ops(fds, got_files, ops + 1);
	for (i = 0; i < got_files; i++)
		close(fds[i]);
	if (got_files == files && got_ops == ops)
		return true;
	printf("# uid %d has %lu of %lu files, %lu of %lu operations\n", getuid(), got_files,
	       files, got_ops, ops);
	return false;
}

/* Closed files may be uncharged with a delay: retry. */
static bool gets_full_quota(unsigned int uid, unsigned long files, unsigned long ops)
{
	__u64 end = now_ns() + 20 * SEC;
	struct rlimit limit = { MAX_FILES + 100, MAX_FILES + 100 };

	setrlimit(RLIMIT_NOFILE, &limit);
	if (uid && setuid(uid))
		return false;
	while (!has_full_quota(files, ops) || !has_all_names()) {
		if (now_ns() > end)
			return false;
		usleep(500000);
	}
	return true;
}

void check_quotas(void)
{
	unsigned long files = parameter("user_max_files"), ops = parameter("user_max_ops");
	unsigned int i;

	/* One file is kept open. */
	if (files)
		files--;
	if (!files || !ops || files > MAX_FILES || ops > MAX_OPS)
		return;
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(!gets_full_quota(users[i], files, ops));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			failed(NULL, "user %u cannot use %lu files and %lu operations at the end",
			       users[i], files, ops);
	}
}
