// SPDX-License-Identifier: GPL-2.0
/*
 * Exit status: failures of the device or of an allocation, and write errors of standard output.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "twheelctl.h"

enum outcome device_failure(const char *message)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, message,
		strerror(errno));
	return OUTCOME_DEVICE;
}

void *must_realloc(void *memory, unsigned long nr, unsigned long size)
{
	memory = reallocarray(memory, nr, size);
	if (!memory && nr)
		exit(device_failure("memory"));
	return memory;
}

void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* A write of output fails with EBADF, as without the file. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			return;
}

bool output_writable(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO };
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	struct stat stat;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		errno = EBADF;
	else if (!fstat(STDOUT_FILENO, &stat) && S_ISCHR(stat.st_mode) &&
		 stat.st_rdev == makedev(1, 7))
		errno = ENOSPC;	/* /dev/full */
	else if (poll(&output, 1, 0) > 0)
		errno = EPIPE;	/* the reader of a pipe has exited */
	else
		return true;
	device_failure("cannot write to standard output");
	return false;
}

bool flush_output(void)
{
	static bool reported;

	/* An earlier error may have lost its errno. */
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	if (!reported)
		fprintf(stderr, "%s: cannot write to standard output: %s\n",
			program_invocation_short_name, errno ? strerror(errno) : "write error");
	reported = true;
	return false;
}
