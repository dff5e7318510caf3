// SPDX-License-Identifier: GPL-2.0
/*
 * Write errors of standard output. See output.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

void open_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* A write of output fails with EBADF, as without the file. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			return;
}

bool output_writable(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
		return true;
	errno = EBADF;
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

enum outcome end_output(enum outcome outcome)
{
	return flush_output() ? outcome : OUTCOME_DEVICE;
}
