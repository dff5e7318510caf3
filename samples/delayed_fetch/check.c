// SPDX-License-Identifier: GPL-2.0
/*
 * The check of the whole run, by the times that the leaders and readers took.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/printk.h>

#include "fetch.h"

struct tally {
	unsigned int	at_once;	/* answered, without having waited */
	unsigned int	waited;
	unsigned int	ended[TWHEEL_CANCELLED + 1];
	unsigned int	wrong;
};

/* Where a partition ended, by what had begun by some time, or by what was told before it. */
static u64 end_at(const struct partition *part, enum style style, u64 time, bool begun)
{
	unsigned int low = 0, high = part->nr, mid;
	const struct batch *batch;

	while (low < high) {
		mid = (low + high) / 2;
		batch = &part->batch[mid];
		if (begun ? batch->from <= time : batch->told[style] < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? part->batch[low - 1].end : 0;
}

static u64 bytes_at(const struct fetch *fetch, u64 time, bool begun)
{
	unsigned int p;
	u64 end, bytes = 0;

	for_each_set_bit(p, &fetch->partitions, partitions) {
		end = end_at(&partition[p], fetch->style, time, begun);
		if (end > fetch->start[p])
			bytes += end - fetch->start[p];
	}
	return bytes;
}

/* How many bytes may have been counted for a fetch by some time. */
static u64 bytes_begun(const struct fetch *fetch, u64 time)
{
	return bytes_at(fetch, time, true);
}

/* Of how many it had been told, by calls that had returned, before some time. */
static u64 bytes_told(const struct fetch *fetch, u64 time)
{
	return bytes_at(fetch, time, false);
}

/* Whether a call was under way at some time to which others may have left the last look. */
static bool call_under_way(const struct fetch *fetch, u64 from, u64 to, u64 time)
{
	return from <= time && time <= to &&
	       (from <= fetch->add_to || bytes_told(fetch, from) < fetch->min);
}

/*
 * Whoever asks for an evaluation while another evaluates returns at once, and that
 * other evaluates once more.  If the deadline comes just before it does, the fetch
 * expires although it had been told.  That other began when bytes were missing, or
 * else it was the add who asked: a leader that came before the fetch watched its
 * partition leaves it to the add to look again, and the add may find that another
 * leader, who came later, evaluates.
 */
static bool evaluated_elsewhere(const struct fetch *fetch)
{
	u64 time = fetch->result.time;
	const struct batch *batch;
	unsigned int p, n;

	if (call_under_way(fetch, fetch->add_from, fetch->add_to, time))
		return true;
	for_each_set_bit(p, &fetch->partitions, partitions) {
		for (n = 0; n < partition[p].nr; n++) {
			batch = &partition[p].batch[n];
			if (call_under_way(fetch, batch->told[BY_SUM],
					   batch->told[BY_PREDICATE], time))
				return true;
		}
	}
	return false;
}

/* A fetch ends no later than when it has been told of enough. */
static bool missed_nothing(const struct fetch *fetch)
{
	if (bytes_told(fetch, fetch->result.time) < fetch->min)
		return true;
	if (fetch->style == BY_SUM)
		return false;
	/* What is there in the first place completes it in the add. */
	if (bytes_told(fetch, fetch->add_from) >= fetch->min)
		return fetch->add_ret == 1 && fetch->told_at <= fetch->add_to;
	return evaluated_elsewhere(fetch);
}

/* What is wrong with a fetch that completed, or NULL. */
static const char *completed_wrongly(const struct fetch *fetch)
{
	u64 begun = bytes_begun(fetch, fetch->result.time);

	if (begun < fetch->min || fetch->bytes < fetch->min)
		return "completed without its bytes";
	if (fetch->style == BY_PREDICATE &&
	    (fetch->result.value < fetch->min || fetch->result.value > begun))
		return "completed with another value than its predicate's";
	return NULL;
}

/* What is wrong with a fetch that had to wait, or NULL. */
static const char *waited_wrongly(const struct fetch *fetch)
{
	const struct twheel_op_result *result = &fetch->result;

	if (fetch->add_ret < 0)
		return "was not added";
	if (atomic_read(&fetch->told) != 1)
		return "was not told once";
	if (result->deadline != fetch->deadline || fetch->told_at < result->time)
		return "was told of what is not its end";
	if (!missed_nothing(fetch))
		return "ended too late";
	if (result->reason == TWHEEL_COMPLETED)
		return completed_wrongly(fetch);
	if (fetch->add_ret == 1 || result->reason != TWHEEL_EXPIRED)
		return "ended for another reason";
	return result->time < fetch->deadline ? "expired too early" : NULL;
}

static const char *told_wrongly(const struct fetch *fetch)
{
	if (fetch->parked)
		return waited_wrongly(fetch);
	return fetch->bytes < fetch->min ? "was answered without its bytes" : NULL;
}

/* All times are relative to the beginning of its add. */
static void report(const struct fetch *fetch, const char *wrong)
{
	const struct twheel_op_result *result = &fetch->result;
	u64 from = fetch->add_from;

	pr_err("a fetch by %s %s: added %d by %lld, min %llu, deadline %lld, reason %d at %lld, told %d at %lld; bytes: told %llu at first and %llu at its end, when %llu had begun, %llu seen, value %llu\n",
	       fetch->style == BY_SUM ? "sum" : "predicate", wrong,
	       fetch->add_ret, fetch->add_to - from, fetch->min, fetch->deadline - from,
	       result->reason, result->time - from, atomic_read(&fetch->told),
	       fetch->told_at - from, bytes_told(fetch, from),
	       bytes_told(fetch, result->time), bytes_begun(fetch, result->time),
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
		if (fetch->parked && fetch->add_ret != 1)
			t->waited++;
		else
			t->at_once++;
		if (fetch->parked)
			t->ended[fetch->result.reason]++;
		wrong = told_wrongly(fetch);
		/* The first of them says what kind of thing went wrong. */
		if (wrong && !t->wrong++)
			report(fetch, wrong);
	}
}

/* What the leaders completed, and the adds; and nothing is left. */
static bool counts_right(enum style style, const struct tally *t)
{
	struct twheel_purgatory_stats stats;
	u64 completed = 0, added = t->waited;
	unsigned int p;

	twheel_purgatory_stats(purgatory[style], &stats);
	for (p = 0; p < partitions; p++)
		completed += partition[p].completed[style];
	if (style == BY_PREDICATE) {
		completed += t->at_once;
		added += t->at_once;
	}
	return stats.added == added && completed == t->ended[TWHEEL_COMPLETED] &&
	       stats.ended[TWHEEL_COMPLETED] == completed &&
	       stats.ended[TWHEEL_EXPIRED] == t->ended[TWHEEL_EXPIRED] &&
	       !stats.ended[TWHEEL_CANCELLED] &&
	       !stats.pending && !stats.keys && !stats.watches;
}

int fetch_check(u32 seed)
{
	struct tally tally[STYLES] = {}, *sum = &tally[BY_SUM], *look = &tally[BY_PREDICATE];
	unsigned int r;
	bool right;

	for (r = 0; r < readers; r++)
		tally_reader(&reader[r], tally);
	right = counts_right(BY_SUM, sum) && counts_right(BY_PREDICATE, look);
	pr_info("fetches (seed %u), by sum: %u at once, %u waited, %u completed, %u expired, %u told wrongly; by predicate: %u, %u, %u, %u, %u%s\n",
		seed, sum->at_once, sum->waited, sum->ended[TWHEEL_COMPLETED],
		sum->ended[TWHEEL_EXPIRED], sum->wrong, look->at_once, look->waited,
		look->ended[TWHEEL_COMPLETED], look->ended[TWHEEL_EXPIRED], look->wrong,
		right ? "" : "; counts that do not add up");
	return sum->wrong || look->wrong || !right ? -EIO : 0;
}
