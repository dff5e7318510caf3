/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Error numbers by name, as in EINVAL.
 */
#ifndef TWHEELCTL_ERRORS_H
#define TWHEELCTL_ERRORS_H

#include <stdbool.h>

/* Return: the error number of that name, or 0. */
int error_number(const char *name);

/* Return: the name of an error number. */
const char *error_name(int error);

/* For option_spec.take: @to is an int, which is set to the error number. */
bool take_error(const char *text, void *to);

#define ERROR_EXPECTED	"the name of an error such as EINVAL"

#endif /* TWHEELCTL_ERRORS_H */
