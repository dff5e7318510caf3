// SPDX-License-Identifier: GPL-2.0
/*
 * Failures of the device or of an allocation. See outcome.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <twheel.h>

#include "outcome.h"

enum outcome device_failure(const char *message)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, message,
		strerror(errno));
	return OUTCOME_DEVICE;
}

bool device_missing(int error)
{
	return error == ENOENT || error == ENXIO || error == ENODEV;
}

enum outcome not_loaded(const char *path)
{
	if (!access("/sys/module/twheel", F_OK)) {
		fprintf(stderr,
			"%s: %s: the module is loaded, but the node is hidden from this process, or of an earlier purgatory: see the settings of its service or container, and restart the service or create the container anew\n",
			program_invocation_short_name, path);
		return OUTCOME_DEVICE;
	}
	fprintf(stderr,
		"%s: %s: the module is not loaded: modprobe twheel, or insmod twheel.ko\n",
		program_invocation_short_name, path);
	return OUTCOME_DEVICE;
}

void *must_realloc(void *memory, unsigned long nr, unsigned long size)
{
	memory = reallocarray(memory, nr, size);
	if (!memory && nr)
		exit(device_failure("memory"));
	return memory;
}

char *must_strdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		exit(device_failure("memory"));
	return copy;
}
