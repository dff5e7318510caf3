// SPDX-License-Identifier: GPL-2.0
/*
 * Parsing and formatting of numbers and times. See units.h.
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

static const struct unit {
	const char *name;
	__u64 ns;
} units[] = {
	{ "ns", 1 },
	{ "us", NSEC_PER_USEC },
	{ "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC },
	{ "m", 60 * NSEC_PER_SEC },
	{ "h", 3600 * NSEC_PER_SEC },
	{ "d", NSEC_PER_DAY },
	{ }
};

const char *parse_digits(const char *text, __u64 max, __u64 *number)
{
	char *end;

	if (!text || !isdigit((unsigned char)*text))
		return NULL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno || *number > max ? NULL : end;
}

bool parse_count(const char *text, __u64 max, __u64 *count)
{
	__u64 number;
	const char *rest = parse_digits(text, max, &number);

	if (!rest || *rest)
		return false;
	*count = number;
	return true;
}

bool parse_time(const char *text, __u64 *ns)
{
	__u64 number;
	const char *rest = parse_digits(text, INT64_MAX, &number);

	if (!rest)
		return false;
	for (const struct unit *unit = units; unit->name; unit++) {
		if (strcmp(rest, unit->name))
			continue;
		if (number > INT64_MAX / unit->ns)
			return false;
		*ns = number * unit->ns;
		return true;
	}
	return false;
}

char *format_time(char buffer[TIME_TEXT_SIZE], __u64 ns)
{
	const struct unit *unit = units;
	__u64 seconds = ns / NSEC_PER_SEC;

	/* Use no unit larger than seconds. */
	while (unit->ns < NSEC_PER_SEC && ns >= unit->ns * 1000)
		unit++;

	if (ns >= NSEC_PER_DAY)
		snprintf(buffer, TIME_TEXT_SIZE, "%llu d %02llu:%02llu:%02llu", ns / NSEC_PER_DAY,
			 seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
	else if (unit->ns == 1)
		snprintf(buffer, TIME_TEXT_SIZE, "%llu ns", ns);
	else
		snprintf(buffer, TIME_TEXT_SIZE, "%llu.%03llu %s",
			 ns / unit->ns, ns % unit->ns / (unit->ns / 1000),
			 unit->name);
	return buffer;
}

struct timespec to_timespec(__u64 ns)
{
	return (struct timespec){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};
}

__u64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

__u64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}
