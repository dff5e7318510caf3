// SPDX-License-Identifier: GPL-2.0
/*
 * Checks after all files have been closed: named purgatories can be removed, and the quota of
 * each user is unused: no file or operation is charged, and neither more nor fewer names are
 * allowed.
 *
 * This finds accounting errors on any path of an operation, a file or a name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define PREFIX		"twheel-"

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

/* Closed files may be uncharged with a delay: retry. */
static bool is_uncharged(unsigned int uid)
{
	int fd = uid && setuid(uid) ? -1 : open("/dev/twheel", O_RDWR | O_CLOEXEC);
	__u64 end = now_ns() + 20 * SEC;
	struct twheel_query_args query = {};

	for (;;) {
		if (fd < 0 || ioctl(fd, TWHEEL_IOC_QUERY, &query))
			return false;
		/* This file, and that of hold_users() */
		if (!query.user_ops && query.user_files == 2 && has_all_names())
			return true;
		if (now_ns() > end)
			break;
		usleep(500000);
	}
	printf("# uid %d has %u files and %u operations\n", getuid(), query.user_files,
	       query.user_ops);
	return false;
}

void check_quotas(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(users); i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(!is_uncharged(users[i]));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			failed(NULL, "user %u is still charged at the end", users[i]);
	}
}
