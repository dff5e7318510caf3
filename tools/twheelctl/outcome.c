// SPDX-License-Identifier: GPL-2.0
/*
 * Failures of the device or of an allocation. See outcome.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outcome.h"

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
