// SPDX-License-Identifier: GPL-2.0
/*
 * The model of layer 4: what each call should return and do. See model.h.
 *
 * It is as naive as can be: no wheel, no shards, an array that is searched. A
 * timer that has slack may fire at any tick that the slack allows, until one
 * look at how long it has yet to wait tells which.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "../vtime.h"
#include "model.h"

/* On one CPU, with no interrupt for it, the kernel's next tick tells that the clock was set. */
#define SET_SEEN_NS	(2 * TICK_NSEC)

/* Only the first difference counts: what follows may be due to that. */
void model_differs(struct model *model, const char *format, ...)
{
	va_list args;

	if (model->diff[0])
		return;
	va_start(args, format);
	vscnprintf(model->diff, sizeof(model->diff), format, args);
	va_end(args);
}

void model_start(struct model *model, const struct model_sequence *sequence,
		 u64 tick_ns, enum model_lie lie)
{
	memset(model, 0, sizeof(*model));
	model->lie = lie;
	model->system = sequence->system;
	model->ordered = !sequence->system && sequence->config.shards <= 1;
	model->tick_ns = tick_ns;
	model->limit = sequence->config.max_pending;
	model->clock = sequence->config.clock;
	model->sync = -1;
}

u64 model_pending(const struct model *model)
{
	u64 nr = 0;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		nr += model->timer[t].pending;
	return nr;
}

/* The first tick that does not begin before a deadline. */
u64 model_tick_due(const struct model *model, u64 deadline)
{
	if (deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	return min_t(u64, KTIME_MAX, model->tick_ns *
		     div64_u64(deadline + model->tick_ns - 1, model->tick_ns));
}

/* The last tick that slack allows. */
static u64 tick_due_last(const struct model *model, u64 deadline, u64 slack, u64 clock)
{
	u64 due = model_tick_due(model, deadline);
	u64 last;

	if (due == TWHEEL_NEVER)
		return due;
	if (slack == TWHEEL_SLACK_COARSE)
		slack = due > clock ? (due - clock) / 8 : 0;
	if (check_add_overflow(due, slack, &last) || last > KTIME_MAX)
		return KTIME_MAX;
	return last;
}

void model_arm(struct model_timer *timer, u64 due, u64 due_last, const struct model_time *now)
{
	timer->pending = true;
	timer->told = MODEL_NOT_TOLD;
	timer->was_due = false;
	timer->due = due;
	timer->due_last = due_last;
	timer->armed = *now;
}

/* Whether a call is one that its documentation allows now. */
bool model_allows(const struct model *model, const struct model_op *op)
{
	const struct model_timer *timer = &model->timer[op->t];

	if (op->what == MODEL_INIT)
		return !timer->pending && !timer->running && !timer->queued;
	if (op->what == MODEL_START)
		return !timer->running;
	return op->what != MODEL_STOP || !model->system;
}

static void call_init(struct model_timer *timer, const struct model_op *op)
{
	memset(timer, 0, sizeof(*timer));
	timer->flags = op->flags;
}

/* To add what is not pending. */
static long call_attach(struct model *model, struct model_timer *timer,
			const struct model_op *op, const struct model_answer *answer)
{
	u64 clock = answer->now.clock;

	if (model->stopped || timer->shut)
		return -ESHUTDOWN;
	if (model->limit && model_pending(model) >= model->limit) {
		model->stats.rejected++;
		return -ENOSPC;
	}
	model_arm(timer, model_tick_due(model, answer->deadline),
		  tick_due_last(model, answer->deadline, op->more, clock), &answer->now);
	model->stats.added++;
	return 0;
}

static long call_add(struct model *model, struct model_timer *timer,
		     const struct model_op *op, const struct model_answer *answer)
{
	return timer->pending ? -EBUSY : call_attach(model, timer, op, answer);
}

/*
 * Move what is pending to a tick from @due to @last, if that lies before, or
 * after, the one at which it fires now. Where the slack leaves that open, so
 * does the model. Ticks that have passed all count as the one that it was then,
 * and those past the end of the clock can't be told from each other.
 * Returns 1 if it was moved, 0 if not, and @answered where that is open.
 */
static long call_move(struct model *model, struct model_timer *timer, enum twheel_rearm mode,
		      u64 due, u64 last, const struct model_time *now, long answered)
{
	u64 old_last = max(timer->due_last, timer->armed.clock);
	enum model_told told = timer->told;
	bool was_due = timer->was_due;
	bool surely = true, not = false;

	if (mode == TWHEEL_REARM_IF_EARLIER && model->lie != MODEL_EARLIER_MOVES) {
		surely = last < timer->due;
		not = due > old_last || (due == old_last && due < KTIME_MAX);
		if (!surely) {
			due = min(due, timer->due);
			last = min(last, timer->due_last);
		}
	} else if (mode == TWHEEL_REARM_IF_LATER) {
		surely = due > old_last;
		not = last < timer->due || (last == timer->due && last < KTIME_MAX);
		if (!surely) {
			due = max(due, timer->due);
			last = max(last, timer->due_last);
		}
	}
	if (not)
		return 0;
	model->stats.rearmed += surely;
	model->rearmed_maybe += !surely;
	model_arm(timer, due, last, now);
	if (!surely) {
		timer->told = told ? MODEL_MAYBE_MOVED : MODEL_NOT_TOLD;
		timer->was_due = was_due;
	}
	return surely ? 1 : clamp_t(long, answered, 0, 1);
}

static long call_rearm(struct model *model, struct model_timer *timer,
		       const struct model_op *op, const struct model_answer *answer)
{
	if (!timer->pending) {
		if (op->choice == TWHEEL_REARM_IF_PENDING)
			return 0;
		return call_attach(model, timer, op, answer) ?: 2;
	}
	return call_move(model, timer, op->choice, model_tick_due(model, answer->deadline),
			 tick_due_last(model, answer->deadline, op->more, answer->now.clock),
			 &answer->now, answer->ret);
}

static long call_start(struct model *model, struct model_timer *timer,
		       const struct model_op *op, const struct model_answer *answer)
{
	struct model_op add = { .what = MODEL_ADD };
	long ret;

	if (!op->more || op->more > KTIME_MAX || op->choice > TWHEEL_FIXED_DELAY)
		return -EINVAL;
	ret = call_add(model, timer, &add, answer);
	if (ret)
		return ret;
	timer->sets = model->sets;
	timer->deadline = answer->deadline;
	timer->period = op->more;
	timer->left = op->count ?: U64_MAX;
	timer->repeat = op->choice;
	return 0;
}

/* Take what is pending, or queued. */
static bool take(struct model *model, struct model_timer *timer)
{
	bool won = timer->pending || timer->queued;

	model->stats.cancelled += timer->pending;
	timer->cut |= timer->running;
	timer->pending = false;
	timer->queued = false;
	return won;
}

static long call_cancel(struct model *model, struct model_timer *timer,
			const struct model_answer *answer)
{
	if (take(model, timer))
		return timer->running && (!timer->ended || answer->ret);
	/* The workqueue may have seen that, or not. */
	if (timer->ended && answer->ret == -EALREADY)
		return -EALREADY;
	return timer->running ? -EINPROGRESS : -EALREADY;
}

/* A look of a call that cancels and waits, until there is no more to wait for. */
void model_look_sync(struct model *model)
{
	struct model_timer *timer = &model->timer[model->sync];

	model->won |= take(model, timer);
	if (timer->running)
		return;
	if (model_kind(model->sync) == MODEL_IS_WORK)
		timer->shut = false;
	model->sync = -1;
}

static void call_cancel_sync(struct model *model, const struct model_op *op)
{
	model->won = false;
	/* Meanwhile nobody adds work that is being cancelled. */
	model->timer[op->t].shut |= op->what == MODEL_SHUTDOWN_SYNC ||
				    model_kind(op->t) == MODEL_IS_WORK;
	model->sync = op->t;
	model_look_sync(model);
}

/* Functions on workqueues are nothing that a wheel waits for. */
static void call_flush(struct model *model)
{
	unsigned int t;

	model->awaited = 0;
	for (t = 0; t < MODEL_TIMERS; t++)
		if (model->timer[t].running && model_kind(t) != MODEL_IS_WORK)
			model->awaited |= BIT(t);
}

static long call_stop(struct model *model, const struct model_answer *answer)
{
	u32 handed = 0;
	unsigned int t;
	long nr = 0;

	call_flush(model);
	for (t = 0; t < MODEL_TIMERS; t++) {
		if (!model->timer[t].pending || model->lie == MODEL_STOP_FORGETS)
			continue;
		model->timer[t].pending = false;
		model->stats.cancelled++;
		handed |= BIT(t);
		nr++;
	}
	model->stopped = true;
	if (answer->handed != handed)
		model_differs(model, "timers handed back: %#x, and not %#x",
			      answer->handed, handed);
	return nr;
}

/* What has come due stays due, or waits for its tick once more if nobody saw it come. */
static void call_set_clock(struct model *model, const struct model_answer *answer)
{
	struct model_timer *timer;

	if (model->clock != TWHEEL_CLOCK_REALTIME || answer->ret)
		return;
	model->sets++;
	model->seen_set = answer->now.mono + SET_SEEN_NS;
	model->ordered = false;
	for (timer = model->timer; timer < model->timer + MODEL_TIMERS; timer++) {
		if (!timer->pending)
			continue;
		timer->was_due |= timer->due <= answer->now.clock;
		if (timer->flags & TWHEEL_TIMER_CANCEL_ON_SET && timer->told != MODEL_TOLD)
			timer->told = timer->was_due ? MODEL_MAYBE_TOLD : MODEL_TOLD;
	}
}

static long call_create(const struct model_op *op)
{
	if (op->when && (op->when < 1000 || op->when > 10 * NSEC_PER_SEC))
		return -EINVAL;
	if (op->count == 1 || op->count > 1024 || op->other > 1024)
		return -EINVAL;
	return op->choice > TWHEEL_CLOCK_REALTIME ? -EINVAL : 0;
}

static void check_ret(struct model *model, const struct model_answer *answer, long ret)
{
	if (answer->ret != ret)
		model_differs(model, "it returned %ld, and not %ld", answer->ret, ret);
	if (answer->deadline != answer->expected)
		model_differs(model, "the deadline was %llu, and not %llu", answer->deadline,
			      answer->expected);
}

/* Do what a call did, and see whether it answered as it should have. */
void model_call(struct model *model, const struct model_op *op,
		const struct model_answer *answer)
{
	struct model_timer *timer = &model->timer[op->t];

	model_work_fired(model, &answer->work, &answer->now);
	switch (op->what) {
	case MODEL_INIT:
		call_init(timer, op);
		break;
	case MODEL_ADD:
	case MODEL_ADD_SLACK:
		check_ret(model, answer, call_add(model, timer, op, answer));
		break;
	case MODEL_REARM:
	case MODEL_REARM_SLACK:
		check_ret(model, answer, call_rearm(model, timer, op, answer));
		break;
	case MODEL_START:
		check_ret(model, answer, call_start(model, timer, op, answer));
		break;
	case MODEL_CANCEL:
		check_ret(model, answer, call_cancel(model, timer, answer));
		break;
	case MODEL_CANCEL_SYNC:
	case MODEL_SHUTDOWN_SYNC:
		call_cancel_sync(model, op);
		break;
	case MODEL_FLUSH:
		call_flush(model);
		check_ret(model, answer, 0);
		break;
	case MODEL_STOP:
		check_ret(model, answer, call_stop(model, answer));
		break;
	case MODEL_SET_CLOCK:
		call_set_clock(model, answer);
		break;
	case MODEL_CREATE:
		check_ret(model, answer, call_create(op));
		break;
	}
}

/* A call that may have slept has returned, after all that happened meanwhile. */
void model_finish(struct model *model, const struct model_op *op,
		  const struct model_answer *answer)
{
	bool lie = model->lie == MODEL_CANCEL_SYNC_LOSES;

	if (model->sync >= 0)
		model_look_sync(model);
	if (model->sync >= 0 || model->awaited)
		model_differs(model, "it returned while a function was running");
	if (op->what == MODEL_CANCEL_SYNC || op->what == MODEL_SHUTDOWN_SYNC)
		check_ret(model, answer, model->won && !lie ? 0 : -EALREADY);
	model->sync = -1;
	model->awaited = 0;
}
