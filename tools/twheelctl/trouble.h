/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opening a purgatory, and what to say and do when the device refuses: each
 * message names a way out where there is one.
 */
#ifndef TWHEELCTL_TROUBLE_H
#define TWHEELCTL_TROUBLE_H

#include "twheelctl.h"

/* How to open a purgatory. */
enum open_for {
	OPEN_TO_LOOK,		/* which takes the right to read it */
	OPEN_TO_CHANGE,
};

/* Return: the module is loaded; else what to do has been told. */
bool device_there(void);

/**
 * open_purgatory() - open the purgatory that the command works on
 * @line: names it, or none for a private one
 *
 * Return: a descriptor that does not block; or -1, why has been told, and
 * line->outcome is set.
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
 * refused() - say that the device has refused a command, and what to do
 * @line: the command
 * @what: what was refused
 *
 * errno says why.
 *
 * Return: OUTCOME_FAILED where that is an answer, as for an operation that has
 * ended; else OUTCOME_DEVICE.
 */
enum outcome refused(const struct command_line *line, const char *what);

/* As refused(), for the calls of /dev/twheel that make and end named purgatories. */
enum outcome control_refused(const struct command_line *line);

/* Prints what failed, with errno, and is OUTCOME_DEVICE. */
enum outcome device_trouble(const char *what);

#endif /* TWHEELCTL_TROUBLE_H */
