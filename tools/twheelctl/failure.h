/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens purgatories and reports failures of the device, with advice where there
 * is any.
 */
#ifndef TWHEELCTL_FAILURE_H
#define TWHEELCTL_FAILURE_H

#include "twheelctl.h"

/* How to open a purgatory. */
enum open_for {
	OPEN_TO_LOOK,		/* needs read access to its node */
	OPEN_TO_CHANGE,		/* needs write access, too */
};

/* Return: true if the module is loaded; else advice has been printed. */
bool device_there(void);

/**
 * open_purgatory() - open the purgatory of a command
 * @line: names it, or none for a private one
 *
 * Return: a descriptor that does not block; or -1, with the reason printed and
 * line->outcome set.
 */
int open_purgatory(struct command_line *line);

/**
 * open_named() - as open_purgatory(), for commands that need a named one
 * @line: names it
 * @what: how to open it
 *
 * Return: as open_purgatory().
 */
int open_named(struct command_line *line, enum open_for what);

/**
 * refused() - report that the device refused a call, with advice
 * @line: the command
 * @what: beginning of the message
 *
 * errno is the reason.
 *
 * Return: OUTCOME_FAILED for an expected error, as for an operation that has
 * ended; else OUTCOME_DEVICE.
 */
enum outcome refused(const struct command_line *line, const char *what);

/* As refused(), for twheel_create_with() and twheel_remove(). */
enum outcome control_refused(const struct command_line *line);

/* Prints @what and errno, and returns OUTCOME_DEVICE. */
enum outcome device_failure(const char *what);

#endif /* TWHEELCTL_FAILURE_H */
