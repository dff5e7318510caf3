// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: one function for each call of /dev/twheel. See twheel.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "twheel.h"

int twheel_open(int flags)
{
	return open(TWHEEL_DEVICE, O_RDWR | O_CLOEXEC | flags);
}

int twheel_add(int fd, struct twheel_add_args *args)
{
	return ioctl(fd, TWHEEL_IOC_ADD, args);
}

int twheel_cancel(int fd, uint64_t id)
{
	struct twheel_cancel_args args = { .id = id };

	return ioctl(fd, TWHEEL_IOC_CANCEL, &args);
}

int twheel_watch(int fd, uint64_t id, const struct twheel_watch_spec *specs,
		 unsigned int nr)
{
	struct twheel_watch_args args = {
		.id = id,
		.nr_keys = nr,
		.keys = (uintptr_t)specs,
	};

	return ioctl(fd, TWHEEL_IOC_WATCH, &args);
}

int twheel_signal(int fd, struct twheel_key key, uint64_t value,
		  unsigned int *completed)
{
	struct twheel_signal_args args = { .key = key, .value = value };

	if (ioctl(fd, TWHEEL_IOC_SIGNAL, &args))
		return -1;
	if (completed)
		*completed = args.completed;
	return 0;
}

int twheel_complete(int fd, uint64_t id, uint64_t value)
{
	struct twheel_complete_args args = { .id = id, .value = value };

	return ioctl(fd, TWHEEL_IOC_COMPLETE, &args);
}

int twheel_query(int fd, struct twheel_query_args *args)
{
	memset(args, 0, sizeof(*args));
	return ioctl(fd, TWHEEL_IOC_QUERY, args);
}

ssize_t twheel_read_events(int fd, struct twheel_event *events, size_t nr)
{
	ssize_t bytes;

	/* read() takes no more than this; fewer events are always allowed. */
	if (nr > SSIZE_MAX / sizeof(*events))
		nr = SSIZE_MAX / sizeof(*events);

	bytes = read(fd, events, nr * sizeof(*events));
	return bytes < 0 ? -1 : bytes / (ssize_t)sizeof(*events);
}

int twheel_key_text(const char *text, struct twheel_key *key)
{
	size_t len = strlen(text);

	if (!len || len > TWHEEL_KEY_TEXT_MAX) {
		errno = len ? ENAMETOOLONG : EINVAL;
		return -1;
	}
	memset(key, 0, sizeof(*key));
	memcpy(key, text, len);
	return 0;
}
