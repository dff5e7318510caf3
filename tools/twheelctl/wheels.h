/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the counts of the wheels and of the users from debugfs.
 */
#ifndef TWHEELCTL_WHEELS_H
#define TWHEELCTL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

/* Numbers in the histogram of the kernel, see Documentation/device.rst. */
#define WHEEL_LATE_BUCKETS	26

enum wheel_count {
	WHEEL_PENDING,
	WHEEL_ADDED,
	WHEEL_FIRED,
	WHEEL_REJECTED,
	WHEEL_LOOKS,
	WHEEL_WAKEUPS,
	WHEEL_SLOW,
	WHEEL_LATE_NS,
	NR_WHEEL_COUNTS,
};

/**
 * struct wheel - the wheels with a name and a clock
 * @clock: name of the clock
 * @name: name of the wheel, without control characters; "users" for all wheels of users
 * @counts: counts by enum wheel_count
 * @late: histogram of lateness: entry i counts callbacks that were less than 2^(10 + i) ns
 *	late and are in no earlier entry, the last one all others
 */
struct wheel {
	char clock[16];
	char name[32];
	__u64 counts[NR_WHEEL_COUNTS];
	__u64 late[WHEEL_LATE_BUCKETS];
};

/* From USER_ADDED on, totals of private purgatories. */
enum user_count {
	USER_OPS,
	USER_MAX_OPS,
	USER_FILES,
	USER_MAX_FILES,
	USER_ADDED,
	USER_COMPLETED,
	USER_EXPIRED,
	USER_CANCELLED,
	USER_REJECTED_ENOSPC,
	USER_REJECTED_ENOBUFS,
	USER_REJECTED_EDQUOT,
	NR_USER_COUNTS,
};

/**
 * struct user - what a user has
 * @uid: the user
 * @counts: counts by enum user_count
 */
struct user {
	__u64 uid;
	__u64 counts[NR_USER_COUNTS];
};

/* read_wheels() for the users; a line that cannot be parsed is skipped. */
size_t read_users(const char *path, struct user **list);

/*
 * Parses a line of the file, with or without its newline.
 * Return: false if the line is of another kind, or lacks a count.
 */
bool parse_wheel(const char *line, struct wheel *wheel);

/*
 * Reads the counts of all wheels from a file in debugfs. Those with the same name and clock are
 * added up. @list is freed by the caller; @unknown is set to the number of lines of wheels that
 * cannot be parsed.
 * Return: number of entries.
 */
size_t read_wheels(const char *path, struct wheel **list, size_t *unknown);

#endif /* TWHEELCTL_WHEELS_H */
