/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the named purgatories and their limits from sysfs, and their counts from their nodes.
 */
#ifndef TWHEELCTL_NAMES_H
#define TWHEELCTL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

#define PURGATORY_CLASS	"/sys/class/twheel"

/**
 * struct named - a named purgatory
 * @state: its name and its limits; with query_named() also its counts
 * @error: reason why its counts are unknown, or 0
 * @queues: counts of its queues; with query_named()
 * @nr_queues: number of these
 */
struct named {
	struct twheel_query_args state;
	int error;
	struct twheel_queue_args *queues;
	size_t nr_queues;
};

/*
 * Lists the named purgatories of a device class, PURGATORY_CLASS except in tests, by name. @list is
 * freed by the caller.
 * Return: number of purgatories.
 */
size_t read_named(const char *class, struct named **list);

/*
 * Reads the counts of purgatories from their nodes, with a message of @command if some cannot be
 * opened. Those that have been removed are dropped. Return: number of the other ones.
 */
size_t query_named(const char *command, struct named *list, size_t nr);

/* Frees a list, also after query_named(). */
void free_named(struct named *list, size_t nr);

/* Return: whether the name exists. */
bool named_exists(const char *name);

#endif /* TWHEELCTL_NAMES_H */
