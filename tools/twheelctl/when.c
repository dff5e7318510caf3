// SPDX-License-Identifier: GPL-2.0
/*
 * Parses deadlines.
 */
#include <stdint.h>
#include <string.h>

#include "twheelctl.h"

#define MAX_SECONDS	(INT64_MAX / NSEC_PER_SEC)

/* Matches @pattern, where '0' is any digit. Return: the text after it, or NULL. */
static const char *skip(const char *text, const char *pattern)
{
	for (; *pattern; pattern++, text++) {
		bool digit = *text >= '0' && *text <= '9';

		if (*pattern == '0' ? !digit : *text != *pattern)
			return NULL;
	}
	return text;
}

static int digits(const char *text, int nr)
{
	int number = 0;

	while (nr--)
		number = number * 10 + *text++ - '0';
	return number;
}

/* Z, +01:00 or -01:00. Return: false if @text is none of them. */
static bool parse_zone(const char *text, long *seconds)
{
	int sign = *text == '-' ? -1 : 1;
	int hours, minutes;

	*seconds = 0;
	if (!strcmp(text, "Z"))
		return true;
	if ((*text != '+' && *text != '-') || !skip(text + 1, "00:00") || text[6])
		return false;
	hours = digits(text + 1, 2);
	minutes = digits(text + 4, 2);
	*seconds = sign * (hours * 3600L + minutes * 60L);
	return hours < 24 && minutes < 60;
}

/* 2026-12-01T03:00[:05][Z|+01:00] */
static bool parse_date(const char *text, time_t *seconds)
{
	static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M" };

	for (int i = 0; i < 2; i++) {
		struct tm tm = { };
		const char *zone = strptime(text, formats[i], &tm);
		char same[32];
		long offset = 0;

		if (!zone || (*zone && !parse_zone(zone, &offset)))
			continue;
		tm.tm_isdst = -1;
		*seconds = (*zone ? timegm(&tm) : mktime(&tm)) - offset;
		/* An invalid date, such as February 30, has changed, and so have missing zeroes. */
		strftime(same, sizeof(same), formats[i], &tm);
		return strlen(same) == (size_t)(zone - text) && !strncmp(same, text, zone - text);
	}
	return false;
}

/* The text after '@', or a date without it */
static bool parse_wall(const char *text, __u64 *ns)
{
	__u64 count;
	time_t seconds;

	if (!parse_count(text, MAX_SECONDS, &count)) {
		if (!parse_date(text, &seconds) || seconds < 0 ||
		    (__u64)seconds > MAX_SECONDS)
			return false;
		count = seconds;
	}
	*ns = count * NSEC_PER_SEC;
	return true;
}

bool take_point(const char *text, void *to)
{
	struct point *point = to;

	point->given = true;
	point->wall = *text == '@' || skip(text, "0000-");
	if (point->wall)
		return parse_wall(text + (*text == '@'), &point->ns);
	return parse_time(text, &point->ns);
}

int nr_when(const struct when_options *when)
{
	return when->in.given + when->at.given + when->never;
}

__u64 when_deadline(const struct when_options *when)
{
	if (when->never)
		return TWHEEL_NEVER;
	return when->at.given ? when->at.ns : when->in.value;
}
