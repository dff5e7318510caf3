// SPDX-License-Identifier: GPL-2.0
/*
 * Lines for programs: samples, what could not be measured, failures, and remarks.
 *
 * A sample is eight words in a fixed order, and nothing else is in its line. Who repeats a
 * measurement prints further lines with the same words and another value.
 */
#include <stdarg.h>
#include <stdio.h>

#include "bench.h"

static const char *suite = "device";
static bool failed;

void set_suite(const char *name)
{
	suite = name;
}

void end_suite(void)
{
	printf("end suite=%s\n", suite);
}

void failure(const char *format, ...)
{
	va_list args;

	failed = true;
	fputs("FAILURE: ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

bool has_failed(void)
{
	return failed;
}

static void words(const char *kind, const struct contender *contender, const char *what,
		  unsigned int pending)
{
	printf("%s suite=%s case=%s of=%s what=%s pending=%u", kind, suite, contender->case_name,
	       contender->name, what, pending);
}

void sample(const struct contender *contender, const char *what, unsigned int pending,
	    const char *unit, double value)
{
	words("sample", contender, what, pending);
	printf(" unit=%s value=%.2f\n", unit, value);
}

void skip(const struct contender *contender, const char *what, unsigned int pending,
	  const char *reason)
{
	words("skip", contender, what, pending);
	printf(" reason=%s\n", reason);
}

/* What a reader of the figures should know: a line that is no sample. */
void remark(const struct contender *contender, const char *what, unsigned int pending,
	    const char *text, unsigned long long number)
{
	words("#", contender, what, pending);
	printf(": %s %llu\n", text, number);
}
