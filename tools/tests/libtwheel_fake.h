/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fake device for tests of the library: the test program overrides the system calls
 * of the C library.  ioctl() counts its calls and saves the last structure. The test provides the
 * results.
 */
#ifndef LIBTWHEEL_FAKE_H
#define LIBTWHEEL_FAKE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <twheel.h>
#include <twheel_calls.h>

#define FAKE_FD	1000

/* An add with a structure that ends before @field. */
#define FAKE_ADD(field)	_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_MAGIC, _IOC_NR(TWHEEL_IOC_ADD), \
			     offsetof(struct twheel_add_args, field))

static struct {
	unsigned int calls;		/* number of ioctl() calls */
	unsigned long request;		/* number of the last call */
	union {
		TWHEEL_ARGS
	} args;				/* structure of the last call on entry */
	int error;			/* returned by ioctl(), if not 0 */
	int fd;				/* returned by calls that open a descriptor */
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
