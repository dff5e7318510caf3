// SPDX-License-Identifier: GPL-2.0
/* Check of the whole run, based on the times that leaders and readers recorded. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/printk.h>

#include "fetch.h"

struct tally {
	unsigned int	immediate;	/* answered without becoming pending */
	unsigned int	delayed;
	unsigned int	ended[TWHEEL_REASON_CANCELLED + 1];
	unsigned int	wrong;
};

/*
 * End offset of a partition at @time. Batches count from the start of the append if
 * @started is set, otherwise from the return of the notification.
 */
static u64 end_at(const struct partition *part, enum style style, u64 time, bool started)
{
	unsigned int low = 0, high = part->nr, mid;
	const struct batch *batch;

	while (low < high) {
		mid = (low + high) / 2;
		batch = &part->batch[mid];
		if (started ? batch->from <= time : batch->notified[style] < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? part->batch[low - 1].end : 0;
}

static u64 bytes_at(const struct fetch *fetch, u64 time, bool started)
{
	unsigned int p;
	u64 end, bytes = 0;

	for_each_set_bit(p, &fetch->partitions, partitions) {
		end = end_at(&partition[p], fetch->style, time, started);
		if (end > fetch->start[p])
			bytes += end - fetch->start[p];
	}
	return bytes;
}

/* Upper limit of the bytes counted for a fetch by @time. */
static u64 bytes_started(const struct fetch *fetch, u64 time)
{
	return bytes_at(fetch, time, true);
}

/* Bytes that twheel had been notified of, by calls that had returned before @time. */
static u64 bytes_notified(const struct fetch *fetch, u64 time)
{
	return bytes_at(fetch, time, false);
}

/*
 * True if a call was in progress at @time and may have been evaluating for another call:
 * it started before twheel was notified of enough bytes, or before the add returned.
 */
static bool call_in_progress(const struct fetch *fetch, u64 from, u64 to, u64 time)
{
	return from <= time && time <= to &&
	       (from <= fetch->add_to || bytes_notified(fetch, from) < fetch->min);
}

/*
 * A caller that requests an evaluation while another thread is evaluating returns at
 * once, and that thread evaluates again. The fetch may expire before this second
 * evaluation, although twheel was notified of enough bytes.
 *
 * The evaluating call either started while bytes were missing or serves a request of the
 * add: a leader that notifies twheel before the fetch watches the partition leaves the
 * evaluation to the add, and the add may find that a later leader is already evaluating.
 */
static bool evaluated_by_other_call(const struct fetch *fetch)
{
	u64 time = fetch->result.time;
	const struct batch *batch;
	unsigned int p, n;

	if (call_in_progress(fetch, fetch->add_from, fetch->add_to, time))
		return true;
	for_each_set_bit(p, &fetch->partitions, partitions) {
		for (n = 0; n < partition[p].nr; n++) {
			batch = &partition[p].batch[n];
			if (call_in_progress(fetch, batch->notified[BY_SUM],
					     batch->notified[BY_PREDICATE], time))
				return true;
		}
	}
	return false;
}

/* A fetch must end as soon as twheel has been notified of enough bytes. */
static bool ended_in_time(const struct fetch *fetch)
{
	if (bytes_notified(fetch, fetch->result.time) < fetch->min)
		return true;
	if (fetch->style == BY_SUM)
		return false;
	/* With enough bytes at the start, the add itself completes the fetch. */
	if (bytes_notified(fetch, fetch->add_from) >= fetch->min)
		return fetch->add_ret == 1 && fetch->ended_at <= fetch->add_to;
	return evaluated_by_other_call(fetch);
}

/* Returns a description of the error of a completed fetch, or NULL. */
static const char *completion_error(const struct fetch *fetch)
{
	u64 started = bytes_started(fetch, fetch->result.time);

	if (started < fetch->min || fetch->bytes < fetch->min)
		return "completed without its bytes";
	if (fetch->style == BY_PREDICATE &&
	    (fetch->result.value < fetch->min || fetch->result.value > started))
		return "completed with a wrong value";
	return NULL;
}

/* Returns a description of the error of a fetch that was added, or NULL. */
static const char *pending_error(const struct fetch *fetch)
{
	const struct twheel_op_result *result = &fetch->result;

	if (fetch->add_ret < 0)
		return "was not added";
	if (atomic_read(&fetch->nr_ended) != 1)
		return "did not end exactly once";
	if (result->deadline != fetch->deadline || fetch->ended_at < result->time)
		return "has an inconsistent result";
	if (!ended_in_time(fetch))
		return "ended too late";
	if (result->reason == TWHEEL_REASON_COMPLETED)
		return completion_error(fetch);
	if (fetch->add_ret == 1 || result->reason != TWHEEL_REASON_EXPIRED)
		return "ended for a wrong reason";
	return result->time < fetch->deadline ? "expired too early" : NULL;
}

static const char *fetch_error(const struct fetch *fetch)
{
	if (fetch->added)
		return pending_error(fetch);
	return fetch->bytes < fetch->min ? "was answered without its bytes" : NULL;
}

/* Times are relative to the start of the add. */
static void report(const struct fetch *fetch, const char *wrong)
{
	const struct twheel_op_result *result = &fetch->result;
	u64 from = fetch->add_from;

	pr_err("a fetch by %s %s: added %d by %lld, min %llu, deadline %lld, reason %d at %lld, ended() called %d times, at %lld; bytes: %llu notified before the add, %llu notified and %llu appended before the end, %llu seen, value %llu\n",
	       fetch->style == BY_SUM ? "sum" : "predicate", wrong,
	       fetch->add_ret, fetch->add_to - from, fetch->min, fetch->deadline - from,
	       result->reason, result->time - from, atomic_read(&fetch->nr_ended),
	       fetch->ended_at - from, bytes_notified(fetch, from),
	       bytes_notified(fetch, result->time), bytes_started(fetch, result->time),
	       fetch->bytes, result->value);
}

static void tally_reader(const struct reader *self, struct tally *tally)
{
	const struct fetch *fetch;
	const char *wrong;
	struct tally *t;
	unsigned int n;

	for (n = 0; n < self->nr; n++) {
		fetch = self->fetch[n];
		t = &tally[fetch->style];
		if (fetch->added && fetch->add_ret != 1)
			t->delayed++;
		else
			t->immediate++;
		if (fetch->added)
			t->ended[fetch->result.reason]++;
		wrong = fetch_error(fetch);
		/* Report only the first error of each style. */
		if (wrong && !t->wrong++)
			report(fetch, wrong);
	}
}

/* Compare the counters of the purgatory with the results of the leaders and readers. */
static bool counts_valid(enum style style, const struct tally *t)
{
	struct twheel_purgatory_stats stats;
	u64 completed = 0, added = t->delayed;
	unsigned int p;

	twheel_purgatory_get_stats(purgatory[style], &stats);
	for (p = 0; p < partitions; p++)
		completed += partition[p].completed[style];
	if (style == BY_PREDICATE) {
		completed += t->immediate;
		added += t->immediate;
	}
	return stats.added == added && completed == t->ended[TWHEEL_REASON_COMPLETED] &&
	       stats.ended[TWHEEL_REASON_COMPLETED] == completed &&
	       stats.ended[TWHEEL_REASON_EXPIRED] == t->ended[TWHEEL_REASON_EXPIRED] &&
	       !stats.ended[TWHEEL_REASON_CANCELLED] &&
	       !stats.pending && !stats.keys && !stats.watches;
}

int fetch_check(u32 seed)
{
	struct tally tally[STYLES] = {}, *sum = &tally[BY_SUM], *predicate = &tally[BY_PREDICATE];
	unsigned int r;
	bool right;

	for (r = 0; r < readers; r++)
		tally_reader(&reader[r], tally);
	right = counts_valid(BY_SUM, sum) && counts_valid(BY_PREDICATE, predicate);
	pr_info("fetches (seed %u), by sum: %u immediate, %u delayed, %u completed, %u expired, %u incorrect; by predicate: %u, %u, %u, %u, %u%s\n",
		seed, sum->immediate, sum->delayed, sum->ended[TWHEEL_REASON_COMPLETED],
		sum->ended[TWHEEL_REASON_EXPIRED], sum->wrong,
		predicate->immediate, predicate->delayed,
		predicate->ended[TWHEEL_REASON_COMPLETED], predicate->ended[TWHEEL_REASON_EXPIRED],
		predicate->wrong, right ? "" : "; inconsistent counters");
	return sum->wrong || predicate->wrong || !right ? -EIO : 0;
}
