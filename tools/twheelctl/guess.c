// SPDX-License-Identifier: GPL-2.0
/*
 * Search of misspelled names. See guess.h.
 */
#include <string.h>

#include "guess.h"

/* Longer words do not resemble the name of a command. */
#define MAX_WORD	15

/* Maximum number of typing errors in a word. */
#define MAX_DISTANCE	2

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

unsigned int distance(const char *a, const char *b)
{
	/* costs[i][j]: distance of the first i characters of @a and the first j of @b */
	unsigned int costs[MAX_WORD + 1][MAX_WORD + 1];
	size_t rows = strlen(a), columns = strlen(b);

	if (rows > MAX_WORD || columns > MAX_WORD)
		return rows + columns;
	for (size_t i = 0; i <= rows; i++) {
		for (size_t j = 0; j <= columns; j++) {
			if (!i || !j) {
				costs[i][j] = i + j;
				continue;
			}
			costs[i][j] = least(costs[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
					    least(costs[i - 1][j], costs[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				costs[i][j] = least(costs[i][j], costs[i - 2][j - 2] + 1);
		}
	}
	return costs[rows][columns];
}

bool resembles(const char *word, const char *name)
{
	unsigned int errors = distance(word, name);

	/* In a short word, two errors leave nothing in common. */
	return errors <= MAX_DISTANCE && 2 * errors < strlen(name);
}
