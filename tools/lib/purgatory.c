// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: opens purgatories, and creates and removes named ones. See twheel.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "twheel.h"

/* /dev/twheel-control is TWHEEL_CONTROL, not a purgatory. */
#define NAME_OF_CONTROL	"control"

/* Pads @name with zeroes if it fits. The kernel checks the characters. */
static int copy_name(char *to, const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= TWHEEL_NAME_SIZE) {
		errno = EINVAL;
		return -1;
	}
	memset(to, 0, TWHEEL_NAME_SIZE);
	memcpy(to, name, len);
	return 0;
}

/* Opens the control node only for the duration of the call. */
static int call_control(unsigned long request, void *args)
{
	int fd = open(TWHEEL_CONTROL, O_RDWR | O_CLOEXEC), status, error;

	if (fd < 0)
		return -1;
	status = ioctl(fd, request, args);
	error = errno;
	close(fd);
	errno = error;
	return status;
}

/*
 * Opens a node for reading and writing, or for writing only. Other flags have no use, and some
 * would create or truncate a file if there is no node.
 */
static int open_node(const char *path, int flags)
{
	int mode = flags & O_ACCMODE;

	if (mode == O_ACCMODE || flags & ~(O_ACCMODE | O_NONBLOCK | O_CLOEXEC)) {
		errno = EINVAL;
		return -1;
	}
	return open(path, flags | (mode ? 0 : O_RDWR) | O_CLOEXEC);
}

int twheel_open(int flags)
{
	/* It would accept no add, since the event could not be read. */
	if ((flags & O_ACCMODE) == O_WRONLY) {
		errno = EINVAL;
		return -1;
	}
	return open_node(TWHEEL_DEVICE, flags);
}

int twheel_open_named(const char *name, int flags)
{
	char path[sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE];
	char checked[TWHEEL_NAME_SIZE];

	if (copy_name(checked, name))
		return -1;
	/* With a slash, the path could refer to any file. */
	if (strchr(checked, '/') || !strcmp(checked, NAME_OF_CONTROL)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(path, sizeof(path), TWHEEL_DEVICE "-%s", checked);
	return open_node(path, flags);
}

int twheel_create(const char *name, unsigned int mode)
{
	struct twheel_create_args args = {
		.mode = mode,
		.uid = TWHEEL_CALLER,
		.gid = TWHEEL_CALLER,
	};

	return copy_name(args.name, name) ? -1 : twheel_create_with(&args);
}

int twheel_create_with(struct twheel_create_args *args)
{
	return call_control(TWHEEL_IOC_CREATE, args);
}

int twheel_remove(const char *name, unsigned int flags, unsigned int *cancelled)
{
	struct twheel_remove_args args = { .flags = flags };
	int status;

	if (copy_name(args.name, name))
		return -1;
	status = call_control(TWHEEL_IOC_REMOVE, &args);
	if (cancelled && (!status || errno == EINTR))
		*cancelled = args.cancelled;
	return status;
}
