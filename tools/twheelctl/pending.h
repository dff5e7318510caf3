/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the commands print of operations that wait and of a purgatory's counts.
 */
#ifndef TWHEELCTL_PENDING_H
#define TWHEELCTL_PENDING_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>
#include <twheel.h>

/* Return: all that the device says of an operation but its keys. */
json_t *json_pending(const struct twheel_pending *pending);

/* Return: an array of keys, those that @pending has. */
json_t *json_pending_keys(const struct twheel_pending *pending);

/* Prints the head of a table of operations, and a line of it. */
void print_pending_head(void);
void print_pending(const struct twheel_pending *pending);

/* Return: the counts of a purgatory, of type @type. */
json_t *json_query(const char *type, const struct twheel_query_args *query);

/**
 * list_pending() - go through all that wait in a purgatory
 * @fd: the purgatory
 * @max: how many at most
 * @each: called for each of them
 * @context: handed to it
 *
 * Return: how many; or -1, with errno set.
 */
long list_pending(int fd, long max,
		  void (*each)(const struct twheel_pending *pending, void *context),
		  void *context);

#endif /* TWHEELCTL_PENDING_H */
