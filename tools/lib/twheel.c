// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libtwheel: a function for each system call on an open purgatory. See twheel.h.
 *
 * The kernel needs the size of the entries of each array. A function that sets it works on a
 * copy: only the output fields of the caller's structure change.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "twheel.h"

/* Passes the count of a call on. A failed call has none, except that EINTR reports its progress. */
static int counted(int status, unsigned int *to, unsigned int count)
{
	if (to && (!status || errno == EINTR))
		*to = count;
	return status;
}

unsigned int twheel_add_cmd(const struct twheel_add_args *args)
{
	unsigned int size = sizeof(*args);

	if (!(args->threshold | args->slack | args->period | args->runs | args->queue |
	      args->cell))
		size = args->nr_keys || args->keys || args->key_size || args->condition ||
		       args->quorum ? offsetof(struct twheel_add_args, threshold) :
		       offsetof(struct twheel_add_args, keys);
	return _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC, _IOC_NR(TWHEEL_IOC_ADD), size);
}

int twheel_add(int fd, struct twheel_add_args *args)
{
	struct twheel_add_args copy = *args;

	copy.keys = args->nr_keys ? args->keys : 0;
	copy.key_size = args->nr_keys ? sizeof(struct twheel_watch_spec) : 0;
	if (ioctl(fd, twheel_add_cmd(&copy), &copy))
		return -1;
	args->id = copy.id;
	return 0;
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
	int status = ioctl(fd, TWHEEL_IOC_COMPLETE_ALL, &args);

	return counted(status, completed, args.completed);
}

int twheel_rearm(int fd, uint64_t id, uint64_t deadline, unsigned int flags)
{
	struct twheel_rearm_args args = {
		.id = id,
		.deadline = deadline,
		.flags = flags,
	};

	return twheel_rearm_with(fd, &args);
}

int twheel_rearm_with(int fd, struct twheel_rearm_args *args)
{
	if (ioctl(fd, TWHEEL_IOC_REARM, args))
		return -1;
	return args->moved != 0;
}

int twheel_watch(int fd, uint64_t id, const struct twheel_watch_spec *specs,
		 unsigned int nr)
{
	struct twheel_watch_args args = {
		.id = id,
		.keys = (uintptr_t)specs,
		.nr_keys = nr,
		.key_size = nr ? sizeof(*specs) : 0,
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
	int status = twheel_signal_with(fd, &args);

	return counted(status, completed, args.completed);
}

int twheel_signal_with(int fd, struct twheel_signal_args *args)
{
	return ioctl(fd, TWHEEL_IOC_SIGNAL, args);
}

int twheel_cancel_key(int fd, struct twheel_key key, unsigned int *cancelled)
{
	struct twheel_cancel_key_args args = { .key = key };
	int status = ioctl(fd, TWHEEL_IOC_CANCEL_KEY, &args);

	return counted(status, cancelled, args.cancelled);
}

int twheel_drain(int fd, unsigned int *cancelled)
{
	struct twheel_drain_args args = { .flags = 0 };
	int status = ioctl(fd, TWHEEL_IOC_DRAIN, &args);

	return counted(status, cancelled, args.cancelled);
}

int twheel_events(int fd, __u32 queue, int flags)
{
	struct twheel_events_args args = {
		.flags = flags,
		.queue = queue,
	};

	if (flags & ~(O_NONBLOCK | (int)TWHEEL_EVENTS_CONFIRM)) {
		errno = EINVAL;
		return -1;
	}
	return ioctl(fd, TWHEEL_IOC_EVENTS, &args);
}

int twheel_confirm(int fd, uint64_t id)
{
	struct twheel_confirm_args args = { .id = id };

	return ioctl(fd, TWHEEL_IOC_CONFIRM, &args);
}

int twheel_restrict(int fd, unsigned int rights)
{
	struct twheel_restrict_args args = { .rights = rights };

	return ioctl(fd, TWHEEL_IOC_RESTRICT, &args);
}

int twheel_info(int fd, uint64_t id, struct twheel_pending *pending,
		struct twheel_watch_spec *keys, unsigned int max_keys)
{
	struct twheel_info_args args = {
		.id = id,
		.entry = (uintptr_t)pending,
		.keys = max_keys ? (uintptr_t)keys : 0,
		.entry_size = sizeof(*pending),
		.key_size = max_keys ? sizeof(*keys) : 0,
		.max_keys = max_keys,
	};

	return ioctl(fd, TWHEEL_IOC_INFO, &args);
}

int twheel_list(int fd, unsigned int flags, uint64_t *cursor,
		struct twheel_pending *entries, unsigned int max_entries)
{
	struct twheel_list_args args = {
		.entries = (uintptr_t)entries,
		.max_entries = max_entries > INT_MAX ? INT_MAX : max_entries,
		.entry_size = sizeof(*entries),
		.flags = flags,
		.cursor = *cursor,
	};

	if (ioctl(fd, TWHEEL_IOC_LIST, &args))
		return -1;
	*cursor = args.cursor;
	return args.nr;
}

twheel_cell_t *twheel_cells(int fd, struct twheel_cells_args *args)
{
	void *cells;

	if (ioctl(fd, TWHEEL_IOC_CELLS, args))
		return NULL;
	cells = mmap(NULL, args->nr * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return cells == MAP_FAILED ? NULL : cells;
}

int twheel_exchange(int fd, uint64_t id, uint64_t from, uint64_t to)
{
	struct twheel_exchange_args args = { .id = id, .from = from, .to = to };

	return ioctl(fd, TWHEEL_IOC_EXCHANGE, &args);
}

int twheel_query(int fd, struct twheel_query_args *args)
{
	memset(args, 0, sizeof(*args));
	return ioctl(fd, TWHEEL_IOC_QUERY, args);
}

int twheel_queue(int fd, struct twheel_queue_args *args)
{
	return ioctl(fd, TWHEEL_IOC_QUEUE, args);
}

ssize_t twheel_read_events(int fd, struct twheel_event *events, size_t nr)
{
	ssize_t bytes;

	/* Larger sizes are undefined for read(), which may always return fewer events. */
	if (nr > SSIZE_MAX / sizeof(*events))
		nr = SSIZE_MAX / sizeof(*events);

	bytes = read(fd, events, nr * sizeof(*events));
	return bytes < 0 ? -1 : bytes / (ssize_t)sizeof(*events);
}
