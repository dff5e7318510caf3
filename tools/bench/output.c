// SPDX-License-Identifier: GPL-2.0
/*
 * Output for scripts: samples, skipped figures and failures.
 *
 * A sample is a line with eight words in a fixed order. A repeated measurement prints
 * another line with the same words and a different value.
 */
#include <stdarg.h>
#include <stdio.h>

#include "bench.h"

bool exact, discarding, failed;

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

static void words(const char *kind, const struct contender *contender, const char *figure,
		  unsigned int pending)
{
	printf("%s suite=device case=%s of=%s what=%s pending=%u", kind, contender->case_name,
	       contender->name, figure, pending);
}

void sample(const struct contender *contender, const char *figure, unsigned int pending,
	    const char *unit, double value)
{
	if (discarding)
		return;
	words("sample", contender, figure, pending);
	printf(" unit=%s value=%.2f\n", unit, value);
}

void sample_ns(const struct contender *contender, const char *figure, unsigned int pending,
	       double value)
{
	sample(contender, figure, pending, exact ? "instructions" : "ns", value);
}

void skip(const struct contender *contender, const char *figure, unsigned int pending,
	  const char *reason)
{
	words("skip", contender, figure, pending);
	printf(" reason=%s\n", reason);
}
