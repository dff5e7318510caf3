/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the named purgatories and their counts from sysfs.
 */
#ifndef TWHEELCTL_NAMES_H
#define TWHEELCTL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

#define PURGATORY_CLASS	"/sys/class/twheel"

enum named_count {
	NAMED_PENDING,
	NAMED_DETACHED,
	NAMED_DETACHED_UNREAD,
	NAMED_OLDEST_UNREAD_NS,
	NAMED_UNCONFIRMED,
	NAMED_OLDEST_UNCONFIRMED_NS,
	NAMED_OLDEST_QUEUE,
	NAMED_QUEUE_OPS,
	NAMED_KEYS,
	NAMED_WATCHES,
	NAMED_FILES,
	NAMED_ADDED,
	NAMED_COMPLETED,
	NAMED_EXPIRED,
	NAMED_CANCELLED,
	NAMED_REJECTED,
	NAMED_REJECTED_ENOSPC,
	NAMED_REJECTED_ENOBUFS,
	NAMED_REJECTED_EDQUOT,
	NAMED_MAX_PENDING,
	NAMED_MAX_FILE_PENDING,
	NAMED_MAX_WATCHES,
	NAMED_MAX_QUEUE,
	NR_NAMED_COUNTS,
};

/* Names of the counts in sysfs, by enum named_count. */
extern const char *const named_counts[NR_NAMED_COUNTS];

/**
 * struct named - a named purgatory
 * @name: name of the purgatory
 * @hidden: the user may not read the counts
 * @counts: counts by enum named_count; 0 if a count cannot be read
 */
struct named {
	char name[TWHEEL_NAME_SIZE];
	bool hidden;
	__u64 counts[NR_NAMED_COUNTS];
};

/*
 * Lists the named purgatories of a device class, PURGATORY_CLASS except in tests, by name. @list is
 * freed by the caller.
 * Return: number of purgatories.
 */
size_t read_named(const char *class, struct named **list);

/*
 * Removes the purgatories whose counts the user may not read, with a message of @command.
 * Return: number of the other ones.
 */
size_t drop_hidden(const char *command, struct named *list, size_t nr);

#endif /* TWHEELCTL_NAMES_H */
