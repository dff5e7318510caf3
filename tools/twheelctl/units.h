/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers and times: as people write them, as people read them, and now.
 */
#ifndef TWHEELCTL_UNITS_H
#define TWHEELCTL_UNITS_H

#include <stdbool.h>
#include <time.h>

#include <linux/types.h>

#define NSEC_PER_USEC	1000ULL
#define NSEC_PER_MSEC	1000000ULL
#define NSEC_PER_SEC	1000000000ULL

/* Room for what format_time() writes, the end of the string included. */
#define TIME_TEXT_SIZE	48

/* How an error message describes what parse_time() takes. */
#define TIME_EXPECTED	"a time such as 250ms (ns, us, ms, s, m, h, d)"

/**
 * parse_count() - read a whole number in decimal
 * @text: digits and nothing else
 * @max: the largest that is taken
 * @count: set to the number
 *
 * Return: false if @text is not such a number, and then @count is untouched.
 */
bool parse_count(const char *text, __u64 max, __u64 *count);

/**
 * parse_time() - read a time, digits with a unit behind them
 * @text: for example 7ns, 10us, 250ms, 5s, 3m, 2h, 1d
 * @ns: set to the time in nanoseconds
 *
 * Return: false if @text is no such time or is past 2^63 - 1 ns.
 */
bool parse_time(const char *text, __u64 *ns);

/**
 * format_time() - write a time with the unit that suits its size
 * @buffer: where to
 * @ns: the time
 *
 * Return: @buffer.
 */
char *format_time(char buffer[TIME_TEXT_SIZE], __u64 ns);

struct timespec to_timespec(__u64 ns);

/* The clock of deadlines and events, in ns. */
__u64 now_ns(void);

#endif /* TWHEELCTL_UNITS_H */
