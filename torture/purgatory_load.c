// SPDX-License-Identifier: GPL-2.0
/*
 * What the torture does to operations: the workers, in threads and in softirqs,
 * and the callbacks of operations, all do the same, but that only threads may sleep.
 *
 * An operation is found in a slot, from before it is added until another takes
 * its place.  Half of the time it is the first slots, so that calls on one operation
 * meet.  Keys that operations share are told things on their own.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "purgatory.h"

/* Half of what is done goes to these, so that threads meet. */
#define HOT_SLOTS	2
#define HOT_KEYS	4

/* When there are so many, some are cancelled. */
#define MOST_OPS	256

/*
 * So many come at once under one key: a walk of it takes several chunks. And so many under as
 * many keys as they may watch: buckets follow.
 */
#define CROWD		100
#define SPREAD		10

/* And half of the time all workers go to the same purgatory, for so long. */
#define MEETING		(HZ / 4)

/* A softirq begins nothing more after this long. */
#define SOFTIRQ_NS	(200 * NSEC_PER_USEC)

/* Slots */

static struct torture_op *slot_get(struct torture_slot *slot)
{
	struct torture_op *o;

	spin_lock_bh(&slot->lock);
	o = slot->op;
	if (o)
		twheel_op_get(&o->op);
	spin_unlock_bh(&slot->lock);
	return o;
}

/* Put an operation into a slot; the one that was there, with its reference. */
static struct torture_op *slot_swap(struct torture_slot *slot, struct torture_op *o)
{
	struct torture_op *old;

	if (o)
		twheel_op_get(&o->op);
	spin_lock_bh(&slot->lock);
	old = slot->op;
	slot->op = o;
	spin_unlock_bh(&slot->lock);
	return old;
}

void slots_empty(struct torture_purgatory *p)
{
	struct torture_slot *slot;
	struct torture_op *o;

	for (slot = p->slot; slot < p->slot + TORTURE_SLOTS; slot++) {
		o = slot_swap(slot, NULL);
		if (o)
			twheel_op_put(&o->op);
	}
}

/* A new one takes the place: mostly nobody is left who might end the old one. */
static void replace(struct torture_slot *slot, struct torture_op *o, struct rnd_state *rng)
{
	struct torture_op *old = slot_swap(slot, o);

	if (!old)
		return;
	if (!atomic_read(&old->ended) && torture_below(rng, 8))
		op_cancel(old);
	twheel_op_put(&old->op);
}

/* On one operation */

/* End any that waits; its callback does the same, until the stack is deep. */
void purgatory_chain(struct torture_purgatory *p, struct rnd_state *rng)
{
	u32 first = torture_below(rng, TORTURE_SLOTS), i;
	struct torture_op *o = NULL;

	for (i = 0; i < TORTURE_SLOTS && !o; i++) {
		o = slot_get(&p->slot[(first + i) % TORTURE_SLOTS]);
		if (o && (!READ_ONCE(o->added) || READ_ONCE(o->over))) {
			twheel_op_put(&o->op);
			o = NULL;
		}
	}
	if (!o)
		return;
	op_complete(o);
	twheel_op_put(&o->op);
}

/* Ask for it by one of the keys that it was added with, or by itself. */
static void ask(struct torture_op *o, const struct torture_caller *c)
{
	struct torture_key *key;

	if (!o->nr_want || !torture_below(c->rng, 3)) {
		op_try(o);
		return;
	}
	key = o->want[torture_below(c->rng, o->nr_want)].key;
	if (torture_below(c->rng, 2))
		signal_key(o->p, key, c);
	else
		check_key(o->p, key, c);
}

/* Calls that leave it waiting, mostly. */
static void work_with(struct torture_op *o, const struct torture_caller *c)
{
	switch (torture_below(c->rng, 16)) {
	case 0 ... 3:
		op_rearm(o, c->rng);
		break;
	case 4:
		op_watch(o, c);
		break;
	case 5:
		op_unwatch(o, c->rng);
		break;
	case 6:
		op_look(o);
		break;
	case 7 ... 9:
		op_hold(o);
		break;
	default:
		if (!torture_below(c->rng, 2))
			op_hold(o);
		ask(o, c);
		break;
	}
}

static void end_it(struct torture_op *o, const struct torture_caller *c)
{
	switch (torture_below(c->rng, 6)) {
	case 0:
		op_complete(o);
		break;
	case 5:
		op_expire(o);
		break;
	case 1:
		op_fail(o, c->rng);
		break;
	case 2:
		op_cancel(o);
		break;
	case 3:
		if (o->own && o->nr_want)
			cancel_key(o->p, o->want[0].key, c);
		break;
	default:
		if (c->may_sleep)
			op_cancel_wait(o);
		break;
	}
}

static void work_on(struct torture_op *o, const struct torture_caller *c)
{
	u32 n;

	if (!op_enter(o))
		return;
	for (n = 1 + torture_below(c->rng, 4); n; n--)
		work_with(o, c);
	if (!torture_below(c->rng, 4))
		end_it(o, c);
	op_leave(o);
}

/* Make one that nobody will find: it may be gone before its add has returned. */
static void send_out(struct torture_op *o, const struct torture_caller *c)
{
	if (op_add(o, c) < 0)
		twheel_op_put(&o->op);
}

static void make(struct torture_purgatory *p, struct torture_slot *slot,
		 const struct torture_caller *c)
{
	struct torture_op *o;

	/* Those that nobody ends would make each call that meets many longer and longer. */
	if (atomic_read(&p->alive) >= MOST_OPS)
		cancel_key(p, &p->key[torture_below(c->rng, HOT_KEYS)], c);
	o = op_make(p, c);
	if (!o)
		return;
	if (o->orphan) {
		send_out(o, c);
	} else {
		if (!torture_below(c->rng, 8))
			op_hold(o);
		replace(slot, o, c->rng);
		if (op_add(o, c) < 0 && (torture_below(c->rng, 2) || op_add(o, c) < 0))
			WRITE_ONCE(o->refused, true);
		op_leave(o);
		twheel_op_put(&o->op);
	}
	op_account_put(o);
}

static void play_with_slot(struct torture_purgatory *p, const struct torture_caller *c)
{
	u32 of = torture_below(c->rng, 2) ? HOT_SLOTS : TORTURE_SLOTS;
	struct torture_slot *slot = &p->slot[torture_below(c->rng, of)];
	struct torture_op *o = slot_get(slot);

	if (!o || atomic_read(&o->ended) || READ_ONCE(o->refused) || !torture_below(c->rng, 16))
		make(p, slot, c);
	else
		work_on(o, c);
	if (o)
		twheel_op_put(&o->op);
}

/* On a key that many share */
static void play_with_key(struct torture_purgatory *p, const struct torture_caller *c)
{
	u32 of = torture_below(c->rng, 2) ? HOT_KEYS : TORTURE_KEYS;
	struct torture_key *key = &p->key[torture_below(c->rng, of)];
	u32 what = torture_below(c->rng, 32);

	if (!what)
		cancel_key(p, key, c);
	else if (what < 16)
		check_key(p, key, c);
	else
		signal_key(p, key, c);
}

/* What can be done from anywhere. */
void purgatory_play(struct torture_purgatory *p, const struct torture_caller *c)
{
	if (torture_below(c->rng, 4))
		play_with_slot(p, c);
	else
		play_with_key(p, c);
}

/* Workers */

/* Nothing that is read may be out of the question, whatever is under way. */
static void look(struct torture_purgatory *p)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_stats(p->purgatory, &stats);
	if (stats.pending > INT_MAX || stats.keys > INT_MAX || stats.watches > INT_MAX)
		torture_wrong(WRONG_COUNTS, NULL, "less than nothing");
}

/* Very many watch one key, or some very many, for as long as nobody ends them. */
static void send_out_crowd(struct torture_purgatory *p, const struct torture_caller *c)
{
	struct torture_key *key = torture_below(c->rng, 2) ?
				  &p->key[torture_below(c->rng, HOT_KEYS)] : NULL;
	unsigned int n, nr = key ? CROWD : SPREAD;
	struct torture_op *o;

	for (n = 0; n < nr && atomic_read(&p->alive) < MOST_OPS; n++) {
		o = op_make_patient(p, c, key);
		if (!o)
			return;
		send_out(o, c);
		op_account_put(o);
	}
}

static void work(struct torture_thread *thread, struct torture_purgatory *p)
{
	const struct torture_caller c = { .rng = &thread->rng, .may_sleep = true };

	switch (torture_below(c.rng, 256)) {
	case 0:
		torture_step(thread, "complete all");
		purgatory_complete_all(p, c.rng);
		break;
	case 1 ... 8:
		torture_step(thread, "walk");
		purgatory_walk(p, c.rng);
		break;
	case 9 ... 12:
		torture_step(thread, "look");
		look(p);
		break;
	case 13:
		torture_step(thread, "send out a crowd");
		send_out_crowd(p, &c);
		break;
	default:
		torture_step(thread, "play");
		purgatory_play(p, &c);
		break;
	}
}

static struct torture_purgatory *meeting_purgatory(struct rnd_state *rng)
{
	u32 nr = torture_below(rng, 2) ? torture_below(rng, torture_nr_purgatories) :
					  jiffies / MEETING % torture_nr_purgatories;

	return &torture_purgatories[nr];
}

/* A thread that works on whatever purgatory it finds. */
void purgatory_worker(struct torture_thread *thread)
{
	struct torture_purgatory *p;
	unsigned int n;
	bool open;

	while (!torture_over()) {
		p = meeting_purgatory(&thread->rng);
		torture_step(thread, "look for a purgatory");
		open = down_read_trylock(&p->gate);
		if (open) {
			for (n = torture_below(&thread->rng, 32); n && p->purgatory; n--)
				work(thread, p);
			up_read(&p->gate);
		}
		torture_rest(thread, !open);
	}
}

/*
 * The same in softirq context, as long as its timer is not stopped. Most of the time
 * is left to those that a softirq keeps waiting, however slow the machine is.
 */
void purgatory_softirq(struct timer_list *timer)
{
	struct torture_softirq *s = container_of(timer, struct torture_softirq, timer);
	const struct torture_caller c = { .rng = &s->rng };
	u64 begin = ktime_get_ns();
	unsigned int n;

	for (n = torture_below(&s->rng, 64); n && ktime_get_ns() - begin < SOFTIRQ_NS; n--)
		purgatory_play(s->p, &c);
	mod_timer(timer, jiffies + torture_below(&s->rng, 3) +
		  nsecs_to_jiffies(20 * (ktime_get_ns() - begin)));
}
