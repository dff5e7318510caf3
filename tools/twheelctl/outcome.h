/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exit status, and failures of the device or of an allocation.
 */
#ifndef TWHEELCTL_OUTCOME_H
#define TWHEELCTL_OUTCOME_H

#include <stdbool.h>

/* The help documents the exit status. */
enum outcome {
	OUTCOME_OK		= 0,
	OUTCOME_FAILED		= 1,	/* refused */
	OUTCOME_USAGE		= 2,	/* invalid arguments */
	OUTCOME_DEVICE		= 3,	/* device or write failure, or out of memory */
	OUTCOME_EXPIRED		= 4,	/* the operation expired */
	OUTCOME_CANCELLED	= 5,	/* the operation was cancelled */
};

/* Prints @message and the text of errno. Return: OUTCOME_DEVICE. */
enum outcome device_failure(const char *message);

/* Exits on allocation failure. */
void *must_realloc(void *memory, unsigned long nr, unsigned long size);

#endif /* TWHEELCTL_OUTCOME_H */
