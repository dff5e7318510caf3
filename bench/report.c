// SPDX-License-Identifier: GPL-2.0
/*
 * How the suites say what they measured: a line of the kernel log for each sample, of
 * name=value words that are always the same and in the same order.  Whoever
 * reads them groups by all but the last; several lines of a group are repetitions.
 *
 *	sample suite=timer case=mixed of=hrtimer what=add pending=1000 unit=ns value=123.456
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#include "bench.h"

/**
 * bench_sample - report one sample
 * @suite: which suite, no blanks in this and the other words
 * @variant: what is varied besides @pending, "-" for nothing
 * @of: what was measured: the contender
 * @what: the figure
 * @pending: how many were pending meanwhile, 0 if that makes no sense
 * @unit: of the value
 * @milli: the value in thousandths of @unit
 */
void bench_sample(const char *suite, const char *variant, const char *of, const char *what,
		  u64 pending, const char *unit, u64 milli)
{
	u32 fraction;
	u64 whole = div_u64_rem(milli, 1000, &fraction);

	pr_info("sample suite=%s case=%s of=%s what=%s pending=%llu unit=%s value=%llu.%03u\n",
		suite, variant, of, what, pending, unit, whole, fraction);
}

/**
 * bench_sample_ns - report what an operation took
 * @suite: as in bench_sample(), and so on
 * @variant: what is varied
 * @of: the contender
 * @what: the operation
 * @pending: how many were pending
 * @ns: what all the operations took together
 * @nr: how many these were; nothing is reported of none
 */
void bench_sample_ns(const char *suite, const char *variant, const char *of, const char *what,
		     u64 pending, u64 ns, u64 nr)
{
	if (nr)
		bench_sample(suite, variant, of, what, pending, "ns", div64_u64(ns * 1000, nr));
}

/**
 * bench_skip - report what is not measured
 * @suite: as in bench_sample(), and so on
 * @variant: what would be varied
 * @of: the contender
 * @what: the figure
 * @pending: how many would be pending
 * @reason: why not, words-joined-by-dashes
 */
void bench_skip(const char *suite, const char *variant, const char *of, const char *what,
		u64 pending, const char *reason)
{
	pr_info("skip suite=%s case=%s of=%s what=%s pending=%llu reason=%s\n",
		suite, variant, of, what, pending, reason);
}

/**
 * bench_failure - report that something was wrong, never that it was slow
 * @fmt: as for printk(), with no newline at its end
 *
 * Return: -EIO, for the suite to return.
 */
int bench_failure(const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_err("FAILURE: %pV\n", &vaf);
	va_end(args);
	return -EIO;
}
