/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Exit status of the programs, and failures of the device or of an allocation.
 */
#ifndef TWHEELCTL_OUTCOME_H
#define TWHEELCTL_OUTCOME_H

#include <stdbool.h>

/* The help of each program documents its exit status. */
enum outcome {
	OUTCOME_OK		= 0,
	OUTCOME_FAILED		= 1,	/* refused, or an expectation failed */
	OUTCOME_USAGE		= 2,	/* invalid arguments or an invalid script */
	OUTCOME_DEVICE		= 3,	/* device or write failure, or out of memory */
	OUTCOME_EXPIRED		= 4,	/* the operation expired */
	OUTCOME_CANCELLED	= 5,	/* the operation was cancelled */
};

/* Prints @message and the text of errno. Return: OUTCOME_DEVICE. */
enum outcome device_failure(const char *message);

/* Return: true for the errors of an open without the module, or without the purgatory. */
bool device_missing(int error);

/* A node cannot be opened. Prints advice, such as to load the module. Return: OUTCOME_DEVICE. */
enum outcome not_loaded(const char *path);

/* These exit on allocation failure. */
void *must_realloc(void *memory, unsigned long nr, unsigned long size);
char *must_strdup(const char *text);

#endif /* TWHEELCTL_OUTCOME_H */
