/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake device for tests of the library: the test program overrides the system calls
 * of the C library.  ioctl() counts its calls, saves the last structure, and refuses wrong
 * sizes like the kernel. The test provides the results.
 */
#ifndef LIBTWHEEL_FAKE_H
#define LIBTWHEEL_FAKE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <twheel.h>

#define FAKE_FD	1000

/* An add with a structure that ends before @field. */
#define FAKE_ADD(field)	_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC, _IOC_NR(TWHEEL_IOC_ADD), \
			     offsetof(struct twheel_add_args, field))

static struct {
	unsigned int calls;		/* number of ioctl() calls */
	unsigned long request;		/* number of the last call */
	union {
		struct twheel_add_args add;
		struct twheel_cancel_args cancel;
		struct twheel_complete_args complete;
		struct twheel_rearm_args rearm;
		struct twheel_watch_args watch;
		struct twheel_unwatch_args unwatch;
		struct twheel_signal_args signal;
		struct twheel_cancel_key_args cancel_key;
		struct twheel_complete_all_args complete_all;
		struct twheel_drain_args drain;
		struct twheel_events_args events;
		struct twheel_confirm_args confirm;
		struct twheel_restrict_args restrict_args;
		struct twheel_info_args info;
		struct twheel_list_args list;
		struct twheel_query_args query;
		struct twheel_queue_args queue;
		struct twheel_create_args create;
		struct twheel_remove_args remove;
		struct twheel_batch_args batch;
		unsigned char bytes[512];
	} args;				/* structure of the last call on entry */
	int error;			/* returned by ioctl(), if not 0 */
	int fd;				/* returned by calls that open a descriptor */
	void (*answer)(unsigned long request, void *args);
} fake;

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

/* The entry size of an array; 0 without an array. */
static inline bool fake_size(__u32 size, __u32 nr, size_t expected)
{
	return size == (nr ? expected : 0);
}

static inline bool fake_keys(__u32 size, __u32 nr)
{
	return fake_size(size, nr, sizeof(struct twheel_watch_spec));
}

/* Return: true if the sizes in fake.args are correct. */
static inline bool fake_accepts(unsigned long request)
{
	const typeof(fake.args) *args = &fake.args;

	switch (request) {
	case FAKE_ADD(keys):
	case FAKE_ADD(threshold):
	case TWHEEL_IOC_ADD:
		return fake_keys(args->add.key_size, args->add.nr_keys);
	case TWHEEL_IOC_WATCH:
		return fake_keys(args->watch.key_size, args->watch.nr_keys);
	case TWHEEL_IOC_INFO:
		return fake_size(args->info.entry_size, 1, sizeof(struct twheel_pending)) &&
		       fake_keys(args->info.key_size, args->info.max_keys);
	case TWHEEL_IOC_LIST:
		return fake_size(args->list.entry_size, args->list.max_entries,
				 sizeof(struct twheel_pending));
	case TWHEEL_IOC_BATCH:
		return fake_size(args->batch.result_size, args->batch.results != 0,
				 sizeof(struct twheel_result));
	default:
		return true;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *args;
	int error;

	va_start(ap, request);
	args = va_arg(ap, void *);
	va_end(ap);

	fake.calls++;
	fake.request = request;
	memset(&fake.args, 0, sizeof(fake.args));
	memcpy(&fake.args, args, _IOC_SIZE(request));
	if (fd != FAKE_FD)
		fake.error = EBADF;
	else if (!fake_accepts(request))
		fake.error = EINVAL;
	/* An answer may set the error of the next call. */
	error = fake.error;
	/* A call that fails with EINTR still reports its progress. */
	if (fake.answer && (!error || error == EINTR))
		fake.answer(request, args);
	if (error) {
		errno = error;
		return -1;
	}
	return request == TWHEEL_IOC_CREATE || request == TWHEEL_IOC_EVENTS ? fake.fd : 0;
}

#endif /* LIBTWHEEL_FAKE_H */
