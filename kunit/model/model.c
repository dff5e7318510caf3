// SPDX-License-Identifier: GPL-2.0
/*
 * The model of timers: return values and effects of the calls, effects of time, and checks of the
 * observable state. See model.h.
 *
 * It is as simple as possible: no wheel, no shards, just an array that is searched. A
 * timer with slack may fire at any tick that the slack allows. The first query of its
 * remaining time determines the tick.
 *
 * The model replays calls of timer functions from the log and checks their time: not
 * before the tick of the deadline, and not late by more than the time of computation,
 * unless the clock was set or another function delayed it.
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

/* Longer callbacks are counted: the kernel sees each of them by its tick. */
#define SLOW_NS		(2 * TICK_NSEC)

static const char * const kinds[] = {
	[MODEL_IS_PLAIN]	= "timer",
	[MODEL_IS_WORK]		= "work",
};

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

static u64 model_pending(const struct model *model)
{
	u64 nr = 0;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		nr += model->timer[t].pending;
	return nr;
}

/* The first tick that begins at or after @deadline. CLOCK_REALTIME has no ticks. */
static u64 model_tick_due(const struct model *model, u64 deadline)
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

static void model_arm(struct model_timer *timer, u64 due, u64 due_last,
		      const struct model_time *now)
{
	timer->pending = true;
	timer->on_set = MODEL_ON_SET_NONE;
	timer->was_due = false;
	timer->due = due;
	timer->passes = due;
	timer->due_last = due_last;
	timer->armed = *now;
}

/*
 * The wheel counts the lateness of all timers that it makes due together, before the first
 * of them fires. So a timer that is still pending may have been counted.
 */
static void model_note_late(struct model *model, const struct model_time *now)
{
	const struct model_timer *timer;

	for (timer = model->timer; timer < model->timer + MODEL_TIMERS; timer++)
		if (timer->pending && timer->on_set != MODEL_ON_SET_CANCEL &&
		    now->clock > timer->due)
			model->late_ns = max(model->late_ns, now->clock - timer->due);
}

/* A timer has fired at or before @now. */
static void timer_fired(struct model *model, unsigned int t, const struct model_time *now)
{
	struct model_timer *timer = &model->timer[t];

	if (!timer->on_set && !timer->was_due && now->clock < timer->due)
		model_differs(model, "%s %u is early by %llu ns", kinds[model_kind(t)], t,
			      timer->due - now->clock);
	model_note_late(model, now);
	timer->pending = false;
	model->stats.fired++;
}

/* Returns true if expired work is queued, or was queued and its function has been called. */
static bool was_queued(const struct model *model, unsigned int t, bool queued,
		       const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];

	if (queued || timer->was_due)
		return true;
	return now->clock >= timer->due && timer->started >= timer->armed.mono &&
	       now->mono - timer->started <= now->clock - timer->due;
}

/* The log has no event for queueing work. The work just stops being pending. */
static void model_work_fired(struct model *model, const struct model_work_state *work,
			     const struct model_time *now)
{
	struct model_timer *timer;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (model_kind(t) != MODEL_IS_WORK || !timer->pending || work->pending & BIT(t) ||
		    !was_queued(model, t, work->queued & BIT(t), now))
			continue;
		timer->queued = work->queued & BIT(t);
		timer_fired(model, t, now);
	}
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
static void model_recheck_sync(struct model *model)
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

/* Returns true if a running function delays the timers. */
static bool is_delayed(const struct model *model)
{
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		if (model->timer[t].running && model_kind(t) != MODEL_IS_WORK)
			return true;
	return false;
}

/* The earliest time at which a timer can fire, by CLOCK_MONOTONIC; U64_MAX if not yet due. */
static u64 ready_at(const struct model *model, const struct model_timer *timer,
		    const struct model_time *now)
{
	u64 reached = max(timer->armed.mono, model->set_noticed);

	reached = max(reached, model->unblocked_at);
	if (timer->on_set)
		return reached;
	if (now->clock < timer->due_last)
		return U64_MAX;
	/* The clock may have had any value before it was set. */
	return max_t(s64, reached, now->mono - (now->clock - timer->due_last));
}

static void check_late(struct model *model, unsigned int t, const struct model_time *now)
{
	const struct model_timer *timer = &model->timer[t];
	u64 ready = ready_at(model, timer, now);

	if (ready != U64_MAX && now->mono > ready + VTIME_SLOP_NS && !is_delayed(model))
		model_differs(model, "%s %u is late by %llu ns", kinds[model_kind(t)], t,
			      now->mono - ready);
}

/* Timers of an earlier tick in the same shard fire first. */
static void check_order(struct model *model, unsigned int t)
{
	const struct model_timer *timer;
	unsigned int i;

	/* The function of work runs later. */
	if (model_kind(t) == MODEL_IS_WORK)
		return;
	for (i = 0; i < MODEL_TIMERS && model->ordered; i++) {
		timer = &model->timer[i];
		if (i == t || !timer->pending || model_kind(i) == MODEL_IS_WORK)
			continue;
		if (max(timer->due_last, timer->armed.clock) < model->timer[t].due)
			model_differs(model, "%s %u fired before %s %u, which is due earlier",
				      kinds[model_kind(t)], t, kinds[model_kind(i)], i);
	}
}

/* A timer fires at @now. */
static void timer_fires(struct model *model, unsigned int t, const struct model_time *now)
{
	check_late(model, t, now);
	check_order(model, t);
	timer_fired(model, t, now);
}

static void check_error(struct model *model, const struct model_event *event)
{
	enum model_on_set on_set = model->timer[event->t].on_set;

	if (on_set == MODEL_ON_SET_MAYBE && event->error == -ECANCELED)
		return;
	if (event->error != (on_set == MODEL_ON_SET_CANCEL ? -ECANCELED : 0))
		model_differs(model, "%s %u got error %d", kinds[model_kind(event->t)],
			      event->t, event->error);
}

static void begin_work(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];

	/* It may have been queued while the function was running. */
	if (!timer->queued && timer->pending && event->now.mono < timer->done + MODEL_NEAR_NS)
		timer_fired(model, event->t, &event->now);
	else if (!timer->queued && timer->pending)
		timer_fires(model, event->t, &event->now);
	else if (!timer->queued)
		model_differs(model, "work %u ran but was not queued", event->t);
	timer->queued = false;
	timer->ended = false;
}

static void event_begins(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	enum model_kind kind = model_kind(event->t);

	if (kind == MODEL_IS_WORK) {
		begin_work(model, event);
	} else {
		if (!timer->pending)
			model_differs(model, "%s %u fired but was not pending", kinds[kind],
				      event->t);
		timer_fires(model, event->t, &event->now);
		check_error(model, event);
	}
	timer->running = true;
	timer->started = event->now.mono;
	timer->wakes = event->wakes;
}

static void event_ends(struct model *model, const struct model_event *event)
{
	struct model_timer *timer = &model->timer[event->t];
	u64 took = event->now.mono - timer->started;

	model->awaited &= ~BIT(event->t);
	timer->wakes = 0;
	timer->done = event->now.mono;
	if (model_kind(event->t) == MODEL_IS_WORK) {
		timer->ended = true;
		/* cancel_sync waits until the workqueue has noticed the return. */
		timer->running = model->sync != event->t;
	} else {
		timer->running = false;
		model->unblocked_at = event->now.mono;
		model->stats.slow += took > SLOW_NS;
		/* The tick of the kernel may pass during any callback. */
		model->slow_maybe += took <= SLOW_NS;
	}
	/* cancel_sync may check at once, or too late to prevent another run. */
	if (model->sync == event->t && model->eager)
		model_recheck_sync(model);
}

/* Replay an event of the log. */
void model_event(struct model *model, const struct model_event *event)
{
	switch (event->type) {
	case MODEL_BEGINS:
		event_begins(model, event);
		break;
	case MODEL_CALLS:
		model_call(model, &event->op, &event->answer);
		break;
	case MODEL_ENDS:
		event_ends(model, event);
		break;
	}
}

/* State changes of work that are not in the log. */
void model_update_work(struct model *model, const struct model_state *seen)
{
	struct model_timer *timer;
	unsigned int t;

	model_work_fired(model, &seen->work, &seen->now);
	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (model_kind(t) != MODEL_IS_WORK || seen->work.busy & BIT(t))
			continue;
		if (timer->queued)
			model_differs(model, "work %u was dequeued but did not run", t);
		timer->running &= !timer->ended;
		timer->ended = false;
	}
}

static void check_timer(struct model *model, unsigned int t, const struct model_state *seen)
{
	struct model_timer *timer = &model->timer[t];
	const char *kind = kinds[model_kind(t)];
	u64 clock = seen->now.clock, least = TWHEEL_NEVER, most = TWHEEL_NEVER;

	if (seen->pending[t] != timer->pending)
		model_differs(model, "%s %u is %spending", kind, t,
			      seen->pending[t] ? "" : "not ");
	if (timer->pending && timer->due != TWHEEL_NEVER) {
		least = timer->due > clock ? timer->due - clock : 0;
		most = timer->due_last > clock ? timer->due_last - clock : 0;
	}
	if (seen->remaining[t] < least || seen->remaining[t] > most)
		model_differs(model, "%s %u has %llu ns remaining, expected %llu to %llu", kind, t,
			      seen->remaining[t], least, most);
	if (timer->pending && seen->remaining[t] && timer->due != TWHEEL_NEVER) {
		timer->due = clock + seen->remaining[t];
		timer->due_last = timer->due;
	}
	if (timer->pending)
		check_late(model, t, &seen->now);
}

static void check_count(struct model *model, const char *name, u64 seen, u64 least, u64 most)
{
	if (seen < least || seen > most)
		model_differs(model, "%s is %llu, expected %llu to %llu", name, seen, least, most);
}

static void check_stats(struct model *model, const struct twheel_stats *seen)
{
	struct twheel_stats *stats = &model->stats;
	u64 pending = model_pending(model);

	check_count(model, "pending", seen->pending, pending, pending);
	check_count(model, "added", seen->added, stats->added, stats->added);
	check_count(model, "rearmed", seen->rearmed, stats->rearmed,
		    stats->rearmed + model->rearmed_maybe);
	check_count(model, "cancelled", seen->cancelled, stats->cancelled, stats->cancelled);
	check_count(model, "fired", seen->fired, stats->fired, stats->fired);
	check_count(model, "rejected", seen->rejected, stats->rejected, stats->rejected);
	check_count(model, "slow", seen->slow, stats->slow, stats->slow + model->slow_maybe);
	if (!model->system)
		check_count(model, "latest_ticks", seen->latest_ticks, 0,
			    1 + div64_u64(model->late_ns, model->tick_ns));
	stats->rearmed = seen->rearmed;
	model->rearmed_maybe = 0;
	stats->slow = seen->slow;
	model->slow_maybe = 0;
}

/* The wheel must wake up before the next timer fires. */
static void check_next(struct model *model, const struct model_state *seen)
{
	const struct model_timer *timer;
	u64 next = TWHEEL_NEVER;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (timer->pending && timer->due != TWHEEL_NEVER)
			next = min(next, max(timer->due_last, seen->now.clock));
	}
	if (seen->next > next)
		model_differs(model, "next wake-up is at %llu, expected by %llu", seen->next, next);
	if (!model->system && !model->stats.added && seen->next != TWHEEL_NEVER)
		model_differs(model, "next wake-up is at %llu, but no timer was added", seen->next);
}

/* Compare the model with the observed state. */
void model_compare(struct model *model, const struct model_state *seen)
{
	unsigned int t;

	if (seen->tick_ns != model->tick_ns)
		model_differs(model, "tick is %llu", seen->tick_ns);
	if (seen->wheel_now != seen->now.clock)
		model_differs(model, "now is %llu, expected %llu", seen->wheel_now,
			      seen->now.clock);
	model_update_work(model, seen);
	for (t = 0; t < MODEL_TIMERS; t++)
		check_timer(model, t, seen);
	model_note_late(model, &seen->now);
	check_stats(model, &seen->stats);
	check_next(model, seen);
}

/* The next expiry by CLOCK_MONOTONIC, or U64_MAX. */
u64 model_next_due(const struct model *model, const struct model_time *now)
{
	const struct model_timer *timer;
	u64 next = TWHEEL_NEVER;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++) {
		timer = &model->timer[t];
		if (timer->pending && timer->due > now->clock)
			next = min(next, timer->due);
	}
	return next == TWHEEL_NEVER ? next : now->mono + (next - now->clock);
}

/* The time until which a timer is in a transition, or 0 if it is in none. */
static u64 timer_busy_until(const struct model *model, const struct model_timer *timer,
			    const struct model_time *now, bool patient)
{
	u64 due;

	if (timer->running && timer->wakes + MODEL_NEAR_NS > now->mono &&
	    timer->wakes < now->mono + MODEL_NEAR_NS)
		return timer->wakes + MODEL_NEAR_NS;
	if (timer->queued)
		return patient ? now->mono + MODEL_NEAR_NS : 0;
	if (!timer->pending)
		return 0;
	if (timer->due_last > now->clock) {
		due = timer->due > now->clock ? timer->due - now->clock : 0;
		return due < MODEL_NEAR_NS ? now->mono + due + MODEL_NEAR_NS : 0;
	}
	if (now->clock - timer->due_last < MODEL_NEAR_NS)
		return now->mono + MODEL_NEAR_NS;
	return patient && !is_delayed(model) ? now->mono + MODEL_NEAR_NS : 0;
}

/*
 * The time by CLOCK_MONOTONIC until which a timer is about to change state, or 0. Such a
 * change might happen between a call and the check of its effects. Timers that are
 * already due are ignored unless @patient, so that calls are made on due timers, too.
 */
u64 model_busy_until(const struct model *model, const struct model_time *now, bool patient)
{
	u64 until = 0;
	unsigned int t;

	for (t = 0; t < MODEL_TIMERS; t++)
		until = max(until, timer_busy_until(model, &model->timer[t], now, patient));
	return until;
}
