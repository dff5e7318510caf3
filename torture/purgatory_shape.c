// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that change for what an operation waits, on the books: its deadline and
 * its keys.  And those that only look.
 *
 * Of most operations the deadline is moved by one at a time, who then knows it
 * exactly.  While it is being moved, there are two that may hold.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "purgatory.h"

/* Deadlines */

/* None mostly; little enough for nobody to wait long. */
u64 op_slack(struct rnd_state *rng)
{
	switch (torture_below(rng, 8)) {
	case 0:
		return torture_below(rng, 100 * NSEC_PER_MSEC);
	case 1:
		return TWHEEL_SLACK_COARSE;
	default:
		return 0;
	}
}

u64 op_deadline(const struct torture_op *o, struct rnd_state *rng)
{
	u64 delay;

	switch (torture_below(rng, 8)) {
	case 0:
		return TWHEEL_NEVER;
	case 1:
		delay = 0;
		break;
	case 2:
		delay = torture_below(rng, 100 * NSEC_PER_USEC);
		break;
	case 3:
		delay = torture_below(rng, 2 * NSEC_PER_MSEC);
		break;
	case 4 ... 5:
		delay = torture_below(rng, 30 * NSEC_PER_MSEC);
		break;
	case 6:
		delay = torture_below(rng, 300 * NSEC_PER_MSEC);
		break;
	default:
		/* Hours, for which nobody will wait. */
		delay = (u64)(torture_below(rng, U32_MAX) | 1 << 30) << 13;
		break;
	}
	return twheel_deadline_on(o->p->wheel[o->wheel], delay);
}

/* What the call may answer; @sure if it had been added, and nobody else moves the deadline. */
static void judge_rearm(struct torture_op *o, u64 deadline, enum twheel_rearm mode, int ret,
			bool sure)
{
	if (ret == -ENOENT || ret == -EALREADY) {
		if (ret == -ENOENT ? sure : !READ_ONCE(o->adding))
			wrong_op(WRONG_ANSWER, o, "of rearm");
		return;
	}
	if (ret < 0 || ret > 1)
		wrong_op(WRONG_ANSWER, o, "of rearm");
	if (!ret && (mode == TWHEEL_REARM_ALWAYS || mode == TWHEEL_REARM_IF_PENDING))
		wrong_op(WRONG_ANSWER, o, "rearm left the deadline where it was");
	if (!sure || ret != 1)
		return;
	if ((mode == TWHEEL_REARM_IF_EARLIER && deadline > o->deadline) ||
	    (mode == TWHEEL_REARM_IF_LATER && deadline < o->deadline))
		wrong_op(WRONG_ANSWER, o, "rearm moved the deadline the wrong way");
}

static void lower(atomic64_t *bound, u64 to)
{
	s64 old = atomic64_read(bound);

	while (to < (u64)old && !atomic64_try_cmpxchg(bound, &old, to))
		;
}

static int rearm(struct torture_op *o, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	bool added = smp_load_acquire(&o->added);	/* with the books of the add */
	int sets = torture_clock_seq(), ret;

	ret = twheel_op_rearm_slack(&o->op, deadline, slack, mode);
	if (ret == 1 && o->wary && added && sets >= 0 && o->sets_after >= 0 &&
	    sets != o->sets_after)
		wrong_op(WRONG_LOST, o, "it goes on though the clock was set");
	return ret;
}

static void rearm_loose(struct torture_op *o, u64 deadline, u64 slack, enum twheel_rearm mode)
{
	lower(&o->earliest, deadline);
	outcome_raise(&o->latest, deadline);
	judge_rearm(o, deadline, mode, rearm(o, deadline, slack, mode), false);
}

static void rearm_exactly(struct torture_op *o, u64 deadline, u64 slack,
			  enum twheel_rearm mode)
{
	bool added = smp_load_acquire(&o->added);	/* so that it can't be before that */
	int ret;

	WRITE_ONCE(o->next, deadline);
	ret = rearm(o, deadline, slack, mode);
	judge_rearm(o, deadline, mode, ret, added);
	/* Of one that has ended it doesn't matter any more, but to its callback. */
	if (ret == 1)
		WRITE_ONCE(o->deadline, deadline);
	else if (!ret || ret == -ENOENT)
		WRITE_ONCE(o->next, o->deadline);
}

/* twheel_op_rearm_slack(), on the books */
void op_rearm(struct torture_op *o, struct rnd_state *rng)
{
	enum twheel_rearm mode = torture_below(rng, TWHEEL_REARM_IF_LATER + 1);
	u64 deadline = op_deadline(o, rng), slack = op_slack(rng);

	if (o->loose) {
		rearm_loose(o, deadline, slack, mode);
	} else if (!test_and_set_bit_lock(0, &o->rearming)) {
		rearm_exactly(o, deadline, slack, mode);
		clear_bit_unlock(0, &o->rearming);
	}
}

/* Keys */

/* Room that has not been used yet; NULL if there is not enough. */
static struct twheel_watch *more_room(struct torture_op *o, u32 nr)
{
	int used = atomic_fetch_add(nr, &o->nr_more);

	return used + nr > MORE_WATCHES ? NULL : &o->watch[o->nr_want + 1 + used];
}

/* Keys that it may watch already. One that has its own gets no others. */
static void more_specs(struct torture_op *o, struct rnd_state *rng,
		       struct twheel_watch_spec *specs, u32 nr)
{
	u32 i;

	memset(specs, 0, nr * sizeof(*specs));
	for (i = 0; i < nr; i++)
		specs[i].key = o->own ? o->own_key[torture_below(rng, OWN_KEYS)].key :
					o->p->key[torture_below(rng, TORTURE_KEYS)].key;
}

static void judge_watch(struct torture_op *o, int ret, u32 nr)
{
	switch (ret) {
	case -ENOSPC:
		atomic64_inc(&o->p->rejected);
		if (!o->p->max_watches)
			wrong_op(WRONG_ANSWER, o, "watch rejected without a limit");
		break;
	case -EINVAL:
		if (o->condition != TWHEEL_COND_NONE &&
		    o->nr_want + MORE_WATCHES <= TWHEEL_MAX_KEYS)
			wrong_op(WRONG_ANSWER, o, "a watch is refused");
		break;
	case -ENOENT:
	case -EALREADY:
	case -ENOMEM:
		break;
	default:
		if (ret < 0 || ret > nr || o->condition == TWHEEL_COND_NONE)
			wrong_op(WRONG_ANSWER, o, "of watch");
	}
}

/* twheel_op_watch(), on the books */
void op_watch(struct torture_op *o, const struct torture_caller *c)
{
	bool held = atomic_read_acquire(&o->held) == HELD, over = READ_ONCE(o->over);
	u32 nr = 1 + torture_below(c->rng, 3);
	struct twheel_watch_spec specs[3];
	struct torture_call call;
	struct twheel_watch *room = more_room(o, nr);
	int ret;

	if (!room)
		return;
	more_specs(o, c->rng, specs, nr);
	WRITE_ONCE(o->reshaped, true);
	smp_mb();	/* who sees the new watch sees that */
	call_begin(&call, o->p, HOW_WATCH);
	ret = twheel_op_watch(&o->op, specs, room, nr);
	call_end(&call, 0);
	judge_watch(o, ret, nr);
	if (ret >= 0 && over)
		wrong_op(WRONG_TWICE, o, "it had ended before the watch");
	if (ret > 0 && held && o->condition == TWHEEL_COND_PREDICATE)
		WRITE_ONCE(o->asked, true);
}

/* What has been handed back is ours: whoever writes there leaves a trace. */
static void take_back(struct torture_op *o, struct twheel_watch *room)
{
	if (room < o->watch || room >= o->watch + o->nr_rooms) {
		wrong_op(WRONG_ANSWER, o, "unwatch hands back what is not ours");
		return;
	}
	if (test_and_set_bit(room - o->watch, o->back))
		wrong_op(WRONG_TWICE, o, "unwatch hands back the same once more");
	memset(room, TORTURE_POISON, sizeof(*room));
}

/* twheel_op_unwatch(), on the books */
void op_unwatch(struct torture_op *o, struct rnd_state *rng)
{
	bool over = READ_ONCE(o->over);
	struct twheel_watch *room;
	struct torture_call call;

	if (!o->nr_want)
		return;
	WRITE_ONCE(o->reshaped, true);
	smp_mb();	/* who misses the watch sees that */
	call_begin(&call, o->p, HOW_UNWATCH);
	room = twheel_op_unwatch(&o->op, &o->want[torture_below(rng, o->nr_want)].key->key);
	call_end(&call, 0);
	switch (PTR_ERR_OR_ZERO(room)) {
	case 0:
		take_back(o, room);
		if (over)
			wrong_op(WRONG_TWICE, o, "it had ended before the unwatch");
		break;
	case -EINVAL:
		if (o->condition == TWHEEL_COND_PREDICATE)
			wrong_op(WRONG_ANSWER, o, "a predicate needs no key");
		break;
	case -ENOENT:
	case -EALREADY:
	case -ESRCH:
		break;
	default:
		wrong_op(WRONG_ANSWER, o, "of unwatch");
	}
}

/* To look */

static void judge_progress(struct torture_op *o, const struct twheel_op_progress *progress)
{
	bool declared = o->condition != TWHEEL_COND_NONE &&
			o->condition != TWHEEL_COND_PREDICATE;
	u64 most = o->condition == TWHEEL_COND_SUM ? o->threshold : TWHEEL_MAX_KEYS;

	if (progress->condition != o->condition || progress->nr_keys > TWHEEL_MAX_KEYS ||
	    (progress->nr_keys != o->nr_want && !READ_ONCE(o->reshaped)))
		wrong_op(WRONG_ANSWER, o, "it has come elsewhere");
	if (declared ? !progress->missing || progress->missing > most : progress->missing)
		wrong_op(WRONG_ANSWER, o, "it can't miss so much and wait");
}

/* twheel_op_progress(), on the books */
void op_look(struct torture_op *o)
{
	bool over = READ_ONCE(o->over), added = smp_load_acquire(&o->added);	/* as in op_due() */
	struct twheel_op_progress progress;
	struct twheel_watch_spec specs[4];
	int ret;

	ret = twheel_op_progress(&o->op, &progress, specs, ARRAY_SIZE(specs));
	if (!ret && over)
		wrong_op(WRONG_TWICE, o, "it had ended, and waits");
	if (!ret)
		judge_progress(o, &progress);
	else if (ret != -EALREADY && (ret != -ENOENT || added))
		wrong_op(WRONG_ANSWER, o, "of progress");
}
