// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: one function for each call of an open purgatory. See twheel.h.
 */
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "twheel.h"

/* What a call has counted goes to @to, if the caller wants to know. */
static void tell_count(unsigned int *to, unsigned int count)
{
	if (to)
		*to = count;
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

int twheel_complete(int fd, uint64_t id, uint64_t value)
{
	struct twheel_complete_args args = { .id = id, .value = value };

	return ioctl(fd, TWHEEL_IOC_COMPLETE, &args);
}

int twheel_complete_error(int fd, uint64_t id, int error)
{
	struct twheel_complete_args args = { .id = id, .error = error };

	return ioctl(fd, TWHEEL_IOC_COMPLETE, &args);
}

int twheel_complete_all(int fd, uint64_t value, int error, unsigned int flags,
			unsigned int *completed)
{
	struct twheel_complete_all_args args = {
		.value = value,
		.error = error,
		.flags = flags,
	};

	if (ioctl(fd, TWHEEL_IOC_COMPLETE_ALL, &args))
		return -1;
	tell_count(completed, args.completed);
	return 0;
}

int twheel_rearm(int fd, uint64_t id, uint64_t deadline, unsigned int flags,
		 unsigned int which)
{
	struct twheel_rearm_args args = {
		.id = id,
		.deadline = deadline,
		.flags = flags,
		.which = which,
	};

	return twheel_rearm_with(fd, &args);
}

int twheel_rearm_with(int fd, struct twheel_rearm_args *args)
{
	return ioctl(fd, TWHEEL_IOC_REARM, args) ? -1 : args->moved != 0;
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

int twheel_unwatch(int fd, uint64_t id, struct twheel_key key)
{
	struct twheel_unwatch_args args = { .key = key, .id = id };

	return ioctl(fd, TWHEEL_IOC_UNWATCH, &args);
}

int twheel_signal(int fd, struct twheel_key key, uint64_t value,
		  unsigned int *completed)
{
	struct twheel_signal_args args = { .key = key, .value = value };

	if (twheel_signal_with(fd, &args))
		return -1;
	tell_count(completed, args.completed);
	return 0;
}

int twheel_signal_with(int fd, struct twheel_signal_args *args)
{
	return ioctl(fd, TWHEEL_IOC_SIGNAL, args);
}

int twheel_cancel_key(int fd, struct twheel_key key, unsigned int *cancelled)
{
	struct twheel_cancel_key_args args = { .key = key };

	if (ioctl(fd, TWHEEL_IOC_CANCEL_KEY, &args))
		return -1;
	tell_count(cancelled, args.cancelled);
	return 0;
}

int twheel_drain(int fd, unsigned int *cancelled)
{
	struct twheel_drain_args args = { .flags = 0 };

	if (ioctl(fd, TWHEEL_IOC_DRAIN, &args))
		return -1;
	tell_count(cancelled, args.cancelled);
	return 0;
}

int twheel_read_detached(int fd)
{
	struct twheel_detached_args args = { .flags = 0 };

	return ioctl(fd, TWHEEL_IOC_DETACHED, &args);
}

int twheel_info(int fd, uint64_t id, struct twheel_pending *pending,
		struct twheel_watch_spec *keys, unsigned int room)
{
	struct twheel_info_args args = {
		.id = id,
		.keys = (uintptr_t)keys,
		.room = room,
	};

	if (ioctl(fd, TWHEEL_IOC_INFO, &args))
		return -1;
	*pending = args.pending;
	return 0;
}

int twheel_list(int fd, unsigned int flags, uint64_t *cursor,
		struct twheel_pending *entries, unsigned int room)
{
	struct twheel_list_args args = {
		.entries = (uintptr_t)entries,
		.room = room > INT_MAX ? INT_MAX : room,
		.flags = flags,
		.cursor = *cursor,
	};

	if (ioctl(fd, TWHEEL_IOC_LIST, &args))
		return -1;
	*cursor = args.cursor;
	return args.nr;
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
