// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls on operations, from threads, softirqs and callbacks. Only threads may sleep.
 *
 * A slot makes an operation reachable, from before its add until another operation
 * replaces it. Half of the calls use the first slots, so that calls on one operation
 * race. Other calls signal and check the shared keys directly.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "purgatory.h"

/* Half of the calls on keys use these, to increase contention. */
#define HOT_KEYS	4

/*
 * Operations that are added at once: with one common key, enough for a signal to take
 * several chunks; or each with as many keys as possible, so that the hash table grows.
 */
#define SAME_KEY_OPS		100
#define MANY_KEYS_OPS		10

/* Half of the time all workers use the same purgatory, which changes after this period. */
#define SHARED_PERIOD		(HZ / 4)

/* A softirq starts no more calls after this time. */
#define SOFTIRQ_NS		(200 * NSEC_PER_USEC)
#define SOFTIRQ_PAUSE_NS	(12 * NSEC_PER_MSEC)

/* Some operations are cancelled when there are this many. */
static int max_ops(void)
{
	return max(256, 2 * (int)torture_nr_slots);
}

/* Slots */

/* Return: the operation in a slot, with a reference, or NULL. */
struct torture_op *slot_get(struct torture_slot *slot)
{
	struct torture_op *o;

	spin_lock_bh(&slot->lock);
	o = slot->op;
	if (o)
		twheel_op_get(&o->op);
	spin_unlock_bh(&slot->lock);
	return o;
}

/* Put an operation into a slot. Return: the old operation, with its reference. */
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

	for (slot = p->slot; slot < p->slot + torture_nr_slots; slot++) {
		o = slot_swap(slot, NULL);
		if (o)
			twheel_op_put(&o->op);
	}
}

/* Replace the operation in a slot. Mostly cancel the old one, which is unreachable now. */
static void replace(struct torture_slot *slot, struct torture_op *o, struct rnd_state *rng)
{
	struct torture_op *old = slot_swap(slot, o);

	if (!old)
		return;
	if (!atomic_read(&old->ended) && torture_below(rng, 8))
		op_cancel(old);
	twheel_op_put(&old->op);
}

/* Calls on a single operation */

/* Complete a pending operation. Its callback does the same, until the stack is deep. */
void purgatory_chain(struct torture_purgatory *p, struct rnd_state *rng)
{
	u32 first = torture_below(rng, torture_nr_slots), i;
	struct torture_op *o = NULL;

	for (i = 0; i < torture_nr_slots && !o; i++) {
		o = slot_get(&p->slot[(first + i) % torture_nr_slots]);
		if (o && (!READ_ONCE(o->added) || READ_ONCE(o->known_ended))) {
			twheel_op_put(&o->op);
			o = NULL;
		}
	}
	if (!o)
		return;
	op_complete(o);
	twheel_op_put(&o->op);
}

/* Have the condition checked, by a key of the operation or directly. */
static void recheck(struct torture_op *o, const struct torture_caller *c)
{
	struct torture_key *key;

	if (!o->nr_want || !torture_below(c->rng, 3)) {
		op_try_complete(o);
		return;
	}
	key = o->want[torture_below(c->rng, o->nr_want)].key;
	if (torture_below(c->rng, 2))
		key_signal(o->p, key, c);
	else
		key_check(o->p, key, c);
}

/* Calls that mostly leave the operation pending. */
static void random_op_call(struct torture_op *o, const struct torture_caller *c)
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
		op_check_progress(o);
		break;
	case 7 ... 9:
		op_hold(o);
		break;
	default:
		if (!torture_below(c->rng, 2))
			op_hold(o);
		recheck(o, c);
		break;
	}
}

static void end_op(struct torture_op *o, const struct torture_caller *c)
{
	switch (torture_below(c->rng, 6)) {
	case 0:
		op_complete(o);
		break;
	case 5:
		op_expire(o);
		break;
	case 1:
		op_complete_error(o, c->rng);
		break;
	case 2:
		op_cancel(o);
		break;
	case 3:
		if (o->own && o->nr_want)
			key_cancel(o->p, o->want[0].key, c);
		break;
	default:
		if (c->may_sleep)
			op_cancel_sync(o);
		break;
	}
}

static void work_on(struct torture_op *o, const struct torture_caller *c)
{
	u32 n;

	if (!op_enter(o))
		return;
	for (n = 1 + torture_below(c->rng, 4); n; n--)
		random_op_call(o, c);
	if (!torture_below(c->rng, 4))
		end_op(o, c);
	op_leave(o);
}

/* Add an orphan. It may be released before its add has returned. */
static void add_orphan(struct torture_op *o, const struct torture_caller *c)
{
	if (op_add(o, c) < 0)
		twheel_op_put(&o->op);
}

static void add_op(struct torture_purgatory *p, struct torture_slot *slot,
		   const struct torture_caller *c)
{
	struct torture_op *o;

	/* Many pending operations would slow down all calls on their keys. */
	if (atomic_read(&p->alive) >= max_ops())
		key_cancel(p, &p->key[torture_below(c->rng, HOT_KEYS)], c);
	o = op_create(p, c);
	if (!o)
		return;
	if (o->orphan) {
		add_orphan(o, c);
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

static void random_slot_call(struct torture_purgatory *p, const struct torture_caller *c)
{
	u32 nr = torture_below(c->rng, 2) ? HOT_SLOTS : torture_nr_slots;
	struct torture_slot *slot = &p->slot[torture_below(c->rng, nr)];
	struct torture_op *o = slot_get(slot);

	if (!o || atomic_read(&o->ended) || READ_ONCE(o->refused) || !torture_below(c->rng, 16))
		add_op(p, slot, c);
	else
		work_on(o, c);
	if (o)
		twheel_op_put(&o->op);
}

/* A random call on a shared key. */
static void random_key_call(struct torture_purgatory *p, const struct torture_caller *c)
{
	u32 nr = torture_below(c->rng, 2) ? HOT_KEYS : TORTURE_KEYS;
	struct torture_key *key = &p->key[torture_below(c->rng, nr)];
	u32 choice = torture_below(c->rng, 32);

	if (!choice)
		key_cancel(p, key, c);
	else if (choice < 16)
		key_check(p, key, c);
	else
		key_signal(p, key, c);
}

/* A random call that is safe in any context. */
void purgatory_random_call(struct torture_purgatory *p, const struct torture_caller *c)
{
	if (torture_below(c->rng, 4))
		random_slot_call(p, c);
	else
		random_key_call(p, c);
}

/* Workers */

/* The counts must be plausible even while calls are in progress. */
static void read_stats(struct torture_purgatory *p)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(p->purgatory, &stats);
	if (stats.pending > INT_MAX || stats.keys > INT_MAX || stats.watches > INT_MAX)
		torture_fail(FAIL_COUNTS, NULL, "a negative count");
}

/* Add many orphans with one key, or some with many keys, which stay pending. */
static void add_many(struct torture_purgatory *p, const struct torture_caller *c)
{
	struct torture_key *key = torture_below(c->rng, 2) ?
				  &p->key[torture_below(c->rng, HOT_KEYS)] : NULL;
	unsigned int n, nr = key ? SAME_KEY_OPS : MANY_KEYS_OPS;
	struct torture_op *o;

	for (n = 0; n < nr && atomic_read(&p->alive) < max_ops(); n++) {
		o = op_create_patient(p, c, key);
		if (!o)
			return;
		add_orphan(o, c);
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
		torture_step(thread, "read stats");
		read_stats(p);
		break;
	case 13:
		torture_step(thread, "add many");
		add_many(p, &c);
		break;
	default:
		torture_step(thread, "random call");
		purgatory_random_call(p, &c);
		break;
	}
}

static struct torture_purgatory *pick_purgatory(struct rnd_state *rng)
{
	u32 nr = torture_below(rng, 2) ? torture_below(rng, torture_nr_purgatories) :
					  jiffies / SHARED_PERIOD % torture_nr_purgatories;

	return &torture_purgatories[nr];
}

/* Thread function: works on random purgatories. */
void purgatory_worker(struct torture_thread *thread)
{
	struct torture_purgatory *p;
	unsigned int n;
	bool open;

	while (!torture_should_stop()) {
		p = pick_purgatory(&thread->rng);
		torture_step(thread, "pick a purgatory");
		open = down_read_trylock(&p->gate);
		if (open) {
			for (n = torture_below(&thread->rng, 32); n && p->purgatory; n--)
				work(thread, p);
			up_read(&p->gate);
		}
		torture_pause(thread, !open);
	}
}

/*
 * A worker in softirq context; its timer re-arms itself. The interval leaves most of the
 * CPU time to threads, even on a slow machine.
 */
enum hrtimer_restart purgatory_softirq(struct hrtimer *timer)
{
	struct torture_softirq *s = container_of(timer, struct torture_softirq, timer);
	const struct torture_caller c = { .rng = &s->rng };
	u64 begin = ktime_get_ns(), end;
	unsigned int n;

	for (n = torture_below(&s->rng, 64); n && ktime_get_ns() - begin < SOFTIRQ_NS; n--)
		purgatory_random_call(s->p, &c);
	end = ktime_get_ns() + 20 * (ktime_get_ns() - begin);
	hrtimer_start(timer, ns_to_ktime(end + torture_below(&s->rng, SOFTIRQ_PAUSE_NS)),
		      HRTIMER_MODE_ABS_SOFT);
	return HRTIMER_NORESTART;
}
