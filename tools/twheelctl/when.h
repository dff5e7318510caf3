/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a deadline is: from now, at a point in time, or never; and the options
 * --in, --at and --never of the commands that take one.
 */
#ifndef TWHEELCTL_WHEN_H
#define TWHEELCTL_WHEN_H

#include "options.h"

/**
 * struct point - a point in time
 * @given: there is one
 * @wall: of CLOCK_REALTIME; else of the operation's clock
 * @ns: what the clock reads then, in ns
 */
struct point {
	bool given;
	bool wall;
	__u64 ns;
};

/* What --in, --at and --never said. */
struct when_options {
	struct number in;
	struct point at;
	bool never;
};

/**
 * parse_point() - read a point in time
 * @text: @SECONDS since 1970, or a date as in [@]2026-12-01T03:00[:05][Z|+01:00],
 *	by the local time zone unless it names one; or what the operation's clock
 *	reads, such as 500s
 * @point: set to it
 *
 * Return: false if @text is none of these, is before 1970, or too far away.
 */
bool parse_point(const char *text, struct point *point);

/* For option_spec.take: @to is a struct point. */
bool take_point(const char *text, void *to);

#define POINT_EXPECTED	"a time such as @2026-12-01T03:00, with Z or +01:00 behind it, or @SECONDS"

/* Return: how many of the three were given. */
int nr_when(const struct when_options *when);

/* Return: the deadline as the device takes it; with --at, a point in time. */
__u64 when_deadline(const struct when_options *when);

#endif /* TWHEELCTL_WHEN_H */
