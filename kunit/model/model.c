// SPDX-License-Identifier: GPL-2.0
/*
 * The model of timers: return values and effects of the calls. See model.h.
 *
 * It is as simple as possible: no wheel, no shards, just an array that is searched. A
 * timer with slack may fire at any tick that the slack allows. The first query of its
 * remaining time determines the tick.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "../vtime.h"
#include "model.h"

/* Time until a clock change is noticed: with one CPU and no interrupts, by the next tick. */
#define SET_SEEN_NS	(2 * TICK_NSEC)

/* Only the first difference is reported, since others may be a consequence of it. */
void model_differs(struct model *model, const char *format, ...)
{
	va_list args;

	if (model->diff[0])
		return;
	va_start(args, format);
	vscnprintf(model->diff, sizeof(model->diff), format, args);
	va_end(args);
}

void model_start(struct model *model, const struct model_sequence *sequence, u64 tick_ns)
{
	memset(model, 0, sizeof(*model));
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

/* The first tick that begins at or after @deadline. CLOCK_REALTIME has no ticks. */
u64 model_tick_due(const struct model *model, u64 deadline)
{
	if (deadline > KTIME_MAX)
		return TWHEEL_NEVER;
	if (model->clock == TWHEEL_CLOCK_REALTIME)
		return deadline;
	return min_t(u64, KTIME_MAX, model->tick_ns *
		     div64_u64(deadline + model->tick_ns - 1, model->tick_ns));
}

/* The last tick allowed by the slack. */
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
	timer->on_set = MODEL_ON_SET_NONE;
	timer->was_due = false;
	timer->due = due;
	timer->passes = due;
	timer->due_last = due_last;
	timer->armed = *now;
}

/* Returns true if the documentation of the API allows the call in this state. */
bool model_allows(const struct model *model, const struct model_op *op)
{
	const struct model_timer *timer = &model->timer[op->t];

	if (op->type == MODEL_INIT)
		return !timer->pending && !timer->running && !timer->queued;
	return op->type != MODEL_STOP || !model->system;
}

static void call_init(struct model_timer *timer, const struct model_op *op)
{
	memset(timer, 0, sizeof(*timer));
	timer->flags = op->flags;
}

/* Add a timer that is not pending. */
static long call_add_idle(struct model *model, struct model_timer *timer,
			  const struct model_op *op, const struct model_answer *answer)
{
	u64 clock = answer->now.clock;

	if (model->stopped || timer->shutdown ||
	    (timer->running && model->sync == timer - model->timer))
		return -ESHUTDOWN;
	if (model->limit && model_pending(model) >= model->limit) {
		model->stats.rejected++;
		return -ENOSPC;
	}
	model_arm(timer, model_tick_due(model, answer->deadline),
		  tick_due_last(model, answer->deadline, op->more, clock), &answer->now);
	if (!op->more)
		timer->passes = min(timer->passes, answer->deadline);
	model->stats.added++;
	return 0;
}

static long call_add(struct model *model, struct model_timer *timer,
		     const struct model_op *op, const struct model_answer *answer)
{
	return timer->pending ? -EBUSY : call_add_idle(model, timer, op, answer);
}

/*
 * Move a pending timer to a tick between @due and @last, provided that this is earlier or
 * later than its current tick if @mode says so. If the slack leaves this open, or the tick is the
 * same, the model allows both. Ticks that had passed when the timer was armed count as the tick of
 * that time, and all ticks beyond the end of the clock are equal. Returns 1 if the timer was
 * moved, 0 if not, and @answered if both are possible.
 */
static long call_move(struct model *model, struct model_timer *timer, enum twheel_rearm mode,
		      u64 due, u64 last, const struct model_time *now, long answered)
{
	u64 old_last = max(timer->due_last, timer->armed.clock);
	enum model_on_set on_set = timer->on_set;
	bool was_due = timer->was_due;
	u64 passes = timer->passes;
	bool surely = true, not = false;

	if (mode == TWHEEL_REARM_IF_EARLIER) {
		surely = last < timer->due;
		not = due > old_last;
		if (!surely) {
			due = min(due, timer->due);
			last = min(last, timer->due_last);
		}
	} else if (mode == TWHEEL_REARM_IF_LATER) {
		surely = due > old_last;
		not = last < timer->due;
		if (!surely) {
			due = max(due, timer->due);
			last = max(last, timer->due_last);
		}
	}
	/* A re-arm does not hide a change of the clock. */
	if (!not && on_set != MODEL_ON_SET_NONE && (surely || answered))
		return -ECANCELED;
	if (not || on_set != MODEL_ON_SET_NONE)
		return 0;
	model->stats.rearmed += surely;
	model->rearmed_maybe += !surely;
	model_arm(timer, due, last, now);
	if (!surely)
		timer->was_due = was_due;
	if (!surely && !answered)
		timer->passes = passes;
	return surely ? 1 : clamp_t(long, answered, 0, 1);
}

static long call_rearm(struct model *model, struct model_timer *timer,
		       const struct model_op *op, const struct model_answer *answer)
{
	long ret;

	if (!timer->pending) {
		if (op->choice == TWHEEL_REARM_IF_PENDING)
			return 0;
		return call_add_idle(model, timer, op, answer) ?: 2;
	}
	ret = call_move(model, timer, op->choice, model_tick_due(model, answer->deadline),
			tick_due_last(model, answer->deadline, op->more, answer->now.clock),
			&answer->now, answer->ret);
	if (ret == 1 && !op->more)
		timer->passes = min(timer->passes, answer->deadline);
	return ret;
}

/* Cancel a timer that is pending, or work that is queued. */
static bool dequeue(struct model *model, struct model_timer *timer)
{
	bool won = timer->pending || timer->queued;

	model->stats.cancelled += timer->pending;
	timer->pending = false;
	timer->queued = false;
	return won;
}

static long call_cancel(struct model *model, struct model_timer *timer,
			const struct model_answer *answer)
{
	if (dequeue(model, timer))
		return timer->running && (!timer->ended || answer->ret);
	/* The workqueue may or may not have noticed that the function has returned. */
	if (timer->ended && answer->ret == -EALREADY)
		return -EALREADY;
	return timer->running ? -EINPROGRESS : -EALREADY;
}

/* One iteration of a call that cancels a timer and waits for its function. */
void model_recheck_sync(struct model *model)
{
	struct model_timer *timer = &model->timer[model->sync];

	model->won |= dequeue(model, timer);
	if (timer->running)
		return;
	if (model_kind(model->sync) == MODEL_IS_WORK)
		timer->shutdown = false;
	model->sync = -1;
}

static void call_cancel_sync(struct model *model, const struct model_op *op)
{
	model->won = false;
	/* Work cannot be added while it is being cancelled. */
	model->timer[op->t].shutdown |= op->type == MODEL_SHUTDOWN_SYNC ||
					model_kind(op->t) == MODEL_IS_WORK;
	model->sync = op->t;
	model_recheck_sync(model);
}

/* twheel_flush() does not wait for functions on workqueues. */
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
		if (!model->timer[t].pending)
			continue;
		model->timer[t].pending = false;
		model->stats.cancelled++;
		handed |= BIT(t);
		nr++;
	}
	model->stopped = true;
	if (answer->handed != handed)
		model_differs(model, "stop returned timers %#x, expected %#x",
			      answer->handed, handed);
	return nr;
}

/* Timers that are due stay due, by their exact deadlines. */
static void call_set_clock(struct model *model, const struct model_answer *answer)
{
	struct model_timer *timer;

	if (model->clock != TWHEEL_CLOCK_REALTIME || answer->ret)
		return;
	model->set_noticed = answer->now.mono + SET_SEEN_NS;
	model->ordered = false;
	model_note_late(model, &answer->now);
	for (timer = model->timer; timer < model->timer + MODEL_TIMERS; timer++) {
		if (!timer->pending)
			continue;
		timer->was_due |= timer->passes <= answer->now.clock + VTIME_SLOP_NS;
		if (timer->flags & TWHEEL_TIMER_CANCEL_ON_SET &&
		    timer->on_set != MODEL_ON_SET_CANCEL)
			timer->on_set = timer->was_due ? MODEL_ON_SET_MAYBE : MODEL_ON_SET_CANCEL;
	}
}

static long call_create(const struct model_op *op)
{
	if (op->when && (op->when < 1000 || op->when > 10 * NSEC_PER_SEC))
		return -EINVAL;
	if (op->count == 1 || op->count > 1024 || op->other > 1024 || (op->more && op->other > 1))
		return -EINVAL;
	return op->choice > TWHEEL_CLOCK_REALTIME ? -EINVAL : 0;
}

static void check_ret(struct model *model, const struct model_answer *answer, long ret)
{
	if (answer->ret != ret)
		model_differs(model, "call returned %ld, expected %ld", answer->ret, ret);
	if (answer->deadline != answer->expected)
		model_differs(model, "deadline is %llu, expected %llu", answer->deadline,
			      answer->expected);
}

/* Apply a call to the model and check its result. */
void model_call(struct model *model, const struct model_op *op,
		const struct model_answer *answer)
{
	struct model_timer *timer = &model->timer[op->t];

	model_work_fired(model, &answer->work, &answer->now);
	switch (op->type) {
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

/* A call that may sleep has returned, after all concurrent events. */
void model_finish(struct model *model, const struct model_op *op,
		  const struct model_answer *answer)
{
	if (model->sync >= 0)
		model_recheck_sync(model);
	if (model->sync >= 0 || model->awaited)
		model_differs(model, "call returned while a function was running");
	if (op->type == MODEL_CANCEL_SYNC || op->type == MODEL_SHUTDOWN_SYNC)
		check_ret(model, answer, model->won ? 0 : -EALREADY);
	model->sync = -1;
	model->awaited = 0;
}
