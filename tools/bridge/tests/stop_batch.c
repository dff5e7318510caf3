// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into the bridge, this kills it at a boundary of two commands of a batch, as the kernel
 * does: STOP_AFTER=N ends the process after N commands.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <linux/twheel.h>

int ioctl(int fd, unsigned long request, ...)
{
	static int (*real_ioctl)(int fd, unsigned long request, ...);
	static unsigned long left;
	struct twheel_batch_args *batch;
	va_list ap;
	int status;

	va_start(ap, request);
	batch = va_arg(ap, void *);
	va_end(ap);
	if (!real_ioctl) {
		real_ioctl = dlsym(RTLD_NEXT, "ioctl");
		left = strtoul(getenv("STOP_AFTER"), NULL, 10);
	}
	if (request != TWHEEL_IOC_BATCH)
		return real_ioctl(fd, request, batch);
	if (batch->nr >= left)
		batch->nr = left;
	left -= batch->nr;
	status = real_ioctl(fd, request, batch);
	if (!left)
		raise(SIGKILL);
	return status;
}
