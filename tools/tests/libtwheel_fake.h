/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device that isn't there, for tests of the library: system calls that the
 * test program defines itself, in front of those of the C library.  Each ioctl()
 * is counted, and its structure kept; what it answers is the test's to say.
 */
#ifndef LIBTWHEEL_FAKE_H
#define LIBTWHEEL_FAKE_H

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <twheel.h>

#define FAKE_FD	1000

static struct {
	unsigned int calls;		/* of ioctl() */
	unsigned long request;		/* of the last one */
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
		struct twheel_detached_args detached;
		struct twheel_info_args info;
		struct twheel_list_args list;
		struct twheel_query_args query;
		struct twheel_create_args create;
		struct twheel_remove_args remove;
		struct twheel_batch_args batch;
		unsigned char bytes[512];
	} args;				/* of the last one, as it came in */
	int error;			/* what ioctl() fails with, if not 0 */
	void (*answer)(unsigned long request, void *args);
} fake;

static inline void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *args;

	va_start(ap, request);
	args = va_arg(ap, void *);
	va_end(ap);

	fake.calls++;
	fake.request = request;
	memset(&fake.args, 0, sizeof(fake.args));
	memcpy(&fake.args, args, _IOC_SIZE(request));
	if (fd != FAKE_FD)
		fake.error = EBADF;
	if (fake.error) {
		errno = fake.error;
		return -1;
	}
	if (fake.answer)
		fake.answer(request, args);
	return 0;
}

#endif /* LIBTWHEEL_FAKE_H */
