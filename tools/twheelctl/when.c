// SPDX-License-Identifier: GPL-2.0
/*
 * Parses deadlines.
 */
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "twheelctl.h"

#define MAX_SECONDS	(INT64_MAX / NSEC_PER_SEC)

/* Z, +01:00 or -01:00. Return: false if @text is none of them. */
static bool parse_zone(const char *text, long *seconds)
{
	int hours, minutes;

	*seconds = 0;
	if (!strcmp(text, "Z"))
		return true;
	if (fnmatch("[-+][0-9][0-9]:[0-9][0-9]", text, 0))
		return false;
	hours = atoi(text + 1);
	minutes = atoi(text + 4);
	*seconds = (*text == '-' ? -1 : 1) * (hours * 3600L + minutes * 60L);
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

bool take_point(const char *text, void *to)
{
	struct point *point = to;
	time_t seconds;
	__u64 count;

	point->given = true;
	point->wall = *text == '@' || !fnmatch("[0-9][0-9][0-9][0-9]-*", text, 0);
	if (!point->wall)
		return parse_time(text, &point->ns);
	text += *text == '@';
	if (!parse_count(text, MAX_SECONDS, &count)) {
		if (!parse_date(text, &seconds) || seconds < 0 ||
		    (__u64)seconds > MAX_SECONDS)
			return false;
		count = seconds;
	}
	point->ns = count * NSEC_PER_SEC;
	return true;
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
