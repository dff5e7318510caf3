/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parsing and formatting of numbers and times, the current time, and the size of arrays.
 */
#ifndef TWHEELCTL_UNITS_H
#define TWHEELCTL_UNITS_H

#include <stdbool.h>
#include <time.h>

#include <linux/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof(*(array)))

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL
#define NSEC_PER_DAY	(86400 * NSEC_PER_SEC)

/* Buffer size for format_time(), including the terminating NUL. */
#define TIME_TEXT_SIZE	48

/* Description of a time for error messages. */
#define TIME_EXPECTED	"a time such as 250ms (ns, us, ms, s, m, h, d)"

/*
 * Parses a decimal number up to @max. Unlike strtoull(), this accepts no signs and blanks.
 * Return: the end of the number; NULL if there is none, also for NULL.
 */
const char *parse_digits(const char *text, __u64 max, __u64 *number);

/*
 * Parses a decimal number of digits only, up to @max.
 * Return: false if @text is invalid; @count is unchanged then.
 */
bool parse_count(const char *text, __u64 max, __u64 *count);

/*
 * Parses digits followed by a unit: 7ns, 10us, 250ms, 5s, 3m, 2h, 1d.
 * Return: false if @text is invalid or exceeds 2^63 - 1 ns.
 */
bool parse_time(const char *text, __u64 *ns);

/* Formats a time with a suitable unit: 1.502 s, 3600.000 s, 2 d 03:04:05. Return: @buffer. */
char *format_time(char buffer[TIME_TEXT_SIZE], __u64 ns);

struct timespec to_timespec(__u64 ns);

/* Return: a clock in ns. */
__u64 clock_ns(clockid_t clock);

/* Return: CLOCK_MONOTONIC in ns, the default clock of deadlines and events. */
__u64 now_ns(void);

#endif /* TWHEELCTL_UNITS_H */
