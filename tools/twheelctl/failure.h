/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opening of purgatories, and error messages about the device with advice.
 */
#ifndef TWHEELCTL_FAILURE_H
#define TWHEELCTL_FAILURE_H

#include "twheelctl.h"

/* Text for the end of a purgatory that a command has open. */
#define REMOVED_TEXT	"the purgatory has been removed"

/* Required access to the node of a purgatory. */
enum open_mode {
	OPEN_READ_ONLY,
	OPEN_WRITE_ONLY,
	OPEN_READ_WRITE,
};

/* Return: true if the module is loaded; otherwise prints advice. */
bool device_present(void);

/*
 * Opens the purgatory of a command; without a name, a private one.
 * Return: a non-blocking descriptor; on failure -1, with the reason printed and line->outcome set.
 */
int open_purgatory(struct command_line *line);

/* open_purgatory() for commands that require a named purgatory. */
int open_named(struct command_line *line, enum open_mode mode);

/* Return: a non-blocking descriptor of a named purgatory; on failure -1, with errno set. */
int open_read_only(const char *purgatory);

/*
 * Reports a call that failed with errno, with advice.
 * Return: OUTCOME_FAILED for an expected error, for example if the operation has ended;
 *	OUTCOME_USAGE for arguments that the device rejects; otherwise OUTCOME_DEVICE.
 */
enum outcome refused(const struct command_line *line, const char *message);

/*
 * Reports that the purgatory does not exist, with the existing ones.
 * Return: OUTCOME_FAILED.
 */
enum outcome no_purgatory(const char *purgatory);

/* refused() for twheel_create_with() and twheel_remove(). */
enum outcome control_refused(const struct command_line *line);

#endif /* TWHEELCTL_FAILURE_H */
