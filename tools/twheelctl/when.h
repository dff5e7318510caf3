/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Deadlines relative to now, at a point in time, or never: the options --in, --at and
 * --never.
 */
#ifndef TWHEELCTL_WHEN_H
#define TWHEELCTL_WHEN_H

#include "options.h"

/**
 * struct point - a point in time
 * @given: false if the option is absent
 * @wall: a time of CLOCK_REALTIME; otherwise of the operation's clock
 * @ns: reading of the clock, in ns
 */
struct point {
	bool given;
	bool wall;
	__u64 ns;
};

/* The parsed options --in, --at and --never. */
struct when_options {
	struct number in;
	struct point at;
	bool never;
};

/*
 * Parses a point in time: @SECONDS since 1970, a date as in [@]2026-12-01T03:00[:05][Z|+01:00], in
 * the local time zone by default, or a reading of the operation's clock such as 500s.
 * Return: false if @text is invalid or out of range.
 */
bool parse_point(const char *text, struct point *point);

/* For option_spec.take: @to is a struct point. */
bool take_point(const char *text, void *to);

#define POINT_EXPECTED	"a time such as @2026-12-01T03:00, optionally with Z or +01:00, or @SECONDS"

/* Return: the number of options that were given. */
int nr_when(const struct when_options *when);

/* Return: the deadline for the device: absolute with --at, relative with --in. */
__u64 when_deadline(const struct when_options *when);

#endif /* TWHEELCTL_WHEN_H */
