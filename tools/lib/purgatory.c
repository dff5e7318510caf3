// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: opening purgatories, making and removing named ones. See twheel.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "twheel.h"

/* Copies @name with zeros behind it, if it fits. What else makes a name is the kernel's to say. */
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

/* One call on a device that is open for no longer than that. */
static int call_device(unsigned long request, void *args)
{
	int fd = twheel_open(0), status, error;

	if (fd < 0)
		return -1;
	status = ioctl(fd, request, args);
	error = errno;
	close(fd);
	errno = error;
	return status;
}

int twheel_open(int flags)
{
	return open(TWHEEL_DEVICE, O_RDWR | O_CLOEXEC | flags);
}

int twheel_open_named(const char *name, int flags)
{
	char path[sizeof(TWHEEL_DEVICE) + TWHEEL_NAME_SIZE];
	char checked[TWHEEL_NAME_SIZE];

	if (copy_name(checked, name))
		return -1;
	/* With a slash in it, it would lead to any file. */
	if (strchr(checked, '/')) {
		errno = EINVAL;
		return -1;
	}
	snprintf(path, sizeof(path), TWHEEL_DEVICE "-%s", checked);
	return open(path, O_RDWR | O_CLOEXEC | flags);
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
	return call_device(TWHEEL_IOC_CREATE, args);
}

int twheel_remove(const char *name, unsigned int flags, unsigned int *cancelled)
{
	struct twheel_remove_args args = { .flags = flags };

	if (copy_name(args.name, name) || call_device(TWHEEL_IOC_REMOVE, &args))
		return -1;
	if (cancelled)
		*cancelled = args.cancelled;
	return 0;
}
