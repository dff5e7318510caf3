/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error numbers by name, as in EINVAL.
 */
#ifndef TWHEELCTL_ERRORS_H
#define TWHEELCTL_ERRORS_H

/* Return: the error number of that name, or 0. */
int error_number(const char *name);

/* Return: the name of an error number. */
const char *error_name(int error);

#define ERROR_EXPECTED	"the name of an error such as EINVAL"

#endif /* TWHEELCTL_ERRORS_H */
