/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads a descriptor line by line.
 *
 * Unlike stdio, this distinguishes an incomplete line from the end of the file, so
 * that the player can wait for the next line and for events at the same time.
 */
#ifndef TWHEEL_PLAY_LINES_H
#define TWHEEL_PLAY_LINES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct lines - a descriptor that is read line by line
 * @fd: the descriptor
 * @buffer: buffered data
 * @start: offset of the next line in @buffer
 * @end: number of valid bytes in @buffer
 * @size: allocated size of @buffer
 * @at_end: the end of the file was reached
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
 * fill_lines() - call read() once; blocks if no data is available
 * @lines: receives the data
 *
 * Return: false, with errno set, if read() failed.
 */
bool fill_lines(struct lines *lines);

/**
 * next_line() - return the next buffered line
 * @lines: the descriptor
 *
 * Return: the line without its newline, valid until the next call of either
 * function; NULL if fill_lines() is needed or, with @at_end, after the last line.
 */
char *next_line(struct lines *lines);

#endif /* TWHEEL_PLAY_LINES_H */
