// SPDX-License-Identifier: GPL-2.0
/*
 * What twheelctl says and does when the device or memory is not to be had.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <twheel.h>

#include "twheelctl.h"

int open_purgatory(void)
{
	int fd = twheel_open(O_NONBLOCK);

	if (fd >= 0)
		return fd;

	fprintf(stderr, "twheelctl: %s: %s\n", TWHEEL_DEVICE, strerror(errno));
	switch (errno) {
	case ENOENT:
	case ENXIO:
	case ENODEV:
		fputs("The module is not loaded: insmod twheel.ko\n", stderr);
		break;
	case EACCES:
	case EPERM:
		fputs("Only root may open it, until its mode is changed.\n",
		      stderr);
		break;
	}
	return -1;
}

enum outcome device_trouble(const char *what)
{
	fprintf(stderr, "twheelctl: %s: %s\n", what, strerror(errno));
	return OUTCOME_DEVICE;
}

void *must_realloc(void *memory, unsigned long nr, unsigned long size)
{
	memory = reallocarray(memory, nr, size);
	if (!memory && nr)
		exit(device_trouble("memory"));
	return memory;
}

char *must_strdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		exit(device_trouble("memory"));
	return copy;
}
