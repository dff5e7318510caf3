/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The named purgatories with their counts, from sysfs.
 */
#ifndef TWHEELCTL_NAMES_H
#define TWHEELCTL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include <twheel.h>

#define PURGATORY_CLASS	"/sys/class/twheel"

/* The counts of a purgatory. */
enum named_count {
	NAMED_PENDING,
	NAMED_DETACHED,
	NAMED_DETACHED_UNREAD,
	NAMED_KEYS,
	NAMED_WATCHES,
	NAMED_FILES,
	NAMED_ADDED,
	NAMED_COMPLETED,
	NAMED_EXPIRED,
	NAMED_CANCELLED,
	NAMED_REJECTED,
	NAMED_MAX_PENDING,
	NAMED_MAX_FILE_PENDING,
	NAMED_MAX_WATCHES,
	NR_NAMED_COUNTS,
};

/* Their names in sysfs and in JSON. */
extern const char *const named_counts[NR_NAMED_COUNTS];

/**
 * struct named - a named purgatory
 * @name: of the purgatory
 * @counts: by enum named_count; one that can't be read is 0
 */
struct named {
	char name[TWHEEL_NAME_SIZE];
	__u64 counts[NR_NAMED_COUNTS];
};

/**
 * read_named() - look which named purgatories there are
 * @class: folder of the device class, PURGATORY_CLASS but for tests
 * @list: set to them, in the order of their names; for free()
 *
 * Return: number of purgatories.
 */
size_t read_named(const char *class, struct named **list);

#endif /* TWHEELCTL_NAMES_H */
