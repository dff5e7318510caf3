// SPDX-License-Identifier: GPL-2.0
/*
 * Output of the suites: one line in the kernel log per sample, with name=value fields in
 * a fixed order. Lines that differ only in the value are repetitions of a measurement.
 *
 *	sample suite=timer case=mixed of=hrtimer what=add pending=1000 unit=ns value=123.456
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "bench.h"

static bool discarding;

void bench_repetition(unsigned int rep)
{
	discarding = bench_config.exact && !rep;
}

/* Whether a case of a contender is to run. */
bool bench_wanted(const char *of, const char *variant)
{
	const char *at = bench_config.only;
	size_t length;
	char full[64];

	snprintf(full, sizeof(full), "%s/%s", of, variant);
	while (at) {
		length = strcspn(at, ",");
		if (!strncmp(at, full, length) && (!full[length] || full[length] == '/'))
			return true;
		at = at[length] ? at + length + 1 : NULL;
	}
	return !bench_config.only;
}

/**
 * bench_sample - report one sample
 * @variant: the case, or "-" if the suite has none. This and the other fields contain no blanks.
 * @of: the contender
 * @figure: name of the figure
 * @pending: number of pending timers or operations, or 0 if not applicable
 * @unit: unit of the value
 * @milli: the value in thousandths of @unit
 */
void bench_sample(const char *variant, const char *of, const char *figure, u64 pending,
		  const char *unit, u64 milli)
{
	u32 fraction;
	u64 whole = div_u64_rem(milli, 1000, &fraction);

	if (discarding)
		return;
	pr_info("sample suite=%s case=%s of=%s what=%s pending=%llu unit=%s value=%llu.%03u\n",
		bench_config.suite, variant, of, figure, pending, unit, whole, fraction);
}

/* Report the average time of @nr operations, in ns or instructions; nothing without any. */
void bench_sample_ns(const char *variant, const char *of, const char *figure, u64 pending, u64 ns,
		     u64 nr)
{
	if (nr)
		bench_sample(variant, of, figure, pending,
			     bench_config.exact ? "instructions" : "ns",
			     div64_u64(ns * 1000, nr));
}

/* Report that a figure is not measured; @reason is words-joined-by-dashes. */
void bench_skip(const char *variant, const char *of, const char *figure, u64 pending,
		const char *reason)
{
	pr_info("skip suite=%s case=%s of=%s what=%s pending=%llu reason=%s\n",
		bench_config.suite, variant, of, figure, pending, reason);
}

/* Report incorrect behaviour. Return: -EIO, as the return value of the suite. */
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
