// SPDX-License-Identifier: GPL-2.0
/*
 * Error numbers by name. See errors.h.
 */
#include <string.h>

#include "errors.h"

/* Greater than every errno that has a name. */
#define MAX_ERROR	256

int error_number(const char *name)
{
	for (int error = 1; error < MAX_ERROR; error++) {
		const char *known = strerrorname_np(error);

		if (known && !strcmp(name, known))
			return error;
	}
	return 0;
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "an unknown error";
}
