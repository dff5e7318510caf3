/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of pending operations and of the counts of a purgatory.
 */
#ifndef TWHEELCTL_PENDING_H
#define TWHEELCTL_PENDING_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>
#include <twheel.h>

/* Return: the fields of an operation, without its keys. */
json_t *json_pending(const struct twheel_pending *pending);

/* Return: the keys in @pending, as an array. */
json_t *json_pending_keys(const struct twheel_pending *pending);

/* Print the head of a table of operations, and a line of it. */
void print_pending_head(void);
void print_pending(const struct twheel_pending *pending);

/* Return: the counts of a purgatory, of type @type. */
json_t *json_query(const char *type, const struct twheel_query_args *query);

/**
 * list_pending() - visit all pending operations of a purgatory
 * @fd: the purgatory
 * @max: maximum number
 * @each: called for each of them
 * @context: passed to @each
 *
 * Return: number of operations; or -1, with errno set.
 */
long list_pending(int fd, long max,
		  void (*each)(const struct twheel_pending *pending, void *context),
		  void *context);

#endif /* TWHEELCTL_PENDING_H */
