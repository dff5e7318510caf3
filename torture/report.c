// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and log messages of the torture.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/printk.h>

#include "purgatory.h"

/* Failures of each kind that are printed; the rest is only counted. */
#define MAX_REPORTS	5

static const char * const failure_name[FAIL_KINDS] = {
	[FAIL_TWICE]	= "ended twice",
	[FAIL_EARLY]	= "early",
	[FAIL_LOST]	= "lost",
	[FAIL_AFTER]	= "active after end",
	[FAIL_OVERLAP]	= "ran concurrently",
	[FAIL_RESULT]	= "returned wrong",
	[FAIL_COUNTS]	= "counted wrong",
	[FAIL_STALL]	= "stalled",
};

static atomic_t failures[FAIL_KINDS];

/* The maximum lateness of a timer, or a lower bound of it. */
atomic64_t torture_late_ns;

void torture_count(struct torture_wheel *w, enum torture_count count, s64 n)
{
	atomic64_add(n, &w->count[count]);
}

/* The sum of a counter over all wheels. */
static s64 sum(enum torture_count count)
{
	unsigned int i;
	s64 sum = 0;

	for (i = 0; i < torture_nr_wheels; i++)
		sum += atomic64_read(&torture_wheels[i].count[count]);
	return sum;
}

static const char *kind_name(const struct torture_timer *t)
{
	static const char * const names[] = {
		[KIND_TIMER]	= "timer",
		[KIND_ORPHAN]	= "orphan",
		[KIND_WORK]	= "work",
	};

	return names[t->kind];
}

/* Time from @now to @ns in microseconds. */
static s64 ahead_us(const atomic64_t *ns, u64 now)
{
	return div_s64(atomic64_read(ns) - now, NSEC_PER_USEC);
}

static void show_timer(const struct torture_timer *t)
{
	const struct torture_wheel *w = t->wheel;
	u64 now = twheel_now(w->wheel);

	pr_err("  wheel %u, clock %d, %s %d, flags %u, armed %d, ended %d; due in %lld to %lld us\n",
	       w->number, w->clock, kind_name(t),
	       t->kind == KIND_ORPHAN ? -1 : (int)(t - w->timer), t->flags,
	       atomic_read(&t->begun), atomic_read(&t->ended),
	       ahead_us(&t->earliest, now), ahead_us(&t->latest, now));
}

/* Report a failure. Return: true if the caller may print details. */
bool torture_report(enum torture_failure kind, const char *detail)
{
	if (atomic_inc_return(&failures[kind]) > MAX_REPORTS)
		return false;
	pr_err("%s: %s\n", failure_name[kind], detail);
	return true;
}

/* Report a failure, with the state of a timer if @t is not NULL. */
void torture_fail(enum torture_failure kind, const struct torture_timer *t, const char *detail)
{
	if (torture_report(kind, detail) && t)
		show_timer(t);
}

bool torture_failed(void)
{
	unsigned int i;

	for (i = 0; i < FAIL_KINDS; i++)
		if (atomic_read(&failures[i]))
			return true;
	return false;
}

/* Counters of operations, summed over all purgatories. */
struct op_sums {
	s64 rounds;
	s64 added;
	s64 ended[TWHEEL_REASON_CANCELLED + 1];
	s64 rejected;
};

static struct op_sums op_sums(void)
{
	struct torture_purgatory *p;
	struct op_sums sums = {};
	unsigned int i;

	for (p = torture_purgatories; p < torture_purgatories + torture_nr_purgatories; p++) {
		sums.rounds += atomic64_read(&p->rounds);
		sums.added += atomic64_read(&p->added);
		for (i = TWHEEL_REASON_COMPLETED; i <= TWHEEL_REASON_CANCELLED; i++)
			sums.ended[i] += atomic64_read(&p->ended[i]);
		sums.rejected += atomic64_read(&p->rejected);
	}
	return sums;
}

/* A growing count, and the time of its last change in seconds. */
struct progress {
	s64 count;
	unsigned long since;
};

/* A slow machine makes little progress between two reports, and a drain takes long. */
static void expect_progress(struct progress *progress, s64 count, unsigned long s,
			    const char *detail)
{
	if (count != progress->count) {
		progress->count = count;
		progress->since = s;
	} else if (s - progress->since >= TORTURE_STALL_S) {
		torture_fail(FAIL_STALL, NULL, detail);
	}
}

static void progress_of_ops(unsigned long s)
{
	static struct progress progress;
	struct op_sums sums = op_sums();

	if (!torture_nr_purgatories)
		return;
	pr_info("%lu s: %lld purgatories, %lld operations, %lld completed, %lld expired\n",
		s, sums.rounds, sums.added, sums.ended[TWHEEL_REASON_COMPLETED],
		sums.ended[TWHEEL_REASON_EXPIRED]);
	/* Adds count: they end at the limit of a purgatory, and its threads fill it first. */
	expect_progress(&progress, sums.added + sums.ended[TWHEEL_REASON_COMPLETED], s,
			"no operation was added or has completed for a long time");
}

/* Log the progress, and check that there is some. */
void torture_progress(unsigned long s)
{
	static struct progress progress;
	s64 fired = sum(COUNT_FIRED);

	pr_info("%lu s: %lld wheels, %lld armed, %lld fired; CPUs %d times off, clock %d times set\n",
		s, sum(COUNT_ROUNDS), sum(COUNT_ARMED), fired,
		atomic_read(&torture_offlined), atomic_read(&torture_clock_steps));
	expect_progress(&progress, fired, s, "no timer has fired for a long time");
	progress_of_ops(s);
}

/* The failures and their numbers: "2 early, 1 lost; ". */
static const char *list_failures(void)
{
	static char text[200];
	int nr, len = 0;
	unsigned int i;

	for (i = 0; i < FAIL_KINDS; i++) {
		nr = atomic_read(&failures[i]);
		if (nr)
			len += scnprintf(text + len, sizeof(text) - len, "%s%d %s",
					 len ? ", " : "", nr, failure_name[i]);
	}
	if (len)
		scnprintf(text + len, sizeof(text) - len, "; ");
	return text;
}

/* After the last purgatory has ended, each operation must have ended. */
static void expect_sums_of_ops(void)
{
	struct op_sums sums = op_sums();

	if (sums.added != sums.ended[TWHEEL_REASON_COMPLETED] + sums.ended[TWHEEL_REASON_EXPIRED] +
	    sums.ended[TWHEEL_REASON_CANCELLED])
		torture_fail(FAIL_COUNTS, NULL, "adds and ends differ");
	if (!sums.ended[TWHEEL_REASON_COMPLETED] || !sums.ended[TWHEEL_REASON_EXPIRED])
		torture_fail(FAIL_STALL, NULL, "no operation has completed, or none has expired");
}

/* After the last wheel has ended, each arming must have an outcome. */
void torture_expect_sums(void)
{
	if (sum(COUNT_ARMED) != sum(COUNT_FIRED) + sum(COUNT_CANCELLED) +
	    sum(COUNT_WORK_CANCELLED) + sum(COUNT_HANDED_BACK))
		torture_fail(FAIL_COUNTS, NULL, "armings and outcomes differ");
	if (!sum(COUNT_FIRED))
		torture_fail(FAIL_STALL, NULL, "no timer has fired");
	if (torture_nr_purgatories)
		expect_sums_of_ops();
}

/* Number of events: armings and adds, and the outcome of each. */
static s64 nr_events(const struct op_sums *ops)
{
	return sum(COUNT_ARMED) + sum(COUNT_FIRED) + sum(COUNT_CANCELLED) +
	       sum(COUNT_WORK_CANCELLED) + sum(COUNT_HANDED_BACK) + ops->added +
	       ops->ended[TWHEEL_REASON_COMPLETED] + ops->ended[TWHEEL_REASON_EXPIRED] +
	       ops->ended[TWHEEL_REASON_CANCELLED];
}

/* Log the result. Scripts parse this line. */
void torture_verdict(void)
{
	const char *result = torture_failed() ? "FAILURE" : "SUCCESS";
	s64 cancelled = sum(COUNT_CANCELLED) + sum(COUNT_WORK_CANCELLED);
	struct op_sums ops = op_sums();

	pr_info("%s: %s%lld armed, %lld fired, %lld cancelled, %lld handed back; %lld re-armed, %lld refused, %lld rejected; %lld wheels; %lld operations, %lld completed, %lld expired, %lld cancelled, %lld rejected; %lld purgatories; CPUs %d times off, clock %d times set; late by %llu us; %lld events\n",
		result, list_failures(), sum(COUNT_ARMED), sum(COUNT_FIRED), cancelled,
		sum(COUNT_HANDED_BACK), sum(COUNT_MOVED),
		sum(COUNT_REFUSED), sum(COUNT_REJECTED), sum(COUNT_ROUNDS),
		ops.added, ops.ended[TWHEEL_REASON_COMPLETED], ops.ended[TWHEEL_REASON_EXPIRED],
		ops.ended[TWHEEL_REASON_CANCELLED], ops.rejected, ops.rounds,
		atomic_read(&torture_offlined), atomic_read(&torture_clock_steps),
		div_u64(atomic64_read(&torture_late_ns), NSEC_PER_USEC), nr_events(&ops));
}
