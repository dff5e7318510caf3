/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Output of pending operations and of the counts of a purgatory, as text and JSON.
 */
#ifndef TWHEELCTL_PENDING_H
#define TWHEELCTL_PENDING_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>
#include <twheel.h>

/* Return: an operation as a JSON object, without its keys. */
json_t *json_pending(const struct twheel_pending *pending);

/* Return: the keys in @pending as a JSON array. */
json_t *json_pending_keys(const struct twheel_pending *pending);

/* Return: an operation with all of its keys, as of twheel_info(), as a JSON object. */
json_t *json_info(const struct twheel_pending *pending, const struct twheel_watch_spec *keys);

/* Print the header and a line of the table of operations. */
void print_pending_head(void);
void print_pending(const struct twheel_pending *pending);

/* twheel_query() that does not count the file @fd, which the command has opened for it. */
int query_others(int fd, struct twheel_query_args *query);

/*
 * Reads the counts of all queues of a purgatory. @queues is freed by the caller.
 * Return: number of queues; or -1, with errno set.
 */
long read_queues(int fd, struct twheel_queue_args **queues);

/* Return: the counts of a queue as a JSON object. */
json_t *json_queue(const struct twheel_queue_args *queue);

/* Return: the name and the limits of a purgatory as a JSON object with type @type. */
json_t *json_limits(const char *type, const struct twheel_query_args *query);

/* json_limits() with the counts. */
json_t *json_query(const char *type, const struct twheel_query_args *query);

/*
 * Calls @each for the pending operations of a purgatory, up to a number.
 * Return: number of operations; or -1, with errno set.
 */
long list_pending(int fd, long max,
		  void (*each)(const struct twheel_pending *pending, void *context),
		  void *context);

/**
 * struct listing - a list of operations that is printed
 * @json: as JSON
 * @begun: the table header has been printed, before the first operation
 */
struct listing {
	bool json;
	bool begun;
};

/* For list_pending(): prints an operation. @listing is a struct listing. */
void show_pending(const struct twheel_pending *pending, void *listing);

/* Maximum number of operations in struct nearest. */
#define MAX_NEAREST	32

/**
 * struct nearest - the operations that expire next, sorted by deadline
 * @max: maximum number of operations, up to MAX_NEAREST
 * @nr: number of entries in @pending
 * @pending: the operations
 */
struct nearest {
	unsigned int max;
	unsigned int nr;
	struct twheel_pending pending[MAX_NEAREST];
};

/* For list_pending(): keeps an operation that expires next. @nearest is a struct nearest. */
void keep_nearest(const struct twheel_pending *pending, void *nearest);

#endif /* TWHEELCTL_PENDING_H */
