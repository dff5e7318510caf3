// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that end an operation, with checks of their results.
 *
 * A call passes a ticket in the value of the operations that it completes. The counter
 * of the ticket is incremented by each of these operations and reduced by the result of
 * the call, so that it is zero when no call is in progress.
 *
 * An operation with a predicate is completed by the call that evaluates the predicate, not
 * by the call that made it hold. So the innermost call in progress is recorded for each
 * context, that is for each task and for the softirq of each CPU.
 *
 * The result of a call on a single operation is checked against the state of the operation
 * before the call: an operation that has ended does not become pending again.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "purgatory.h"

/* Calls in progress */

#define TASKS_BITS	10

/* Maximum number of probes in the hash table of tasks. */
#define PROBES		16

/* One call in this many starts a chain. */
#define CHAIN_INTERVAL		64

/* A task with a call in progress. Only the task writes to an entry that it has claimed. */
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

/* Return the entry of the current task, or a free entry if @task is NULL. */
static struct task_calls *find_task(struct task_struct *task)
{
	unsigned int i, first = hash_ptr(current, TASKS_BITS);
	struct task_calls *entry;

	for (i = 0; i < PROBES; i++) {
		entry = &tasks[(first + i) % (1 << TASKS_BITS)];
		if (READ_ONCE(entry->task) == task)
			return entry;
	}
	return NULL;
}

static struct task_calls *claim_entry(void)
{
	struct task_calls *entry;

	do {
		entry = find_task(NULL);
	} while (entry && cmpxchg(&entry->task, NULL, current));
	return entry;
}

/* The innermost call in this context, or NULL. */
struct torture_call *call_current(void)
{
	struct task_calls *entry;

	if (in_serving_softirq())
		return this_cpu_read(softirq_call);
	entry = find_task(current);
	return entry ? entry->call : NULL;
}

static void set_current_call(struct torture_call *call)
{
	struct task_calls *entry;

	if (in_serving_softirq()) {
		this_cpu_write(softirq_call, call);
		return;
	}
	entry = find_task(current) ?: claim_entry();
	if (!entry) {
		torture_fail(FAIL_STALL, NULL, "too many tasks with a call in progress");
		return;
	}
	entry->call = call;
	if (!call)
		smp_store_release(&entry->task, NULL);	/* free the entry */
}

/* Called before a call that may run callbacks. */
void call_begin(struct torture_call *call, struct torture_purgatory *p,
		enum torture_call_type type)
{
	call->p = p;
	call->outer = call_current();
	call->type = type;
	call->ticket = (u32)atomic_inc_return(&p->next_ticket) % TORTURE_TICKETS;
	call->depth = call->outer ? call->outer->depth + 1 : 0;
	call->chain = call->outer ? call->outer->chain : call->ticket % CHAIN_INTERVAL == 0;
	set_current_call(call);
}

/* Called after such a call, with the number of operations that it reports as completed. */
void call_end(struct torture_call *call, int completed)
{
	set_current_call(call->outer);
	atomic_sub(completed, &call->p->ticket[call->ticket]);
}

/*
 * Whether a call certainly has enough stack to run callbacks. If not, it may leave them to
 * the reaper and return before they run.
 */
bool call_is_shallow(const struct torture_call *call)
{
	return !call->depth && !in_serving_softirq();
}

u64 call_value(const struct torture_call *call)
{
	return (u64)call->type << 32 | call->ticket;
}

/* Results */

/* A call has reported that it ended the operation. It must be the only one. */
bool op_claim(struct torture_op *o)
{
	WRITE_ONCE(o->known_ended, true);
	if (atomic_inc_return(&o->claims) == 1)
		return true;
	op_fail(FAIL_TWICE, o, "more than one call has ended it");
	return false;
}

/* The state of an operation before a call. */
struct known {
	bool added;
	bool ended;
};

static struct known known_of(const struct torture_op *o)
{
	return (struct known) {
		.added = smp_load_acquire(&o->added),	/* with the account of the add */
		.ended = READ_ONCE(o->known_ended),
	};
}

/*
 * Check the result of a call on an operation against the state before it.
 * Return: true if the call has succeeded.
 */
static bool check_op_result(struct torture_op *o, const struct known *known, int ret)
{
	if (ret == -ENOENT) {
		if (known->added)
			op_fail(FAIL_RESULT, o, "-ENOENT after the add");
		return false;
	}
	if (!READ_ONCE(o->adding))
		op_fail(FAIL_RESULT, o, "no -ENOENT before the add");
	if (ret == -EALREADY) {
		WRITE_ONCE(o->known_ended, true);
		return false;
	}
	if (ret < 0) {
		if (ret != -EAGAIN || !op_may_be_idle(o))
			op_fail(FAIL_RESULT, o, "unexpected result of a call on an operation");
		return false;
	}
	if (known->ended)
		op_fail(FAIL_TWICE, o, "success after the end");
	return true;
}

/* The callback must have returned, unless the reaper may run it (@sure is false). */
static void expect_returned(struct torture_op *o, bool sure)
{
	/* No barrier here: the call itself must order this after the callback. */
	if (sure && !READ_ONCE(o->returned))
		op_fail(FAIL_AFTER, o, "its callback has not returned");
}

/* A call on a single operation has ended it. */
static void claimed(struct torture_op *o, const struct torture_call *call)
{
	op_claim(o);
	expect_returned(o, o->condition != TWHEEL_COND_PREDICATE && call_is_shallow(call));
}

/* Calls on a single operation */

/* End an operation by a call of @type; @error is not 0 for twheel_op_complete_error(). */
static void end_by(struct torture_op *o, enum torture_call_type type, int error)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, type);
	if (error)
		ret = twheel_op_complete_error(&o->op, error);
	else if (type == CALL_COMPLETE)
		ret = twheel_op_complete(&o->op, call_value(&call));
	else if (type == CALL_EXPIRE)
		ret = twheel_op_expire(&o->op);
	else
		ret = twheel_op_cancel(&o->op);
	call_end(&call, !ret && !error && type == CALL_COMPLETE);
	if (check_op_result(o, &known, ret))
		claimed(o, &call);
}

void op_complete(struct torture_op *o)
{
	end_by(o, CALL_COMPLETE, 0);
}

void op_complete_error(struct torture_op *o, struct rnd_state *rng)
{
	end_by(o, CALL_COMPLETE, -1 - (int)torture_below(rng, -MIN_OP_ERROR));
}

void op_expire(struct torture_op *o)
{
	WRITE_ONCE(o->expire_called, true);
	end_by(o, CALL_EXPIRE, 0);
}

void op_cancel(struct torture_op *o)
{
	end_by(o, CALL_CANCEL, 0);
}

void op_cancel_sync(struct torture_op *o)
{
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, CALL_CANCEL);
	ret = twheel_op_cancel_sync(&o->op);
	/* A plain read: the call itself must order it after the callback. */
	if ((!ret || ret == -EALREADY) && !o->reason)
		op_fail(FAIL_RESULT, o, "cancel_sync returned before the result was recorded");
	call_end(&call, 0);
	if (check_op_result(o, &known, ret))
		claimed(o, &call);
	expect_returned(o, ret != -ENOENT);
}

void op_try_complete(struct torture_op *o)
{
	bool held = atomic_read_acquire(&o->held) == HELD;
	struct known known = known_of(o);
	struct torture_call call;
	int ret;

	call_begin(&call, o->p, CALL_TRY);
	ret = twheel_op_try_complete(&o->op);
	call_end(&call, ret == 1);
	if (!check_op_result(o, &known, ret))
		return;
	if (ret > 1 || (ret && o->condition != TWHEEL_COND_PREDICATE))
		op_fail(FAIL_RESULT, o, "unexpected result of try_complete");
	if (ret == 1) {
		op_claim(o);
		expect_returned(o, call_is_shallow(&call));
	}
	if (held)
		WRITE_ONCE(o->checked, true);
}

/* Let the predicate hold. Signals and checks so far need not notice it. */
void op_hold(struct torture_op *o)
{
	struct torture_want *want;

	if (atomic_cmpxchg(&o->held, NOT_HELD, BEING_HELD) != NOT_HELD)
		return;
	/* A signal or check that is not counted below must see BEING_HELD. */
	smp_mb();
	for (want = o->want; want < o->want + o->nr_want; want++)
		want->signalled = atomic64_read(&want->key->unlimited) +
				  atomic64_read(&want->key->checks);
	atomic_set_release(&o->held, HELD);
}

/* Add */

static struct twheel_watch_spec *make_specs(struct torture_op *o, gfp_t gfp)
{
	struct twheel_watch_spec *specs;
	u32 i;

	specs = kcalloc(o->nr_want ?: 1, sizeof(*specs), gfp);
	for (i = 0; specs && i < o->nr_want; i++) {
		specs[i].key = o->want[i].key->key;
		/* A need of 0 means 1. */
		specs[i].need = o->want[i].need == 1 && i % 2 ? 0 : o->want[i].need;
	}
	return specs;
}

/* Check the error of a failed add. */
static void check_refusal(struct torture_op *o, int err)
{
	if (err == -ENOSPC) {
		atomic64_inc(&o->p->rejected);
		if (!o->p->max_pending && !o->p->max_watches)
			op_fail(FAIL_RESULT, o, "-ENOSPC without a limit");
	} else if (err == -ESHUTDOWN) {
		if (!READ_ONCE(o->p->draining))
			op_fail(FAIL_RESULT, o, "-ESHUTDOWN without a drain");
	} else if (err != -ENOMEM) {
		/* The add of a new key may fail with -ENOMEM. */
		op_fail(FAIL_RESULT, o, "unexpected result of add");
	}
}

static void added(struct torture_op *o, int ret, const struct torture_call *call)
{
	atomic64_inc(&o->p->added);
	op_account_added(o);
	o->clock_seq_after = torture_clock_seq();
	smp_store_release(&o->added, true);	/* publishes the account */
	if (!ret)
		return;
	if (ret != 1 || o->condition != TWHEEL_COND_PREDICATE)
		op_fail(FAIL_RESULT, o, "unexpected result of add");
	op_claim(o);
	expect_returned(o, call_is_shallow(call));
}

/* Add an operation. It may be released before this returns; its account is not. */
int op_add(struct torture_op *o, const struct torture_caller *c)
{
	struct twheel_op_args args = {
		.wheel		= o->wheel ? o->p->wheel[o->wheel] : NULL,
		.flags		= (uses_wall_clock(o) ? TWHEEL_OP_WALL : 0) |
				  (o->cancel_on_set ? TWHEEL_OP_CANCEL_ON_SET : 0) |
				  (o->has_cell ? TWHEEL_OP_CELL : 0),
		.slack_ns	= o->slack,
		.condition	= o->condition,
		.quorum		= o->quorum,
		.threshold	= o->threshold,
		.nr_keys	= o->nr_want,
		.watches	= o->watch,
	};
	struct twheel_watch_spec *specs = make_specs(o, caller_gfp(c));
	struct torture_call call;
	int ret;

	if (!specs)
		return -ENOMEM;
	if (o->has_cell)
		op_begin_life(o);
	args.deadline = o->deadline;
	args.specs = specs;
	if (c->may_sleep && torture_below(c->rng, 2))
		args.flags |= TWHEEL_OP_MAY_SLEEP;
	o->clock_seq_before = torture_clock_seq();
	op_account_begin(o);
	call_begin(&call, o->p, CALL_ADD);
	ret = twheel_op_add(o->p->purgatory, &o->op, &args);
	call_end(&call, ret == 1);
	if (ret < 0)
		check_refusal(o, ret);
	else
		added(o, ret, &call);
	kfree(specs);
	return ret;
}
