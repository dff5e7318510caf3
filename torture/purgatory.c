// SPDX-License-Identifier: GPL-2.0
/*
 * A torture of layer 5, operations and purgatories, beside that of the timers.
 *
 * Threads, softirqs and the operations' own callbacks add, ask, signal, complete,
 * cancel, re-arm and reshape operations of all kinds of condition, one by one and
 * by the keys that they share, while their deadlines come, and while the purgatories
 * are drained, ended and made anew.  What has to hold:
 *
 *	- an operation that was added ends once, by one of those who may end
 *	  it, and each call answers with exactly those that ended by it
 *	- not before its condition can hold, nor before its deadline; and
 *	  not never, if its condition does hold or its deadline has come
 *	- its predicate runs neither beside itself, nor beside nor after its
 *	  callback; after a cancel that waits, and a drain, that has returned
 *	- it is released once, and not touched after
 *	- when nobody works on it, a purgatory counts what is there, and in the end
 *	  nothing
 *
 *	purgatory.c		purgatories, made and ended
 *	purgatory_end.c		what is left of them
 *	purgatory_op.c		operations: their callbacks, and their release
 *	purgatory_judge.c	whether one may, or must, have ended
 *	purgatory_call.c	calls that end one
 *	purgatory_shape.c	calls that change what one waits for
 *	purgatory_key.c		calls that meet many
 *	purgatory_load.c	what is done to all of them
 *
 * A round of a purgatory ends in one of these ways:
 *
 *	drain	while workers and callbacks go on
 *	rest	no more is done, and what is there is looked at
 *	wait	likewise, and what expires soon is waited for
 *	all	likewise, all are completed, and there is room for as many again
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "purgatory.h"

/* Each has wheels of its own, of which there are not any number. */
#define MOST_PURGATORIES	16

struct torture_purgatory *torture_purgatories;
unsigned int torture_nr_purgatories;

/* Beginning */

/* The system's wheels have their counts compared, so that it is always another. */
static struct twheel *random_wheel(enum twheel_clock clock, struct rnd_state *rng)
{
	const struct twheel_config config = {
		.name		= "twheel_p",
		.tick_ns	= 1000ULL << torture_below(rng, 14),
		.slots		= 2 + torture_below(rng, 80),
		.shards		= 1 + torture_below(rng, 4),
		.clock		= clock,
	};

	return twheel_create(&config);
}

/* Limits that are met now and then, in some purgatories. */
static struct twheel_purgatory *random_purgatory(struct torture_purgatory *p,
						 struct rnd_state *rng)
{
	bool few_ops = !torture_below(rng, 4), few_watches = !torture_below(rng, 4);
	const struct twheel_purgatory_config config = {
		.name		= torture_below(rng, 2) ? "torture" : NULL,
		.wheel		= p->wheel[0],
		.max_pending	= few_ops ? 8 + torture_below(rng, 32) : 1 << 30,
		.max_watches	= few_watches ? 32 + torture_below(rng, 128) : 0,
	};

	p->max_pending = few_ops ? config.max_pending : 0;
	p->max_watches = config.max_watches;
	return twheel_purgatory_create(&config);
}

static void end_wheels(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++) {
		twheel_destroy(p->wheel[i]);
		p->wheel[i] = NULL;
	}
}

static int make_wheels(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++) {
		p->clock[i] = torture_below(rng, TWHEEL_CLOCK_REALTIME + 1);
		wheel = random_wheel(p->clock[i], rng);
		if (IS_ERR(wheel)) {
			end_wheels(p);
			return PTR_ERR(wheel);
		}
		p->wheel[i] = wheel;
	}
	return 0;
}

static int make(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct twheel_purgatory *purgatory;
	int err;

	err = make_wheels(p, rng);
	if (err)
		return err;
	purgatory = random_purgatory(p, rng);
	if (IS_ERR(purgatory)) {
		end_wheels(p);
		return PTR_ERR(purgatory);
	}
	p->purgatory = purgatory;
	return 0;
}

/* The books go on from round to round, for the report. */
static void open_account(struct torture_purgatory *p)
{
	unsigned int i;

	p->draining = false;
	p->drained = false;
	p->closing = false;
	p->before.added = atomic64_read(&p->added);
	p->before.rejected = atomic64_read(&p->rejected);
	for (i = TWHEEL_COMPLETED; i <= TWHEEL_CANCELLED; i++)
		p->before.ended[i] = atomic64_read(&p->ended[i]);
	for (i = 0; i < TORTURE_KEYS; i++)
		torture_key_init(&p->key[i], 0, i);
}

static void begin(struct torture_purgatory *p, struct rnd_state *rng)
{
	unsigned int i;
	int err;

	open_account(p);
	err = make(p, rng);
	if (err) {
		if (err != -ENOMEM)
			torture_wrong(WRONG_ANSWER, NULL, "a purgatory could not be made");
		return;
	}
	atomic64_inc(&p->rounds);
	for (i = 0; i < TORTURE_SOFTIRQS; i++)
		mod_timer(&p->softirq[i].timer, jiffies + i);
}

/* End */

static void stop_softirqs(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_SOFTIRQS; i++)
		timer_delete_sync(&p->softirq[i].timer);
}

static void flush_wheels(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++)
		twheel_flush(p->wheel[i]);
}

/* From here on nothing is done to it, but by its deadlines. */
static void let_it_rest(struct torture_purgatory *p)
{
	down_write(&p->gate);
	stop_softirqs(p);
	WRITE_ONCE(p->closing, true);
	flush_wheels(p);
}

/* Drain it, of what is there; @most if more than that can't be. */
static void drain_it(struct torture_purgatory *p, u32 most)
{
	u32 nr;

	WRITE_ONCE(p->draining, true);
	nr = twheel_purgatory_drain(p->purgatory);
	WRITE_ONCE(p->drained, true);
	smp_mb();	/* pairs with the increment in each callback */
	if (atomic_read(&p->inside))
		torture_wrong(WRONG_AFTER, NULL, "a callback is on its way after the drain");
	if (nr > most)
		torture_wrong(WRONG_ANSWER, NULL, "of drain");
	atomic_sub(nr, &p->unclaimed);
	if (twheel_purgatory_drain(p->purgatory))
		torture_wrong(WRONG_ANSWER, NULL, "of the second drain");
}

static void complete_them(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct twheel_purgatory_stats stats;

	purgatory_complete_all(p, rng);
	/* A reaper that expires an operation unlists it first, and counts it off then. */
	flush_wheels(p);
	twheel_purgatory_stats(p->purgatory, &stats);
	if (stats.pending)
		torture_wrong(WRONG_LOST, NULL, "some wait after all were completed");
	purgatory_expect_room(p, rng);
}

static void rest(struct torture_purgatory *p, struct torture_thread *thread)
{
	u32 way = torture_below(&thread->rng, 3);

	torture_step(thread, "wait for workers");
	let_it_rest(p);
	torture_step(thread, "inspect");
	purgatory_inspect(p);
	if (way == 1) {
		torture_step(thread, "wait for deadlines");
		purgatory_await_near(p);
	} else if (way == 2) {
		torture_step(thread, "complete all");
		complete_them(p, &thread->rng);
	}
	torture_step(thread, "drain");
	drain_it(p, way == 2 ? 0 : U32_MAX);
}

static void end(struct torture_purgatory *p, struct torture_thread *thread)
{
	bool busy = torture_below(&thread->rng, 2);

	if (busy) {
		torture_step(thread, "drain");
		drain_it(p, U32_MAX);
		torture_step(thread, "wait for workers");
		let_it_rest(p);
	} else {
		rest(p, thread);
	}
	torture_step(thread, "empty");
	slots_empty(p);
	purgatory_expect_nothing(p);
	graves_free(p, 0);
	if (torture_verbose)
		pr_info("purgatory %u: drained %s after %lld operations\n", p->number,
			busy ? "in use" : "at rest",
			atomic64_read(&p->added) - (s64)p->before.added);
	torture_step(thread, "destroy");
	twheel_purgatory_destroy(p->purgatory);
	end_wheels(p);
	p->purgatory = NULL;
	up_write(&p->gate);
}

/* Many short rounds, and most of the time in long ones: to begin and to end take theirs. */
static u32 any_length(struct rnd_state *rng)
{
	return torture_below(rng, 2) ? 100 : 2000;
}

/* A thread that makes and ends purgatories, one after the other. */
void purgatory_keeper(struct torture_thread *thread)
{
	struct torture_purgatory *p = thread->purgatory;

	while (!torture_over()) {
		torture_step(thread, "begin");
		down_write(&p->gate);
		begin(p, &thread->rng);
		up_write(&p->gate);
		torture_nap(20 + torture_below(&thread->rng, any_length(&thread->rng)));
		if (p->purgatory)
			end(p, thread);
	}
}

/* Places */

static void set_up(struct torture_purgatory *p, unsigned int number)
{
	unsigned int i;

	init_rwsem(&p->gate);
	mutex_init(&p->walking);
	spin_lock_init(&p->grave_lock);
	INIT_LIST_HEAD(&p->grave);
	p->number = number;
	for (i = 0; i < TORTURE_SLOTS; i++)
		spin_lock_init(&p->slot[i].lock);
	for (i = 0; i < TORTURE_SOFTIRQS; i++) {
		p->softirq[i].p = p;
		torture_seed(&p->softirq[i].rng, 2000000 + 100 * number + i);
		timer_setup(&p->softirq[i].timer, purgatory_softirq, 0);
	}
}

int purgatories_set_up(unsigned int nr)
{
	unsigned int i;
	int err;

	if (!nr)
		return 0;
	err = calls_set_up();
	if (err)
		return err;
	nr = min_t(unsigned int, nr, MOST_PURGATORIES);
	torture_purgatories = kvcalloc(nr, sizeof(*torture_purgatories), GFP_KERNEL);
	if (!torture_purgatories) {
		calls_tear_down();
		return -ENOMEM;
	}
	torture_nr_purgatories = nr;
	for (i = 0; i < nr; i++)
		set_up(&torture_purgatories[i], i);
	return 0;
}

void purgatories_tear_down(void)
{
	if (!torture_nr_purgatories)
		return;
	kvfree(torture_purgatories);
	calls_tear_down();
}
