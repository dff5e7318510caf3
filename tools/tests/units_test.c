// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of parsing and formatting numbers and times.
 */
#include <stdint.h>
#include <string.h>

#include "../twheelctl/units.h"
#include "tap.h"

#define UNTOUCHED	12345

static __u64 count_of(const char *text, __u64 max)
{
	__u64 count = UNTOUCHED;

	return parse_count(text, max, &count) ? count : UNTOUCHED;
}

static __u64 time_of(const char *text)
{
	__u64 ns = UNTOUCHED;

	return parse_time(text, &ns) ? ns : UNTOUCHED;
}

static bool formats_as(__u64 ns, const char *text)
{
	char buffer[TIME_TEXT_SIZE];

	return !strcmp(format_time(buffer, ns), text);
}

TEST("whole numbers up to the maximum")
{
	CHECK(count_of("0", 10) == 0);
	CHECK(count_of("10", 10) == 10);
	CHECK(count_of("007", 10) == 7);
	CHECK(count_of("18446744073709551615", UINT64_MAX) == UINT64_MAX);
}

TEST("invalid numbers are refused")
{
	CHECK(count_of("11", 10) == UNTOUCHED);
	CHECK(count_of("9", 8) == UNTOUCHED);
	CHECK(count_of("18446744073709551616", UINT64_MAX) == UNTOUCHED);
	CHECK(count_of("99999999999999999999999", UINT64_MAX) == UNTOUCHED);
	CHECK(count_of("", 10) == UNTOUCHED);
	CHECK(count_of("-1", 10) == UNTOUCHED);
	CHECK(count_of("+1", 10) == UNTOUCHED);
	CHECK(count_of(" 1", 10) == UNTOUCHED);
	CHECK(count_of("1 ", 10) == UNTOUCHED);
	CHECK(count_of("1x", 10) == UNTOUCHED);
	CHECK(count_of("0x1", 10) == UNTOUCHED);
}

TEST("times in every unit")
{
	CHECK(time_of("7ns") == 7);
	CHECK(time_of("10us") == 10000);
	CHECK(time_of("250ms") == 250000000);
	CHECK(time_of("5s") == 5000000000);
	CHECK(time_of("3m") == 180000000000);
	CHECK(time_of("2h") == 7200000000000);
	CHECK(time_of("1d") == 86400000000000);
	CHECK(time_of("0s") == 0);
	CHECK(time_of("9223372036854775807ns") == INT64_MAX);
	CHECK(time_of("9223372036s") == 9223372036000000000);
}

TEST("invalid times are refused")
{
	CHECK(time_of("5") == UNTOUCHED);
	CHECK(time_of("s") == UNTOUCHED);
	CHECK(time_of("") == UNTOUCHED);
	CHECK(time_of("5 s") == UNTOUCHED);
	CHECK(time_of("5sec") == UNTOUCHED);
	CHECK(time_of("1.5s") == UNTOUCHED);
	CHECK(time_of("-5s") == UNTOUCHED);
	CHECK(time_of("5S") == UNTOUCHED);
	CHECK(time_of("9223372036854775808ns") == UNTOUCHED);
	CHECK(time_of("9223372037s") == UNTOUCHED);
	CHECK(time_of("106752d") == UNTOUCHED);
}

TEST("times are formatted in a suitable unit")
{
	CHECK(formats_as(0, "0 ns"));
	CHECK(formats_as(999, "999 ns"));
	CHECK(formats_as(1000, "1.000 us"));
	CHECK(formats_as(1048576, "1.048 ms"));
	CHECK(formats_as(999999999, "999.999 ms"));
	CHECK(formats_as(1502713000, "1.502 s"));
	CHECK(formats_as(3600000000000, "3600.000 s"));
	CHECK(formats_as(86399999999999, "86399.999 s"));
	CHECK(formats_as(86400000000000, "1 d 00:00:00"));
	CHECK(formats_as(183845999999999, "2 d 03:04:05"));
	CHECK(formats_as(86399000000000 + 99 * 86400000000000, "99 d 23:59:59"));
	CHECK(formats_as(UINT64_MAX, "213503 d 23:34:33"));
}

TAP_MAIN
