/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lines out of a descriptor, as they arrive.
 *
 * Unlike stdio this tells 'no whole line yet' from 'the end', so that the
 * player can wait for the next line and for events at the same time.
 */
#ifndef TWHEELCTL_LINES_H
#define TWHEELCTL_LINES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct lines - a descriptor that is read line by line
 * @fd: the descriptor
 * @buffer: bytes that have been read
 * @start: bytes that have been returned
 * @end: how much there is
 * @size: how much has room
 * @at_end: nothing more will come
 */
struct lines {
	int fd;
	char *buffer;
	size_t start;
	size_t end;
	size_t size;
	bool at_end;
};

/**
 * fill_lines() - read once, which waits if nothing is there
 * @lines: where to
 *
 * Return: false, with errno set, if the descriptor cannot be read.
 */
bool fill_lines(struct lines *lines);

/**
 * next_line() - take a line that has been read
 * @lines: where from
 *
 * Return: the line without its end, good until the next call of either
 * function; NULL if fill_lines() is needed or, with @at_end, if it was all.
 */
char *next_line(struct lines *lines);

#endif /* TWHEELCTL_LINES_H */
