// SPDX-License-Identifier: GPL-2.0
/*
 * What is seen of a purgatory when nobody works on it any more, and what must be
 * left of it in the end, which is nothing.
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

/* What a walk over all operations comes by. Of keys, which are those that are shared. */
struct survey {
	u64 ops;
	u64 watches;
	u64 own_keys;
	u64 near;
	DECLARE_BITMAP(keys, TORTURE_KEYS);
	struct twheel_watch_spec specs[TWHEEL_MAX_KEYS];
};

static void expect_count(const struct torture_purgatory *p, const char *name, s64 theirs,
			 s64 ours)
{
	if (theirs == ours)
		return;
	if (torture_tell(WRONG_COUNTS, name))
		pr_err("  purgatory %u: %s is %lld, and should be %lld\n",
		       p->number, name, theirs, ours);
}

/* Whether it is going to expire soon. */
static bool is_near(const struct torture_op *o, const struct twheel_op_progress *progress)
{
	return !by_wall_clock(o) && progress->remaining < NSEC_PER_SEC;
}

/* It waits, and was @due before that was seen. */
static void judge_waiting(struct torture_purgatory *p, struct torture_op *o, bool due)
{
	if (due)
		wrong_op(WRONG_LOST, o, "it still waits, and everybody has gone");
	else if (!o->added)
		wrong_op(WRONG_ANSWER, o, "it waits, and was not added");
	else if (atomic64_read(&p->alls) != o->alls)
		wrong_op(WRONG_LOST, o, "it still waits, and all were completed");
	if (atomic_read(&o->released))
		wrong_op(WRONG_AFTER, o, "it waits, and was released");
}

static void count_keys(const struct torture_op *o, struct survey *seen, u32 nr)
{
	u32 i;

	if (o->own)
		seen->own_keys += nr;
	for (i = 0; i < nr && !o->own; i++)
		__set_bit(seen->specs[i].key.v[1] % TORTURE_KEYS, seen->keys);
}

static void look_at(struct torture_purgatory *p, struct torture_op *o, struct survey *seen)
{
	struct twheel_op_progress progress;
	bool due = op_due(o);

	if (twheel_op_progress(&o->op, &progress, seen->specs, TWHEEL_MAX_KEYS))
		return;
	judge_waiting(p, o, due);
	if (!o->loose && progress.deadline != o->deadline)
		wrong_op(WRONG_ANSWER, o, "it waits for another time");
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
		look_at(p, container_of(op, struct torture_op, op), seen);
	twheel_op_iter_end(&iter);
}

static u64 all_ended(const struct twheel_purgatory_stats *stats)
{
	return stats->ended[TWHEEL_COMPLETED] + stats->ended[TWHEEL_EXPIRED] +
	       stats->ended[TWHEEL_CANCELLED];
}

/*
 * Nothing happens any more but that deadlines come: whoever is due has ended, and the
 * counts are those of what is seen, if none has ended while we looked.
 */
void purgatory_inspect(struct torture_purgatory *p)
{
	struct survey *seen = kmalloc(sizeof(*seen), GFP_KERNEL);
	struct twheel_purgatory_stats before, after;
	unsigned int i;

	if (!seen)
		return;
	twheel_purgatory_stats(p->purgatory, &before);
	survey(p, seen);
	for (i = 0; i < TORTURE_WHEELS; i++)
		twheel_flush(p->wheel[i]);
	twheel_purgatory_stats(p->purgatory, &after);
	if (all_ended(&before) == all_ended(&after)) {
		expect_count(p, "pending", after.pending, seen->ops);
		expect_count(p, "watches", after.watches, seen->watches);
		expect_count(p, "keys", after.keys,
			     seen->own_keys + bitmap_weight(seen->keys, TORTURE_KEYS));
		expect_count(p, "what was added and has not ended",
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

/* Whoever is going to expire soon does so. */
void purgatory_await_near(struct torture_purgatory *p)
{
	u64 limit = ktime_get_ns() + NSEC_PER_SEC + TORTURE_LOST_NS;

	while (any_near(p)) {
		if (ktime_get_ns() > limit) {
			torture_wrong(WRONG_LOST, NULL, "it was near, and has not expired");
			return;
		}
		usleep_range(500, 2000);
	}
}

/* Add an operation, which must be refused unless it fits. False if there was no memory. */
static bool fill(struct torture_purgatory *p, const struct torture_caller *c, u32 nr_keys,
		 bool fits)
{
	struct torture_op *o = op_make_idle(p, c, nr_keys);
	int err;

	if (!o)
		return false;
	err = op_add(o, c);
	if (err < 0)
		twheel_op_put(&o->op);
	if (err != -ENOMEM && fits != !err)
		wrong_op(WRONG_COUNTS, o, "of what may wait");
	op_account_put(o);
	return err != -ENOMEM;
}

/* Nothing waits: as much as may can wait again, and no more. */
void purgatory_expect_room(struct torture_purgatory *p, struct rnd_state *rng)
{
	const struct torture_caller c = { .rng = rng, .may_sleep = true };
	bool full = p->max_pending;
	u32 left, nr;

	for (left = p->max_pending; left; left--)
		full &= fill(p, &c, 0, true);
	if (full)
		fill(p, &c, 0, false);
	purgatory_complete_all(p, rng);
	full = p->max_watches;
	for (left = p->max_watches; left; left -= nr) {
		nr = min_t(u32, left, TWHEEL_MAX_KEYS);
		full &= fill(p, &c, nr, true);
	}
	if (full)
		fill(p, &c, 1, false);
	purgatory_complete_all(p, rng);
}

static void expect_tickets(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_TICKETS; i++) {
		expect_count(p, "what ended by a call, less its answer",
			     atomic_read(&p->ticket[i]), 0);
		atomic_set(&p->ticket[i], 0);
	}
	expect_count(p, "what ended by an error for all, less the answers",
		     atomic_read(&p->all_errors), 0);
	expect_count(p, "what was cancelled, less the answers", atomic_read(&p->unclaimed), 0);
	atomic_set(&p->all_errors, 0);
	atomic_set(&p->unclaimed, 0);
}

/* Its wheels are empty, too. */
static void expect_wheel(struct torture_purgatory *p, struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_stats(wheel, &stats);
	expect_count(p, "pending on the wheel", stats.pending, 0);
	expect_count(p, "added to the wheel", stats.added, stats.fired + stats.cancelled);
}

/* It is drained, and nobody has an operation of it in hand. */
void purgatory_expect_nothing(struct torture_purgatory *p)
{
	struct twheel_purgatory_stats now, *before = &p->before;
	unsigned int i;

	twheel_purgatory_stats(p->purgatory, &now);
	expect_count(p, "pending in the end", now.pending, 0);
	expect_count(p, "watches in the end", now.watches, 0);
	expect_count(p, "keys in the end", now.keys, 0);
	expect_count(p, "not released in the end", atomic_read(&p->alive), 0);
	expect_count(p, "added", now.added, atomic64_read(&p->added) - before->added);
	expect_count(p, "added and not ended", now.added, all_ended(&now));
	expect_count(p, "rejected", now.rejected,
		     atomic64_read(&p->rejected) - before->rejected);
	for (i = TWHEEL_COMPLETED; i <= TWHEEL_CANCELLED; i++)
		expect_count(p, "ended by a reason", now.ended[i],
			     atomic64_read(&p->ended[i]) - before->ended[i]);
	expect_tickets(p);
	for (i = 0; i < TORTURE_WHEELS; i++)
		expect_wheel(p, p->wheel[i]);
}
