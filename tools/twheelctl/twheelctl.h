/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands of twheelctl have in common. main.c dispatches to them,
 * trouble.c has the rest.
 */
#ifndef TWHEELCTL_H
#define TWHEELCTL_H

#define TWHEELCTL_VERSION	"0.1"

/* How twheelctl exits; 'twheelctl help' documents it. */
enum outcome {
	OUTCOME_OK	= 0,
	OUTCOME_FAILED	= 1,	/* something that was expected did not hold */
	OUTCOME_USAGE	= 2,	/* wrong arguments or a wrong line */
	OUTCOME_DEVICE	= 3,	/* the device, or memory, is not to be had */
};

enum outcome run_command(int argc, char **argv);
enum outcome purgatory_command(int argc, char **argv);

/**
 * open_purgatory() - twheel_open(), with a word on what to do if it fails
 *
 * Return: a descriptor that does not block, or -1.
 */
int open_purgatory(void);

/* Prints what failed, with errno, and is OUTCOME_DEVICE. */
enum outcome device_trouble(const char *what);

/* malloc() and its like do not fail here: the program ends instead. */
void *must_realloc(void *memory, unsigned long nr, unsigned long size);
char *must_strdup(const char *text);

#endif /* TWHEELCTL_H */
