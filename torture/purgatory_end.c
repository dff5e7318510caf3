// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of a purgatory: while it is idle, and after the drain, when it must be empty.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "purgatory.h"

/* The result of a walk over all operations; @keys has a bit for each shared key. */
struct survey {
	u64 ops;
	u64 watches;
	u64 own_keys;
	u64 near;
	DECLARE_BITMAP(keys, TORTURE_KEYS);
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
};

static void expect_count(const struct torture_purgatory *p, const char *name, s64 reported,
			 s64 expected)
{
	if (reported == expected)
		return;
	if (torture_report(FAIL_COUNTS, name))
		pr_err("  purgatory %u: %s is %lld, expected %lld\n",
		       p->number, name, reported, expected);
}

/* Whether the operation expires soon. */
static bool is_near(const struct torture_op *o, const struct twheel_op_progress *progress)
{
	return !uses_wall_clock(o) && !o->hostile && progress->remaining < NSEC_PER_SEC;
}

/* Check a pending operation; @due is op_due() from before it was seen pending. */
static void check_pending(struct torture_purgatory *p, struct torture_op *o, bool due)
{
	if (due)
		op_fail(FAIL_LOST, o, "pending although it is due and no call is in progress");
	else if (!o->added)
		op_fail(FAIL_RESULT, o, "pending without an add");
	else if (atomic64_read(&p->complete_alls) != o->complete_alls &&
		 !op_may_be_idle(o))
		op_fail(FAIL_LOST, o, "pending after twheel_complete_all()");
	if (atomic_read(&o->released))
		op_fail(FAIL_AFTER, o, "pending after its release");
}

static void count_keys(const struct torture_op *o, struct survey *seen, u32 nr)
{
	u32 i;

	if (o->own)
		seen->own_keys += nr;
	for (i = 0; i < nr && !o->own; i++)
		__set_bit(seen->specs[i].key.v[1] % TORTURE_KEYS, seen->keys);
}

static void survey_op(struct torture_purgatory *p, struct torture_op *o, struct survey *seen)
{
	struct twheel_op_progress progress;
	bool due = op_due(o);

	if (twheel_op_get_progress(&o->op, &progress, seen->specs, TWHEEL_MAX_KEYS))
		return;
	check_pending(p, o, due);
	if (!o->shared_deadline && !o->has_cell && progress.deadline != o->deadline)
		op_fail(FAIL_RESULT, o, "pending with a wrong deadline");
	count_keys(o, seen, progress.nr_keys);
	seen->ops++;
	seen->watches += progress.nr_keys;
	seen->near += is_near(o, &progress);
}

static void survey(struct torture_purgatory *p, struct survey *seen)
{
	struct twheel_op_iter iter;
	struct twheel_op *op;

	memset(seen, 0, sizeof(*seen));
	twheel_op_iter_start(&iter, p->purgatory);
	while ((op = twheel_op_iter_next(&iter)))
		survey_op(p, container_of(op, struct torture_op, op), seen);
	twheel_op_iter_end(&iter);
}

static u64 all_ended(const struct twheel_purgatory_stats *stats)
{
	return stats->ended[TWHEEL_REASON_COMPLETED] + stats->ended[TWHEEL_REASON_EXPIRED] +
	       stats->ended[TWHEEL_REASON_CANCELLED];
}

void purgatory_flush_wheels(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++)
		twheel_flush(p->wheel[i]);
}

/*
 * Check an idle purgatory, in which only deadlines still expire: no pending operation is
 * due, and the counts match a walk if no operation has ended during the walk.
 */
void purgatory_inspect(struct torture_purgatory *p)
{
	struct survey *seen = kmalloc(sizeof(*seen), GFP_KERNEL);
	struct twheel_purgatory_stats before, after, last;

	if (!seen)
		return;
	twheel_purgatory_get_stats(p->purgatory, &before);
	survey(p, seen);
	purgatory_flush_wheels(p);
	twheel_purgatory_get_stats(p->purgatory, &after);
	/* An operation without keys in the table that has not been counted as ended. */
	purgatory_flush_wheels(p);
	twheel_purgatory_get_stats(p->purgatory, &last);
	if (all_ended(&before) == all_ended(&last)) {
		expect_count(p, "pending", after.pending, seen->ops);
		expect_count(p, "watches", after.watches, seen->watches);
		expect_count(p, "keys", after.keys,
			     seen->own_keys + bitmap_weight(seen->keys, TORTURE_KEYS));
		expect_count(p, "added less ended",
			     after.added - all_ended(&after), seen->ops);
	}
	kfree(seen);
}

static bool any_near(struct torture_purgatory *p)
{
	struct survey *seen = kmalloc(sizeof(*seen), GFP_KERNEL);
	bool any = false;

	if (seen) {
		survey(p, seen);
		any = seen->near;
	}
	kfree(seen);
	return any;
}

/* Wait until no operation is_near(). */
void purgatory_wait_for_near(struct torture_purgatory *p)
{
	u64 limit = ktime_get_ns() + NSEC_PER_SEC + TORTURE_LOST_NS;

	while (any_near(p)) {
		if (ktime_get_ns() > limit) {
			torture_fail(FAIL_LOST, NULL, "an operation has not expired in time");
			return;
		}
		usleep_range(500, 2000);
	}
}

/* Add an operation, which must fail unless it @fits. Return: false if out of memory. */
static bool fill(struct torture_purgatory *p, const struct torture_caller *c, u32 nr_keys,
		 bool fits)
{
	struct torture_op *o = op_create_idle(p, c, nr_keys);
	int err;

	if (!o)
		return false;
	err = op_add(o, c);
	if (err < 0)
		twheel_op_put(&o->op);
	if (err != -ENOMEM && fits != !err)
		op_fail(FAIL_COUNTS, o, "limit on operations or watches is not exact");
	op_account_put(o);
	return err != -ENOMEM;
}

/* In an empty purgatory, check that the limits on operations and watches are exact. */
void purgatory_check_limits(struct torture_purgatory *p, struct torture_thread *thread)
{
	const struct torture_caller c = { .rng = &thread->rng, .may_sleep = true };
	bool full = p->max_pending;
	u32 left, nr;

	for (left = p->max_pending; left; left--) {
		/* With KASAN and lockdep, all adds together may take as long as a stall. */
		torture_step(thread, "check limits");
		full &= fill(p, &c, 0, true);
	}
	if (full)
		fill(p, &c, 0, false);
	torture_step(thread, "check limits");
	purgatory_complete_all(p, c.rng);
	full = p->max_watches;
	for (left = p->max_watches; left; left -= nr) {
		torture_step(thread, "check limits");
		nr = min_t(u32, left, TWHEEL_MAX_KEYS);
		full &= fill(p, &c, nr, true);
	}
	if (full)
		fill(p, &c, 1, false);
	torture_step(thread, "check limits");
	purgatory_complete_all(p, c.rng);
}

static void expect_tickets(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_TICKETS; i++) {
		expect_count(p, "operations completed by a call, less its result",
			     atomic_read(&p->ticket[i]), 0);
		atomic_set(&p->ticket[i], 0);
	}
	expect_count(p, "operations ended by complete_all errors, less the results",
		     atomic_read(&p->complete_all_errors), 0);
	expect_count(p, "cancelled operations, less the results", atomic_read(&p->unclaimed), 0);
	atomic_set(&p->complete_all_errors, 0);
	atomic_set(&p->unclaimed, 0);
}

/* The wheels of a drained purgatory must be empty, too. */
static void expect_wheel(struct torture_purgatory *p, struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	expect_count(p, "pending on the wheel", stats.pending, 0);
	expect_count(p, "added to the wheel", stats.added, stats.fired + stats.cancelled);
}

/* Check a drained purgatory, after all references to its operations were dropped. */
void purgatory_check_empty(struct torture_purgatory *p)
{
	struct twheel_purgatory_stats now, *before = &p->before;
	unsigned int i;

	twheel_purgatory_get_stats(p->purgatory, &now);
	expect_count(p, "pending at the end", now.pending, 0);
	expect_count(p, "watches at the end", now.watches, 0);
	expect_count(p, "keys at the end", now.keys, 0);
	expect_count(p, "not released at the end", atomic_read(&p->alive), 0);
	expect_count(p, "added", now.added, atomic64_read(&p->added) - before->added);
	expect_count(p, "total added", now.added, all_ended(&now));
	expect_count(p, "rejected", now.rejected,
		     atomic64_read(&p->rejected) - before->rejected);
	for (i = TWHEEL_REASON_COMPLETED; i <= TWHEEL_REASON_CANCELLED; i++)
		expect_count(p, "ended for one reason", now.ended[i],
			     atomic64_read(&p->ended[i]) - before->ended[i]);
	expect_tickets(p);
	for (i = 0; i < TORTURE_WHEELS; i++)
		expect_wheel(p, p->wheel[i]);
}
