// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of parsing points in time and deadlines.
 */
#include <stdlib.h>

#include "../twheelctl/units.h"
#include "../twheelctl/when.h"
#include "tap.h"

#define REFUSED		12345

/* Return: seconds since 1970, or REFUSED. */
static __u64 wall(const char *text)
{
	struct point point = { };

	if (!parse_point(text, &point) || !point.wall || point.ns % NSEC_PER_SEC)
		return REFUSED;
	return point.ns / NSEC_PER_SEC;
}

TEST("seconds since 1970")
{
	CHECK(wall("@0") == 0);
	CHECK(wall("@1796094000") == 1796094000);
	CHECK(wall("@9223372036") == 9223372036);
}

TEST("dates with a time zone")
{
	CHECK(wall("@1970-01-01T00:00Z") == 0);
	CHECK(wall("@2026-12-01T03:00Z") == 1796094000);
	CHECK(wall("2026-12-01T03:00Z") == 1796094000);
	CHECK(wall("@2026-12-01T03:00:05Z") == 1796094005);
	CHECK(wall("@2026-12-01T03:00+01:00") == 1796090400);
	CHECK(wall("@2026-12-01T03:00:05-05:30") == 1796113805);
	CHECK(wall("@2028-02-29T00:00Z") == 1835395200);
}

TEST("dates without a time zone are local")
{
	setenv("TZ", "XYZ-2", 1);
	CHECK(wall("@2026-12-01T05:00") == 1796094000);
	CHECK(wall("@2026-12-01T03:00Z") == 1796094000);
	/* The hour from 02:00 does not exist on the last Sunday of March. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	CHECK(wall("@2026-03-29T02:30") == REFUSED);
	CHECK(wall("@2026-03-29T03:30") == 1774747800);
	unsetenv("TZ");
}

TEST("invalid points in time are refused")
{
	static const char *const wrong[] = {
		"@", "@-1", "@x", "@9223372037", "@1s", "@1.5",
		"@2026-12-01", "@2026-12-01T03", "@2026-12-01T3:00Z",
		"@2026-12-01 03:00Z", "@2026-02-30T03:00Z", "@2027-02-29T03:00Z",
		"@2026-13-01T03:00Z", "@2026-12-01T24:00Z", "@2026-12-01T03:60Z",
		"@2026-12-01T03:00:60Z", "@2026-12-01T03:00z", "@2026-12-01T03:00ZZ",
		"@2026-12-01T03:00+1", "@2026-12-01T03:00+01:60", "@2026-12-01T03:00+24:00",
		"@2026-12-01T03:00+01:000", "@1969-12-31T23:59Z", "@1970-01-01T00:30+01:00",
		"@2300-01-01T00:00Z", "@12026-12-01T03:00Z",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (wall(wrong[i]) == REFUSED)
			continue;
		printf("# %s is accepted\n", wrong[i]);
		CHECK(false);
	}
}

TEST("readings of other clocks")
{
	struct point point = { };

	CHECK(parse_point("500s", &point));
	CHECK(point.given && !point.wall && point.ns == 500 * NSEC_PER_SEC);
	CHECK(!parse_point("500", &point));
	CHECK(!parse_point("", &point));
}

TEST("deadlines by --in, --at and --never")
{
	struct when_options when = { };

	CHECK(nr_when(&when) == 0);
	when.in = (struct number){ true, 7 };
	CHECK(nr_when(&when) == 1 && when_deadline(&when) == 7);
	when = (struct when_options){ .at = { true, true, 9 } };
	CHECK(nr_when(&when) == 1 && when_deadline(&when) == 9);
	when.never = true;
	CHECK(nr_when(&when) == 2 && when_deadline(&when) == ~0ULL);
}

TAP_MAIN
