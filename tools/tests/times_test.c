// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of parsing and formatting numbers, times, points in time and deadlines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../twheelctl/twheelctl.h"
#include "tap.h"

/* The result of a parser that refuses the text. */
#define REFUSED		12345

/* A text, and the number that it is parsed to, or formatted from. */
struct row {
	const char *text;
	__u64 number;
};

static __u64 count_of(const char *text)
{
	__u64 count = REFUSED;

	return parse_count(text, UINT64_MAX, &count) ? count : REFUSED;
}

static __u64 small_count_of(const char *text)
{
	__u64 count = REFUSED;

	return parse_count(text, 10, &count) ? count : REFUSED;
}

static __u64 time_of(const char *text)
{
	__u64 ns = REFUSED;

	return parse_time(text, &ns) ? ns : REFUSED;
}

/* Return: seconds since 1970, or REFUSED. */
static __u64 wall(const char *text)
{
	struct point point = { };

	if (!take_point(text, &point) || !point.wall || point.ns % NSEC_PER_SEC)
		return REFUSED;
	return point.ns / NSEC_PER_SEC;
}

static void check_rows(const struct row *rows, size_t nr, __u64 (*parse)(const char *text))
{
	for (size_t i = 0; i < nr; i++) {
		if (parse(rows[i].text) == rows[i].number)
			continue;
		printf("# %s gives %llu\n", rows[i].text, parse(rows[i].text));
		CHECK(false);
	}
}

static void check_refused(const char *const *texts, size_t nr, __u64 (*parse)(const char *text))
{
	for (size_t i = 0; i < nr; i++)
		check_rows(&(struct row){ texts[i], REFUSED }, 1, parse);
}

TEST("whole numbers up to the maximum")
{
	static const struct row rows[] = {
		{ "0", 0 }, { "007", 7 }, { "18446744073709551615", UINT64_MAX },
	};
	static const char *const wrong[] = {
		"18446744073709551616", "99999999999999999999999", "", "-1", "+1", " 1", "1 ", "1x",
		"0x1",
	};

	check_rows(rows, ARRAY_SIZE(rows), count_of);
	check_refused(wrong, ARRAY_SIZE(wrong), count_of);
	CHECK(small_count_of("10") == 10 && small_count_of("11") == REFUSED);
}

TEST("times in every unit")
{
	static const struct row rows[] = {
		{ "0s", 0 }, { "7ns", 7 }, { "10us", 10000 }, { "250ms", 250000000 },
		{ "5s", 5000000000 }, { "3m", 180000000000 }, { "2h", 7200000000000 },
		{ "1d", 86400000000000 },
		{ "9223372036854775807ns", INT64_MAX }, { "9223372036s", 9223372036000000000 },
	};
	static const char *const wrong[] = {
		"5", "s", "", "5 s", "5sec", "1.5s", "-5s", "5S", "9223372036854775808ns",
		"9223372037s", "106752d",
	};

	check_rows(rows, ARRAY_SIZE(rows), time_of);
	check_refused(wrong, ARRAY_SIZE(wrong), time_of);
}

TEST("times are formatted in a suitable unit")
{
	static const struct row rows[] = {
		{ "0 ns", 0 }, { "999 ns", 999 }, { "1.000 us", 1000 }, { "1.048 ms", 1048576 },
		{ "999.999 ms", 999999999 }, { "1.502 s", 1502713000 },
		{ "3600.000 s", 3600000000000 }, { "86399.999 s", 86399999999999 },
		{ "1 d 00:00:00", 86400000000000 }, { "2 d 03:04:05", 183845999999999 },
		{ "99 d 23:59:59", 86399000000000 + 99 * 86400000000000 },
		{ "213503 d 23:34:33", UINT64_MAX },
	};
	char buffer[TIME_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(format_time(buffer, rows[i].number), rows[i].text))
			continue;
		printf("# %llu is formatted as %s\n", rows[i].number, buffer);
		CHECK(false);
	}
}

TEST("seconds since 1970, and dates with a time zone")
{
	static const struct row rows[] = {
		{ "@0", 0 }, { "@1796094000", 1796094000 }, { "@9223372036", 9223372036 },
		{ "@1970-01-01T00:00Z", 0 }, { "@2026-12-01T03:00Z", 1796094000 },
		{ "2026-12-01T03:00Z", 1796094000 }, { "@2026-12-01T03:00:05Z", 1796094005 },
		{ "@2026-12-01T03:00+01:00", 1796090400 }, { "@2028-02-29T00:00Z", 1835395200 },
		{ "@2026-12-01T03:00:05-05:30", 1796113805 },
	};
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

	check_rows(rows, ARRAY_SIZE(rows), wall);
	check_refused(wrong, ARRAY_SIZE(wrong), wall);
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

TEST("readings of other clocks")
{
	struct point point = { };

	CHECK(take_point("500s", &point));
	CHECK(point.given && !point.wall && point.ns == 500 * NSEC_PER_SEC);
	CHECK(!take_point("500", &point));
	CHECK(!take_point("", &point));
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
