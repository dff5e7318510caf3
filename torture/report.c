// SPDX-License-Identifier: GPL-2.0
/*
 * What the torture counts, and what it has to say.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/printk.h>

#include "purgatory.h"

/* Of each kind of what is wrong, so many are shown; the rest is counted. */
#define SHOWN	5

static const char * const wrong_name[WRONG_KINDS] = {
	[WRONG_TWICE]	= "ended twice",
	[WRONG_EARLY]	= "early",
	[WRONG_LOST]	= "lost",
	[WRONG_AFTER]	= "ran after all",
	[WRONG_OVERLAP]	= "ran twice at once",
	[WRONG_ANSWER]	= "answered wrong",
	[WRONG_COUNTS]	= "counted wrong",
	[WRONG_STALL]	= "stalled",
};

static atomic_t wrongs[WRONG_KINDS];

/* By how much a timer was late, at the most, and for sure. */
atomic64_t torture_late_ns;

/* Count what happened on a wheel. */
void torture_count(struct torture_wheel *w, enum torture_count what, s64 more)
{
	atomic64_add(more, &w->count[what]);
}

/* A count, over all wheels. */
static s64 sum(enum torture_count what)
{
	unsigned int i;
	s64 sum = 0;

	for (i = 0; i < torture_nr_wheels; i++)
		sum += atomic64_read(&torture_wheels[i].count[what]);
	return sum;
}

static const char *kind_name(const struct torture_timer *t)
{
	static const char * const names[] = {
		[KIND_TIMER]	= "timer",
		[KIND_ORPHAN]	= "orphan",
		[KIND_PERIODIC]	= "periodic timer",
		[KIND_WORK]	= "work",
	};

	return names[t->kind];
}

/* Whole microseconds by which a time is ahead. */
static s64 ahead_us(const atomic64_t *ns, u64 now)
{
	return div_s64(atomic64_read(ns) - now, NSEC_PER_USEC);
}

static void show_timer(const struct torture_timer *t)
{
	const struct torture_wheel *w = t->wheel;
	u64 now = twheel_now(w->wheel);

	pr_err("  wheel %u, clock %d, %s %d, flags %u, armed %d, ended %d, runs %u of %u, cut %u; due in %lld to %lld us\n",
	       w->number, w->clock, kind_name(t),
	       t->kind == KIND_ORPHAN ? -1 : (int)(t - w->timer), t->flags,
	       atomic_read(&t->begun), atomic_read(&t->ended), t->runs, t->limit, t->cut,
	       ahead_us(&t->earliest, now), ahead_us(&t->latest, now));
}

/* A promise was broken. Whether there is room to say more of it. */
bool torture_tell(enum torture_wrong what, const char *detail)
{
	if (atomic_inc_return(&wrongs[what]) > SHOWN)
		return false;
	pr_err("%s: %s\n", wrong_name[what], detail);
	return true;
}

/* The same, perhaps to a timer. */
void torture_wrong(enum torture_wrong what, const struct torture_timer *t, const char *detail)
{
	if (torture_tell(what, detail) && t)
		show_timer(t);
}

/* Whether any promise was broken so far. */
bool torture_failed(void)
{
	unsigned int i;

	for (i = 0; i < WRONG_KINDS; i++)
		if (atomic_read(&wrongs[i]))
			return true;
	return false;
}

/* What is counted of operations, over all purgatories. */
struct op_sums {
	s64 rounds;
	s64 added;
	s64 ended[TWHEEL_CANCELLED + 1];
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
		for (i = TWHEEL_COMPLETED; i <= TWHEEL_CANCELLED; i++)
			sums.ended[i] += atomic64_read(&p->ended[i]);
		sums.rejected += atomic64_read(&p->rejected);
	}
	return sums;
}

/* A count that grows, and since how many seconds it has not. */
struct progress {
	s64 count;
	unsigned long since;
};

/* On a slow machine little happens from one report to the next, and a drain takes long. */
static void expect_progress(struct progress *progress, s64 count, unsigned long s,
			    const char *what)
{
	if (count != progress->count) {
		progress->count = count;
		progress->since = s;
	} else if (s - progress->since >= TORTURE_STALL_S) {
		torture_wrong(WRONG_STALL, NULL, what);
	}
}

static void progress_of_ops(unsigned long s)
{
	static struct progress progress;
	struct op_sums sums = op_sums();

	if (!torture_nr_purgatories)
		return;
	pr_info("%lu s: %lld purgatories, %lld operations, %lld completed, %lld expired\n",
		s, sums.rounds, sums.added, sums.ended[TWHEEL_COMPLETED],
		sums.ended[TWHEEL_EXPIRED]);
	expect_progress(&progress, sums.ended[TWHEEL_COMPLETED], s,
			"no operation has completed for long");
}

/* Say how far it got, and that it gets on. */
void torture_progress(unsigned long s)
{
	static struct progress progress;
	s64 fired = sum(COUNT_FIRED);

	pr_info("%lu s: %lld wheels, %lld armed, %lld fired; CPUs %d times off, clock %d times set\n",
		s, sum(COUNT_ROUNDS), sum(COUNT_ARMED), fired,
		atomic_read(&torture_offlined), atomic_read(&torture_clock_steps));
	expect_progress(&progress, fired, s, "no timer has fired for long");
	progress_of_ops(s);
}

/* What was wrong, and how often: "2 early, 1 lost; ". */
static const char *list_wrongs(void)
{
	static char text[200];
	int nr, len = 0;
	unsigned int i;

	for (i = 0; i < WRONG_KINDS; i++) {
		nr = atomic_read(&wrongs[i]);
		if (nr)
			len += scnprintf(text + len, sizeof(text) - len, "%s%d %s",
					 len ? ", " : "", nr, wrong_name[i]);
	}
	if (len)
		scnprintf(text + len, sizeof(text) - len, "; ");
	return text;
}

/* When the last purgatory has ended, each operation has. */
static void expect_sums_of_ops(void)
{
	struct op_sums sums = op_sums();

	if (sums.added != sums.ended[TWHEEL_COMPLETED] + sums.ended[TWHEEL_EXPIRED] +
	    sums.ended[TWHEEL_CANCELLED])
		torture_wrong(WRONG_COUNTS, NULL, "not as many ends as adds");
	if (!sums.ended[TWHEEL_COMPLETED] || !sums.ended[TWHEEL_EXPIRED])
		torture_wrong(WRONG_STALL, NULL, "nothing has completed, or expired, at all");
}

/* When the last wheel has ended, each arming has had its fate. */
void torture_expect_sums(void)
{
	if (sum(COUNT_ARMED) != sum(COUNT_FIRED) + sum(COUNT_CANCELLED) +
	    sum(COUNT_WORK_CANCELLED) + sum(COUNT_HANDED_BACK))
		torture_wrong(WRONG_COUNTS, NULL, "not as many fates as armings");
	if (!sum(COUNT_FIRED))
		torture_wrong(WRONG_STALL, NULL, "nothing has fired at all");
	if (torture_nr_purgatories)
		expect_sums_of_ops();
}

/* All that was raced and counted: armings and adds, and how each of them ended. */
static s64 nr_events(const struct op_sums *ops)
{
	return sum(COUNT_ARMED) + sum(COUNT_FIRED) + sum(COUNT_CANCELLED) +
	       sum(COUNT_WORK_CANCELLED) + sum(COUNT_HANDED_BACK) + ops->added +
	       ops->ended[TWHEEL_COMPLETED] + ops->ended[TWHEEL_EXPIRED] +
	       ops->ended[TWHEEL_CANCELLED];
}

/* The last word. */
void torture_verdict(void)
{
	const char *word = torture_failed() ? "FAILURE" : "SUCCESS";
	s64 cancelled = sum(COUNT_CANCELLED) + sum(COUNT_WORK_CANCELLED);
	struct op_sums ops = op_sums();

	pr_info("%s: %s%lld armed, %lld fired, %lld cancelled, %lld handed back; %lld re-armed, %lld refused, %lld rejected; %lld wheels; %lld operations, %lld completed, %lld expired, %lld cancelled, %lld rejected; %lld purgatories; CPUs %d times off, clock %d times set; late by %llu us; %lld events\n",
		word, list_wrongs(), sum(COUNT_ARMED), sum(COUNT_FIRED), cancelled,
		sum(COUNT_HANDED_BACK), sum(COUNT_MOVED),
		sum(COUNT_REFUSED), sum(COUNT_REJECTED), sum(COUNT_ROUNDS),
		ops.added, ops.ended[TWHEEL_COMPLETED], ops.ended[TWHEEL_EXPIRED],
		ops.ended[TWHEEL_CANCELLED], ops.rejected, ops.rounds,
		atomic_read(&torture_offlined), atomic_read(&torture_clock_steps),
		div_u64(atomic64_read(&torture_late_ns), NSEC_PER_USEC), nr_events(&ops));
}
