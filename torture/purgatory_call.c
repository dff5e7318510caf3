// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that end an operation, on the books, and which call it was.
 *
 * A call that completes carries a ticket, in the value.  The ticket goes up with
 * each operation that ended by it, and down by what the call answers: when
 * nothing is under way, each is zero.
 *
 * With a predicate, it is the call that evaluates it, not the one that has made it
 * hold.  So the calls that are under way are known by their context: for each
 * task, and for the softirq of each CPU, the innermost.
 *
 * What a call on a single operation answers is held against what was known of the
 * operation before the call: one that has ended does not come back.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "purgatory.h"

/* Calls under way */

#define TASKS_BITS	10

/* A task is no farther than this from where it belongs. */
#define PROBES		16

/* Of so many calls one begins a chain. */
#define CHAINS		64

/* A task with a call under way. It alone writes here, once it has its place. */
struct task_calls {
	struct task_struct	*task;
	struct torture_call	*call;
};

static struct task_calls *tasks;
static DEFINE_PER_CPU(struct torture_call *, softirq_call);

int calls_set_up(void)
{
	tasks = kcalloc(1 << TASKS_BITS, sizeof(*tasks), GFP_KERNEL);
	return tasks ? 0 : -ENOMEM;
}

void calls_tear_down(void)
{
	kfree(tasks);
}

/* The place of this task, or with NULL as @task one that is free. */
static struct task_calls *find_task(struct task_struct *task)
{
	unsigned int i, first = hash_ptr(current, TASKS_BITS);
	struct task_calls *place;

	for (i = 0; i < PROBES; i++) {
		place = &tasks[(first + i) % (1 << TASKS_BITS)];
		if (READ_ONCE(place->task) == task)
			return place;
	}
	return NULL;
}

static struct task_calls *take_place(void)
{
	struct task_calls *place;

	do {
		place = find_task(NULL);
	} while (place && cmpxchg(&place->task, NULL, current));
	return place;
}

/* The innermost call in this context, NULL if there is none. */
struct torture_call *call_current(void)
{
	struct task_calls *place;

	if (in_serving_softirq())
		return this_cpu_read(softirq_call);
	place = find_task(current);
	return place ? place->call : NULL;
}

static void set_current_call(struct torture_call *call)
{
	struct task_calls *place;

	if (in_serving_softirq()) {
		this_cpu_write(softirq_call, call);
		return;
	}
	place = find_task(current) ?: take_place();
	if (!place) {
		torture_wrong(WRONG_STALL, NULL, "too many tasks for our books");
		return;
	}
	place->call = call;
	if (!call)
		smp_store_release(&place->task, NULL);	/* for the next */
}

/* First thing, before a call that may run callbacks. */
void call_begin(struct torture_call *call, struct torture_purgatory *p, enum torture_how how)
{
	call->p = p;
	call->outer = call_current();
	call->how = how;
	call->ticket = (u32)atomic_inc_return(&p->next_ticket) % TORTURE_TICKETS;
	call->depth = call->outer ? call->outer->depth + 1 : 0;
	call->chain = call->outer ? call->outer->chain : call->ticket % CHAINS == 0;
	set_current_call(call);
}

/* And after it, which says that it has completed so many. */
void call_end(struct torture_call *call, int answer)
{
	set_current_call(call->outer);
	atomic_sub(answer, &call->p->ticket[call->ticket]);
}

/*
 * Whether there is stack enough for sure for a callback. If not, it may be left to
 * the reaper, and the call return before it.
 */
bool call_is_shallow(const struct torture_call *call)
{
	return !call->depth && !in_serving_softirq();
}

u64 call_value(const struct torture_call *call)
{
	return (u64)call->how << 32 | call->ticket;
}

/* Answers */

/* Whoever says so must be the only one. */
bool op_won(struct torture_op *o)
{
	WRITE_ONCE(o->over, true);
	if (atomic_inc_return(&o->answers) == 1)
		return true;
	wrong_op(WRONG_TWICE, o, "more than one has ended it");
	return false;
}

/* What is known before a call. */
struct known {
	bool added;
	bool over;
};

static struct known known_of(const struct torture_op *o)
{
	return (struct known) {
		.added = smp_load_acquire(&o->added),	/* with the books of the add */
		.over = READ_ONCE(o->over),
	};
}

/*
 * Hold what a call on an operation has answered against that.
 * Return: whether it has succeeded.
 */
static bool answer_is_right(struct torture_op *o, const struct known *known, int ret)
{
	if (ret == -ENOENT) {
		if (known->added)
			wrong_op(WRONG_ANSWER, o, "it was added");
		return false;
	}
	if (!READ_ONCE(o->adding))
		wrong_op(WRONG_ANSWER, o, "it was not added");
	if (ret == -EALREADY) {
		WRITE_ONCE(o->over, true);
		return false;
	}
	if (ret < 0) {
		wrong_op(WRONG_ANSWER, o, "of a call on an operation");
		return false;
	}
	if (known->over)
		wrong_op(WRONG_TWICE, o, "it had ended before");
	return true;
}

/* Its callback has returned; @sure unless that may have been left to others. */
static void expect_returned(struct torture_op *o, bool sure)
{
	/* The call has to see all that the callback did, without a barrier of ours. */
	if (sure && !READ_ONCE(o->returned))
		wrong_op(WRONG_AFTER, o, "its callback has not returned");
}

/* A call says that it has ended the operation. */
static void won(struct torture_op *o, const struct torture_call *call)
{
	op_won(o);
	expect_returned(o, o->condition != TWHEEL_COND_PREDICATE && call_is_shallow(call));
}

/* twheel_op_complete(), on the books */
void op_complete(struct torture_op *o)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, HOW_COMPLETE);
	ret = twheel_op_complete(&o->op, call_value(&call));
	call_end(&call, !ret);
	if (answer_is_right(o, &known, ret))
		won(o, &call);
}

/* twheel_op_complete_error(), on the books */
void op_fail(struct torture_op *o, struct rnd_state *rng)
{
	int error = -1 - (int)torture_below(rng, -ALONE_ERROR), ret;
	struct known known = known_of(o);
	struct torture_call call;

	call_begin(&call, o->p, HOW_COMPLETE);
	ret = twheel_op_complete_error(&o->op, error);
	call_end(&call, 0);
	if (answer_is_right(o, &known, ret))
		won(o, &call);
}

/* twheel_op_expire(), on the books */
void op_expire(struct torture_op *o)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	WRITE_ONCE(o->urged, true);
	call_begin(&call, o->p, HOW_EXPIRE);
	ret = twheel_op_expire(&o->op);
	call_end(&call, 0);
	if (answer_is_right(o, &known, ret))
		won(o, &call);
}

/* twheel_op_cancel(), on the books */
void op_cancel(struct torture_op *o)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, HOW_CANCEL);
	ret = twheel_op_cancel(&o->op);
	call_end(&call, 0);
	if (answer_is_right(o, &known, ret))
		won(o, &call);
}

/* twheel_op_cancel_sync(), on the books */
void op_cancel_wait(struct torture_op *o)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, HOW_CANCEL);
	ret = twheel_op_cancel_sync(&o->op);
	/* A plain read: that the callback has returned is for the call to order. */
	if ((!ret || ret == -EALREADY) && !o->reason)
		wrong_op(WRONG_ANSWER, o, "of cancel_sync: the end is not on record");
	call_end(&call, 0);
	if (answer_is_right(o, &known, ret))
		won(o, &call);
	expect_returned(o, ret != -ENOENT);
}

/* twheel_op_try_complete(), on the books */
void op_try(struct torture_op *o)
{
	bool held = atomic_read_acquire(&o->held) == HELD;
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, HOW_TRY);
	ret = twheel_op_try_complete(&o->op);
	call_end(&call, ret == 1);
	if (!answer_is_right(o, &known, ret))
		return;
	if (ret > 1 || (ret && o->condition != TWHEEL_COND_PREDICATE))
		wrong_op(WRONG_ANSWER, o, "of try_complete");
	if (ret == 1) {
		op_won(o);
		expect_returned(o, call_is_shallow(&call));
	}
	if (held)
		WRITE_ONCE(o->asked, true);
}

/* Let its predicate hold; what it was told until now is no reason to complete. */
void op_hold(struct torture_op *o)
{
	struct torture_want *want;

	if (atomic_cmpxchg(&o->held, NOT_HELD, BEING_HELD) != NOT_HELD)
		return;
	/* The predicate sees that before whoever is not counted here begins. */
	smp_mb();
	for (want = o->want; want < o->want + o->nr_want; want++)
		want->signalled = atomic64_read(&want->key->sure) + atomic64_read(&want->key->checks);
	atomic_set_release(&o->held, HELD);
}

/* Add */

static struct twheel_watch_spec *make_specs(struct torture_op *o, bool twice, gfp_t gfp)
{
	struct twheel_watch_spec *specs;
	u32 i;

	specs = kcalloc(o->nr_want + 1, sizeof(*specs), gfp);
	for (i = 0; specs && i < o->nr_want; i++) {
		specs[i].key = o->want[i].key->key;
		/* No need is a need of one. */
		specs[i].need = o->want[i].need == 1 && i % 2 ? 0 : o->want[i].need;
	}
	/* What it says then doesn't count. */
	if (specs && twice) {
		specs[o->nr_want] = specs[0];
		specs[o->nr_want].need = 1;
	}
	return specs;
}

/* twheel_op_add() may fail only for a reason. */
static void expect_refusal(struct torture_op *o, int err)
{
	if (err == -ENOSPC) {
		atomic64_inc(&o->p->rejected);
		if (!o->p->max_pending && !o->p->max_watches)
			wrong_op(WRONG_ANSWER, o, "rejected without a limit");
	} else if (err == -ESHUTDOWN) {
		if (!READ_ONCE(o->p->draining))
			wrong_op(WRONG_ANSWER, o, "refused for no reason");
	} else if (err != -ENOMEM) {
		/* With too little memory, there is at times no room for a new key. */
		wrong_op(WRONG_ANSWER, o, "of add");
	}
}

static void added(struct torture_op *o, int ret, const struct torture_call *call)
{
	atomic64_inc(&o->p->added);
	op_account_begun(o);
	o->sets_after = torture_clock_seq();
	smp_store_release(&o->added, true);	/* these are on the books */
	if (!ret)
		return;
	if (ret != 1 || o->condition != TWHEEL_COND_PREDICATE)
		wrong_op(WRONG_ANSWER, o, "of add");
	op_won(o);
	expect_returned(o, call_is_shallow(call));
}

/* twheel_op_add(), on the books. The operation may be gone afterwards, these not. */
int op_add(struct torture_op *o, const struct torture_caller *c)
{
	bool twice = o->nr_want && o->nr_want < TWHEEL_MAX_KEYS && !torture_below(c->rng, 8);
	struct twheel_op_args args = {
		.wheel		= o->wheel ? o->p->wheel[o->wheel] : NULL,
		.flags		= o->wary ? TWHEEL_OP_CANCEL_ON_SET : 0,
		.slack_ns	= o->slack,
		.deadline	= o->deadline,
		.condition	= o->condition,
		.quorum		= o->quorum,
		.threshold	= o->threshold,
		.nr_keys	= o->nr_want + twice,
		.watches	= o->watch,
	};
	struct twheel_watch_spec *specs = make_specs(o, twice, caller_gfp(c));
	struct torture_call call;
	int ret;

	if (!specs)
		return -ENOMEM;
	args.specs = specs;
	o->sets_before = torture_clock_seq();
	op_account_begin(o);
	call_begin(&call, o->p, HOW_ADD);
	ret = twheel_op_add(o->p->purgatory, &o->op, &args);
	call_end(&call, ret == 1);
	if (ret < 0)
		expect_refusal(o, ret);
	else
		added(o, ret, &call);
	kfree(specs);
	return ret;
}
