// SPDX-License-Identifier: GPL-2.0
/*
 * Stress test of operations and purgatories, concurrent with that of timers.
 *
 * Threads, softirqs and callbacks add, evaluate, signal, complete, cancel and re-arm
 * operations with all kinds of conditions and change their keys, one by one and by shared
 * keys, while deadlines expire and purgatories are drained, destroyed and created again.
 * The invariants:
 *
 *	- an added operation ends exactly once, and the results of calls match the
 *	  operations that they ended
 *	- an operation does not end before its condition can hold or its deadline has
 *	  come, and it does end once its condition holds or its deadline has come
 *	- a predicate does not run concurrently with itself or with the callback, nor
 *	  after the callback, nor after a synchronous cancel or a drain has returned
 *	- an operation is released once, and not written after that
 *	- the counts of a purgatory are exact while it is idle, and zero at the end
 *
 *	purgatory.c		creates and ends purgatories
 *	purgatory_end.c		checks idle and drained purgatories
 *	purgatory_op.c		operations: creation, callbacks and release
 *	purgatory_check.c	checks whether an operation may, or must, have ended
 *	purgatory_call.c	calls that end an operation
 *	purgatory_change.c	calls that change the deadline or the keys
 *	purgatory_cell.c	programs that change the deadline in a cell
 *	purgatory_key.c		calls that affect many operations
 *	purgatory_load.c	random calls on all of these
 *
 * A round of a purgatory ends in one of these ways:
 *
 *	drain	drain it, while workers and callbacks continue
 *	idle	stop all calls, check the pending operations, then drain
 *	wait	likewise, but let near deadlines expire before the drain
 *	all	likewise, but complete all operations and check the limits
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../twheel/compat.h"
#include "purgatory.h"

/* Each has separate wheels, and the number of wheels is limited. */
#define MAX_PURGATORIES	16
#define MAX_SLOTS	10000

struct torture_purgatory *torture_purgatories;
unsigned int torture_nr_purgatories;
unsigned int torture_nr_slots;

/* Start of a round */

/* Some purgatories get limits that are low enough to be reached. */
static struct twheel_purgatory *random_purgatory(struct torture_purgatory *p,
						 struct rnd_state *rng)
{
	bool few_ops = torture_below(rng, 2), few_watches = !torture_below(rng, 4);
	/* With 512 or more, the lists of the purgatory keep unused quota. */
	u32 few = torture_below(rng, 3) ? 512 + torture_below(rng, 512) :
					  8 + torture_below(rng, 32);
	const struct twheel_purgatory_config config = {
		.name		= torture_below(rng, 2) ? "torture" : NULL,
		.wheel		= p->wheel[0],
		.max_pending	= few_ops ? few : 1 << 30,
		.max_watches	= few_watches ? 32 + torture_below(rng, 128) : 0,
	};

	p->max_pending = few_ops ? config.max_pending : 0;
	p->max_watches = config.max_watches;
	return twheel_purgatory_create(&config);
}

static void destroy_wheels(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++) {
		twheel_destroy(p->wheel[i]);
		p->wheel[i] = NULL;
	}
}

/* Not system wheels: wheels.c checks the counts of these. */
static int create_wheels(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < TORTURE_WHEELS; i++) {
		/* The first one is that of operations without a wheel, not of CLOCK_REALTIME. */
		p->clock[i] = torture_below(rng, i ? TWHEEL_CLOCK_REALTIME + 1 : 2);
		wheel = torture_create_wheel("twheel_p", p->clock[i], 0, rng);
		if (IS_ERR(wheel)) {
			destroy_wheels(p);
			return PTR_ERR(wheel);
		}
		p->wheel[i] = wheel;
	}
	return 0;
}

static int create(struct torture_purgatory *p, struct rnd_state *rng)
{
	struct twheel_purgatory *purgatory;
	int err;

	err = create_wheels(p, rng);
	if (err)
		return err;
	purgatory = random_purgatory(p, rng);
	if (IS_ERR(purgatory)) {
		destroy_wheels(p);
		return PTR_ERR(purgatory);
	}
	p->purgatory = purgatory;
	return 0;
}

/* The report needs counters over all rounds, so keep them and record their values. */
static void reset_account(struct torture_purgatory *p)
{
	unsigned int i;

	p->draining = false;
	p->drained = false;
	p->closing = false;
	p->before.added = atomic64_read(&p->added);
	p->before.rejected = atomic64_read(&p->rejected);
	for (i = TWHEEL_REASON_COMPLETED; i <= TWHEEL_REASON_CANCELLED; i++)
		p->before.ended[i] = atomic64_read(&p->ended[i]);
	for (i = 0; i < TORTURE_KEYS; i++)
		torture_key_init(&p->key[i], 0, i);
}

static void begin(struct torture_purgatory *p, struct rnd_state *rng)
{
	unsigned int i;
	int err;

	reset_account(p);
	err = create(p, rng);
	if (err) {
		if (err != -ENOMEM)
			torture_fail(FAIL_RESULT, NULL, "cannot create a purgatory");
		return;
	}
	atomic64_inc(&p->rounds);
	for (i = 0; i < TORTURE_SOFTIRQS; i++)
		hrtimer_start(&p->softirq[i].timer, ktime_get(), HRTIMER_MODE_ABS_SOFT);
}

/* End of a round */

static void stop_softirqs(struct torture_purgatory *p)
{
	unsigned int i;

	for (i = 0; i < TORTURE_SOFTIRQS; i++)
		hrtimer_cancel(&p->softirq[i].timer);
}

/* Stop all calls. From here on only deadlines expire. */
static void quiesce(struct torture_purgatory *p)
{
	down_write(&p->gate);
	stop_softirqs(p);
	WRITE_ONCE(p->closing, true);
	purgatory_flush_wheels(p);
}

/* Drain a purgatory with at most @limit pending operations. */
static void drain_purgatory(struct torture_purgatory *p, u32 limit)
{
	u32 nr;

	WRITE_ONCE(p->draining, true);
	nr = twheel_purgatory_drain(p->purgatory);
	WRITE_ONCE(p->drained, true);
	smp_mb();	/* pairs with the increment in callback_enter() */
	if (atomic_read(&p->callbacks))
		torture_fail(FAIL_AFTER, NULL, "a callback runs after the drain");
	if (nr > limit)
		torture_fail(FAIL_RESULT, NULL, "too many operations drained");
	atomic_sub(nr, &p->unclaimed);
	if (twheel_purgatory_drain(p->purgatory))
		torture_fail(FAIL_RESULT, NULL, "operations drained by the second drain");
}

static void complete_pending(struct torture_purgatory *p, struct torture_thread *thread)
{
	struct twheel_purgatory_stats stats;

	torture_step(thread, "complete all");
	purgatory_cancel_idle(p);
	purgatory_complete_all(p, &thread->rng);
	/* A reaper unlinks an expired operation first and updates the counts later. */
	purgatory_flush_wheels(p);
	twheel_purgatory_get_stats(p->purgatory, &stats);
	if (stats.pending)
		torture_fail(FAIL_LOST, NULL, "operations pending after twheel_complete_all()");
	purgatory_check_limits(p, thread);
}

static void end_idle(struct torture_purgatory *p, struct torture_thread *thread)
{
	/* Complete all mostly if there is a limit to check. */
	u32 way = torture_below(&thread->rng, p->max_pending ? 6 : 3);

	torture_step(thread, "wait for workers");
	quiesce(p);
	torture_step(thread, "inspect");
	purgatory_inspect(p);
	if (way == 1) {
		torture_step(thread, "wait for deadlines");
		purgatory_wait_for_near(p);
	} else if (way >= 2) {
		complete_pending(p, thread);
	}
	torture_step(thread, "drain");
	drain_purgatory(p, way >= 2 ? 0 : U32_MAX);
}

static void end(struct torture_purgatory *p, struct torture_thread *thread)
{
	bool busy = torture_below(&thread->rng, 2);

	if (busy) {
		torture_step(thread, "drain");
		drain_purgatory(p, U32_MAX);
		torture_step(thread, "wait for workers");
		quiesce(p);
	} else {
		end_idle(p, thread);
	}
	torture_step(thread, "empty");
	slots_empty(p);
	purgatory_check_empty(p);
	quarantine_free(p, 0);
	torture_step(thread, "destroy");
	twheel_purgatory_destroy(p->purgatory);
	destroy_wheels(p);
	p->purgatory = NULL;
	up_write(&p->gate);
}

/* Half of the rounds are short, for frequent starts and ends; long ones take most time. */
static u32 random_length(struct rnd_state *rng)
{
	return torture_below(rng, 2) ? 100 : 2000;
}

/* Thread function: creates and ends purgatories, one at a time. */
void purgatory_keeper(struct torture_thread *thread)
{
	struct torture_purgatory *p = thread->purgatory;

	while (!torture_should_stop()) {
		torture_step(thread, "begin");
		down_write(&p->gate);
		begin(p, &thread->rng);
		up_write(&p->gate);
		torture_sleep(20 + torture_below(&thread->rng, random_length(&thread->rng)));
		if (p->purgatory)
			end(p, thread);
	}
}

/* Setup */

static int set_up(struct torture_purgatory *p, unsigned int number)
{
	unsigned int i;

	p->slot = kvcalloc(torture_nr_slots, sizeof(*p->slot), GFP_KERNEL);
	if (!p->slot)
		return -ENOMEM;
	init_rwsem(&p->gate);
	mutex_init(&p->walk_lock);
	spin_lock_init(&p->quarantine_lock);
	INIT_LIST_HEAD(&p->quarantine);
	p->number = number;
	for (i = 0; i < torture_nr_slots; i++)
		spin_lock_init(&p->slot[i].lock);
	for (i = 0; i < TORTURE_SOFTIRQS; i++) {
		p->softirq[i].p = p;
		torture_seed(&p->softirq[i].rng, 2000000 + 100 * number + i);
		twheel_hrtimer_setup(&p->softirq[i].timer, purgatory_softirq, CLOCK_MONOTONIC,
				     HRTIMER_MODE_ABS_SOFT);
	}
	return 0;
}

int purgatories_set_up(unsigned int nr, unsigned int slots)
{
	unsigned int i;
	int err;

	if (!nr)
		return 0;
	err = calls_set_up();
	if (err)
		return err;
	nr = min_t(unsigned int, nr, MAX_PURGATORIES);
	torture_purgatories = kvcalloc(nr, sizeof(*torture_purgatories), GFP_KERNEL);
	if (!torture_purgatories) {
		calls_tear_down();
		return -ENOMEM;
	}
	torture_nr_purgatories = nr;
	torture_nr_slots = clamp_t(unsigned int, slots, HOT_SLOTS, MAX_SLOTS);
	for (i = 0; i < nr && !err; i++)
		err = set_up(&torture_purgatories[i], i);
	return err;
}

void purgatories_tear_down(void)
{
	unsigned int i;

	if (!torture_nr_purgatories)
		return;
	for (i = 0; i < torture_nr_purgatories; i++)
		kvfree(torture_purgatories[i].slot);
	kvfree(torture_purgatories);
	calls_tear_down();
}
