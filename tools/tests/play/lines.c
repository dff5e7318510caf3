// SPDX-License-Identifier: GPL-2.0
/*
 * Reads a descriptor line by line. See lines.h.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "outcome.h"

bool fill_lines(struct lines *lines)
{
	size_t left = lines->end - lines->start;
	ssize_t got;

	if (lines->start)
		memmove(lines->buffer, lines->buffer + lines->start, left);
	lines->start = 0;
	lines->end = left;

	/* Reserve a byte to terminate a last line without newline. */
	if (lines->size < left + 2) {
		lines->size = lines->size ? lines->size * 2 : 4096;
		lines->buffer = must_realloc(lines->buffer, lines->size, 1);
	}

	do {
		got = read(lines->fd, lines->buffer + left,
			   lines->size - left - 1);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return false;

	lines->at_end = !got;
	lines->end += got;
	return true;
}

char *next_line(struct lines *lines)
{
	char *line = lines->buffer + lines->start;
	size_t left = lines->end - lines->start;
	char *newline;

	if (!left)
		return NULL;

	newline = memchr(line, '\n', left);
	if (!newline && !lines->at_end)
		return NULL;
	if (!newline)
		newline = line + left;

	/* A NUL byte would hide the rest of the line from the parser. */
	for (char *c = line; c < newline; c++)
		if (!*c)
			*c = '?';
	*newline = 0;
	lines->start += newline - line;
	if (lines->start < lines->end)
		lines->start++;
	return line;
}
